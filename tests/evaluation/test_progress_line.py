"""The line of progress of an evaluation that was started from Python."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from steelyard.evaluation.progress_line import progress_text
from steelyard.runner import Progress

SCRIPT = """
import sys, time
from steelyard import ExactMatch, Sample, evaluate

def slow(sample):
    time.sleep(0.12)
    if sample.id == "q3":
        raise ValueError("no")
    return "A"

samples = [Sample(f"q{n}", "Which?", "A") for n in range(12)]
run = evaluate(slow, samples, [ExactMatch()], store=sys.argv[1], concurrency=1, max_errors=0.5, **eval(sys.argv[2]))
print(run.state)
"""


def printed(tmp_path, options):
    """What a terminal of 60 columns gets of the script, its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "s.db"), options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "60"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux's way to say that the other side was closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.communicate()[0].decode().strip() == "finished"
    return text.decode()


def test_a_terminal_shows_one_line_that_is_redrawn_and_ends_with_the_whole(tmp_path):
    lines = printed(tmp_path, "{}").split("\r")
    assert len(lines) > 3
    assert all(line.startswith("slow: ") and len(line.rstrip("\n")) < 60 for line in lines if line.strip())
    last = next(line for line in reversed(lines) if line.strip())
    assert last.startswith("slow: 12 of 12 (100 %), 1 error")


def test_progress_can_be_turned_off(tmp_path):
    assert printed(tmp_path, "{'progress': False}") == ""


def test_what_is_no_terminal_gets_no_progress(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "s.db"), "{}"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("targets", "line"),
    [
        ([Progress("a", 0)], "a: 0 of 0 (0 %), 10 s"),
        ([Progress("a", 40)], "a: 0 of 40 (0 %), 10 s"),
        ([Progress("a", 40, 20, before=10)], "a: 20 of 40 (50 %), 20 s left"),
        ([Progress("a", 40, 40), Progress("b", 40, 10, errors=2)], "2 targets: 50 of 80 (62 %), 2 errors, 6 s left"),
        ([Progress("a", 40, 20, ended_early=True)], "a: 20 of 40 (50 %), 10 s"),
        ([Progress("a\x1b[2J", 1, 1)], "a\\x1b[2J: 1 of 1 (100 %), 10 s"),
    ],
)
def test_the_line_says_what_is_done_and_what_is_left(targets, line):
    assert progress_text(targets, 10.0) == line
