"""Counters of evaluations, runs and stages: calls, tokens, money and time, and sums of scores while a run runs.

Money is a whole number of billionths of the currency's unit, see `steelyard.models.prices`. Sums of scores and counts
of calls that were sent again are updated with the batches that are written anyway, by one statement for all records of
a batch, so that looking at a run of 100,000 samples every second reads a few rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, NamedTuple

from steelyard.analysis.model_calls import FrameworkUsage, StageCost
from steelyard.analysis.numbers import money_text
from steelyard.analysis.scores.score_infos import RunningScore
from steelyard.errors import ConfigError, StoreError
from steelyard.models.prices import Spent, units
from steelyard.plain_json import field_values
from steelyard.prompts.agent_messages import reported_usage
from steelyard.store.database import schema
from steelyard.store.database.backend import REPAIR_HINT
from steelyard.store.database.connection import Connection
from steelyard.store.writer import Batch, Operation
from steelyard.types import OUTCOMES, Output

OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
"""Counters of a run."""
OF_STAGE: Final = (
    "calls", "from_journal", "input_tokens", "output_tokens", "estimated", "priced", "money", "cached_tokens",
    "read_again", "cache_written", "reasoning_tokens", "saved",
)  # fmt: skip
"""Counters of a stage."""
REPORTED: Final = ("reporting", "reporting_in_part", "reported_input_tokens", "reported_output_tokens")
"""Counters of a run, of tokens that its outputs report."""
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


def raise_time(batch: Batch, evaluation: int, millis: int) -> None:
    """Note the time that an evaluation has taken in all, where several workers may note the same; on a server alone."""
    update = "UPDATE evaluation SET millis = greatest(millis, :millis) WHERE num = :num"
    batch.connection.execute(update, {"num": evaluation, "millis": millis})


def set_currency(batch: Batch, evaluation: int, currency: str) -> None:
    """Store the currency of an evaluation's money."""
    update = "UPDATE evaluation SET currency = :currency WHERE num = :num"
    batch.connection.execute(update, {"num": evaluation, "currency": currency})


def check_currency(money: int, before: str, currency: str) -> None:
    """Refuse to add up two currencies.

    Args:
        money: spent before.
        before: its currency.
        currency: of the prices to go on with.

    Raises:
        ConfigError: something was spent in another currency.
    """
    if money and before != currency:
        spent = money_text(units(money), before)
        raise ConfigError(
            f"prices are in {currency or 'no currency'}, but this evaluation has spent {spent}: "
            "resume it with prices in the same currency"
        )


def stage_costs(connection: Connection, run: int, stages: Sequence[str]) -> tuple[StageCost, ...]:
    """Calls, tokens and cost of each stage of a run, in order.

    Args:
        connection: to the store.
        run: the run's number.
        stages: names by number, the target first.

    Raises:
        StoreError: a counter is damaged.
    """
    query = "SELECT currency FROM evaluation WHERE num = (SELECT evaluation FROM run WHERE num = :run)"
    currency = connection.execute(query, {"run": run}).scalar() or ""
    costs = []
    for row in connection.execute("SELECT * FROM stage WHERE run = :run ORDER BY stage", {"run": run}).mappings():
        _check_counters(row.values(), run)
        if not 0 <= row["stage"] < len(stages):
            raise StoreError(f"the store is damaged: run number {run} has no stage {row['stage']}. {REPAIR_HINT}")
        costs.append(_stage_cost(row, stages[row["stage"]], currency))
    return tuple(costs)


def _check_counters(values: Iterable[Any], run: int) -> None:
    """Refuse what a damaged SQLite file may hold in the place of a number."""
    if not all(isinstance(value, int | float) for value in values):
        raise StoreError(f"the store is damaged: a counter of run number {run} is not a number. {REPAIR_HINT}")


def _stage_cost(row: Mapping[str, Any], name: str, currency: str) -> StageCost:
    """The counters of a stage; money only if all its replies have a cost, since a partial sum would mislead."""
    counters = [counter for counter in OF_STAGE if counter not in {"priced", "money", "saved"}]
    usage = StageCost(name, **{counter: row[counter] for counter in counters})
    if not row["priced"] or row["priced"] != row["calls"]:
        return usage
    return replace(usage, money=units(row["money"]), currency=currency, saved=units(row["saved"]))


def reported_counts(output: Output | None, *, through_journal: bool) -> dict[str, int]:
    """The counts that an output adds to `REPORTED`; empty if it reports no tokens."""
    usage = reported_usage(output, through_journal=through_journal)
    if usage is None:
        return {}
    in_part = int("calls_without_tokens" in usage)
    return dict(zip(REPORTED, (1, in_part, usage["input_tokens"], usage["output_tokens"]), strict=True))


def framework_usage(connection: Connection, run: int) -> FrameworkUsage | None:
    """The tokens that a run's outputs report of models which did not go through the journal; None where none does."""
    query = f"SELECT {', '.join(REPORTED)} FROM run WHERE num = :run"
    counts = next(connection.execute(query, {"run": run}).tuples(), None)
    return FrameworkUsage(*counts) if counts is not None and counts[0] else None


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


def running_score(connection: Connection, run: int, score: str) -> RunningScore:
    """The sums of a score over the records so far; zeros where no record has it."""
    query = f"""SELECT {", ".join(_SUMS)} FROM running_score
        WHERE run = :run AND name = (SELECT num FROM word WHERE text = :score)"""
    sums = next(connection.execute(query, {"run": run, "score": score}).tuples(), ())
    _check_counters(sums, run)
    return RunningScore(*sums)


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
        retries: (model, kind of fault) -> attempts that failed and were sent again; the first 100, most first.
    """

    spent: Spent
    currency: str
    retries: Mapping[tuple[str, str], int]


def consumption(connection: Connection, evaluation: int) -> Consumption:
    """What an evaluation has spent so far."""
    values = {"num": evaluation}
    row = connection.execute("SELECT * FROM evaluation WHERE num = :num", values).first()
    query = "SELECT * FROM retry WHERE evaluation = :num ORDER BY n DESC, model, fault LIMIT 100"
    retries = {(row.model, row.fault): row.n for row in connection.execute(query, values)}
    spent, currency = Spent(), ""
    if row is not None:
        spent, currency = Spent(row.calls, row.tokens, row.money, row.millis), row.currency
    return Consumption(spent, currency, retries)
