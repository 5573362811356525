"""A conversation is journalled turn by turn: a killed run pays again only for the turn that was in flight."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

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
    (folder / "app.py").write_text(MODULE, encoding="utf-8")
    rows = [{"id": name, "question": f"Hello {name}"} for name in "ab"]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = {"scripted": {"default": '{"message": "go on", "done": false}'}}
    user = {"target": {"function": "app:answer"}, "model": model, "most_turns": TURNS}
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


def test_a_killed_conversation_goes_on_with_the_turn_that_was_in_flight(where, tmp_path):
    steelyard = write(tmp_path, where)
    (tmp_path / "kill_at.txt").write_text("5", encoding="utf-8")
    killed = steelyard("run", "talk.json")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (tmp_path / "kill_at.txt").unlink()
    resumed = steelyard("resume")
    assert resumed.returncode == 0, resumed.stderr
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert calls == ["a 1", "a 3", "a 5", "b 1", "b 3", "b 3", "b 5"], "only the fifth call is made again"
    with Store(where) as store:
        [run] = store.runs()
        records = list(run.records())
    assert [record.failure for record in records] == [None, None]
    for record in records:
        assert record.output.metadata["conversation"] == {"turns": TURNS, "ended": "most_turns"}
        assert record.output.metadata["messages"][0]["content"] == f"Hello {record.sample.id}"
        assert len(record.replies["simulated_user"]) == TURNS - 1
