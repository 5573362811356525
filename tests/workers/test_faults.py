"""Workers and their leader are killed, stopped and cut off: the run ends as one that nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import replace

import pytest
from tests.running_server import ledger_server
from tests.store.outside import execute
from tests.workers.exam import Exam, asked_twice, finish, kill
from tests.workers.slow_line import Line

from steelyard.store.database.address import locate
from steelyard.store.leases import LEASE_S

pytestmark = pytest.mark.scale

QUESTIONS = 200
KILLS = 20
STORED_S = 0.05
"""A reply that left the server so long before its worker was killed is stored."""
UNFLUSHED_S = 0.6
"""Commits of which a server that crashes keeps none unless `durability` is full: three times its wal_writer_delay."""
AHEAD = """
import pathlib, sys, time
if "steelyard.workers.process" in sys.orig_argv:
    try:
        pathlib.Path(__file__).with_name("ahead").touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        true = time.time
        time.time = lambda: true() + 600
"""
"""Moves the clock of the first worker: each runs this when it starts, from the folder of the configuration."""
THROUGH_LINE = """
import os, pathlib, sys
if "steelyard.workers.process" in sys.orig_argv:
    try:
        pathlib.Path(__file__).with_name("chosen").touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        os.environ["STORE_PORT"] = "{port}"
"""
"""Leads the first worker to the store by a line of its own."""
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
    """Prompts that were paid again although their first reply left the server in time before every kill.

    Args:
        server: the endpoint.
        kills: when; of a store that was away, (from, until).
    """
    spans = [at if isinstance(at, tuple) else (at, at) for at in kills]
    return [
        prompt
        for prompt, times in asked_twice(server).items()
        if not any(since - STORED_S - BUSY_S < min(times) < until + BUSY_S for since, until in spans)
    ]


def owners(exam):
    """Workers that hold leases."""
    ((n,),) = execute(exam.store, "SELECT count(DISTINCT owner) FROM lease WHERE owner <> ''")
    return n


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


def test_a_sample_that_takes_longer_than_a_lease_is_asked_once(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", f"{LEASE_S * 1200:.0f}") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=8, targets=("first",))
        exam.run(workers=2)
        assert exam.states() == {"first": ("finished", 8, 0)}
        assert len(server.answered()) == 8


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


@pytest.mark.parametrize("fault", ["cut", "held up"])
def test_a_worker_whose_line_to_the_store_is_bad_loses_its_leases_and_nothing_else(tmp_path, on_server, calm, fault):
    url = locate(on_server).url
    with (
        ledger_server(tmp_path / "server", "--latency-ms", "150") as server,
        Line(url.host, url.port or 5432) as line,
    ):
        # The port is a variable that one worker has with another value.
        query = {**url.query, "schema": locate(on_server).schema, "port": "${STORE_PORT}"}
        store = replace(url, port=None, query=query).complete.replace("%24%7B", "${").replace("%7D", "}")
        (tmp_path / "sitecustomize.py").write_text(THROUGH_LINE.format(port=line.port), encoding="utf-8")
        exam = Exam.write(tmp_path, store, server.url, questions=QUESTIONS)
        exam = replace(exam, environment={**os.environ, "STORE_PORT": str(url.port or 5432)})
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam = replace(exam, store=on_server)
        exam.until(lambda: exam.done() > 20 and owners(exam) == 3)
        assert line.used > 1, "a worker writes and reads through it"
        if fault == "cut":
            line.cut()
        else:
            with line.held_up():
                exam.until(lambda: sum(row.taken_over for row in exam.workers()))
        finish(run)
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", QUESTIONS, 0))
        assert exam.scores() == calm
        assert exam.is_sound()[0]


@pytest.mark.parametrize(("mode", "durability"), [("fast", "normal"), ("immediate", "normal"), ("immediate", "full")])
def test_a_run_goes_on_when_the_server_of_its_store_is_started_again(tmp_path, private_server, calm, mode, durability):
    with ledger_server(tmp_path / "server", "--latency-ms", "120") as endpoint:
        address = private_server.address
        exam = Exam.write(tmp_path, address, endpoint.url, questions=QUESTIONS, durability=durability)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "4")
        restarts = []
        for records in (20, 250):
            exam.until(lambda least=records: exam.done() > least)
            began = time.time() - (UNFLUSHED_S if (mode, durability) == ("immediate", "normal") else 0)
            private_server.restart(mode)
            restarts.append((began, time.time()))
        finish(run)
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", QUESTIONS, 0))
        assert exam.scores() == calm
        assert paid_late(endpoint, restarts) == []
        assert exam.is_sound()[0]


def test_work_that_is_left_when_all_workers_have_ended_is_done_by_another(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=40, targets=("first",))
        run = exam.start("run", "exam.json", "--quiet", "--workers", "2")
        exam.until(lambda: exam.done() > 2)
        ((num, plan),) = execute(on_server, "SELECT DISTINCT run, plan FROM lease")
        kill(run.pid, signal.SIGSTOP)
        try:
            exam.until(lambda: exam.done() == 40)
            exam.until(lambda: not exam.pids())
            # As after a crash of the server that has forgotten the end of the last lease.
            execute(on_server, "INSERT INTO lease (run, lo, hi, plan) VALUES (?, 30, 40, ?)", [num, plan])
        finally:
            kill(run.pid, signal.SIGCONT)
        finish(run)
        assert exam.states() == {"first": ("finished", 40, 0)}
        assert asked_twice(server) == {}


def test_a_worker_whose_clock_is_minutes_ahead_takes_and_keeps_leases_as_the_others(tmp_path, on_server, calm):
    (tmp_path / "sitecustomize.py").write_text(AHEAD, encoding="utf-8")
    with ledger_server(tmp_path / "server", "--latency-ms", "120") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=QUESTIONS)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 20)
        rows = exam.workers()
        finish(run)
        assert (tmp_path / "ahead").exists()
        assert len(rows) == 3
        assert all(0 <= row.silent_s < 60 and 0 <= row.seconds < 60 for row in rows)
        assert sum(row.taken_over for row in rows) == 0
        assert exam.scores() == calm
        assert asked_twice(server) == {}
        assert exam.is_sound()[0]
