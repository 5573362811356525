"""Text and tables for a terminal of 80 columns; control characters in texts of models and files are escaped.

`terminal_sections` shows the Sections of a page with this.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.escaping import visible
from steelyard.plain_json import json_value

_WIDTH: Final = 80
_GAP: Final = 2
_COMMAND: Final = re.compile(r"\bsteelyard [a-z]|\bpip install \S")
_LAST_COMMAND: Final = re.compile(r"(|\s+|.*:) ?((?:steelyard|pip install|cd) \S.*)")
"""A text and the command at its end, which is never wrapped."""
_UNBROKEN: Final = re.compile(
    r"\S*`[^`]+`\S*|\S*\bsteelyard [a-z][\w-]*(?: (?:--?[\w-]+|[A-Z][A-Z_.]*)(?![\w]))*\S*|\S*\bpip install \S+|\S+"
)
"""Words, and commands within a sentence: in backticks, or with options and arguments in capitals."""
_LABEL: Final = re.compile(r"(\s*)([-*\u2022] |\S{1,40}: )?")
"""The blanks at the start of a line, and the mark of a list item or a label such as `note: `."""
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?")
_NARROWEST: Final = 12
"""The least width of an elastic column: a narrower terminal folds the lines."""


class _Console(Console):
    """A console that raises `BrokenPipeError` on a closed pipe, so that the command decides what to do."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console without markup in texts; 80 columns where there is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH
    return _Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False, width=width)


def print_json(value: Any) -> None:
    """The JSON of a value, as `json_value` makes it, on standard output."""
    text = json.dumps(json_value(value), ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")


def say(to: Console, text: str, style: str = "") -> None:
    """Print a text that may quote anything; a command in it is never wrapped, so that it can be copied.

    Lines that begin with blanks, with the mark of a list item or with a label get a hanging indent.

    Args:
        to: the console; there is no colour if it is not a terminal or if NO_COLOR is set.
        text: may have several lines.
        style: its colour; "" is the terminal's.
    """
    for line in visible(text).split("\n"):
        wrap = lines_with_command if _COMMAND.search(line) else lines_of_text
        for part in wrap(line, to.width):
            to.print(Text(part, style), soft_wrap=True)


def lines_of_text(line: str, width: int) -> list[str]:
    """A line, wrapped between words; all but the first are indented as in `say`.

    >>> lines_of_text("note: the runs differ in the prompt", 20)
    ['note: the runs', '  differ in the', '  prompt']
    """
    if cell_len(line) <= width:
        return [line]
    indent = _hanging_indent(line, width)
    first = Text(line).wrap(console(), width)[0].plain.rstrip()
    others = Text(line[len(first) :].lstrip()).wrap(console(), width - len(indent))
    return [first, *(f"{indent}{part.plain.rstrip()}" for part in others)]


def _hanging_indent(line: str, width: int) -> str:
    """The indent of lines after the first; empty in a terminal that is too narrow for it."""
    match = _LABEL.match(line)
    blanks = len(match[1]) + (2 if match[2] else 0) if match else 0
    return " " * blanks if width - blanks >= _NARROWEST else ""


def lines_with_command(line: str, width: int) -> list[str]:
    """A line with a command, wrapped around it.

    A command after a colon ends the line, or gets a line of its own if it does not fit.

    >>> lines_with_command("resume with: steelyard resume k3m9xq --store 'my exams.db'", 40)
    ['resume with:', "  steelyard resume k3m9xq --store 'my exams.db'"]
    """
    if cell_len(line) <= width:
        return [line]
    last = _LAST_COMMAND.fullmatch(line)
    head, command = (last[1], last[2]) if last else (line, "")
    indent, hanging = line[: len(line) - len(line.lstrip())], _hanging_indent(line, width)
    if command and not head.strip():
        return [line]
    lines: list[str] = []
    for word in _UNBROKEN.findall(head):
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines += _folded((hanging if lines else indent) + word, width)
    return [*lines, f"{indent}  {command}"] if command else lines


def _folded(word: str, width: int) -> list[str]:
    """A word in pieces of at most `width` columns; a command in one piece."""
    if _COMMAND.search(word) or cell_len(word) <= width:
        return [word]
    pieces = []
    while word:
        piece = set_cell_size(word, width).rstrip() if cell_len(word) > width else word
        pieces.append(piece)
        word = word[len(piece) :]
    return pieces


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    elastic: int = 0,
    lines: int = 2,
    width: int | None = None,
) -> Table:
    """A plain table in which no number is ever cut.

    Args:
        columns: headers.
        rows: texts; the elastic cell may have a second part after a line break, which stays on a line of its own.
        right: the columns that are numbers.
        elastic: the column that shrinks when lines are too long: its texts are folded, then cut in the middle.
            If that is not enough, the widest other texts are cut in the middle too, but never times.
        lines: at most for a text of the elastic column.
        width: columns of the terminal; None is the width of standard output.
    """
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = _widths(columns, cells)
    width, least = width or console().width, min(_NARROWEST, widths[elastic])
    # One blank between columns where two would cut the last one.
    gap = _GAP if sum(widths) - widths[elastic] + least + _GAP * (len(columns) - 1) <= width else 1
    available = width - gap * (len(columns) - 1)
    texts = [
        at
        for at in range(len(columns))
        if at not in {*right, elastic} and not all(_MOMENT.fullmatch(row[at]) for row in cells)
    ]
    # Otherwise rich would cut the last columns without a mark, including numbers.
    while texts and sum(widths) - widths[elastic] + least > available:
        widest = max(texts, key=lambda at: widths[at])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    room = max(_NARROWEST, available - sum(widths) + widths[elastic])
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for at, column in enumerate(columns):
        width = min(widths[at], room) if at == elastic else widths[at]
        justify: Any = "right" if at in right else "left"
        grid.add_column(column, justify=justify, overflow="fold", width=width, no_wrap=at != elastic)
    for row in cells:
        row[elastic] = _fitting(row[elastic], room, lines)
        grid.add_row(*(Text(shortened(cell, widths[at]) if at in texts else cell) for at, cell in enumerate(row)))
    return grid


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(line) for text in (column, *(row[at] for row in cells)) for line in text.split("\n"))
        for at, column in enumerate(columns)
    ]


def fitting_columns(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    *,
    elastic: Sequence[int],
    droppable: Sequence[int],
) -> list[int]:
    """The columns of a table that fit side by side without cutting a number.

    Args:
        columns: headers.
        rows: texts.
        width: columns of the terminal.
        elastic: the columns whose texts may be cut.
        droppable: columns that may be left out, the least important first.

    >>> fitting_columns(["name", "n", "when"], [["a", "1,000", "2026-01-01"]], 14, elastic=[0], droppable=[2, 1])
    [0, 1]
    """
    widths = _widths(columns, [[visible(cell) for cell in row] for row in rows])
    for at in elastic:
        widths[at] = min(widths[at], _NARROWEST)
    remaining = list(range(len(columns)))
    for at in droppable:
        if sum(widths[column] for column in remaining) + len(remaining) - 1 <= width:
            break
        remaining.remove(at)
    return remaining


def _fitting(text: str, room: int, most: int) -> str:
    """A name on at most `most` lines; its start and end stay, where names of a matrix differ."""
    name, end, second_part = text.strip().partition("\n")
    lines: list[str] = []
    remainder = shortened(name, most * room)
    while remainder:
        line = set_cell_size(remainder, room).rstrip() if cell_len(remainder) > room else remainder
        word = max(line.rfind(" "), line.rfind("_")) + 1
        inside = line != remainder and remainder[len(line)] != " " and word > 0
        if inside and cell_len(remainder[word:]) <= room * (most - len(lines) - 1):
            line = remainder[:word].rstrip()  # break between words if the remainder still fits
        lines.append(line)
        remainder = remainder[len(line) :].lstrip()
    return "\n".join(lines) + end + second_part


def shortened(name: str, most: int) -> str:
    """A name, cut in its middle if it is wider than `most` columns."""
    if cell_len(name) <= most:
        return name
    half = (most - 2) // 2
    return f"{set_cell_size(name, half).rstrip()}…{set_cell_size(name[::-1], half).rstrip()[::-1]}"


def aligned(rows: Sequence[Sequence[str]], width: int, *, right: Sequence[int], elastic: int) -> list[str]:
    """A line per row, for lists with other lines between their rows; no number is ever cut.

    Args:
        rows: texts, the head first.
        width: columns of the terminal.
        right: the columns that are numbers.
        elastic: the column whose texts are cut in the middle where the lines are too long.

    >>> aligned([["run", "n"], ["b", "10"]], 80, right=(1,), elastic=0)
    ['run   n', 'b    10']
    """
    cells = [[visible(cell, keep="") for cell in row] for row in rows]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(cells[0]))]
    room = max(_NARROWEST, width - sum(widths) + widths[elastic] - _GAP * (len(widths) - 1))
    widths[elastic] = min(widths[elastic], room)
    lines = []
    for row in cells:
        parts = []
        for at, cell in enumerate(row):
            text = shortened(cell, room) if at == elastic else cell
            blanks = " " * (widths[at] - cell_len(text))
            parts.append(blanks + text if at in right else text + blanks)
        lines.append((" " * _GAP).join(parts).rstrip())
    return lines
