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
from typing import Annotated, Any, Final, Literal

from steelyard.constraints import Within
from steelyard.replies.sql import SqlReading, Wanted
from steelyard.scorers.open_references import (
    about_results,
    decided_parts,
    judge_open,
)
from steelyard.scorers.reference_checks import ReferenceFinding, ReferenceMemory, check_references
from steelyard.scorers.sql_replies import SqlReply, sql_reply
from steelyard.scorers.sql_runs import (
    Bench,
    SampleDatabase,
    SqlSettings,
    accept_extra_columns,
    best_of_golds,
    condition_columns,
    databases_manifest,
    dataset_failure_reason,
    golds_of,
    ignores_order,
    settings_lacking,
)
from steelyard.sql.changed_data import Unsteady, affected_rows, changes_data, judge_changes
from steelyard.sql.engines.engine import COLUMNS
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import ComparisonStop
from steelyard.sql.results import Database, Execution, ResultTable, SqlFailure
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.verdict import ResultVerdict, verdict_of_failure
from steelyard.tables.databases import check_writes
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
_NEEDS_DISTINCT: Final = "the reference cannot be run without DISTINCT, which Spider's evaluator removes"
_OWN_TABLE: Final = "the reply creates its own table, so the two queries have no data in common"


@dataclass(frozen=True, slots=True)
class SqlResult(SqlSettings):
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

    form: Wanted = "auto"  # again, as it is the key of the short form
    statements: Literal["read", "any"] = "read"
    published: bool = True
    equality: CellEquality = CellEquality()

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

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the folder of databases and all needed engines are there.

        Raises:
            ConfigError: no such folder, no database in it, an engine that is not installed or cannot be confined here,
                or a server that cannot be reached or whose role may do more than read.
        """
        if self.statements == "any":
            check_writes(self.databases)
        SqlSettings.prepare(self, sandbox)

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
        located = ((place, sample, self._database(sample)) for place, sample in samples)
        return asyncio.run(check_references(located, self.limits, self.equality, memory, resolve))

    def manifest(self) -> dict[str, Any]:
        """A digest of the databases: a run cannot be resumed with others."""
        return databases_manifest(self.databases)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Read the reply, run its SQL, and compare its result with the reference's."""
        reply = sql_reply(output, self.form, self.key)
        if reply.refused:
            return [
                Score(
                    name,
                    None,
                    outcome="refused",
                    reason="the model or a content filter refused",
                    detail=({"label": "refused"} if name in _LABELLED else {}),
                )
                for name in self._names
            ]
        bench = replace(Bench.of(sandbox, self.limits, self.equality), ignores_order=ignores_order(sample))
        source = self._database(sample)
        predicted = None if reply.problem else await self._run(bench, source, reply.reading)
        by_gold: list[list[Score]] = []
        for gold in golds_of(sample, source.database.engine):
            by_gold.append(await self._against(bench, source, gold, reply, predicted))
            if by_gold[-1][0].passed:
                break
        return [_format_score(reply), _execution_score(predicted, reply.problem), *best_of_golds(by_gold)]

    async def _against(
        self,
        bench: Bench,
        source: SampleDatabase,
        gold: Sample,
        reply: SqlReply,
        predicted: Execution | str | None,
    ) -> list[Score]:
        """The scores that compare with one gold, which is the sample's reference."""
        names = self._names[2:]
        try:
            unsteady: Unsteady = {}
            if source.database.changes:
                changed = await bench.changed(source, gold)
                reference, unsteady = (changed, unsteady) if isinstance(changed, str) else changed
            else:
                reference = await bench.reference(source, gold)
                if not isinstance(reference, str):
                    predicted = await _on_shared_data(bench, source, reply.reading, predicted)
            if isinstance(reference, str) or isinstance(predicted, str):
                reason = str(reference if isinstance(reference, str) else predicted)
                return [_not_applicable(name, reason, labelled=name == "result") for name in names]
            if predicted is None:
                reason, detail = f"{FORMAT_INCORRECT}: {reply.problem}", {"kind": "format_incorrect"}
                zeros = [_zero(name, reason, detail, FORMAT_INCORRECT) for name in names]
                return await self._as_published(bench, source.database, gold, zeros)
            if source.database.changes:
                return await self._changed(bench, reference, predicted, unsteady)
            queries = (gold.reference, reply.reading.query)
            return await self._results(bench, source.database, queries, (gold, reference), predicted)
        except ComparisonStop as stop:
            return _not_compared(names, stop)

    async def _as_published(self, bench: Bench, database: Database, gold: Sample, zeros: list[Score]) -> list[Score]:
        """The scores of a failed reply: only those that a reply which runs would have too."""
        if not self.published or database.changes or await bench.drops_distinct(database, str(gold.reference)):
            return zeros
        lacking = _not_applicable(PUBLISHED[0], _NEEDS_DISTINCT, labelled=False)
        return [lacking if score.name == PUBLISHED[0] else score for score in zeros]

    def _changes(self, sample: Sample) -> bool:
        """Whether the sample's statements are compared by what they change."""
        return self.statements == "any" and isinstance(sample.reference, str) and changes_data(sample.reference)

    def _database(self, sample: Sample) -> SampleDatabase:
        source = self.database(sample)
        return replace(source, database=replace(source.database, changes=self._changes(sample)))

    async def _changed(
        self, bench: Bench, reference: ResultTable, predicted: Execution, unsteady: Unsteady
    ) -> list[Score]:
        """The scores that compare what the reply changed with what one gold changed."""
        if predicted.table is None:
            verdict = verdict_of_failure(predicted.failure or SqlFailure("error", "no result"))
        else:
            judged = partial(judge_changes, limits=self.limits, equality=self.equality, unsteady=unsteady)
            compared = partial(judged, reference, predicted.table)
            verdict = await bench.compare(reference, predicted.table, compared)
        published = [_not_applicable(name, _CHANGES, labelled=False) for name in self._names[3:]]
        return [_result_score(verdict, {}), *published]

    async def _run(self, bench: Bench, source: SampleDatabase, reading: SqlReading) -> Execution | str:
        """Run the reply's SQL; a text is the reason where the dataset prevents it."""
        if source.problem and not reading.create:
            return source.problem
        predicted = await bench.predicted(source, reading)
        failure = predicted.failure
        return dataset_failure_reason(failure) if failure and failure.part == "script" else predicted

    async def _results(
        self,
        bench: Bench,
        database: Database,
        queries: tuple[Any, str],
        gold_and_result: tuple[Sample, ResultTable],
        predicted: Execution,
    ) -> list[Score]:
        """The scores that compare with what a reference returned."""
        gold, reference = gold_and_result
        if predicted.table is None:
            verdict = verdict_of_failure(predicted.failure or SqlFailure("error", "no result"))
            failed = [_zero(name, verdict.reason, {"kind": verdict.kind}, "") for name in self._names[3:]]
            texts = [part.text for part in await decided_parts(bench, database, gold.reference, reference)]
            failed = await self._as_published(bench, database, gold, failed)
            return [_result_score(verdict, about_results((reference, None), verdict, texts, self.equality)), *failed]
        wanted = condition_columns(gold, reference)
        compared = (reference if wanted is None else wanted, predicted.table)
        verdict, parts = await judge_open(bench, database, queries, compared)
        verdict = verdict if wanted is None else accept_extra_columns(verdict)
        scores = [_result_score(verdict, about_results(compared, verdict, parts, self.equality))]
        if self.published:
            try:
                accuracies = await bench.published(database, queries, reference, predicted.table)
                scores += [
                    _not_applicable(name, _NEEDS_DISTINCT, labelled=False)
                    if correct is None
                    else Score(name, float(correct), passed=correct)
                    for name, correct in accuracies.items()
                ]
            except ComparisonStop as stop:
                scores += _not_compared(PUBLISHED, stop)
        return scores


async def _on_shared_data(
    bench: Bench, source: SampleDatabase, reading: SqlReading, predicted: Execution | str | None
) -> Execution | str | None:
    """Run the reply's query on the sample's database too, so that both results come from the same data.

    Only a query that ran with its own CREATE is run once more; if it fails there, nothing can be compared.
    """
    if not reading.create or not isinstance(predicted, Execution) or predicted.table is None:
        return predicted
    shared = await bench.run(source.database, reading.query)
    return shared if shared.table is not None else _OWN_TABLE


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
class SqlAttempts(SqlSettings):
    """`execution` and `result` with at most one attempt, with at most two, and so on.

    A target that made fewer attempts is scored by its last one; one that makes no second attempt scores the same for
    all, so that it can be compared with one that does. The suite `text2sql` adds this scorer where a target is a
    `self_correction`, and its keys but `attempts` are then those of `scoring`.

    Args:
        attempts: up to how many; `result_within_1` is the score of the first.
        statements: as of the scorer `sql`.
        equality: likewise.
    """

    attempts: Annotated[int, Within(1, 10)] = 3
    statements: Literal["read", "any"] = "read"
    equality: CellEquality = CellEquality()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Two scores of 0 or 1 for each number of attempts."""
        return tuple(
            ScoreInfo(f"{name}_within_{number}", (0.0, 1.0), threshold=1.0, denominator="all")
            for number in range(1, self.attempts + 1)
            for name in _SCORES
        )

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
        return replace(SqlResult(published=False), **settings_lacking(SqlResult(), self))


def _attempts_of(output: Output) -> list[Output]:
    """The output as it was after each attempt; itself where it says nothing of attempts."""
    listed: Any = output.metadata.get(ATTEMPTS)
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, Mapping) for entry in listed):
        return [output]
    return [replace(output, value=entry.get("reply"), metadata={"finish": entry.get("finish", "")}) for entry in listed]
