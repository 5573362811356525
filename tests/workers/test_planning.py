"""Samples are asked while later ones are still being stored."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from steelyard.store import Store

pytestmark = pytest.mark.scale

N = 2_100
"""More than the samples that are stored at once."""
MODULE = """
import os, pathlib, time
from steelyard import Sample
ASKED = pathlib.Path(__file__).with_name("asked")
def answer(sample):
    ASKED.touch()
    return "yes"
class Samples:
    passes = 0
    def __iter__(self):
        self.passes += 1
        for n in range({n}):
            if n == 2000 and self.passes == 2:  # the first pass counts them
                until = time.monotonic() + 90
                while not ASKED.exists() or "FOR_EVER" in os.environ:
                    assert time.monotonic() < until, "no sample was asked before all are stored"
                    time.sleep(0.02)
            yield Sample(f"q{{n}}", f"Question {{n}}?", "yes")
"""
SCRIPT = """
import sys
from slow_samples import Samples, answer
from steelyard import ExactMatch, evaluate
resumed = {"resume": sys.argv[2]} if len(sys.argv) > 2 else {}
evaluate(answer, Samples(), [ExactMatch()], store=sys.argv[1], workers=2, **resumed)
"""


def started(folder, store, *resumed, **variables):
    (folder / "slow_samples.py").write_text(MODULE.format(n=N), encoding="utf-8")
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-c", SCRIPT, store, *resumed]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def state(address):
    with Store(address) as store:
        (run,) = store.runs()
        return run.id, run.state, run.done


def test_the_first_sample_is_asked_before_the_last_is_stored(tmp_path, on_server):
    process = started(tmp_path, on_server)
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert state(on_server)[1:] == ("finished", N)


def test_a_leader_that_died_before_all_samples_were_stored_leaves_a_run_to_resume(tmp_path, on_server):
    process = started(tmp_path, on_server, FOR_EVER="1")
    while not (tmp_path / "asked").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=180)  # the workers hold its pipe until they end
    run, *reached = state(on_server)
    assert reached == ["interrupted", 2000]
    process = started(tmp_path, on_server, run)
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert state(on_server) == (run, "finished", N)
