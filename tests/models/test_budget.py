"""A budget holds whatever happens: what is about to be sent is booked on disk first."""

import asyncio
import os
import signal
import time

import pytest
from tests.command_here import command_here
from tests.loopback import MemoryJournal, http, peer, said
from tests.running_server import ledger_server, started, write_exam

from steelyard import Budget, ConfigError, OpenAICompatible
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models import Retry
from steelyard.models.budget import BudgetMeter, Quota
from steelyard.models.limits import Limits
from steelyard.models.prices import Spent
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.store import Store


def spend(budget, payments, spent=(0, 0)):
    """How many of `payments` (tokens each) were let through, what the ledger holds, and the refusal."""

    async def run():
        ledger = MemoryJournal()
        budget_meter = BudgetMeter(budget, Spent(*spent), ledger)
        found = await asyncio.gather(*(budget_meter.pay(tokens) for tokens in payments), return_exceptions=True)
        refusals = [answer for answer in found if answer is not None]
        return len(found) - len(refusals), ledger.booked, refusals

    return asyncio.run(run())


def test_calls_are_let_through_up_to_the_limit_even_when_they_come_together():
    paid, booked, refusals = spend(Budget(calls=5), [10] * 9)
    assert (paid, booked, len(refusals)) == (5, [5, 50], 4)
    assert all(isinstance(answer, ModelError) and answer.kind == "budget" and answer.ends_run for answer in refusals)
    assert str(refusals[0]) == "the budget of 5 calls is used up"


def test_what_earlier_processes_spent_counts():
    assert spend(Budget(calls=5), [1] * 9, spent=(3, 0))[0] == 2
    assert spend(Budget(tokens=100), [10] * 9, spent=(0, 75))[0] == 2


def test_a_call_that_would_pass_the_tokens_is_not_sent():
    paid, booked, refusals = spend(Budget(tokens=100), [60, 60, 40])
    assert (paid, booked) == (2, [2, 100])
    assert str(refusals[0]) == "the budget of 100 tokens is used up"


def test_without_limits_nothing_is_refused():
    assert spend(Budget(), [10**9] * 3)[0] == 3


def talk(answer, calls, budget, **more):
    """What each of `calls` gave, and what was booked, through real connections."""

    async def run():
        journal = MemoryJournal()
        async with peer(answer) as server:
            model, wire = OpenAICompatible("m", server.url), HttpWire(Secrets([], {}))
            quota = Quota(BudgetMeter(budget, Spent(), journal), **more)
            limits = Limits(Retry(base_s=0.0, attempts=3), 4, quota=quota)
            found = []
            for n in range(calls):
                try:
                    found.append(await limits.call(model, model.request(f"{n}", {}), wire))
                except ModelError as error:
                    found.append(error)
            await wire.close()
        return found, journal.booked, server

    return asyncio.run(run())


def test_a_refused_call_is_given_back_and_an_answered_one_costs_what_the_endpoint_counted():
    found, booked, server = talk(lambda n, _: said() if n else http(429, b"{}"), 1, Budget(calls=10))
    assert found[0].text == "A"
    assert len(server.asked) == 2
    assert booked == [1, 21]


def test_a_reply_that_broke_on_its_way_may_have_been_charged_for_and_is_not_given_back():
    found, booked, _ = talk(lambda n, _: http(200, b'{"choices": ['), 1, Budget(calls=10))
    assert found[0].kind == "malformed"
    assert booked[0] == 3


def test_retries_are_paid_for_like_first_sendings():
    found, booked, server = talk(lambda n, _: http(200, b'{"choices": ['), 2, Budget(calls=4))
    assert [answer.kind for answer in found] == ["malformed", "budget"]
    assert booked[0] == len(server.asked) == 4


@pytest.mark.parametrize("options", [{"calls": -1}, {"tokens": -5}, {"calls": 1.5}, {"calls": True}])
def test_a_limit_that_cannot_be_meant_is_refused(options):
    with pytest.raises(ConfigError, match=r"budget\.(calls|tokens) must be a whole number of 0 or more"):
        check_options(Budget(**options), within="budget.")
    check_options(Budget(calls=0))


@pytest.mark.slow
def test_a_budget_of_calls_holds_over_kills_and_a_raised_one_completes(tmp_path):
    with ledger_server(tmp_path, "--latency-ms", "60") as server:
        write_exam(tmp_path, server.url, 200, budget={"calls": 50})
        for enough, command in ((12, ("run", "exam.json")), (30, ("resume",))):
            process = started(tmp_path, *command, "--quiet")
            while len(server.answered() if server.ledger.exists() else ()) < enough:
                assert process.poll() is None
                time.sleep(0.02)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        out = command_here(tmp_path, "resume", "--quiet", code=130).out
        assert "the budget of 50 calls is used up" in out
        assert "raise options.budget, then resume with: steelyard resume" in out
        assert len(server.requests()) <= 50
        with Store(tmp_path / ".steelyard/steelyard.db") as store:
            (run,) = store.runs()
            assert run.state == "interrupted"
            assert 50 - 2 * 8 <= run.done <= 50
            assert store.spending(run.evaluation).calls == 50
        write_exam(tmp_path, server.url, 200, budget={"calls": 1000})
        command_here(tmp_path, "resume", "--quiet")
        assert 200 <= len(server.answered()) <= 200 + 2 * 8


def test_the_minutes_that_are_left_are_those_of_all_sittings_together():
    now = [100.0]
    meter = BudgetMeter(Budget(minutes=2), Spent(0, 0, 0, 30_000), MemoryJournal(), clock=lambda: now[0])
    assert meter.left_s == 90
    now[0] = 125.0
    assert meter.left_s == 65
    assert BudgetMeter(Budget(), Spent(0, 0, 0, 0), MemoryJournal()).left_s is None
