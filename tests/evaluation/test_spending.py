"""Budgets in money and minutes hold over sittings, and what a run cost is counted exactly."""

import asyncio
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_here import command_here
from tests.loopback import http, peer, said
from tests.running_server import ledger_server, started, write_exam

from steelyard import Budget, ConfigError, ExactMatch, OpenAICompatible, Options, Prompt, Sample, Scripted, Suite
from steelyard.evaluation import RunConfig
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.evaluate import aevaluate_suite
from steelyard.models.prices import Price, PriceTable
from steelyard.models.rate_limit import Rates
from steelyard.plain_json import json_value
from steelyard.report.render.html import html_report
from steelyard.report.sections.costs import cache_saving
from steelyard.store import Store

PRICES = PriceTable({"m": Price(1, 2)}, "CNY")
COST = 22_000  # billionths of a call: 20 tokens in and 1 out, as the server counts them


def suite_of(url, *, samples=20, model=None, **options):
    model = model or OpenAICompatible("m", url, parameters={"max_tokens": 1})
    target = Prompt(template="{{question}}", model=model)
    questions = [Sample(f"q{n}", f"Question {n}?", "A") for n in range(samples)]
    return Suite("s", "custom", questions, {"t": target}, (ExactMatch(),), Options(**{"concurrency": 2} | options))


def sittings(*several, answer=lambda n, _: said()):
    """The run after each sitting with these options (later ones resume), and how often the server was asked by then."""

    async def run():
        result = []
        async with peer(answer) as server:
            for options in several:
                how = RunConfig(resume=result[-1][0].id if result else "")
                (one,) = await aevaluate_suite(suite_of(server.url, **options), how=how)
                result.append((one, len(server.asked)))
        return result

    return asyncio.run(run())


def spending(run):
    with Store() as store:
        return store.spending(run.evaluation)


def test_a_budget_of_money_ends_the_run_and_a_larger_one_completes_it():
    (first, requests), (second, again), (third, in_all) = sittings(
        {"prices": PRICES, "budget": Budget(money=0.00022)},
        {"prices": PRICES, "budget": Budget(money=0.00022)},
        {"prices": PRICES, "budget": Budget(money=1)},
    )
    assert (first.state, first.reason) == ("interrupted", "the budget of 0.00022 CNY is used up")
    assert 10 <= requests <= 11
    assert (second.state, again) == ("interrupted", requests)
    assert (third.state, third.done, in_all) == ("finished", 20, 20)
    assert spending(third).money == 20 * COST


def test_what_a_run_costs_is_counted_by_stage_whether_or_not_there_is_a_budget():
    ((run, _),) = sittings({"prices": PRICES})
    (stage,) = run.summary().calls.stages
    assert (stage.money, stage.currency, stage.cost) == (0.00044, "CNY", "0.00044 CNY")
    assert spending(run).money == 20 * COST
    reply = next(iter(run.records())).replies["target"][0]
    assert reply.metadata["cost"] == 0.000022


def test_a_run_without_prices_has_no_cost():
    ((run, _),) = sittings({})
    assert [(stage.money, stage.cost) for stage in run.summary().calls.stages] == [(None, "")]
    assert run.summary().calls.judged_stages == ()
    assert spending(run) == (0, 0, 0, 0)


def test_a_cost_that_is_known_of_some_replies_only_is_not_shown_as_the_whole():
    (_, _), (run, _) = sittings(
        {"prices": PRICES, "budget": Budget(calls=5)}, {"prices": PriceTable({"other": Price(1, 1)}, "CNY")}
    )
    assert run.state == "finished"
    assert [stage.money for stage in run.summary().calls.stages] == [None]


def test_tokens_from_the_endpoints_cache_cost_what_they_do():
    prices = PriceTable({"m": Price(1, 2, 0.1)}, "CNY")
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 10}}
    ((run, _),) = sittings({"prices": prices}, answer=lambda n, _: said(usage=usage))
    assert spending(run).money == 20 * 13_000
    (stage,) = run.summary().calls.stages
    assert (stage.input_tokens, stage.cached_tokens, stage.cost) == (400, 200, "0.00026 CNY")
    assert json_value(stage)["cached_tokens"] == 200


def test_a_cache_shows_what_it_saved_with_what_writing_to_it_cost():
    prices = PriceTable({"m": Price(1, 2, 0.1, 1.25)}, "USD")
    details = {"cached_tokens": 10, "cache_write_tokens": 4}
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 2,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    ((run, _),) = sittings({"prices": prices}, answer=lambda n, _: said(usage=usage))
    (stage,) = run.summary().calls.stages
    # of each: 6 + 10 x 0.1 + 4 x 1.25 + 2 x 2 = 16 instead of 24 millionths
    assert (stage.money, stage.saved) == (0.00032, 0.00016)
    assert (stage.cache_written, stage.reasoning_tokens) == (80, 20)
    assert cache_saving([stage]) == "the endpoint's cache saved 0.00016 USD"
    assert cache_saving([replace(stage, saved=-0.5)]) == "writing to the endpoint's cache cost 0.50 USD more"


def test_a_reply_is_priced_by_the_tier_that_it_names():
    prices = PriceTable({"m": Price(2, 2), "m@flex": Price(1, 1)}, "USD")
    ((run, _),) = sittings({"prices": prices}, answer=lambda n, _: said(service_tier="default" if n % 2 else "flex"))
    assert spending(run).money == 10 * 21_000 + 10 * 42_000


def test_what_a_provider_says_of_its_cost_counts_where_no_price_is_given():
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "cost": 0.25}
    ((run, _),) = sittings({}, answer=lambda n, _: said(usage=usage))
    assert [stage.money for stage in run.summary().calls.stages] == [5.0]
    ((run, _),) = sittings({"prices": PriceTable({"m": Price(1, 2)}, "CNY")}, answer=lambda n, _: said(usage=usage))
    assert [stage.cost for stage in run.summary().calls.stages] == ["0.00044 CNY"]
    ((run, _),) = sittings({"prices": PriceTable({"x": Price(1, 2)}, "CNY")}, answer=lambda n, _: said(usage=usage))
    assert [stage.money for stage in run.summary().calls.stages] == [None]
    assert next(iter(run.records())).replies["target"][0].metadata["provider_cost"] == 0.25


def test_cached_tokens_are_counted_for_target_and_judge_once_whatever_happens():
    """Of a resumed run, and of replies from the journal; an endpoint cannot have had more than it was sent."""

    def answer(_, asked):
        judged = "Rate" in asked.prompt
        details = {"cached_tokens": 999 if judged else 5}
        return said("4", usage={"prompt_tokens": 20, "completion_tokens": 1, "prompt_tokens_details": details})

    async def run():
        async with peer(answer) as server:
            model = OpenAICompatible("m", server.url, parameters={"max_tokens": 1})

            async def rating(sample, output, ask):
                await ask(model, [{"role": "user", "content": f"Rate {sample.id}."}])
                return 4.0

            runs = []
            for calls in (7, 100):
                suite = replace(suite_of(server.url, samples=5, budget=Budget(calls=calls)), scorers=(rating,))
                runs += await aevaluate_suite(suite, how=RunConfig(resume=runs[-1].id if runs else ""))
            return runs

    stopped, done = asyncio.run(run())
    assert (stopped.state, done.state) == ("interrupted", "finished")
    assert [(stage.stage, stage.cached_tokens) for stage in done.summary().calls.stages] == [
        ("target", 25),
        ("rating", 100),
    ]
    assert "endpoint&#39;s cache" in html_report([done])


def test_a_refused_call_costs_nothing_and_a_broken_reply_is_booked_as_it_was_estimated():
    answers = [http(429, b"{}"), http(200, b"<html>"), said()]
    ((run, _),) = sittings({"prices": PRICES, "samples": 1, "budget": Budget(money=1)}, answer=lambda n, _: answers[n])
    estimated = 2 * 1000 + 1 * 2000  # "Question 0?" is about 2 tokens, and max_tokens is 1
    assert spending(run).money == COST + estimated


def test_minutes_are_those_of_all_sittings():
    async def slow(n, asked):
        await asyncio.sleep(0.1)
        return said()

    minutes = Budget(minutes=0.5 / 60)
    (first, asked), (second, again), (third, _) = sittings(
        {"budget": minutes}, {"budget": minutes}, {"budget": Budget(minutes=5)}, answer=slow
    )
    assert first.state == "interrupted"
    assert first.reason.startswith("the budget of 0.00833333 minutes is used up")
    assert 2 <= asked <= 12
    assert (second.state, again) == ("interrupted", asked)
    assert (third.state, third.done) == ("finished", 20)
    assert spending(third).millis >= 1000


def test_minutes_end_a_run_that_waits_as_well():
    ((run, requests),) = sittings({"budget": Budget(minutes=0.5 / 60), "rates": Rates(requests_per_minute=1)})
    assert (run.state, requests) == ("interrupted", 1)
    assert spending(run).millis < 60_000  # what the next request would have waited


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        ({"budget": Budget(money=1)}, "budget.money needs prices"),
        ({"budget": Budget(money=1), "prices": PriceTable({"x": Price(1, 1)})}, "there is no price for m;"),
        ({"prices": "nowhere.json"}, "nowhere.json cannot be read"),
        ({"budget": Budget(money=-1)}, "budget.money must be a number of 0 or more"),
        ({"budget": Budget(minutes=float("nan"))}, "budget.minutes must be a number of 0 or more"),
    ],
)
def test_what_cannot_be_held_is_refused_before_the_first_call(options, said_so):
    requests = []
    with pytest.raises(ConfigError) as caught:
        sittings(options, answer=lambda n, one: requests.append(one))
    assert said_so in str(caught.value)
    assert requests == []


def test_two_currencies_are_not_added_up():
    with pytest.raises(ConfigError, match=r"prices are in USD, but this evaluation has spent 0.00\d+ CNY"):
        sittings({"prices": PRICES, "budget": Budget(calls=5)}, {"prices": PriceTable({"m": Price(1, 2)}, "USD")})


def test_a_model_that_sends_nothing_is_free():
    async def run():
        model = Scripted(default="A")
        return await aevaluate_suite(suite_of("", model=model, budget=Budget(money=0), prices=PRICES))

    (run,) = asyncio.run(run())
    assert (run.state, run.done) == ("finished", 20)


def test_the_dry_run_says_what_it_would_cost_and_how_long_it_takes_at_least():
    suite = suite_of("http://127.0.0.1:9/v1", prices=PRICES, rates=Rates(requests_per_minute=10))
    (result,) = asyncio.run(estimate(suite))
    tokens = result.stages[0].input_tokens
    assert result.stages[0].money == pytest.approx((tokens * 1 + 20 * 2) / 1e6)
    assert (result.currency, result.minutes) == ("CNY", 2.0)
    (bare,) = asyncio.run(estimate(suite_of("http://127.0.0.1:9/v1")))
    assert (bare.stages[0].money, bare.minutes) == (None, None)


@pytest.mark.slow
def test_a_budget_of_money_holds_over_kills(tmp_path):
    with ledger_server(tmp_path, "--latency-ms", "60") as server:
        text, prices = "Question {} of an exam with some more words?", {"led*": {"input": 1, "output": 2}}
        options = {"budget": {"money": 50 * 0.000022}, "prices": {"currency": "USD", "models": prices}}
        write_exam(tmp_path, server.url, 120, text=text, model={"parameters": {"max_tokens": 1}}, **options)
        for enough, command in ((12, ("run", "exam.json")), (24, ("resume",))):
            process = started(tmp_path, *command, "--quiet")
            while len(server.answered() if server.ledger.exists() else ()) < enough:
                assert process.poll() is None
                time.sleep(0.02)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        out = command_here(tmp_path, "resume", "--quiet", code=130).out
        assert "the budget of 0.0011 USD is used up" in out
        # What was in flight at a kill is booked as it was estimated, and 8 calls may be in flight at the end.
        assert 50 - 8 <= len(server.requests()) <= 50 + 3 * 8
        with Store(Path(tmp_path) / ".steelyard/steelyard.db") as store:
            (run,) = store.runs()
            assert store.spending(run.evaluation).money <= (50 + 8) * COST
