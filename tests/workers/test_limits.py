"""Budgets, rates and concurrency of a run hold over all its workers; Ctrl-C stops all of them."""

from __future__ import annotations

import asyncio
import signal

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, finish

from steelyard.models.rate_limit import RateLimiter, Rates

pytestmark = pytest.mark.scale

BUDGET = 60


def test_a_budget_of_calls_is_never_passed_and_a_resume_goes_on(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "30") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=60, budget={"calls": BUDGET})
        said = exam.run(workers=3, code=130)
        assert f"the budget of {BUDGET} calls is used up" in " ".join(said.split())
        assert len(server.answered()) == BUDGET
        assert {state for state, _, _ in exam.states().values()} <= {"finished", "interrupted"}
        Exam.write(tmp_path, on_server, server.url, questions=60, budget={"calls": 3 * BUDGET})
        finish(exam.start("resume", "--quiet", "--workers", "2"))
        assert exam.states() == dict.fromkeys(("first", "second"), ("finished", 60, 0))
        assert asked_twice(server) == {}


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


def test_at_most_four_calls_are_in_flight_before_the_first_good_reply(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--latency-ms", "800") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=60, targets=("first",), concurrency=24)
        exam.run(workers=6)
        requests = sorted(server.requests(), key=lambda each: each["came"])
        first_reply = min(each["sent"] for each in requests)
        assert sum(each["came"] < first_reply for each in requests) <= 4
        assert most_in_flight(requests) <= 24


def most_in_flight(requests):
    moves = sorted([(each["came"], 1) for each in requests] + [(each["sent"], -1) for each in requests])
    most = now = 0
    for _, move in moves:
        now += move
        most = max(most, now)
    return most


def test_a_limiter_that_takes_over_sends_no_more_in_a_minute_than_its_share():
    waited = []

    async def sleep(seconds):
        waited.append(seconds)
        clock[0] += seconds

    async def send(limiter, n):
        return [(await limiter.wait(10)).at for _ in range(n)]

    clock = [1000.0]
    fresh = asyncio.run(send(RateLimiter(Rates(6, 600), lambda: clock[0], sleep), 1))
    clock = [1000.0]
    full = asyncio.run(send(RateLimiter(Rates(6, 600), lambda: clock[0], sleep, full=True), 7))
    assert fresh == [1000.0]
    assert full[0] >= 1010.0
    assert full[6] - full[0] >= 60
