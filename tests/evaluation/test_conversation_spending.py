"""What a conversation costs is told apart by who asked, and one budget holds for both."""

import asyncio
import json

import pytest
from tests.loopback import peer, said

from steelyard import Budget, OpenAICompatible, Options, Prompt, Sample, Suite
from steelyard.evaluation import RunConfig
from steelyard.evaluation.evaluate import aevaluate_suite
from steelyard.models.prices import Price, PriceTable
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.costs import costs_section
from steelyard.store import Store
from steelyard.targets import SimulatedUser

PRICES = PriceTable({"app": Price(1, 2), "user": Price(10, 100)}, "CNY")
APP, USER = 22_000, 300_000
"""Billionths of a call: 20 tokens in and 1 out, as the server counts them."""
TURNS = 3


def answered(_, asked):
    is_user = json.loads(asked.body)["model"] == "user"
    return said('{"message": "go on", "done": false}' if is_user else "At ten.")


def conversations(url, **options):
    app, user = (OpenAICompatible(name, url, parameters={"max_tokens": 1}) for name in ("app", "user"))
    talk = SimulatedUser(Prompt(app), user, most_turns=TURNS, parameters={"max_tokens": 1})
    samples = [Sample(name, f"Hello {name}") for name in "ab"]
    return Suite("s", "custom", samples, {"t": talk}, (), Options(**{"concurrency": 1, "prices": PRICES} | options))


def sittings(*budgets):
    """The run after each sitting with these budgets (later ones resume), and how often the server was asked by then."""

    async def run():
        result = []
        async with peer(answered) as server:
            for budget in budgets:
                how = RunConfig(resume=result[-1][0].id if result else "")
                (one,) = await aevaluate_suite(conversations(server.url, budget=budget), how=how)
                result.append((one, len(server.asked)))
        return result

    return asyncio.run(run())


def test_calls_tokens_and_money_of_user_and_target_are_told_apart():
    [(run, asked)] = sittings(Budget())
    stages = {stage.stage: stage for stage in run.data().stages}
    target, user = stages["target"], stages["simulated_user"]
    assert (target.calls, target.input_tokens, target.output_tokens) == (2 * TURNS, 40 * TURNS, 2 * TURNS)
    assert (user.calls, user.input_tokens, user.output_tokens) == (2 * (TURNS - 1), 40 * (TURNS - 1), 2 * (TURNS - 1))
    assert (target.cost, user.cost) == ("0.00013 CNY", "0.0012 CNY")
    assert asked == target.calls + user.calls
    rows = [[cell.text for cell in row] for row in costs_section(PageRuns([run.summary()], ["t"])).table.rows]
    assert rows == [
        ["t", "target", "6", "0", "120", "6", "0", "0.00013 CNY"],
        ["t", "simulated_user", "4", "0", "80", "4", "0", "0.0012 CNY"],
    ]


# Before it is sent a call is booked with an estimate, which for the user's prompt is ten times what the server counts.
@pytest.mark.parametrize("budget", [Budget(calls=4), Budget(money=0.004), Budget(tokens=400)], ids=str)
def test_one_budget_holds_for_user_and_target_and_a_larger_one_goes_on_with_the_conversation(budget):
    (first, before), (second, after) = sittings(budget, Budget())
    assert first.state == "interrupted"
    assert "is used up" in first.reason
    assert 2 <= before < 2 * (2 * TURNS - 1), "the user was asked, and not to the end"
    assert before <= (budget.calls or before)
    assert (second.state, second.done, second.errors) == ("finished", 2, 0)
    assert after == 2 * (2 * TURNS - 1), "no call is made again that was answered"
    with Store() as store:
        spent = store.spending(second.evaluation)
    assert (spent.calls, spent.tokens) == (after, 21 * after)
    assert spent.money == 2 * TURNS * APP + 2 * (TURNS - 1) * USER
