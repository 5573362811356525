"""Runs -> Comparison: pairing by sample id, statistics of the difference, and a verdict in a sentence.

compare(baseline, other, ...)
  pairing       which samples make a pair, what is left out, what a reader must be warned of
  differences   two vectors -> difference, interval, test, verdict
  wording       the sentence
  comparison    the values that come out
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from steelyard.compare.comparison import ComparableRun, Comparison, PairComparison, PairedDifference, Table, Verdict
from steelyard.compare.pairing import compare_pair, read_side
from steelyard.errors import ConfigError, did_you_mean
from steelyard.summary import RunSummary

__all__ = [
    "ComparableRun",
    "Comparison",
    "PairComparison",
    "PairedDifference",
    "Table",
    "Verdict",
    "compare",
]


def compare(*runs: ComparableRun, score: str | None = None, level: float = 0.95) -> Comparison:
    """Every run against the first, over the samples they share.

    The headline compares what the score's headline counts: by default an unread or refused reply as not solved.
    Repeats of a sample are averaged. A sample that failed on either side is left out and counted.

    Args:
        runs: at least two; the first is the baseline.
        score: what is compared; None is the baseline's primary score.
        level: confidence level of the intervals in (0, 1); a verdict needs p < 1 - level.

    Raises:
        ConfigError: fewer than two runs, or a run without that score.
    """
    if len(runs) < 2:
        raise ConfigError(f"a comparison needs two runs or more, not {len(runs)}")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    summaries = [run.summary() for run in runs]
    name = score or summaries[0].primary
    for summary in summaries:
        _check_score(summary, name)
    found = summaries[0].score(name)
    over = found.over if found else "all"
    first, *rest = (read_side(run, summary, name) for run, summary in zip(runs, summaries, strict=True))
    scaled = any(one.scale for summary in summaries if (one := summary.score(name)))
    pairs = tuple(compare_pair(first, other, score=name, over=over, level=level, scaled=scaled) for other in rest)
    return Comparison(summaries[0], tuple(summaries[1:]), name, pairs, _notes(pairs), _group_notes(pairs))


def _check_score(summary: RunSummary, name: str) -> None:
    known = [score.name for score in summary.scores]
    if not known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no scores, so there is nothing to compare")
    if name not in known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no score {name!r}{did_you_mean(name, known)}")


def _notes(pairs: tuple[PairComparison, ...]) -> tuple[str, ...]:
    if len(pairs) < 2:
        return ()
    return (f"{len(pairs)} runs are compared with one baseline; the p-values are not corrected for that.",)


def _group_notes(pairs: tuple[PairComparison, ...]) -> tuple[str, ...]:
    groups = max(len(pair.groups) for pair in pairs)
    note = (
        f"The p-values of the {groups} groups are not corrected for looking at {groups}: use them to find "
        "where to look, not as evidence."
    )
    return (note,) if groups > 1 else ()


class _CallableModule(ModuleType):
    """`from steelyard import compare` must be the function, though an import of this package sets the name to it."""

    def __call__(self, *runs: ComparableRun, **options: Any) -> Comparison:
        return compare(*runs, **options)


sys.modules[__name__].__class__ = _CallableModule
