"""Scores generated SQL in stages: can it be read, does it run, does it return what the reference returns?

Faults of the dataset (no reference, a schema that cannot be built, a reference that fails) are `not_applicable` with
the reason, whatever the target answered; faults of the target are 0 with the reason. So every rate is over the same
samples for every target.

A fourth stage, whether the query answers the question, needs a judge: it is a scorer of its own.

`SqlAttempts` scores each attempt of a target that corrects its SQL, as if it had been the last one allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from steelyard.constraints import Within
from steelyard.replies.sql import SqlReading, Wanted
from steelyard.scorers.open_references import (
    about_results,
    decided_parts,
    judge_open,
)
from steelyard.scorers.reference_checks import ReferenceFinding, ReferenceMemory, check_references
from steelyard.scorers.sql_replies import SqlReply, check_form, sql_reply
from steelyard.scorers.sql_runs import (
    Bench,
    SampleDatabase,
    accept_extra_columns,
    best_of_golds,
    condition_columns,
    database_of,
    databases_manifest,
    dataset_failure_reason,
    golds_of,
    ignores_order,
)
from steelyard.sql.changed_data import affected_rows, changes_data, judge_changes
from steelyard.sql.clock import check_now
from steelyard.sql.engines.engine import COLUMNS
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import ComparisonStop
from steelyard.sql.results import Execution, LocalEngine, SqlFailure, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import Server
from steelyard.sql.verdict import ResultVerdict, verdict_of_failure
from steelyard.tables.databases import check_source, check_writes, prepare_databases
from steelyard.types import COMPARISON, LACKS, NOT_COMPARED, Output, Sample, Score, ScoreInfo

FORMAT_INCORRECT: Final = "format incorrect"
SQL_INCORRECT: Final = "SQL incorrect"
SQL_CORRECT: Final = "SQL correct"
PUBLISHED: Final = ("ex_spider", "ex_spider_keep_distinct", "ex_bird", "ex_qatch")
"""Execution accuracy after Spider's test-suite evaluator, with DISTINCT dropped and kept, after BIRD, after QATCH."""

_STAGES: Final = ("format", "execution", "result")
_LABELLED: Final = frozenset({"execution", "result"})
"""Scores whose verdicts have names."""
_CHANGES: Final = "published evaluators compare queries that read"
_OWN_TABLE: Final = "the reply creates its own table, so the two queries have no data in common"


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Whether generated SQL is well-formed, runs, and returns the reference's result.

    Three scores of 1 or 0 per sample. `format`: the reply can be read. `execution`: its SQL runs; the label is
    `format incorrect`, `SQL incorrect` or `SQL correct`. `result`: it returns what the reference query returns; the
    label is the verdict. A reply runs on the sample's database: the one that `metadata["db_id"]` names under
    `databases`, else one that is built from `metadata["schema"]`. A reply with a `create` part runs on an empty
    database of its own; its result is compared where its query runs on the sample's database as well, and is not
    applicable where it does not, since there is then no data that both queries could be run on.

    A reference may be several queries (a list, or separated by `;`), with optional columns in braces: a result that
    equals one of theirs is right, and the reason names which. The columns `condition_cols` and `ignore_order` of a
    Spider 2.0 dataset are followed.

    Args:
        form: what a reply has to be: JSON of `create` and `select`, also in a fence or in prose; `create_select_strict`
            is the same and nothing around it; JSON of `sql`; a fenced `block`; `auto` takes any of these, JSON with one
            key that holds a statement, or a bare statement.
        key: of the JSON that a reply has to be, whose text is the SQL (`query`, `result.query`); "" for any.
        databases: folder of `<db_id>/<db_id>.sqlite` or `<db_id>.sqlite` (.sqlite3, .db, .duckdb), or of folders
            `<db_id>/` of tables (.csv, .tsv, .jsonl, .ndjson, .parquet); the address of a PostgreSQL or MySQL server
            whose schemas are the `db_id`s, or servers by `db_id`; None: schemas only.
        engine: of databases that are built from a schema or a reply.
        statements: `read` denies statements that change data. With `any`, where the reference is one, both run on a
            copy of their own (on a server in a transaction that is rolled back), and `result` compares what they
            changed in all tables.
        limits: of each query.
        published: whether execution accuracy by the rules of Spider, BIRD and QATCH is given as well; these compare
            cells exactly.
        equality: which cells of two results are equal without being identical; see docs/explanation/verdicts.md.
        now: what functions of the current time return in references and replies, such as 2024-03-31T12:00:00 (UTC);
            empty is the system's clock.
    """

    form: Wanted = "auto"
    key: str = ""
    databases: Path | str | Mapping[str, Server] | None = None
    engine: LocalEngine = "sqlite"
    limits: SqlLimits = SqlLimits()
    statements: Literal["read", "any"] = "read"
    published: bool = True
    equality: CellEquality = CellEquality()
    now: str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The three stages, then execution accuracy as published; all are 0 or 1."""
        return tuple(
            ScoreInfo(
                name,
                (0.0, 1.0),
                threshold=1.0,
                denominator="all",
                headline=name == "result",
                named_verdicts=name in _LABELLED,
            )
            for name in self._names
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return (*_STAGES, *(PUBLISHED if self.published else ()))

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a key beside a form, or a moment that is none.
        """
        check_form(self.form, self.key)
        check_source(self.databases)
        check_now(self.now)

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the folder of databases and all needed engines are there.

        Raises:
            ConfigError: no such folder, no database in it, an engine that is not installed or cannot be confined here,
                or a server that cannot be reached or whose role may do more than read.
        """
        sandbox.check(self.engine)
        if self.statements == "any":
            check_writes(self.databases)
        if self.databases is not None:
            prepare_databases(self.databases, sandbox)

    def check_references(
        self,
        samples: Iterable[tuple[str, Sample]],
        memory: ReferenceMemory | None = None,
        resolve: Callable[[str], str] = str,
    ) -> list[ReferenceFinding]:
        """Run every reference, and list what is wrong or doubtful about it; calls no model.

        Args:
            samples: each with its place in the dataset, "" where that is not known.
            memory: of earlier checks.
            resolve: see `Sandbox`.

        Raises:
            ConfigError: an engine is not installed or cannot be confined here.
        """
        located = ((place, sample, self._database(sample, changes=self._changes(sample))) for place, sample in samples)
        return asyncio.run(check_references(located, self.limits, self.equality, memory, resolve))

    def manifest(self) -> dict[str, Any]:
        """A digest of the databases: a run cannot be resumed with others."""
        return databases_manifest(self.databases)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Read the reply, run its SQL, and compare its result with the reference's."""
        reply = sql_reply(output, self.form, self.key)
        if reply.refused:
            return self._refused()
        reading, problem = reply.reading, reply.problem
        bench = replace(Bench.of(sandbox, self.limits, self.equality), ignores_order=ignores_order(sample))
        changes = self._changes(sample)
        sample_database = self._database(sample, changes=changes)
        predicted = None if problem else await self._run(bench, sample_database, reading)
        by_gold: list[list[Score]] = []
        for gold in golds_of(sample, sample_database.database.engine):
            results = await self._against(bench, sample_database, (gold, reading), predicted, problem)
            by_gold.append(results)
            if results[0].passed:
                break
        return [_format_score(reply), _execution_score(predicted, problem), *best_of_golds(by_gold)]

    async def _against(
        self,
        bench: Bench,
        sample_database: SampleDatabase,
        sample_and_reading: tuple[Sample, SqlReading],
        predicted: Execution | str | None,
        problem: str,
    ) -> list[Score]:
        """The scores that compare with one gold, which is the sample's reference."""
        sample, reading = sample_and_reading
        try:
            if sample_database.database.changes:
                return await self._changed(bench, sample_database, sample, predicted, problem)
            reference = await bench.reference(sample_database, sample)
            compared = await self._on_shared_data(bench, sample_database, reading, (reference, predicted))
            return await self._results(bench, sample_database, (sample, reading), compared, problem)
        except ComparisonStop as stop:
            return _not_compared(self._names[2:], stop)

    def _changes(self, sample: Sample) -> bool:
        """Whether the sample's statements are compared by what they change."""
        return self.statements == "any" and isinstance(sample.reference, str) and changes_data(sample.reference)

    def _database(self, sample: Sample, *, changes: bool) -> SampleDatabase:
        source = database_of(sample, self.databases, self.engine, check_now(self.now))
        return replace(source, database=replace(source.database, changes=True)) if changes else source

    async def _changed(
        self,
        bench: Bench,
        sample_database: SampleDatabase,
        sample: Sample,
        predicted: Execution | str | None,
        problem: str,
    ) -> list[Score]:
        """The scores that compare what the reply changed with what one gold changed."""
        names = self._names[2:]
        changed = await bench.changed(sample_database, sample)
        reference = changed if isinstance(changed, str) else Execution(changed[0])
        if unrun := _results_without_run(names, (reference, predicted), problem):
            return unrun
        if isinstance(changed, str) or not isinstance(predicted, Execution):
            raise TypeError("an execution has neither a result nor a failure")
        if predicted.table is None:
            verdict = verdict_of_failure(predicted.failure or SqlFailure("error", "no result"))
        else:
            table, unsteady = changed
            judged = partial(judge_changes, limits=self.limits, equality=self.equality, unsteady=unsteady)
            compared = partial(judged, table, predicted.table)
            verdict = await bench.compare(table, predicted.table, compared)
        published = [_not_applicable(name, _CHANGES, labelled=False) for name in names[1:]]
        return [_result_score(verdict, {}), *published]

    async def _run(self, bench: Bench, sample_database: SampleDatabase, reading: SqlReading) -> Execution | str:
        """Run the reply's SQL; a text is the reason where the dataset prevents it."""
        if sample_database.problem and not reading.create:
            return sample_database.problem
        predicted = await bench.predicted(sample_database, reading)
        return (
            dataset_failure_reason(predicted.failure)
            if predicted.failure and predicted.failure.part == "script"
            else predicted
        )

    async def _on_shared_data(
        self,
        bench: Bench,
        sample_database: SampleDatabase,
        reading: SqlReading,
        executions: tuple[Execution | str, Execution | str | None],
    ) -> tuple[Execution | str, Execution | str | None]:
        """Run the reply's query on the sample's database too, so that both results come from the same data.

        Only a query that ran with its own CREATE is run once more; if it fails there, nothing can be compared.
        """
        reference, predicted = executions
        if (
            not reading.create
            or isinstance(reference, str)
            or not isinstance(predicted, Execution)
            or predicted.table is None
        ):
            return executions
        shared_execution = await bench.run(sample_database.database, reading.query)
        return (reference, shared_execution) if shared_execution.table is not None else (_OWN_TABLE, predicted)

    async def _results(
        self,
        bench: Bench,
        sample_database: SampleDatabase,
        sample_and_reading: tuple[Sample, SqlReading],
        executions: tuple[Execution | str, Execution | str | None],
        problem: str,
    ) -> list[Score]:
        """The scores that compare with the reference."""
        names = self._names[2:]
        sample, reading = sample_and_reading
        reference, predicted = executions
        if unrun := _results_without_run(names, executions, problem):
            return unrun
        if not isinstance(reference, Execution) or not isinstance(predicted, Execution) or reference.table is None:
            raise TypeError("an execution has neither a result nor a failure")
        if predicted.table is None:
            verdict = verdict_of_failure(predicted.failure or SqlFailure("error", "no result"))
            failed = [_zero(name, verdict.reason, {"kind": verdict.kind}, "") for name in names[1:]]
            opened = await decided_parts(bench, sample_database.database, sample.reference, reference.table)
            texts = [part.text for part in opened]
            about = about_results((reference.table, None), verdict, texts, self.equality)
            return [_result_score(verdict, about), *failed]
        results = (reference.table, predicted.table)
        queries = (sample.reference, reading.query)
        wanted = condition_columns(sample, reference.table)
        compared = results if wanted is None else (wanted, predicted.table)
        verdict, parts = await judge_open(bench, sample_database.database, queries, compared)
        verdict = verdict if wanted is None else accept_extra_columns(verdict)
        scores = [_result_score(verdict, about_results(compared, verdict, parts, self.equality))]
        if self.published:
            try:
                accuracies = await bench.published(sample_database.database, queries, reference.table, predicted.table)
                scores += [Score(name, float(correct), passed=correct) for name, correct in accuracies.items()]
            except ComparisonStop as stop:
                scores += _not_compared(PUBLISHED, stop)
        return scores

    def _refused(self) -> Sequence[Score]:
        return [
            Score(
                name,
                None,
                outcome="refused",
                reason="the model or a content filter refused",
                detail=_refused_detail(name),
            )
            for name in self._names
        ]


def _results_without_run(
    names: Sequence[str], executions: tuple[Execution | str, Execution | str | None], problem: str
) -> list[Score]:
    """The scores of results where the dataset prevents a comparison, or no SQL was read; [] where both queries ran."""
    reason = next((execution for execution in executions if isinstance(execution, str)), "")
    if reason:
        return [_not_applicable(name, reason, labelled=name == "result") for name in names]
    if problem:
        detail = {"kind": "format_incorrect"}
        return [_zero(name, f"{FORMAT_INCORRECT}: {problem}", detail, FORMAT_INCORRECT) for name in names]
    return []


def _refused_detail(name: str) -> Mapping[str, Any]:
    return {"label": "refused"} if name in _LABELLED else {}


def _format_score(reply: SqlReply) -> Score:
    reading, problem = reply.reading, reply.problem
    detail = {
        "form": reading.form,
        "span": list(reading.span) if reading.span else None,
        "columns": {"sql": reply.sql},
    }
    return Score("format", float(not problem), passed=not problem, reason=problem, detail=detail)


def _execution_score(execution: Execution | str | None, problem: str) -> Score:
    if isinstance(execution, str):
        return _not_applicable("execution", execution, labelled=True)
    if execution is None:
        return _zero("execution", problem, {"kind": "format_incorrect"}, FORMAT_INCORRECT)
    if execution.table is None:
        failure = execution.failure or SqlFailure("error", "no result")
        where = "in the create part: " if failure.part == "create" else ""
        return _zero("execution", f"{where}{failure.message}", {"kind": failure.kind}, SQL_INCORRECT)
    changed = execution.table.columns == COLUMNS
    rows = affected_rows(execution.table) if changed else len(execution.table.rows)
    reason = f"{rows} row{'' if rows == 1 else 's'}{' affected' if changed else ''}"
    return Score("execution", 1.0, passed=True, reason=reason, detail={"label": SQL_CORRECT, "rows": rows})


def _result_score(verdict: ResultVerdict, about: Mapping[str, Any]) -> Score:
    detail = {
        "label": verdict.title,
        "kind": verdict.kind,
        "flags": list(verdict.flags),
        "differences": verdict.differences,
        **about,
    }
    return Score("result", float(verdict.right), passed=verdict.right, reason=verdict.reason, detail=detail)


def _zero(name: str, reason: str, detail: Mapping[str, Any], label: str) -> Score:
    labelled = {"label": label, **detail} if name in _LABELLED else detail
    return Score(name, 0.0, passed=False, reason=reason, detail=labelled)


def _not_applicable(name: str, reason: str, *, labelled: bool) -> Score:
    outcome: Literal["not_applicable"] = "not_applicable"
    return Score(name, None, outcome=outcome, reason=reason, detail={"label": "not applicable"} if labelled else {})


def _not_compared(names: Sequence[str], stop: ComparisonStop) -> list[Score]:
    """Scores of a sample whose results are too large or took too long to compare; the run warns of the label."""
    detail = {"label": NOT_COMPARED, "kind": stop.kind, LACKS: COMPARISON}
    return [Score(name, None, outcome="not_applicable", reason=str(stop), detail=detail) for name in names]


ATTEMPTS: Final = "attempts"
"""Key of an output's metadata: `reply`, `problem` and `finish` of each attempt, the last of which is the output."""
_SCORES: Final = ("execution", "result")


@dataclass(frozen=True, slots=True)
class SqlAttempts:
    """`execution` and `result` with at most one attempt, with at most two, and so on.

    A target that made fewer attempts is scored by its last one; one that makes no second attempt scores the same for
    all, so that it can be compared with one that does. The suite `text2sql` adds this scorer where a target is a
    `self_correction`, and its keys but `attempts` are then those of `scoring`.

    Args:
        attempts: up to how many; `result_within_1` is the score of the first.
        form: as of the scorer `sql`.
        key: likewise.
        databases: likewise.
        engine: likewise.
        statements: as of the scorer `sql`.
        limits: of each query.
        equality: as of the scorer `sql`.
        now: likewise.
    """

    attempts: Annotated[int, Within(1, 10)] = 3
    form: Wanted = "auto"
    key: str = ""
    databases: Path | str | Mapping[str, Server] | None = None
    engine: LocalEngine = "sqlite"
    limits: SqlLimits = SqlLimits()
    statements: Literal["read", "any"] = "read"
    equality: CellEquality = CellEquality()
    now: str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Two scores of 0 or 1 for each number of attempts."""
        return tuple(
            ScoreInfo(f"{name}_within_{number}", (0.0, 1.0), threshold=1.0, denominator="all")
            for number in range(1, self.attempts + 1)
            for name in _SCORES
        )

    def check(self) -> None:
        """Validate the options; see `SqlResult.check`."""
        self._scorer.check()

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the databases may be used; see `SqlResult.prepare`."""
        self._scorer.prepare(sandbox)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Score each attempt once."""
        tried = _attempts_of(output)[: self.attempts]
        scored = [{score.name: score for score in await self._scorer(sample, attempt, sandbox)} for attempt in tried]
        return [
            replace(scored[min(number, len(scored)) - 1][name], name=f"{name}_within_{number}", detail={})
            for number in range(1, self.attempts + 1)
            for name in _SCORES
        ]

    @property
    def _scorer(self) -> SqlResult:
        return SqlResult(
            self.form,
            self.key,
            self.databases,
            self.engine,
            self.limits,
            self.statements,
            published=False,
            equality=self.equality,
            now=self.now,
        )


def _attempts_of(output: Output) -> list[Output]:
    """The output as it was after each attempt; itself where it says nothing of attempts."""
    listed: Any = output.metadata.get(ATTEMPTS)
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, Mapping) for entry in listed):
        return [output]
    return [replace(output, value=entry.get("reply"), metadata={"finish": entry.get("finish", "")}) for entry in listed]
