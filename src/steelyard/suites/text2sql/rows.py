"""Reads files into samples of the `text2sql` suite; all defects are reported in one pass before the first call.

Public formats are recognised by their headers alone: question, answer, context (create-context sets); question, query,
db_id (Spider, CSpider, DuSQL); question_id, db_id, question, evidence, SQL, difficulty (BIRD); lines of `SQL<TAB>db_id`
(gold.sql), which have no question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from sys import intern
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.data.columns import HEAD_ROWS, find_layout
from steelyard.data.headers import Role, all_names
from steelyard.data.load import id_prefixes, read_tables
from steelyard.data.rows import OpenTable, about_selection, cluster_of, notes_on_columns, open_table
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, Table, is_blank, refuse, refuse_many, render
from steelyard.data.unread import UnusedColumns
from steelyard.errors import ConfigError, DataError, ScorerError, did_you_mean
from steelyard.prompts.conversation import flaw_in, is_messages, messages_in, transcript_of
from steelyard.scorers.sql_runs import READ_COLUMNS
from steelyard.sql.catalog import ddl_of, holds_rows
from steelyard.sql.golds import joined_golds
from steelyard.sql.results import Database, EngineName, LocalEngine
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.databases import DatabaseSource, databases_in
from steelyard.types import Message, Sample

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
    defects.extend(reading.faults(row))
    values = {role.name: _text(reading, row, role.name, defects) for role in ROLES if role.name != "cluster"}
    values["cluster"] = cluster_of(row, reading.layout)
    for role in ("question", "sql"):
        if not values[role] and reading.layout.column(role) is not None and len(defects) == before:
            defects.append(reading.defect(f"blank {role}", row, role, f"the {_WORDS[role]} is blank"))
    if databases is not None:
        name = values["db_id"]
        if name and name not in databases:
            near = did_you_mean(name, databases)
            message = f"there is no database {name[:60]!r}{near if near[:1] == ':' else ''}"
            defects.append(reading.defect("unknown database", row, "db_id", message))
        elif not name and not values["schema"] and "" not in databases:
            message = "it names no database and has no schema, so its SQL cannot be run"
            defects.append(reading.defect("no database", row, "db_id", message))
    turns = messages_in(reading.cell(row, "question")) or ()
    if turns and (flaw := flaw_in(turns)):
        defects.append(reading.defect("blank question", row, "question", flaw))
    return SqlQuestion(**values, turns=tuple(turns)) if len(defects) == before else None


_WORDS: Final[Mapping[str, str]] = {"question": "question", "sql": "SQL"}


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


DIALECTS: Final[Mapping[EngineName, str]] = MappingProxyType(
    {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "mysql": "MySQL"}
)
"""What a prompt calls an engine."""

_FILLS: Final = re.compile(
    r"\b(?:insert|replace)\s+(?:or\s+\w+\s+|ignore\s+)?into\b|\binsert\s+\[|\bcopy\b[^;]*\bfrom\s+stdin\b|\bas\s*\(?\s*(?:select|values)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Text2SqlSamples:
    """Samples in the order of the dataset; each iteration reads the rows again, none is held.

    `metadata` always has the keys `schema` (CREATE statements), `db_id`, `evidence`, `dialect`, each
    "" where the dataset says nothing, and `position`: the row's, counted from 0 over all files whatever is left out.

    Args:
        readings: the tables.
        bad: (position of the table, number of the row) of rows that are left out.
        selected: positions among the sound rows.
        count: how many are selected.
        schemas: db_id -> CREATE statements, for rows without a schema of their own.
        dialects: db_id -> dialect, for databases that are files.
        dialect: of all others.
    """

    readings: Sequence[OpenTable]
    bad: Container[tuple[int, int]]
    selected: Container[int]
    count: int
    schemas: Mapping[str, str]
    dialects: Mapping[str, str]
    dialect: str

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Sample]:
        return (sample for _, sample in self.located())

    def located(self) -> Iterator[tuple[str, Sample]]:
        """Yield each sample with the place of its row: file, sheet and line."""
        yielded = 0
        for sound, (reading, row, position) in enumerate(_sound_rows(self.readings, self.bad)):
            if sound not in self.selected:
                continue
            question = read_row(reading, row, None, [])
            if question is None:
                raise DataError(f"{reading.table.location(row.number)} changed while it was being read; start again")
            yielded += 1
            yield reading.table.location(row.number), self._sample(reading, row, question, position)
            if yielded == self.count:
                return

    def _sample(self, reading: OpenTable, row: Row, question: SqlQuestion, position: int) -> Sample:
        return Sample(
            question.id or reading.prefix + reading.table.row_id(row.number),
            list(question.turns) or question.question,
            question.sql,
            group=question.group,
            cluster=question.cluster,
            metadata={
                **reading.unused.values(row),
                "schema": question.schema or self.schemas.get(question.db_id, ""),
                "db_id": question.db_id,
                "evidence": question.evidence,
                "dialect": self.dialects.get(question.db_id, self.dialect),
                "position": position,
                **reading.table.origin,
            },
        )


@dataclass(frozen=True, slots=True)
class Text2SqlData:
    """A dataset of questions with their SQL, with its counts and notes.

    Args:
        samples: re-iterable; memory stays flat for files that stream.
        skipped: rows left out for a defect; above 0 only with `skip_bad`.
        defects: every defect found, in order.
        mapping: role -> column of the first table, as a person names it.
        databases: db_id -> how many samples, in order of first appearance; "" for samples without one.
        comparable: whether any sample has data that two queries can run on: a database, or a schema with INSERT.
        notes: hidden sheets left out, an unusual encoding, missing databases, fewer samples than asked for.
        readings: each table with its layout.
    """

    samples: Text2SqlSamples
    skipped: int
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    databases: Mapping[str, int]
    comparable: bool
    notes: tuple[str, ...]
    readings: tuple[OpenTable, ...]

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.samples)


def load_text2sql(
    files: SampleFiles,
    *,
    databases: DatabaseSource | None = None,
    engine: LocalEngine = "sqlite",
    resolve: Callable[[str], str] = str,
) -> Text2SqlData:
    """Read and check a whole dataset of questions with their SQL.

    The schema of a sample is its row's, else that of its database, read once per database.

    Args:
        files: which rows.
        databases: a folder of `<db_id>/<db_id>.sqlite` or `<db_id>.sqlite` (.db, .duckdb), or servers; None where rows
            bring their own schema.
        engine: of samples whose database is not a file.
        resolve: replaces references in the addresses of servers by their values.

    Raises:
        ConfigError: a file, sheet, column or folder does not exist.
        DataError: a file or database cannot be read; rows have defects and `skip_bad` is off (the message lists up to
            20); or no sound row is left.
    """
    # Unsafe, as the statements on the databases are ours and the files are the user's; generated SQL on an engine that
    # cannot be sandboxed, or by a role that may write, is refused before the run.
    with Sandbox(workers=1, unsafe=True, resolve=resolve) as sandbox:
        by_name = None if databases is None else databases_in(databases, sandbox)
        return _loaded(files, by_name, engine, sandbox)


def _loaded(
    files: SampleFiles, by_name: Mapping[str, Database] | None, engine: LocalEngine, sandbox: Sandbox
) -> Text2SqlData:
    tables, notes = read_tables(files)
    if not tables:
        raise DataError(f"{files.names}: no sheet with a filled cell")
    unused = UnusedColumns()
    unused.expected |= READ_COLUMNS
    readings = tuple(map(open_reading, tables, repeat(files), id_prefixes(files, tables), repeat(unused)))
    for reading in readings if by_name is not None and "" not in by_name else ():
        check_places(reading)
    check = _Text2SqlCheck(readings, by_name)
    if not check.rows and not check.defects:
        raise DataError(f"{readings[0].table.title}: there is no row below its header")
    if not check.rows or (check.defects and not files.skip_bad):
        refuse(check.defects)
    selected = files.selected(len(check.rows))
    chosen = [row for sound, row in enumerate(check.rows) if sound in selected]
    schemas = _schemas({row.db_id for row in chosen if not row.has_schema}, by_name or {}, sandbox)
    filled = _filled(chosen, by_name or {}, sandbox)
    counts = Counter(row.db_id for row in chosen)
    samples = Text2SqlSamples(
        readings,
        frozenset(check.bad),
        selected,
        len(chosen),
        schemas,
        {name: _dialect(by_name[name], sandbox) for name in counts if by_name and name in by_name},
        DIALECTS[engine],
    )
    comparable = filled or any(row.has_data for row in chosen if not (by_name and row.db_id in by_name))
    notes = (
        *notes,
        *notes_on_columns(readings),
        *about_selection(files, len(chosen), check.skipped),
        *_notes_on_databases(chosen, by_name, comparable=comparable),
    )
    described = readings[0].layout.describe()
    return Text2SqlData(samples, check.skipped, tuple(check.defects), described, counts, comparable, notes, readings)


def _sound_rows(readings: Sequence[OpenTable], bad: Container[tuple[int, int]]) -> Iterator[tuple[OpenTable, Row, int]]:
    """Every row that is not bad, with its position over all tables."""
    before = 0
    for index, reading in enumerate(readings):
        position = -1
        for position, row in numbered_rows(reading):
            if (index, row.number) not in bad:
                yield reading, row, before + position
        before += position + 1


def _dialect(database: Database, sandbox: Sandbox) -> str:
    return DIALECTS[database.engine] if database.server is None else sandbox.check_server(database.server)


def _schemas(names: set[str], by_name: Mapping[str, Database], sandbox: Sandbox) -> dict[str, str]:
    """The CREATE statements of each wanted database that is known.

    Raises:
        DataError: databases that cannot be read, all of them.
    """
    files = {name: by_name[name] for name in sorted(names) if name in by_name}
    if not files:
        return {}
    schemas: dict[str, str] = {}
    defects: list[str] = []
    for name, database in files.items():
        try:
            schemas[name] = ddl_of(sandbox, database)
        except (DataError, ConfigError, ScorerError) as error:
            defects.append(str(error))
    if defects:
        raise DataError("databases that cannot be read", defects)
    return schemas


def _filled(chosen: Sequence[_Sound], by_name: Mapping[str, Database], sandbox: Sandbox) -> bool:
    """Whether any database of the rows holds a row."""
    names = sorted({row.db_id for row in chosen if row.db_id in by_name})
    return any(holds_rows(sandbox, by_name[name]) for name in names)


def _notes_on_databases(
    chosen: Sequence[_Sound], by_name: Mapping[str, Database] | None, *, comparable: bool
) -> Iterator[str]:
    schemaless = sum(1 for row in chosen if not row.has_schema)
    if by_name is None and schemaless:
        names = sorted({row.db_id for row in chosen if row.db_id})
        detail = f" (they name {', '.join(names[:3])}{' ...' if len(names) > 3 else ''})" if names else ""
        detail += ": their SQL cannot be run"
        yield f"{schemaless} samples have no schema and there is no folder of databases{detail}"
    if not comparable:
        yield "no sample has data: whether the SQL runs is scored, results cannot be compared"


class _Sound(NamedTuple):
    """A row without defects: its database, whether it has a schema of its own, and whether that schema has data."""

    db_id: str
    has_schema: bool
    has_data: bool


class _Text2SqlCheck:
    """One pass over all rows: which are bad, and facts about the others."""

    def __init__(self, readings: Sequence[OpenTable], by_name: Mapping[str, Database] | None) -> None:
        self.bad: set[tuple[int, int]] = set()
        self.skipped = 0
        self.rows: list[_Sound] = []
        self.defects: list[Defect] = []
        self._known = by_name
        self._ids: dict[str, str] = {}
        for index, reading in enumerate(readings):
            for _, row in numbered_rows(reading):
                if reading.leaves_out(row):
                    self.bad.add((index, row.number))
                    continue
                reading.unused.see(row)
                self._add(index, reading, row)

    def _add(self, index: int, reading: OpenTable, row: Row) -> None:
        refuse_many(self.defects)
        before = len(self.defects)
        question = read_row(reading, row, self._known, self.defects)
        if question and question.id:
            location = reading.table.location(row.number, reading.layout.column("id"))
            earlier = self._ids.setdefault(question.id, location)
            if earlier != location:
                message = f"the same id as {earlier}: {question.id[:40]!r}"
                self.defects.append(reading.defect("duplicate id", row, "id", message))
        if question is None or len(self.defects) > before:
            self.skipped += 1
            self.bad.add((index, row.number))
        else:
            has_data = _FILLS.search(question.schema) is not None
            self.rows.append(_Sound(intern(question.db_id), bool(question.schema), has_data))
