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
from steelyard.report.numbers import run_labels
from steelyard.report.pivots import label_pivots
from steelyard.stats.intervals import Interval
from steelyard.summary import Mean, RunSummary, ScoreSummary
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
_MOST_COLUMNS: Final = 3
_COLUMN: Final = 18
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
    lines, left = [], name if cell_len(name) <= most * room else _shortened(name, most * room)
    while left:
        line = set_cell_size(left, room).rstrip() if cell_len(left) > room else left
        lines.append(line)
        left = left[len(line) :].lstrip()
    return "\n".join(lines) + end + rest


def _shortened(name: str, most: int) -> str:
    half = (most - 2) // 2
    return f"{set_cell_size(name, half).rstrip()}…{set_cell_size(name[::-1], half).rstrip()[::-1]}"


def percent(value: float | None) -> str:
    """A share as per cent with one decimal."""
    return "-" if value is None else f"{100 * value:.1f} %"


def span(interval: Interval | None) -> str:
    """An interval of shares."""
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def number(mean: Mean, *, binary: bool) -> tuple[str, str]:
    """A mean and its interval, as shares where the score is one."""
    if binary:
        return percent(mean.value), span(mean.interval)
    shown = "-" if mean.value is None else f"{mean.value:.3f}"
    return shown, "" if mean.interval is None else f"{mean.interval.low:.3f} to {mean.interval.high:.3f}"


def summary_table(summaries: Sequence[RunSummary], *, names: Sequence[str] = ()) -> Table:
    """One line per run: the headline with its interval, and beside it what could not be counted.

    Args:
        summaries: one per run.
        names: what the lines are called; by default their targets.
    """
    score = next((one.primary for one in summaries if one.primary), "score")
    rows = []
    for name, one in zip(names or [one.target for one in summaries], summaries, strict=True):
        state = "" if one.state == "finished" else f"\n{one.state} {one.done}/{one.planned}"
        rows.append([one.run, name + state, *_score_cells(one.score()), str(one.errors)])
    columns = ["run", "target", score, "95 %", "n", "unread", "refused", "errors"]
    return table(columns, rows, right=(2, 4, 5, 6, 7), elastic=1)


def _score_cells(score: ScoreSummary | None) -> list[str]:
    if score is None:
        return ["-", "", "0", "0", "0"]
    value, interval = number(score.headline, binary=score.binary)
    return [value, interval, str(score.headline.n), str(score.unparsed), str(score.refused)]


def group_table(summary: RunSummary) -> Table | None:
    """The headline by category."""
    groups = summary.groups.get(summary.primary, ())
    if not groups:
        return None
    rows = []
    for one in groups:
        value, interval = number(one.headline, binary=one.binary)
        counts = [one.headline.n, one.unparsed, one.refused, one.errors]
        rows.append([one.group, value, interval, *(str(count) for count in counts)])
    columns = ["category", summary.primary, "95 %", "n", "unread", "refused", "errors"]
    return table(columns, rows, right=(1, 3, 4, 5, 6))


def label_tables(summaries: Sequence[RunSummary]) -> list[Table]:
    """Per score whose verdicts have names: how often each was given and its share, a column per run.

    Of more runs than fit, the first.
    """
    shown = summaries[:_MOST_COLUMNS]
    names = [_shortened(one, _COLUMN) if cell_len(one) > _COLUMN else one for one in run_labels(shown)]
    return [
        table(
            [pivot.score, *names],
            [
                [label, *(f"{cell.main} ({cell.beside})" if cell.beside else cell.main for cell in cells)]
                for label, cells in pivot.rows
            ],
            right=range(1, len(names) + 1),
        )
        for pivot in label_pivots(shown)
    ]


def print_gate(to: Console, verdict: GateVerdict) -> None:
    """A sentence per rule and run; where there are many, only of those that do not hold."""
    counts = Counter(one.state for one in verdict.results)
    shown = [one for one in verdict.results if one.state not in {"holds", "broken"}]
    if len(verdict.results) <= _MOST_RULES:
        shown = list(verdict.results)
    for one in shown[:_MOST_RULES]:
        say(to, f"gate: {one.sentence}")
    if len(shown[:_MOST_RULES]) < len(verdict.results):
        words = ", ".join(f"{count} {_STATES[state]}" for state, count in sorted(counts.items()))
        say(to, f"gate: of {len(verdict.results)} rules {words}; --json has all")
