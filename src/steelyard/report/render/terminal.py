"""Sections, texts and tables on a terminal of 80 columns: the most important last, next to the prompt.

print_sections   the Sections of a page
say, table       a text or a table that is no part of a page
aligned          a line per row, for lists with other lines between their rows

Control characters in texts of models and files are escaped.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.escaping import visible
from steelyard.plain_json import json_value
from steelyard.report.charts.chart import ShareBar, SharePart
from steelyard.report.render.names import fitting_name, shortened
from steelyard.report.section import (
    ConclusionState,
    Level,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    Tone,
)

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
_UNCUT: Final = re.compile(r"|–|\d{4}-\d\d-\d\d( \d\d:\d\d)?|[-+]?[\d.,]+( \S+)? to [-+]?[\d.,]+( \S+)?")
"""Moments, intervals and empty cells."""
_NARROWEST: Final = 12
"""The least width of an elastic column: a narrower terminal folds the lines."""
_SHORTEST: Final = 5
"""The same where it is all that the numbers beside it leave: otherwise rich would cut these."""
_MOST_SERIES: Final = 3
_SERIES_HEAD: Final = 22
"""Width of a run's name above its figures."""
_NAME: Final = 30
"""Series and phrases are left out before names get less space than this."""
_BAR: Final = 30
"""Characters of a histogram's bar for 100 % of the records."""
_SHARES: Final = 76
_FILLS: Final = {"a": "█", "tie": "▒", "inconsistent": "░", "unparsed": "·", "refused": "·", "b": "▓"}
_BLANK: Final = ""
"""Requests an empty line, unless there is one or nothing has been printed yet."""
_PREFIXES: Final = {"alarm": "warning: ", "warning": "note: ", "rule": "gate: "}
_STYLES: Final[Mapping[Tone, str]] = {"": "", "good": "green", "bad": "red", "unclear": "yellow"}
"""Names from the terminal's 16 colours; the text has the same meaning without them."""
_TONES: Final[Mapping[ConclusionState, Tone]] = {
    "better": "good",
    "worse": "bad",
    "no_evidence": "unclear",
    "inconclusive": "unclear",
    "none": "unclear",
    "value": "",
}


_AS_ASCII: Final = "steelyard_ascii"
_ASCII: Final = dict(zip("✓✗·–→█▒░▓×±…", ("+", "x", "|", "-", "->", "#", "=", ".", "%", "x", "+-", "..."), strict=True))


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """The replacement of signs that an encoding does not have, for `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_ASCII.get(letter, "?") for letter in text), error.end


class _Console(Console):
    """A console that raises `BrokenPipeError` on a closed pipe, so that the command decides what to do."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console without markup in texts; 80 columns where there is no terminal.

    Signs that the encoding of the stream does not have are replaced by ASCII.
    """
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper) and stream.errors != _AS_ASCII:
        codecs.register_error(_AS_ASCII, _in_ascii)
        stream.reconfigure(errors=_AS_ASCII)
    width = None if stream.isatty() else _WIDTH
    return _Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False, width=width)


def print_json(value: Any) -> None:
    """The JSON of a value, as `json_value` makes it, on standard output."""
    print_data([json.dumps(json_value(value), ensure_ascii=False, indent=2, allow_nan=False), "\n"])


def print_data(texts: Iterable[str]) -> None:
    """Write what programs read to standard output: in UTF-8, whatever the locale; lone surrogates are replaced."""
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and (stream.encoding, stream.errors) != ("utf-8", "replace"):
        stream.reconfigure(encoding="utf-8", errors="replace")
    stream.writelines(texts)


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
            If that is not enough, the widest other texts are cut in the middle too, but never times or intervals.
        lines: at most for a text of the elastic column.
        width: columns of the terminal; None is the width of standard output.
    """
    cells = [[visible(cell) for cell in row] for row in rows]
    width, widths = width or console().width, _widths(columns, cells)
    least = min(_NARROWEST, widths[elastic])
    for at in sorted(range(len(columns)), key=lambda at: _least_width(columns[at]) - widths[at]):
        if at != elastic and sum(widths) - widths[elastic] + least + len(columns) - 1 > width:
            columns = [*columns[:at], _wrapped(columns[at], cells, at), *columns[at + 1 :]]
            widths = _widths(columns, cells)
    # One blank between columns where two would cut the last one.
    gap = _GAP if sum(widths) - widths[elastic] + least + _GAP * (len(columns) - 1) <= width else 1
    available = width - gap * (len(columns) - 1)
    texts = [
        at
        for at in range(len(columns))
        if at not in {*right, elastic} and not all(_UNCUT.fullmatch(row[at]) for row in cells)
    ]
    # Otherwise rich would cut the last columns without a mark, including numbers.
    while texts and sum(widths) - widths[elastic] + least > available:
        widest = max(texts, key=lambda at: widths[at])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    left = available - sum(widths) + widths[elastic]
    room = left if left >= _SHORTEST else max(_NARROWEST, left)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for at, column in enumerate(columns):
        width = min(widths[at], room) if at == elastic else widths[at]
        justify: Any = "right" if at in right else "left"
        head = fitting_name(column, room, lines) if at == elastic else column
        grid.add_column(head, justify=justify, overflow="fold", width=width, no_wrap=at != elastic)
    for row in cells:
        row[elastic] = fitting_name(row[elastic], room, lines)
        grid.add_row(*(Text(shortened(cell, widths[at]) if at in texts else cell) for at, cell in enumerate(row)))
    return grid


def _wrapped(head: str, cells: Sequence[Sequence[str]], at: int) -> str:
    """A heading in lines between its words, as wide as half of it, or as a word or a cell below it that is wider."""
    below = (cell_len(line) for row in cells for line in row[at].split("\n"))
    width = max(_least_width(head), *below)
    lines: list[str] = []
    for word in head.split():
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _least_width(head: str) -> int:
    return max(cell_len(head) // 2 + 1, *map(cell_len, head.split()), 0)


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


class _ColouredLine(NamedTuple):
    text: str
    style: str


_Block = str | _ColouredLine | Table | Text


def print_sections(to: Console, sections: Iterable[Section], *, in_full: bool = False) -> None:
    """Print the parts of each section that a terminal shows, with blank lines between sections.

    Args:
        to: the console.
        sections: in the order in which they are printed.
        in_full: whether details are shown too.
    """
    levels: tuple[Level, ...] = ("essential", "detail") if in_full else ("essential",)
    printed, blank, tabled = False, False, False
    for section in sections:
        for block in _blocks(section, to.width, levels):
            if block == _BLANK:
                blank = True
                continue
            if blank and printed:
                to.print()
            printed, blank = True, False
            if isinstance(block, _ColouredLine):
                say(to, block.text, block.style)
            elif isinstance(block, str):
                say(to, block)
            else:
                to.print(block)
                tabled = True
        # A blank line follows a section with a table; sentences of several sections form one paragraph.
        blank = blank or tabled
        tabled = False


def _blocks(section: Section, width: int, levels: Collection[Level]) -> Iterator[_Block]:
    """Table or bar, then notes, then the sections inside, then conclusions and warnings."""
    if section.level not in levels or section.is_drawing or not section:
        return
    notes = [note for note in section.notes if note.level in levels]
    if section.table and section.table.rows:
        yield from _table_blocks(section.table.within(levels), section.title, width)
    elif section.title and not section.key:
        yield _BLANK
        yield section.title
    if isinstance(section.chart, ShareBar):
        yield from bar_lines(section.chart.parts)
    yield from _note_lines([note for note in notes if note.kind in {"note", "fact", "item", "alarm"}])
    for part in section.parts:
        yield from _blocks(part, width, levels)
    for figure in (figure for figure in section.figures if figure.words):
        yield _ColouredLine(figure.text, _STYLES[_TONES[figure.state]])
        yield from (_ColouredLine(f"  note: {text}", "") for text in figure.warnings)
    yield from _note_lines([note for note in notes if note.kind in {"conclusion", "warning", "rule"}])


def _note_lines(notes: Sequence[Sentence]) -> Iterator[_ColouredLine]:
    concluded = any(note.kind in {"conclusion", "rule"} for note in notes)
    for note in notes:
        indent = "  " if concluded and note.kind == "warning" else ""
        style = _STYLES["bad"] if note.kind == "alarm" else _STYLES[note.tone]
        text = note.text if note.kind == "rule" else note.with_term
        yield _ColouredLine(f"{indent}{_PREFIXES.get(note.kind, '')}{text}", style)


def _table_blocks(full: SectionTable, title: str, width: int) -> Iterator[_Block]:
    if full.layout == "tiles":
        yield ", ".join(f"{row[0].text} {row[1].text}" for row in full.rows)
        return
    shown = _fitting_columns(full, width)
    yield _BLANK
    names = next((at for at, column in enumerate(shown.columns) if column.kind == "name"), 0)
    heads = [_head(column) for column in shown.columns]
    titled = [*heads[:names], visible(title, keep=""), *heads[names + 1 :]] if title else heads
    if cell_len(titled[names]) <= _SERIES_HEAD and _width(shown, titled, _plain_texts(shown)) <= width:
        heads = titled
    elif title:
        yield title
    if shown.layout == "histogram" and len(shown.columns) == 2:
        yield _bars(shown, heads[0])
        return
    if any(column.kind == "remark" for column in shown.columns):
        yield from _lines_with_remarks(shown, heads, width)
        return
    yield table(
        heads,
        _fitting_texts(shown, heads, width),
        right=[at for at, column in enumerate(shown.columns) if column.kind == "number"],
        elastic=names,
        width=width,
    )
    yield from _left_out(full, shown)


def _left_out(full: SectionTable, shown: SectionTable) -> Iterator[str]:
    """How many columns of a series a table had no space for."""
    columns = [column for column in full.columns if column.level == "essential" and column not in shown.columns]
    if n_series := sum(column.series for column in columns):
        yield f"and {n_series} more: the HTML report has all"


def _plain_texts(shown: SectionTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in shown.rows]


def _lines_with_remarks(shown: SectionTable, heads: Sequence[str], width: int) -> Iterator[str | Text]:
    """A line per row, with its remarks indented below."""
    columns = [at for at, column in enumerate(shown.columns) if column.kind != "remark"]
    remarks = [at for at, column in enumerate(shown.columns) if column.kind == "remark"]
    kinds = [shown.columns[at].kind for at in columns]
    cells = [[heads[at] for at in columns], *([row[at].text for at in columns] for row in shown.rows)]
    right = [position for position, kind in enumerate(kinds) if kind == "number"]
    head, *lines = aligned(cells, width, right=right, elastic=kinds.index("name"))
    yield Text(visible(head), style="bold")
    for row, line in zip(shown.rows, lines, strict=True):
        yield line
        yield from (f"  {text}" for at in remarks for text in row[at].text.split("\n") if text)


def _head(column: TableColumn) -> str:
    head = visible(column.title, keep="")
    return shortened(head, _SERIES_HEAD) if column.series else head


def _fitting_columns(full: SectionTable, width: int) -> SectionTable:
    """The table; where it is too wide without details, then counts that are all 0, then the last of a series."""
    essential = full.within({"essential"})
    n_series = min(_MOST_SERIES, sum(column.series for column in full.columns))
    fewer = [essential.with_series(most) for most in range(n_series, 0, -1) or [0]]
    without_details = [table for shown in fewer for table in (shown, shown.without_zeros())]
    detailed = full.without_empty(("detail",)).with_series(_MOST_SERIES)
    for shown in (detailed, *without_details):
        heads = [_head(column) for column in shown.columns]
        # With a series, names get some space before its last columns do.
        is_tight = shown is not detailed and not n_series
        if _width(shown, heads, _plain_texts(shown), tight=is_tight) <= width:
            break
    return shown


def _fitting_texts(shown: SectionTable, heads: Sequence[str], width: int) -> list[list[str]]:
    """The cells' texts, with as many further phrases as fit: from the left, one by one, of a series in all columns."""
    series = [at for at, column in enumerate(shown.columns) if column.series]
    others = [[at] for at in range(len(shown.columns)) if at not in series]
    n_phrases = [0] * len(shown.columns)
    texts = _plain_texts(shown)
    for n in range(1, 1 + max((len(cell.more) for row in shown.rows for cell in row), default=0)):
        for columns in sorted([*others, *([series] if series else [])]):
            if n_phrases[columns[0]] < n - 1:
                continue
            tried = [
                [
                    _with_phrases(cell, n) if at in columns else text
                    for at, (cell, text) in enumerate(zip(row, before, strict=True))
                ]
                for row, before in zip(shown.rows, texts, strict=True)
            ]
            if _width(shown, heads, tried, whole=columns) <= width:
                texts = tried
                for at in columns:
                    n_phrases[at] = n
    return texts


def _with_phrases(cell: TableCell, n: int) -> str:
    """The cell's text with its first `n` phrases in brackets."""
    return f"{cell.text} ({', '.join(cell.more[:n])})" if cell.more else cell.text


def _width(
    shown: SectionTable,
    heads: Sequence[str],
    texts: Sequence[Sequence[str]],
    *,
    whole: Collection[int] = (),
    tight: bool = False,
) -> int:
    """Columns of a terminal that a table takes, with long names folded.

    Args:
        shown: the table.
        heads: its headings.
        texts: its cells.
        whole: columns that are not folded.
        tight: whether headings are wrapped and names get the least space.
    """
    widths = []
    for at, column in enumerate(shown.columns):
        head = _least_width(heads[at]) if tight else cell_len(heads[at])
        needed = max(head, *(cell_len(visible(row[at])) for row in texts))
        folded = column.kind == "name" and at not in whole
        widths.append(min(needed, _NARROWEST if tight else _NAME) if folded else needed)
    return sum(widths) + (1 if tight else _GAP) * (len(widths) - 1)


def _bars(shown: SectionTable, head: str) -> Table:
    """A histogram of one run: its rows, each with a bar."""
    rows = [
        [name.text, cell.text, ", ".join(cell.more), "█" * round(_BAR * (cell.value or 0.0))]
        for name, cell in shown.rows
    ]
    return table([head, "n", "", ""], rows, right=(1, 2))


def bar_lines(parts: Sequence[SharePart], width: int = _SHARES) -> Iterator[str]:
    """The shares as one bar and a key to it; a part that is not empty has at least one character."""
    if not any(part.share for part in parts):
        yield "no pair was judged"
        return
    yield "".join(_FILLS[part.kind] * length for part, length in zip(parts, _lengths(parts, width), strict=True))
    line = ""
    for part in parts:
        entry = f"{_FILLS[part.kind]} {part.name} {part.text} ({part.count})"
        if line and len(line) + len(entry) + 2 > width:
            yield line
            line = ""
        line = f"{line}  {entry}" if line else entry
    yield line


def _lengths(parts: Sequence[SharePart], width: int) -> list[int]:
    """Characters per part, `width` in all: the largest remainders get the characters that rounding leaves."""
    least = [int(part.share > 0) for part in parts]
    room = width - sum(least)
    exact = [part.share * room for part in parts]
    lengths = [int(size) for size in exact]
    order = sorted(range(len(parts)), key=lambda at: lengths[at] - exact[at])
    for at in order[: room - sum(lengths)]:
        lengths[at] += 1
    return [length + minimum for length, minimum in zip(lengths, least, strict=True)]
