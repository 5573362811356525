"""Assigns the columns of a table to roles: by the user's names, by header, or by position.

1. By name under `columns:`; see `data.headers`.
2. By header: the first ten rows are scored against the synonyms of `headers.json`; the header is the row that names the
   most columns, at least two including the first required one, so that a title above it is not taken for the header.
3. By position, if there is no header: question, options, answer, group, in the order of the roles. The columns in
   between belong to the role that spans several columns; whether an optional last column exists is decided by the cells
   of the role that has a likeness. A leading column that only numbers the rows is left out.

A suite declares which roles it needs; nothing here depends on what they are used for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import fmean
from typing import Final

from steelyard.data.headers import (
    Columns,
    Role,
    all_names,
    by_header,
    find_named,
    normalized,
    only_letters,
    refuse_same_name,
    same_name,
)
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, cell_at, column_letter, is_blank, is_blank_cell, render
from steelyard.errors import ConfigError, DataError, did_you_mean

HEAD_ROWS: Final = 10
"""Rows in which a header is looked for: titles and remarks may stand above it."""
_KEYED_ROWS: Final = 10_000
"""Objects whose keys are columns: a key may be missing from most of them. They take 0.04 s of CPU."""
_LEAST_LIKENESS: Final = 0.4
"""Below this likeness no arrangement is used: the error asks the user for the columns, to avoid a wrong guess."""
_MOST_DIGITS: Final = 9
"""Maximum digits of a row number; Python refuses to convert a text of more than 4,300 digits."""


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The columns of a table by role.

    Args:
        columns: role -> its columns.
        header_row: number of the header row; None without one. Samples begin after it.
        width: number of cells of the header row, or of the widest of the first rows; 0 for JSON.
        headers: the texts of the header by column.
        notes: for people, on columns that were passed over.
    """

    columns: Columns
    header_row: int | None = None
    width: int = 0
    headers: Mapping[Column, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def rows(self, table: Table) -> Iterator[Row]:
        """Rows of the table below its header, blank ones included."""
        start = self.header_row
        return (row for row in table if row.number > start) if start else iter(table)

    def column(self, role: str) -> Column | None:
        """The column of a role, the first of several; None if it has no column."""
        columns = self.columns.get(role)
        return columns[0] if columns else None

    def describe(self) -> dict[str, str]:
        """Role -> its columns, as shown to people.

        >>> ColumnLayout({"question": (0,), "options": (1, 2)}, 1, 3, {0: "题目", 1: "甲", 2: "乙"}).describe()
        {'question': 'A 题目', 'options': 'B 甲, C 乙'}
        """
        return {role: ", ".join(map(self.name_of, columns)) for role, columns in self.columns.items()}

    def name_of(self, column: Column) -> str:
        """A column as shown to people: its letter and header, or its key."""
        if isinstance(column, str):
            return column
        return f"{column_letter(column)} {self.headers.get(column, '')}".rstrip()


def find_layout(table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    """Assign columns to roles: by the user's names, by header, else by position.

    Raises:
        ConfigError: a named column or role does not exist, a required role has no column, or a column has two roles.
    """
    names = [role.name for role in roles]
    for name in files.columns:
        if name not in names:
            raise ConfigError(f"columns: there is no role {name!r}{did_you_mean(name, names)}")
    layout = _keyed(table, roles, files) if table.keyed else _grid(table, list(islice(table, HEAD_ROWS)), roles, files)
    _refuse_missing(table, layout, roles)
    _refuse_several(layout, roles)
    _refuse_shared(table, layout, roles)
    return layout


def _keyed(table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    """The keys of the first objects by role; keys that only later ones have fill roles that none of these has."""
    first: dict[Column, str] = {str(key): str(key) for row in islice(table, HEAD_ROWS) for key in row.cells}
    keys = dict(first)
    with contextlib.suppress(DataError):  # a row that cannot be read is reported where it is needed
        for row in islice(table, _KEYED_ROWS):
            keys.update((str(key), str(key)) for key in row.cells)
    named = find_named(table, files.columns, keys, 0)
    layout = _by_headers(table, ColumnLayout(named, headers=first), roles)
    taken = {*first, *(column for columns in layout.columns.values() for column in columns)}
    late = {key: name for key, name in keys.items() if key not in taken}
    without = [role for role in roles if role.name not in layout.columns]
    if not late or not without:
        return replace(layout, headers=keys)
    more = _by_headers(table, ColumnLayout({}, headers=late), without)
    return replace(layout, columns={**more.columns, **layout.columns}, headers=keys, notes=(*layout.notes, *more.notes))


def _grid(table: Table, head: Sequence[Row], roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    row = _header(table, head, roles, files)
    headers = _texts(row) if row else {}
    width = len(row.cells) if row else max((len(filled.cells) for filled in head), default=0)
    named = find_named(table, files.columns, headers, width, header_row=row.number if row else None)
    if row:
        return _with_spread(
            table, _by_headers(table, ColumnLayout(named, row.number, width, headers), roles), roles, named
        )
    body = [filled for filled in head if not is_blank(filled)]
    return ColumnLayout(named or _by_position(body, roles), None, width)


def _by_headers(table: Table, named: ColumnLayout, roles: Sequence[Role]) -> ColumnLayout:
    """The layout with the columns that were `named`, and those that other roles find by their headers.

    A column that is blank in every row is passed over if another one with a header for the same role is not: files of
    several tasks have columns that only some of them fill.
    """
    headers, notes = dict(named.headers), list[str]()
    while True:
        columns_by_role = by_header(headers, roles, named.columns)
        _refuse_doubles(table, replace(named, columns=columns_by_role, headers=headers), roles)
        passed_over = next(_blank_columns(table, named, columns_by_role, headers, roles), None)
        if passed_over is None:
            return replace(named, columns={**columns_by_role, **named.columns}, notes=tuple(notes))
        role, column, other = passed_over
        notes.append(
            f"{table.title}: column {named.headers[column]:.40} is blank in every row, so the {role} is read from "
            f"{named.headers[other]:.40}"
        )
        del headers[column]


def _with_spread(table: Table, layout: ColumnLayout, roles: Sequence[Role], named: Columns) -> ColumnLayout:
    """The layout with all columns below a header of options that spans several, and without letters in the next row.

    The header may be one merged cell or be followed by blank ones, and a row `A B C D` may stand below it.
    """
    for role in roles:
        columns = layout.columns.get(role.name, ())
        if not role.several or role.name in named or len(columns) != 1 or not isinstance(columns[0], int):
            continue
        stop = columns[0] + 1
        while stop < layout.width and not layout.headers.get(stop) and not _is_blank_column(layout, table, stop):
            stop += 1
        if stop > columns[0] + 1:
            below = next(layout.rows(table), None)
            letters = "".join(str(cell_at(below.cells, column)) for column in range(columns[0], stop)) if below else ""
            lettered = bool(letters) and "ABCDEFGHIJKLMNOPQRSTUVWXYZ".startswith(letters)
            spread = {**layout.columns, role.name: tuple(range(columns[0], stop))}
            layout = replace(layout, columns=spread, header_row=(layout.header_row or 0) + lettered)
    return layout


def _blank_columns(
    table: Table, named: ColumnLayout, found: Columns, headers: Mapping[Column, str], roles: Sequence[Role]
) -> Iterator[tuple[str, Column, Column]]:
    """Yield (role, its blank column, another one that is not blank)."""
    for role in roles:
        if role.several or role.name not in found:
            continue
        (column,) = found[role.name]
        used = {other for columns in (*found.values(), *named.columns.values()) for other in columns}
        free = {other: text for other, text in headers.items() if other not in used}
        others = by_header(free, [role], {}).get(role.name, ())
        if others and _is_blank_column(named, table, column) and not _is_blank_column(named, table, others[0]):
            yield role.name, column, others[0]


def _is_blank_column(layout: ColumnLayout, table: Table, column: Column) -> bool:
    return all(is_blank_cell(cell_at(row.cells, column)) for row in layout.rows(table))


def _header(table: Table, head: Sequence[Row], roles: Sequence[Role], files: SampleFiles) -> Row | None:
    if files.header == "none":
        return None
    if isinstance(files.header, int):
        header = next((row for row in islice(table, files.header) if row.number == files.header), None)
        if header is None:
            raise ConfigError(f"header: {table.title} has no row {files.header}")
        return header
    # Letters ("A", "B:E") name columns of the sheet, so they are not looked for in the texts of a header.
    user_names = set() if only_letters(files.columns) else {normalized(name) for name in all_names(files.columns)}
    best = max(head, key=lambda row: _header_score(row, roles, user_names), default=None)
    return best if best and _header_score(best, roles, user_names) >= 2 else None


def _header_score(row: Row, roles: Sequence[Role], user_names: set[str]) -> int:
    """Number of columns that the row names; a name given by the user counts as two, so that one is enough."""
    texts = _texts(row)
    columns = by_header(texts, roles, {})
    first = next((role.name for role in roles if role.required and not role.several), "")
    # Without the first required role the other matches may be chance, as a row "A B C D" of data is; two roles that are
    # named by words are not, and the role that is missing is then said.
    by_words = sum(any(len(texts[column]) > 1 for column in columns_of_role) for columns_of_role in columns.values())
    known = sum(map(len, columns.values())) if first in columns or by_words >= 2 else 0
    return known + 2 * len(user_names & {normalized(text) for text in texts.values() if text})


def _texts(row: Row) -> dict[Column, str]:
    return {index: render(cell) for index, cell in enumerate(row.cells)}


def _by_position(body: Sequence[Row], roles: Sequence[Role]) -> Columns:
    placed = [role for role in roles if role.by_position]
    filled = [index for row in body for index, cell in enumerate(row.cells) if render(cell)]
    # A first column that only numbers the rows plays no role.
    start, stop = int(counts_rows(body)), max(filled, default=-1) + 1
    optional = sum(not role.required for role in placed)
    # Optional roles come last, so the possible arrangements omit none, one or more of them from the end.
    arrangements = [_arrange(placed[: len(placed) - left_out], start, stop) for left_out in range(optional + 1)]
    scored = [(_likeness(body, roles, columns), columns) for columns in arrangements if columns]
    score, best = max(scored, key=lambda pair: pair[0], default=(0.0, {}))
    return best if score >= _LEAST_LIKENESS else {}


def _arrange(roles: Sequence[Role], start: int, stop: int) -> dict[str, tuple[Column, ...]]:
    """Assign columns start to stop - 1 in order; the role that spans several gets those the others leave."""
    span = stop - start - sum(not role.several for role in roles)
    several = [role for role in roles if role.several]
    if len(several) > 1 or span < 2 * len(several):
        return {}
    columns: dict[str, tuple[Column, ...]] = {}
    for role in roles:
        size = span if role.several else 1
        columns[role.name] = tuple(range(start, start + size))
        start += size
    return columns


def _likeness(body: Sequence[Row], roles: Sequence[Role], columns: Columns) -> float:
    """Mean likeness of the cells in columns whose role has a likeness; 1 if no role has one."""
    values = [
        role.likeness(text)
        for role in roles
        if role.likeness and role.name in columns
        for row in body
        if (text := render(cell_at(row.cells, columns[role.name][0])))
    ]
    if values:
        return fmean(values)
    return float(not any(role.likeness for role in roles))


def counts_rows(body: Sequence[Row]) -> bool:
    """Whether the first column of a table only numbers its rows."""
    texts = [render(cell_at(row.cells, 0)) for row in body]
    if len(texts) < 2 or not all(text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS for text in texts):
        return False
    return [int(text) for text in texts] == list(range(int(texts[0]), int(texts[0]) + len(texts)))


def _refuse_missing(table: Table, layout: ColumnLayout, roles: Sequence[Role]) -> None:
    missing = [role.name for role in roles if _lacks(layout, role)]
    if not missing:
        return
    headers = [text for text in layout.headers.values() if text]
    nothing = f"no header was found in its first {HEAD_ROWS} rows"
    seen = f"the columns found are {', '.join(headers)}" if headers else nothing
    # Objects have keys and no letters.
    keys = ", ".join(f"{role.name}: KEY" for role in roles if role.required)
    example = keys if table.keyed else _example(roles)
    sheet = ", or leave this sheet out with sheets" if table.sheet else ""
    raise ConfigError(
        f"{table.title}: no column for {' and '.join(missing)}; {seen}. Name the columns, for example "
        f"columns: {{{example}}}{sheet}"
    )


def _refuse_several(layout: ColumnLayout, roles: Sequence[Role]) -> None:
    """Reject several columns for a role that is one; the texts of some roles are joined."""
    for role in roles:
        columns = layout.describe().get(role.name, "")
        if len(layout.columns.get(role.name, ())) > 1 and not (role.several or role.joins):
            joined = " and ".join(other.name for other in roles if other.joins)
            only = f"; only the columns of {joined} are joined" if joined else ""
            raise ConfigError(f"columns: {role.name} is one column, not several ({columns}){only}")


def _refuse_doubles(table: Table, layout: ColumnLayout, roles: Sequence[Role]) -> None:
    """Reject a header that a role would use and that occurs twice, since either column may be meant."""
    for role in roles:
        for column in layout.columns.get(role.name, ()):
            other = same_name(layout.headers, column, role)
            if other is not None:
                refuse_same_name(table, layout.headers, role.name, (column, other), layout.header_row)


def _lacks(layout: ColumnLayout, role: Role) -> bool:
    return role.required and not layout.columns.get(role.name) and not layout.columns.get(role.unless)


def _example(roles: Sequence[Role]) -> str:
    """An example of how to name the columns of the required roles.

    >>> _example([Role("question"), Role("options", several=True), Role("answer")])
    'question: A, options: "B:E", answer: F'
    """
    examples, start = [], 0
    for role in (role for role in roles if role.required):
        last = start + (3 if role.several else 0)
        letters = column_letter(start)
        examples.append(
            f'{role.name}: "{letters}:{column_letter(last)}"' if role.several else f"{role.name}: {letters}"
        )
        start = last + 1
    return ", ".join(examples)


def _refuse_shared(table: Table, layout: ColumnLayout, known: Sequence[Role]) -> None:
    among = [{role.name, role.among} for role in known if len(layout.columns.get(role.among, ())) > 1]
    roles: Mapping[Column, list[str]] = {column: [] for columns in layout.columns.values() for column in columns}
    for role, columns in layout.columns.items():
        for column in columns:
            roles[column].append(role)
    for column, users in roles.items():
        if len(users) > 1 and set(users) not in among:
            name = column if isinstance(column, str) else column_letter(column)
            of_letters = (
                "if all names are letters, they are spreadsheet letters; to name columns by headers, name at least one "
                "that is not a letter"
            )
            raise ConfigError(
                f"columns: {table.title}: column {name} is used for {' and '.join(users)}; "
                f"{'write each into a column of its own' if table.keyed else of_letters}"
            )
