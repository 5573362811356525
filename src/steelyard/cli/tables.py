"""Tables for a terminal of 80 columns; what a model or a file wrote is shown inert."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.gate import GateVerdict, RuleState
from steelyard.report.numbers import MISSING, interval_text, is_share, value_text
from steelyard.summary import RunSummary, ScoreSummary
from steelyard.text.inert import visible

_WIDTH: Final = 80
_GAP: Final = 2
_MOST_RULES: Final = 2
_STATES: Final[Mapping[RuleState, str]] = {
    "holds": "hold",
    "fails": "do not hold",
    "undecided": "cannot be decided",
    "broken": "say nothing, as their runs are not finished",
}
_NARROWEST: Final = 12
"""An elastic column is not made narrower than this: a terminal of fewer columns folds the lines."""


class _Console(Console):
    """A console that leaves it to the command what a closed pipe means."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console that interprets nothing in the text; 80 columns where there is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH
    return _Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False, width=width)


def print_json(value: Any) -> None:
    """`value` as JSON, on standard output."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")


def say(to: Console, text: str) -> None:
    """A sentence that may quote anything."""
    to.print(Text(visible(text)))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    elastic: int = 0,
    lines: int = 2,
) -> Table:
    """A plain table in which no number is ever cut.

    Args:
        columns: headers.
        rows: texts; the elastic cell may have a second part behind a line end, which keeps a line of its own.
        right: the columns that are numbers.
        elastic: the column that gives way when the lines are too long: its texts are folded, then cut in the middle.
        lines: that a text of it may take.
    """
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [
        max(cell_len(line) for text in (column, *(row[at] for row in cells)) for line in text.split("\n"))
        for at, column in enumerate(columns)
    ]
    room = max(_NARROWEST, console().width - sum(widths) + widths[elastic] - _GAP * len(columns))
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for at, column in enumerate(columns):
        width = min(widths[at], room) if at == elastic else widths[at]
        justify: Any = "right" if at in right else "left"
        made.add_column(column, justify=justify, overflow="fold", width=width, no_wrap=at != elastic)
    for row in cells:
        row[elastic] = _fitting(row[elastic], room, lines)
        made.add_row(*(Text(cell) for cell in row))
    return made


def _fitting(text: str, room: int, most: int) -> str:
    """A name on at most `most` lines; begin and end are kept, where names of a matrix differ."""
    name, end, rest = text.strip().partition("\n")
    lines: list[str] = []
    left = shortened(name, most * room)
    while left:
        line = set_cell_size(left, room).rstrip() if cell_len(left) > room else left
        word = max(line.rfind(" "), line.rfind("_")) + 1
        inside = line != left and left[len(line)] != " " and word > 0
        if inside and cell_len(left[word:]) <= room * (most - len(lines) - 1):
            line = left[:word].rstrip()  # between words where the rest still fits
        lines.append(line)
        left = left[len(line) :].lstrip()
    return "\n".join(lines) + end + rest


def shortened(name: str, most: int) -> str:
    """A name, cut in its middle where it takes more columns than so many."""
    if cell_len(name) <= most:
        return name
    half = (most - 2) // 2
    return f"{set_cell_size(name, half).rstrip()}…{set_cell_size(name[::-1], half).rstrip()[::-1]}"


def mean_cells(score: ScoreSummary) -> tuple[str, str]:
    """A score's headline and its interval, in the figures and the unit of pages and sentences."""
    share = is_share(score)
    return value_text(score.headline.value, share=share), interval_text(score.headline.interval, share=share)


def summary_table(summaries: Sequence[RunSummary]) -> Table:
    """One line per run: the headline with its interval, and beside it what could not be counted."""
    score = next((one.primary for one in summaries if one.primary), "score")
    rows = []
    for one in summaries:
        state = "" if one.state == "finished" else f"\n{one.state} {one.done}/{one.planned}"
        rows.append([one.run, one.target + state, *_score_cells(one)])
    columns = ["run", "target", score, "95 %", "n", "unread", "refused", "errors"]
    return table(columns, rows, right=(2, 4, 5, 6, 7), elastic=1)


def _score_cells(summary: RunSummary) -> list[str]:
    score = summary.score()
    if score is None:
        return [MISSING, "", "0", "0", "0", str(summary.errors)]
    counts = (score.headline.n, score.unparsed, score.refused, score.errors)
    return [*mean_cells(score), *(str(count) for count in counts)]


def print_gate(to: Console, verdict: GateVerdict) -> None:
    """A sentence per rule and run; where there are many, only of those that do not hold."""
    counts = Counter(one.state for one in verdict.results)
    shown = [one for one in verdict.results if one.state not in {"holds", "broken"}]
    if len(verdict.results) <= _MOST_RULES:
        shown = list(verdict.results)
    for one in shown[:_MOST_RULES]:
        say(to, f"gate: {one.sentence}")
        for note in one.notes:
            say(to, f"  note: {note}")
    if len(shown[:_MOST_RULES]) < len(verdict.results):
        words = ", ".join(f"{count} {_STATES[state]}" for state, count in sorted(counts.items()))
        say(to, f"gate: of {len(verdict.results)} rules {words}; --json has all")
