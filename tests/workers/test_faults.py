"""Workers and their leader are killed, stopped and cut off: the run ends as one that nobody disturbed."""

from __future__ import annotations

import random
import signal
import time

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, finish, kill

pytestmark = pytest.mark.scale

QUESTIONS = 300
KILLS = 20
STORED_S = 0.05
"""A reply that left the server so long before its worker was killed is stored."""
BUSY_S = 0.25
"""What a busy machine may add to that, and what a call takes that was in flight."""


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Scores of the same exam in one process, undisturbed."""
    folder = tmp_path_factory.mktemp("calm")
    with ledger_server(folder / "server", "--latency-ms", "1") as server:
        exam = Exam.write(folder, str(folder / "s.db"), server.url, questions=QUESTIONS)
        finish(exam.start("run", "exam.json", "--quiet"))
        return exam.scores()


def paid_late(server, kills):
    """Prompts that were paid again although their first reply left the server in time before every kill."""
    return [
        prompt
        for prompt, times in asked_twice(server).items()
        if not any(-BUSY_S < at - min(times) < STORED_S + BUSY_S for at in kills)
    ]


def test_workers_that_are_killed_at_random_lose_nothing_and_write_nothing_twice(tmp_path, on_server, calm):
    draw, kills = random.Random(7), []
    with ledger_server(tmp_path / "server", "--latency-ms", "120") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=QUESTIONS)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "4")
        exam.until(lambda: exam.done() > 5)
        while len(kills) < KILLS and run.poll() is None:
            if pids := exam.pids():
                kills.append(time.time())
                kill(draw.choice(pids))
            time.sleep(draw.uniform(0.3, 0.9))
        finish(run)
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", QUESTIONS, 0))
        assert exam.scores() == calm
        assert paid_late(server, kills) == []
        assert len(kills) > KILLS / 2
        assert exam.is_sound()[0]


def test_workers_finish_the_runs_of_a_leader_that_was_killed(tmp_path, on_server, calm):
    with ledger_server(tmp_path / "server", "--latency-ms", "120") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=QUESTIONS)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "4")
        exam.until(lambda: exam.done() > 20)
        run.kill()
        run.communicate()
        whole = dict.fromkeys(("first", "second"), ("finished", QUESTIONS, 0))
        exam.until(lambda: exam.states() == whole, 120)
        assert exam.scores() == calm
        assert asked_twice(server) == {}
        assert exam.is_sound()[0]


def test_a_worker_that_slept_through_its_leases_writes_nothing(tmp_path, on_server, calm):
    with ledger_server(tmp_path / "server", "--latency-ms", "150") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=QUESTIONS)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 20)
        (asleep, *_) = exam.until(exam.pids)
        kill(asleep, signal.SIGSTOP)
        try:
            exam.until(lambda: exam.done() >= 2 * QUESTIONS, 120)
        finally:
            kill(asleep, signal.SIGCONT)
        finish(run)
        assert exam.scores() == calm
        assert {state for state, _, _ in exam.states().values()} == {"finished"}
        assert exam.is_sound()[0]


@pytest.mark.parametrize("whose", ["workers", "workers and leader"])
def test_a_run_whose_lines_to_the_store_are_cut_goes_on(tmp_path, on_server, calm, server, whose):
    with ledger_server(tmp_path / "server", "--latency-ms", "120") as endpoint:
        exam = Exam.write(tmp_path, on_server, endpoint.url, questions=QUESTIONS)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 20)
        cut = 0
        for _ in range(2):
            for pid in [*exam.until(exam.pids), *([run.pid] if "leader" in whose else [])]:
                name = f"steelyard pid {pid} on %"
                query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s"
                cut += len(server.execute(query, [name]).fetchall())
            time.sleep(1)
        finish(run)
        assert cut > 3
        assert exam.scores() == calm
        assert exam.is_sound()[0]
