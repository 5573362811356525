"""The section of standings: a rank and a rating for every target that judging runs compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from steelyard.analysis.numbers import MISSING, count_text, level_text, percent_text, rank_text, rating_limits
from steelyard.analysis.preferences.standings import Standing, Standings
from steelyard.report.charts.chart import MatrixChart, RowChart, interval_point
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    text_row,
)

_LEFT_OUT: Final = {
    "no_answer": "without an answer of a side",
    "unparsed": "unreadable",
    "refused": "refused by the judge",
    "not_applicable": "not applicable",
    "errors": "failed",
}
_MOST_IN_MATRIX: Final = 8
"""A matrix of at most so many targets fits on a terminal."""
_ROUND: Final = 20
"""Elo points to which the axis of ratings is rounded."""


def standings_section(standings: Standings | None) -> Section:
    """Ranks, ratings, targets that cannot be told apart, and win rates of each pair; empty without standings."""
    if standings is None:
        return Section("Standings", key="standings")
    undistinguished = [", ".join(names) for names in standings.sets if len(names) > 1]
    table = Section(
        "",
        _table(standings),
        notes=(
            Sentence(_caption(standings)),
            *(Sentence(text, "fact", "cannot be told apart") for text in undistinguished),
        ),
        chart=rating_chart(standings.standings) if standings.standings else None,
    )
    chart = win_matrix_chart(standings.targets, standings.win_matrix) if standings.standings else None
    return Section(
        "Standings",
        parts=[table, Section("", chart=chart), _matrix(standings)],
        key="standings",
    )


def _caption(standings: Standings) -> str:
    left_out = [f"{n:,} {_LEFT_OUT.get(why, why)}" for why, n in standings.left_out.items() if n]
    omitted = f"; left out: {', '.join(left_out)}" if left_out else ""
    return (
        f"{count_text(standings.battles, 'verdict')} on {count_text(standings.clusters, 'independent sample')}{omitted}"
    )


def _table(standings: Standings) -> SectionTable:
    columns = columns_of(
        *("target", "Elo", f"{level_text(standings.level)} CI", TableColumn("rating", level="page")),
        *("win rate", "verdicts", "won", "lost", "even", TableColumn("no answer", level="page")),
        before=("rank",),
    )
    return SectionTable(columns, tuple(_row(standing) for standing in standings.standings))


def _row(standing: Standing) -> tuple[TableCell, ...]:
    even = standing.ties + standing.inconsistent
    counts = (standing.battles, standing.wins, standing.losses, even, standing.unanswered)
    return (
        *text_row(rank_text(standing.rank_best, standing.rank_worst), standing.target),
        TableCell(f"{standing.elo:.0f}", strong=True, value=standing.elo),
        *text_row(rating_limits(standing.elo_interval), f"{standing.rating:+.2f}"),
        TableCell(percent_text(standing.win_rate), value=standing.win_rate),
        *text_row(*(f"{n:,}" for n in counts)),
    )


def _matrix(standings: Standings) -> Section:
    """The share that each row won against each column; the headings are the rows' numbers."""
    numbers = [TableColumn(str(number)) for number in range(1, len(standings.standings) + 1)]
    rows = tuple(
        (
            TableCell(f"{number}  {standing.target}"),
            *(_win_share_cell(share, n) for share, n in zip(shares, counts, strict=True)),
        )
        for number, (standing, shares, counts) in enumerate(
            zip(standings.standings, standings.win_matrix, standings.battle_matrix, strict=True), start=1
        )
    )
    caption = "Share that the row won against the column, ties and disagreements as half, and of how many verdicts"
    table = SectionTable((TableColumn("won against", "name"), *numbers), rows, caption)
    level: Level = "essential" if len(rows) <= _MOST_IN_MATRIX else "page"
    return Section("Who won how often against whom", table, folded=True, level=level)


def _win_share_cell(share: float | None, n: int) -> TableCell:
    if share is None:
        return TableCell(MISSING)
    return TableCell(percent_text(share, 0), (f"{n:,}",), value=share)


def rating_chart(standings: Sequence[Standing]) -> RowChart:
    """Ratings on the Elo scale with their intervals, in order of rank; each name begins with the range of its rank."""
    names = [f"{rank_text(standing.rank_best, standing.rank_worst)}  {standing.target}" for standing in standings]
    points = tuple(
        interval_point(at, 0, (standing.elo, standing.elo_interval), f"{standing.elo:.0f}", factor=1)
        for at, standing in enumerate(standings)
    )
    words = "; ".join(
        f"{name}: {standing.elo:.0f}" + (f" ({rating_limits(standing.elo_interval)})" if standing.elo_interval else "")
        for name, standing in zip(names, standings, strict=True)
    )
    ends = [end for point in points for end in (point.value, point.low, point.high) if end is not None]
    # The usual round ends would leave labels of four digits no space on a telephone.
    domain = (_ROUND * math.floor(min(ends) / _ROUND), _ROUND * math.ceil(max(ends) / _ROUND + 0.01))
    return RowChart("Rank and Elo rating, 95 % CI", words, tuple(names), points, domain=domain)


def win_matrix_chart(names: Sequence[str], shares: Sequence[Sequence[float | None]]) -> MatrixChart:
    """How often each row was preferred to each column, in percent, ties as half.

    Args:
        names: of the targets, rows from the top and columns from the left.
        shares: per row its share in [0, 1] against every column; None where they were not compared.
    """
    values = tuple(tuple(None if share is None else 100 * share for share in row) for row in shares)
    words = "; ".join(
        f"{name}: " + ", ".join(MISSING if value is None else f"{value:.0f}" for value in row)
        for name, row in zip(names, values, strict=True)
    )
    return MatrixChart("Share of the row against the column, in %", words, tuple(names), values)
