"""Preferences and standings as parts of a report in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from steelyard.compare.preferences_notes import shared_notes
from steelyard.compare.preferences_values import Preferences
from steelyard.report.preferences import Pairwise, PreferenceView, preference_views
from steelyard.report.standings import standings_view

_MOST_PAIRS: Final = 12
_MOST_GROUPS: Final = 12
_MOST_WARNINGS: Final = 4

Cell = Callable[[str, int], str]
"""A text, and how long it may get -> inert and cut."""


def preference_parts(pairwise: Pairwise, cell: Cell) -> list[list[str]]:
    """Standings, then a table of all pairs, what warns of believing it, the places, and the groups of each pair."""
    if not pairwise.preferences:
        return []
    views = preference_views(pairwise.preferences)
    return [
        _standings(pairwise, cell),
        _pairs(pairwise.preferences, views, cell),
        _warnings(pairwise.preferences, views, cell),
        _places(views, cell),
        *(_groups(view, cell) for view in views if view.groups),
    ]


def _standings(pairwise: Pairwise, cell: Cell) -> list[str]:
    if pairwise.standings is None:
        return []
    view = standings_view(pairwise.standings)
    lines = _table(
        ["rank", "target", f"Elo ({view.level} interval)", "win rate", "verdicts"],
        [
            [one.rank, cell(one.target, 40), f"**{one.elo}** ({one.interval})", one.win_rate, one.battles]
            for one in view.rows[:_MOST_PAIRS]
        ],
        left=2,
    )
    apart = [f"- cannot be told apart: {cell(text, 200)}" for text in view.sets[:_MOST_WARNINGS]]
    return [*lines, "", *apart] if apart else lines


def _pairs(found: Sequence[Preferences], views: Sequence[PreferenceView], cell: Cell) -> list[str]:
    """A line per pair: the counts, the win rate of A with its interval, p.

    A stopped run has an interval for the share with ties as half alone, so that share is shown for all where one is.
    """
    halves = any(one.stopping for one in found)
    rows = []
    for one, view in list(zip(found, views, strict=True))[:_MOST_PAIRS]:
        tally = one.tally
        rate = view.rates[int(halves)]
        counts = (tally.a, tally.tie, tally.inconsistent, tally.b, tally.unread + tally.refused, tally.failed)
        used = f"{one.stopping.used:,} of {one.stopping.planned:,}" if one.stopping else "all"
        last = used if halves else rate.p
        rows.append([cell(view.title, 60), *(f"{n:,}" for n in counts), f"**{rate.value}** ({rate.interval})", last])
    head = ["A vs B", "A", "tie", "inconsistent", "B", "unread", "not judged"]
    head += (
        ["A, even as half (95 % confidence sequence)", "samples used"] if halves else ["A wins (95 % interval)", "p"]
    )
    lines = _table(head, rows, left=1)
    if len(views) > _MOST_PAIRS:
        lines.append(_line([f"and {len(views) - _MOST_PAIRS} more", *[""] * (len(head) - 1)]))
    return lines


def _warnings(found: Sequence[Preferences], views: Sequence[PreferenceView], cell: Cell) -> list[str]:
    texts = [f"- ⚠️ {cell(text, 260)}" for text in (views[0].warnings if len(views) == 1 else shared_notes(found))]
    more = [f"- and {len(texts) - _MOST_WARNINGS} more warnings"] if len(texts) > _MOST_WARNINGS else []
    return texts[:_MOST_WARNINGS] + more


def _places(views: Sequence[PreferenceView], cell: Cell) -> list[str]:
    lines = []
    for view in views[:_MOST_WARNINGS]:
        if view.bias:
            told = "; ".join(f"{what} {figure}" for what, figure in view.bias)
            lines.append(f"- places, {cell(view.title, 60)}: {cell(told, 260)}")
    return lines


def _groups(view: PreferenceView, cell: Cell) -> list[str]:
    rows = [
        [cell(one.group, 30), one.a, one.tie, one.inconsistent, one.b, f"{one.win} ({one.interval})", one.p]
        for one in view.groups[:_MOST_GROUPS]
    ]
    if len(view.groups) > _MOST_GROUPS:
        rows.append([f"and {len(view.groups) - _MOST_GROUPS} more", *[""] * 6])
    head = ["group", "A", "tie", "inconsistent", "B", "A wins (95 % interval)", "p"]
    title = f"{cell(view.title, 60)} per group"
    return ["<details>", f"<summary>{title}</summary>", "", *_table(head, rows, left=1), "", "</details>"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int) -> list[str]:
    rules = ["---" if place < left else "---:" for place in range(len(head))]
    return [_line(head), _line(rules), *(_line(row) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
