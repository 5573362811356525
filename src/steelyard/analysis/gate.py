"""Rules on scores -> a verdict and an exit code: every rule on every run.

    solve_rate: ">= 0.6"                 the headline value of the score, for every run
    solve_rate.answered: "> 0.7"         over what was answered; `.with_errors` counts errors as not solved
    "solve_rate[hexagrams]": ">= 0.5"    one group
    solve_rate: ">=! 0.6"                the whole 95 % CI: holds if all of it does, fails if none of it does, else
                                         the data cannot decide
    no_regression: {solve_rate: 0.02}    against `baseline`, sample by sample: the score has not lost 0.02 or more
    baseline: baseline.json              a file that `steelyard baseline` wrote, a run's id, a target, or `latest`

A score or group that a run does not have (none of its samples was of that group) leaves the rule undecided.

`no_regression` compares the interval of the difference (run - baseline) with the margin:

    holds       the lower limit lies above -margin: a loss of that size is ruled out (even if there is a smaller one)
    fails       otherwise, and the upper limit lies below 0: there is a loss
    undecided   otherwise

Of a score where lower is better the loss is an increase, and both limits change places. Replies without a verdict
count at their worst and at their best: where these bounds lead to another decision, the rule is undecided.

Source: a test of non-inferiority by a two-sided interval, as in G. Piaggio et al., "Reporting of noninferiority and
equivalence randomized trials", JAMA 308, 2594-2604, 2012.

Exit codes: 0 every rule holds; 1 a rule fails; 3 no rule fails, but one cannot be decided; 4 a run is broken or
unfinished, so that its rules are not evaluated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from steelyard.analysis.comparison_values import PairComparison, PairedDifference
from steelyard.analysis.gate_rules import Margin, Rule, parse_gate
from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import count_text, level_text
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.summary_values import RunSummary, ScoreSummary
from steelyard.errors import did_you_mean
from steelyard.stats.intervals import Interval
from steelyard.types import Json

Decision = Literal["holds", "fails", "undecided"]
RuleState = Decision | Literal["broken"]

_EXIT_CODES: Final[Mapping[RuleState, int]] = {"broken": 4, "fails": 1, "undecided": 3, "holds": 0}
"""In the order in which they take precedence."""
_VERBS: Final[Mapping[Decision, str]] = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "cannot be decided",
}
_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}

Compared = Mapping[tuple[str, str], PairComparison | str | None]
"""(run's id, score) -> that run against its baseline, why there is no comparison, or None: it is the baseline."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The outcome of one rule on one run.

    Args:
        rule: as it was written.
        run: the run's id; `target` its target.
        state: whether the rule holds; `broken` where the run is not finished.
        value: what was compared with the limit: a mean, or the difference from the baseline.
        interval: of that value.
        sentence: for a person.
        baseline: id of the run it was compared with; "" where the rule compares nothing.
        notes: what a reader must know of the two runs before believing a comparison.
    """

    rule: str
    run: str
    target: str
    state: RuleState
    value: float | None
    interval: Interval | None
    sentence: str
    baseline: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        names = ("rule", "run", "target", "state", "value", "sentence", "baseline")
        interval = list(self.interval) if self.interval else None
        return {**{name: getattr(self, name) for name in names}, "interval": interval, "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The results of all rules on all runs, and the exit code: 4 takes precedence over 1, 1 over 3, 3 over 0."""

    results: tuple[RuleResult, ...]

    @property
    def exit_code(self) -> int:
        """0 holds, 1 fails, 3 cannot be decided, 4 a run is broken or unfinished."""
        states = {result.state for result in self.results}
        return next((code for state, code in _EXIT_CODES.items() if state in states), 0)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One per rule and run."""
        return tuple(result.sentence for result in self.results)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON."""
        return {"exit_code": self.exit_code, "results": [result.to_json() for result in self.results]}


def judge_gate(
    rules: Mapping[str, Any],
    summaries: Sequence[RunSummary],
    *,
    compared: Compared | None = None,
    announced: Mapping[str, Collection[str]] | None = None,
) -> GateVerdict:
    """Apply every rule to every run that has its score.

    Args:
        rules: the mapping below `gate:`.
        summaries: of the runs.
        compared: each run against its baseline, for `no_regression`.
        announced: run's id -> the scores that its scorers announce. A rule on a score that other runs announce does
            not apply to a run that does not: in a pairwise evaluation only judging runs have a preference.

    Raises:
        ConfigError: a rule cannot be read.
    """
    parsed = parse_gate(rules)
    known = announced or {}
    results = [
        _judge_rule(rule, summary) for rule in parsed.rules for summary in _scored_runs(rule.score, summaries, known)
    ]
    for margin in parsed.margins:
        for summary in _scored_runs(margin.score, summaries, known):
            pair = (compared or {}).get((summary.run, margin.score), "it was compared with no baseline")
            if pair is not None:
                results.append(judge_margin(margin, summary, pair))
    return GateVerdict(tuple(results))


def _scored_runs(
    score: str, summaries: Sequence[RunSummary], announced: Mapping[str, Collection[str]]
) -> Sequence[RunSummary]:
    """The runs whose scorers announce a score; all runs where none does, so that a misspelt rule is reported."""
    scored = [summary for summary in summaries if score in announced.get(summary.run, (score,))]
    return scored or summaries


def _judge_rule(rule: Rule, summary: RunSummary) -> RuleResult:
    if summary.state != "finished":
        return _unfinished(rule.text, summary)
    score = summary.score(rule.score, rule.group)
    if score is None:
        return _undecided(rule.text, summary, _missing(rule, summary))
    mean: Mean = getattr(score, rule.rate)
    interval, interval_name = _interval(rule, summary, mean)
    state = _state(rule, mean.value, interval, score)
    sentence = f"{summary.target}: {rule.text} {_VERBS[state]} ({_evidence(mean, interval, interval_name, score)})."
    notes = _retrieval_notes(summary, rule.score)
    return RuleResult(rule.text, summary.run, summary.target, state, mean.value, interval, sentence, notes=notes)


def _interval(rule: Rule, summary: RunSummary, mean: Mean) -> tuple[Interval | None, str]:
    """The interval that counts, and what it is called.

    Where a rule could end the run at any moment, an interval for a number of samples that was fixed beforehand is too
    narrow; the confidence sequence holds whenever one stops. Other means of such a run have no interval that holds.
    """
    stopping, headline = summary.stopping, (rule.score, "", "", "headline")
    if stopping is not None and (stopping.score, stopping.against, rule.group, rule.rate) == headline:
        return stopping.interval, f"{level_text(stopping.level)} confidence sequence"
    return (None, "") if summary.stopped_early else (mean.interval, "95 % CI")


def _missing(rule: Rule, summary: RunSummary) -> str:
    known = [score.name for score in summary.scores]
    if rule.score not in known:
        return f"the run has no score {rule.score!r}{did_you_mean(rule.score, known)}"
    groups = [group.group for group in summary.groups.get(rule.score, ())]
    return f"the run has no group {rule.group!r}{did_you_mean(rule.group, groups)}"


def _state(rule: Rule, value: float | None, interval: Interval | None, score: ScoreSummary) -> Decision:
    holds = _HOLDS[rule.operator]
    if value is None:
        return "undecided"
    if not rule.whole_interval:
        # A rule on the value takes the value as it is defined, unparsed replies as not solved.
        return "holds" if holds(value, rule.limit) else "fails"
    if interval is None:
        return "undecided"
    # Every operator is monotone, so an interval satisfies or violates it as a whole when both its ends do.
    ends = [holds(end, rule.limit) for end in (*interval, *(score.missing_bounds or ()))]
    if all(ends):
        return "holds"
    return "undecided" if any(ends) else "fails"


def _evidence(mean: Mean, interval: Interval | None, interval_name: str, score: ScoreSummary) -> str:
    if mean.value is None:
        return "nothing was scored"
    limits = "no interval" if interval is None else f"{interval_name} {interval.low:.4g} to {interval.high:.4g}"
    missing = ""
    if score.missing_bounds:
        low, high = score.missing_bounds
        missing = f", {low:.4g} to {high:.4g} with {count_text(score.missing_verdicts, 'reply')} without a verdict"
    return f"{mean.value:.4g}, {limits}{missing}, n={mean.n}"


def judge_margin(margin: Margin, summary: RunSummary, pair: PairComparison | str) -> RuleResult:
    """Apply one margin of `no_regression` to one run.

    Args:
        margin: the largest loss that is tolerated.
        summary: of the run.
        pair: the run against its baseline, or why there is no comparison.
    """
    if summary.state != "finished":
        return _unfinished(margin.text, summary)
    if isinstance(pair, str):
        return _undecided(margin.text, summary, pair.rstrip("."))
    difference = _difference(margin, pair)
    reason = _incomparable(summary, pair) or (difference if isinstance(difference, str) else "")
    if reason or isinstance(difference, str):
        return _margin_result(margin, summary, pair, "undecided", reason)
    state, remark = _margin_state(margin.margin, difference)
    evidence = f"{_difference_text(difference, pair.level)}{remark}{_left_out(pair)}"
    return _margin_result(margin, summary, pair, state, evidence, difference)


def unfit_baseline(summary: RunSummary) -> str:
    """Why a run cannot be a baseline; "" where it can."""
    if summary.state != "finished":
        counts = f"{summary.done} of {summary.planned} records are done"
        return f"the baseline {summary.target} ({summary.run}) is {summary.state}: {counts}"
    if summary.stopped_early:
        return f"the baseline {summary.target} ({summary.run}) was stopped early, which says little of a difference"
    return ""


def _difference(margin: Margin, pair: PairComparison) -> PairedDifference | str:
    """The difference that a margin limits (whole run, group or answered pairs), or why there is none."""
    if margin.group:
        groups = {group.group: group for group in pair.groups}
        return groups.get(margin.group) or f"no pair is of group {margin.group!r}{did_you_mean(margin.group, groups)}"
    return pair.answered_both if margin.answered else pair.headline


def _incomparable(summary: RunSummary, pair: PairComparison) -> str:
    """Why the two runs cannot be compared; "" where they can be."""
    if pair.n_paired == 0:
        return "the two share no sample on which both have this score"
    if pair.changed_content:
        samples = f"{pair.changed_content} sample{'' if pair.changed_content == 1 else 's'}"
        return f"{samples} that both have changed content since, so the two were not asked the same"
    if summary.stopped_early:
        return "the run was stopped early, where the interval of a difference for a fixed set does not hold"
    return ""


def _margin_state(margin: float, difference: PairedDifference) -> tuple[Decision, str]:
    """What follows from the interval, and a remark where a reader may wonder at it."""
    if difference.difference is None or difference.interval is None:
        return "undecided", ""
    missing = difference.missing
    if missing is not None and missing.bounds is None and missing.leaves_sign_open:
        return "undecided", f"; {count_text(missing.n, 'reply')} of {missing.replies:,} have no verdict"
    low, high = _gain(difference.interval, difference)
    least, most = _gain(missing.bounds, difference) if missing and missing.bounds else (low, high)
    with_missing = f"; with {count_text(missing.n, 'reply')} without a verdict" if missing else ""
    if low > -margin:
        if least <= -margin:
            return "undecided", f"{with_missing} the loss may be {_signed(-least).lstrip('+')}"
        return "holds", "; there is a loss, and it is within the margin" if high < 0 else ""
    if high < 0:
        return ("undecided", f"{with_missing} there may be no loss") if most >= 0 else ("fails", "")
    return "undecided", f"; a loss of {margin:g} is compatible with them, and so is none"


def _gain(interval: Interval, difference: PairedDifference) -> Interval:
    """An interval of the difference in the score's direction: below 0 the run has lost."""
    return Interval(-interval.high, -interval.low) if difference.lower_is_better else interval


def _difference_text(difference: PairedDifference, level: float) -> str:
    if difference.difference is None:
        return "no pair"
    limits = "no interval, as these pairs say nothing about the spread"
    if difference.interval:
        low, high = map(_signed, difference.interval)
        limits = f"{level_text(level)} CI {low} to {high}"
    pairs = f"{difference.n} pair{'' if difference.n == 1 else 's'}"
    return f"difference {_signed(difference.difference)}, {limits}, {pairs}"


def _left_out(pair: PairComparison) -> str:
    alone = pair.only_in_baseline + pair.only_in_other
    return f"; {alone} sample{' is' if alone == 1 else 's are'} in one of the two alone" if alone else ""


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


def _margin_result(
    margin: Margin,
    summary: RunSummary,
    pair: PairComparison,
    state: Decision,
    evidence: str,
    difference: PairedDifference | None = None,
) -> RuleResult:
    against = f"{pair.baseline_target} ({pair.baseline})"
    return RuleResult(
        rule=margin.text,
        run=summary.run,
        target=summary.target,
        state=state,
        value=difference.difference if difference else None,
        interval=difference.interval if difference else None,
        sentence=f"{summary.target}: {margin.text} {_VERBS[state]} against {against}: {evidence}.",
        baseline=pair.baseline,
        notes=(*_retrieval_notes(summary, margin.score), *pair.warnings),
    )


def _unfinished(rule: str, summary: RunSummary) -> RuleResult:
    """A rule is not evaluated on a run that has not come to its end."""
    counts = f"{summary.done} of {summary.planned} records, {summary.errors} errors"
    sentence = f"{summary.target}: {rule} says nothing, as the run is {summary.state} ({counts})."
    return RuleResult(rule, summary.run, summary.target, "broken", None, None, sentence)


def _undecided(rule: str, summary: RunSummary, reason: str) -> RuleResult:
    sentence = f"{summary.target}: {rule} cannot be decided: {reason}."
    return RuleResult(rule, summary.run, summary.target, "undecided", None, None, sentence)


def _retrieval_notes(summary: RunSummary, score: str) -> tuple[str, ...]:
    """Why a retrieval score is likely wrong, as passages match hardly any source; nothing for other scores."""
    warning = summary.matching_warning(score) if score in RETRIEVAL_SCORES else ""
    return (warning,) if warning else ()
