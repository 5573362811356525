"""Scores of generated SQL beyond right and wrong: how much of the result is there, what it names, how fast it is.

Both scorers read the reply as `format` does and run it where `result` does; of several golds the best counts. What the
target could not answer is 0, and what the dataset leaves open is not applicable, as for `result`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from steelyard.errors import expect_number
from steelyard.replies.sql import SqlReading, Wanted
from steelyard.scorers.sql_replies import sql_reply
from steelyard.scorers.sql_runs import Bench, SampleDatabase, SqlSettings, golds_of
from steelyard.sql.accuracy import bird, is_subset, named_parts, precision_recall, soft_f1, ves_reward
from steelyard.sql.equality import CellEquality
from steelyard.sql.extent import ComparisonStop
from steelyard.sql.results import Execution
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import Schema, parse_schema
from steelyard.types import Output, Sample, Score, ScoreInfo

_OF_RESULT: Final = ("subset", "soft_f1")
_OF_NAMES: Final = ("table_precision", "table_recall", "column_precision", "column_recall")
_R_VES: Final = "r_ves"
_MOST_REWARD: Final = math.sqrt(1.25)


@dataclass(frozen=True, slots=True)
class SqlCredit(SqlSettings):
    """How much of the reference's result is there, and which of its tables and columns the SQL names.

    `subset`: all expected rows and columns are there (0 or 1). `soft_f1`: as BIRD mini_dev defines it. Precision and
    recall of the tables and of the columns that the query reads (schema linking), by its syntax tree. Precision and
    recall of cells are those of the scorer `tables`. In the suite `text2sql` the keys below are those of `scoring`.

    Args:
        equality: which cells are equal, for `subset`.
    """

    form: Wanted = "auto"  # again, as it is the key of the short form
    equality: CellEquality = CellEquality()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Six scores from 0 to 1."""
        of_result = (ScoreInfo("subset", (0.0, 1.0), threshold=1.0, denominator="all"),)
        return of_result + tuple(
            ScoreInfo(name, (0.0, 1.0), denominator="all") for name in (*_OF_RESULT[1:], *_OF_NAMES)
        )

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Score one reply."""
        reply = sql_reply(output, self.form, self.key)
        names = (*_OF_RESULT, *_OF_NAMES)
        if reply.refused:
            return _all(names, "refused", "the model or a content filter refused")
        place = self.database(sample)
        bench = Bench.of(sandbox, self.limits, self.equality)
        best: list[float | None] = [None] * len(names)
        reason = ""
        for gold in golds_of(sample, place.database.engine):
            try:
                values, said = await self._against(bench, place, gold, reply.reading, reply.problem)
            except ComparisonStop as stop:
                values, said = [None] * len(names), str(stop)
            reason = reason or said
            pairs = zip(best, values, strict=True)
            best = [max(pair, key=lambda value: -1.0 if value is None else value) for pair in pairs]
        lacking = reason if best[0] is None else "the reference cannot be parsed"
        return [
            Score(name, value, reason=reason if value != 1.0 else "")
            if value is not None
            else Score(name, None, outcome="not_applicable", reason=lacking)
            for name, value in zip(names, best, strict=True)
        ]

    async def _against(
        self, bench: Bench, place: SampleDatabase, gold: Sample, reading: SqlReading, problem: str
    ) -> tuple[list[float | None], str]:
        """The values against one gold, and why they are not better or not there."""
        reference = await bench.reference(place, gold)
        if isinstance(reference, str):
            return [None] * 6, reference
        engine = place.database.engine
        named = _linking(gold, "" if problem else reading.query, (engine, str(gold.metadata.get("schema") or "")))
        if problem:
            return [0.0, 0.0, *named], problem
        predicted = await bench.predicted(place, reading)
        if predicted.table is None:
            return [0.0, 0.0, *named], predicted.failure.message if predicted.failure else ""
        pair = (reference, predicted.table)
        subset = await bench.compare(*pair, partial(is_subset, *pair, equality=self.equality))
        return [float(subset), await bench.compare(*pair, partial(soft_f1, *pair)), *named], ""


@dataclass(frozen=True, slots=True)
class SqlSpeed(SqlSettings):
    """BIRD's R-VES: the square root of a reward of 0.25 to 1.25 for the reference's time by the prediction's.

    0 for a result that is not the reference's as a set of rows. Both queries run in turn on a warm worker; the time is
    that within the worker. The mean over samples, times 100, is what BIRD publishes. `detail` has the ratio with its
    95 % interval. In the suite `text2sql` the keys but `runs` are those of `scoring`.

    Source: repository bird-bench/mini_dev, evaluation/evaluation_ves.py (100 runs; ratios beyond three standard
    deviations are left out). Deviation: opening the database is not in the time of SQLite's files.

    Args:
        runs: of each query.
    """

    runs: int = 20

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One score, from 0 to the square root of 1.25."""
        return (ScoreInfo(_R_VES, (0.0, _MOST_REWARD), denominator="all"),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: as of `SqlCredit`, or fewer than 2 or more than 1,000 runs.
        """
        expect_number("runs", self.runs, 2, 1000, whole=True)
        SqlSettings.check(self)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Score:
        """Time one reply against the reference."""
        reply = sql_reply(output, self.form, self.key)
        if reply.refused:
            return Score(_R_VES, None, outcome="refused", reason="the model or a content filter refused")
        place = self.database(sample)
        bench = Bench.of(sandbox, self.limits, CellEquality())
        try:
            scores = [
                await self._against(bench, place, gold, reply.reading, reply.problem)
                for gold in golds_of(sample, place.database.engine)
            ]
        except ComparisonStop as stop:
            return Score(_R_VES, None, outcome="not_applicable", reason=str(stop))
        return max(scores, key=lambda score: -1.0 if score.value is None else score.value)

    async def _against(
        self, bench: Bench, place: SampleDatabase, gold: Sample, reading: SqlReading, problem: str
    ) -> Score:
        reference = await bench.reference(place, gold)
        if isinstance(reference, str):
            return Score(_R_VES, None, outcome="not_applicable", reason=reference)
        if problem:
            return Score(_R_VES, 0.0, reason=problem)
        predicted = await bench.predicted(place, reading)
        if predicted.table is None:
            return Score(_R_VES, 0.0, reason=predicted.failure.message if predicted.failure else "")
        pair = (reference, predicted.table)
        if not await bench.compare(*pair, partial(bird, *pair)):
            return Score(_R_VES, 0.0, reason="another set of rows")
        ratios = []
        for _ in range(self.runs):
            own = _seconds(await bench.predicted(place, reading))
            ratios.append(_seconds(await bench.run(place.database, str(gold.reference))) / own)
        return _rewarded(ratios)


def _seconds(execution: Execution) -> float:
    return max(execution.seconds, 1e-9)


def _rewarded(ratios: Sequence[float]) -> Score:
    """The score of some ratios: the reward of their mean without those beyond three standard deviations."""
    mean, spread = statistics.fmean(ratios), statistics.pstdev(ratios)
    kept = [ratio for ratio in ratios if abs(ratio - mean) < 3 * spread] or list(ratios)
    ratio = statistics.fmean(kept)
    half = 1.96 * statistics.stdev(kept) / math.sqrt(len(kept)) if len(kept) > 1 else 0.0
    detail = {"ratio": ratio, "interval": [ratio - half, ratio + half], "runs": len(ratios)}
    reason = f"the reference takes {ratio:.2f} times as long [{ratio - half:.2f}, {ratio + half:.2f}]"
    return Score(_R_VES, math.sqrt(ves_reward(ratio)), reason=reason, detail=detail)


def _linking(gold: Sample, query: str, dialect: tuple[Any, str]) -> list[float | None]:
    """Precision and recall of tables and of columns; None where a query cannot be parsed."""
    engine, ddl = dialect
    schema: Schema = parse_schema(ddl, dialect=engine)
    expected, named = (named_parts(text, engine, schema) for text in (str(gold.reference), query))
    if expected is None:
        return [None] * 4
    if named is None:
        return [0.0] * 4
    return [*precision_recall(expected[0], named[0]), *precision_recall(expected[1], named[1])]


def _all(names: Sequence[str], outcome: Any, reason: str) -> list[Score]:
    return [Score(name, None, outcome=outcome, reason=reason) for name in names]
