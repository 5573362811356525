"""Every rule on every run."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal

from steelyard.errors import did_you_mean
from steelyard.gate.regression import ComparedPair, judge_margin
from steelyard.gate.results import GateVerdict, RuleResult, stopped_early, unfinished
from steelyard.gate.rules import Rule, parse_gate
from steelyard.stats.intervals import Interval
from steelyard.summary import Mean, RunSummary

_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_VERBS: Final = {"holds": "holds", "fails": "does not hold", "undecided": "cannot be decided"}

Compared = Mapping[tuple[str, str], ComparedPair | str | None]
"""(run's id, score) -> that run against its baseline, why there is no comparison, or None: it is the baseline."""


def judge_gate(
    rules: Mapping[str, Any],
    summaries: Sequence[RunSummary],
    *,
    compared: Compared | None = None,
    announced: Mapping[str, Collection[str]] | None = None,
) -> GateVerdict:
    """Every rule on every run that it is about.

    Args:
        rules: what stands below `gate:`.
        summaries: of the runs.
        compared: each run against its baseline, for `no_regression`.
        announced: run's id -> the scores that its scorers announce. A rule on a score that other runs announce is not
            about a run that does not: in a pairwise evaluation only judging runs have a preference.

    Raises:
        ConfigError: a rule cannot be read.
    """
    read = parse_gate(rules)
    known = announced or {}
    results = [_judge(rule, summary) for rule in read.rules for summary in _meant(rule.score, summaries, known)]
    for margin in read.margins:
        for summary in _meant(margin.score, summaries, known):
            pair = (compared or {}).get((summary.run, margin.score), "it was compared with no baseline")
            if pair is not None:
                results.append(judge_margin(margin, summary, pair))
    return GateVerdict(tuple(results))


def _meant(
    score: str, summaries: Sequence[RunSummary], announced: Mapping[str, Collection[str]]
) -> Sequence[RunSummary]:
    having = [one for one in summaries if score in announced.get(one.run, (score,))]
    return having or summaries


def _judge(rule: Rule, summary: RunSummary) -> RuleResult:
    if summary.state != "finished":
        return unfinished(rule.text, summary)
    found = summary.score(rule.score, rule.group)
    if found is None:
        sentence = f"{summary.target}: {rule.text} cannot be decided: {_missing(rule, summary)}."
        return RuleResult(rule.text, summary.run, summary.target, "undecided", None, None, sentence)
    mean: Mean = getattr(found, rule.rate)
    interval, kind = _interval(rule, summary, mean)
    state = _state(rule, mean.value, interval)
    sentence = f"{summary.target}: {rule.text} {_VERBS[state]} ({_evidence(mean, interval, kind)})."
    return RuleResult(rule.text, summary.run, summary.target, state, mean.value, interval, sentence)


def _interval(rule: Rule, summary: RunSummary, mean: Mean) -> tuple[Interval | None, str]:
    """The interval that counts, and what it is called.

    Where a rule could end the run at any moment, an interval for a number of samples that was fixed beforehand is too
    narrow; the confidence sequence holds whenever one stops. Other means of such a run have no interval that holds.
    """
    stopped, asked = summary.stopping, (rule.score, "", "", "headline")
    if stopped is not None and (stopped.score, stopped.against, rule.group, rule.rate) == asked:
        return stopped.interval, f"{100 * stopped.level:g} % confidence sequence"
    return (None, "") if stopped_early(summary) else (mean.interval, "95 % interval")


def _missing(rule: Rule, summary: RunSummary) -> str:
    known = [score.name for score in summary.scores]
    if rule.score not in known:
        return f"the run has no score {rule.score!r}{did_you_mean(rule.score, known)}"
    groups = [group.group for group in summary.groups.get(rule.score, ())]
    return f"the run has no group {rule.group!r}{did_you_mean(rule.group, groups)}"


def _state(rule: Rule, value: float | None, interval: Interval | None) -> Literal["holds", "fails", "undecided"]:
    holds = _HOLDS[rule.operator]
    if not rule.whole:
        if value is None:
            return "undecided"
        return "holds" if holds(value, rule.limit) else "fails"
    if interval is None or value is None:
        return "undecided"
    # Every operator is monotone, so an interval satisfies or violates it as a whole when both its ends do.
    ends = [holds(end, rule.limit) for end in interval]
    if all(ends):
        return "holds"
    return "undecided" if any(ends) else "fails"


def _evidence(mean: Mean, interval: Interval | None, kind: str) -> str:
    if mean.value is None:
        return "nothing was scored"
    limits = "no interval" if interval is None else f"{kind} {interval.low:.4g} to {interval.high:.4g}"
    return f"{mean.value:.4g}, {limits}, n={mean.n}"
