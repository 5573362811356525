"""An exam with two targets behind a ledger server, run by the command line with workers on a PostgreSQL store."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.running_server import EACH_TARGET, write_exam

from steelyard.errors import SteelyardError
from steelyard.store import Store
from steelyard.store.worker_rows import workers_of


@dataclass(frozen=True)
class Exam:
    """A folder with the configuration, the address of its store, and the Python whose Steelyard runs it."""

    folder: Path
    store: str
    questions: int
    python: str = sys.executable
    environment: dict[str, str] | None = None

    @classmethod
    def write(cls, folder, store, url, *, questions=120, targets=("first", "second"), keys=None, **options):
        write_exam(folder, url, questions, template=EACH_TARGET, targets=targets, keys=keys, **options)
        return cls(folder, store, questions)

    def start(self, *arguments):
        command = [self.python, "-c", "from steelyard.cli import main; main()", *arguments, "--store", self.store]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, **pipes)

    def run(self, workers=3, code=0):
        return finish(self.start("run", "exam.json", "--quiet", "--workers", str(workers)), code)

    def scores(self):
        """Target -> (sample, repeat, output, scores) of each record of its newest run, in order."""
        with Store(self.store) as store:
            return {
                run.target: [
                    (each.sample.id, each.repeat, each.output and each.output.value, each.scores)
                    for each in run.records()
                ]
                for run in reversed(store.runs())
            }

    def states(self):
        with Store(self.store) as store:
            return {run.target: (run.state, run.done, run.errors) for run in store.runs()}

    def done(self):
        with contextlib.suppress(SteelyardError), Store(self.store) as store:
            return sum(run.done for run in store.runs())
        return 0

    def workers(self):
        """What the store says of the workers."""
        with contextlib.suppress(SteelyardError), Store(self.store) as store, store.reading() as connection:
            return workers_of(connection, store.runs()[0].evaluation) if store.runs() else []
        return []

    def pids(self):
        """Processes of the workers that were seen in the last three seconds; one that begins has none yet."""
        return [int(re.match(r"pid (\d+)", row.place)[1]) for row in self.workers() if row.place and row.silent_s < 3]

    def until(self, holds, seconds=120):
        deadline = time.monotonic() + seconds
        while not (value := holds()):
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.05)
        return value

    def is_sound(self):
        with subprocess.Popen(
            [sys.executable, "-c", "from steelyard.cli import main; main()", "verify", "--store", self.store],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            out, _ = process.communicate(timeout=60)
        return process.returncode == 0, out


def finish(process, code=0, seconds=180):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == code, (process.returncode, out, err)
    return out + err


def kill(pid, signum=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def asked_twice(server):
    """Prompt -> when each of its answers left, of prompts that were answered more than once."""
    answers = {}
    for request in server.answered():
        answers.setdefault(request["prompt"], []).append(request["sent"])
    return {prompt: times for prompt, times in answers.items() if len(times) > 1}


def counted(server):
    return Counter(request["prompt"] for request in server.answered())
