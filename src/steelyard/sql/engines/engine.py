"""The interface between an engine and its worker, and what engines share; they are imported in workers only.

`fetch` reads a result within its limits of rows, bytes and cells, never all at once.

What a statement changed is the rows that it added and removed in each table, and the objects of the schema. Two
statements leave the same state behind where they change the same, as both begin on the same data. A result of changes
has the columns of `COLUMNS`: `added` or `removed`, the table, and a whole row of it as a list, each as often as it was;
of tables, views, indexes and triggers themselves the table is `SCHEMA`. The first row is `affected`, with the number of
rows that the engine counts.
"""

# Why it is so, and what was rejected: docs/decisions/sql-changes.md

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from steelyard.sql.extent import count_cells
from steelyard.sql.results import EngineName, FailureKind, Part, ResultTable, SqlLimits


@dataclass(frozen=True, slots=True)
class EngineQuery:
    """A query with its database, script and limits.

    Args:
        engine: which.
        file: path of the private copy; "" is a scratch database in memory.
        script: builds the scratch database; any number of statements, of a dataset.
        create: one CREATE statement of the model's that is run before the query; "" is none.
        query: one reading statement.
        limits: of each statement.
        now: what its functions of the current time return; "" is the system's clock.
        schema: in which a server looks up names; "" is what the role says.
        changes: whether `query` may change the database; see `Database`.
    """

    engine: EngineName
    file: str
    script: str
    create: str
    query: str
    limits: SqlLimits
    now: str = ""
    schema: str = ""
    changes: bool = False


class SqlStop(Exception):
    """Raised by an engine: why there is no result; it becomes a SqlFailure.

    Args:
        kind: see SqlFailure.
        message: see SqlFailure.
        part: see SqlFailure.
        before_running: the statement was refused before any of it ran: a syntax error, an unknown table or column.
    """

    def __init__(self, kind: FailureKind, message: str, part: Part = "query", *, before_running: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.part = part
        self.before_running = before_running


class Engine(Protocol):
    """An engine inside a worker process."""

    def refusal(self) -> str:
        """Why the limits cannot be enforced on this build; "" if they can."""

    def warm(self) -> None:
        """Do ahead what the processes forked from this one can inherit."""

    @property
    def keeps_database(self) -> bool:
        """Whether the database of the last query is open for a next one on the same."""

    def execute(self, work: EngineQuery) -> ResultTable:
        """Build the database, run `create` and the query, and fetch the result within the limits.

        Nothing is left open but what `keeps_database` reports. The caller has set the limits of the operating system,
        and kills the process after the deadline.

        Raises:
            SqlStop: there is no result.
        """


def catalog_query(name: str) -> str:
    """A query on the catalogue of an engine, by the name of its file in `sql/catalog_queries`."""
    return (Path(__file__).parent.parent / "catalog_queries" / f"{name}.sql").read_text("utf-8")


@cache
def guard_lists(engine: EngineName) -> Mapping[str, frozenset[str]]:
    """The lists of `guard_lists.toml` for an engine: functions, pragmas, kinds of statements, each by its name."""
    with (Path(__file__).parent / "guard_lists.toml").open("rb") as file:
        return {name: frozenset(words) for name, words in tomllib.load(file)[engine].items()}


def expect_one(count: int, part: Part = "query", *, before_running: bool = False) -> None:
    """Refuse a text that does not hold exactly one statement.

    Args:
        count: of its statements.
        part: that the text is.
        before_running: see `SqlStop`.

    Raises:
        SqlStop: `denied`.
    """
    if count != 1:
        held = f"{count} statements" if count else "no statement"
        raise SqlStop("denied", f"denied: {held}; one statement is expected", part, before_running=before_running)


def check_text(text: str, part: Part = "query", most: int | None = None) -> None:
    """Refuse a statement that no engine reads as it stands.

    Args:
        text: the statement.
        part: that it is, or is of.
        most: characters that it may have.

    Raises:
        SqlStop: `denied` for a character NUL, which one engine reads as a blank and others as an end; `error` where it
            is too long, or cannot be encoded.
    """
    if "\0" in text:
        raise SqlStop("denied", "denied: a NUL character in the statement", part)
    if most is not None and len(text) > most:
        raise SqlStop("error", f"a statement of {len(text):,} characters; {most:,} are the most", part)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SqlStop("error", "the statement holds half a character (a lone surrogate)", part) from None


_STEP: Final = 512
_STEP_BYTES: Final = 2**18
_LEAST: Final = 8
"""Bytes that a cell counts for at least: an empty text takes as much room as a number wherever it is held."""

_Row = tuple[Any, ...]


def fetch(
    fetchmany: Callable[[int], Sequence[_Row]],
    limits: SqlLimits,
    convert: Callable[[_Row], _Row] | None = None,
    *,
    first: int = 1,
) -> list[_Row]:
    """Fetch all rows of a cursor within the limits.

    Steps grow while rows are small, so that a step of wide rows stays near 256 KiB.

    Args:
        fetchmany: of a cursor.
        limits: `max_rows`, `max_bytes` and `max_cells`.
        convert: what to make of each row; its result is not measured.
        first: rows of the first step; above 1 a step costs a call of a server, and one that is not filled is the last.

    Raises:
        SqlStop: `too_large`, one row or one step after a limit is passed.
    """
    rows: list[tuple[Any, ...]] = []
    total_bytes, cells, step = 0, 0, first
    while chunk := fetchmany(step):
        if len(rows) + len(chunk) > limits.max_rows:
            raise SqlStop("too_large", f"more than {limits.max_rows:,} rows")
        # Before bytes: a list of millions is counted at once, and measured part by part.
        cells += count_cells(chunk, limits.max_cells - cells)
        if cells > limits.max_cells:
            progress = f", after {len(rows):,} rows" if rows else ""
            raise SqlStop("too_large", f"more than {limits.max_cells:,} cells, parts of lists counted{progress}")
        size = size_of(chunk)
        total_bytes += size
        rows.extend(chunk if convert is None else map(convert, chunk))
        if total_bytes > limits.max_bytes:
            raise SqlStop("too_large", f"more than {limits.max_bytes:,} bytes, after {len(rows):,} rows")
        if first > 1 and len(chunk) < step:
            break
        step = max(1, min(_STEP, step * 2, _STEP_BYTES * len(chunk) // max(1, size)))
    return rows


def listed(value: Any) -> Any:
    """A value with arrays and rows without names, which are tuples, as lists."""
    if isinstance(value, (list, tuple)):
        return [listed(part) for part in value]
    if isinstance(value, dict):
        return {key: listed(part) for key, part in value.items()}
    return value


def size_of(rows: Sequence[tuple[Any, ...]]) -> int:
    """Size of some rows in bytes: texts in UTF-8, blobs by their bytes, 8 for other cells and at least.

    >>> size_of([("ab", 1), ("é" * 10, None)])
    44
    """
    return sum(_size(cell) for cell in chain.from_iterable(rows))


def _size(cell: Any) -> int:
    kind = type(cell)
    if kind is str:
        return max(_LEAST, len(cell) if cell.isascii() else len(cell.encode("utf-8", "surrogatepass")))
    if kind is int or kind is float or cell is None:
        return _LEAST
    if isinstance(cell, (bytes, bytearray)):
        return max(_LEAST, len(cell))
    if isinstance(cell, dict):
        return _LEAST + sum(_size(key) + _size(part) for key, part in cell.items())
    if isinstance(cell, (list, tuple)):
        return _LEAST + sum(map(_size, cell))
    return _LEAST


COLUMNS: Final = ("change", "table", "row")
AFFECTED: Final = "affected"
SCHEMA: Final = "(schema)"
_COUNTED: Final = frozenset({int, str, float, bytes, bool, type(None), Decimal, date, datetime, time, timedelta, UUID})

_Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """All that can be read of some tables.

    Args:
        tables: their rows, by name.
        schema: a row for each table, view, index and trigger, with its definition.
    """

    tables: Mapping[str, _Rows]
    schema: _Rows


def read_state(
    names: Sequence[tuple[str, str]], schema: _Rows, read: Callable[[str, SqlLimits], _Rows], limits: SqlLimits
) -> DatabaseState:
    """Read all rows of some tables, within the limits for all of them together.

    Args:
        names: of the tables, and each as a query writes it.
        schema: see `DatabaseState`.
        read: returns the rows of a query.
        limits: rows, bytes and cells.

    Raises:
        SqlStop: `too_large`.
    """
    tables: dict[str, _Rows] = {}
    left = limits
    for name, written in names:
        try:
            rows = read(f"SELECT * FROM {written}", left)  # noqa: S608  # quoted
        except SqlStop as stop:
            if stop.kind == "too_large":
                what = "the tables that a changing statement touches are too large to compare"
                raise SqlStop("too_large", f"{what}: {stop.message}") from None
            raise
        tables[name] = rows
        left = replace(
            left,
            max_rows=max(0, left.max_rows - len(rows)),
            max_bytes=max(0, left.max_bytes - size_of(rows)),
            max_cells=max(0, left.max_cells - sum(map(len, rows))),
        )
    return DatabaseState(tables, schema)


def differences(before: DatabaseState, after: DatabaseState, affected: int) -> ResultTable:
    """What was added and removed between two states.

    >>> old, new = DatabaseState({"t": [(1,), (2,)]}, []), DatabaseState({"t": [(2,), (3,)]}, [])
    >>> differences(old, new, 1).rows
    [('affected', '', [1]), ('removed', 't', [1]), ('added', 't', [3])]
    """
    rows: list[tuple[Any, ...]] = [(AFFECTED, "", [affected])]
    for name in sorted({*before.tables, *after.tables}):
        rows += _changed(name, before.tables.get(name, ()), after.tables.get(name, ()))
    rows += _changed(SCHEMA, before.schema, after.schema)
    return ResultTable(COLUMNS, rows)


def _changed(name: str, before: _Rows, after: _Rows) -> Iterator[tuple[Any, ...]]:
    """The rows of one table that differ."""
    keys: list[list[Any]] = [list(before), list(after)]
    if keys[0] == keys[1]:
        return
    # Nearly all rows are told apart by Python's own equality, for which 1 is 1.0: so it is for the verdict.
    known: dict[Any, tuple[Any, ...]] = {}
    if not (_is_plain(before) and _is_plain(after)):
        keys = [list(map(repr, rows)) for rows in (before, after)]
        known = dict(zip(chain(*keys), chain(before, after), strict=True))
    counted, then = map(Counter, keys)
    for key in (counted - then).elements():
        yield "removed", name, list(known.get(key, key))
    for key in (then - counted).elements():
        yield "added", name, list(known.get(key, key))


def _is_plain(rows: _Rows) -> bool:
    """Whether rows can be counted as they are: no list among them, and no NaN, which is not equal to itself."""
    cells = list(chain.from_iterable(rows))
    return set(map(type, cells)) <= _COUNTED and not any(cell != cell for cell in cells)  # noqa: PLR0124  # NaN


class DrawnColumn(NamedTuple):
    """A column whose numbers come from a sequence: its own, or those of another table's that it refers to."""

    table: str
    position: int
    sequence: str
    is_own: bool


def renumbered(
    changes: ResultTable, columns: Iterable[DrawnColumn], drawn: Mapping[str, tuple[int, int]]
) -> ResultTable:
    """The changes with drawn numbers in the order of the rows' other cells, without gaps.

    Statements that add the same rows draw in any order, and for rows that then meet a conflict too.

    Args:
        changes: of `differences`.
        columns: that numbers of sequences come into.
        drawn: the first and the last number that a sequence gave to the statement.

    >>> changes = ResultTable(COLUMNS, [("added", "t", [7, "b"]), ("added", "t", [9, "a"]), ("added", "u", [9])])
    >>> columns = DrawnColumn("t", 0, "s", True), DrawnColumn("u", 0, "s", False)
    >>> renumbered(changes, columns, {"s": (6, 9)}).rows
    [('added', 't', [7, 'b']), ('added', 't', [6, 'a']), ('added', 'u', [6])]
    """
    of_table: dict[str, list[DrawnColumn]] = defaultdict(list)
    for column in columns:
        of_table[column.table].append(column)
    owners: list[tuple[str, str, int, str]] = []
    cells_of: list[dict[int, str]] = []
    for change, table, row in changes.rows:
        cells = [
            column
            for column in of_table[table]
            if change == "added"
            and isinstance(row[column.position], int)
            and (limits := drawn.get(column.sequence))
            and limits[0] <= row[column.position] <= limits[1]
        ]
        cells_of.append({column.position: column.sequence for column in cells})
        others = repr([cell for at, cell in enumerate(row) if at not in cells_of[-1]])
        owners += [(table, others, row[column.position], column.sequence) for column in cells if column.is_own]
    following = {sequence: count(limits[0]) for sequence, limits in drawn.items()}
    numbers = {(sequence, number): next(following[sequence]) for _, _, number, sequence in sorted(owners)}
    rows = []
    for (change, table, row), sequences in zip(changes.rows, cells_of, strict=True):
        new = {at: numbers.get((sequence, row[at]), row[at]) for at, sequence in sequences.items()}
        rows.append((change, table, [new.get(at, cell) for at, cell in enumerate(row)] if new else row))
    return replace(changes, rows=rows)


_BESIDE_MARKS: Final = re.compile(r" ?([^\w\s\"`\[\]]) ?")


def plain_definition(text: str) -> str:
    """The text of a definition without differences of blanks and, outside of quotes, of case.

    >>> plain_definition("CREATE  INDEX i ON t (a, 'A b')") == plain_definition("create index I on T(a,'A b')")
    True
    """
    pieces = text.split("'")
    return "'".join(
        piece if at % 2 else _BESIDE_MARKS.sub(r"\1", " ".join(piece.casefold().split()))
        for at, piece in enumerate(pieces)
    )
