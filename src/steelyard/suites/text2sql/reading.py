"""One row of a table -> one question with its SQL, with every defect that stands in it.

The public shapes are told apart by their headers alone: question, answer, context (create-context sets); question,
query, db_id (Spider, CSpider, DuSQL); question_id, db_id, question, evidence, SQL, difficulty (BIRD); lines of
`SQL<TAB>db_id` (gold.sql), which have no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from steelyard.data.columns import HEAD_ROWS, find_layout
from steelyard.data.defects import Defect, faults_of
from steelyard.data.files import SampleFiles
from steelyard.data.naming import all_names
from steelyard.data.roles import Layout, Role
from steelyard.data.table import Row, Table, cell_at, is_blank, render
from steelyard.errors import ConfigError, did_you_mean

ROLES: Final = (
    # The SQL comes first: a column `query` holds it wherever there is a column `question` as well.
    Role("sql", by_position=False),
    Role("question", words="sql_question", by_position=False),
    Role("schema", required=False, by_position=False),
    Role("db_id", required=False, by_position=False),
    Role("group", required=False, words="sql_group", by_position=False),
    Role("evidence", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)
_LINES: Final = (".sql", ".txt")


class Asked(NamedTuple):
    """What a sound row says; every part but `sql` may be blank."""

    sql: str
    question: str
    schema: str
    db_id: str
    group: str
    evidence: str
    id: str


@dataclass(frozen=True, slots=True)
class TableReading:
    """A table and how its columns are read.

    Args:
        table: where the rows are.
        layout: role -> columns.
        prefix: in front of ids made from places, where there are several files.
        counts_blank: whether a blank row has a position of its own, as lines of SQL have.
    """

    table: Table
    layout: Layout
    prefix: str
    counts_blank: bool

    def rows(self) -> Iterator[tuple[int, Row]]:
        """(position, row) of the rows below the header that are not blank; positions count from 0."""
        position = 0
        for row in self.layout.rows(self.table):
            blank = row.number not in self.table.faults and is_blank(row)
            if not blank:
                yield position, row
            position += not blank or self.counts_blank

    def cell(self, row: Row, role: str) -> Any:
        """What stands in the column of a role; None where there is none."""
        column = self.layout.column(role)
        return None if column is None else cell_at(row.cells, column)

    def defect(self, kind: str, row: Row, role: str, message: str) -> Defect:
        """A defect in the cell of a role, or in the row where the role has no column."""
        return Defect(kind, self.table.place(row.number, self.layout.column(role)), message)


def open_reading(table: Table, files: SampleFiles, prefix: str) -> TableReading:
    """Find the columns of a table.

    Raises:
        ConfigError: as `find_layout` does.
    """
    lines = table.keyed and table.name.lower().endswith(_LINES)
    roles = [replace(role, required=False) if lines and role.name == "question" else role for role in ROLES]
    layout = find_layout(_texts_of(table, files), roles, files)
    used = [column for columns in layout.columns.values() for column in columns]
    return TableReading(table.refined(used), layout, prefix, lines)


def check_places(reading: TableReading) -> None:
    """Find a table none of whose columns says what its SQL runs on, where there is a folder of databases.

    Raises:
        ConfigError: which columns were looked for, and which there are.
    """
    if reading.layout.column("db_id") is not None or reading.layout.column("schema") is not None:
        return
    found = ", ".join(text for text in reading.layout.headers.values() if text)
    raise ConfigError(
        f"{reading.table.title}: no column names a database (db_id) or holds a schema; the columns found are {found}. "
        "Name the column, for example columns: {db_id: ...}, or leave out databases"
    )


def _texts_of(table: Table, files: SampleFiles) -> Table:
    """The head of a table without keys that hold a structure: Spider's `sql` is the parsed query, its text is `query`.

    A key that the user named stays, and one that holds a text somewhere.
    """
    if not table.keyed:
        return table
    named = set(all_names(files.columns))
    head = list(islice(table, HEAD_ROWS))
    texts = {key for row in head for key, value in _items(row) if isinstance(value, str)}
    structures = {key for row in head for key, value in _items(row) if _is_structure(value)} - named - texts
    kept = [Row(row.number, {key: value for key, value in _items(row) if key not in structures}) for row in head]
    return replace(table, source=lambda: iter(kept))


def _items(row: Row) -> Iterator[tuple[str, Any]]:
    yield from row.cells.items() if isinstance(row.cells, Mapping) else ()


def _is_structure(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(one, str) for one in value))


def read_row(
    reading: TableReading, row: Row, databases: Mapping[str, Any] | None, defects: list[Defect]
) -> Asked | None:
    """What a row asks; None where it has defects, which are appended to `defects`.

    Args:
        reading: its table.
        row: one that is not blank.
        databases: the known ones by name; None where there is no folder of them.
        defects: added to.
    """
    before = len(defects)
    if torn := _torn(reading, row):
        defects.append(torn)
        return None
    used = (column for columns in reading.layout.columns.values() for column in columns)
    defects.extend(faults_of(reading.table, row.number, used))
    values = {role.name: _text(reading, row, role.name, defects) for role in ROLES}
    for role in ("question", "sql"):
        if not values[role] and reading.layout.column(role) is not None and len(defects) == before:
            defects.append(reading.defect(f"blank {role}", row, role, f"the {_WORDS[role]} is blank"))
    if databases is not None:
        _check_database(reading, row, values, databases, defects)
    return Asked(**values) if len(defects) == before else None


_WORDS: Final[Mapping[str, str]] = {"question": "question", "sql": "SQL"}


def _check_database(
    reading: TableReading,
    row: Row,
    values: Mapping[str, str],
    databases: Mapping[str, Any],
    defects: list[Defect],
) -> None:
    name = values["db_id"]
    if name and name not in databases:
        near = did_you_mean(name, databases)
        message = f"there is no database {name[:60]!r}{near if near[:1] == ':' else ''}"
        defects.append(reading.defect("unknown database", row, "db_id", message))
    elif not name and not values["schema"]:
        message = "it names no database and has no schema of its own, so there is nothing to run on"
        defects.append(reading.defect("no database", row, "db_id", message))


def _text(reading: TableReading, row: Row, role: str, defects: list[Defect]) -> str:
    value = reading.cell(row, role)
    if isinstance(value, list) and role == "schema" and all(isinstance(one, str) for one in value):
        return "\n".join(f"{one.strip().rstrip(';')};" for one in value if one.strip())
    if isinstance(value, list | dict):
        what = "a list" if isinstance(value, list) else "an object"
        defects.append(reading.defect(f"bad {role}", row, role, f"{role} is {what}, not a text"))
        return ""
    return render(value)


def _torn(reading: TableReading, row: Row) -> Defect | None:
    """A row that goes on behind the last column: a comma that is not in quotes, as SQL has many."""
    width = reading.layout.width
    if isinstance(row.cells, Mapping) or len(row.cells) <= width or not any(map(render, row.cells[width:])):
        return None
    message = f"{len(row.cells)} cells where {width} were expected; is a cell with a comma not in quotes?"
    return Defect("long row", reading.table.place(row.number), message)
