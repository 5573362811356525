"""What would be sent, counted without sending it."""

import asyncio
import contextlib
import io
from dataclasses import replace

from steelyard import ExactMatch, OpenAICompatible, Options, Prompt, Sample, ScoreInfo, Scripted, Suite, evaluate_suite
from steelyard.analysis.numbers import money_text
from steelyard.cli.live_run import print_estimate
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.survey import slowest_s
from steelyard.models import OpenAIResponses, PriceTable
from steelyard.models.prices import Price
from steelyard.types import StageInfo

SAMPLES = [Sample(f"q{n}", "four chars" * n, "yes") for n in range(1, 6)]


def suite(**targets):
    return Suite("s", "custom", SAMPLES, targets, (ExactMatch(),))


def test_calls_and_tokens_are_counted_per_target_and_nothing_is_sent():
    nowhere = OpenAICompatible("m", "http://127.0.0.1:9/v1", parameters={"max_tokens": 7})
    asking, plain = asyncio.run(estimate(suite(asks=Prompt(nowhere), plain=len)))
    assert (asking.records, asking.calls, asking.in_journal) == (5, 5, 0)
    (stage,) = asking.stages
    assert stage.input_tokens == sum(10 * n // 4 for n in range(1, 6))
    assert stage.output_tokens == 5 * 7
    assert (plain.records, plain.calls, plain.asks) == (5, 0, False)


def test_what_the_journal_holds_is_not_counted_as_new_unless_fresh_replies_are_wanted():
    requests = suite(one=Prompt(Scripted({}, default="yes")))
    evaluate_suite(requests)
    (held,) = asyncio.run(estimate(requests))
    (fresh,) = asyncio.run(estimate(requests, fresh=True))
    assert (held.calls, held.in_journal, held.stages[0].input_tokens) == (5, 5, 0)
    assert (fresh.calls, fresh.in_journal) == (5, 0)


def test_asking_the_same_twice_is_two_calls():
    async def twice(sample, ask):
        model = Scripted({}, default="yes")
        await ask(model, sample.input)
        return (await ask(model, sample.input)).text

    (result,) = asyncio.run(estimate(suite(twice=twice)))
    assert result.calls == 10


MODEL = Scripted({}, default="NO")


class Refining:
    """Asks for the steps once, and again as long as it is answered NO, three times at most."""

    score_infos = (ScoreInfo("refining"),)
    stage_info = StageInfo(mock_reply="NO")

    async def __call__(self, sample, output, ask):
        await ask.once(MODEL, "the steps, please")
        for n in range(3):
            if (await ask(MODEL, f"{sample.input} {output.value} {output.contexts} {n}")).text != "NO":
                break
        return 1.0


def test_judges_are_counted_per_scorer_with_all_that_they_may_ask_and_steps_only_once():
    requests = Suite("s", "custom", SAMPLES, {"plain": len, "asks": Prompt(MODEL)}, (ExactMatch(), Refining()))
    plain, asks = asyncio.run(estimate(requests))
    assert [(stage.stage, stage.calls) for stage in plain.stages] == [("refining", 1 + 5 * 3)]
    assert [(stage.stage, stage.calls) for stage in asks.stages] == [("target", 5), ("refining", 1 + 5 * 3)]
    assert asks.calls == 5 + 16


def test_a_judge_sees_what_a_quick_target_answers_in_a_dry_run():
    seen = []

    class Quick:
        stage_info = StageInfo(inline=True)

        def __call__(self, sample):
            return f"answer to {sample.id}"

    async def judge(sample, output, ask):
        seen.append(output.value)
        await ask(MODEL, output.value)
        return 1.0

    asyncio.run(estimate(Suite("s", "custom", SAMPLES, {"quick": Quick()}, (judge,))))
    assert seen == [f"answer to q{n}" for n in range(1, 6)]


def test_a_judge_that_reads_nothing_but_sql_is_shown_some():
    seen = []

    async def judge(sample, output, ask):
        seen.append(output.value)
        await ask(MODEL, output.value)
        return 1.0

    judge.stage_info = StageInfo(mock_output="SELECT 1")
    (result,) = asyncio.run(estimate(Suite("s", "custom", SAMPLES, {"plain": len}, (judge,))))
    assert seen == ["SELECT 1"] * 5
    assert result.calls == 5


def test_a_slower_service_that_is_ordered_is_priced_beside_the_usual_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prices = PriceTable({"m": Price(2, 8), "m@flex": Price(1, 4)}, "USD")
    flex = OpenAIResponses("m", "http://127.0.0.1:9/v1", parameters={"max_tokens": 100}, service="flex")
    ordered = replace(suite(flex=Prompt(flex)), options=Options(prices=prices))
    (result,) = asyncio.run(estimate(ordered))
    (stage,) = result.stages
    assert stage.tier_money == stage.money / 2
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_estimate([ordered], None, fresh=False, as_json=False)
    usual, slower = (money_text(money, "USD") for money in (stage.money, stage.tier_money))
    said = " ".join(out.getvalue().split())
    assert f"It would cost {usual}, or {slower} where the slower service answers every call." in said


def test_a_slower_service_lengthens_the_time_of_a_sample():
    slow = OpenAIResponses("m", "http://127.0.0.1:9/v1", service="8h")
    assert slowest_s(suite(slow=Prompt(slow), usual=len)) == 28_800
    assert slowest_s(suite(usual=len)) == 0
