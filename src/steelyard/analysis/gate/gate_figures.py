"""What the rules of a gate compare that is no score's mean: the worst sample, pass@k, calibration, latency and cost.

checks.each: ">= 0.8"      every sample: the mean over its repeats, so that none is right by chance alone
pass^3: ">= 0.8"           each of three repeats passes, by the headline score; pass@3: at least one does
ece: "<= 0.1"              calibration error of an exam's confidences; brier: "<= 0.2" their Brier score
macro_f1: ">= 0.8"         over the classes of a score; micro_f1, balanced_accuracy and kappa likewise
majority: ">= 0.7"         samples of an exam whose most frequent answer over the repeats is right
latency.p95: "<= 2"        seconds that 95 % of the samples do not exceed, without queueing and retries
cost: "<= 0.001"           of the target's replies for one record, in the currency of the prices
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from steelyard.analysis.comparison.costs import drawn_samples, sample_costs, time_quantile
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.gate.gate_rules import OF_CLASSES, OF_EXAMS, Rule
from steelyard.analysis.numbers import count_text, interval_text, money_text, seconds_text, value_text
from steelyard.analysis.run_data import TARGET, RunData
from steelyard.analysis.scores.score_infos import over_of, range_of
from steelyard.analysis.summary.repeats_and_turns import pass_rates
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import did_you_mean, some_of
from steelyard.stats.classification import LEAST_REFERENCES
from steelyard.stats.intervals import Interval

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class RuleFigure:
    """A figure that a rule compares with its limit.

    Args:
        value: None where there is none, with the reason in `evidence`.
        interval: of the value; None where it has none.
        evidence: the figure in words, for the rule's sentence.
        score: the score that it is made of; "" where it is none.
    """

    value: float | None
    interval: Interval | None
    evidence: str
    score: str = ""


def rule_figure(rule: Rule, data: RunData, summary: RunSummary) -> RuleFigure:
    """The figure of a rule whose `is_figure` is true, for one run and its summary."""
    if rule.rate == "majority":
        return _majority(summary)
    if rule.rate in OF_EXAMS:
        return _calibration(rule, summary)
    if rule.rate in OF_CLASSES:
        return _over_classes(rule, summary)
    if rule.rate == "each":
        return _worst_sample(rule, data, summary)
    if rule.rate in {"pass@", "pass^"}:
        return _pass_rate(rule, data)
    return _latency(rule, data, summary) if rule.rate == "latency" else _cost(data)


def _majority(summary: RunSummary) -> RuleFigure:
    repeats = summary.exam.repeats if summary.exam else None
    if summary.exam is None or repeats is None:
        return RuleFigure(None, None, "it has no exam score whose samples were asked several times")
    mean = repeats.majority
    limits = interval_text(mean.interval, share=True)
    value = f"{value_text(mean.value, share=True)} by the most frequent of {repeats.repeats} answers"
    return RuleFigure(mean.value, mean.interval, f"{value}, 95 % CI {limits}, n={mean.n}", summary.exam.score)


def _calibration(rule: Rule, summary: RunSummary) -> RuleFigure:
    found = sorted(summary.details.calibrations, key=lambda entry: entry.score != summary.primary)
    if not found:
        return RuleFigure(None, None, "fewer than half of its answers have a confidence")
    figures, score = found[0].figures, found[0].score
    of_answers = f"{count_text(figures.n, 'answer')} of {score}"
    if rule.rate == "ece":
        chance = value_text(figures.ece_by_chance, share=True)
        text = f"{value_text(figures.ece, share=True)} over {of_answers}; {chance} by chance alone"
        return RuleFigure(figures.ece, None, text, score)
    interval = figures.brier_interval
    limits = "no interval" if interval is None else "95 % CI {:.4f} to {:.4f}".format(*interval)
    return RuleFigure(figures.brier, interval, f"{figures.brier:.4f}, {limits}, {of_answers}", score)


def _over_classes(rule: Rule, summary: RunSummary) -> RuleFigure:
    found = sorted(summary.details.classifications, key=lambda entry: entry.score != summary.primary)
    if not found:
        return RuleFigure(None, None, "it has no score with classes, such as that of label")
    figures, score, share = found[0].figures, found[0].score, rule.rate != "kappa"
    value: float | None = getattr(figures, rule.rate)
    over = f"{value_text(value, share=share)} over {count_text(figures.n, 'reply')} of {score}"
    if rule.rate in {"micro_f1", "kappa"}:
        return RuleFigure(value, None, over if value is not None else f"chance explains everything in {score}", score)
    interval: Interval | None = getattr(figures, f"{rule.rate}_interval")
    if interval is None:
        few = [
            name for name, of in zip(found[0].classes, figures.classes, strict=True) if of.support < LEAST_REFERENCES
        ]
        why = f"it has an interval only with {LEAST_REFERENCES} references of every class, which {few[0]} has not"
        return RuleFigure(None, None, f"{over}; {why}" if few else f"{over}, no interval", score)
    return RuleFigure(value, interval, f"{over}, 95 % CI {interval_text(interval, share=True)}", score)


def _worst_sample(rule: Rule, data: RunData, summary: RunSummary) -> RuleFigure:
    """The mean of the sample that is farthest from meeting the rule, and the samples that do not meet it."""
    if rule.score not in data.scores.scores:
        near = did_you_mean(rule.score, data.scores.scores)
        return RuleFigure(None, None, f"the run has no score {rule.score!r}{near}")
    run, info = RunBySample.of(data, summary, [rule.group] if rule.group else ()), data.score_infos.get(rule.score)
    means = run.sums_of(rule.score).means(over_of(info))
    known = np.flatnonzero(~np.isnan(means))
    if not len(known):
        return RuleFigure(None, None, "no sample has a value", rule.score)
    sign = 1 if rule.operator.startswith(">") else -1
    order = known[np.argsort(sign * means[known], kind="stable")].tolist()
    share = range_of(info) == (0.0, 1.0) and not (info is not None and info.unbounded)
    failing = [at for at in order if not rule.holds(float(means[at]))]
    named = [f"{run.samples[at]} {value_text(float(means[at]), share=share)}" for at in failing or order[:_MOST_NAMED]]
    samples = count_text(len(known), "sample")
    which = f"the {'lowest' if sign > 0 else 'highest'} of {samples}"
    evidence = f"{f'{len(failing):,} of {samples} do not meet it' if failing else which}: {some_of(named, _MOST_NAMED)}"
    return RuleFigure(float(means[order[0]]), None, evidence, rule.score)


def _pass_rate(rule: Rule, data: RunData) -> RuleFigure:
    rates = pass_rates(data, [rule.k])
    if not rates:
        return RuleFigure(None, None, "its samples were asked once, or its first score neither passes nor fails")
    mean = rates[0].at_least_one if rule.rate == "pass@" else rates[0].each
    if mean.value is None:
        return RuleFigure(None, None, f"no sample has {rule.k} repeats with a verdict", data.primary)
    limits = interval_text(mean.interval, share=True)
    evidence = f"{value_text(mean.value, share=True)} of {data.primary}, 95 % CI {limits or 'none'}, n={mean.n}"
    return RuleFigure(mean.value, mean.interval, evidence, data.primary)


def _latency(rule: Rule, data: RunData, summary: RunSummary) -> RuleFigure:
    if data.records is None or data.bodies is None:
        return RuleFigure(None, None, "the run's replies are not stored")
    run = RunBySample.of(data, summary)
    chosen = drawn_samples(run.samples)
    costs = sample_costs(data.records, data.bodies, run.numbers[chosen].tolist())
    units = dict(zip(run.numbers.tolist(), run.units().tolist(), strict=True))
    time = time_quantile([(units[number], cost) for number, cost in costs.items()], rule.k)
    if time is None:
        return RuleFigure(None, None, "no record has a reply")
    limits = "no interval"
    if time.interval is not None:
        limits = "95 % CI {} to {}".format(*map(seconds_text, time.interval))
    words = "wall time, as it asks no model" if time.measure == "seconds" else f"n={time.n}"
    return RuleFigure(time.other, time.interval, f"{seconds_text(time.other)}, {limits}, {words}")


def _cost(data: RunData) -> RuleFigure:
    stage = next((stage for stage in data.stages if stage.stage == TARGET), None)
    if stage is None or stage.money is None or not data.counts.done:
        return RuleFigure(None, None, "what its replies cost is not known; give options: {prices: FILE}")
    value = stage.money / data.counts.done
    evidence = f"{money_text(value, stage.currency)} a record, {money_text(stage.money, stage.currency)} in all"
    return RuleFigure(value, None, evidence)
