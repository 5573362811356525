"""One row of a table -> one question, with every defect that stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from steelyard.data.defects import Defect
from steelyard.data.roles import Layout, Role
from steelyard.data.table import Column, Row, Table, cell_at, column_letter, is_blank, render
from steelyard.suites.choice.keys import LETTERS, MAX_OPTIONS, cut_labels, options_of, read_key
from steelyard.types import Sample


def _key_likeness(text: str) -> float:
    bare = text.strip("()（）[]【】.。、 ").upper()
    if 0 < len(bare) <= 4 and all(one in LETTERS for one in bare):
        return 1.0
    return 0.5 if bare.isascii() and bare.isdigit() and 1 <= int(bare[:9]) <= MAX_OPTIONS else 0.0


ROLES: Final = (
    Role("question"),
    Role("options", several=True),
    Role("answer", likeness=_key_likeness),
    Role("group", required=False),
    Role("id", required=False, by_position=False),
)


class Question(NamedTuple):
    """What a sound row says; `key` is sorted letters."""

    text: str
    options: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class TableReading:
    """A table and how its columns are read.

    Args:
        table: where the rows are.
        layout: role -> columns.
        prefix: in front of ids made from places, where there are several files.
        groups: the group of rows that stand inside a merged group cell.
        question: the column of each role; None where there is none.
    """

    table: Table
    layout: Layout
    prefix: str
    groups: Mapping[int, str]
    question: Column
    options: tuple[Column, ...]
    answer: Column
    group: Column | None
    id: Column | None

    def rows(self) -> Iterator[Row]:
        """Rows below the header, blank ones included."""
        return self.layout.rows(self.table)

    def own_id(self, row: Row) -> str:
        """What stands in the id column; empty where there is none."""
        return "" if self.id is None else render(cell_at(row.cells, self.id))

    def sample(self, row: Row, question: Question) -> Sample:
        """The sample of a sound row."""
        group = "" if self.group is None else render(cell_at(row.cells, self.group))
        return Sample(
            self.own_id(row) or self.prefix + self.table.row_id(row.number),
            question.text,
            question.key,
            question.options,
            group=group or self.groups.get(row.number, ""),
        )

    def defect(self, kind: str, row: Row, column: Column | None, message: str) -> Defect:
        """A defect at a cell, or at the row where `column` is None."""
        return Defect(kind, self.table.place(row.number, column), message)


def open_reading(table: Table, layout: Layout, prefix: str) -> TableReading:
    """Bind a layout to its table, and look up merged group cells."""
    columns = layout.columns
    group, own = (columns[role][0] if columns.get(role) else None for role in ("group", "id"))
    return TableReading(
        table,
        layout,
        prefix,
        _merged_groups(table, group),
        columns["question"][0],
        columns["options"],
        columns["answer"][0],
        group,
        own,
    )


def _merged_groups(table: Table, group: Column | None) -> dict[int, str]:
    """Rows inside merged cells of the group column -> the text in the first cell; other cells are never filled."""
    spans = [one for one in table.merged if one.first_column == group and one.last_row > one.first_row]
    if not spans or group is None:
        return {}
    firsts = {one.first_row for one in spans}
    texts = {row.number: render(cell_at(row.cells, group)) for row in table if row.number in firsts}
    return {number: texts.get(one.first_row, "") for one in spans for number in range(one.first_row, one.last_row + 1)}


def read_row(reading: TableReading, row: Row, defects: list[Defect]) -> Question | None:
    """The question of a row; None where it is blank or has defects, which are appended to `defects`."""
    cells = row.cells
    text = _text(cell_at(cells, reading.question))
    if not text and is_blank(row):
        return None
    before = len(defects)
    if torn := _torn(reading, row):
        defects.append(torn)
        return None
    if not text:
        defects.append(reading.defect("blank question", row, reading.question, "the question is blank, or is no text"))
    options, labelled = _options(reading, row, defects)
    key = _key(reading, row, (options, labelled), defects) if options else ""
    return Question(text, tuple(options), key) if len(defects) == before else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if isinstance(value, list | dict) else render(value)


def _torn(reading: TableReading, row: Row) -> Defect | None:
    """A row that ends before its key, or goes on behind the last column."""
    width, answer = reading.layout.width, reading.answer
    if isinstance(row.cells, Mapping):
        return None
    if len(row.cells) > width and any(map(render, row.cells[width:])):
        message = f"{len(row.cells)} cells where {width} were expected; is a cell with a comma not in quotes?"
        return reading.defect("long row", row, None, message)
    second = reading.options[1]
    if _text(cell_at(row.cells, answer)) and _text(cell_at(row.cells, second)):
        return None
    last = max((index for index, cell in enumerate(row.cells) if render(cell)), default=0)
    needed = max(int(answer), int(second))
    if last >= needed:
        return None
    message = f"short row: it ends in column {column_letter(last)}, column {column_letter(needed)} is needed"
    return reading.defect("short row", row, None, message)


def _options(reading: TableReading, row: Row, defects: list[Defect]) -> tuple[Sequence[str], Sequence[str]]:
    """The options without and with labels of their own; none where they have a defect."""
    columns = reading.options
    try:
        raw = _raw_options(row, columns)
    except ValueError as error:
        defects.append(reading.defect("bad options", row, columns[0], str(error)))
        return (), ()
    options = cut_labels(raw)
    cell = columns if len(columns) > 1 else columns * len(raw)
    filled = len(options)
    while filled and not options[filled - 1]:
        filled -= 1
    options, before = options[:filled], len(defects)
    defects.extend(
        reading.defect("blank option", row, cell[place], f"option {LETTERS[place]} is blank")
        for place, option in enumerate(options)
        if not option
    )
    if filled < 2 or filled > MAX_OPTIONS:
        message = f"{filled} option{'s' if filled != 1 else ''}; a question has 2 to {MAX_OPTIONS}"
        defects.append(
            reading.defect("too few options" if filled < 2 else "too many options", row, cell[:1][0], message)
        )
    if len(set(options)) < filled:
        _name_identical(reading, row, options, defects)
    return (options, raw) if len(defects) == before else ((), ())


def _raw_options(row: Row, columns: Sequence[Column]) -> list[str]:
    if len(columns) > 1:
        return [_text(cell_at(row.cells, column)) for column in columns]
    value = cell_at(row.cells, columns[0])
    return options_of(value)


def _name_identical(reading: TableReading, row: Row, options: Sequence[str], defects: list[Defect]) -> None:
    columns, first = reading.options, dict[str, int]()
    for place, option in enumerate(options):
        same = first.setdefault(option, place)
        if option and same != place:
            column = columns[place] if len(columns) > 1 else columns[0]
            message = f"option {LETTERS[place]} is the same as option {LETTERS[same]}: {option[:40]!r}"
            defects.append(reading.defect("identical options", row, column, message))


def _key(reading: TableReading, row: Row, options: tuple[Sequence[str], Sequence[str]], defects: list[Defect]) -> str:
    value = cell_at(row.cells, reading.answer)
    try:
        if isinstance(value, list):
            return "".join(sorted({letter for one in value for letter in read_key(_text(one), *options)}))
        return read_key(_text(value), *options)
    except ValueError as error:
        defects.append(reading.defect("bad key", row, reading.answer, str(error)))
        return ""
