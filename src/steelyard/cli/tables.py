"""Tables for a terminal of 80 columns; what a model or a file wrote is shown inert."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.gate import GateVerdict
from steelyard.stats.intervals import Interval
from steelyard.summary import Mean, RunSummary, ScoreSummary
from steelyard.text.inert import visible


def console(*, stderr: bool = False) -> Console:
    """A console that interprets nothing in the text; 80 columns where there is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 80
    return Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False, width=width)


def print_json(value: Any) -> None:
    """`value` as JSON, on standard output."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> Table:
    """A plain table; the columns of `right` are numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for at, column in enumerate(columns):
        first = at == 0
        made.add_column(
            column,
            justify="right" if at in right else "left",
            overflow="fold" if first else "ellipsis",
            no_wrap=not first,
        )
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


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


def summary_table(summaries: Sequence[RunSummary]) -> Table:
    """One line per run: the headline with its interval, and beside it what could not be counted."""
    name = next((one.primary for one in summaries if one.primary), "score")
    rows = []
    for one in summaries:
        score = one.score()
        state = "" if one.state == "finished" else f" ({one.state} {one.done}/{one.planned})"
        rows.append([one.run, one.target + state, *_score_cells(score), str(one.errors)])
    columns = ["run", "target", name, "95 %", "n", "unread", "refused", "errors"]
    return table(columns, rows, right=(2, 4, 5, 6, 7))


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
        rows.append([one.group, value, interval, str(one.headline.n), str(one.unparsed + one.refused), str(one.errors)])
    return table(["category", summary.primary, "95 %", "n", "unread", "errors"], rows, right=(1, 3, 4, 5))


def print_gate(to: Console, verdict: GateVerdict) -> None:
    """A sentence per rule and run."""
    for sentence in verdict.sentences:
        to.print(Text(visible(f"gate: {sentence}")))
