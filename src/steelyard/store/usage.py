"""Calls, tokens, money and time: per evaluation, per stage of a run, and per sample.

Money is a whole number of billionths of the currency's unit, see `steelyard.models.prices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from numpy.typing import NDArray

from steelyard.analysis.model_calls import FrameworkUsage, StageCost
from steelyard.analysis.numbers import money_text
from steelyard.errors import ConfigError
from steelyard.models.prices import units
from steelyard.prompts.agent_messages import reported_usage
from steelyard.store.database.connection import Connection
from steelyard.store.writer import Batch
from steelyard.types import Output

Array = NDArray[Any]

OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
"""Counters of a run."""
OF_STAGE: Final = (
    "calls", "from_journal", "input_tokens", "output_tokens", "estimated", "priced", "money", "cached_tokens",
    "read_again", "cache_written", "reasoning_tokens", "saved",
)  # fmt: skip
"""Counters of a stage."""
REPORTED: Final = ("reporting", "reporting_in_part", "reported_input_tokens", "reported_output_tokens")
"""Counters of a run, of tokens that its outputs report."""


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
    """
    query = "SELECT currency FROM evaluation WHERE num = (SELECT evaluation FROM run WHERE num = :run)"
    currency = connection.execute(query, {"run": run}).scalar() or ""
    rows = connection.execute("SELECT * FROM stage WHERE run = :run ORDER BY stage", {"run": run}).mappings()
    return tuple(_stage_cost(row, stages[row["stage"]], currency) for row in rows)


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
