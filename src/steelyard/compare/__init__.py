"""Runs -> Comparison: pairing of samples, statistics of the differences, and a verdict in a sentence.

compare(baseline, other, ...)
  answers       one run's scores, sample by sample
  alignment     which samples make a pair: by id, by content, by a key
  pairing       what a pair of runs shows, score by score and group by group
  differences   two vectors -> difference, interval, test
  looks         p-values corrected for those beside them
  cautions      what a reader must be warned of
  costs         time, calls and tokens
  shared        samples for which both sides hold the same reply
  separate      rates over samples that nobody shares
  stopped       what a decision that ended both runs says in place of a test
  wording       the sentence
  comparison    the values that come out

A judging run is read by `preferences` and several of them by `standings`; each names its own parts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from steelyard.compare.alignment import Side, align
from steelyard.compare.comparison import (
    ComparableRun,
    Comparison,
    PairComparison,
    PairedDifference,
    ScoreDifference,
    Table,
    Verdict,
)
from steelyard.compare.costs import CostDifference
from steelyard.compare.looks import group_notes, over_runs, over_scores, run_notes, score_notes
from steelyard.compare.pairing import Meeting, ScoreKind, compare_pair, meet
from steelyard.compare.wording import labels
from steelyard.errors import ConfigError, did_you_mean
from steelyard.summary import RunSummary

__all__ = [
    "ComparableRun",
    "Comparison",
    "CostDifference",
    "PairComparison",
    "PairedDifference",
    "ScoreDifference",
    "Table",
    "Verdict",
    "compare",
]


def compare(
    *runs: ComparableRun,
    score: str | None = None,
    level: float = 0.95,
    align_by: str = "",
    groups: Sequence[str] = (),
    summaries: Sequence[RunSummary] = (),
) -> Comparison:
    """Every run against the first, over the samples they share.

    The headline compares what the score's headline counts: by default an unread or refused reply as not solved.
    Repeats of a sample are averaged. A sample that failed on either side is left out and counted. The other scores
    that both runs have are compared likewise, and so is what the runs took.

    Args:
        runs: at least two; the first is the baseline.
        score: what is compared in full; None is the baseline's primary score.
        level: confidence level of the intervals in (0, 1); a verdict needs p < 1 - level, corrected after Holm where
            several runs are compared with the first.
        align_by: what makes two samples a pair: `id`, `content`, a key of their metadata, or "" for ids, and content
            where hardly any id is shared.
        groups: only samples of these groups; none for all.
        summaries: of the runs, where the caller has them already.

    Raises:
        ConfigError: fewer than two runs, a run without that score, no such group, or a key that is not in the samples
            or does not tell them apart.
    """
    if len(runs) < 2:
        raise ConfigError(f"a comparison needs two runs or more, not {len(runs)}")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    summaries = tuple(summaries) or tuple(run.summary() for run in runs)
    name = score or summaries[0].primary
    for summary in summaries:
        _check_score(summary, name)
        _check_groups(summary, name, groups)
    first, *rest = (Side.of(run, summary, groups) for run, summary in zip(runs, summaries, strict=True))
    meetings = _corrected([_meeting(first, other, name, align_by, level) for other in rest], level)
    pairs = tuple(compare_pair(one, _kind(name, summaries), level=level) for one in meetings)
    return Comparison(
        summaries[0],
        summaries[1:],
        name,
        pairs,
        (*_subset_notes(groups), *run_notes(pairs)),
        group_notes(pairs),
        score_notes(pairs),
        tuple(groups),
    )


def _meeting(first: Side, other: Side, name: str, align_by: str, level: float) -> Meeting:
    both = (first.summary, other.summary)
    own = [one.name for one in both[0].own_scores if one.name != name]
    shared = [one for one in own if both[1].score(one) is not None]
    kinds = [_kind(one, both) for one in (name, *shared)]
    return meet(first, other, align(first, other, align_by, labels(first.run, other.run)), kinds, level)


def _corrected(meetings: Sequence[Meeting], level: float) -> list[Meeting]:
    headlines = over_runs([one.headline for one in meetings])
    scores = over_scores([one.scores for one in meetings], level)
    found = zip(meetings, headlines, scores, strict=True)
    return [replace(one, headline=headline, scores=several) for one, headline, several in found]


def _kind(name: str, summaries: Sequence[RunSummary]) -> ScoreKind:
    """What is known of a score; its headline is what the first run says."""
    found = [one for summary in summaries if (one := summary.score(name)) is not None]
    return ScoreKind(name, found[0].over if found else "all", any(one.scale for one in found))


def _check_groups(summary: RunSummary, name: str, groups: Sequence[str]) -> None:
    known = [one.group for one in summary.groups.get(name, ())]
    for group in groups:
        if group not in known:
            hint = did_you_mean(group, known) if known else ": it has no groups"
            raise ConfigError(f"run {summary.run} ({summary.target}) has no group {group!r}{hint}")


def _subset_notes(groups: Sequence[str]) -> tuple[str, ...]:
    return (f"Only samples of {' and '.join(groups)} are compared.",) if groups else ()


def _check_score(summary: RunSummary, name: str) -> None:
    known = [score.name for score in summary.scores]
    if not known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no scores, so there is nothing to compare")
    if name not in known:
        raise ConfigError(f"run {summary.run} ({summary.target}) has no score {name!r}{did_you_mean(name, known)}")


class _CallableModule(ModuleType):
    """`from steelyard import compare` must be the function, though an import of this package sets the name to it."""

    def __call__(self, *runs: ComparableRun, **options: Any) -> Comparison:
        return compare(*runs, **options)


sys.modules[__name__].__class__ = _CallableModule
