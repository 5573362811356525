"""A conversation is journalled turn by turn: a killed run pays again only for the turn that was in flight."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import pytest
from tests.command_here import command_here
from tests.threaded_server import serving

from steelyard.store import Store

MODULE = """
import os, signal
from pathlib import Path

LOG, KILL_AT = Path("calls.txt"), Path("kill_at.txt")


def answer(sample):
    words = [message["content"] for message in sample.input]
    with LOG.open("a") as log:
        log.write(f"{sample.id} {len(words)}\\n")
    if KILL_AT.exists() and len(LOG.read_text().splitlines()) == int(KILL_AT.read_text()):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"answer to {words[-1]}"
"""
TURNS = 3


def write(folder, where):
    (folder / "talked_to.py").write_text(MODULE, encoding="utf-8")
    rows = [{"id": name, "question": f"Hello {name}"} for name in "ab"]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = {"scripted": {"default": '{"message": "go on", "done": false}'}}
    user = {"target": {"function": "talked_to:answer"}, "model": model, "most_turns": TURNS}
    config = {
        "suite": "rag",
        "samples": {"file": "q.jsonl"},
        "targets": {"bot": {"simulated_user": user}},
        "scorers": ["agent_steps"],
        "options": {"concurrency": 1},
    }
    (folder / "talk.json").write_text(json.dumps(config), encoding="utf-8")
    return lambda *arguments: subprocess.run(
        [sys.executable, "-c", "from steelyard.cli import main; main()", *arguments, "--store", str(where), "--quiet"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_killed_conversation_goes_on_with_the_turn_that_was_in_flight(on_file, tmp_path, monkeypatch):
    steelyard = write(tmp_path, on_file)
    (tmp_path / "kill_at.txt").write_text("5", encoding="utf-8")
    killed = steelyard("run", "talk.json")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (tmp_path / "kill_at.txt").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    command_here(tmp_path, "resume", "--store", on_file, "--quiet")
    sys.modules.pop("talked_to", None)
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert calls == ["a 1", "a 3", "a 5", "b 1", "b 3", "b 3", "b 5"], "only the fifth call is made again"
    with Store(on_file) as store:
        [run] = store.runs()
        records = list(run.records())
    assert [record.failure for record in records] == [None, None]
    for record in records:
        assert record.output.metadata["conversation"] == {"turns": TURNS, "ended": "most_turns"}
        assert record.output.metadata["messages"][0]["content"] == f"Hello {record.sample.id}"
        assert len(record.replies["simulated_user"]) == TURNS - 1


@dataclass
class Endpoints:
    """Two chat endpoints on loopback, of the application and of the simulated user, and who asked them what.

    Attributes:
        asked: path and body of every request, in order.
        kill_at: number of the request, from 1, at which the process is killed before it is answered; 0: none.
        process: that asks.
    """

    asked: list[tuple[str, bytes]] = field(default_factory=list)
    kill_at: int = 0
    process: subprocess.Popen[str] | None = None

    def answer(self, path: str, body: bytes) -> bytes | None:
        self.asked.append((path, body))
        if len(self.asked) == self.kill_at:
            assert self.process is not None
            self.process.kill()
            return None
        text = '{"message": "go on", "done": false}' if path.startswith("/user") else f"answer {len(self.asked)}"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


@contextlib.contextmanager
def endpoints():
    here = Endpoints()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            given = here.answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            if given is None:
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(given)))
            self.end_headers()
            self.wfile.write(given)

        def log_message(self, *arguments):
            del arguments

    with serving(Handler) as address:
        yield here, address


TARGETS = {
    "prompt": lambda url: {"prompt": {"model": {"openai_compatible": {"name": "app", "base_url": f"{url}/app/v1"}}}},
    "http": lambda url: {
        "http": {
            "url": f"{url}/app/json",
            "body": {"messages": "{{messages}}"},
            "response": {"text": "choices[0].message.content"},
        }
    },
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_killed_conversation_pays_only_the_calls_in_flight_again(kind, tmp_path):
    with endpoints() as (here, url):
        write(tmp_path, tmp_path / "s.db")
        config = json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))
        user = config["targets"]["bot"]["simulated_user"]
        user["target"] = TARGETS[kind](url)
        user["model"] = {"openai_compatible": {"name": "user", "base_url": f"{url}/user/v1"}}
        (tmp_path / "talk.json").write_text(json.dumps(config), encoding="utf-8")
        in_flight = []
        # The fourth request is the user's; the target's is the sixth, as the fourth is made again before it.
        for asked, kill_at, command in (("/user", 4, ("run", "talk.json")), ("/app", 6, ("resume",))):
            here.kill_at = kill_at
            command = [sys.executable, "-c", "from steelyard.cli import main; main()", *command]  # noqa: PLW2901
            here.process = subprocess.Popen(
                [*command, "--store", str(tmp_path / "s.db"), "--quiet"],
                cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert here.process.wait(120) == -signal.SIGKILL
            here.process.stderr.close()
            in_flight.append(here.asked[-1])
            assert in_flight[-1][0].startswith(asked)
        here.kill_at = 0
        command_here(tmp_path, "resume", "--store", tmp_path / "s.db", "--quiet")
    counts = Counter(here.asked)
    assert [counts[request] for request in in_flight] == [2, 2]
    assert sum(counts.values()) == 2 * (2 * TURNS - 1) + 2
    assert [times for request, times in counts.items() if request not in in_flight] == [1] * (2 * (2 * TURNS - 1) - 2)
    with Store(tmp_path / "s.db") as store:
        [run] = store.runs()
        records = list(run.records())
        stages = {stage.stage: (stage.calls, stage.input_tokens) for stage in run.data().stages}
    assert [record.output.metadata["conversation"]["turns"] for record in records] == [TURNS, TURNS]
    assert stages["simulated_user"] == (2 * (TURNS - 1), 14 * (TURNS - 1))
    assert stages["target"][0] == 2 * TURNS
