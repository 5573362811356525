"""diagnose: what is in effect, where it came from, and whether endpoints answer."""

import json
from http.server import BaseHTTPRequestHandler

import pytest
from tests.running_server import ledger_server
from tests.threaded_server import serving

NAMES = {"steelyard", "python", "extra litellm", "extra postgres"}


@pytest.fixture
def server(tmp_path):
    with ledger_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def real(server, write, monkeypatch):
    """Two targets of one model at one endpoint that wants a key."""
    monkeypatch.setenv("LAB_KEY", "sk-0123456789abcdef")
    model = {"name": "m", "base_url": server.url, "api_key": "${LAB_KEY}"}
    prompt = {"template": "{{question}}", "model": {"openai_compatible": model}}
    return write({"a": {"prompt": prompt}, "b": {"prompt": {**prompt, "system": "Be brief."}}})


def test_without_a_configuration_it_tells_what_is_installed(steelyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = steelyard("diagnose", "--json", code=0).json()
    assert set(found["installed"]) >= NAMES
    assert found["store"]["runs"] is None
    assert found["probes"] == []


def test_every_key_is_shown_with_its_value_and_where_it_came_from(steelyard, write, says, tmp_path):
    path = write({"a": says("B")}, options={"concurrency": 3})
    settings = {one["key"]: one for one in steelyard("diagnose", path, "--json", code=0).json()["settings"]}
    assert settings["options.concurrency"] == {"key": "options.concurrency", "value": 3, "origin": "exam.json:1"}
    assert settings["options.retry.attempts"]["origin"] == "default"
    assert settings["targets.a.prompt.model.scripted.default"]["value"] == "B"
    assert settings["samples.file"]["value"].endswith("exam.csv")


def test_a_value_of_the_matrix_is_shown_under_each_target(steelyard, write, says):
    path = write({"a": says("{{t}}")}, matrix={"t": ["A", "B"]})
    found = steelyard("diagnose", path, "--json", code=0)
    values = {one["key"]: one["value"] for one in found.json()["settings"] if one["key"].endswith("scripted.default")}
    assert sorted(values.values()) == ["A", "B"]


def test_a_model_that_two_targets_ask_is_probed_once_and_nothing_is_stored(steelyard, real, server, tmp_path):
    found = steelyard("diagnose", real, "--json", code=0).json()
    [probe] = found["probes"]
    assert (probe["answered"], probe["asks"]) == (True, "a, b")
    assert len(server.requests()) == 1
    assert not list(tmp_path.rglob("steelyard.db"))


def test_a_key_is_named_and_never_shown(steelyard, real):
    result = steelyard("diagnose", real, code=0)
    assert "${LAB_KEY} has a value  [environment]" in result.out
    assert "sk-0123456789abcdef" not in result.out + result.err


def test_no_probe_calls_nobody(steelyard, real, server):
    assert steelyard("diagnose", real, "--no-probe", "--json", code=0).json()["probes"] == []
    assert not server.ledger.exists() or not server.requests()


def test_an_endpoint_that_does_not_answer_ends_in_exit_code_4_with_the_reason(steelyard, write):
    model = {"name": "m", "base_url": "http://127.0.0.1:9/v1"}
    path = write({"a": {"prompt": {"template": "{{question}}", "model": {"openai_compatible": model}}}})
    out = steelyard("diagnose", path, code=4).out
    assert "http://127.0.0.1:9/v1/chat/completions (a, m) DOES NOT ANSWER" in out
    assert "connection" in out


def test_a_target_that_is_an_endpoint_is_asked_a_sample_of_its_own(steelyard, write, server):
    http = {"url": f"{server.url}/chat/completions", "response": {"text": "choices[0].message.content"}}
    body = {"model": "m", "messages": [{"role": "user", "content": "{{prompt}}"}]}
    path = write({"a": {"http": {**http, "body": body}}})
    [probe] = steelyard("diagnose", path, "--json", code=0).json()["probes"]
    assert probe["answered"]
    assert len(server.requests()) == 1


def test_the_password_of_a_store_that_cannot_be_reached_is_never_shown(steelyard):
    where = "postgresql://bob:hunter2-secret@127.0.0.1:1/exams"
    found = steelyard("diagnose", "--store", where, "--json", code=0)
    assert found.json()["store"]["where"] == "postgresql://bob@127.0.0.1:1/exams"
    assert "hunter2" not in found.out + found.err + steelyard("diagnose", "--store", where, code=0).out


O4 = {"temperature": "unsupported_value", "max_tokens": "unsupported_parameter"}


@pytest.fixture
def reasoning_server():
    """Refuses what a reasoning model refuses, one parameter at a time; gives its address and what it was sent."""
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            refused = next((name for name in O4 if bodies[-1].get(name, 1) != 1), "")
            if refused:
                text = f"Unsupported: '{refused}'. Use 'max_completion_tokens' instead of max_tokens"
                status, body = 400, {"error": {"message": text, "param": refused, "code": O4[refused]}}
            else:
                usage = {"prompt_tokens": 5, "completion_tokens": 9}
                choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
                status, body = 200, {"model": "o4-mini", "choices": [choice], "usage": usage}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            """Nothing on stderr."""

    with serving(Handler) as address:
        yield f"{address}/v1", bodies


def judged_configuration(tmp_path, address, **judge):
    """A suite `rag` with stored answers and two judges' scorers."""
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "Capital of France?", "answer": "Paris"}\n')
    (tmp_path / "a.jsonl").write_text('{"id": "1", "output": "Paris", "contexts": ["Paris is the capital."]}\n')
    model = {"openai_compatible": {"name": "o4-mini", "base_url": address, **judge.pop("model", {})}}
    rated = {"g_eval": {"name": "clear", "criteria": "It is clear.", "steps": ["Read it."]}}
    path = tmp_path / "rag.json"
    suite = {"suite": "rag", "samples": {"file": "q.jsonl"}, "judge": {"model": model, **judge}}
    path.write_text(
        json.dumps({**suite, "targets": {"stored": {"replay": "a.jsonl"}}, "scorers": ["correctness", rated]})
    )
    return path


def test_the_probe_sends_what_judges_send_and_tells_what_is_refused(steelyard, reasoning_server, tmp_path):
    address, bodies = reasoning_server
    path = judged_configuration(tmp_path, address)
    [probe] = steelyard("diagnose", path, "--json", code=0).json()["probes"]
    assert "temperature is refused and left out" in probe["what"]
    assert "max_tokens is sent as max_completion_tokens" in probe["what"]
    assert {"temperature", "top_p", "max_tokens"} < {*bodies[0]}
    assert bodies[-1]["max_completion_tokens"] > 12
    assert len(bodies) == 3


def test_a_refused_parameter_of_the_user_is_found_by_the_probe(steelyard, reasoning_server, tmp_path):
    path = judged_configuration(tmp_path, reasoning_server[0], parameters={"temperature": 0.5})
    out = steelyard("diagnose", path, code=4).out
    assert "DOES NOT ANSWER" in out
    assert "temperature = 0.5 (`judge: parameters`)" in out


def test_check_prints_what_judges_send(steelyard, tmp_path):
    path = judged_configuration(
        tmp_path, "http://127.0.0.1:9/v1", parameters={"top_p": None}, model={"parameters": {"temperature": 1}}
    )
    out = steelyard("check", path, code=0).out
    sent = "judge o4-mini (correctness, clear) sends temperature 0, frequency_penalty 0, presence_penalty 0"
    assert f"{sent} (in place of the model's own temperature 1)" in out
    assert "what the endpoint refuses of these is left out" in out
    [judge] = steelyard("check", path, "--json", code=0).json()["judges"]
    assert judge["refusable"] == ["temperature", "frequency_penalty", "presence_penalty"]
