"""The values that go into a sandbox and come out: databases, limits, tables, failures."""

# Why it is so, and what was rejected: docs/decisions/sql-table-files.md

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from steelyard.constraints import Within
from steelyard.errors import ConfigError
from steelyard.sql.server_address import Server, ServerEngine

LocalEngine = Literal["sqlite", "duckdb"]
"""What runs in the worker itself, on files and scratch databases."""
EngineName = Literal[LocalEngine, ServerEngine]
FailureKind = Literal["denied", "timeout", "memory", "too_large", "constraint", "error"]
Part = Literal["script", "create", "query"]


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Limits of one statement and of comparing its result.

    Args:
        timeout_s: seconds of wall time; it has ended, or is ended, at most 1.5 s later.
        max_rows: rows of a result.
        max_bytes: bytes of a result, counted as text, each cell as 8 at least.
        memory_mib: MiB that the engine may hold.
        max_cells: cells of a result, the parts of lists and maps among them; also of a table that is compared.
        compare_timeout_s: seconds of CPU time that comparing a sample's results may take in your own process.
    """

    timeout_s: Annotated[float, Within(0.05, 3600)] = 30.0
    max_rows: Annotated[int, Within(1)] = 200_000
    max_bytes: Annotated[int, Within(1000)] = 32 * 2**20
    memory_mib: Annotated[int, Within(64, 65536)] = 512
    max_cells: Annotated[int, Within(1)] = 500_000
    compare_timeout_s: Annotated[float, Within(0.05, 3600)] = 10.0


@dataclass(frozen=True, slots=True)
class Database:
    """What a statement runs on: a private copy of a file, a scratch database in memory, or a server.

    Args:
        engine: what reads it.
        file: a database file, which is never opened itself: a copy is, read-only; for DuckDB also a folder of tables
            (see `table_files`). None: a scratch database.
        script: statements that build the scratch database (CREATE, INSERT ...), any number; "" leaves it empty.
        now: the moment that its functions of the current time return, ISO 8601 in UTC; "" is the system's clock.
        server: where it is, of the same engine; None for what is no server's.
        changes: whether the statement may change it, on a copy of its own; the result is then what it changed, see
            `steelyard.sql.engines.engine`.
    """

    engine: EngineName = "sqlite"
    file: Path | None = None
    script: str = ""
    now: str = ""
    server: Server | None = None
    changes: bool = False


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows as an engine returned them.

    Args:
        columns: the names that the engine gives.
        rows: each as wide as `columns`. Cells are None, bool, int, float (NaN and infinity included), str, bytes,
            Decimal, date, time, datetime, timedelta or UUID; of nested types a list or dict of these.
        types: the engine's names of the columns' types; () where it tells none, as SQLite.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SqlFailure:
    """Why a query has no result; a failure of the SQL, not of the program.

    Args:
        kind: `denied` (it is not one statement, or may not do what it wants to), `timeout`, `memory`, `too_large`
            (rows, bytes or cells), `constraint` (a changing statement violates one), or `error` (the engine's own:
            syntax, no such table ...).
        message: the engine's, or ours; one line for a person.
        part: which part failed: the database's `script`, the `create` statement or the `query`.
    """

    kind: FailureKind
    message: str
    part: Part = "query"


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of one query: either `table` or `failure`; `seconds` of wall time in the worker."""

    table: ResultTable | None
    failure: SqlFailure | None = None
    seconds: float = 0.0


def plain_cell(cell: Any) -> Any:
    """Convert a cell to Python's own types, from numpy scalars and arrays, pandas' missing values and subclasses."""
    kind = type(cell)
    if kind.__name__ in {"NAType", "NaTType"}:
        return None
    if kind.__module__ == "numpy":
        return _of_numpy(cell)
    if isinstance(cell, bytearray | memoryview):
        return bytes(cell)
    return str.__str__(cell) if isinstance(cell, str) else cell


def _of_numpy(cell: Any) -> Any:
    if hasattr(cell, "dtype") and cell.dtype.kind == "M":
        cell = cell.astype("datetime64[us]")
    plain = cell.tolist()
    # An extended float gives itself back.
    return float(plain) if type(plain).__module__ == "numpy" else plain


TableFormat = Literal["csv", "json", "parquet"]

FORMATS: Final[Mapping[str, TableFormat]] = MappingProxyType(
    {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
)
"""Ending of a file, in small letters, and what is in it."""


def holds_tables(folder: Path) -> bool:
    """Whether a folder has a file that is a table."""
    return any(path.suffix.lower() in FORMATS and path.is_file() for path in folder.iterdir())


def table_files(folder: Path) -> dict[str, Path]:
    """The files of a folder by the names of their tables, in the order of these names.

    Raises:
        ConfigError: two files would make one table, as DuckDB does not tell capitals from small letters in names.
    """
    tables: dict[str, Path] = {}
    folded: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in FORMATS or not path.is_file():
            continue
        other = folded.setdefault(path.stem.casefold(), path)
        if other is not path:
            raise ConfigError(f"{folder}: {other.name} and {path.name} would both be the table {path.stem}")
        tables[path.stem] = path
    return tables
