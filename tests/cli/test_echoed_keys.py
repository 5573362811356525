"""A server that sends the key back in other clothes: none of it is in the store, a report or on the terminal."""

import json
from http.server import BaseHTTPRequestHandler

import pytest
from tests.loopback import completion
from tests.session.clothes import CLOTHES
from tests.threaded_server import serving

from steelyard.session.key_search import KeySearch
from steelyard.store import Store

KEY = "sk-Zq7Xw9Lm3Pt5Rv8Yb2Nc4Kd6Hf1Jg0"
SYMBOLS = "pa$sw@rd! long/one+two=three&four"
REFUSED = ("plain", "middle starred", "quote of all", "base64 twice", "reversed", "mixed")


class Echo(BaseHTTPRequestHandler):
    """Answers `/STATUS/CLOTHES` with the key; the clothes may be the question too."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, status, clothes, *_ = self.path.split("/")
        name = asked["messages"][-1]["content"] if clothes == "asked" else clothes.replace("_", " ")
        key = self.headers["Authorization"].removeprefix("Bearer ")
        text = f"The answer is A. <{CLOTHES[name](key)}>"
        body = completion(text, system_fingerprint=text) if status == "200" else {"error": {"message": text}}
        data = json.dumps(body).encode()
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Nothing on the terminal."""


@pytest.fixture
def echo():
    with serving(Echo) as address:
        yield address


def everything(folder, steelyard):
    """All that the person and other programs see of the runs."""
    with Store(folder / ".steelyard/steelyard.db") as store:
        runs = store.runs()
        yield from (repr(record) for run in runs for record in run.records())
        yield from (f"{json.dumps(run.manifest)} {run.reason}" for run in runs)
    for run in runs:
        for words in (("show", run.id), ("show", run.id, "--json"), ("report", run.id, "--html", "r.html")):
            shown = steelyard(*words)
            yield shown.out + shown.err
        steelyard("report", run.id, "--markdown", "r.md")
    for path in folder.rglob("*"):
        if path.is_file() and path.name != ".env":
            yield path.read_bytes().decode("utf-8", "replace")


def configure(folder, url, names, key=KEY):
    rows = [f'"{name}",1,2,3,4,A' for name in names]
    (folder / "exam.csv").write_text("\n".join(["question,A,B,C,D,answer", *rows]))
    (folder / ".env").write_text(f"KEY='{key}'\n")
    model = {"openai_compatible": {"name": "m", "base_url": url, "api_key": "${KEY}"}}
    config = {
        "suite": "choice",
        "samples": {"file": "exam.csv"},
        "targets": {"t": {"prompt": {"template": "{{question}}", "model": model}}},
        "options": {"retry": {"attempts": 1}},
    }
    (folder / "c.json").write_text(json.dumps(config))
    return folder / "c.json"


def assert_no_trace(texts, names, key=KEY):
    search = KeySearch({"KEY": key})
    texts = list(texts)
    assert any("[secret KEY]" in text for text in texts)
    for text in texts:
        for name in names:
            dressed = CLOTHES[name](key)
            assert dressed not in text, name
            assert json.dumps(dressed)[1:-1] not in text, name
        assert not any(key[at : at + 8] in text for at in range(len(key) - 7))
        assert not search.finds(text), search.mask_text(text)[:2000]


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_in_any_clothes_leaves_no_trace(tmp_path, monkeypatch, steelyard, echo, status):
    monkeypatch.chdir(tmp_path)
    printed = steelyard("run", configure(tmp_path, f"{echo}/{status}/asked", CLOTHES), "--json")
    texts = [printed.out, printed.err, *everything(tmp_path, steelyard)]
    assert_no_trace(texts, CLOTHES)


@pytest.mark.parametrize("clothes", REFUSED)
def test_a_wrong_key_that_the_server_names_ends_the_run_without_a_trace(
    tmp_path, monkeypatch, steelyard, echo, clothes
):
    monkeypatch.chdir(tmp_path)
    config = configure(tmp_path, f"{echo}/401/{clothes.replace(' ', '_')}", ["What?"])
    printed = steelyard("--debug", "run", config)
    assert printed.code == 4
    texts = [printed.out, printed.err, *everything(tmp_path, steelyard)]
    assert_no_trace(texts, [clothes])


@pytest.mark.parametrize("key", [KEY, SYMBOLS], ids=["plain", "with symbols"])
@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", b"garbage\r\n\r\n"])
def test_a_key_in_an_address_is_in_no_message(tmp_path, monkeypatch, steelyard, key, answer):
    monkeypatch.chdir(tmp_path)

    class Broken(Echo):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(answer)
            self.close_connection = True

    config = json.loads(configure(tmp_path, "http://h", ["What?"], key).read_text())
    http = {"body": {"q": "{{prompt}}"}, "response": {"text": "a"}, "template": "{{question}}"}
    with serving(Broken) as address:
        config["targets"] = {"t": {"http": {"url": f"{address}/v1?key=${{KEY}}", **http}}}
        (tmp_path / "c.json").write_text(json.dumps(config))
        printed = [steelyard("--debug", *words, tmp_path / "c.json") for words in (["run"], ["check"], ["diagnose"])]
    texts = [*(shown.out + shown.err for shown in printed), *everything(tmp_path, steelyard)]
    assert any("127.0.0.1" in text for text in texts)
    search = KeySearch({"KEY": key})
    assert not [search.mask_text(text) for text in texts if search.finds(text)]
