"""A store is data of strangers: what it names is not called, opened, imported or given a key unless told to."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psycopg
import pytest
from tests.loopback import completion
from tests.servers import SERVER
from tests.store.conftest import on_server, schema, server  # noqa: F401  # fixtures
from tests.threaded_server import serving

KEY = "sk-of-the-victim-998877665544"
ROWS = 12


class Endpoint:
    """A server on loopback that answers every chat with B and keeps the path and headers of each request."""

    def __init__(self):
        self.asked = []
        endpoint = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.asked.append((self.path, dict(self.headers)))
                body = json.dumps(completion("The answer is B.\nRating: 5")).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.handler = Answers

    @property
    def keys(self):
        return {headers.get("Authorization", "").removeprefix("Bearer ") for _, headers in self.asked}


@pytest.fixture
def endpoint():
    endpoint = Endpoint()
    with serving(endpoint.handler) as address:
        endpoint.url = f"{address}/v1"
        yield endpoint


@pytest.fixture
def where(request, tmp_path):
    """A file, as what a store names is looked at before its database matters; `ON_EACH` tries a server too."""
    database = getattr(request, "param", "sqlite")
    return str(tmp_path / "shared.db") if database == "sqlite" else request.getfixturevalue("on_server")


ON_EACH = pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)


@contextlib.contextmanager
def as_person(name, tmp_path):
    """Another person: a state folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / f"state of {name}"))
        yield patch


def exam(folder, url, *, headers=None, target=None, calls=2, **more):
    """A configuration with its dataset; a budget interrupts its run after two calls."""
    folder.mkdir(exist_ok=True)
    rows = [f"s{n},Question {n}?,one,two,three,four,B" for n in range(ROWS)]
    (folder / "q.csv").write_text("\n".join(["id,question,A,B,C,D,answer", *rows]), encoding="utf-8")
    model = {"openai_compatible": {"name": "m", "base_url": url, "api_key": "${VICTIM_KEY}", "headers": headers or {}}}
    whole = {
        "suite": "choice",
        "samples": {"file": "q.csv"},
        "targets": {"m": target or {"prompt": {"template": "{{question}}{{options}}", "model": model}}},
        "options": {"concurrency": 1, "budget": {"calls": calls}},
        **more,
    }
    (folder / "c.json").write_text(json.dumps(whole), encoding="utf-8")
    return folder / "c.json"


def execute(where, statement, *values):
    """Change a store past the program, as whoever can write it can."""
    if where.startswith("postgresql:"):
        address, _, schema_name = where.partition("schema=")
        with psycopg.connect(address.rstrip("?&") or SERVER, autocommit=True) as connection:
            connection.execute(f'SET search_path TO "{schema_name}"')
            found = connection.execute(statement.replace("?", "%s"), values)
            return found.fetchall() if found.description else None
    with contextlib.closing(sqlite3.connect(where)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def change_manifest(where, change):
    ((text, num),) = execute(where, "SELECT manifest, num FROM run")
    manifest = json.loads(text)
    change(manifest)
    execute(where, "UPDATE run SET manifest = ? WHERE num = ?", json.dumps(manifest), num)


@pytest.fixture
def attacked(steelyard, endpoint, where, tmp_path):
    """Makes an interrupted run as another person, whose manifest names what it likes; the endpoint forgets that."""

    def attack(path, change=lambda _: None, **options):
        with as_person("attacker", tmp_path) as patch:
            patch.setenv("VICTIM_KEY", "of-the-attacker")
            config = exam(tmp_path / "attacker", endpoint.url, **options)
            steelyard("run", config, "--store", where, "-q", code=130)

        def named(manifest):
            manifest["config"]["path"] = str(path)
            manifest["config"]["plain"]["options"]["budget"] = {"calls": 99_999}
            change(manifest)

        change_manifest(where, named)
        endpoint.asked.clear()

    return attack


@pytest.fixture
def victim(tmp_path, monkeypatch):
    """A folder with a dataset and a key in its .env, and a key in the environment."""
    folder = tmp_path / "victim"
    exam(folder, "http://127.0.0.1:9/v1").unlink()
    (folder / ".env").write_text(f"VICTIM_KEY={KEY}-of-the-file\n", encoding="utf-8")
    monkeypatch.setenv("VICTIM_KEY", KEY)
    return folder


@ON_EACH
@pytest.mark.parametrize("planted", ["no file", "a file", "a file that was looked at"])
def test_a_resume_sends_nothing_that_the_store_alone_names(steelyard, endpoint, attacked, victim, where, planted):
    attacked(victim / "c.json", headers={"X-Also": "${VICTIM_KEY}"})
    if planted != "no file":  # whoever writes the store may write a file there as well
        exam(victim, endpoint.url, calls=99_999)
    if planted == "a file that was looked at":
        steelyard("check", victim / "c.json", code=0)
        steelyard("run", victim / "c.json", "--dry-run", code=0)
    workers = ("--workers", "2") if where.startswith("postgresql:") else ()
    result = steelyard("resume", "--store", where, "-q", *workers, code=2)
    assert endpoint.asked == []
    assert f"endpoints: {endpoint.url}" in result.err
    for line in ("keys: VICTIM_KEY", "headers: X-Also: ${VICTIM_KEY}", "files: q.csv", "budgets: calls 99999"):
        assert f"  {line}\n" in result.err
    assert "--config FILE" in result.err
    assert "--trust-store" in result.err
    assert KEY not in result.err


def test_a_trusted_store_gets_no_key_from_the_env_file_of_a_folder_that_it_names(
    steelyard, endpoint, attacked, victim, where, monkeypatch
):
    attacked(victim / "c.json")
    monkeypatch.chdir(victim)
    monkeypatch.delenv("VICTIM_KEY")
    refused = steelyard("resume", "--store", where, "-q", "--trust-store", code=2)
    assert "no .env file is read" in refused.err
    assert endpoint.asked == []
    monkeypatch.setenv("VICTIM_KEY", KEY)
    result = steelyard("resume", "--store", where, "-q", "--trust-store", code=0)
    assert f"endpoints: {endpoint.url}" in result.err, "what is used is said"
    assert endpoint.keys == {KEY}


def test_more_than_can_be_shown_is_not_trusted(steelyard, endpoint, attacked, victim, where):
    attacked(victim / "c.json")
    hiding = {f"h{n}": {"http": {"url": f"http://127.0.0.1:9/{n}", "response": {"text": "a"}}} for n in range(30)}
    change_manifest(
        where, lambda manifest: manifest["config"]["plain"]["targets"].update({**hiding, "z": {"replay": "a.jsonl"}})
    )
    refused = steelyard("resume", "--store", where, "-q", "--trust-store", code=2).err
    assert "--trust-store is for what can be shown whole" in refused
    assert endpoint.asked == []


def test_trust_is_not_remembered(steelyard, endpoint, attacked, victim, where):
    attacked(victim / "c.json")
    plain = {"calls": 3}
    change_manifest(where, lambda manifest: manifest["config"]["plain"]["options"].update(budget=plain))
    steelyard("resume", "--store", where, "-q", "--trust-store", code=130)
    endpoint.asked.clear()
    steelyard("resume", "--store", where, "-q", code=2)
    assert endpoint.asked == []


@pytest.mark.parametrize("kind", ["function", "langchain", "llama_index"])
def test_a_module_that_the_store_names_is_not_imported(steelyard, attacked, victim, where, tmp_path, monkeypatch, kind):
    def change(manifest):
        manifest["config"]["plain"]["targets"] = {"m": {kind: "results_helper:f"}}

    attacked(victim / "c.json", change)
    (tmp_path / "results_helper.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'w')\ndef f(sample): return 'B'\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    result = steelyard("resume", "--store", where, "-q", code=2)
    assert "  modules: results_helper:f\n" in result.err
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("form", ["c.json", "c.toml"])
def test_a_persons_own_run_is_resumed_from_any_folder_with_the_env_file_beside_its_configuration(
    steelyard, endpoint, where, tmp_path, monkeypatch, form
):
    folder = tmp_path / "own"
    config = exam(folder, endpoint.url)
    if form == "c.toml":
        config = folder / form
        config.write_text(
            'suite = "choice"\n[samples]\nfile = "q.csv"\n[options.budget]\ncalls = 2\n[targets.m.prompt]\n'
            'template = "{{question}}{{options}}"\n[targets.m.prompt.model.openai_compatible]\nname = "m"\n'
            f'base_url = "{endpoint.url}"\napi_key = "${{VICTIM_KEY}}"\n',
            encoding="utf-8",
        )
    (folder / ".env").write_text(f"VICTIM_KEY={KEY}\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    steelyard("run", form, "--store", where, "-q", code=130)
    config.write_text(config.read_text(encoding="utf-8").replace("2}", "99}").replace("= 2", "= 99"), encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    steelyard("resume", "--store", where, "-q", code=0)
    assert len(endpoint.asked) == ROWS
    assert endpoint.keys == {KEY}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"base_url": "URL/other"}, "base_url"),
        ({"api_key": "${OTHER_KEY}"}, "api_key"),
        ({"headers": {"X-Also": "${OTHER_KEY}"}}, "headers.X-Also"),
    ],
)
def test_changed_endpoints_keys_and_headers_are_named_as_changed_inputs(
    steelyard, endpoint, attacked, victim, where, monkeypatch, change, key
):
    attacked(victim / "c.json")
    config = exam(victim, endpoint.url)
    whole = json.loads(config.read_text(encoding="utf-8"))
    model = whole["targets"]["m"]["prompt"]["model"]["openai_compatible"]
    model |= {name: f"{endpoint.url}/other" if value == "URL/other" else value for name, value in change.items()}
    config.write_text(json.dumps(whole), encoding="utf-8")
    monkeypatch.setenv("OTHER_KEY", "another-key-112233")
    result = steelyard("resume", "--store", where, "-q", "--config", config, code=2)
    assert f"target.prompt.model.openai_compatible.{key}" in result.err
    assert endpoint.asked == []


def test_a_judges_changed_endpoint_is_named_too(steelyard, endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("VICTIM_KEY", KEY)
    config = judged(tmp_path, endpoint.url)
    steelyard("run", config, "-q", code=130)
    text = config.read_text(encoding="utf-8")
    for before, after, key in ((endpoint.url, f"{endpoint.url}/x", "base_url"), ("VICTIM_KEY", "PATH", "api_key")):
        config.write_text(text.replace(before, after), encoding="utf-8")
        assert f"judge.model.openai_compatible.{key}" in steelyard("resume", "-q", code=2).err


def judged(folder, url):
    """A configuration of rag: scripted answers and a judge at an endpoint, interrupted after two calls."""
    folder.mkdir(exist_ok=True)
    rows = [{"question": f"Question {n}?", "answer": "B", "contexts": ["B it is."]} for n in range(4)]
    (folder / "rag.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judge = {"openai_compatible": {"name": "j", "base_url": url, "api_key": "${VICTIM_KEY}"}}
    whole = {
        "suite": "rag",
        "samples": {"file": "rag.jsonl"},
        "targets": {"m": {"prompt": {"template": "{{question}}", "model": {"scripted": {"default": "B"}}}}},
        "judge": {"model": judge},
        "scorers": ["correctness", "exact_match"],
        "options": {"concurrency": 1, "budget": {"calls": 6}},
    }
    (folder / "r.json").write_text(json.dumps(whole), encoding="utf-8")
    return folder / "r.json"


def finished(steelyard, where, tmp_path, url="http://127.0.0.1:9/v1"):
    """A finished choice exam of another person, whose files are gone."""
    with as_person("attacker", tmp_path) as patch:
        patch.setenv("VICTIM_KEY", "of-the-attacker")
        config = exam(tmp_path / "attacker", url, calls=99)
        steelyard("run", config, "--store", where, "-q", code=0)
    for name in ("c.json", "q.csv"):
        (tmp_path / "attacker" / name).unlink()


@ON_EACH
def test_a_strangers_exam_is_scored_again_without_any_of_its_files(steelyard, endpoint, where, tmp_path):
    finished(steelyard, where, tmp_path, endpoint.url)
    calls = len(endpoint.asked)
    found = steelyard("rescore", "latest", "--rule", "last_letter", "--store", where, "--json", code=0).json()
    assert [found[when]["scores"][0]["headline"]["value"] for when in ("before", "after")] == [1.0, 1.0]
    assert len(endpoint.asked) == calls


@pytest.mark.parametrize(
    ("scorer", "named"),
    [
        ({"json_schema": {"name": "s", "schema": "/dev/stdin"}}, "schema: names a file"),
        ({"json_schema": {"name": "s", "schema": {"file": "a.json", "digest": "00"}}}, "schema: names a file"),
        ({"human_preference": {"name": "p", "file": "/dev/stdin"}}, "file: names a file"),
        ({"sql": {"databases": "/"}}, "databases: names a file"),
        ({"tables": {"databases": "/"}}, "databases: names a file"),
        ({"guideline": {"name": "g", "guidelines": ["Be kind."], "template": "/dev/stdin"}}, "template: names a file"),
        ({"correctness": {"judge": {"model": {"openai_compatible": {"name": "URL"}}}}}, "needs the model"),
        ({"regex": {"pattern": "(a|aa)+$", "timeout_s": 1e9}}, "timeout_s is 1e+09"),
        ({"per_turn": {"scorer": {"regex": {"pattern": "(a|aa)+$", "timeout_s": 60.0}}}}, "timeout_s is 60"),
        ({"sql": {"limits": {"memory_mib": 60_000}}}, "memory_mib is 60000"),
        ("results_helper:score", "needs code"),
        ({"results_helper:score": {}}, "there is no scorer"),
        (["a"], "needs code"),
    ],
)
def test_a_scorer_that_needs_a_file_a_model_or_code_is_not_taken_from_a_store(
    steelyard, endpoint, tmp_path, scorer, named
):
    where = str(tmp_path / "s.db")
    finished(steelyard, where, tmp_path, endpoint.url)
    change_manifest(where, lambda manifest: manifest.update(scorers={"choice": scorer}))
    result = steelyard("rescore", "latest", "--store", where, code=2)
    assert named in result.err
    assert "--config FILE" in result.err


def test_a_judged_run_of_a_stranger_is_scored_again_only_with_a_file_or_trust(
    steelyard, endpoint, tmp_path, monkeypatch
):
    where = str(tmp_path / "s.db")
    with as_person("attacker", tmp_path) as patch:
        patch.setenv("VICTIM_KEY", "of-the-attacker")
        config = judged(tmp_path / "attacker", endpoint.url)
        config.write_text(config.read_text(encoding="utf-8").replace('"calls": 6', '"calls": 99'), encoding="utf-8")
        steelyard("run", config, "--store", where, "-q", code=0)
    endpoint.asked.clear()
    monkeypatch.setenv("VICTIM_KEY", KEY)
    refused = steelyard("rescore", "latest", "--store", where, code=2).err
    assert f"endpoints: {endpoint.url}" in refused
    assert "keys: VICTIM_KEY" in refused
    steelyard("rescore", "latest", "--store", where, "--trust-store", code=0)
    steelyard("rescore", "latest", "--store", where, "--config", config, code=0)
    assert endpoint.asked == []


def test_a_request_to_generate_is_taken_from_a_store_only_if_this_person_made_it(steelyard, endpoint, where, tmp_path):
    document, out = tmp_path / "private.md", tmp_path / "q.jsonl"
    document.write_text("# Rain\n\n" + "The observer writes each line with care. " * 60, encoding="utf-8")
    typed = (
        "generate",
        "qa",
        document,
        "--out",
        out,
        "--per-chunk",
        "2",
        "--chunk-tokens",
        "100",
        "--budget-calls",
        "1",
    )
    with as_person("attacker", tmp_path) as patch:
        patch.setenv("VICTIM_KEY", "of-the-attacker")
        model = ("--model", "m", "--base-url", endpoint.url, "--api-key-env", "VICTIM_KEY")
        steelyard(*typed, *model, "--store", where, "-q")
    asked = len(endpoint.asked)
    assert asked
    result = steelyard("resume", "--store", where, "-q", code=2)
    assert f"endpoints: {endpoint.url}" in result.err
    assert str(document) in result.err.split("files: ")[1]
    assert "type the command generate again" in result.err
    assert len(endpoint.asked) == asked
    assert not out.exists()


def test_what_the_store_names_is_shown_inert_and_short(steelyard, attacked, victim, where):
    def change(manifest):
        plain = manifest["config"]["plain"]
        plain["name"] = "\x1b]0;x\x07http://h/" + "y" * 5000
        plain["targets"] = {f"t{n}": {"http": {"url": f"http://h{n}/\u202e\n--config"}} for n in range(500)}

    attacked(Path(f"{victim}/\x1b[2Jc.json"), change)
    result = steelyard("resume", "--store", where, "-q", code=2)
    assert "\x1b" not in result.err
    assert "\u202e" not in result.err
    assert "more" in result.err
    assert len(result.err) < 8_000
    assert "\n--config" not in result.err


@ON_EACH
@pytest.mark.parametrize("column", ["calls", "millis"])
def test_a_budget_is_not_raised_by_negative_spending_in_the_store(
    steelyard, endpoint, where, tmp_path, monkeypatch, column
):
    monkeypatch.setenv("VICTIM_KEY", KEY)
    config = exam(tmp_path, endpoint.url, options={"concurrency": 1, "budget": {"calls": 2, "minutes": 60}})
    steelyard("run", config, "--store", where, "-q", code=130)
    endpoint.asked.clear()
    execute(where, f"UPDATE evaluation SET {column} = -100000")
    assert "negative amounts" in steelyard("resume", "--store", where, "-q", code=4).err
    assert endpoint.asked == []


def test_the_lock_of_a_run_is_no_file_that_the_store_names(steelyard, endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("VICTIM_KEY", KEY)
    where = str(tmp_path / "s.db")
    config = exam(tmp_path, endpoint.url)
    steelyard("run", config, "--store", where, "-q", code=130)
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann", encoding="utf-8")
    for ident in ("../letter.txt", str(letter)):
        execute(where, "UPDATE run SET id = ?", ident)
        steelyard("runs", "--store", where)
        steelyard("resume", "--store", where, "-q")
        assert letter.read_text(encoding="utf-8") == "Dear Ann"


def test_the_dataset_of_a_strangers_run_is_not_opened(steelyard, endpoint, where, tmp_path):
    finished(steelyard, where, tmp_path, endpoint.url)
    secret = tmp_path / "attacker" / "q.csv"
    exam(tmp_path / "attacker", endpoint.url)  # the same content is there again
    for command in (("diff", "q.csv"), ("save", "q.csv", "--author", "ann")):
        assert (
            "cannot be opened: a store may name any file" in steelyard("data", *command, "--store", where, code=2).err
        )
    steelyard("check", secret, "--suite", "choice", code=0)
    assert "the same" in steelyard("data", "diff", "q.csv", "--store", where, code=0).out


def test_the_baseline_of_a_strangers_gate_is_not_opened(steelyard, endpoint, where, tmp_path):
    finished(steelyard, where, tmp_path, endpoint.url)
    os.mkfifo(tmp_path / "pipe.json")  # whoever opens it waits for ever
    gate = {"no_regression": {"solve_rate": 0.02}, "baseline": str(tmp_path / "pipe.json")}
    change_manifest(where, lambda manifest: manifest.update(gate=gate))
    assert "a store may name any file" in " ".join(steelyard("show", "latest", "--store", where, code=0).out.split())
    steelyard("report", "latest", "--store", where, "--html", "r.html", code=0)
    assert "a store may name any file" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_notes_are_kept_in_a_private_folder_and_those_in_a_public_one_do_not_count(tmp_path, monkeypatch):
    from steelyard.config.given import note_given, was_given

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    note_given(Path("a.json"), {"out": "b", "documents": ("c",)})
    folder = tmp_path / "state" / "steelyard" / "given"
    assert (folder.stat().st_mode & 0o777, {path.stat().st_mode & 0o777 for path in folder.iterdir()}) == (
        0o700,
        {0o600},
    )
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert was_given(tmp_path / "a.json")
    assert was_given({"documents": ["c"], "out": "b"})
    for other in (tmp_path / "x" / ".." / "a.json", Path("a\0b"), Path("\ud800"), {"documents": ["c"], "out": "z"}):
        assert not was_given(other)
    folder.chmod(0o777)
    assert not was_given(tmp_path / "a.json")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "none" if os.geteuid() else "/proc/none"))
    note_given(Path("a.json"))  # cannot be written: the next command asks
    assert not was_given(tmp_path / "a.json")


def test_the_folders_above_the_notes_are_closed_too_whatever_the_umask(tmp_path, monkeypatch):
    from steelyard.config.given import note_given

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        note_given(tmp_path / "exam.yaml")
    finally:
        os.umask(before)
    folders = (tmp_path / "state", tmp_path / "state" / "steelyard")
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
