"""The command line in this process: what it printed, and the code it would have exited with."""

import contextlib
import functools
import json
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
import typer.main
from tests.made_once import _made, once  # noqa: F401  # fixtures

from steelyard.cli import app
from steelyard.cli.app import run_app

ROWS = 20


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once():
    """Typer describes a command anew each time that it is run, which took a fifth of the CPU of a short one."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((app, "build_app"), (typer.main, "get_command")):
            patch.setattr(module, name, functools.cache(getattr(module, name)))
        yield


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


@pytest.fixture
def steelyard(capfd):
    """Runs a command; descriptors are captured too, so that nothing can be printed past the test."""

    def run(*arguments, code=None):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            run_app([str(one) for one in arguments])
        out, err = capfd.readouterr()
        assert code is None or ended.value.code == code, (out, err)
        return Result(ended.value.code, out, err)

    return run


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a dataset of 20 questions and a configuration for it; returns the configuration's path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    lines = ["question,A,B,C,D,answer,category"]
    lines += [f"Question {n}?,one,two,three,four,{'ABCD'[n % 4]},group {n % 2}" for n in range(ROWS)]
    (tmp_path / "exam.csv").write_text("\n".join(lines), encoding="utf-8")

    def config(targets, name="exam.json", **more):
        path = tmp_path / name
        whole = {"suite": "choice", "samples": {"file": "exam.csv"}, "targets": targets, **more}
        path.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
        return path

    return config


@pytest.fixture
def says():
    """says("B"): a target whose model answers B to everything."""

    def target(default="A", template="{{question}}", **replies):
        return {"prompt": {"template": template, "model": {"scripted": {"replies": replies, "default": default}}}}

    return target


@pytest.fixture
def in_journal(tmp_path):
    """How many replies are in the journal of the store here."""

    def count():
        with contextlib.closing(sqlite3.connect(tmp_path / ".steelyard/steelyard.db", timeout=5)) as connection:
            return connection.execute("SELECT count(*) FROM reply").fetchone()[0]

    return count


@pytest.fixture
def killed_when(tmp_path):
    """killed_when(condition, ...): starts a command in a process, and kills it once the condition holds."""

    def run(condition, *arguments):
        command = [sys.executable, "-c", "from steelyard.cli import main; main()", *map(str, arguments)]
        with subprocess.Popen(command, cwd=tmp_path) as process:
            deadline = time.monotonic() + 60
            try:
                while not condition():
                    assert process.poll() is None, "it ended before it could be killed"
                    assert time.monotonic() < deadline
                    time.sleep(0.01)  # another process has no event to wait for
            finally:
                process.kill()

    return run
