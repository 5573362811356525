"""A key is a reference until it is sent, and leaves no trace whatever the server does with it."""

import asyncio
import json
import sqlite3
import traceback
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.loopback import completion, http, peer, said

from steelyard import ConfigError, ExactMatch, OpenAICompatible, Options, Prompt, Sample, Store, Suite
from steelyard.evaluation import RunConfig, aevaluate_suite
from steelyard.models import Retry
from steelyard.models.http import HttpModel
from steelyard.models.response import ResponseMap
from steelyard.session.secrets import Secrets, references

KEY = 'sk-sËcret/"quoted"\\and+more=='
PLAIN = "sk-7f3a9c1e5b8d2f60"


def test_every_reference_in_a_plain_value_is_found():
    value = {"headers": ["Bearer ${A}", ("${B}x${C}",)], "n": 3, "text": "$D {E} ${1F}"}
    assert list(references(value)) == ["A", "B", "C"]


def test_a_value_from_env_file_wins_over_the_environment_and_is_resolved_in_texts_alone(monkeypatch):
    monkeypatch.setenv("KEY", "from the environment")
    assert Secrets(["KEY"], {}).resolve("Bearer ${KEY} ${OTHER}") == "Bearer from the environment ${OTHER}"
    assert Secrets(["KEY"], {"KEY": "given too"}).resolve("${KEY}") == "given too"


@pytest.mark.parametrize("value", ["", None])
def test_a_reference_without_a_value_is_refused_by_name(monkeypatch, value):
    with pytest.raises(ConfigError, match=r"NO_SUCH_KEY\} has no value"):
        Secrets(["NO_SUCH_KEY"], {} if value is None else {"NO_SUCH_KEY": value})


def test_a_value_with_a_line_break_is_refused_without_being_shown():
    with pytest.raises(ConfigError) as caught:
        Secrets(["KEY"], {"KEY": f"{PLAIN}\r\nX-Injected: yes"})
    assert "KEY" in str(caught.value)
    assert PLAIN not in str(caught.value)


def test_it_shows_names_and_never_values():
    assert repr(Secrets(["KEY"], {"KEY": PLAIN})) == "Secrets(KEY)"


def test_the_longer_of_two_keys_is_hidden_whole():
    secrets = Secrets(["A", "B"], {"A": "sk-abcdef", "B": "sk-abcdefghi"})
    assert secrets.redact(b"x sk-abcdefghi y sk-abcdef") == b"x [secret B] y [secret A]"


def test_a_key_that_is_a_word_is_hidden_only_as_it_is_written():
    secrets = Secrets(["A"], {"A": "ollama"})
    assert secrets.redact_text("Ollama runs; ollama") == "Ollama runs; [secret A]"


def test_a_value_too_short_for_a_key_is_hidden_only_where_it_stands_as_one():
    """Local servers are given keys like EMPTY; erasing every `none` would deface replies."""
    secrets = Secrets(["A"], {"A": "none"})
    assert secrets.redact_text("none of them; Authorization: Bearer none") == (
        "none of them; Authorization: [secret A]"
    )
    assert Secrets(["A"], {"A": "qzxwvu"}).redact_text("a qzxwvu") == "a [secret A]"


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@example("000000", "1", "")
@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=6), st.text(), st.text())
def test_a_key_is_hidden_as_it_is_and_as_json_writes_it(value, before, after):
    secrets = Secrets(["K"], {"K": value})
    for text in (f"{before}{value}{after}", json.dumps(f"{before} {value} {after}")):
        hidden = secrets.redact_text(text)
        assert value not in hidden.replace("[secret K]", "\0")
        masked = secrets.redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        # A text of digits is JSON, and bytes that are JSON remain so.
        assert masked == ('"[secret K]"' if is_json(text) and not is_json(hidden) else hidden)
    value_in = {"a": [before, (value,)], value: {"b": 1.5}}
    assert secrets.redact_value(value_in) == {
        "a": [secrets.redact_text(before), ("[secret K]",)],
        "[secret K]": {"b": 1.5},
    }


def test_without_secrets_a_value_is_handed_back_as_it_is():
    value = {"a": ["b"]}
    assert Secrets([], {}).redact_value(value) is value


def pieces(key):
    """A stream of events with the key cut in two."""
    middle = len(key) // 2
    parts = [json.dumps({"text": part}) for part in ("it is ", key[:middle], key[middle:])]
    return http(200, "".join(f"data: {part}\n\n" for part in parts).encode(), "Content-Type: text/event-stream")


SERVERS = {
    "reply": lambda key: said(f"your key is {key}"),
    "escaped": lambda key: http(200, json.dumps(completion(key)).replace("/", "\\/").encode()),
    "unicode": lambda key: http(200, b"".join(b"\\u%04x" % ord(mark) for mark in key).join(
        [b'{"choices": [{"message": {"content": "', b'"}}]}'])),
    "metadata": lambda key: said("A", system_fingerprint=key, model=f"m-{key}"),
    "reasoning": lambda key: http(200, {"choices": [{"message": {"content": "A", "reasoning": key}}]}),
    "finish": lambda key: http(200, {"choices": [{"message": {"content": "A"}, "finish_reason": key}]}),
    "bad request": lambda key: http(400, {"error": {"message": f"wrong header: Bearer {key}"}}),
    "wrong key": lambda key: http(401, {"error": {"message": f"Incorrect API key provided: {key}"}}),
    "html": lambda key: http(200, f"<html>{'x' * 150}{key}</html>".encode()),
    "cut by the quote": lambda key: http(500, ("y" * 188 + key).encode()),
    "redirect": lambda key: http(302, b"", f"Location: http://127.0.0.1:1/{PLAIN}/{'a' * 160}?key={PLAIN}"),
    "stream": pieces,
}  # fmt: skip


def traces(folder, key):
    forms = {key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], key[: len(key) * 2 // 3]}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [(path.name, form) for path in files for form in forms if form.encode() in path.read_bytes()]


def bodies(store, key):
    """Every stored body, unpacked: a compressed trace is one too."""
    (run,) = store.runs()
    shown = [repr(record) for record in run.records()] + [
        repr(run),
        run.reason,
        json.dumps(run.manifest),
        str(run.summary()),
    ]
    return [one for one in shown if key in one or json.dumps(key)[1:-1] in one]


@pytest.mark.parametrize("what", SERVERS)
@pytest.mark.parametrize("key", [PLAIN, KEY], ids=["plain", "odd"])
def test_a_server_that_sends_the_key_back_leaves_no_trace_of_it(tmp_path, what, key):
    if what == "redirect" and key == KEY:
        pytest.skip("no header holds such a key")

    async def run():
        async with peer(lambda n, asked: SERVERS[what](key)) as server:
            model = OpenAICompatible("m", server.url, "${KEY}")
            if what == "stream":
                read = ResponseMap(text="text")
                model = HttpModel(
                    server.url, headers={"Authorization": "Bearer ${KEY}"}, body={"q": "{{prompt}}"}, response=read
                )
            retry = Retry(attempts=2, base_s=0.0)
            suite = Suite(
                "s", "custom", [Sample("1", "q", "A")], {"t": Prompt(model)}, (ExactMatch(),), Options(retry=retry)
            )
            await aevaluate_suite(
                suite, how=RunConfig(store="store/here.db", environment={"KEY": key}), on_broken="return"
            )
            return server.asked

    asked = asyncio.run(run())
    assert asked[0].headers["authorization"] == f"Bearer {key}"
    assert not traces(tmp_path, key)
    with Store("store/here.db") as store:
        assert not bodies(store, key)
        assert "[secret KEY]" in repr(list(store.runs()[0].records())) + store.runs()[0].reason


def test_an_error_of_a_run_never_quotes_the_key(tmp_path):
    async def run():
        async with peer(lambda n, asked: None) as server:
            url = f"{server.url}?key=${{KEY}}"
            model = HttpModel(url, body={"q": "{{prompt}}"}, response=ResponseMap(text="text"))
            suite = Suite("s", "custom", [Sample("1", "q", "A")], {"t": Prompt(model)}, (ExactMatch(),))
            return await aevaluate_suite(suite, how=RunConfig(store="store/here.db", environment={"KEY": PLAIN}))

    try:
        (found,) = asyncio.run(run())
        said_so = found.reason
    except Exception as error:  # noqa: BLE001  # whatever it is, it must not show the key
        said_so = "".join(traceback.format_exception(error))
    assert "cannot be reached" in said_so
    assert PLAIN not in said_so
    assert not traces(tmp_path, PLAIN)


def test_the_grep_of_these_tests_would_find_a_key(tmp_path):
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (?)", [f"..{PLAIN}.."])
    connection.close()
    assert traces(Path(tmp_path), PLAIN)
