"""Several looks at the same data: the p-values that stand beside each other, corrected for each other.

Runs against one baseline      Holm: the chance of any false difference stays below 1 - level; the verdicts use it
groups of a pair               Benjamini-Hochberg: a share of what is called a difference may be false
scores beside the headline     the same, over all such scores of all runs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from steelyard.compare.comparison import PairComparison, PairedDifference, ScoreDifference
from steelyard.compare.differences import adjusted, verdict_of
from steelyard.stats.multiplicity import benjamini_hochberg, holm

Correction = Callable[[Sequence[float]], list[float]]


def over_runs(headlines: Sequence[PairedDifference]) -> list[PairedDifference]:
    """The headline of every run against the baseline, corrected after Holm; one alone needs no correction."""
    return _corrected(headlines, holm, "Holm", "runs")


def over_groups(groups: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    """The groups of a pair, corrected after Benjamini and Hochberg."""
    return tuple(_corrected(groups, benjamini_hochberg, "Benjamini-Hochberg", "groups"))


def over_scores(runs: Sequence[Sequence[ScoreDifference]], level: float) -> list[tuple[ScoreDifference, ...]]:
    """The further scores of all runs together, corrected after Benjamini and Hochberg, with their verdicts."""
    every = [one.difference for scores in runs for one in scores]
    corrected = iter(_corrected(every, benjamini_hochberg, "Benjamini-Hochberg", "differences"))
    return [
        tuple(
            replace(one, difference=difference, verdict=verdict_of(difference, level))
            for one, difference in zip(scores, islice(corrected, len(scores)), strict=True)
        )
        for scores in runs
    ]


def _corrected(
    differences: Sequence[PairedDifference], correct: Correction, name: str, of: str
) -> list[PairedDifference]:
    """Those with a p-value, corrected for how many they are; unchanged where that is one."""
    tested = [one.p for one in differences if one.p is not None]
    if len(tested) < 2:
        return list(differences)
    corrected = iter(correct(tested))
    how = f"{name} over {len(tested)} {of}"
    return [one if one.p is None else adjusted(one, next(corrected), how) for one in differences]


def run_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """What holds for all pairs together."""
    if len(pairs) < 2:
        return ()
    return (f"{len(pairs)} runs are compared with one baseline: verdicts use p after Holm's correction.",)


def score_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """What belongs beside the further scores."""
    tests = sum(one.difference.p is not None for pair in pairs for one in pair.scores)
    note = (
        f"The p-values of the {tests} differences on further scores are corrected after Benjamini and Hochberg: "
        "of those called a difference, a few may be none."
    )
    return (note,) if tests > 1 else ()


def group_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """What belongs beside the groups."""
    groups = max((len(pair.groups) for pair in pairs), default=0)
    note = (
        f"The p-values of the {groups} groups are corrected for looking at {groups} after Benjamini and Hochberg: "
        "use them to find where to look, not as evidence."
    )
    return (note,) if groups > 1 else ()
