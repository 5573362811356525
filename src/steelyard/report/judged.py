"""What pages show of judged scores beside their means: crosses of two, costs of stages, breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.report.numbers import MISSING, is_share, left_out_text, mean_text, score_title, value_text
from steelyard.report.pivots import cross_title
from steelyard.summary import Cross, RunSummary, ScoreSummary, StageCost


class GroupCell(NamedTuple):
    """The mean of one group and run, what it is over, and what it leaves out."""

    mean: str
    n: str
    left_out: str


GroupRows = list[tuple[str, list[GroupCell]]]
"""(group, a cell per run)."""


class CrossCell(NamedTuple):
    """A cell of a cross: what it is called, how many records it has, and their share."""

    name: str
    n: str
    share: str


@dataclass(frozen=True, slots=True)
class CrossView:
    """The table of two scores in one run, every number written out."""

    title: str
    run: str
    caption: str
    columns: tuple[str, str]
    rows: tuple[tuple[str, tuple[CrossCell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Every score by one key of the samples' metadata: (score's title, rows), the page's own score first."""

    title: str
    head: str
    tables: tuple[tuple[str, GroupRows], ...]


def cross_views(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[CrossView]:
    """The crosses of every run, pair by pair."""
    found = [(cross, label) for one, label in zip(summaries, labels, strict=True) for cross in one.crosses]
    pairs = dict.fromkeys((cross.rows_score, cross.columns_score) for cross, _ in found)
    return [
        _cross_view(cross, label)
        for pair in pairs
        for cross, label in found
        if (cross.rows_score, cross.columns_score) == pair
    ]


def _cross_view(cross: Cross, label: str) -> CrossView:
    cells = [
        CrossCell(name, f"{n:,}", value_text(n / cross.n, share=True) if cross.n else MISSING)
        for name, n in cross.cells
    ]
    left_out = f"; {cross.left_out:,} left out, as one of the two was not scored" if cross.left_out else ""
    caption = f"{label}: {cross.n:,} records{left_out}"
    rows = tuple((word, tuple(cells[2 * at : 2 * at + 2])) for at, word in enumerate(cross.rows_words))
    return CrossView(cross_title(cross), label, caption, cross.columns_words, rows)


def stage_rows(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[tuple[str, StageCost]]:
    """(run's label, stage) of every run in which a scorer asked a model; nothing where none did."""
    if not any(one.judged_stages for one in summaries):
        return []
    return [(label, stage) for label, one in zip(labels, summaries, strict=True) for stage in one.stages]


def breakdown_views(summaries: Sequence[RunSummary], score: str) -> list[Breakdown]:
    """A breakdown per key that any run has."""
    found = []
    for key in dict.fromkeys(key for one in summaries for key in one.breakdowns):
        scores = dict.fromkeys(name for one in summaries for name in one.breakdowns.get(key, {}))
        ordered = sorted(scores, key=lambda name: name != score)
        tables = tuple((score_title(name), group_rows(summaries, by_key(key, name))) for name in ordered)
        found.append(Breakdown(f"By {key.replace('_', ' ')}", key, tables))
    return found


def by_key(key: str, score: str) -> Callable[[RunSummary], Sequence[ScoreSummary]]:
    """Finds a score's summaries by the values of a key."""
    return lambda summary: summary.breakdowns.get(key, {}).get(score, ())


def group_rows(summaries: Sequence[RunSummary], groups_of: Callable[[RunSummary], Sequence[ScoreSummary]]) -> GroupRows:
    """A row per group that any run has, in order of first appearance."""
    of_runs = [{one.group: one for one in groups_of(summary)} for summary in summaries]
    names = dict.fromkeys(name for groups in of_runs for name in groups)
    return [(name, [_group_cell(groups.get(name)) for groups in of_runs]) for name in names]


def _group_cell(score: ScoreSummary | None) -> GroupCell:
    if score is None:
        return GroupCell(MISSING, "0", "")
    _, _, left_out = left_out_text(score).partition(", ")
    return GroupCell(mean_text(score.headline, share=is_share(score)), f"{score.headline.n:,}", left_out)
