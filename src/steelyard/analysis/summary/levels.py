"""Averages of a score by the levels of its groups: of each category over its subjects, and over all categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis.intervals import Intervals, Mean
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import ScoreColumns, Texts
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP, ScoreSummary
from steelyard.types import BETWEEN_LEVELS


@dataclass(frozen=True, slots=True)
class GroupLevel:
    """One score at one level of its groups.

    Args:
        level: its name: a column, `file` or `sheet`.
        score: over the run; its macro average gives each group of this level the same weight.
        groups: of each group of this level its micro average and, as `macro`, the mean over its groups of the finest
            level. Empty for the finest level, whose groups are the score's own.
    """

    level: str
    score: ScoreSummary
    groups: tuple[ScoreSummary, ...] = ()


def levels_in(manifest: Mapping[str, Any]) -> Sequence[str]:
    """The names of the levels of a run's groups, the coarsest first; empty where nobody named any.

    >>> levels_in({"samples": {"source": {"group_by": ["category", "subject"]}}}), levels_in({})
    (('category', 'subject'), ())
    """
    samples = manifest.get("samples")
    source = samples.get("source") if isinstance(samples, Mapping) else None
    levels = source.get("group_by", ()) if isinstance(source, Mapping) else ()
    return (levels,) if isinstance(levels, str) and levels else tuple(levels)


def group_levels(data: RunData) -> dict[str, tuple[GroupLevel, ...]]:
    """Score -> its levels, the coarsest first; empty for groups of fewer than two levels."""
    names, columns = levels_in(data.manifest), data.scores
    if len(names) < 2:
        return {}
    levels: dict[str, list[GroupLevel]] = {score: [] for score in columns.scores}
    for depth, name in enumerate(names, start=1):
        coarse = _cut(columns, depth)
        overall, groups = _summarize(data, coarse)
        is_finest = depth == len(names)
        macros = {} if is_finest else _macros(data, coarse)
        for score in overall:
            of_score = () if is_finest else groups.get(score.name, ())
            parts = (replace(part, macro=macros[part.group].get(score.name)) for part in of_score)
            levels[score.name].append(GroupLevel(name, score, tuple(parts)))
    return {score: tuple(of_score) for score, of_score in levels.items() if of_score}


def _macros(data: RunData, coarse: ScoreColumns) -> dict[str, dict[str, Mean | None]]:
    """Coarse group -> score -> its mean over the groups of the finest level in it."""
    macros = {}
    for code in np.unique(coarse.groups.codes).tolist():
        overall, _ = _summarize(data, data.scores.only(coarse.groups.codes == code))
        macros[coarse.groups.names[code] or NO_GROUP] = {score.name: score.macro for score in overall}
    return macros


def _cut(columns: ScoreColumns, depth: int) -> ScoreColumns:
    """The rows in groups of the first levels."""
    cut = Texts.of([BETWEEN_LEVELS.join(name.split(BETWEEN_LEVELS)[:depth]) for name in columns.groups.names])
    return replace(columns, groups=Texts(cut.names, cut.codes[columns.groups.codes]))


def _summarize(
    data: RunData, columns: ScoreColumns
) -> tuple[Sequence[ScoreSummary], Mapping[str, tuple[ScoreSummary, ...]]]:
    return summarize(columns, infos=data.score_infos, intervals=Intervals.of(data.manifest))
