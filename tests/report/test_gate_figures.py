"""Rules of a gate on what is no score's mean: the worst sample, pass@k and pass^k, latency and cost."""

from __future__ import annotations

import asyncio

import pytest
from tests.loopback import peer, said

from steelyard import ConfigError, OpenAICompatible, Options, Prompt, Sample, Suite
from steelyard.analysis.gate.gate_rules import parse_margin, parse_rule
from steelyard.evaluation.evaluate import aevaluate_suite
from steelyard.models.prices import Price, PriceTable
from steelyard.report.sections.gate import gate_of

PRICES = PriceTable({"m": Price(1, 2)}, "CNY")
"""20 tokens in and 1 out, as the server counts them: 0.000022 CNY a call."""


def run(*, right=lambda no, repeat: True, samples=10, **options):
    """A run of a model on a server, by a score that is 1 where `right` says so."""

    async def judged(sample, output, ask):
        return float(right(int(sample.id[1:]), ask.repeat))

    judged.__name__ = "right"

    async def evaluated():
        async with peer(lambda n, _: said()) as server:
            target = Prompt(template="{{question}}", model=OpenAICompatible("m", server.url))
            questions = [Sample(f"q{no}", f"Question {no}?", "A") for no in range(samples)]
            suite = Suite("s", "custom", questions, {"t": target}, (judged,), Options(**options))
            return await aevaluate_suite(suite, progress=False)

    return asyncio.run(evaluated())[0]


def judge(rules, stored):
    manifest = {**stored.manifest, "gate": rules}
    stored = type("Gated", (), {"id": stored.id, "manifest": manifest, "data": stored.data})()
    return gate_of([stored], [summary_of(stored)]).results


def summary_of(stored):
    from steelyard.analysis.summary.run_summary import summarize_run

    return summarize_run(stored.data())


def test_each_sample_must_pass_in_most_of_its_repeats():
    stored = run(right=lambda no, repeat: no != 3 or repeat == 0, repeats=4)
    holds, fails = judge({"right.each": ">= 0.25"}, stored) + judge({"right.each": ">= 0.8"}, stored)
    assert (holds.state, fails.state) == ("holds", "fails")
    assert "right.each >= 0.8 does not hold (1 of 10 samples do not meet it: q3 25.0 %)" in fails.sentence
    assert fails.value == 0.25
    (mean,) = judge({"right": ">= 0.8"}, stored)
    assert mean.state == "holds"


def test_pass_rules_are_about_the_first_score_and_any_k():
    stored = run(right=lambda no, repeat: no % 2 == 0 or repeat == 0, repeats=3)
    at, hat, whole = judge({"pass@2": ">= 0.8", "pass^2": ">= 0.6", "pass^3": ">=! 0.9"}, stored)
    assert (at.state, hat.state, whole.state) == ("holds", "fails", "fails")
    assert at.value == pytest.approx((5 + 5 * 2 / 3) / 10)
    assert hat.value == 0.5
    assert "50.0 % of right, 95 % CI" in hat.sentence


def test_a_run_that_asked_once_cannot_decide_a_rule_on_repeats():
    (result,) = judge({"pass^2": ">= 0.5"}, run())
    assert result.state == "undecided"
    assert "asked once" in result.sentence


def test_latency_and_cost_are_rules_without_a_scorer():
    stored = run(prices=PRICES)
    slow, fast, cheap, dear = judge({"latency.p95": "<= 60", "latency.p50": "<=! 0.000001"}, stored) + judge(
        {"cost": "<= 0.00003"}, stored
    ) + judge({"cost": "< 0.00002"}, stored)  # fmt: skip
    assert (slow.state, fast.state, cheap.state, dear.state) == ("holds", "fails", "holds", "fails")
    assert cheap.value == pytest.approx(0.000022)
    assert "0.000022 CNY a record, 0.00022 CNY in all" in cheap.sentence
    assert slow.interval.low <= slow.value <= slow.interval.high


def test_a_cost_that_is_not_known_is_not_taken_for_none():
    (result,) = judge({"cost": "<= 1"}, run())
    assert result.state == "undecided"
    assert "prices" in result.sentence


def test_a_score_called_cost_is_what_a_rule_on_cost_is_about():
    async def dear(sample):
        return sample.input

    def cost(output):
        return len(output)

    from steelyard import evaluate

    stored = evaluate(dear, [Sample("a", "12345"), Sample("b", "123")], [cost], progress=False)
    (result,) = judge({"cost": "<= 4"}, stored)
    assert (result.state, result.value) == ("holds", 4.0)


@pytest.mark.parametrize(
    ("name", "bound", "message"),
    [
        ("pass^", ">= 0.8", "write pass\\^3, pass@3 or latency.p95"),
        ("latency.pmax", "<= 2", "latency.p95"),
        ("latency.p0", "<= 2", "latency.p95"),
        ("latency.p100", "<= 2", "between latency.p1 and latency.p99"),
        ("checks.each", ">=! 0.8", "has no interval"),
        ("cost", "<=! 1", "has no interval"),
    ],
)
def test_a_name_that_is_not_complete_is_refused_with_one_that_is(name, bound, message):
    with pytest.raises(ConfigError, match=message):
        parse_rule(name, bound)


@pytest.mark.parametrize("name", ["checks.each", "pass^3", "latency.p95", "cost"])
def test_figures_have_no_margin_against_a_baseline(name):
    with pytest.raises(ConfigError, match="a margin is for a score"):
        parse_margin(name, 0.1)
