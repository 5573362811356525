"""The store, or whoever plans a run, is lost while its samples are being stored."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, counted, finish, kill

from steelyard import Sample
from steelyard.store import NewRun, Store
from steelyard.store.leases import (
    add_leases,
    change_grants,
    close_leases,
    granted_places,
    leases_left,
    open_leases,
    plan_portion,
    planned_samples,
)

pytestmark = pytest.mark.scale

PORTION = 40
N = 3 * PORTION
RATE = 600
SPAN_S = 5.0
CONCURRENCY = 8
STORED_S = 0.3
"""A reply that left the server so long before its worker was killed is stored, also on a busy machine."""
PROGRAM = f"""
import os, pathlib, sys, time
from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, evaluate
from steelyard.models.rate_limit import Rates
from steelyard.store import leases

leases._PORTION = {PORTION}  # samples that are stored at once
GO = pathlib.Path("go")

class Samples:
    passes = 0
    def __iter__(self):
        self.passes += 1
        for n in range({N}):
            if n == 2 * {PORTION} - 1 and self.passes == 2:  # the first pass counts them
                until = time.monotonic() + 90
                while not GO.exists():
                    assert time.monotonic() < until, "nobody let the planning go on"
                    time.sleep(0.02)
                pathlib.Path("gone").touch()
            yield Sample(f"q{{n}}", f"Question {{n}}?", "A")

store, url, *resumed = sys.argv[1:]
target = Prompt(OpenAICompatible("ledger", url))
evaluate(target, Samples(), [ExactMatch()], store=store, workers=2, concurrency={CONCURRENCY},
         rates=Rates({RATE}), **({{"resume": resumed[0]}} if resumed else {{}}))
"""


def started(folder, store, url, *resumed):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, store, url, *resumed]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def is_whole(exam):
    """Whether each sample is stored once, in a store that is sound."""
    with Store(exam.store) as store:
        (run,) = store.runs()
        records = sorted((record.sample.id, record.repeat) for record in run.records())
        assert (run.state, run.done, run.errors) == ("finished", N, 0)
    assert records == sorted((f"q{n}", 0) for n in range(N))
    return exam.is_sound()[0]


def fullest(server):
    """The most calls in any so many seconds."""
    came = sorted(each["came"] for each in server.requests())
    return max(sum(since <= at < since + SPAN_S for at in came) for since in came)


MOST = RATE * (SPAN_S + 1) / 61 + 1
"""A call may come a second after its moment, and moments are 61/600 s apart."""


def test_planning_goes_on_when_the_line_of_whoever_plans_is_cut(tmp_path, on_server, server):
    with ledger_server(tmp_path / "server") as endpoint:
        exam = Exam(tmp_path, on_server, N)
        run = started(tmp_path, on_server, endpoint.url)
        exam.until(lambda: exam.done() >= PORTION // 2)
        query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE %s"
        assert server.execute(query, [f"steelyard pid {run.pid} on %"]).fetchall()
        (tmp_path / "go").touch()
        finish(run)
        assert is_whole(exam)
        assert asked_twice(endpoint) == {}
        assert fullest(endpoint) <= MOST


@pytest.mark.parametrize("dies", ["leader", "leader and workers"])
def test_what_was_not_planned_when_the_leader_died_is_asked_after_a_resume(tmp_path, on_server, dies):
    with ledger_server(tmp_path / "server", "--latency-ms", "50") as endpoint:
        exam = Exam(tmp_path, on_server, N)
        run = started(tmp_path, on_server, endpoint.url)
        exam.until(lambda: exam.done() >= PORTION // 2)
        workers = exam.until(lambda: len(pids := exam.pids()) == 2 and pids)
        killed = time.time()
        run.kill()
        for pid in workers if "workers" in dies else ():
            kill(pid)
        run.communicate()  # the workers hold its pipes until they end
        assert sum(counted(endpoint).values()) <= PORTION
        with Store(on_server) as store:
            (name,) = [each.id for each in store.runs()]
        (tmp_path / "go").touch()
        finish(started(tmp_path, on_server, endpoint.url, name))
        assert is_whole(exam)
        again = asked_twice(endpoint)
        assert len(again) <= (CONCURRENCY if "workers" in dies else 0)
        assert [prompt for prompt, times in again.items() if min(times) < killed - STORED_S] == []
        assert fullest(endpoint) <= MOST


def test_planning_goes_on_when_the_server_of_the_store_was_away(tmp_path, private_server):
    address = private_server.address
    with ledger_server(tmp_path / "server", "--latency-ms", "50") as endpoint:
        exam = Exam(tmp_path, address, N)
        run = started(tmp_path, address, endpoint.url)
        exam.until(lambda: len(counted(endpoint)) > PORTION // 2)
        with private_server.stopped("immediate"):
            (tmp_path / "go").touch()
            exam.until((tmp_path / "gone").exists)  # the next portion was read, to be stored now
        finish(run)
        assert is_whole(exam)
        assert fullest(endpoint) <= MOST


def test_a_server_that_crashes_keeps_plan_and_grants_whatever_the_durability(private_server):
    samples = [Sample(f"q{n}", f"Question {n}?", "A") for n in range(6)]
    with Store(private_server.address, create_missing=True) as store:
        private_server.flush_late()
        evaluation, writers = store.begin_evaluation([NewRun("s", "custom", name, 6, {"stages": []}) for name in "ab"])
        planned, other = (writer.run.num for writer in writers)
        open_leases(store, planned, "plan")
        open_leases(store, other, "plan")
        plan_portion(store, evaluation, 0, samples)
        add_leases(store, [planned], "plan", range(6), 2)
        close_leases(store, [planned], "plan")
        change_grants(store, "plan", {other: [4, 1]}, [])
        private_server.restart("immediate")
    with Store(private_server.address) as store, store.reading() as connection:
        assert planned_samples(store, evaluation) == samples
        assert leases_left(connection, planned, "plan") == 3
        assert granted_places(connection, "plan")[other] == {1, 4}
