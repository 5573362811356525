"""The difference between two runs in one sentence: over pairs, or by a stopping rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.comparison.comparison_values import MissingVerdicts, PairedDifference, ScoreDifference, Verdict
from steelyard.analysis.comparison.differences import excludes_zero
from steelyard.analysis.numbers import (
    about_text,
    count_text,
    figure_text,
    interval_text,
    level_text,
    p_equals,
    score_phrase,
    signed_text,
    value_text,
)
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.stopping import Stopping
from steelyard.stats.intervals import Interval

_RATES_SOLVED: Final = ("solve_rate",)
_MOST_MOVED: Final = 3
_COUNTLESS: Final = 1_000_000
"""From this many needed pairs on, no number is given: it grows with the inverse square of an uncertain difference."""


def comparison_sentence(
    difference: PairedDifference, verdict: Verdict, *, score: str, names: tuple[str, str], level: float
) -> str:
    """The conclusion of a comparison, with its numbers.

    Args:
        difference: over all pairs.
        verdict: of that difference.
        score: the score's name.
        names: of the baseline and of the other run.
        level: of the interval.
    """
    claim = _Claim(difference, score, *names, level)
    if verdict == "inconclusive" and difference.missing is not None:
        return claim.inconclusive(difference.missing)
    if difference.difference is None:
        sides = f"{claim.baseline} and {claim.other}"
        return f"{sides} share no sample with a value of {score_phrase(score)} in both, so they cannot be compared."
    if difference.stopped is not None:
        return claim.stopped(difference.stopped)
    return claim.decided() if verdict in {"better", "worse"} else claim.undecided()


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a sentence is about: a difference, its score and level, and the names of the two runs."""

    difference: PairedDifference
    score: str
    baseline: str
    other: str
    level: float

    @property
    def facts(self) -> str:
        """The test, how far the difference depends on replies without a verdict, and the number of pairs."""
        facts, missing = [_test(self.difference)], self.difference.missing
        if missing is not None:
            counting = f": counting these, {_bounds(missing.bounds, self.difference)}" if missing.bounds else ""
            facts.append(f"{count_text(missing.n, 'reply')} without a verdict{counting}")
        return "; ".join([*facts, count_text(self.difference.n, "pair")])

    def inconclusive(self, missing: MissingVerdicts) -> str:
        """Why the missing verdicts leave the sign open, and what the replies with a verdict show."""
        difference, phrase = self.difference, score_phrase(self.score)
        if missing.n == missing.replies:
            replies = f"None of the {count_text(missing.replies, 'reply')} of {self.baseline} and {self.other}"
            return f"{replies} has a verdict, so their {phrase} cannot be compared."
        facts = [f"{level_text(self.level)} CI {_interval(difference)}"] if difference.interval else []
        facts += [_test(difference), count_text(difference.n, "pair")]
        scored = (
            f"As scored, {self.other} differs from {self.baseline} by {change_text(difference)} ({'; '.join(facts)})"
        )
        if difference.difference is None:
            scored = f"No sample has a value of {phrase} in both {self.baseline} and {self.other}"
        may = (
            f"could move the difference to anything from {_bounds(missing.bounds, difference)}"
            if missing.bounds
            else ""
        )
        may = may or f"may outweigh the rest, as the range of {phrase} is not known"
        has = "has" if missing.n == 1 else "have"
        return (
            f"{missing.n:,} of {count_text(missing.replies, 'reply')} {has} no verdict, so it is open which run is "
            f"better on {phrase}. {scored}, but the replies without a verdict {may}. Fix those first."
        )

    def decided(self) -> str:
        """Which run is better or worse, by how much, and how sure that is."""
        difference, size = self.difference, self.difference.difference or 0.0
        up = size > 0
        amount = figure_text(abs(size), share=difference.unit)
        if self.score in _RATES_SOLVED:
            claim = f"solves {amount} points {'more' if up else 'less'}"
        elif difference.unit:
            claim = f"scores {amount} points {'more' if up else 'less'} on {score_phrase(self.score)}"
        else:
            claim = f"scores {amount} {'higher' if up else 'lower'} on {score_phrase(self.score)}"
        why = f", which is {'worse' if up else 'better'}, as lower is better" if difference.lower_is_better else ""
        sides = (difference.other or 0.0, difference.baseline or 0.0)
        facts = [" against ".join(value_text(side, share=difference.unit) for side in sides)]
        if difference.interval:
            limits = interval_text(difference.interval, share=difference.unit, sign=True)
            facts.append(f"{level_text(self.level)} CI {limits}")
        return f"{self.other} {claim} than {self.baseline}{why} ({'; '.join([*facts, self.facts])})."

    def undecided(self) -> str:
        """That there is no clear difference, how large one may be, and how large one could be found."""
        difference = self.difference
        claim = f"No clear difference in {score_phrase(self.score)}"
        values = f"{self.other} {_share(difference, 'other')}, {self.baseline} {_share(difference, 'baseline')}"
        facts = f"{values} ({self.facts})"
        if difference.interval is None:
            return f"{claim}: {facts}. These pairs do not show how large one may be."
        shown = _finds(difference, _unit(difference))
        p = difference.decisive_p
        if excludes_zero(difference.interval) or (p is not None and p < 1 - self.level):
            interval = f"{level_text(self.level)} CI {_interval(difference)}"
            return f"{claim}, though the result is borderline: {facts}; {interval}.{shown}"
        limits = _bounds(difference.interval, difference, " and ")
        return f"{claim}: {facts}. The true difference is probably between {limits}.{shown}"

    def stopped(self, stopping: Stopping) -> str:
        """What a rule decided, on how many samples, and how often such a decision is wrong."""
        difference, baseline, other, phrase = self.difference, self.baseline, self.other, score_phrase(self.score)
        where = "over the full set" if stopping.question == "full" else "beyond this set"
        claim = {
            "above": f"{other} has more {phrase} than {baseline} {where}",
            "below": f"{other} has less {phrase} than {baseline} {where}",
            "equal": f"{other} and {baseline} have exactly the same {phrase} {where}",
            "": f"These {difference.n} samples cannot tell whether {other} or {baseline} has more {phrase} {where}",
        }[stopping.side]
        low, high = (signed_text(limit, share=difference.unit) for limit in stopping.interval)
        values = [value_text(value or 0.0, share=difference.unit) for value in (difference.other, difference.baseline)]
        finds = ""
        if not stopping.side and difference.detectable is not None:
            size = f"{figure_text(difference.detectable, share=difference.unit)}{_unit(difference)}"
            finds = (
                f" Even a number of samples fixed in advance would show a difference of {size} in only 80 % of cases."
            )
        return (
            f"{claim} ({' against '.join(values)}; anytime-valid {level_text(stopping.level)} confidence sequence of "
            f"the difference {low} to {high}{_unit(difference)}; {stopping.extent}).{finds} {stopping.promise}"
        )


def _bounds(bounds: Interval, difference: PairedDifference, to: str = " to ") -> str:
    """Both ends with their signs, and the unit."""
    return f"{to.join(signed_text(end, share=difference.unit) for end in bounds)}{_unit(difference)}"


def by_conversation_sentence(difference: PairedDifference | None, level: float) -> str:
    """The difference of the means over conversations, next to the one over all turns, which decides; "" without one."""
    if difference is None or difference.difference is None:
        return ""
    size = change_text(difference)
    interval = f", {level_text(level)} CI {_interval(difference)}" if difference.interval else ""
    return (
        f" This is over all turns, which decides; with each of the {count_text(difference.n, 'conversation')} counted "
        f"once, whatever its length, the difference is {size}{interval}."
    )


def moved_scores_sentence(scores: Sequence[ScoreDifference], headline: str, other: str) -> str:
    """The further scores on which the other run is better or worse; "" where there are none.

    Measures of retrieval are computed from the same matches, so only the first of those with the same verdict is named.

    Args:
        scores: compared besides the headline, with corrected p-values.
        headline: the score that the sentence is already about.
        other: the other run's name.
    """
    moved = [score for score in scores if score.verdict in {"better", "worse"}]
    if headline in RETRIEVAL_SCORES:
        moved = [score for score in moved if score.score not in RETRIEVAL_SCORES]
    families: dict[tuple[str, Verdict], ScoreDifference] = {}
    for score in moved:
        family = "retrieval" if score.score in RETRIEVAL_SCORES else score.score
        families.setdefault((family, score.verdict), score)
    if not families:
        return ""
    named = [_moved(score) for score in families.values()]
    more = f" and on {len(named) - _MOST_MOVED} more" if len(named) > _MOST_MOVED else ""
    return f" On further scores {other} is {', '.join(named[:_MOST_MOVED])}{more}."


def _moved(score: ScoreDifference) -> str:
    difference = score.difference
    value = change_text(difference)
    direction = ", lower is better" if difference.lower_is_better else ""
    return f"{score.verdict} on {score_phrase(score.score)} ({value}, {p_equals(difference.decisive_p)}{direction})"


def _finds(difference: PairedDifference, unit: str) -> str:
    """How large a difference a set like this can detect, and how large a set this difference needs."""
    if difference.detectable is None:
        return ""
    detectable = figure_text(difference.detectable, share=difference.unit)
    shown = (
        f" With {count_text(difference.n, 'sample')}, only differences of about {detectable}{unit} are found reliably "
        "(in 80 % of cases)."
    )
    if not (needed := needed_text(difference)):
        return shown
    seen = figure_text(abs(difference.difference or 0.0), share=difference.unit)
    return f"{shown} To settle {seen}{unit}: {needed} samples."


def needed_text(difference: PairedDifference) -> str:
    """How many samples would settle the difference that was seen; "" where it is 0 or has so many already."""
    needed, seen = difference.needed, figure_text(difference.difference or 0.0, share=difference.unit)
    if not needed or needed <= difference.n or not float(seen):
        return ""
    return about_text(needed) if needed < _COUNTLESS else f"more than {_COUNTLESS:,}"


def _share(difference: PairedDifference, side: str) -> str:
    value = difference.other if side == "other" else difference.baseline
    if difference.table is None:
        return value_text(value or 0.0, share=difference.unit)
    return f"{round((value or 0.0) * difference.n)} of {difference.n}"


def _unit(difference: PairedDifference) -> str:
    return " points" if difference.unit else ""


def _interval(difference: PairedDifference) -> str:
    """Both limits with their signs and the unit."""
    return f"{interval_text(difference.interval, share=difference.unit, sign=True)}{_unit(difference)}"


def change_text(difference: PairedDifference) -> str:
    """The difference with its sign and the unit."""
    return f"{signed_text(difference.difference or 0.0, share=difference.unit)}{_unit(difference)}"


def _test(difference: PairedDifference) -> str:
    """The p-value that decides; the test and its correction stand below the figures."""
    return p_equals(1.0 if difference.decisive_p is None else difference.decisive_p)
