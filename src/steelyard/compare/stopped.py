"""Two runs that ended when their difference was decided: what the decision says stands in place of a fixed-n test."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from steelyard.compare.alignment import Side
from steelyard.compare.comparison import PairedDifference
from steelyard.summary import Stopping

SEQUENCE: Final = "confidence sequence"
BETTING: Final = "betting test"


def decision_on(baseline: Side, other: Side, score: str) -> Stopping | None:
    """What was decided on the difference of these two runs; None where they were run for anything else.

    A run of the same target that was started at another time is another run: nothing was decided on it.
    """
    stopping = other.summary.stopping
    if stopping is None or stopping.score != score or stopping.against != baseline.run.target:
        return None
    evaluations = {getattr(side.run, "evaluation", None) for side in (baseline, other)}
    return stopping if len(evaluations) == 1 and None not in evaluations else None


def as_decided(difference: PairedDifference, stopping: Stopping) -> PairedDifference:
    """The difference with the confidence sequence for its interval, and without a p-value: none holds here."""
    return replace(
        difference, interval=stopping.interval, p=None, interval_method=SEQUENCE, test=BETTING, stopped=stopping
    )


def decided_sentence(found: PairedDifference, stopping: Stopping, *, score: str, names: tuple[str, str]) -> str:
    """What was decided, on how many samples, and how often such a decision is wrong.

    Args:
        found: the difference over the samples that were used.
        stopping: its decision.
        score: the score's name.
        names: of the baseline and of the other run.
    """
    baseline, other = names
    where = "over the full set" if stopping.question == "full" else "beyond this set"
    claim = {
        "above": f"{other} has more {score} than {baseline} {where}",
        "below": f"{other} has less {score} than {baseline} {where}",
        "equal": f"{other} and {baseline} have exactly the same {score} {where}",
        "": f"These {found.n} samples cannot tell whether {other} or {baseline} has more {score} {where}",
    }[stopping.side]
    scale, unit = (100, " points") if found.unit else (1, "")
    low, high = (f"{scale * limit:+.3g}" for limit in stopping.interval)
    values = [f"{scale * (value or 0.0):.3g}{' %' if found.unit else ''}" for value in (found.other, found.baseline)]
    return (
        f"{claim} ({' against '.join(values)}; anytime-valid {100 * stopping.level:g} % confidence sequence of the "
        f"difference {low} to {high}{unit}; {stopping.extent}).{_finds(found, stopping)} {stopping.promise}"
    )


def _finds(found: PairedDifference, stopping: Stopping) -> str:
    """How large a difference must be for a set like this to show it, where it could not be told."""
    if stopping.side or found.detectable is None:
        return ""
    size = f"{100 * found.detectable:.3g} points" if found.unit else f"{found.detectable:.3g}"
    return f" Even a number of samples that was fixed before shows a difference of {size} in 80 % of cases only."
