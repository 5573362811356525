"""A wrong key, model, region or version, in the words of each provider: what to change is said once, and the run ends.

Each case is a status and an error as the provider's server writes it, and a part of the advice that it must bring.
"""

import asyncio

import pytest
from tests.loopback import http, peer
from tests.models.native import KEY, exchanged

from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, aevaluate
from steelyard.errors import ModelError
from steelyard.models import Anthropic, Gemini, Ollama, OpenAIResponses, Retry

REF = "${KEY}"


def openai_error(message, code=None):
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def anthropic_error(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google_error(code, status, message):
    return {"error": {"code": code, "status": status, "message": message, "details": []}}


def azure_error(code, message):
    return {"error": {"code": code, "message": message}}


KEY_ADVICE, BASE, SOME_REGION = f"check api_key ({REF})", "base_url", "to that of a region that is served"


def name(model):
    return f"change name ({model!r})"


PROVIDERS = {
    "openai": (
        lambda url: OpenAIResponses("gpt-x", url, REF),
        [
            (401, openai_error("Incorrect API key provided: sk-ant-****.", "invalid_api_key"), KEY_ADVICE),
            (401, openai_error("You didn't provide an API key. You need to provide your API key."), KEY_ADVICE),
            (403, openai_error("Your organization must be verified to use the model `gpt-x`."), KEY_ADVICE),
            (404, openai_error("The model `gpt-x` has been deprecated", "model_not_found"), name("gpt-x")),
            (404, openai_error("The model `gpt-x` does not exist or you do not have access to it."), name("gpt-x")),
            (404, openai_error("This is not a chat model and thus not supported in the v1/responses endpoint."), BASE),
            (401, openai_error("Attempted to access resource with incorrect regional hostname."), SOME_REGION),
            (403, openai_error("Country, region, or territory not supported"), SOME_REGION),
            (404, openai_error("Invalid URL (POST /v2/responses)"), BASE),
        ],
    ),
    "anthropic": (
        lambda url: Anthropic("claude-x", url, REF, api_version="2020-01-01"),
        [
            (401, anthropic_error("authentication_error", "invalid x-api-key"), KEY_ADVICE),
            (404, anthropic_error("not_found_error", "model: claude-x"), name("claude-x")),
            (
                400,
                anthropic_error("invalid_request_error", "anthropic-version: 2020-01-01 is not a valid version"),
                "change api_version ('2020-01-01')",
            ),
            (
                400,
                anthropic_error("invalid_request_error", "anthropic-version: header is required"),
                "change api_version",
            ),
            (403, anthropic_error("forbidden", "Request not allowed"), KEY_ADVICE),
        ],
    ),
    "gemini": (
        lambda url: Gemini("gemini-x", url, REF),
        [
            (400, google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), KEY_ADVICE),
            (
                403,
                google_error(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers. Please use API Key"),
                KEY_ADVICE,
            ),
            (401, google_error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), KEY_ADVICE),
            (
                404,
                google_error(404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta"),
                f"{name('gemini-x')}, or base_url",
            ),
            (404, google_error(404, "NOT_FOUND", "This model is no longer available."), name("gemini-x")),
            (
                400,
                google_error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
                SOME_REGION,
            ),
            (404, b"", BASE),
        ],
    ),
    "ollama": (
        lambda url: Ollama("llama9", url.replace("/v1", "/api")),
        [
            (404, {"error": "model 'llama9' not found"}, name("llama9")),
            (404, b"404 page not found", BASE),
            (401, {"error": "unauthorized"}, "check api_key (none is given)"),
        ],
    ),
    "azure": (
        lambda url: OpenAICompatible("dep", url, REF, api_version="2020-01-01"),
        [
            (
                401,
                azure_error("401", "Access denied due to invalid subscription key or wrong API endpoint."),
                KEY_ADVICE,
            ),
            (
                404,
                azure_error("DeploymentNotFound", "The API deployment for this resource does not exist."),
                name("dep"),
            ),
            (400, azure_error("ModelDeprecated", "The model gpt-35 version 0301 has been deprecated"), name("dep")),
            (404, azure_error("404", "Resource not found"), "base_url and api_version ('2020-01-01')"),
            (400, azure_error("BadRequest", "API version not supported"), "change api_version ('2020-01-01')"),
            (400, azure_error("OperationNotSupported", "Not supported in region eastus"), SOME_REGION),
        ],
    ),
    "openrouter": (
        lambda url: OpenAICompatible("x/y", url, REF),
        [
            (401, {"error": {"code": 401, "message": "No auth credentials found"}}, KEY_ADVICE),
            (200, {"error": {"code": 401, "message": "No cookie auth credentials found"}}, KEY_ADVICE),
            (400, {"error": {"code": 400, "message": "x/y is not a valid model ID"}}, name("x/y")),
            (404, {"error": {"code": 404, "message": "No endpoints found for x/y."}}, name("x/y")),
        ],
    ),
    "bedrock": (
        lambda url: OpenAICompatible("openai.x", url, REF),
        [
            (403, {"Message": "Authentication failed: Please make sure your API Key is valid."}, KEY_ADVICE),
            (403, {"Message": "Bearer Token has expired"}, KEY_ADVICE),
            (400, {"message": "The provided model identifier is invalid."}, f"{name('openai.x')}, or base_url"),
            (404, {"message": "This model version has reached the end of its life."}, name("openai.x")),
            (400, openai_error("model openai.x isn't supported on this route"), f"{name('openai.x')}, or base_url"),
        ],
    ),
    "bedrock, Claude": (
        lambda url: Anthropic("anthropic.x", url, headers={"Authorization": f"Bearer {REF}"}),
        [(401, anthropic_error("authentication_error", "invalid bearer token"), "check api_key (in headers: Authoriz")],
    ),
    "vllm": (
        lambda url: OpenAICompatible("m", url),
        [
            (404, {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError"}}, name("m")),
            (401, {"error": "Unauthorized"}, "check api_key (none is given)"),
            (404, {"detail": "Not Found"}, BASE),
        ],
    ),
}
CASES = [(provider, *case) for provider, (_, cases) in PROVIDERS.items() for case in cases]
each = pytest.mark.parametrize(("provider", "status", "body", "advice"), CASES)


def words_of(body):
    """The server's own words in an error's body."""
    if isinstance(body, bytes):
        return body.decode()
    inner = body.get("error", body)
    return (
        inner
        if isinstance(inner, str)
        else next(inner[key] for key in ("message", "Message", "detail") if key in inner)
    )


@each
def test_the_servers_words_and_the_setting_to_change_are_said_after_one_call(provider, status, body, advice):
    error, asked = exchanged(PROVIDERS[provider][0], [(status, body)])
    assert isinstance(error, ModelError)
    assert len(asked) == 1
    assert words_of(body) in str(error)
    assert advice in str(error)
    assert KEY not in str(error)


@each
def test_a_run_ends_after_a_few_calls(monkeypatch, provider, status, body, advice):
    monkeypatch.setenv("KEY", KEY)
    samples = [Sample(f"q{n}", f"question {n}", "A") for n in range(40)]

    async def run():
        async with peer(lambda *_: http(status, body)) as server:
            target = Prompt(PROVIDERS[provider][0](server.url))
            retry = Retry(attempts=3, base_s=0, cap_s=0)
            run = await aevaluate(target, samples, [ExactMatch()], retry=retry, on_broken="return")
            return run, server.asked

    found, asked = asyncio.run(run())
    assert found.state == "broken"
    assert advice in found.reason
    assert len(asked) <= 8
