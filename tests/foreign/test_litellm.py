"""LiteLLM: the real package, with its mock replies and against servers on loopback."""

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest
from tests.loopback import completion, http, peer, said

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models import Retry
from steelyard.models.limits import Limits
from steelyard.models.litellm import LiteLLM, cost_map
from steelyard.registry import describe, find
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

# The last is one that the package silences as it is imported, which holds for the test that imports it alone.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20", "ignore:.*`ReadOnly`"
)

KEY = "sk-very-secret-123456"
QUICK = Retry(attempts=2, base_s=0.0)


@dataclass(frozen=True)
class FirstImport:
    """What importing the package did, which takes 4 s and is done once in a process."""

    was_first: bool
    looked_up: list[object]
    environment: tuple[str | None, str | None]
    printed: str


@pytest.fixture(scope="module", autouse=True)
def first_import(tmp_path_factory):
    """Beside a file `.env`, and without anybody who looks up names."""
    folder, looked_up, printed = tmp_path_factory.mktemp("import"), [], io.StringIO()
    (folder / ".env").write_text("FROM_ENV_FILE=1\n", encoding="utf-8")
    was_first = "litellm" not in sys.modules

    def refused(*host, **_):
        looked_up.append(host)
        raise OSError("no names are looked up here")

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.chdir(folder)
        patch.delattr(sys.modules["__main__"], "__file__", raising=False)  # else that of its package is looked for
        patch.setattr(socket, "getaddrinfo", refused)
        LiteLLM("anthropic/claude-3-haiku-20240307").load()
    environment = os.environ.get("FROM_ENV_FILE"), os.environ.get("LITELLM_MODE")
    return FirstImport(was_first, looked_up, environment, printed.getvalue())


def talk(model_of, answer=lambda n, _: said("Paris"), *, retry=QUICK, calls=1):
    """What each call gave, and the server."""

    async def run():
        async with peer(answer) as server:
            wire, limits = HttpWire(Secrets(["KEY"], {"KEY": KEY})), Limits(retry, 4)
            model = model_of(server.url)
            check_options(model)
            found = []
            try:
                for n in range(calls):
                    try:
                        found.append(await limits.call(model, model.request(f"q{n}", {"max_tokens": 9}), wire))
                    except ModelError as error:
                        found.append(error)
            finally:
                await wire.close()
            return found, server

    return asyncio.run(run())


def through(url, **more):
    return LiteLLM("openai/m", "${KEY}", url, timeout_s=5, **more)


def mocked(reply, **more):
    return lambda _: LiteLLM("anthropic/claude-3-haiku-20240307", "${KEY}", parameters={"mock_response": reply}, **more)


def test_it_is_registered_under_its_name():
    assert find("model", "litellm") is LiteLLM
    assert describe(LiteLLM("openai/m", "${KEY}"))["litellm"]["api_key"] == "${KEY}"


def test_a_mock_reply_of_another_provider_is_a_reply():
    (reply,), server = talk(mocked("Paris"))
    assert (reply.text, reply.finish, server.asked) == ("Paris", "stop", [])
    assert reply.usage == Usage(10, 20)


def test_a_call_goes_to_its_address_with_the_key_and_is_read_like_any_completion():
    logprobs = {"content": [{"token": "Paris", "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
    whole = completion("Paris")
    whole["choices"][0]["logprobs"] = logprobs
    whole["choices"][0]["message"]["reasoning_content"] = "hm"
    (reply,), server = talk(lambda url: through(url, headers={"X-Team": "${KEY}"}), lambda n, _: http(200, whole))
    (asked,) = server.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-team"] == KEY
    assert json.loads(asked.body) == {
        "model": "m", "messages": [{"role": "user", "content": "q0"}], "max_tokens": 9,
    }  # fmt: skip
    assert (reply.text, reply.usage) == ("Paris", Usage(20, 1))
    assert reply.metadata["reasoning"] == "hm"
    assert reply.metadata["logprobs"][0]["logprob"] == -0.5


def test_a_provider_with_an_api_of_its_own_is_translated():
    whole = {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "Par"}], "usage": {"input_tokens": 7, "output_tokens": 2},
    }  # fmt: skip
    (reply,), server = talk(lambda url: LiteLLM("anthropic/claude", "${KEY}", url), lambda n, _: http(200, whole))
    assert (reply.text, reply.finish, reply.usage) == ("Par", "length", Usage(7, 2))
    assert server.asked[0].headers["x-api-key"] == KEY


def test_the_key_is_no_part_of_what_is_hashed_or_shown():
    request = through("http://h/v1").request("q", {})
    assert KEY not in repr(request)
    assert b"KEY" not in request.payload
    assert request.endpoint == "http://h"
    assert request.digest == through("http://h/v1").request("q", {}).digest
    assert request.digest != LiteLLM("openai/other", "${KEY}", "http://h/v1").request("q", {}).digest


@pytest.mark.parametrize(
    ("answer", "kind", "attempts", "ends_run"),
    [
        (http(429, {"error": {"message": "slow"}}), "rate_limit", 2, False),
        (http(503, {"error": {"message": "busy"}}), "server", 2, False),
        (http(200, b"<html>"), "server", 2, False),
        (http(200, {"choices": []}), "empty", 2, False),
        (http(401, {"error": {"message": f"wrong key {KEY}"}}), "auth", 1, True),
        (http(402, {"error": {"message": "pay"}}), "quota", 1, True),
        (http(403, {"error": {"message": "no"}}), "bad_request", 1, False),
        (http(404, {"error": {"message": "The model `m` does not exist"}}), "unknown_model", 1, False),
        (http(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "quota", 1, True),
        (http(400, {"error": {"message": "maximum context length"}}), "bad_request", 1, False),
    ],
)
def test_its_errors_are_classified_like_any_other_and_retried_by_our_policy_alone(answer, kind, attempts, ends_run):
    (error,), server = talk(through, lambda n, _: answer)
    assert (error.kind, len(error.attempts), error.ends_run) == (kind, attempts, ends_run)
    assert len(server.asked) == attempts
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in repr(error.attempts)


def test_a_content_filter_is_an_outcome():
    answer = http(400, {"error": {"message": "content management policy", "code": "content_filter"}})
    (reply,), _ = talk(through, lambda n, _: answer)
    assert (reply.text, reply.finish) == ("", "content_filter")


@pytest.mark.parametrize(
    ("mock", "kind"),
    [
        ("litellm.RateLimitError", "rate_limit"),
        ("litellm.InternalServerError", "server"),
        ("litellm.ContextWindowExceededError", "bad_request"),
    ],
)
def test_a_mock_error_is_the_fault_that_it_plays(mock, kind):
    (error,), _ = talk(mocked(mock))
    assert error.kind == kind


def test_what_the_endpoint_says_of_waiting_is_obeyed():
    def answer(n, asked):
        return said() if n else http(429, {"error": {"message": "slow"}}, "Retry-After: 0.4")

    (reply,), _ = talk(through, answer)
    assert [one.fault for one in reply.attempts] == ["rate_limit", ""]
    assert reply.attempts[1].waited >= 0.4


def test_a_hang_ends_at_the_time_limit():
    async def silence(n, asked):
        await asyncio.Event().wait()

    (error,), _ = talk(lambda url: LiteLLM("openai/m", "${KEY}", url, timeout_s=0.3), silence, retry=Retry(attempts=1))
    assert error.kind == "timeout"


def test_an_address_where_nobody_is_counts_as_not_reached():
    def model_of(url):
        return LiteLLM("openai/m", "${KEY}", "http://127.0.0.1:9/v1", timeout_s=5)

    (error,), _ = talk(model_of, retry=Retry(base_s=0.0))
    assert (error.kind, error.ends_run, len(error.attempts)) == ("connection", True, 5)


def test_it_works_in_one_event_loop_after_another():
    for _ in range(2):
        (first, second), server = talk(through, calls=2)
        assert (first.text, second.text, len(server.asked)) == ("Paris", "Paris", 2)


@pytest.mark.parametrize(
    ("fields", "said_so"),
    [
        ({"name": ""}, "name is missing"),
        ({"api_key": "sk-123456"}, "a key is not written out here"),
        ({"credentials": {"aws_secret_access_key": "abc"}}, "a key is not written out here"),
        ({"parameters": {"num_retries": 3}}, "must not contain 'num_retries'"),
        ({"parameters": {"api_base": "http://h"}}, "must not contain 'api_base'"),
        ({"headers": {"X-Api-Key": "sk-123456"}}, "must hold a reference"),
        ({"timeout_s": 0}, "timeout_s must be"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(fields, said_so):
    with pytest.raises(ConfigError, match=said_so):
        check_options(LiteLLM(**{"name": "openai/m", **fields}))


def test_a_name_without_a_provider_is_refused_before_the_first_call():
    LiteLLM("openai/m").load()
    with pytest.raises(ConfigError, match="knows no provider of 'no-such-thing'"):
        LiteLLM("no-such-thing").load()


def test_without_the_package_it_says_how_to_install_it():
    script = (
        "import sys\n"
        "sys.path = [one for one in sys.path if 'site-packages' not in one]\n"
        "from steelyard.models import litellm as ours\n"
        "try: ours.LiteLLM('openai/m').check()\n"
        "except Exception as error: print(error)\n"
        "print('litellm' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install '.[litellm]' in a checkout of Steelyard" in done.stdout
    assert done.stdout.endswith("False\n")


def test_importing_it_looks_nothing_up_and_reads_no_env_file(first_import):
    assert first_import.was_first, "another file of this process has imported it"
    assert first_import.looked_up == []
    assert first_import.environment == (None, None)
    assert first_import.printed == ""


def test_its_own_prices_are_those_for_a_million_tokens():
    table = cost_map()
    assert table.currency == "USD"
    price = table.price(LiteLLM("openai/gpt-4o-mini"))
    assert (price.input, price.output) == (0.15, 0.6)
    assert table.price(LiteLLM("openai/none-such")) is None


def test_a_parameter_that_the_model_does_not_take_is_an_error_that_names_it():
    def model_of(_):
        return LiteLLM("anthropic/claude-3-haiku-20240307", "${KEY}", parameters={"logit_bias": {"1": 2}})

    (error,), _ = talk(model_of)
    assert (error.kind, error.ends_run) == ("bad_request", False)  # a second sample's ends the run
    assert "logit_bias" in str(error)
