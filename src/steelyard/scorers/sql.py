"""Scores SQL that a target wrote, in stages: does it read, does it run, does it return what the reference returns?

What the dataset is to blame for (no reference, a schema that cannot be built, a reference that fails) is
`not_applicable` with the reason, whatever the target said; what the target is to blame for is 0 with the reason. So
every rate is over the same samples for every target.

A fourth stage, whether the query answers the question, needs a judge: it is a scorer of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.scorers.sql_runs import Bench, SampleDatabase, about_databases, about_failure, place_of
from steelyard.sql.extent import ComparisonStop
from steelyard.sql.results import EngineName, Execution, SqlFailure, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.verdict import ResultVerdict, verdict_of_failure
from steelyard.tables.locate import check_folder, database_ids, engines_in
from steelyard.text.sql_reading import SqlReading, Wanted
from steelyard.text.sql_reply import read_sql
from steelyard.types import NOT_COMPARED, Output, Sample, Score, ScoreInfo

FORMAT_INCORRECT: Final = "format incorrect"
SQL_INCORRECT: Final = "SQL incorrect"
SQL_CORRECT: Final = "SQL correct"
PUBLISHED: Final = ("ex_spider", "ex_spider_keep_distinct", "ex_bird", "ex_qatch")
"""Execution accuracy after Spider's test-suite evaluator, with DISTINCT dropped and kept, after BIRD, after QATCH."""

_STAGES: Final = ("format", "execution", "result")
_NAMED: Final = frozenset({"execution", "result"})
"""Scores whose verdicts have names."""
_STOPPED: Final = frozenset({"content_filter", "refusal"})
_OWN_TABLE: Final = "the reply makes a table of its own, so there is no data that both queries run on"


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Whether generated SQL is well-formed, runs, and returns the reference's result.

    Three scores of 1 or 0 per sample. `format`: the reply can be read. `execution`: its SQL runs; the label is
    `format incorrect`, `SQL incorrect` or `SQL correct`. `result`: it returns what the reference query returns; the
    label is the verdict. A reply runs on the sample's database: the file that `metadata["db_id"]` names under
    `databases`, else one that is built from `metadata["schema"]`. A reply with a `create` part runs on an empty
    database of its own; its result is compared where its query runs on the sample's database as well, and is not
    applicable where it does not, since there is then no data that both queries could be run on.

    Args:
        form: what a reply has to be: JSON of `create` and `select`, JSON of `sql`, a fenced `block`; `auto` takes any
            of these or a bare statement.
        databases: folder of `<db_id>/<db_id>.sqlite` or `<db_id>.sqlite` (.sqlite3, .db, .duckdb); None: schemas only.
        engine: of databases that are built from a schema or a reply.
        limits: of each query.
        published: whether execution accuracy by the rules of Spider, BIRD and QATCH is given as well.
    """

    form: Wanted = "auto"
    databases: Path | None = None
    engine: EngineName = "sqlite"
    limits: SqlLimits = SqlLimits()
    published: bool = True

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
                named_verdicts=name in _NAMED,
            )
            for name in self._names
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return (*_STAGES, *(PUBLISHED if self.published else ()))

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown form or engine, or a limit out of its range.
        """
        for name, value, known in (
            ("form", self.form, get_args(Wanted)),
            ("engine", self.engine, get_args(EngineName)),
        ):
            if value not in known:
                raise ConfigError(f"{name}: there is no {value!r}{did_you_mean(str(value), known)}")
        self.limits.check()

    def prepare(self, sandbox: Sandbox) -> None:
        """Look at the folder of databases, and at every engine that is needed.

        Raises:
            ConfigError: no such folder, no database in it, or an engine that is not installed or cannot be held here.
        """
        engines = {self.engine}
        if self.databases is not None:
            check_folder(self.databases)
            if not database_ids(self.databases):
                raise ConfigError(f"databases: {self.databases} holds no database, as <id>/<id>.sqlite or <id>.sqlite")
            engines |= engines_in(self.databases)
        for engine in sorted(engines):
            sandbox.check(engine)

    def manifest(self) -> dict[str, Any]:
        """What the databases hold: a run cannot be resumed with others."""
        return about_databases(self.databases)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Read the reply, run its SQL, and compare its result with the reference's."""
        reading, finish = read_sql(_text(output.value), form=self.form), str(output.metadata.get("finish", ""))
        if finish in _STOPPED and reading.status != "read":
            return self._refused()
        problem = _problem(reading, finish)
        bench, place = Bench.of(sandbox, self.limits), place_of(sample, self.databases, self.engine)
        found = None if problem else await self._run(bench, place, reading)
        try:
            wanted = await bench.reference(place, sample)
            compared = await self._on_shared_data(bench, place, reading, (wanted, found))
            results = await self._results(bench, place, (sample, reading), compared, problem)
        except ComparisonStop as stop:
            results = _not_compared(self._names[2:], stop)
        return [_format_score(reading, problem), _execution_score(found, problem), *results]

    async def _run(self, bench: Bench, place: SampleDatabase, reading: SqlReading) -> Execution | str:
        """What the reply's SQL gave; a text says what is wrong with the dataset."""
        if place.problem and not reading.create:
            return place.problem
        found = await bench.predicted(place, reading)
        return about_failure(found.failure) if found.failure and found.failure.part == "script" else found

    async def _on_shared_data(
        self,
        bench: Bench,
        place: SampleDatabase,
        reading: SqlReading,
        ran: tuple[Execution | str, Execution | str | None],
    ) -> tuple[Execution | str, Execution | str | None]:
        """What the reference and the reply's query gave on the same data: that of the sample's database.

        A query that ran beside its own CREATE is run there once more; where it cannot be, nothing can be compared.
        """
        wanted, found = ran
        if not reading.create or isinstance(wanted, str) or not isinstance(found, Execution) or found.table is None:
            return ran
        there = await bench.run(place.database, reading.query)
        return (wanted, there) if there.table is not None else (_OWN_TABLE, found)

    async def _results(
        self,
        bench: Bench,
        place: SampleDatabase,
        asked: tuple[Sample, SqlReading],
        ran: tuple[Execution | str, Execution | str | None],
        problem: str,
    ) -> list[Score]:
        """The scores that compare with the reference."""
        names = self._names[2:]
        wanted, found = ran
        reason = next((one for one in ran if isinstance(one, str)), "")
        if reason:
            return [_not_applicable(name, reason, labelled=name == "result") for name in names]
        if problem:
            detail = {"kind": "format_incorrect"}
            return [_zero(name, f"{FORMAT_INCORRECT}: {problem}", detail, FORMAT_INCORRECT) for name in names]
        if not isinstance(wanted, Execution) or not isinstance(found, Execution) or wanted.table is None:
            raise TypeError("an execution has neither a result nor a reason for none")
        if found.table is None:
            verdict = verdict_of_failure(found.failure or SqlFailure("error", "no result"))
            failed = [_zero(name, verdict.reason, {"kind": verdict.kind}, "") for name in names[1:]]
            return [_result_score(verdict), *failed]
        sample, reading = asked
        verdict = await bench.verdict(place.database, sample.reference, wanted.table, found.table)
        scores = [_result_score(verdict)]
        if self.published:
            queries = (sample.reference, reading.query)
            try:
                rights = await bench.published(place.database, queries, wanted.table, found.table)
                scores += [Score(name, float(right), passed=right) for name, right in rights.items()]
            except ComparisonStop as stop:
                scores += _not_compared(PUBLISHED, stop)
        return scores

    def _refused(self) -> Sequence[Score]:
        return [
            Score(name, None, outcome="refused", reason="the model or a content filter refused", detail=_named(name))
            for name in self._names
        ]


def _named(name: str) -> Mapping[str, Any]:
    return {"label": "refused"} if name in _NAMED else {}


def _problem(reading: SqlReading, finish: str) -> str:
    """What is wrong with the format; "" where nothing is."""
    if reading.status != "read":
        cut = "the reply was cut off; " if finish == "length" else ""
        return f"{cut}{reading.message}"
    return "the reply was cut off inside its SQL" if finish == "length" and reading.broken_off else ""


def _format_score(reading: SqlReading, problem: str) -> Score:
    sql = f"{reading.create.rstrip('; ')};\n{reading.query}" if reading.create else reading.query
    detail = {
        "form": reading.form,
        "span": list(reading.span) if reading.span else None,
        "columns": {"sql": "" if problem else sql},
    }
    return Score("format", float(not problem), passed=not problem, reason=problem, detail=detail)


def _execution_score(found: Execution | str | None, problem: str) -> Score:
    if isinstance(found, str):
        return _not_applicable("execution", found, labelled=True)
    if found is None:
        return _zero("execution", problem, {"kind": "format_incorrect"}, FORMAT_INCORRECT)
    if found.table is None:
        failure = found.failure or SqlFailure("error", "no result")
        where = "in the create part: " if failure.part == "create" else ""
        return _zero("execution", f"{where}{failure.message}", {"kind": failure.kind}, SQL_INCORRECT)
    rows = len(found.table.rows)
    reason = f"{rows} row{'' if rows == 1 else 's'}"
    return Score("execution", 1.0, passed=True, reason=reason, detail={"label": SQL_CORRECT, "rows": rows})


def _result_score(verdict: ResultVerdict) -> Score:
    detail = {
        "label": verdict.title,
        "kind": verdict.kind,
        "flags": list(verdict.flags),
        "differences": verdict.differences,
    }
    return Score("result", float(verdict.right), passed=verdict.right, reason=verdict.reason, detail=detail)


def _zero(name: str, reason: str, detail: Mapping[str, Any], label: str) -> Score:
    named = {"label": label, **detail} if name in _NAMED else detail
    return Score(name, 0.0, passed=False, reason=reason, detail=named)


def _not_applicable(name: str, reason: str, *, labelled: bool) -> Score:
    outcome: Literal["not_applicable"] = "not_applicable"
    return Score(name, None, outcome=outcome, reason=reason, detail={"label": "not applicable"} if labelled else {})


def _not_compared(names: Sequence[str], stop: ComparisonStop) -> list[Score]:
    """Neither right nor wrong: the sample's results are too large, or took too long; the run warns of the label."""
    detail = {"label": NOT_COMPARED, "kind": stop.kind}
    return [Score(name, None, outcome="not_applicable", reason=str(stop), detail=detail) for name in names]


def _text(value: Any) -> str:
    """The reply as text; an object that a target returns is read as its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
