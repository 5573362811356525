"""What goes into a sandbox and what comes out: values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import expect_number

EngineName = Literal["sqlite", "duckdb"]
FailureKind = Literal["denied", "timeout", "memory", "too_large", "error"]
Part = Literal["script", "create", "query"]


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one statement may use.

    Args:
        timeout_s: seconds of wall time; it has ended, or is ended, at most 1.5 s later.
        max_rows: rows of a result.
        max_bytes: bytes of a result, counted as text.
        memory_mib: MiB that the engine may hold.
    """

    timeout_s: float = 30.0
    max_rows: int = 200_000
    max_bytes: int = 32 * 2**20
    memory_mib: int = 512

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: which limit, what was expected and what came.
        """
        expect_number("timeout_s", self.timeout_s, 0.05, 3600)
        expect_number("max_rows", self.max_rows, 1, whole=True)
        expect_number("max_bytes", self.max_bytes, 1000, whole=True)
        expect_number("memory_mib", self.memory_mib, 64, 65536, whole=True)


@dataclass(frozen=True, slots=True)
class Database:
    """What a statement runs on: a private copy of a file, or a scratch database in memory.

    Args:
        engine: what reads it.
        file: a database file, which is never opened itself: a copy is, read-only. None: a scratch database.
        script: statements that build the scratch database (CREATE, INSERT ...), any number; "" leaves it empty.
    """

    engine: EngineName = "sqlite"
    file: Path | None = None
    script: str = ""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows as an engine returned them.

    Args:
        columns: the names that the engine gives.
        rows: each as wide as `columns`. Cells are None, bool, int, float (NaN and infinity included), str, bytes,
            Decimal, date, time, datetime, timedelta or UUID; of nested types a list or dict of these.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SqlFailure:
    """Why there is no result: an outcome of whoever wrote the SQL, never a crash.

    Args:
        kind: `denied` (it is not one statement, or may not do what it wants to), `timeout`, `memory`, `too_large`
            (rows or bytes), or `error` (the engine's own: syntax, no such table ...).
        message: the engine's, or ours; one line for a person.
        part: which part failed: the database's `script`, the `create` statement or the `query`.
    """

    kind: FailureKind
    message: str
    part: Part = "query"


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of one query: either `table` or `failure`; `seconds` of wall time in the worker."""

    table: ResultTable | None
    failure: SqlFailure | None = None
    seconds: float = 0.0
