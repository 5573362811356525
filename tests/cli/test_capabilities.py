"""What an endpoint can do: by at most six calls, said before, kept as a run."""

import asyncio
import json
import threading

import pytest
from tests.command_here import command_here
from tests.loopback import completion, http, peer
from tests.wires import ollama

NAMES = ["structured output", "log probabilities", "seeds", "tools", "images", "context length"]


def able(asked):
    """An endpoint that can do everything."""
    if asked.line.startswith("GET"):
        return http(200, {"id": "m", "object": "model", "max_model_len": 4096})
    body = json.loads(asked.body)
    if "response_format" in body:
        return http(200, completion('{"colour": "red"}'))
    if "tools" in body:
        call = {"id": "c", "type": "function", "function": {"name": "temperature_in", "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return http(200, completion(choices=[{"message": message, "finish_reason": "tool_calls"}]))
    said = completion("Red." if "image_url" in str(body) else "Plum")
    if body.get("logprobs"):
        said["choices"][0]["logprobs"] = {"content": [{"token": "Plum", "logprob": -0.1}]}
    return http(200, said)


def unable(asked):
    """One that ignores a schema and a seed, refuses log probabilities, tools and images, and lists no models."""
    if asked.line.startswith("GET"):
        return http(404, {"error": {"message": "Not Found"}})
    body = json.loads(asked.body)
    for name in ("logprobs", "tools"):
        if name in body:
            return http(400, {"error": {"message": f"This model does not support {name}", "param": name}})
    if "image_url" in str(body):
        return http(400, {"error": {"message": "unsupported content type image_url"}})
    return http(200, completion("Rain falls."))


def wrong_key(_):
    return http(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})


def bare_ollama(asked):
    if asked.line.split()[1] == "/api/show":
        return http(200, {"model_info": {"general.architecture": "llama", "llama.context_length": 131072}})
    return http(200, ollama("Rain falls."))


@pytest.fixture
def diagnosed(tmp_path):
    """Run the command against an endpoint in another thread: its result, and what the endpoint was asked."""

    def run(answer, model="openai_compatible", path="/v1", code=0):
        loop, ready, served = asyncio.new_event_loop(), threading.Event(), {}

        async def serve():
            served["stop"] = asyncio.Event()
            async with peer(lambda n, asked: answer(asked)) as server:
                served["server"] = server
                ready.set()
                await served["stop"].wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        ready.wait(20)
        try:
            url = served["server"].url.replace("/v1", path)
            config = {"model": {model: {"name": "m", "base_url": url}}}
            (tmp_path / "model.json").write_text(json.dumps(config), encoding="utf-8")
            out = command_here(tmp_path, "diagnose", "--capabilities", "model.json", "--json", code=code)
        finally:
            loop.call_soon_threadsafe(served["stop"].set)
            thread.join()
            loop.close()
        return out, served["server"].asked

    return run


def test_six_calls_say_what_an_endpoint_can_do_and_a_run_keeps_it(diagnosed, tmp_path):
    out, asked = diagnosed(able)
    assert json.loads(out.out)["capabilities"] == {**dict.fromkeys(NAMES, "yes"), "context length": "4,096 tokens"}
    assert len(asked) == 6
    assert "6 calls" in out.err  # before the first
    kept = json.loads(command_here(tmp_path, "runs", "--json").out)
    assert json.loads(out.out)["run"] in json.dumps(kept)


def test_what_is_ignored_and_what_is_refused_are_told_apart(diagnosed):
    out, asked = diagnosed(unable)
    found = json.loads(out.out)["capabilities"]
    assert found["structured output"] == "ignored: it answered 'Rain falls.'"
    assert "does not support logprobs" in found["log probabilities"]
    assert found["seeds"] == "taken, and not compared"
    assert "does not support tools" in found["tools"]
    assert found["images"].startswith("refused: ")
    assert found["context length"].startswith("not said: ")
    assert len(asked) == 6


def test_ollama_says_its_context_length_in_its_own_way(diagnosed):
    out, _ = diagnosed(bare_ollama, "ollama", "/api")
    found = json.loads(out.out)["capabilities"]
    assert found["context length"] == "131,072 tokens"
    assert found["seeds"] == "yes"
    assert found["log probabilities"] == "ignored: none came"


def test_a_wrong_key_says_nothing_of_the_endpoint(diagnosed):
    out, asked = diagnosed(wrong_key, code=4)
    assert json.loads(out.out)["capabilities"] == {}
    assert "Incorrect API key provided" in json.loads(out.out)["failure"]
    assert len(asked) == 1
