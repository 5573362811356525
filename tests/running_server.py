"""Starts the ledger server for a test and reads its ledger; writes and starts evaluations that ask it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

SERVER = Path(__file__).with_name("ledger_server.py")


@dataclass(frozen=True)
class Server:
    url: str
    ledger: Path

    def requests(self):
        """What the ledger holds, once the server has written down all that it has answered."""
        with contextlib.suppress(OSError):
            self.in_flight()
        return [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()]

    def in_flight(self):
        """How many requests have come and are not answered."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/ledger", timeout=20) as reply:
            return json.loads(reply.read())["in_flight"]

    def answered(self):
        return [one for one in self.requests() if not one["fault"]]


@contextlib.contextmanager
def ledger_server(folder, *options):
    folder.mkdir(parents=True, exist_ok=True)
    port, ledger = folder / "port", folder / "ledger.jsonl"
    command = [sys.executable, SERVER, "--port-file", port, "--ledger", ledger, *options]
    process = subprocess.Popen([str(part) for part in command])
    try:
        deadline = time.monotonic() + 60
        while not port.exists():
            assert process.poll() is None, "the ledger server has ended"
            assert time.monotonic() < deadline, "the ledger server did not start"
            time.sleep(0.01)
        yield Server(f"http://127.0.0.1:{port.read_text()}/v1", ledger)
    finally:
        process.kill()
        process.wait()


EACH_TARGET = "TARGET: {{question}}\n{{options}}"
"""A template that begins with the name of its target."""


def write_exam(
    folder,
    url,
    questions,
    *,
    text="Question {}?",
    template="{{question}}",
    targets=("one",),
    model=None,
    keys=None,
    **options,
):
    """An exam of the ledger's model with `exam.json`, its configuration; `keys` are more of its keys."""
    rows = ["id,question,A,B,C,D,answer,category"]
    rows += [f"q{n},{text.format(n)},one,two,three,four,{'ABCD'[n % 4]},group {n % 3}" for n in range(questions)]
    (folder / "exam.csv").write_text("\n".join(rows), encoding="utf-8")
    model = {"openai_compatible": {"name": "ledger", "base_url": url} | (model or {})}
    _write_configuration(
        folder / "exam.json",
        suite="choice",
        samples={"file": "exam.csv"},
        targets={name: {"prompt": {"template": template.replace("TARGET", name), "model": model}} for name in targets},
        options={"concurrency": 8} | options,
        **(keys or {}),
    )


def write_duel(path, url, questions, **options):
    """A judging run over the answers of two targets, all asked of the ledger's model; `path` is its configuration."""
    rows = [{"id": f"q{n}", "question": f"How is thing {n} done?"} for n in range(questions)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.parent.mkdir(exist_ok=True)
    (path.parent / "questions.jsonl").write_text(lines, encoding="utf-8")
    model = {"openai_compatible": {"name": "ledger", "base_url": url}}
    _write_configuration(
        path,
        suite="pairwise",
        samples={"file": "questions.jsonl"},
        targets={
            name: {"prompt": {"template": f"{name}: {{{{question}}}}", "model": model}} for name in ("first", "second")
        },
        judge={"model": model, "language": "en"},
        options={"concurrency": 8} | options,
    )


def _write_configuration(path, **keys):
    path.write_text(json.dumps(keys), encoding="utf-8")


def started(folder, *arguments):
    """A command that was started as a process of its own."""
    command = [sys.executable, "-c", "from steelyard.cli import main; main()", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
