"""Workers continue without the process that started them: what another process may do meanwhile."""

from __future__ import annotations

import signal

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, finish, kill

pytestmark = pytest.mark.scale

EXAM = {"questions": 96, "targets": ("first",)}
SLOW = ("--latency-ms", "1500")
"""So that the workers are still busy when a second process has started, however busy the machine is."""


def orphaned(folder, store, url):
    """An exam whose workers go on without the process that started them."""
    exam = Exam.write(folder, store, url, **EXAM)
    run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
    exam.until(lambda: exam.done() > 2)
    run.kill()
    run.wait()
    return exam, run


def states(exam):
    return {state for state, *_ in exam.states().values()}


def test_workers_of_a_resume_are_shown_without_those_of_a_run_that_was_killed(tmp_path, on_server):
    with ledger_server(tmp_path / "server", *SLOW) as server:
        exam, run = orphaned(tmp_path, on_server, server.url)
        first = exam.workers()
        for pid in exam.pids():
            kill(pid)
        run.communicate()
        again = exam.start("resume", "--quiet", "--workers", "2")
        # Counted, not by their silence: rows of the killed fall silent one after the other.
        exam.until(lambda: len(exam.workers()) == 2)
        rows = exam.workers()
        again.send_signal(signal.SIGINT)
        finish(again, 130)
        assert [row.slot for row in first] == [0, 1, 2]
        assert [(row.slot, row.starts) for row in rows] == [(0, 1), (1, 1)]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Scores of the same exam in one process, undisturbed."""
    folder = tmp_path_factory.mktemp("calm")
    with ledger_server(folder / "server") as server:
        exam = Exam.write(folder, str(folder / "s.db"), server.url, **EXAM)
        finish(exam.start("run", "exam.json", "--quiet"))
        return exam.scores()


def test_a_run_that_its_workers_still_write_is_taken_over_by_other_workers_alone(tmp_path, on_server, calm):
    with ledger_server(tmp_path / "server", "--latency-ms", "3000") as server:
        exam, run = orphaned(tmp_path, on_server, server.url)
        assert states(exam) == {"running"}
        refused = finish(exam.start("resume", "--quiet"), 4)
        assert "is still being written by its workers (pid " in refused
        assert "`steelyard resume --workers N`" in refused
        assert "is still being written by its workers" in finish(exam.start("delete", "first", "--yes"), 4)
        finish(exam.start("resume", "--quiet", "--workers", "2"))
        run.communicate(timeout=60)  # the workers of the first sitting have ended too
        assert states(exam) == {"finished"}
        assert exam.scores() == calm
        assert exam.is_sound()[0]
        # In flight in the first workers when the others began, and what these asked until they noticed it.
        assert len(asked_twice(server)) <= 3 * 8
