"""A run and a viewer in processes of their own, for tests that follow the one in the other."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.store import Store

ROOT = Path(__file__).resolve().parents[2]
STARTED = 20
"""Samples that are answered before anybody lets the run go on."""
GATED_RUN = f"""
import sys, time
from pathlib import Path
from steelyard import Options, Output, Suite, evaluate_suite
from steelyard.scorers.choice import Choice
from steelyard.evaluation.evaluate import RunConfig
from tests.viewer.conftest import exam

def gated(sample):
    gate = Path(sys.argv[1]).with_name("gate")
    while int(sample.id[1:]) >= (int(gate.read_text() or 0) if gate.exists() else {STARTED}):
        time.sleep(0.02)
    return Output("The answer is A.")

suite = Suite("Live", "choice", exam(60), {{"gated": gated}}, (Choice(),), Options(concurrency=1))
evaluate_suite(suite, how=RunConfig(store=sys.argv[1]))
"""


class GatedRun:
    """A run of 60 samples in another process, which waits after each number that it was allowed."""

    def __init__(self, store, process):
        self._process = process
        self._gate = store.with_name("gate")
        with Store(store) as opened:
            (run,) = opened.runs()
        self.id = run.id

    def allow(self, samples):
        partial = self._gate.with_suffix(".partial")
        partial.write_text(str(samples))
        partial.replace(self._gate)

    @contextmanager
    def stopped(self):
        """The process stands still: it does not see what happens to its store meanwhile."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # on a busy machine it may still write behind the signal
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def gated_run(store):
    """The run, once it is in the store."""
    process = subprocess.Popen([sys.executable, "-c", GATED_RUN, str(store)], cwd=ROOT, env=_environment())
    try:
        _wait_for_a_run(store, process)
        yield GatedRun(store, process)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


def _wait_for_a_run(store, process):
    while process.poll() is None:
        try:
            with Store(store) as opened:
                if opened.runs():
                    return
        except SteelyardError:  # not made yet
            pass
        time.sleep(0.1)
    raise AssertionError("the run ended before it was in its store")


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class ViewerProcess:
    """`steelyard view` as a user starts it.

    Attributes:
        address: what it printed.
    """

    def __init__(self, store, *options, descriptors=None):
        limit = ["sh", "-c", 'ulimit -n "$0"; exec "$@"', str(descriptors)] if descriptors else []
        command = [
            *limit,
            sys.executable,
            "-c",
            "from steelyard.cli import main; main()",
            "view",
            "--no-browser",
            "--store",
            str(store),
            *options,
        ]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        readable, _, _ = select.select([self._process.stdout], [], [], 60)
        line = self._process.stdout.readline() if readable else ""
        if "http" not in line:
            self._process.kill()
            raise AssertionError(line + self._process.communicate()[1])
        self.address = line.split()[-1]

    def send_signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        """End it at once, as a crash or a lost machine does; gives what it wrote on standard error."""
        self._process.kill()
        return self._process.communicate()[1]


@contextmanager
def viewer_process(store, *options):
    process = ViewerProcess(store, *options)
    try:
        yield process
    finally:
        process.kill()


def _environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([f"{ROOT}/src", str(ROOT)])}
