"""Reads a row of a table as a question with its SQL, and collects the row's defects.

Public formats are recognised by their headers alone: question, answer, context (create-context sets); question,
query, db_id (Spider, CSpider, DuSQL); question_id, db_id, question, evidence, SQL, difficulty (BIRD); lines of
`SQL<TAB>db_id` (gold.sql), which have no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from steelyard.data.columns import HEAD_ROWS, find_layout
from steelyard.data.headers import Role, all_names
from steelyard.data.rows import OpenTable, cluster_of, long_row, open_table
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, Table, is_blank, render
from steelyard.data.unread import UnusedColumns
from steelyard.errors import ConfigError, did_you_mean
from steelyard.prompts.conversation import flaw_in, is_messages, messages_in, transcript_of
from steelyard.sql.golds import joined_golds
from steelyard.types import Message

ROLES: Final = (
    # The SQL comes first: a column `query` holds it wherever there is a column `question` as well.
    Role("sql", by_position=False),
    Role("question", words="sql_question", by_position=False, joins=True),
    Role("schema", required=False, by_position=False, joins=True),
    Role("db_id", required=False, by_position=False),
    Role("group", required=False, words="sql_group", by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("evidence", required=False, by_position=False, joins=True),
    Role("id", required=False, by_position=False),
)
_LINES: Final = (".sql", ".txt")


class SqlQuestion(NamedTuple):
    """The values of a row without defects; every one but `sql` may be blank.

    `turns` are the messages of a conversation, whose transcript `question` is.
    """

    sql: str
    question: str
    schema: str
    db_id: str
    group: str
    cluster: str
    evidence: str
    id: str
    turns: tuple[Message, ...] = ()


def numbered_rows(reading: OpenTable) -> Iterator[tuple[int, Row]]:
    """Yield (position, row) for the rows below the header that are not blank; positions count from 0.

    Among lines of SQL a blank one has a position of its own: predictions are matched to them by line.
    """
    counts_blank = _is_lines(reading.table)
    position = 0
    for row in reading.layout.rows(reading.table):
        blank = row.number not in reading.table.faults and is_blank(row)
        if not blank:
            yield position, row
        position += not blank or counts_blank


def _is_lines(table: Table) -> bool:
    """Whether a table is a file of SQL lines, which has no questions."""
    return table.keyed and table.name.lower().endswith(_LINES)


def open_reading(table: Table, files: SampleFiles, prefix: str, unused: UnusedColumns) -> OpenTable:
    """Find the columns of a table.

    Raises:
        ConfigError: as `find_layout` does.
    """
    lines = _is_lines(table)
    roles = [replace(role, required=False) if lines and role.name == "question" else role for role in ROLES]
    return open_table(table, find_layout(_texts_of(table, files), roles, files), prefix, (files, unused))


def check_places(reading: OpenTable) -> None:
    """Refuse a table without a column for database or schema, where a folder of databases is given.

    Raises:
        ConfigError: which columns were looked for, and which there are.
    """
    if reading.layout.column("db_id") is not None or reading.layout.column("schema") is not None:
        return
    headers = ", ".join(text for text in reading.layout.headers.values() if text)
    raise ConfigError(
        f"{reading.table.title}: no column names a database (db_id) or holds a schema; the columns are {headers}. "
        "Name the column, for example columns: {db_id: ...}, or leave out databases"
    )


def _texts_of(table: Table, files: SampleFiles) -> Table:
    """A table without keys that hold a structure in its head: Spider's `sql` is the parsed query, its text is `query`.

    Keys that the user named stay, and keys that hold a text in some row.
    """
    if not table.keyed:
        return table
    named_keys = set(all_names(files.columns))
    head = list(islice(table, HEAD_ROWS))
    texts = {key for row in head for key, value in _items(row) if isinstance(value, str)}
    structures = {key for row in head for key, value in _items(row) if _is_structure(value)} - named_keys - texts
    return replace(
        table,
        source=lambda: (
            Row(row.number, {key: value for key, value in _items(row) if key not in structures}) for row in table
        ),
    )


def _items(row: Row) -> Iterator[tuple[str, Any]]:
    yield from row.cells.items() if isinstance(row.cells, Mapping) else ()


def _is_structure(value: Any) -> bool:
    if is_messages(value):
        return False
    return isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(part, str) for part in value))


def read_row(
    reading: OpenTable, row: Row, databases: Mapping[str, Any] | None, defects: list[Defect]
) -> SqlQuestion | None:
    """Read a row; None where it has defects, which are appended to `defects`.

    Args:
        reading: its table.
        row: one that is not blank.
        databases: the known ones by name; None where there is no folder of them.
        defects: added to.
    """
    before = len(defects)
    if overlong := long_row(reading.table, reading.layout, row):
        defects.append(overlong)
        return None
    defects.extend(reading.faults(row))
    values = {role.name: _text(reading, row, role.name, defects) for role in ROLES if role.name != "cluster"}
    values["cluster"] = cluster_of(row, reading.layout)
    for role in ("question", "sql"):
        if not values[role] and reading.layout.column(role) is not None and len(defects) == before:
            defects.append(reading.defect(f"blank {role}", row, role, f"the {_WORDS[role]} is blank"))
    if databases is not None:
        _check_database(reading, row, values, databases, defects)
    turns = messages_in(reading.cell(row, "question")) or ()
    if turns and (flaw := flaw_in(turns)):
        defects.append(reading.defect("blank question", row, "question", flaw))
    return SqlQuestion(**values, turns=tuple(turns)) if len(defects) == before else None


_WORDS: Final[Mapping[str, str]] = {"question": "question", "sql": "SQL"}


def _check_database(
    reading: OpenTable,
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
    elif not name and not values["schema"] and "" not in databases:
        message = "it names no database and has no schema, so its SQL cannot be run"
        defects.append(reading.defect("no database", row, "db_id", message))


def _text(reading: OpenTable, row: Row, role: str, defects: list[Defect]) -> str:
    value = reading.cell(row, role)
    if role == "question" and (messages := messages_in(value)) is not None:
        return transcript_of(messages)
    if isinstance(value, list) and role == "schema" and all(isinstance(line, str) for line in value):
        return "\n".join(f"{line.strip().rstrip(';')};" for line in value if line.strip())
    if isinstance(value, list) and role == "sql" and value and all(isinstance(query, str) for query in value):
        return joined_golds(value)
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        defects.append(reading.defect(f"bad {role}", row, role, f"{role} is {kind}, not a text"))
        return ""
    return render(value)
