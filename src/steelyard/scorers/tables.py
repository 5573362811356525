"""Scores a predicted table, or the result of predicted SQL, against the reference table.

Generated SQL that fails, times out or is denied is 0; output that is not a table is `unparsed`; where the reference is
missing or cannot be run, the scores are not applicable. Two results without rows are equal and get the flag
`both_empty`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.scorers.open_references import (
    about_results,
    decided_parts,
    judge_open,
)
from steelyard.scorers.reference_checks import ReferenceFinding, ReferenceMemory, check_references
from steelyard.scorers.sql_replies import sql_reply
from steelyard.scorers.sql_runs import Bench, SampleDatabase, SqlSettings, databases_manifest, golds_of
from steelyard.sql.clock import check_now
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import ComparisonStop, count_cells
from steelyard.sql.results import Database, SqlFailure
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.verdict import judge, verdict_of_failure
from steelyard.tables.databases import find_database, has_default, prepare_databases
from steelyard.tables.measure import ALL_METRICS, Measure, RuleName, Verdict
from steelyard.tables.native import shape_problem
from steelyard.tables.reading import (
    TableText,
    is_missing,
    looks_like_table,
    read_notation,
    read_table,
)
from steelyard.tables.rules import RuleSet, TableSide, compare_equal_queries, compare_sides, metric_names, rule_set
from steelyard.types import COMPARISON, LACKS, NOT_COMPARED, STOPPED, Output, Sample, Score, ScoreInfo, StageInfo

_EXECUTION: Final = "execution_accuracy"
_SAME: Final = frozenset({"same", "columns permuted"})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_ORDER: Final = "tuple_order"
_TOO_LARGE: Final = "too_large"
_FORMAT_INCORRECT: Final = "format_incorrect"
_NO_DATABASE: Final = "there are no databases to run the SQL on: no folder is named, and the sample has no schema"
_BRACKETS_PER_CELL: Final = 4
"""Brackets and commas per cell up to which a text is parsed as a table."""
_LARGE: Final = 10_000
"""Cells from which tables are compared in a thread: 500,000 take seconds and would block all other samples."""


@dataclass(frozen=True, slots=True)
class TableMetrics(SqlSettings):
    """Similarity of a table to the reference: cell precision and recall, tuple cardinality, constraint and order.

    The reference is a table (rows, or `{"columns": [...], "rows": [...]}`) or SQL that is run on the database that
    `metadata["db_id"]` names. The output is a table, its JSON text (also in a fenced block), or with `task: SP` SQL.

    Args:
        task: `QA` (the output is a table) or `SP` (it is SQL).
        rules: whose rules; `steelyard` by default, see docs/reference/tables.md.
        databases: folder of `<id>/<id>.sqlite` or `<id>.sqlite` (.sqlite3, .db, .duckdb), or servers, as of the scorer
            `sql`. Of samples without one, SQL runs on the database that `metadata["schema"]` builds.
        form: of the SQL in a reply, as of the scorer `sql`; the suite `text2sql` gives its own.
        key: likewise.
        engine: of databases that are built from a schema.
        metrics: which; empty is all.
        limits: of each query, and of the tables that are compared.
        equality: which cells are equal without being identical, by the rules `steelyard`; see
            docs/explanation/verdicts.md.
        now: what functions of the current time return, as of the scorer `sql`.

    >>> import asyncio
    >>> score = TableMetrics(metrics=("cell_recall",))
    >>> scores = asyncio.run(score(Sample("1", "", [["a"], ["b"]]), Output('[["a"]]'), Sandbox()))
    >>> [(score.name, score.value) for score in scores]
    [('cell_recall', 0.5)]
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name="tables")

    task: Literal["QA", "SP"] = "QA"
    rules: RuleName = "steelyard"
    metrics: tuple[str, ...] = ()
    equality: CellEquality = CellEquality()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The metrics in order; the headline, with verdicts, is execution accuracy or else the first of the rules."""
        return tuple(self._info(name) for name in self._names)

    def _info(self, name: str) -> ScoreInfo:
        return ScoreInfo(
            name,
            (-1.0 if name == _ORDER and self.rules == "steelyard" else 0.0, 1.0),
            threshold=1.0 if name == _EXECUTION else None,
            # A reply without a table would count as 0, which is the middle of what `tuple_order` can be, not its least.
            denominator="answered" if name == _ORDER else "all",
            headline=name == self._main,
            named_verdicts=name == self._main,
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.metrics) or ALL_METRICS

    @property
    def _main(self) -> str:
        if _EXECUTION in self._names and rule_set(self.rules).has_accuracy:
            return _EXECUTION
        return next((name for name in self._names if name != _EXECUTION), self._names[0])

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: an unknown metric, a key beside a form, or a moment that is none.
        """
        SqlSettings.check(self)
        rule_set(self.rules)
        metric_names(self._names)
        if len(set(self._names)) < len(self._names):
            raise ConfigError(f"metrics names a metric twice: {', '.join(self._names)}")

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the databases, and for SQL on a schema the engine, are there; see `SqlSettings.prepare`."""
        if self.databases is not None:
            prepare_databases(self.databases, sandbox)
        elif self.task == "SP":
            sandbox.check(self.engine)

    def check_references(
        self,
        samples: Iterable[tuple[str, Sample]],
        memory: ReferenceMemory | None = None,
        resolve: Callable[[str], str] = str,
    ) -> list[ReferenceFinding]:
        """Run the SQL of every sample, and list what is wrong or doubtful about it; calls no model.

        Args:
            samples: each with its place in the dataset, "" where that is not known.
            memory: of earlier checks.
            resolve: see `Sandbox`.

        Raises:
            ConfigError: an engine is not installed or cannot be confined here, or a sample names no database.
        """
        located = (
            (place, sample, SampleDatabase(database))
            for place, sample in samples
            if isinstance(sample.reference, str)
            and not looks_like_table(sample.reference)
            and (database := self._sample_database(sample)) is not None
        )
        return asyncio.run(check_references(located, self.limits, self.equality, memory, resolve))

    def manifest(self) -> dict[str, Any]:
        """A digest of the databases: a run cannot be resumed with others."""
        return databases_manifest(self.databases)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Compare the output with `sample.reference`.

        Raises:
            ConfigError: `metadata["db_id"]` names no database.
        """
        if is_missing(sample.reference) or sample.reference == "":
            return self._same_outcome("not_applicable", "the sample has no reference")
        measure = self._measure_queries if self.task == "SP" else self._measure_tables
        try:
            return await measure(sample, output, sandbox)
        except ComparisonStop as stop:
            return self._same_outcome("not_applicable", str(stop), stop.kind, NOT_COMPARED)

    async def _measure_tables(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        reference = sample.reference
        table_text = self._table_text(output.value)
        if table_text.kind not in {"", _TOO_LARGE}:
            return self._unparsed(table_text, output)
        bench, database = Bench.of(sandbox, self.limits, self.equality), None
        if isinstance(reference, str) and not looks_like_table(reference):
            database = self._sample_database(sample)
            if database is None:
                return self._same_outcome("not_applicable", f"the reference is SQL: {_NO_DATABASE}")
            expected = await self._run(bench, database, reference)
            ordered: bool | None = self._rules.ordered(reference, database.engine)
        else:
            expected, ordered = self._reference_table(reference), self._rules.ordered_tables
        predicted = (
            _too_large(table_text.reason)
            if table_text.kind
            else self._bounded(TableSide.given(table_text.rows, self._rules))
        )
        expected = self._bounded(expected)
        source = None if database is None else (database, (reference, ""))
        verdict, about = await self._verdict(bench, source, (expected, predicted))
        measures = await self._measure(bench, (expected, predicted), ordered=ordered, verdict=verdict)
        return self._scores(measures, {"kind": predicted.kind} if predicted.kind else {}, about)

    @property
    def _rules(self) -> RuleSet:
        return replace(rule_set(self.rules), equality=self.equality)

    def _bounded(self, side: TableSide) -> TableSide:
        """The table, or the reason why it is not compared if it has more cells than the limit."""
        most = self.limits.max_cells
        large = _cells(side.table, most) > most
        return _too_large(f"more than {most:,} cells") if large else side

    def _reference_table(self, reference: Any) -> TableSide:
        """Read a reference that is a table or its text; the metrics report anything else."""
        problem = self._oversize_reason(reference)
        if problem:
            return _too_large(problem)
        if isinstance(reference, str):
            with suppress(ValueError):
                reference = read_notation(reference)
        return TableSide.given(reference, self._rules)

    def _table_text(self, value: Any) -> TableText:
        """The output's table; by some rules, rows of different widths are not a table."""
        problem = self._oversize_reason(value)
        if problem:
            return TableText(None, _TOO_LARGE, problem)
        table_text = read_table(value)
        problem = "" if table_text.kind or not self._rules.even_rows else shape_problem(table_text.rows)
        return TableText(None, "wrong_shape", f"the output is not a table: {problem}") if problem else table_text

    def _oversize_reason(self, value: Any) -> str:
        """Why a value is too large to be parsed, which takes many times its own memory; "" where it is not."""
        length, cells = self.limits.max_bytes, self.limits.max_cells
        if isinstance(value, str):
            if len(value) > length:
                return f"more than {length:,} characters"
            # Brackets also occur inside texts, so a few per cell are allowed.
            return f"more than {cells:,} cells" if sum(map(value.count, "[{,")) > _BRACKETS_PER_CELL * cells else ""
        rows = value.get("rows", value.get("data")) if isinstance(value, Mapping) else value
        return f"more than {cells:,} cells" if _cells(rows, cells) > cells else ""

    async def _measure_queries(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        if not isinstance(sample.reference, str):
            return self._same_outcome("not_applicable", "task SP compares with SQL, and the reference is not SQL")
        reply = sql_reply(output, self.form, self.key)
        if reply.reading.status == "empty" or reply.reading.several or reply.refused:
            kind = "several" if reply.reading.several else "empty"
            return self._unparsed(TableText(None, kind, f"no SQL could be read: {reply.problem}"), output)
        # Rules that take equal texts for equal compare texts that are no SQL as well.
        query = reply.reading.query or str(output.value).strip()
        database = self._sample_database(sample)
        if database is None:
            return self._same_outcome("not_applicable", _NO_DATABASE)
        # Similarity is to one table: that of the first query of several.
        sample = replace(sample, reference=next(golds_of(sample, database.engine)).reference)
        columns = {"columns": {"sql": query}}
        if self._rules.equal_texts(sample.reference, query):
            equal = compare_equal_queries(sample.reference, self._rules, self._names, database.engine)
            return self._scores(equal, columns)
        bench = Bench.of(sandbox, self.limits, self.equality)
        expected = await self._run(bench, database, sample.reference)
        if reply.problem:
            predicted = TableSide(failure=reply.problem, kind=_FORMAT_INCORRECT, problem="cannot be read")
        else:
            predicted = await self._run(bench, database, query)
        ordered = self._rules.ordered(sample.reference, database.engine)
        detail = {**columns, "kind": predicted.kind} if predicted.failure and not expected.failure else columns
        queries = (sample.reference, query)
        verdict, about = await self._verdict(bench, (database, queries), (expected, predicted))
        measures = await self._measure(bench, (expected, predicted), ordered=ordered, verdict=verdict)
        return self._scores(measures, detail, about)

    def _sample_database(self, sample: Sample) -> Database | None:
        name, schema = (sample.metadata.get(key) for key in ("db_id", "schema"))
        named = name or ("" if has_default(self.databases) else None)
        if isinstance(schema, str) and schema.strip() and (self.databases is None or named is None):
            return Database(self.engine, script=schema, now=check_now(self.now))
        if self.databases is None:
            return None
        return replace(find_database(self.databases, named), now=check_now(self.now))

    async def _run(self, bench: Bench, database: Database, query: str) -> TableSide:
        return TableSide.of(await bench.run(database, self._rules.sent(query)), self._rules)

    async def _verdict(
        self, bench: Bench, source: tuple[Database, tuple[str, str]] | None, sides: tuple[TableSide, TableSide]
    ) -> tuple[Verdict | None, dict[str, Any]]:
        """The verdict of the suite `text2sql`, for rules that take it, and the score's detail of the two results.

        Args:
            bench: compares, and runs the queries that the verdict needs.
            source: the database and the queries that returned the tables, "" for a predicted table that was given;
                None where the expected one was.
            sides: what is expected and predicted.
        """
        expected, predicted = sides
        if not self._rules.by_verdict or _EXECUTION not in self._names or not _is_table(expected):
            return None, {}
        reference = expected.result(0)
        if not _is_table(predicted):
            parts = [] if source is None else await decided_parts(bench, source[0], source[1][0], reference)
            failed = verdict_of_failure(SqlFailure("error", predicted.failure))
            return None, about_results((reference, None), failed, [part.text for part in parts], self.equality)
        results = reference, predicted.result(len(reference.columns))
        if source is None:
            compare = partial(judge, *results, limits=self.limits, equality=self.equality)
            verdict = await bench.compare(*results, compare)
            texts: Sequence[str] = ()
        else:
            verdict, texts = await judge_open(bench, *source, results)
        return (lambda: verdict), about_results(results, verdict, texts, self.equality)

    async def _measure(
        self, bench: Bench, sides: tuple[TableSide, TableSide], *, ordered: bool | None, verdict: Verdict | None
    ) -> dict[str, Measure]:
        if sides[0].kind == _TOO_LARGE:
            raise ComparisonStop(_TOO_LARGE, f"the expected table is too large to compare: {sides[0].failure}")
        compare = partial(compare_sides, rules=self._rules, metrics=self._names, ordered=ordered, verdict=verdict)
        large = max(_cells(side.table, _LARGE) for side in sides) > _LARGE
        return await bench.in_time(partial(compare, *sides), in_thread=large)

    def _scores(
        self, measures: Mapping[str, Measure], detail: Mapping[str, Any], about: Mapping[str, Any] = _NOTHING
    ) -> Sequence[Score]:
        label = _label(measures[self._main], detail)
        order = measures.get(_ORDER)
        # Given rows have an order that nobody required: another order is named in the label and changes no score.
        reordered = self._main == _EXECUTION and label in _SAME and order is not None and order.value not in {None, 1.0}
        label = f"{label}, other order" if reordered else label
        return [
            _score(name, measures[name], {**detail, "label": label, **about} if name == self._main else detail)
            for name in self._names
        ]

    def _unparsed(self, table_text: TableText, output: Output) -> Sequence[Score]:
        finish = str(output.metadata.get("finish", ""))
        if finish == "refusal" or (finish in STOPPED and table_text.kind == "empty"):
            return self._same_outcome("refused", "the model refused or a content filter stopped it")
        if finish == "length":
            return self._same_outcome("unparsed", "the reply was cut off inside its table", "truncated")
        return self._same_outcome("unparsed", table_text.reason, table_text.kind)

    def _same_outcome(
        self, outcome: Literal["not_applicable", "unparsed", "refused"], reason: str, kind: str = "", label: str = ""
    ) -> Sequence[Score]:
        detail = {"kind": kind} if kind else {}
        if label == NOT_COMPARED:
            detail[LACKS] = COMPARISON
        labelled = {**detail, "label": label or outcome.replace("_", " ")}
        return [
            Score(name, None, outcome=outcome, reason=reason, detail=labelled if name == self._main else detail)
            for name in self._names
        ]


def _is_table(side: TableSide) -> bool:
    return not side.failure and not shape_problem(side.table)


def _too_large(failure: str) -> TableSide:
    return TableSide(failure=failure, kind=_TOO_LARGE, problem="is too large")


def _cells(table: Any, most: int) -> int:
    """Count the cells of a possible table; an entry that is not a row counts as one cell."""
    if not isinstance(table, list | tuple):
        return 0
    if len(table) > most:
        return len(table)
    return count_cells([row if isinstance(row, list | tuple) else (row,) for row in table], most)


def _score(name: str, measure: Measure, detail: Mapping[str, Any]) -> Score:
    flagged = {**detail, "flags": list(measure.flags)} if measure.flags else detail
    if measure.value is None:
        return Score(name, None, outcome="not_applicable", reason=measure.reason, detail=flagged)
    passed = measure.value == 1 if name == _EXECUTION else None
    return Score(name, measure.value, passed=passed, reason=measure.reason, detail=flagged)


def _label(measure: Measure, detail: Mapping[str, Any]) -> str:
    """The label of a sample's outcome, which reports count."""
    if measure.value is None:
        return "not applicable"
    if detail.get("kind") == _TOO_LARGE and "columns" not in detail:
        return "too large"
    if "kind" in detail:
        return "format incorrect" if detail["kind"] == _FORMAT_INCORRECT else f"SQL failed: {detail['kind']}"
    if measure.label:
        return measure.label
    if measure.flags:
        return ", ".join(measure.flags).replace("_", " ")
    return "equal" if measure.value == 1 else "different"
