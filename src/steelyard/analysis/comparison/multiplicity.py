"""Multiplicity: p-values of several tests on the same data, corrected for each other.

Runs against one baseline      Holm: the chance of any false difference stays below 1 - level; the verdicts use it
all pairs of several runs      Holm over all of them, likewise
groups of a pair               Benjamini-Hochberg: a share of what is called a difference may be false
further scores                 the same, over all such scores of all runs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from steelyard.analysis.comparison.comparison_values import PairComparison, PairedDifference, RunPair, ScoreDifference
from steelyard.analysis.comparison.differences import adjusted, verdict_of
from steelyard.analysis.numbers import count_text
from steelyard.stats.multiplicity import benjamini_hochberg, holm

_MOST_NAMED: Final = 4

Correction = Callable[[Sequence[float]], list[float]]


def adjust_runs(headlines: Sequence[PairedDifference]) -> list[PairedDifference]:
    """Correct the headline p-values of several runs after Holm; a single one is left as it is."""
    return _corrected(headlines, holm, "Holm", "runs")


def adjust_pairs(headlines: Sequence[PairedDifference]) -> list[PairedDifference]:
    """Correct the headline p-values of all pairs of runs after Holm; a single one is left as it is."""
    return _corrected(headlines, holm, "Holm", "pairs")


def adjust_groups(groups: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    """Correct the p-values of a pair's groups after Benjamini and Hochberg."""
    return tuple(_corrected(groups, benjamini_hochberg, "Benjamini-Hochberg", "groups"))


def adjust_scores(runs: Sequence[Sequence[ScoreDifference]], level: float) -> list[tuple[ScoreDifference, ...]]:
    """Correct the p-values of the further scores of all runs together, and set their verdicts."""
    differences = [score.difference for scores in runs for score in scores]
    corrected = iter(_corrected(differences, benjamini_hochberg, "Benjamini-Hochberg", "differences"))
    return [
        tuple(
            replace(score, difference=difference, verdict=verdict_of(difference, level))
            for score, difference in zip(scores, islice(corrected, len(scores)), strict=True)
        )
        for scores in runs
    ]


def _corrected(
    differences: Sequence[PairedDifference], correct: Correction, name: str, noun: str
) -> list[PairedDifference]:
    """Correct all p-values for their number; a single one is left as it is."""
    tested = [difference.p for difference in differences if difference.p is not None]
    if len(tested) < 2:
        return list(differences)
    corrected = iter(correct(tested))
    how = f"{name} over {len(tested)} {noun}"
    return [
        difference if difference.p is None else adjusted(difference, next(corrected), how) for difference in differences
    ]


def run_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """How p-values are corrected where several runs are compared with one baseline; empty for one."""
    if len(pairs) < 2:
        return ()
    return (f"p-values are adjusted because {len(pairs)} runs are compared with one baseline (Holm).",)


def all_pairs_note(pairs: Sequence[RunPair]) -> str:
    """How many of all pairs differ, how p-values are corrected, and of how many pairs nothing can be concluded."""
    differ = [pair for pair in pairs if pair.verdict in {"better", "worse"}]
    named = ", ".join(_order_of(pair) for pair in differ[:_MOST_NAMED])
    more = f" and {len(differ) - _MOST_NAMED} more" if len(differ) > _MOST_NAMED else ""
    corrected = f" (p after Holm's correction for {len(pairs)} pairs)" if len(pairs) > 1 else ""
    summary = (
        f"{len(differ)} of {count_text(len(pairs), 'pair')} differ{corrected}{f': {named}{more}' if differ else ''}."
    )
    unknown = sum(pair.verdict == "inconclusive" for pair in pairs)
    if not unknown:
        return summary
    remark = "1 is inconclusive: nothing can be concluded about it"
    if unknown > 1:
        remark = f"{unknown:,} are inconclusive: nothing can be concluded about these"
    return f"{summary} {remark}."


def _order_of(pair: RunPair) -> str:
    names = (pair.other_target, pair.baseline_target)
    if names[0] == names[1]:
        names = (pair.other, pair.baseline)
    return f"{names[0]} is {pair.verdict} than {names[1]}"


def score_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """How the p-values of further scores are corrected; empty for fewer than two."""
    tests = sum(score.difference.p is not None for pair in pairs for score in pair.further.scores)
    note = (
        f"The p-values of the {tests} differences on further scores are corrected after Benjamini and Hochberg: "
        "a few of those called a difference may be false."
    )
    return (note,) if tests > 1 else ()


def group_notes(pairs: Sequence[PairComparison]) -> tuple[str, ...]:
    """How the p-values of groups are corrected; empty for fewer than two."""
    groups = max((len(pair.further.groups) for pair in pairs), default=0)
    note = (
        f"The p-values of the {groups} groups are corrected for {groups} tests after Benjamini and Hochberg: "
        "treat group results as hints, not proof."
    )
    return (note,) if groups > 1 else ()
