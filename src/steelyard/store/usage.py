"""Calls, tokens, money and time: per evaluation, per stage of a run, and per sample.

Money is a whole number of billionths of the currency's unit, see `steelyard.models.prices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.usage import FrameworkUsage, StageCost, money_text
from steelyard.errors import ConfigError
from steelyard.models.prices import units
from steelyard.prompts.agent_messages import reported_usage
from steelyard.store import schema
from steelyard.store.connection import Connection
from steelyard.store.writer import Batch
from steelyard.types import Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
"""Counters of a run."""
OF_STAGE: Final = ("calls", "from_journal", "input_tokens", "output_tokens", "estimated")
"""Counters of a stage."""
OF_STAGE_MONEY: Final = ("priced", "money")
"""How many replies of a stage have a cost, and their sum."""
OF_STAGE_CACHE: Final = ("cached_tokens",)
"""Input tokens of a stage that endpoints had in their caches."""
OF_STAGE_READ_AGAIN: Final = ("read_again",)
"""Replies of a stage that were read again under another response mapping."""
OF_FRAMEWORK: Final = ("records", "in_part", "input_tokens", "output_tokens")
"""Counters of the table `framework_usage`."""


def add_spending(batch: Batch, evaluation: int, money: int, millis: int) -> None:
    """Add to the money and the time that an evaluation has spent."""
    row = {"evaluation": evaluation, "currency": "", "money": money, "millis": millis}
    batch.connection.execute(
        schema.insert_or_add(schema.spending, ("evaluation",), ("money", "millis"), others=("currency",)), row
    )


def raise_time(batch: Batch, evaluation: int, millis: int) -> None:
    """Note the time that an evaluation has taken in all, where several workers may note the same; on a server alone."""
    row = {"evaluation": evaluation, "currency": "", "money": 0, "millis": millis}
    insert = schema.insert_into(schema.spending)
    latest = "millis = greatest(spending.millis, excluded.millis)"
    batch.connection.execute(f"{insert} ON CONFLICT (evaluation) DO UPDATE SET {latest}", row)


def set_currency(batch: Batch, evaluation: int, currency: str) -> None:
    """Store the currency of an evaluation's money."""
    row = {"evaluation": evaluation, "currency": currency, "money": 0, "millis": 0}
    insert = schema.insert_into(schema.spending)
    batch.connection.execute(f"{insert} ON CONFLICT (evaluation) DO UPDATE SET currency = excluded.currency", row)


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


def read_spending(connection: Connection, evaluation: int) -> tuple[int, int, str]:
    """Billionths, milliseconds and the currency; (0, 0, "") where none of it was counted."""
    if not connection.has_table(schema.spending.name):
        return 0, 0, ""
    row = connection.execute("SELECT * FROM spending WHERE evaluation = :num", {"num": evaluation}).first()
    return (0, 0, "") if row is None else (row.money, row.millis, row.currency)


def stage_costs(connection: Connection, run: int, stages: Sequence[str]) -> tuple[StageCost, ...]:
    """Calls, tokens and cost of each stage of a run, in order.

    Args:
        connection: to the store.
        run: the run's number.
        stages: names by number, the target first.

    Returns:
        Empty where the stages do not add up to the run: an earlier version stored some of its records and counted no
        stages, and a part would be taken for the whole.
    """
    if not connection.has_table(schema.stage.name):
        return ()
    of_run = {"run": run}
    rows = connection.execute("SELECT * FROM stage WHERE run = :run ORDER BY stage", of_run).all()
    run_row = connection.execute("SELECT evaluation, replies FROM run WHERE num = :run", of_run).first()
    if run_row is None or sum(row.calls for row in rows) != run_row.replies:
        return ()
    money = _stage_money(connection, run)
    currency = read_spending(connection, run_row.evaluation)[2] if money else ""
    cached = _of_stages(connection, run, schema.stage_cache, *OF_STAGE_CACHE)
    read_again = _of_stages(connection, run, schema.stage_read_again, *OF_STAGE_READ_AGAIN)
    costs = (_stage_cost(row, stages[row.stage], money.get(row.stage, (0, 0)), currency) for row in rows)
    return tuple(
        replace(cost, cached_tokens=cached.get(row.stage, 0), read_again=read_again.get(row.stage, 0))
        for row, cost in zip(rows, costs, strict=True)
    )


def _stage_money(connection: Connection, run: int) -> dict[int, tuple[int, int]]:
    """Stage's number -> how many of its replies have a cost, and billionths of all of them."""
    if not connection.has_table(schema.stage_money.name):
        return {}
    rows = connection.execute("SELECT * FROM stage_money WHERE run = :run", {"run": run})
    return {row.stage: (row.priced, row.money) for row in rows}


def _of_stages(connection: Connection, run: int, table: schema.StoredTable, name: str) -> dict[int, int]:
    """Stage's number -> the counter `name` of a table that came after `stage`, where it is not 0."""
    if not connection.has_table(table.name):
        return {}
    rows = connection.execute(f"SELECT * FROM {table.name} WHERE run = :run", {"run": run})
    return {row.stage: getattr(row, name) for row in rows}


def _stage_cost(row: Any, name: str, cost: tuple[int, int], currency: str) -> StageCost:
    """The counters of a stage; money only if all its replies have a cost, since a partial sum would mislead."""
    usage = StageCost(name, *(getattr(row, counter) for counter in OF_STAGE))
    priced, money = cost
    return replace(usage, money=units(money), currency=currency) if priced and priced == row.calls else usage


def reported_counts(output: Output | None, *, through_journal: bool) -> dict[str, int]:
    """The counts that an output adds to `OF_FRAMEWORK`; empty if it reports no tokens."""
    usage = reported_usage(output, through_journal=through_journal)
    if usage is None:
        return {}
    tokens = {name: usage[name] for name in ("input_tokens", "output_tokens")}
    return {"records": 1, "in_part": int("calls_without_tokens" in usage), **tokens}


def framework_usage(connection: Connection, run: int) -> FrameworkUsage | None:
    """The tokens that a run's outputs report of models which did not go through the journal; None where none does."""
    if not connection.has_table(schema.framework_usage.name):
        return None
    row = connection.execute("SELECT * FROM framework_usage WHERE run = :run", {"run": run}).first()
    return FrameworkUsage(*(getattr(row, name) for name in OF_FRAMEWORK)) if row is not None and row.records else None
