"""Azure OpenAI: `api-version` in the query, the key in `api-key`, and the errors that it answers with."""

import asyncio

import pytest
from tests.loopback import completion, http, peer

from steelyard import ConfigError, OpenAICompatible
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models.embeddings import Embeddings
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import Completions
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
WRONG_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)
FILTERED = {
    "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}},
    }
}
SAFE = {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]}


def not_found(path, query, headers):
    """The refusal of a call that is not made as this resource wants it; None for one that is."""
    if query != "api-version=2024-10-21":
        return http(404, {"error": {"code": "404", "message": "Resource not found"}})
    if headers.get("api-key") != KEY or "authorization" in headers:
        return http(401, {"error": {"code": "401", "message": WRONG_KEY}})
    if "/deployments/gpt/" not in path:
        message = (
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 "
        )
        return http(404, {"error": {"code": "DeploymentNotFound", "message": message + "minutes, please try again."}})
    return None


def azure(n, asked):
    """A resource with the deployment `gpt`, as it answers."""
    path, _, query = asked.line.split()[1].partition("?")
    if refused := not_found(path, query, asked.headers):
        return refused
    if b"bomb" in asked.body:
        return http(400, FILTERED)
    if n == 0 and b"busy" in asked.body:
        message = "Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your pricing tier."
        return http(429, {"error": {"code": "429", "message": message}}, "Retry-After: 0")
    if path.endswith("/embeddings"):
        return http(200, {"data": [{"index": 0, "embedding": [0.1, 0.2]}], "usage": {"prompt_tokens": 1}})
    if path.endswith("/chat/completions"):
        return http(200, completion("A", **SAFE))
    return http(200, {"choices": [{"text": "A", "finish_reason": "stop"}], **SAFE})


def ask(prompts, kind=OpenAICompatible, deployment="gpt", key=KEY, version="2024-10-21"):
    """A reply or an error for each prompt, and the server."""

    async def work():
        async with peer(azure) as server:
            base_url = server.url.replace("/v1", f"/openai/deployments/{deployment}")
            model = kind("gpt-4o", base_url, api_key="${AZURE_KEY}", api_version=version)
            check_options(model)
            limits, wire = (
                Limits(Retry(base_s=0.01, attempts=3), 1),
                HttpWire(Secrets(["AZURE_KEY"], {"AZURE_KEY": key})),
            )

            async def one(prompt):
                try:
                    return await limits.call(model, model.request(prompt, {}), wire, prompt)
                except ModelError as error:
                    return error

            try:
                return [await one(prompt) for prompt in prompts], server
            finally:
                await wire.close()

    return asyncio.run(work())


@pytest.mark.parametrize("kind", [OpenAICompatible, Completions])
def test_a_deployment_answers_chat_and_completions(kind):
    (reply,), _ = ask(["hi"], kind)
    assert (reply.text, reply.finish) == ("A", "stop")


def test_a_deployment_embeds():
    (reply,), _ = ask(["hi"], Embeddings)
    assert reply.metadata["dimension"] == 2


def test_what_its_filter_stopped_is_an_outcome_of_the_sample():
    (reply,), _ = ask(["a bomb"])
    assert (reply.text, reply.finish) == ("", "content_filter")


def test_a_429_is_asked_again_after_what_it_says():
    (reply,), server = ask(["busy"])
    assert (reply.text, [attempt.fault for attempt in reply.attempts]) == ("A", ["rate_limit", ""])
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("options", "kind", "words", "calls"),
    [
        ({"key": "wrong-key-000"}, "auth", "invalid subscription key", 1),
        ({"deployment": "gtp"}, "unknown_model", "deployment for this resource does not exist", 1),
        ({"version": "2023-01-01"}, "bad_request", "Resource not found", 2),
    ],
)
def test_what_is_configured_wrongly_ends_the_run(options, kind, words, calls):
    errors, server = ask(["a", "b"][:calls], **options)
    assert (errors[-1].kind, errors[-1].ends_run, len(server.asked)) == (kind, True, calls)
    assert words in str(errors[-1])


def test_without_an_api_version_the_key_is_a_bearer_as_azures_own_v1_takes_it():
    request = OpenAICompatible("gpt", "https://x.openai.azure.com/openai/v1", api_key="${K}").request("q", {})
    assert request.url == "https://x.openai.azure.com/openai/v1/chat/completions"
    assert ("Authorization", "Bearer ${K}") in request.headers


def test_an_address_that_was_copied_with_its_query_is_refused_with_where_it_goes():
    with pytest.raises(ConfigError, match="api_version"):
        check_options(
            OpenAICompatible("gpt", "https://x.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21")
        )
