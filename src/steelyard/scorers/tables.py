"""Scores a predicted table, or predicted SQL by what it returns, against the wanted one.

Who is to blame decides where a score goes. SQL of the target that fails, runs out of time or is denied is 0; output
that is no table is `unparsed`; a reference that is missing or cannot be run leaves nothing to compare with, so nothing
applies. Two results without rows are equal and say so: flag `both_empty`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.scorers.database_digest import about_databases
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.evaluator import check_task
from steelyard.tables.locate import check_folder, database_ids, engines_in, find_database
from steelyard.tables.measure import ALL_METRICS, Measure, RuleName, Ties
from steelyard.tables.queries import EQUAL_TEXT, as_run, equal_texts, of_table, ordered
from steelyard.tables.reading import (
    TableText,
    blocks_of,
    is_missing,
    looks_like_table,
    read_notation,
    read_table,
)
from steelyard.tables.rules import check_rules, metric_names
from steelyard.tables.shapes import shape_problem
from steelyard.tables.sides import Side, all_right, ties_of, weigh
from steelyard.types import Output, Sample, Score

_STOPPED: Final = frozenset({"content_filter", "refusal"})
_EXECUTION: Final = "execution_accuracy"
_LARGE: Final = 2_000
"""Rows from which a table is weighed in a thread: 200,000 take seconds, in which no other sample could go on."""


@dataclass(frozen=True, slots=True)
class TableMetrics:
    """How close a table is to the wanted one: cell precision and recall, tuple cardinality, constraint and order.

    The reference is a table (rows, or `{"columns": [...], "rows": [...]}`) or SQL that is run on the database that
    `metadata["db_id"]` names. The output is a table, its JSON text (also in a fenced block), or with `task: SP` SQL.

    Args:
        task: `QA` (the output is a table) or `SP` (it is SQL).
        rules: whose rules; `steelyard` by default, see docs/tables.md.
        databases: folder of `<id>/<id>.sqlite` or `<id>.sqlite` (.sqlite3, .db, .duckdb); None: no SQL is run.
        metrics: which; empty is all.
        limits: of each query.

    >>> import asyncio
    >>> score = TableMetrics(metrics=("cell_recall",))
    >>> found = asyncio.run(score(Sample("1", "", [["a"], ["b"]]), Output('[["a"]]'), Sandbox()))
    >>> [(one.name, one.value) for one in found]
    [('cell_recall', 0.5)]
    """

    over: ClassVar[Mapping[str, str]] = MappingProxyType(
        {name: "scored" if name == "tuple_order" else "all" for name in ALL_METRICS}
    )
    """A reply that holds no table counts as 0, which is the middle of what `tuple_order` can be, not its least."""

    task: Literal["QA", "SP"] = "QA"
    rules: RuleName = "steelyard"
    databases: Path | None = None
    metrics: tuple[str, ...] = ()
    limits: SqlLimits = SqlLimits()

    @property
    def score_names(self) -> tuple[str, ...]:
        """The scores that it gives, in order."""
        return tuple(self.metrics) or ALL_METRICS

    @property
    def labelled(self) -> tuple[str, ...]:
        """The score whose verdict has a name."""
        names = self.score_names
        return (_EXECUTION if _EXECUTION in names else names[0],)

    @property
    def primary(self) -> str:
        """The score that headlines show."""
        return self.labelled[0]

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown task, rule set or metric, or a limit out of its range.
        """
        check_task(self.task)
        check_rules(self.rules)
        metric_names(self.score_names)
        if len(set(self.score_names)) < len(self.score_names):
            raise ConfigError(f"metrics names one of them twice: {', '.join(self.score_names)}")
        self.limits.check()

    def prepare(self, sandbox: Sandbox) -> None:
        """Look at the folder of databases and at the engines that they need.

        Raises:
            ConfigError: there is no such folder, no database in it, SQL is to be run without one, or an engine is
                not installed or cannot be held here.
        """
        if self.databases is None:
            if self.task == "SP":
                raise ConfigError("task SP runs SQL: name the folder of its databases (databases: ...)")
            return
        check_folder(self.databases)
        if not database_ids(self.databases):
            raise ConfigError(f"databases: {self.databases} holds no database, as <id>/<id>.sqlite or <id>.sqlite")
        for engine in sorted(engines_in(self.databases)):
            sandbox.check(engine)

    def manifest(self) -> dict[str, Any]:
        """What the databases hold: a run cannot go on with others."""
        return about_databases(self.databases)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Weigh the output against `sample.reference`.

        Raises:
            ConfigError: `metadata["db_id"]` names no database.
        """
        reference = sample.reference
        if is_missing(reference) or reference == "":
            return self._all_alike("not_applicable", "the sample has no reference")
        if self.task == "SP":
            return await self._weigh_queries(sample, output, sandbox)
        read = self._read(output.value)
        if read.kind:
            return self._unread(read, output)
        ties: Ties | None = None
        if isinstance(reference, str) and not looks_like_table(reference):
            database = self._database(sample)
            if database is None:
                return self._all_alike(
                    "not_applicable", "the reference is SQL, and there are no databases to run it on"
                )
            wanted = await self._run(sandbox, database, reference)
            counts: bool | None = ordered(reference, self.rules, database.engine)
            ties = ties_of(wanted, reference, database.engine)
        else:
            wanted, counts = self._given(reference), of_table(self.rules)
        return self._scores(await self._weigh(wanted, Side.given(read.rows, self.rules), ordered=counts, ties=ties), {})

    def _given(self, reference: Any) -> Side:
        """A reference that is a table or its text; what is neither is left to the metrics, which say so."""
        if isinstance(reference, str):
            with suppress(ValueError):
                reference = read_notation(reference)
        return Side.given(reference, self.rules)

    def _read(self, value: Any) -> TableText:
        """The output's table; by the rules `steelyard` of an even shape as well."""
        read = read_table(value)
        problem = "" if read.kind or self.rules != "steelyard" else shape_problem(read.rows)
        return TableText(None, "wrong_shape", f"the output is no table: {problem}") if problem else read

    async def _weigh_queries(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        if not isinstance(sample.reference, str):
            return self._all_alike("not_applicable", "task SP compares with SQL, and the reference is none")
        query, problem = _query(output.value)
        if problem:
            return self._unread(TableText(None, problem, "the output holds no SQL"), output)
        database = self._database(sample)
        if database is None:
            return self._all_alike("not_applicable", "there are no databases to run the SQL on")
        columns = {"columns": {"sql": query}}
        if equal_texts(sample.reference, query, self.rules):
            counts = ordered(sample.reference, self.rules, database.engine, unrun=True)
            return self._scores(all_right(self.rules, self.score_names, ordered=counts, reason=EQUAL_TEXT), columns)
        wanted = await self._run(sandbox, database, sample.reference)
        found = await self._run(sandbox, database, query)
        counts = ordered(sample.reference, self.rules, database.engine)
        detail = {**columns, "kind": found.kind} if found.failure and not wanted.failure else columns
        ties = ties_of(wanted, sample.reference, database.engine)
        return self._scores(await self._weigh(wanted, found, ordered=counts, ties=ties), detail)

    def _database(self, sample: Sample) -> Database | None:
        return None if self.databases is None else find_database(self.databases, sample.metadata.get("db_id"))

    async def _run(self, sandbox: Sandbox, database: Database, query: str) -> Side:
        return Side.of(await sandbox.arun(database, as_run(query, self.rules), limits=self.limits), self.rules)

    async def _weigh(
        self, target: Side, prediction: Side, *, ordered: bool | None, ties: Ties | None
    ) -> dict[str, Measure]:
        work = partial(
            weigh, target, prediction, rules=self.rules, metrics=self.score_names, ordered=ordered, ties=ties
        )
        large = max(_rows(target), _rows(prediction)) > _LARGE
        return await asyncio.to_thread(work) if large else work()

    def _scores(self, measures: Mapping[str, Measure], detail: Mapping[str, Any]) -> Sequence[Score]:
        label = _label(measures[self.labelled[0]], detail)
        return [
            _score(name, measures[name], {**detail, "label": label} if name in self.labelled else detail)
            for name in self.score_names
        ]

    def _unread(self, read: TableText, output: Output) -> Sequence[Score]:
        finish = str(output.metadata.get("finish", ""))
        if finish in _STOPPED and read.kind == "empty":
            return self._all_alike("refused", "a content filter stopped the reply")
        if finish == "length":
            return self._all_alike("unparsed", "the reply was cut off before its table was whole", "truncated")
        return self._all_alike("unparsed", read.reason, read.kind)

    def _all_alike(
        self, outcome: Literal["not_applicable", "unparsed", "refused"], reason: str, kind: str = ""
    ) -> Sequence[Score]:
        detail = {"kind": kind} if kind else {}
        named = {**detail, "label": outcome.replace("_", " ")}
        return [
            Score(name, None, outcome=outcome, reason=reason, detail=named if name in self.labelled else detail)
            for name in self.score_names
        ]


def _rows(side: Side) -> int:
    return len(side.table) if isinstance(side.table, Sized) else 0


def _score(name: str, measure: Measure, detail: Mapping[str, Any]) -> Score:
    flagged = {**detail, "flags": list(measure.flags)} if measure.flags else detail
    if measure.value is None:
        return Score(name, None, outcome="not_applicable", reason=measure.reason, detail=flagged)
    passed = measure.value == 1 if name == _EXECUTION else None
    return Score(name, measure.value, passed=passed, reason=measure.reason, detail=flagged)


def _label(measure: Measure, detail: Mapping[str, Any]) -> str:
    """What reports count: in a word, what came of the sample."""
    if measure.value is None:
        return "not applicable"
    if "kind" in detail:
        return f"SQL failed: {detail['kind']}"
    if measure.flags:
        return ", ".join(measure.flags).replace("_", " ")
    return "equal" if measure.value == 1 else "different"


def _query(value: Any) -> tuple[str, str]:
    """(the SQL of an output, what is wrong): a text, its only fenced block, or what an object has under `sql`."""
    text = value.get("sql", value.get("query")) if isinstance(value, Mapping) else value
    if is_missing(text):
        return "", "empty"
    if not isinstance(text, str):
        return "", "no_sql"
    blocks = {one.strip() for one in blocks_of(text)}
    if len(blocks) > 1:
        return "", "several"
    query = (blocks.pop() if blocks else text).strip()
    return query, "" if query else "empty"
