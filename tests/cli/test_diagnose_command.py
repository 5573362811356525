"""diagnose: what is in effect, where it came from, and whether endpoints answer."""

import pytest
from tests.running_server import ledger_server

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
