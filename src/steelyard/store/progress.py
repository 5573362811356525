"""What the viewer shows of a run while it runs: sums of its scores, and how often calls were sent again.

Both are updated with the batches that are written anyway, by one statement for all records of a batch, so that looking
at a run of 100,000 samples every second reads a few rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, NamedTuple

from steelyard.analysis.scores.score_infos import RunningScore
from steelyard.models.prices import Spent
from steelyard.plain_json import field_values
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection
from steelyard.store.writer import Batch, Operation
from steelyard.types import OUTCOMES

_SUMS: Final = tuple(field.name for field in fields(RunningScore))
_LONGEST_FAULT: Final = 16
_OUTCOME_COUNTS: Final = ", ".join(
    f"SUM(CASE WHEN outcome = {code} THEN 1 ELSE 0 END)" for code in range(len(OUTCOMES))
)
_COUNT_AGAIN: Final = f"""INSERT INTO running_score (run, name, {", ".join(_SUMS)}) SELECT run, name, {_OUTCOME_COUNTS},
    SUM(CASE WHEN value < 0 OR value > 1 THEN 1 ELSE 0 END), COALESCE(SUM(value), 0)
    FROM score WHERE run = :run AND scoring_version = 0 GROUP BY run, name"""
_SCORES_AT: Final = """SELECT name, outcome, value FROM score
    WHERE run = :run AND scoring_version = 0 AND no = :no AND repeat = :repeat"""

Counted = tuple[int, int, float | None]
"""A row of a score as it is counted: the score's number, its outcome's, its value."""


def scores_at(connection: Connection, run: int, no: int, repeat: int) -> list[Counted]:
    """The scores of one record that are counted in its run's sums."""
    return list(connection.execute(_SCORES_AT, {"run": run, "no": no, "repeat": repeat}).tuples())


def move_scores(
    batch: Batch, rows: Iterable[Mapping[str, Any]], replaced: Iterable[tuple[int, Sequence[Counted]]]
) -> None:
    """Add rows of the table of scores to the sums of their runs, and take the scores of replaced records away.

    Args:
        batch: to write with.
        rows: as they were inserted.
        replaced: a run's number, and the scores that one of its records had before.
    """
    sums: dict[tuple[int, int], RunningScore] = {}
    for row in rows:
        sums.setdefault((row["run"], row["name"]), RunningScore()).add(OUTCOMES[row["outcome"]], row["value"])
    for run, before in replaced:
        for name, outcome, value in before:
            sums.setdefault((run, name), RunningScore()).add(OUTCOMES[outcome], value, -1)
    moves = [{"run": run, "name": name, **field_values(score)} for (run, name), score in sorted(sums.items())]
    batch.connection.insert_rows(schema.insert_or_add(schema.running_score, ("run", "name"), _SUMS), moves)


def count_scores_again(batch: Batch, run: int) -> None:
    """Compute the sums of a run from its rows, some of which were changed."""
    batch.connection.execute("DELETE FROM running_score WHERE run = :run", {"run": run})
    batch.connection.execute(_COUNT_AGAIN, {"run": run})


def running_scores(connection: Connection, run: int) -> dict[str, RunningScore]:
    """Score -> its sums over the records so far."""
    query = f"SELECT w.text, {', '.join(_SUMS)} FROM running_score s JOIN word w ON w.num = s.name WHERE s.run = :run"
    rows = connection.execute(query, {"run": run}).tuples()
    return {name: RunningScore(*sums) for name, *sums in rows}


@dataclass(frozen=True, slots=True)
class CountRetry(Operation):
    """Count an attempt that failed and is sent again; nobody waits for it."""

    rank: ClassVar[int] = 3
    urgent: ClassVar[bool] = False
    evaluation: int
    model: str
    fault: str

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[CountRetry]) -> Sequence[None]:
        """One statement for all."""
        counts = Counter((retry.evaluation, retry.model, retry.fault[:_LONGEST_FAULT]) for retry in operations)
        rows = [
            {"evaluation": evaluation, "model": model, "fault": fault, "n": n}
            for (evaluation, model, fault), n in sorted(counts.items())
        ]
        batch.connection.insert_rows(schema.insert_or_add(schema.retry, ("evaluation", "model", "fault"), ("n",)), rows)
        return [None] * len(operations)


class Consumption(NamedTuple):
    """What all runs of an evaluation have spent together, and how often they retried.

    Args:
        spent: calls, tokens, money and time that were booked; zeros where neither a budget nor prices are set.
        currency: of the money.
        retries: (model, kind of fault) -> attempts that failed and were sent again; most first.
    """

    spent: Spent
    currency: str
    retries: Mapping[tuple[str, str], int]


def consumption(connection: Connection, evaluation: int) -> Consumption:
    """What an evaluation has spent so far."""
    values = {"num": evaluation}
    row = connection.execute("SELECT * FROM evaluation WHERE num = :num", values).first()
    query = "SELECT * FROM retry WHERE evaluation = :num ORDER BY n DESC, model, fault"
    retries = {(row.model, row.fault): row.n for row in connection.execute(query, values)}
    spent, currency = Spent(), ""
    if row is not None:
        spent, currency = Spent(row.calls, row.tokens, row.money, row.millis), row.currency
    return Consumption(spent, currency, retries)
