"""Sections on a terminal of 80 columns: the most important last, next to the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.escaping import visible
from steelyard.report.chart import ShareBar, SharePart
from steelyard.report.section import Section, SectionTable, Sentence, TableCell, TableColumn, Tone
from steelyard.report.terminal import aligned, say, shortened, table

_MOST_SERIES: Final = 3
_SERIES_HEAD: Final = 22
"""Width of a run's name above its figures."""
_NAME: Final = 30
"""Series are left out before names get less space than this."""
_BAR: Final = 30
"""Characters of a histogram's bar for 100 % of the records."""
_SHARES: Final = 76
_FILLS: Final = {"a": "█", "tie": "▒", "inconsistent": "░", "unparsed": "·", "refused": "·", "b": "▓"}
_BLANK: Final = ""
"""Requests an empty line, unless there is one or nothing has been printed yet."""
_PREFIXES: Final = {"alarm": "warning: ", "warning": "note: "}
_STYLES: Final[Mapping[Tone, str]] = {"": "", "good": "green", "bad": "red", "unclear": "yellow"}
"""Names from the terminal's 16 colours; the text has the same meaning without them."""


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
    printed, blank, tabled = False, False, False
    for section in sections:
        for block in _blocks(section, to.width, in_full=in_full):
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


def _blocks(section: Section, width: int, *, in_full: bool) -> Iterator[_Block]:
    """Table or bar, then notes, then the sections inside, then conclusions and warnings."""
    if "terminal" not in section.media or (section.detail and not in_full) or not section:
        return
    notes = [note for note in section.notes if "terminal" in note.media]
    if section.table and section.table.rows:
        yield from _table_blocks(section.table, section.title, width)
    elif section.title and not section.key:
        yield _BLANK
        yield section.title
    if isinstance(section.chart, ShareBar):
        yield from bar_lines(section.chart.parts)
    yield from _note_lines([note for note in notes if note.kind in {"note", "fact", "item", "alarm"}])
    for part in section.parts:
        yield from _blocks(part, width, in_full=in_full)
    yield from _note_lines([note for note in notes if note.kind in {"conclusion", "warning"}])


def _note_lines(notes: Sequence[Sentence]) -> Iterator[_ColouredLine]:
    concluded = any(note.kind == "conclusion" for note in notes)
    for note in notes:
        indent = "  " if concluded and note.kind == "warning" else ""
        style = _STYLES["bad"] if note.kind == "alarm" else _STYLES[note.tone]
        yield _ColouredLine(f"{indent}{_PREFIXES.get(note.kind, '')}{note.with_term}", style)


def _table_blocks(full: SectionTable, title: str, width: int) -> Iterator[_Block]:
    if full.layout == "tiles":
        yield ", ".join(f"{row[0].text} {row[1].text}" for row in full.rows)
        return
    full = full.within("terminal")
    shown = _fitting_series(full, width)
    yield _BLANK
    names = [at for at, column in enumerate(shown.columns) if column.kind == "name"]
    if shown.layout == "histogram" and len(shown.columns) == 2:
        yield _bars(shown, title)
        return
    if any(column.kind == "remark" for column in shown.columns):
        yield from _lines_with_remarks(shown, names[0], width)
        return
    yield table(
        [_head(column, title) for column in shown.columns],
        [[_text(cell) for cell in row] for row in shown.rows],
        right=[at for at, column in enumerate(shown.columns) if column.kind == "number"],
        elastic=names[0] if names else 0,
    )
    left_out = sum(column.series for column in full.columns) - sum(column.series for column in shown.columns)
    if left_out:
        yield f"and {left_out} more: the HTML report has all"


def _lines_with_remarks(shown: SectionTable, elastic: int, width: int) -> Iterator[str | Text]:
    """A line per row, with its remarks indented below."""
    columns = [at for at, column in enumerate(shown.columns) if column.kind != "remark"]
    remarks = [at for at, column in enumerate(shown.columns) if column.kind == "remark"]
    cells = [[_text(row[at]) for at in columns] for row in shown.rows]
    right = [position for position, at in enumerate(columns) if shown.columns[at].kind == "number"]
    heads = [_head(shown.columns[at], "") for at in columns]
    head, *lines = aligned([heads, *cells], width, right=right, elastic=columns.index(elastic))
    yield Text(visible(head), style="bold")
    for row, line in zip(shown.rows, lines, strict=True):
        yield line
        yield from (f"  {text}" for at in remarks for text in row[at].text.split("\n") if text)


def _head(column: TableColumn, title: str) -> str:
    if column.series:
        return shortened(visible(column.short or column.title, keep=""), _SERIES_HEAD)
    return visible(column.short or column.title or (title if column.kind == "name" else ""), keep="")


def _text(cell: TableCell) -> str:
    return cell.short or (f"{cell.text} ({cell.more})" if cell.more else cell.text)


def _fitting_series(full: SectionTable, width: int) -> SectionTable:
    """The table without the last columns of its series that do not fit; at least one stays."""
    n_series = sum(column.series for column in full.columns)
    for most in range(min(n_series, _MOST_SERIES), 1, -1):
        fitting = full.within("terminal", most_series=most)
        if _width(fitting) <= width:
            return fitting
    return full.within("terminal", most_series=1) if n_series else full


def _width(shown: SectionTable) -> int:
    widths = [
        max(cell_len(visible(text)) for text in (_head(column, ""), *(_text(row[at]) for row in shown.rows)))
        for at, column in enumerate(shown.columns)
    ]
    capped = [
        min(width, _NAME) if column.kind == "name" else width
        for width, column in zip(widths, shown.columns, strict=True)
    ]
    return sum(capped) + 2 * len(capped)


def _bars(shown: SectionTable, title: str) -> Table:
    """A histogram of one run: its rows, each with a bar."""
    rows = [[name.text, cell.text, cell.more, "█" * round(_BAR * (cell.value or 0.0))] for name, cell in shown.rows]
    return table([_head(shown.columns[0], title), "n", "", ""], rows, right=(1, 2))


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
