"""Runs the SQL of one sample: chooses the database, runs reference and prediction, and compares the results.

The manifest holds a digest of the folder of databases: a run cannot be resumed on other data.

Of several golds, all are accepted answers. Spider 2.0 says beside each which of its columns count (`condition_cols`,
0-based; none: all of them), and whether the order of rows does not (`ignore_order`); further columns of a prediction
are then accepted. Source: xlang-ai/Spider2, evaluation_suite/evaluate.py. Deviation: the columns of a row stay
together, where the original compares each column for itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, DataError
from steelyard.plain_json import parsed_or
from steelyard.replies.sql import SqlReading, Wanted
from steelyard.scorers.sql_replies import check_form
from steelyard.sql.accuracy import bird, qatch, spider, spider_order_matters, spider_query
from steelyard.sql.changed_data import Unsteady, unsteady_cells, without_count
from steelyard.sql.clock import check_now
from steelyard.sql.declared_types import DECLARED, declared_columns, judge_declared, rules_in_question
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import ComparisonStop, Effort, count_cells
from steelyard.sql.golds import gold_queries
from steelyard.sql.order import order_doubts, ordering_of
from steelyard.sql.results import (
    Database,
    EngineName,
    Execution,
    LocalEngine,
    ResultTable,
    SqlFailure,
    SqlLimits,
    table_files,
)
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import is_address
from steelyard.sql.syntax import (
    CATALOG,
    all_tables,
    any_row,
    any_row_of_tables,
    plain_name,
    tables_behind,
    tables_read,
)
from steelyard.sql.verdict import ResultVerdict, judge
from steelyard.tables.databases import (
    DatabaseSource,
    check_source,
    database_ids,
    find_database,
    has_default,
    prepare_databases,
)
from steelyard.types import Sample, Score

T = TypeVar("T")

_MAY_FILL: Final = re.compile(r"\b(?:insert|replace|select|values|copy|from)\b", re.IGNORECASE)
_MANY_CELLS: Final = 20_000
_NO_CHANGE: Final = "the reference changes nothing in the sample's database, so that an equal state says nothing"
UNSTEADY_ROWS: Final = "two runs of the reference on the same data change different rows"
_LATER: Final = timedelta(seconds=61)
_NO_ROWS: Final = "the sample's database has no rows, so that equal results would not mean anything"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSettings:
    """How the SQL of a reply is read, and where it runs; the keys that all scorers of SQL have.

    Args:
        form: what a reply has to be, as of the scorer `sql`.
        key: likewise.
        databases: likewise.
        engine: likewise.
        limits: of each query.
        now: as of the scorer `sql`.
    """

    form: Wanted = "auto"
    key: str = ""
    databases: DatabaseSource | None = None
    engine: LocalEngine = "sqlite"
    limits: SqlLimits = SqlLimits()
    now: str = ""

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a key beside a form, a limit out of its range, or a moment that is none.
        """
        check_form(self.form, self.key)
        check_options(self.limits)
        check_source(self.databases)
        check_now(self.now)

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the databases and all needed engines are there.

        Raises:
            ConfigError: no such folder, no database in it, an engine that is not installed or cannot be confined here,
                or a server that cannot be reached or whose role may do more than read.
        """
        sandbox.check(self.engine)
        if self.databases is not None:
            prepare_databases(self.databases, sandbox)

    def database(self, sample: Sample) -> SampleDatabase:
        """Where a sample's SQL runs; see `database_of`."""
        return database_of(sample, self.databases, self.engine, check_now(self.now))


def settings_lacking(given: Any, scoring: SqlSettings) -> dict[str, Any]:
    """The settings that a scorer or target shares with `scoring` and has at their defaults, as `scoring` has them."""
    shared = {field.name for field in fields(scoring)}
    own = [field for field in fields(given) if field.name in shared]
    return {field.name: getattr(scoring, field.name) for field in own if getattr(given, field.name) == field.default}


@dataclass(frozen=True, slots=True)
class SampleDatabase:
    """Where a sample's SQL runs: `database`, or the `problem` of the dataset that leaves none."""

    database: Database
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """The sandbox for one sample's SQL, with the scorer's limits and a shared time budget for comparisons.

    With `ignores_order` the order of the reference's rows does not count, whatever its ORDER BY says.
    """

    sandbox: Sandbox
    limits: SqlLimits
    effort: Effort
    equality: CellEquality = CellEquality()
    ignores_order: bool = False

    @classmethod
    def of(cls, sandbox: Sandbox, limits: SqlLimits, equality: CellEquality) -> Bench:
        """Start with the whole time budget."""
        return cls(sandbox, limits, Effort(limits.compare_timeout_s), equality)

    async def run(self, database: Database, query: str, create: str = "") -> Execution:
        """Run a query within the limits."""
        return await self.sandbox.arun(database, query, create=create, limits=self.limits)

    async def table(self, database: Database, query: str | None) -> ResultTable | None:
        """The result of a query; None where there is no query or no result."""
        return None if query is None else (await self.run(database, query)).table

    async def predicted(self, sample_database: SampleDatabase, reading: SqlReading) -> Execution:
        """Run the SQL of a reply: on the sample's database, or with its own CREATE on an empty one."""
        database = sample_database.database
        if not reading.create or database.server is not None:
            return await self.run(database, reading.query, reading.create)
        return await self.run(Database(database.engine, now=database.now), reading.query, reading.create)

    async def reference(self, sample_database: SampleDatabase, sample: Sample) -> ResultTable | str:
        """What the reference returns; a text says why the stage of results does not apply to the sample.

        Raises:
            ComparisonStop: its result is too large.
        """
        if sample.reference is None or not str(sample.reference).strip():
            return "the sample has no reference query"
        if not isinstance(sample.reference, str):
            return "the sample's reference is not SQL text"
        if sample_database.problem:
            return sample_database.problem
        execution = await self.run(sample_database.database, sample.reference)
        if execution.table is None:
            return _reason_of_reference(execution)
        return await self.emptiness(sample_database.database, sample.reference) or execution.table

    async def changed(self, sample_database: SampleDatabase, sample: Sample) -> tuple[ResultTable, Unsteady] | str:
        """What the reference changes, with the cells that differ each time; a text says why that cannot be compared.

        Raises:
            ComparisonStop: it changes too much.
        """
        if sample_database.problem:
            return sample_database.problem
        execution = await self.run(sample_database.database, str(sample.reference))
        if execution.table is None:
            return _reason_of_reference(execution)
        if not without_count(execution.table).rows:
            return _NO_CHANGE
        unsteady = await self.unsteady(sample_database.database, str(sample.reference), execution.table)
        return UNSTEADY_ROWS if unsteady is None else (execution.table, unsteady)

    async def unsteady(self, database: Database, query: str, changed: ResultTable) -> Unsteady | None:
        """Run a changing statement a second time, and tell what differs; see `unsteady_cells`."""
        # The clocks of SQLite and MySQL tell seconds, in which two runs would agree by chance; that of a script stands.
        if not database.now and database.engine != "postgres":
            later = (datetime.now(UTC) + _LATER).replace(tzinfo=None, microsecond=0)
            database = replace(database, now=later.isoformat())
        again = await self.table(database, query)
        return {} if again is None else unsteady_cells(changed, again)

    async def emptiness(self, database: Database, query: str) -> str:
        """Why equal results would say nothing: all tables that the query reads are empty; "" where one holds a row."""
        read = tables_read(query, database.engine)
        if database.file is None and database.server is None and not _MAY_FILL.search(database.script):
            return _NO_ROWS
        # Whether a table that a query names holds a row: one query, which decides for nearly every sample.
        rows = await self.table(database, any_row_of_tables(read, database.engine)) if read.names else None
        if rows is not None and bool(rows.rows):
            return ""
        catalog = await self.table(database, CATALOG[database.engine])
        if catalog is None:
            return ""
        if not await self._any_row(database, all_tables(catalog)):
            return _NO_ROWS
        behind = tables_behind(read, catalog, database.engine)
        if not behind or await self._any_row(database, behind):
            return ""
        names = ", ".join(map(plain_name, behind))
        return f"every table that the reference reads is empty ({names}), so that equal results would not mean anything"

    async def _any_row(self, database: Database, names: Sequence[str]) -> bool:
        """Whether any of the tables holds a row, as far as they can be read."""
        for query in any_row(names):
            rows = await self.table(database, query)
            if rows is not None and rows.rows:
                return True
        return False

    async def verdict(
        self, database: Database, queries: tuple[str, str], reference: ResultTable, predicted: ResultTable
    ) -> ResultVerdict:
        """Judge two results; what else the verdict may depend on is fetched only where it may matter.

        Args:
            database: of the sample.
            queries: the reference and the prediction; "" for one that is not known.
            reference: the reference's result.
            predicted: the prediction's.

        Raises:
            ComparisonStop: comparing them took too long.
        """
        ordering = None
        if not self.ignores_order:
            ordering = ordering_of(queries[0], engine=database.engine, columns=reference.columns)
        comparison = partial(judge, reference, ordering=ordering, limits=self.limits, equality=self.equality)
        verdict = await self.compare(reference, predicted, partial(comparison, predicted))
        if verdict.right:
            return verdict
        doubts: tuple[str, ...] = ()
        if ordering is not None:
            keyed = await self.table(database, ordering.keyed_query)
            is_limited = ordering.may_cut(len(reference.rows))
            unlimited = await self.table(database, ordering.unlimited_query) if is_limited else None
            if keyed is not None or unlimited is not None:
                comparison = partial(comparison, keyed=keyed, unlimited=unlimited)
                verdict = await self.compare(reference, predicted, partial(comparison, predicted))
            doubts = tuple(order_doubts(ordering, reference, unlimited or keyed or reference))
        if verdict.right:
            return verdict
        by_type = await self._by_declared_types(database, queries, (reference, predicted), comparison)
        return by_type or replace(verdict, flags=(*verdict.flags, *doubts))

    async def _by_declared_types(
        self,
        database: Database,
        queries: tuple[str, str],
        results: tuple[ResultTable, ResultTable],
        comparison: Callable[[ResultTable], ResultVerdict],
    ) -> ResultVerdict | None:
        """The verdict by rules on what columns are declared as; None where the results do not agree by one."""
        for rule in rules_in_question(database.engine, *results):
            if not getattr(self.equality, rule):
                continue
            listed = await self.table(database, DECLARED[rule, database.engine])
            names = {str(name) for (name,) in listed.rows} if listed is not None else set()
            first, second = (
                declared_columns(rule, query, database.engine, result, names)
                for query, result in zip(queries, results, strict=True)
            )
            by_rule = partial(judge_declared, rule, results, (first, second), comparison)
            if (verdict := await self.compare(*results, by_rule)) is not None:
                return verdict
        return None

    async def published(
        self, database: Database, queries: tuple[str, str], reference: ResultTable, predicted: ResultTable
    ) -> dict[str, bool | None]:
        """Execution accuracy by the rules of other evaluators: score name -> correct, None as `drops_distinct` says.

        Args:
            database: of the sample.
            queries: the reference and the prediction.
            reference: the reference's result.
            predicted: the prediction's.

        Raises:
            ComparisonStop: the reference without DISTINCT is too large, or comparing took too long.
        """
        order = spider_order_matters(queries[0])
        with_distinct, without_distinct = [
            [
                table if (text := spider_query(query, keep_distinct=keep, engine=database.engine)) == query
                else await self._rewritten(database, text, is_reference=query is queries[0])
                for query, table in zip(queries, (reference, predicted), strict=True)
            ]
            for keep in (True, False)
        ]  # fmt: skip
        return await self.compare(
            reference,
            predicted,
            lambda: {
                "ex_spider": _spider(without_distinct, order_matters=order),
                "ex_spider_keep_distinct": _spider(with_distinct, order_matters=order),
                "ex_bird": bird(reference, predicted),
                "ex_qatch": qatch(reference, predicted),
            },
        )

    async def drops_distinct(self, database: Database, query: str) -> bool:
        """Whether a reference still runs without its DISTINCT, as Spider's evaluator runs it: DISTINCT ON does not.

        Raises:
            ComparisonStop: its result is then too large.
        """
        text = spider_query(query, keep_distinct=False, engine=database.engine)
        return text == query or await self._rewritten(database, text, is_reference=True) is not None

    async def _rewritten(self, database: Database, query: str, *, is_reference: bool) -> ResultTable | None:
        """The result of a query as rewritten by an evaluator; stops where that of the reference is too large."""
        execution = await self.run(database, query)
        if is_reference and execution.failure is not None:
            _expect_size(execution.failure)
        return execution.table

    async def compare(self, reference: ResultTable, predicted: ResultTable, compare: Callable[[], T]) -> T:
        """Compare within the time that is left."""
        sizes = (count_cells(table.rows, _MANY_CELLS) for table in (reference, predicted))
        return await self.in_time(compare, in_thread=sum(sizes) > _MANY_CELLS)

    async def in_time(self, work: Callable[[], T], *, in_thread: bool) -> T:
        """Do some work within the time that is left; long work in a thread, so that other samples go on."""

        def timed() -> T:
            with self.effort.spend():
                return work()

        return await asyncio.to_thread(timed) if in_thread else timed()


def _spider(tables: Sequence[ResultTable | None], *, order_matters: bool) -> bool | None:
    reference, prediction = tables
    if reference is None or prediction is None:
        return None if reference is None else False
    return spider(reference, prediction, order_matters=order_matters)


def database_of(sample: Sample, databases: DatabaseSource | None, engine: LocalEngine, now: str = "") -> SampleDatabase:
    """Where a sample's SQL runs: the database that its `db_id` names, else a scratch database of its `schema`.

    Args:
        sample: whose.
        databases: folder of the files, or servers; one that is the only one is that of samples without a name too.
        engine: of a scratch database.
        now: see `Database`.
    """
    name, schema = (sample.metadata.get(key) for key in ("db_id", "schema"))
    if databases is not None and (name or has_default(databases)):
        try:
            return SampleDatabase(replace(find_database(databases, name or ""), now=now))
        except ConfigError as error:
            return SampleDatabase(Database(engine), str(error))
    return SampleDatabase(Database(engine, script=schema if isinstance(schema, str) else "", now=now))


def dataset_failure_reason(failure: SqlFailure) -> str:
    """The reason of a not-applicable score where the dataset's own SQL failed."""
    cause = "schema cannot be built" if failure.part == "script" else "reference query cannot be run"
    return f"the sample's {cause}: {failure.message}"


def _reason_of_reference(execution: Execution) -> str:
    """Why the reference has no result.

    Raises:
        ComparisonStop: its result is too large.
    """
    failure = execution.failure or SqlFailure("error", "no result")
    _expect_size(failure)
    return dataset_failure_reason(failure)


def _expect_size(failure: SqlFailure) -> None:
    if failure.kind == "too_large" and failure.part == "query":
        raise ComparisonStop("too_large", f"the reference's result is too large to compare: {failure.message}")


_HASHED_WHOLE_BYTES: Final = 64 * 2**20
_BLOCK_BYTES: Final = 2**20


def databases_manifest(source: DatabaseSource | None) -> dict[str, Any]:
    """The manifest entry of a folder of databases; empty where there is none, and for servers.

    A server's schemas are in the samples, whose digest stands in the manifest; its rows may change at any time.
    """
    if source is None or isinstance(source, Mapping) or is_address(source):
        return {}
    folder = Path(source)
    # `.` has no name, and a run resumed from elsewhere knows the whole path.
    return {"databases": {"folder": folder.resolve().name, "digest": digest_of_databases(folder)}}


def digest_of_databases(folder: Path) -> str:
    """32 hexadecimal digits over the names and contents of all databases in `folder`; "" where there is no folder.

    Of a file of more than 64 MiB its size, its first and its last MiB count: reading 30 GB before each run is worse
    than missing a change in the middle.
    """
    if not folder.is_dir():
        return ""
    digest = blake2b(digest_size=16)
    for name in database_ids(folder):
        file = find_database(folder, name).file
        if file is not None:
            digest.update(f"{name}\0{file.name}\0".encode("utf-8", "surrogatepass"))
            digest.update(digest_of_file(file))
    return digest.hexdigest()


def digest_of_file(file: Path) -> bytes:
    """16 bytes over the content of a database file or a folder of tables, as `digest_of_databases` reads it."""
    if file.is_dir():
        parts = (
            path.name.encode("utf-8", "surrogatepass") + digest_of_file(path) for path in table_files(file).values()
        )
        return blake2b(b"\0".join(parts), digest_size=16).digest()
    stat = file.stat()
    return _digest(file, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1024)
def _digest(file: Path, size: int, _mtime_ns: int) -> bytes:
    """Digest one file; cached by its size and time of change, as a manifest is made for each target."""
    digest = blake2b(str(size).encode(), digest_size=16)
    with file.open("rb") as opened:
        if size <= _HASHED_WHOLE_BYTES:
            while piece := opened.read(_BLOCK_BYTES):
                digest.update(piece)
        else:
            digest.update(opened.read(_BLOCK_BYTES))
            opened.seek(-_BLOCK_BYTES, 2)
            digest.update(opened.read(_BLOCK_BYTES))
    return digest.digest()


_CONDITION: Final = "condition_cols"
_IGNORE: Final = "ignore_order"
READ_COLUMNS: Final = frozenset({_CONDITION, _IGNORE})
"""Columns of a dataset that are followed although they have no role."""


def golds_of(sample: Sample, engine: EngineName) -> Iterator[Sample]:
    """The sample once for each query that is accepted as its answer; once as it is where it has none or one."""
    reference = sample.reference
    queries = gold_queries(reference, engine) if isinstance(reference, str) else ()
    conditions = _conditions(sample, len(queries))
    if conditions is not None:
        for query, columns in zip(queries, conditions, strict=True):
            yield replace(sample, reference=query, metadata={**sample.metadata, _CONDITION: columns})
        return
    if len(queries) < 2 and (not queries or "{" not in str(reference)):
        yield sample
        return
    yield from (replace(sample, reference=query) for query in queries)


def _conditions(sample: Sample, golds: int) -> list[Any] | None:
    """The columns that count of each gold, where the dataset lists them gold by gold; None where it does not."""
    value = _written(sample.metadata.get(_CONDITION))
    if not isinstance(value, list) or not value or not all(isinstance(columns, list) for columns in value) or not golds:
        return None
    if len(value) not in {1, golds}:
        raise DataError(f"sample {sample.id}: {_CONDITION} lists the columns of {len(value)} queries, of {golds}")
    return value * golds if len(value) == 1 else value


def _written(value: Any) -> Any:
    """What a cell of a spreadsheet says in JSON; any other value as it is."""
    is_json = isinstance(value, str) and value.strip().startswith("[")
    return parsed_or(value, value) if is_json else value


def best_of_golds(by_gold: Sequence[Sequence[Score]]) -> list[Score]:
    """For each score the first gold by which it is right, else the first by which it is scored, else the first.

    Args:
        by_gold: the same scores against each gold, the verdict on the result first.
    """
    if len(by_gold) == 1:
        return list(by_gold[0])
    best: list[Score] = []
    for scores in zip(*by_gold, strict=True):
        scored = [at for at, score in enumerate(scores) if score.outcome == "scored"]
        at = next((index for index in scored if scores[index].passed), scored[0] if scored else 0)
        score = scores[at]
        if not best:
            said = f"gold {at + 1}: {score.reason}" if score.reason else f"gold {at + 1}"
            score = replace(score, reason=said, detail={**score.detail, "gold": at + 1, "golds_tried": len(by_gold)})
        best.append(score)
    return best


def ignores_order(sample: Sample) -> bool:
    """Whether the dataset says that the order of the rows does not count."""
    value = sample.metadata.get(_IGNORE, False)
    if value in (None, ""):
        return False
    if isinstance(value, str):
        value = {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower(), value)
    if not isinstance(value, bool) and value not in (0, 1):
        raise DataError(f"sample {sample.id}: {_IGNORE} is {value!r}; true or false is expected")
    return bool(value)


def condition_columns(sample: Sample, reference: ResultTable) -> ResultTable | None:
    """The columns of the reference's result that count; None where the dataset says nothing of columns."""
    value = _written(sample.metadata.get(_CONDITION))
    if value is None or value == "":
        return None
    columns = value if isinstance(value, list) else [value]
    if not columns:
        columns = list(range(len(reference.columns)))
    if not all(type(at) is int and 0 <= at < len(reference.columns) for at in columns):
        raise DataError(
            f"sample {sample.id}: {_CONDITION} is {value!r}; "
            f"numbers from 0 to {len(reference.columns) - 1} are expected"
        )
    rows = [tuple(row[at] for at in columns) for row in reference.rows]
    types = tuple(reference.types[at] for at in columns) if reference.types else ()
    return ResultTable(tuple(reference.columns[at] for at in columns), rows, types)


def accept_extra_columns(verdict: ResultVerdict) -> ResultVerdict:
    """The verdict where further columns of the prediction do not count against it."""
    if verdict.kind != "columns_extra":
        return verdict
    if "same_but_order" in verdict.flags:
        return replace(verdict, reason=f"{verdict.reason}, in another order")
    return replace(verdict, right=True, reason=f"all columns that count are there; {verdict.reason}")
