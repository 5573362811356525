"""What is run for one sample: its database, the reference, and what only some comparisons need."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from steelyard.errors import ConfigError
from steelyard.sql.accuracy import bird, qatch, spider, spider_order_matters, spider_query
from steelyard.sql.order import ordering_of
from steelyard.sql.results import Database, EngineName, Execution, ResultTable, SqlFailure, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.statements import split
from steelyard.sql.verdict import Verdict, judge
from steelyard.tables.locate import find_database
from steelyard.text.sql_reading import SqlReading
from steelyard.types import Sample

T = TypeVar("T")

_MAY_FILL: Final = re.compile(r"\b(?:insert|replace|select|values|copy|from)\b", re.IGNORECASE)
_MAY_NOT: Final = re.compile(
    r"\b(?:delete|drop|truncate|trigger|replace|conflict|begin|start|rollback)\b", re.IGNORECASE
)
_NAME: Final = r"""(?:\w+|"[^"]*"|`[^`]*`|\[[^\]]*\])"""
_FILLS: Final = re.compile(rf"insert\s+into\s+{_NAME}(?:\.{_NAME})?\s*(?:\([^()']*\)\s*)?values\s*\(", re.IGNORECASE)
_MOST_SPLIT: Final = 100_000
"""Characters of a script that are looked through; of a longer one the engine is asked."""
_MANY_CELLS: Final = 20_000
_TABLES: Final[Mapping[EngineName, str]] = MappingProxyType(
    {
        "sqlite": """SELECT replace(name, '"', '""') FROM sqlite_master
            WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'""",
        "duckdb": """SELECT replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""')
            FROM duckdb_tables() WHERE NOT internal""",
    }
)
"""The tables of a scratch database, each as it is written between double quotes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sample's SQL runs: `database`, or the `problem` of the dataset that leaves none."""

    database: Database
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """A sandbox with the limits of one scorer."""

    sandbox: Sandbox
    limits: SqlLimits

    async def run(self, database: Database, query: str, create: str = "") -> Execution:
        """Run a query within the limits."""
        return await self.sandbox.arun(database, query, create=create, limits=self.limits)

    async def table(self, database: Database, query: str | None) -> ResultTable | None:
        """The result of a query; None where there is no query or no result."""
        return None if query is None else (await self.run(database, query)).table

    async def predicted(self, place: Place, reading: SqlReading) -> Execution:
        """Run what a reply gave: on the sample's database, or with its own CREATE on an empty one."""
        if not reading.create:
            return await self.run(place.database, reading.query)
        return await self.run(Database(place.database.engine), reading.query, reading.create)

    async def reference(self, place: Place, sample: Sample) -> Execution | str:
        """Run the reference; a text says why the stage of results does not apply to the sample."""
        if sample.reference is None or not str(sample.reference).strip():
            return "the sample has no reference query"
        if not isinstance(sample.reference, str):
            return "the sample's reference is no SQL text"
        if place.problem:
            return place.problem
        found = await self.run(place.database, sample.reference)
        if found.failure is not None:
            return about_failure(found.failure)
        if place.database.file is None and not await self.holds_rows(place.database):
            return "the sample's database holds no row, so that equal results would say nothing"
        return found

    async def holds_rows(self, database: Database) -> bool:
        """Whether any table of a scratch database holds a row."""
        if not _MAY_FILL.search(database.script):
            return False
        if _surely_fills(database.script):
            return True
        tables = await self.table(database, _TABLES[database.engine])
        names = [str(row[0]) for row in tables.rows] if tables else []
        for name in names:
            found = await self.table(database, f'SELECT 1 FROM "{name}" LIMIT 1')  # noqa: S608  # read-only, sandboxed
            if found is not None and found.rows:
                return True
        return False

    async def verdict(self, database: Database, query: str, wanted: ResultTable, found: ResultTable) -> Verdict:
        """Judge two results; keys of the order and rows behind a LIMIT are fetched only where they may matter."""
        ordering = ordering_of(query, engine=database.engine, columns=wanted.columns)
        first = await _apart(wanted, found, lambda: judge(wanted, found, ordering=ordering))
        if ordering is None or first.right:
            return first
        keyed = await self.table(database, ordering.keyed_query)
        cut = ordering.may_cut(len(wanted.rows))
        unlimited = await self.table(database, ordering.unlimited_query) if cut else None
        if keyed is None and unlimited is None:
            return first
        return await _apart(
            wanted, found, lambda: judge(wanted, found, ordering=ordering, keyed=keyed, unlimited=unlimited)
        )

    async def published(
        self, database: Database, queries: tuple[str, str], wanted: ResultTable, found: ResultTable
    ) -> dict[str, bool]:
        """Execution accuracy by the rules of others, by score name.

        Args:
            database: of the sample.
            queries: the reference and the prediction.
            wanted: the reference's result.
            found: the prediction's.
        """
        order = spider_order_matters(queries[0])
        kept, dropped = [
            [
                table if (text := spider_query(query, keep_distinct=keep, engine=database.engine)) == query
                else await self.table(database, text)
                for query, table in zip(queries, (wanted, found), strict=True)
            ]
            for keep in (True, False)
        ]  # fmt: skip
        return await _apart(
            wanted,
            found,
            lambda: {
                "ex_spider": _spider(dropped, order_matters=order),
                "ex_spider_keep_distinct": _spider(kept, order_matters=order),
                "ex_bird": bird(wanted, found),
                "ex_qatch": qatch(wanted, found),
            },
        )


def _surely_fills(script: str) -> bool:
    """Whether a script that ran has left a row: that costs no query, which each sample with a schema would pay."""
    if len(script) > _MOST_SPLIT or _MAY_NOT.search(script):
        return False
    return any(_FILLS.match(statement.text) for statement in split(script))


def _spider(tables: Sequence[ResultTable | None], *, order_matters: bool) -> bool:
    reference, prediction = tables
    if reference is None or prediction is None:
        return False
    return spider(reference, prediction, order_matters=order_matters)


def place_of(sample: Sample, databases: Path | None, engine: EngineName) -> Place:
    """Where a sample's SQL runs: the file that its `db_id` names, else a scratch database of its `schema`."""
    name, schema = (sample.metadata.get(key) for key in ("db_id", "schema"))
    if databases is not None and name:
        try:
            return Place(find_database(databases, name))
        except ConfigError as error:
            return Place(Database(engine), str(error))
    return Place(Database(engine, script=schema if isinstance(schema, str) else ""))


def about_failure(failure: SqlFailure) -> str:
    """Why nothing applies where the dataset's own SQL failed."""
    what = "schema cannot be built" if failure.part == "script" else "reference query cannot be run"
    return f"the sample's {what}: {failure.message}"


async def _apart(wanted: ResultTable, found: ResultTable, weigh: Callable[[], T]) -> T:
    """Compare large results in a thread, so that other samples go on."""
    cells = sum(len(one.rows) * max(1, len(one.columns)) for one in (wanted, found))
    return await asyncio.to_thread(weigh) if cells > _MANY_CELLS else weigh()
