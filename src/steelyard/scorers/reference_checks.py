"""Runs every reference of a dataset before it is used, and lists what is wrong with it or doubtful about it.

    errors      it cannot be run, its schema cannot be built, or the dataset names columns of its result that it does
                not have: the sample cannot be scored
    warnings    it returns nothing, reads empty tables alone, has no unique result, asks for the current time, sorts
                numbers that are stored as text, fills a LIMIT with NULLs, or leaves other data each time it is run: a
                verdict on it may mean little; or a table of its schema that it does not need cannot be built

What was found is remembered in one SQLite file of a person's cache, by a digest of the statement, the content of the
database and the settings, so that a second check of the same data takes no time. The file holds no query and no data.
A file that cannot be read or written is done without.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, Self

from steelyard.errors import DataError, shortened
from steelyard.files import make_private_folder
from steelyard.plain_json import field_values
from steelyard.scorers.open_references import decided_parts
from steelyard.scorers.sql_runs import (
    READ_COLUMNS,
    UNSTEADY_ROWS,
    Bench,
    SampleDatabase,
    condition_columns,
    digest_of_file,
    golds_of,
    ignores_order,
)
from steelyard.sql.changed_data import told_unsteady, without_count
from steelyard.sql.clock import reads_clock
from steelyard.sql.equality import CellEquality
from steelyard.sql.golds import gold_queries, gold_statements
from steelyard.sql.order import extremes, numbers_as_text, order_doubts, ordering_of
from steelyard.sql.results import Database, ResultTable, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.verdict import compare_results
from steelyard.types import Sample

FindingKind = Literal[
    "cannot_run",
    "schema_fails",
    "tables_left_out",
    "returns_nothing",
    "empty_tables",
    "no_unique_result",
    "depends_on_clock",
    "text_as_number",
    "null_in_limit",
    "golds_disagree",
    "changes_differ",
    "columns_wrong",
]
TITLES: Final[dict[FindingKind, str]] = {
    "cannot_run": "cannot be run",
    "schema_fails": "schema cannot be built",
    "columns_wrong": "the columns that count are not columns of the result",
    "tables_left_out": "tables that this engine cannot build, and that the reference does not need",
    "returns_nothing": "no row returned, as by a wrong answer",
    "empty_tables": "only empty tables read, so that equal results mean nothing",
    "no_unique_result": "no unique result, so that another right answer may differ from it",
    "depends_on_clock": (
        "current time asked for, so that the result changes (scoring: {now: ...} pins it, but not on PostgreSQL)"
    ),
    "text_as_number": "numbers stored as text are sorted or compared, 10 before 9",
    "null_in_limit": "a LIMIT filled with NULLs, which sort first",
    "golds_disagree": "acceptable answers that return different rows",
    "changes_differ": "data left that differ each time (current time, random numbers), so that they are not compared",
}
"""Each kind of finding as a heading for people, errors first."""
ERRORS: Final[frozenset[FindingKind]] = frozenset({"cannot_run", "schema_fails", "columns_wrong"})

_RULES: Final = 9
"""Number of the rules below; another one forgets what was remembered."""
_AT_ONCE: Final = 64
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class ReferenceFinding:
    """What is wrong with the reference of a sample, or doubtful about it.

    Args:
        sample: its sample's id.
        place: the sample's location in its dataset; "" where that is not known.
        kind: what it is, for a program.
        message: details for a person, with the engine's own words where there are any.
    """

    sample: str
    place: str
    kind: FindingKind
    message: str

    @property
    def is_error(self) -> bool:
        """Whether the sample cannot be scored."""
        return self.kind in ERRORS

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place and self.place != self.sample else ""
        return f"{self.sample}{where}{f': {self.message}' if self.message else ''}"

    def json_fields(self) -> dict[str, Any]:
        """With whether it is an error."""
        return field_values(self) | {"error": self.is_error}


async def check_references(
    samples: Iterable[tuple[str, Sample, SampleDatabase]],
    limits: SqlLimits,
    equality: CellEquality,
    memory: ReferenceMemory | None = None,
    resolve: Callable[[str], str] = str,
) -> list[ReferenceFinding]:
    """Run every reference; one that occurs again on the same data is run once.

    Samples without a reference, and those without any database or schema, are passed over.

    Args:
        samples: place, sample and database of each.
        limits: of each query.
        equality: which cells are equal.
        memory: of earlier checks.
        resolve: see `Sandbox`.

    Raises:
        ConfigError: an engine is not installed or cannot be confined here.
    """
    known: dict[str, Remembered] = {}
    findings: list[ReferenceFinding] = []
    has_data = False
    waiting = _with_queries(samples)
    with Sandbox(resolve=resolve) as sandbox:
        settings = json.dumps([_RULES, *_versions(), astuple(limits), astuple(equality)])
        while chunk := list(islice(waiting, _AT_ONCE)):
            keys = [_key(source.database, sample, settings) for _, sample, source in chunk]
            new = {key: entry for key, entry in zip(keys, chunk, strict=True) if key not in known}
            known |= {key: found for key in new if memory and (found := memory.get(key)) is not None}
            missing = [(key, entry) for key, entry in new.items() if key not in known]
            checks = (
                _checked(Bench.of(sandbox, limits, equality), source.database, sample)
                for _, (_, sample, source) in missing
            )
            for (key, (_, sample, source)), found in zip(missing, await _gathered(checks), strict=True):
                known[key] = found
                if memory and _lasts(source.database, sample.reference):
                    memory.put(key, found)
            for key, (place, sample, _) in zip(keys, chunk, strict=True):
                findings += (ReferenceFinding(sample.id, place, kind, text) for kind, text in known[key])  # type: ignore[arg-type]
                has_data = has_data or not any(kind in ERRORS or kind == "empty_tables" for kind, _ in known[key])
    # A dataset without any row says so once, and not for each sample.
    return [finding for finding in findings if has_data or finding.kind not in {"empty_tables", "returns_nothing"}]


async def _gathered(checks: Iterable[Any]) -> list[Remembered]:
    slots = asyncio.Semaphore(max(2, os.cpu_count() or 1))

    async def limited(check: Any) -> Remembered:
        async with slots:
            found: Remembered = await check
            return found

    return await asyncio.gather(*map(limited, checks))


def _with_queries(
    samples: Iterable[tuple[str, Sample, SampleDatabase]],
) -> Iterator[tuple[str, Sample, SampleDatabase]]:
    for place, sample, source in samples:
        database = source.database
        has_database = database.file is not None or database.server is not None or database.script.strip()
        if isinstance(sample.reference, str) and sample.reference.strip() and has_database and not source.problem:
            yield place, sample, source


def _key(database: Database, sample: Sample, settings: str) -> str:
    digest = blake2b(digest_size=16)
    place = database.server.url + database.server.schema if database.server else ""
    content = digest_of_file(database.file) if database.file is not None else database.script.encode("utf-8", "replace")
    columns = repr([sample.metadata.get(name) for name in sorted(READ_COLUMNS)])
    for part in (settings, database.engine, database.now, place, str(database.changes), columns, str(sample.reference)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(content)
    return digest.hexdigest()


def _versions() -> tuple[str, str, str]:
    installed = []
    for package in ("steelyard", "duckdb"):
        try:
            installed.append(version(package))
        except PackageNotFoundError:
            installed.append("")
    return installed[0], installed[1], sqlite3.sqlite_version


def _lasts(database: Database, query: str) -> bool:
    """Whether another check would find the same: not where the clock decides, or the rows of a server may change.

    What took too long would so again.
    """
    return database.server is None and (bool(database.now) or not reads_clock(query, database.engine))


async def _checked(bench: Bench, database: Database, sample: Sample) -> Remembered:
    """What is wrong with a reference: with each of its queries, between them, and with the columns named beside it."""
    found = [*await _checked_queries(bench, database, str(sample.reference))]
    if not READ_COLUMNS.isdisjoint(sample.metadata):
        try:
            ignores_order(sample)
            for gold in golds_of(sample, database.engine):
                query = gold_queries(str(gold.reference), database.engine)[0]
                if (table := await bench.table(database, query)) is not None:
                    condition_columns(gold, table)
        except DataError as error:
            found.append(("columns_wrong", str(error).removeprefix(f"sample {sample.id}: ")))
    return found


async def _checked_queries(bench: Bench, database: Database, reference: str) -> Remembered:
    queries = gold_statements(reference, database.engine)
    if len(queries) < 2:
        return await _checked_query(bench, database, gold_queries(reference, database.engine)[0])
    found: list[tuple[str, str]] = []
    tables: list[ResultTable | None] = []
    for number, statement in enumerate(queries, 1):
        query = gold_queries(statement, database.engine)[0]
        texts = await _checked_query(bench, database, query)
        found += [(kind, f"gold {number}: {text}" if text else f"gold {number}") for kind, text in texts]
        tables.append(await bench.table(database, query))
    if (first := tables[0]) is not None:
        for number, table in enumerate(tables[1:], 2):
            if table is not None and (difference := await _difference(bench, first, table)):
                found.append(("golds_disagree", f"gold 1 and gold {number}: {difference}"))
    return found


async def _difference(bench: Bench, first: ResultTable, other: ResultTable) -> str:
    """How two golds differ in rows; "" where they agree, or return other columns on purpose: `id` instead of `name`."""
    if len(first.rows) != len(other.rows):
        return f"{len(first.rows):,} rows against {len(other.rows):,}"
    pairs = zip(first.columns, other.columns, strict=False)
    names = [{one.casefold(), two.casefold()} for one, two in pairs if one.isidentifier() and two.isidentifier()]
    if len(first.columns) != len(other.columns) or any(len(pair) > 1 for pair in names):
        return ""
    verdict = await bench.compare(first, other, partial(compare_results, first, other, equality=bench.equality))
    return "" if verdict.right else verdict.reason


async def _checked_query(bench: Bench, database: Database, query: str) -> Remembered:
    execution = await bench.run(database, query)
    if execution.failure is not None or execution.table is None:
        failure = execution.failure
        kind = "schema_fails" if failure and failure.part == "script" else "cannot_run"
        return [(kind, failure.message if failure else "no result")]
    table = execution.table
    if database.changes:
        return await _about_changes(bench, database, query, table)
    found: list[tuple[FindingKind, str]] = []
    if left_out := bench.sandbox.left_out(database):
        found.append(("tables_left_out", "; ".join(f"{name}: {why}" for name, why in left_out.items())))
    if emptiness := await bench.emptiness(database, query):
        found.append(("empty_tables", emptiness.partition(", so that")[0]))
    elif not table.rows:
        found.append(("returns_nothing", ""))
    parts = await decided_parts(bench, database, query, table)
    found += [("no_unique_result", "; ".join(part.text for part in parts))] if parts else []
    if not database.now and (asked := reads_clock(query, database.engine)):
        found.append(("depends_on_clock", _short(asked)))
    about_order = await _about_order(bench, database, query, table)
    if not any(kind == "text_as_number" for kind, _ in about_order):
        about_order += await _about_extremes(bench, database, query)
    return [*found, *about_order]


async def _about_changes(bench: Bench, database: Database, query: str, changed: ResultTable) -> Remembered:
    """Doubts about a reference that changes data."""
    if not without_count(changed).rows:
        return [("returns_nothing", "it changes nothing")]
    unsteady = await bench.unsteady(database, query, changed)
    told = UNSTEADY_ROWS if unsteady is None else told_unsteady(unsteady)
    return [("changes_differ", told)] if told else []


async def _about_extremes(bench: Bench, database: Database, query: str) -> list[tuple[FindingKind, str]]:
    """The first min() or max() that compares numbers stored as text."""
    for shown, compared in extremes(query, database.engine):
        table = await bench.table(database, compared)
        if table is not None and numbers_as_text(table):
            return [("text_as_number", _short(shown))]
    return []


async def _about_order(
    bench: Bench, database: Database, query: str, table: ResultTable
) -> list[tuple[FindingKind, str]]:
    """Doubts about the keys of an ORDER BY at the top level."""
    ordering = ordering_of(query, engine=database.engine, columns=table.columns)
    if ordering is None or not ordering.keys:
        return []
    whole = await bench.table(database, ordering.unlimited_query or ordering.keyed_query) or table
    doubts = await bench.compare(table, whole, partial(order_doubts, ordering, table, whole))
    return [(kind, _short(key)) for kind, key in doubts.items()]


_MOST: Final = 200_000
"""Entries that are kept, about 20 MB; beyond it all are forgotten."""
Remembered = Sequence[Sequence[str]]


class ReferenceMemory:
    """What was found of references before; usable as a context manager, at whose end it is written.

    Args:
        path: of the file, which is made with its folder where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._connection: sqlite3.Connection | None = None
        self._found: dict[str, str] = {}
        with contextlib.suppress(OSError, sqlite3.Error):
            make_private_folder(path.parent)
            # Made by hand, as SQLite would make it with the permissions of the umask.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
            if path.stat().st_uid == os.geteuid():
                self._connection = sqlite3.connect(path, timeout=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str) -> Remembered | None:
        """What was found under a digest; None where it is not known."""
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
            if self._connection and (
                row := self._connection.execute("SELECT body FROM found WHERE key = ?", (key,)).fetchone()
            ):
                return [tuple(map(str, entry)) for entry in json.loads(row[0])]
        return None

    def put(self, key: str, found: Remembered) -> None:
        """Remember what was found under a digest."""
        self._found[key] = json.dumps(found)

    def close(self) -> None:
        """Write what was found in one transaction: one for each reference would take longer than the reference."""
        if self._connection is None:
            return
        with contextlib.closing(self._connection), contextlib.suppress(sqlite3.Error), self._connection as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS found (key TEXT PRIMARY KEY, body TEXT NOT NULL)")
            [(count,)] = connection.execute("SELECT count(*) FROM found").fetchall()
            if count > _MOST:
                connection.execute("DELETE FROM found")
            connection.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", self._found.items())
        self._connection = None


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), _SHOWN)
