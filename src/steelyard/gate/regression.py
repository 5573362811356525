"""A run against its baseline: has a score lost more than a margin?

The difference (run - baseline) comes from `steelyard.compare`: the same pairs, the same interval. The gate reads of it
what the protocols below name and knows no more of it.

    holds       the lower limit of the difference lies above -margin: a loss of that size is ruled out
    fails       the upper limit lies below 0: there is a loss
    undecided   neither
    holds       both: there is a loss, and it is smaller than the margin

Source: a test of non-inferiority by a two-sided interval, as in G. Piaggio et al., "Reporting of noninferiority and
equivalence randomized trials", JAMA 308, 2594-2604, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Protocol

from steelyard.errors import did_you_mean
from steelyard.gate.results import RuleResult, stopped_early, unfinished
from steelyard.gate.rules import Margin
from steelyard.stats.intervals import Interval
from steelyard.summary import RunSummary

_VERBS: Final = {"holds": "holds", "fails": "does not hold", "undecided": "cannot be decided"}


class Difference(Protocol):
    """The run minus its baseline over the same samples; `steelyard.compare.PairedDifference` is one."""

    @property
    def group(self) -> str:
        """The group it covers; "" is all pairs."""

    @property
    def n(self) -> int:
        """Pairs."""

    @property
    def difference(self) -> float | None:
        """Run - baseline; None where there is no pair."""

    @property
    def interval(self) -> Interval | None:
        """Of the difference; None where the pairs say nothing about its spread."""


class ComparedPair(Protocol):
    """One run against its baseline by one score; `steelyard.compare.PairComparison` is one."""

    @property
    def baseline(self) -> str:
        """The baseline's id; `baseline_target` its target."""

    @property
    def baseline_target(self) -> str:
        """The baseline's target."""

    @property
    def level(self) -> float:
        """Of the intervals."""

    @property
    def n_paired(self) -> int:
        """Samples in both runs that both have the score of."""

    @property
    def only_in_baseline(self) -> int:
        """Samples that the run lacks."""

    @property
    def only_in_other(self) -> int:
        """Samples that the baseline lacks."""

    @property
    def changed_content(self) -> int:
        """Samples with the same id and other content."""

    @property
    def warnings(self) -> Sequence[str]:
        """What a reader must know of the two runs."""

    @property
    def headline(self) -> Difference:
        """Over all pairs."""

    @property
    def answered_both(self) -> Difference:
        """Over the pairs that both sides answered."""

    @property
    def groups(self) -> Sequence[Difference]:
        """Per group."""


def judge_margin(margin: Margin, summary: RunSummary, pair: ComparedPair | str) -> RuleResult:
    """One margin on one run.

    Args:
        margin: what is asked.
        summary: of the run.
        pair: the run against its baseline, or why there is no comparison.
    """
    if summary.state != "finished":
        return unfinished(margin.text, summary)
    if isinstance(pair, str):
        sentence = f"{summary.target}: {margin.text} cannot be decided: {pair.rstrip('.')}."
        return RuleResult(margin.text, summary.run, summary.target, "undecided", None, None, sentence)
    found = _difference(margin, pair)
    why = _unfit(summary, pair) or (found if isinstance(found, str) else "")
    if why or isinstance(found, str):
        return _result(margin, summary, pair, "undecided", why)
    state, remark = _state(margin.margin, found)
    evidence = f"{_evidence(found, pair.level)}{remark}{_left_out(pair)}"
    return _result(margin, summary, pair, state, evidence, found)


def unfit_baseline(summary: RunSummary) -> str:
    """Why nothing is held against a run; "" where it may be a baseline."""
    if summary.state != "finished":
        counts = f"{summary.done} of {summary.planned} records are done"
        return f"the baseline {summary.target} ({summary.run}) is {summary.state}: {counts}"
    if stopped_early(summary):
        return f"the baseline {summary.target} ({summary.run}) was stopped early, which says little of a difference"
    return ""


def _difference(margin: Margin, pair: ComparedPair) -> Difference | str:
    """The difference that the margin is about, or why there is none."""
    if margin.group:
        known = {one.group: one for one in pair.groups}
        return known.get(margin.group) or f"no pair is of group {margin.group!r}{did_you_mean(margin.group, known)}"
    return pair.answered_both if margin.answered else pair.headline


def _unfit(summary: RunSummary, pair: ComparedPair) -> str:
    """Why the two runs are not held against each other; "" where they can be."""
    if pair.n_paired == 0:
        return "the two share no sample on which both have this score"
    if pair.changed_content:
        samples = f"{pair.changed_content} sample{'' if pair.changed_content == 1 else 's'}"
        return f"{samples} that both have changed content since, so the two were not asked the same"
    if stopped_early(summary):
        return "the run was stopped early, where the interval of a difference for a fixed set does not hold"
    return ""


def _state(margin: float, found: Difference) -> tuple[Literal["holds", "fails", "undecided"], str]:
    """What follows from the interval, and a remark where a reader may wonder at it."""
    if found.difference is None or found.interval is None:
        return "undecided", ""
    low, high = found.interval
    if low > -margin:
        return "holds", "; there is a loss, and it is within the margin" if high < 0 else ""
    if high < 0:
        return "fails", ""
    return "undecided", f"; a loss of {margin:g} is compatible with them, and so is none"


def _evidence(found: Difference, level: float) -> str:
    if found.difference is None:
        return "no pair"
    limits = "no interval, as these pairs say nothing about the spread"
    if found.interval:
        limits = f"{100 * level:g} % interval {_signed(found.interval.low)} to {_signed(found.interval.high)}"
    return f"difference {_signed(found.difference)}, {limits}, {found.n} pair{'' if found.n == 1 else 's'}"


def _left_out(pair: ComparedPair) -> str:
    alone = pair.only_in_baseline + pair.only_in_other
    return f"; {alone} sample{' is' if alone == 1 else 's are'} in one of the two alone" if alone else ""


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


def _result(
    margin: Margin,
    summary: RunSummary,
    pair: ComparedPair,
    state: Literal["holds", "fails", "undecided"],
    evidence: str,
    found: Difference | None = None,
) -> RuleResult:
    against = f"{pair.baseline_target} ({pair.baseline})"
    return RuleResult(
        rule=margin.text,
        run=summary.run,
        target=summary.target,
        state=state,
        value=found.difference if found else None,
        interval=found.interval if found else None,
        sentence=f"{summary.target}: {margin.text} {_VERBS[state]} against {against}: {evidence}.",
        baseline=pair.baseline,
        notes=tuple(pair.warnings),
    )
