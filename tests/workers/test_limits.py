"""Budgets, rates and concurrency of a run hold over all its workers; Ctrl-C stops all of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import time

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, finish, kill

from steelyard import ExactMatch, Sample
from steelyard.evaluation import RunConfig, RunHandle, Suite, aevaluate_suite
from steelyard.models.budget import Budget
from steelyard.models.rate_limit import Rates, SharedRates
from steelyard.store import NewRun, Store
from steelyard.store.leases import LEASE_S
from steelyard.store.worker_rows import StorePace
from steelyard.workers import ProcessWorkers, processes

pytestmark = pytest.mark.scale

BUDGET = 60
BUSY_S = 1.0
"""What a busy machine may add to the time after which all workers know what one was told."""


@pytest.mark.parametrize("dies", ["nobody", "a worker"])
def test_a_budget_of_calls_is_never_passed_and_a_resume_goes_on(tmp_path, on_server, dies):
    with ledger_server(tmp_path / "server", "--latency-ms", "30") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=60, budget={"calls": BUDGET})
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        if dies == "a worker":
            exam.until(lambda: exam.done() > 5)
            kill(exam.until(exam.pids)[0])
        said = finish(run, 130)
        assert f"the budget of {BUDGET} calls is used up" in " ".join(said.split())
        # A call that was booked and not sent, or was sent and not answered, is lost with the worker.
        lost = 0 if dies == "nobody" else 8
        assert BUDGET - lost <= len(server.requests()) <= BUDGET
        assert {state for state, _, _ in exam.states().values()} <= {"finished", "interrupted"}
        Exam.write(tmp_path, on_server, server.url, questions=60, budget={"calls": 3 * BUDGET})
        finish(exam.start("resume", "--quiet", "--workers", "2"))
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", 60, 0))
        assert len(asked_twice(server)) <= lost


def test_a_budget_of_minutes_holds_also_when_the_leader_is_dead(tmp_path, on_server):
    minutes = 0.25
    with ledger_server(tmp_path / "server", "--latency-ms", "500") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=600, budget={"minutes": minutes})
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 5)
        run.kill()
        run.communicate()  # the workers hold its pipes until they end
        with Store(on_server) as store:
            ends = {(ended.state, ended.reason) for ended in store.runs()}
        assert ends == {("interrupted", f"the budget of {minutes} minutes is used up")}
        sent = len(server.requests())
        said = finish(exam.start("resume", "--quiet", "--workers", "2"), 130)
        assert f"the budget of {minutes} minutes is used up" in " ".join(said.split())
        assert len(server.requests()) - sent <= 8


def test_ctrl_c_stores_what_is_in_flight_and_leaves_no_process(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=200)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 10)
        run.send_signal(signal.SIGINT)
        finish(run, 130)
        assert exam.pids() == []
        assert exam.done() == len(server.answered())
        finish(exam.start("resume", "--quiet", "--workers", "3"))
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", 200, 0))
        assert asked_twice(server) == {}


def test_a_second_ctrl_c_does_not_wait_for_what_is_in_flight(tmp_path, on_server):
    latency_s, drains_s = 60.0, 2.0
    with ledger_server(tmp_path / "server", "--latency-ms", f"{latency_s * 1000:.0f}") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=20, targets=("first",))
        run = exam.start("run", "exam.json", "--quiet", "--workers", "2")
        exam.until(server.in_flight)
        run.send_signal(signal.SIGINT)
        assert not ends_within(run, drains_s)
        run.send_signal(signal.SIGINT)
        finish(run, 130, seconds=latency_s / 3)


def ends_within(process, seconds):
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def slow_answer(sample):
    time.sleep(0.05)
    return "yes"


def test_a_run_that_is_stopped_does_not_wait_for_a_worker_that_is_silent(on_server, monkeypatch):
    monkeypatch.setattr(processes, "_SILENT_S", 3.0)
    samples = [Sample(f"q{n}", f"Question {n}?", "yes") for n in range(2000)]
    exam, control = Exam(None, on_server, 0), RunHandle()
    suite = Suite("s", "custom", samples, {"t": slow_answer}, (ExactMatch(),))

    async def stop_with_a_silent_worker():
        config = RunConfig(store=on_server, executor=ProcessWorkers(2))
        running = asyncio.create_task(aevaluate_suite(suite, how=config, control=control))
        await asyncio.to_thread(exam.until, lambda: exam.done() > 10)
        kill(exam.pids()[0], signal.SIGSTOP)
        control.stop("enough")
        return await asyncio.wait_for(running, 60)

    (run,) = asyncio.run(stop_with_a_silent_worker())
    assert (run.state, run.reason) == ("interrupted", "enough")
    assert 10 < run.done < 2000


def test_at_most_four_calls_are_in_flight_before_the_first_good_reply(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "800") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=60, targets=("first",), concurrency=24)
        exam.run(workers=6)
        requests = sorted(server.requests(), key=lambda each: each["came"])
        first_reply = min(each["sent"] for each in requests)
        assert sum(each["came"] < first_reply for each in requests) <= 4
        assert most_in_flight(requests) <= 24


def test_what_one_worker_is_told_to_wait_all_of_them_wait(tmp_path, on_server):
    wait_s, look_s = 4.0, 0.2
    options = ("--latency-ms", "30", "--pause-after", "120", "--retry-after", str(wait_s))
    with ledger_server(tmp_path / "server", *options) as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=200, targets=("first",), concurrency=12)
        exam.run(workers=3)
        requests = sorted(server.requests(), key=lambda each: each["came"])
        (told, *_) = [each for each in requests if each["fault"]]
        learned = told["sent"] + look_s + BUSY_S
        late = [each for each in requests if learned < each["came"] < told["came"] + wait_s]
        assert late == []
        assert exam.states() == {"first": ("finished", 200, 0)}
        assert sum(each["came"] > learned for each in requests) >= 12


def test_a_run_ends_whole_where_fewer_calls_may_be_in_flight_than_there_are_workers(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "60", "--most-in-flight", "2") as server:
        exam = Exam.write(
            tmp_path, on_server, server.url, questions=120, targets=("first",), concurrency=12, retry={"base_s": 0.1}
        )
        exam.run(workers=6)
        assert exam.states() == {"first": ("finished", 120, 0)}
        assert any(each["fault"] for each in server.requests())
        assert len(server.answered()) == 120


def test_the_part_of_a_worker_that_nobody_starts_again_goes_to_the_others(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "300") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=500, targets=("first",), concurrency=12)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 20)
        (unlucky, *_) = exam.until(lambda: len(pids := exam.pids()) == 3 and pids)
        run.kill()  # who would start another in its place
        kill(unlucky)
        killed = time.time()
        run.communicate()  # the workers hold its pipes until they end
        assert exam.states() == {"first": ("finished", 500, 0)}
        requests = server.requests()
        assert most_in_flight(requests) == 12
        late = [each for each in requests if each["came"] > killed + LEASE_S + BUSY_S]
        assert most_in_flight(late) == 12, "the two that are left have eight at first"


RATE = 180
SPAN_S = 20.0
"""Calls come evenly, so that a part of a minute holds its part of the rate."""


def test_a_rate_is_kept_and_used_though_a_worker_is_killed_and_another_stopped(tmp_path, on_server):
    with ledger_server(tmp_path / "server") as server:
        rates = {"requests_per_minute": RATE}
        exam = Exam.write(tmp_path, on_server, server.url, questions=80, targets=("first",), rates=rates)
        run = exam.start("run", "exam.json", "--quiet", "--workers", "4")
        exam.until(lambda: exam.done() > 4)
        killed, stopped, *_ = exam.until(lambda: len(pids := exam.pids()) == 4 and pids)
        kill(killed)
        kill(stopped, signal.SIGSTOP)
        try:
            exam.until(lambda: exam.done() == 80)
        finally:
            kill(stopped, signal.SIGCONT)
        finish(run)
        came = sorted(each["came"] for each in server.requests())
        fullest = max(sum(since <= at < since + SPAN_S for at in came) for since in came)
        # A call may come a second after its moment, and moments are 61/180 s apart.
        assert 0.85 * RATE * SPAN_S / 60 < fullest <= RATE * (SPAN_S + 1) / 61 + 1


def test_a_server_that_crashes_does_not_forget_which_calls_were_sent(private_server):
    shared = SharedRates(Rates(RATE), 1)

    def moments(store):
        return asyncio.run(StorePace(store.writer, 1, shared).slots("endpoint", [0, 0, 0])).at

    private_server.flush_late()
    with Store(private_server.address, create_missing=True) as store:
        before = moments(store)
        private_server.restart("immediate")
    with Store(private_server.address) as store:
        after = moments(store)
    assert after[0] >= before[-1] + shared.gap_s - 1e-6


def test_a_server_that_crashes_does_not_forget_what_was_booked(private_server):
    limits = Budget(calls=5)
    private_server.flush_late()
    with Store(private_server.address, create_missing=True) as store:
        evaluation, _ = store.begin_evaluation([NewRun("s", "custom", "t", 9, {"stages": ["target"], "scores": []})])
        journal = store.journal(evaluation)
        assert [asyncio.run(journal.book_within(limits, 1, 0)) for _ in range(3)] == [""] * 3
        private_server.restart("immediate")
    with Store(private_server.address) as store:
        journal = store.journal(evaluation)
        assert [asyncio.run(journal.book_within(limits, 1, 0)) for _ in range(3)] == ["", "", "calls"]


def test_errors_are_counted_over_all_workers_and_end_the_run(tmp_path, on_server):
    options = ("--latency-ms", "40", "--fault-rate", "1", "--max-faults", "99", "--faults", "500")
    with ledger_server(tmp_path / "server", *options) as server:
        retry = {"attempts": 1}
        exam = Exam.write(
            tmp_path, on_server, server.url, questions=600, targets=("first",), max_errors=0.05, retry=retry
        )
        said = exam.run(workers=3, code=4)
        state, done, errors = exam.states()["first"]
        assert state == "broken"
        assert 30 < errors == done < 300
        assert f"{errors} errors; the last: target: status 500" in " ".join(said.split())
        assert exam.pids() == []


def test_errors_end_a_run_also_when_its_leader_is_dead(tmp_path, on_server):
    options = ("--latency-ms", "400", "--fault-rate", "1", "--max-faults", "99", "--faults", "500")
    with ledger_server(tmp_path / "server", *options) as server:
        retry = {"attempts": 1}
        exam = Exam.write(
            tmp_path, on_server, server.url, questions=600, targets=("first",), max_errors=0.15, retry=retry
        )
        run = exam.start("run", "exam.json", "--quiet", "--workers", "3")
        exam.until(lambda: exam.done() > 5)
        run.kill()
        run.wait()
        assert exam.done() < 90
        run.communicate()  # the workers hold its pipes until they end
        state, done, errors = exam.states()["first"]
        assert state == "broken"
        assert 90 < errors == done < 300
        assert len(server.requests()) < 300


def most_in_flight(requests):
    moves = sorted([(each["came"], 1) for each in requests] + [(each["sent"], -1) for each in requests])
    most = now = 0
    for _, move in moves:
        now += move
        most = max(most, now)
    return most
