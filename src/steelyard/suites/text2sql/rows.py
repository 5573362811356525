"""Reads files into samples of the `text2sql` suite; all defects are reported in one pass before the first call."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from sys import intern
from types import MappingProxyType
from typing import Final, NamedTuple

from steelyard.data.load import id_prefixes, read_tables
from steelyard.data.rows import OpenTable, about_selection, notes_on_columns
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, refuse, refuse_many
from steelyard.data.unused_columns import UnusedColumns
from steelyard.errors import ConfigError, DataError, ScorerError
from steelyard.scorers.golds import READ_COLUMNS
from steelyard.sql.results import Database, EngineName, LocalEngine
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import ddl_of
from steelyard.sql.tables_read import holds_rows
from steelyard.suites.text2sql.reading import SqlQuestion, check_places, numbered_rows, open_reading, read_row
from steelyard.tables.locate import DatabaseSource, databases_in
from steelyard.types import Sample

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
