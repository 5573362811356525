"""Reads files into samples of the `text2sql` suite; all defects are reported in one pass before the first call.

Public formats are recognised by their headers alone: question, answer, context (create-context sets); question, query,
db_id (Spider, CSpider, DuSQL); question_id, db_id, question, evidence, SQL, difficulty (BIRD); lines of `SQL<TAB>db_id`
(gold.sql), which have no question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout, find_layout
from steelyard.data.headers import Role, all_names
from steelyard.data.rows import OpenTable, RowDataset, open_tables, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, Table, is_blank, render
from steelyard.data.unread import UnusedColumns
from steelyard.errors import ConfigError, DataError, ScorerError, did_you_mean
from steelyard.prompts.conversation import is_messages
from steelyard.scorers.sql_runs import READ_COLUMNS
from steelyard.sql.catalog import ddl_of, holds_rows
from steelyard.sql.golds import joined_golds
from steelyard.sql.results import Database, EngineName, LocalEngine
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.databases import DatabaseSource, databases_in
from steelyard.types import Sample

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


def _layout(table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    # A file of SQL lines has no questions.
    lines = table.keyed and table.name.lower().endswith(_LINES)
    roles = [replace(role, required=False) if lines and role.name == "question" else role for role in roles]
    return find_layout(_texts_of(table, files), roles, files)


def _without_blank(table: Table) -> Table:
    """A table without its blank objects or lines, each of which keeps its position: predictions are matched by line."""
    blank = (row.number for row in table if row.number not in table.faults and is_blank(row))
    return replace(table, left_out=table.left_out.union(blank)) if table.keyed else table


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


def _sample(
    table: OpenTable, row: Row, sample: Sample, defects: list[Defect], *, known: Mapping[str, Database] | None
) -> Sample:
    """The sample of a row, whose schema is the row's own; `known` are the databases, None without a folder of them."""
    before = len(defects)
    asks = table.layout.column("question") is not None
    question = table.required_question(row, defects) if asks else ""
    sql, schema, db_id, evidence = (_text(table, row, role, defects) for role in ("sql", "schema", "db_id", "evidence"))
    if not sql and len(defects) == before:
        defects.append(table.defect("blank sql", row, "sql", "the SQL is blank"))
    if known is not None and db_id and db_id not in known:
        near = did_you_mean(db_id, known)
        message = f"there is no database {db_id[:60]!r}{near if near[:1] == ':' else ''}"
        defects.append(table.defect("unknown database", row, "db_id", message))
    elif known is not None and not db_id and not schema and "" not in known:
        message = "it names no database and has no schema, so its SQL cannot be run"
        defects.append(table.defect("no database", row, "db_id", message))
    metadata = {"schema": schema, "db_id": db_id, "evidence": evidence, "dialect": "", **sample.metadata}
    return replace(sample, input=question, reference=sql, metadata=metadata)


def _text(reading: OpenTable, row: Row, role: str, defects: list[Defect]) -> str:
    value = reading.cell(row, role)
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
class Text2SqlData(RowDataset):
    """A dataset of questions with their SQL.

    `metadata` of a sample always has the keys `schema` (CREATE statements), `db_id`, `evidence`, `dialect`, each ""
    where the dataset says nothing, and `position`.

    Args:
        schemas: db_id -> CREATE statements, for rows without a schema of their own.
        databases: db_id -> how many samples, in order of first appearance; "" for samples without one.
        comparable: whether any sample has data that two queries can run on: a database, or a schema with INSERT.
    """

    schemas: Mapping[str, str]
    databases: Mapping[str, int]
    comparable: bool


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
    unused = UnusedColumns()
    unused.expected |= READ_COLUMNS
    tables, notes = open_tables(files, ROLES, layout_of=_layout, unused=unused)
    for table in tables if by_name is not None and "" not in by_name else ():
        check_places(table)
    tables = tuple(replace(table, table=_without_blank(table.table)) for table in tables)
    data = read_rows(files, ROLES, partial(_sample, known=by_name), opened=(tables, notes))
    known = by_name or {}
    counts = Counter(str(sample.metadata["db_id"]) for sample in data.samples)
    schemaless = Counter(str(sample.metadata["db_id"]) for sample in data.samples if not sample.metadata["schema"])
    schemas = _schemas(set(schemaless), known, sandbox)
    of_databases = [known[name] for name in sorted(counts) if name in known]
    comparable = any(holds_rows(sandbox, database) for database in of_databases) or any(
        _FILLS.search(sample.metadata["schema"]) for sample in data.samples if sample.metadata["db_id"] not in known
    )
    dialects = {name: _dialect(known[name], sandbox) for name in counts if name in known}
    samples = tuple(_with_schema(sample, schemas, dialects, DIALECTS[engine]) for sample in data.samples)
    notes = (*data.notes, *_notes_on_databases(schemaless if by_name is None else Counter(), comparable=comparable))
    return Text2SqlData(
        samples, data.defects, data.mapping, notes, data.columns, data.places, schemas, counts, comparable
    )


def _with_schema(sample: Sample, schemas: Mapping[str, str], dialects: Mapping[str, str], dialect: str) -> Sample:
    """The sample with the schema of its database, where it has none of its own, and with its dialect."""
    db_id = sample.metadata["db_id"]
    schema = sample.metadata["schema"] or schemas.get(db_id, "")
    return replace(sample, metadata={**sample.metadata, "schema": schema, "dialect": dialects.get(db_id, dialect)})


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


def _notes_on_databases(schemaless: Counter[str], *, comparable: bool) -> Iterator[str]:
    """Notes on samples, by the databases that they name, whose schema nobody knows, and on a dataset without data."""
    if schemaless:
        names = sorted(filter(None, schemaless))
        detail = f" (they name {', '.join(names[:3])}{' ...' if len(names) > 3 else ''})" if names else ""
        detail += ": their SQL cannot be run"
        yield f"samples without a schema or a folder of databases: {schemaless.total()}{detail}"
    if not comparable:
        yield "no sample has data: whether the SQL runs is scored, results cannot be compared"
