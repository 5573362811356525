"""Standings as rows of text: one wording of every number for terminal, Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from steelyard.compare.standings_values import Standing, Standings
from steelyard.report.charts import WIDTH
from steelyard.report.numbers import MISSING, counted
from steelyard.report.preference_charts import rank_text, rating_chart, win_matrix_chart
from steelyard.stats.intervals import Interval

if TYPE_CHECKING:
    import altair as alt

_WORDS: Final = {
    "no_answer": "without an answer of a side",
    "unread": "unread",
    "refused": "refused by the judge",
    "not_applicable": "with nothing to go by",
    "errors": "failed",
}


class StandingRow(NamedTuple):
    """One target's place."""

    rank: str
    target: str
    rating: str
    elo: str
    interval: str
    win_rate: str
    battles: str
    wins: str
    losses: str
    even: str
    unanswered: str


@dataclass(frozen=True, slots=True)
class StandingsView:
    """Every number written out.

    Args:
        sentence: who leads.
        caption: what it rests on.
        rows: in order.
        level: of the intervals.
        sets: targets of which no two can be told apart, a line each; a set of one is left out.
        matrix: per row its target and, against every target in order, the share that it won and of how many.
        notes: one sentence each.
    """

    sentence: str
    caption: str
    rows: tuple[StandingRow, ...]
    level: str
    sets: tuple[str, ...]
    matrix: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    notes: tuple[str, ...]


def standings_view(found: Standings) -> StandingsView:
    """The texts of the standings."""
    left_out = [f"{n:,} {_WORDS.get(why, why)}" for why, n in found.left_out.items() if n]
    rest = f"; left out: {', '.join(left_out)}" if left_out else ""
    matrix = tuple(
        (one.target, tuple(_met(share, n) for share, n in zip(shares, counts, strict=True)))
        for one, shares, counts in zip(found.standings, found.win_matrix, found.battle_matrix, strict=True)
    )
    return StandingsView(
        sentence=found.sentence,
        caption=f"{counted(found.battles, 'verdict')} on {counted(found.clusters, 'independent sample')}{rest}",
        rows=tuple(_row(one) for one in found.standings),
        level=f"{100 * found.level:g} %",
        sets=tuple(", ".join(one) for one in found.sets if len(one) > 1),
        matrix=matrix,
        notes=found.notes,
    )


def standings_charts(found: Standings | None, *, width: int = WIDTH) -> list[alt.LayerChart]:
    """Ratings with their ranges, and who won how often against whom; nothing without standings."""
    if found is None or not found.standings:
        return []
    several = found.standings
    ranks = [(one.rank_best, one.rank_worst) for one in several]
    elo, intervals = [one.elo for one in several], [one.elo_interval for one in several]
    return [
        rating_chart(found.targets, elo, intervals, ranks=ranks, width=width),
        win_matrix_chart(found.targets, found.win_matrix, width=width),
    ]


def _row(one: Standing) -> StandingRow:
    return StandingRow(
        rank=rank_text(one.rank_best, one.rank_worst),
        target=one.target,
        rating=f"{one.rating:+.2f}",
        elo=f"{one.elo:.0f}",
        interval=_limits(one.elo_interval),
        win_rate=MISSING if one.win_rate is None else f"{100 * one.win_rate:.1f} %",
        battles=f"{one.battles:,}",
        wins=f"{one.wins:,}",
        losses=f"{one.losses:,}",
        even=f"{one.ties + one.inconsistent:,}",
        unanswered=f"{one.unanswered:,}",
    )


def _limits(interval: Interval | None) -> str:
    return MISSING if interval is None else f"{interval.low:.0f} to {interval.high:.0f}"


def _met(share: float | None, n: int) -> tuple[str, str]:
    return (MISSING, "") if share is None else (f"{100 * share:.0f} %", f"{n:,}")
