"""Preferences on a terminal: per pair a bar of shares, rates and the sentence; many pairs are lines of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.table import Table

from steelyard.cli.tables import console, say, shortened, table
from steelyard.compare.preferences_notes import shared_notes
from steelyard.compare.preferences_values import Preferences
from steelyard.compare.preferences_wording import p_percent, percent
from steelyard.compare.standings_values import Standings
from steelyard.report.numbers import MISSING, kind_text
from steelyard.report.preferences import Part, PreferenceView, preference_view
from steelyard.report.standings import standings_view
from steelyard.store import Run
from steelyard.summary import RunSummary, Stopping
from steelyard.text.inert import visible

_BAR: Final = 76
_NAME: Final = 24
_FILLS: Final = {"a": "█", "tie": "▒", "inconsistent": "░", "unread": "·", "refused": "·", "b": "▓"}
_MOST_IN_FULL: Final = 3
"""Pairs beyond this many are lines of a table: ten targets against each other still fit a screen or two."""
_SEQUENCES: Final = (
    "used: samples of a pair that --stop-when-decided may end early; its interval is a confidence sequence"
)
_MOST_IN_MATRIX: Final = 8
_MOST_GROUPS: Final = 12


def print_pairwise_runs(runs: Sequence[tuple[Run, RunSummary]]) -> None:
    """One line per run that answered, or judged answers: it has no mean of its own, and that is no fault."""
    rows = []
    for run, one in runs:
        reason = f": {run.reason}" if run.reason not in {"", one.state} else ""
        state = "" if one.state == "finished" else f"\n{one.state} {one.done}/{one.planned}{reason}"
        tokens = f"{one.input_tokens:,} / {one.output_tokens:,}"
        rows.append([one.run, one.target + state, f"{one.done - one.errors:,}", f"{one.errors:,}", tokens])
    to = console()
    to.print(table(["run", "target", "done", "errors", "tokens in / out"], rows, right=(2, 3, 4), elastic=1))
    for _, one in runs:
        if one.unparsed_kinds:
            kinds = ", ".join(f"{count} {kind_text(kind)}" for kind, count in one.unparsed_kinds.items())
            say(to, f"{one.target}: verdicts that could not be read: {kinds}")


def print_preferences(found: Sequence[Preferences], *, in_full: bool = False) -> None:
    """What was preferred, pair by pair.

    Args:
        found: one per judging run.
        in_full: with the groups of each pair.
    """
    to = console()
    if len(found) > _MOST_IN_FULL:
        _print_many(found)
        return
    for one in found:
        view = preference_view(one)
        to.print()
        say(to, f"{view.title}  (run {view.run}; {view.caption})")
        for line in bar_lines(view.parts):
            say(to, line)
        to.print(_rate_table(view))
        for line in _facts(view):
            say(to, line)
        if in_full and view.groups:
            to.print(_group_table(view))
        say(to, view.sentence)
        for warning in view.warnings:
            say(to, f"  note: {warning}")


def _print_many(found: Sequence[Preferences]) -> None:
    to = console()
    to.print()
    to.print(_pair_lines(found))
    if _any_stopping(found):
        say(to, f"({_SEQUENCES})")
    for note in shared_notes(found):
        say(to, f"  note: {note}")


def print_standings(found: Standings) -> None:
    """Who stands where, what cannot be told apart and, for few targets, who won how often against whom."""
    to = console()
    view = standings_view(found)
    to.print()
    rows = [
        [one.rank, one.target, one.elo, one.interval, one.win_rate, one.battles, one.wins, one.losses, one.even]
        for one in view.rows
    ]
    columns = ["rank", "target", "Elo", view.level, "win rate", "verdicts", "won", "lost", "even"]
    to.print(table(columns, rows, right=(2, 4, 5, 6, 7, 8), elastic=1))
    say(to, f"({view.caption})")
    if len(view.matrix) <= _MOST_IN_MATRIX:
        heads = [str(at) for at in range(1, len(view.matrix) + 1)]
        cells = [[f"{at}  {name}", *(share for share, _ in row)] for at, (name, row) in enumerate(view.matrix, start=1)]
        to.print()
        to.print(table(["won against", *heads], cells, right=range(1, len(heads) + 1), elastic=0))
    say(to, view.sentence)
    for text in view.sets:
        say(to, f"cannot be told apart: {text}")
    for note in view.notes:
        say(to, f"  note: {note}")


def bar_lines(parts: Sequence[Part], width: int = _BAR) -> Iterator[str]:
    """The shares as one bar and a key to it; a part that is there has one character at least."""
    if not any(part.share for part in parts):
        yield "no pair was judged"
        return
    yield "".join(_FILLS[part.kind] * length for part, length in zip(parts, _lengths(parts, width), strict=True))
    line = ""
    for part in parts:
        entry = f"{_FILLS[part.kind]} {part.name} {part.text} ({part.n})"
        if line and len(line) + len(entry) + 2 > width:
            yield line
            line = ""
        line = f"{line}  {entry}" if line else entry
    yield line


def _lengths(parts: Sequence[Part], width: int) -> list[int]:
    """Characters per part, `width` in all: the largest remainders get what rounding leaves."""
    least = [int(part.share > 0) for part in parts]
    room = width - sum(least)
    exact = [part.share * room for part in parts]
    lengths = [int(one) for one in exact]
    order = sorted(range(len(parts)), key=lambda at: lengths[at] - exact[at])
    for at in order[: room - sum(lengths)]:
        lengths[at] += 1
    return [one + more for one, more in zip(lengths, least, strict=True)]


def _rate_table(view: PreferenceView) -> Table:
    rows = [[one.name, one.value, one.interval, one.n, one.p] for one in view.rates]
    name = visible(view.first, keep="")
    head = f"of {shortened(name, _NAME)}"
    return table([head, "rate", view.interval_head, "n", "p"], rows, right=(1, 3, 4), elastic=0)


def _facts(view: PreferenceView) -> Iterator[str]:
    if view.note:
        yield f"({view.note})"
    yield from view.left_out
    yield from (f"{what}: {figure}" for what, figure in view.bias)


def _group_table(view: PreferenceView) -> Table:
    rows = [
        [one.group, one.a, one.tie, one.inconsistent, one.b, one.win, one.interval, one.p]
        for one in view.groups[:_MOST_GROUPS]
    ]
    if len(view.groups) > _MOST_GROUPS:
        rows.append([f"and {len(view.groups) - _MOST_GROUPS} more", *[""] * 7])
    return table(["category", "A", "tie", "inc.", "B", "win rate", "95 %", "p"], rows, right=(1, 2, 3, 4, 5, 7))


def _pair_lines(found: Sequence[Preferences]) -> Table:
    """A line per pair: the counts, the win rate of the first, its interval and p.

    A stopped run has an interval for the share with ties as half alone, so that share is shown for all where one is.
    """
    halves = _any_stopping(found)
    rows = []
    for one in found:
        tally, rate = one.tally, one.half if halves else one.win
        limits = (
            MISSING if rate.interval is None else f"{100 * rate.interval.low:.1f} to {100 * rate.interval.high:.1f}"
        )
        counts = [f"{n:,}" for n in (tally.a, tally.tie + tally.inconsistent, tally.b, tally.unread + tally.refused)]
        used = _extent(one.stopping) if one.stopping else "all"
        rows.append([one.title, *counts, percent(rate.value, 1), limits, used if halves else p_percent(one.p)])
    last = ("A, even as half", "95 %", "used") if halves else ("A wins", "95 %", "p")
    columns = ["A vs B", "A", "even", "B", "unread", *last]
    return table(columns, rows, right=(1, 2, 3, 4, 5, 7), elastic=0)


def _any_stopping(found: Sequence[Preferences]) -> bool:
    return any(one.stopping for one in found)


def _extent(stopping: Stopping) -> str:
    return f"{stopping.used:,} of {stopping.planned:,}"
