"""What an evaluation has spent beside calls and tokens, its money and its time, and what each stage of a run cost.

Money is a whole number of billionths of the currency's unit, see `steelyard.models.prices`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, inspect, select

from steelyard.errors import ConfigError
from steelyard.models.prices import billionths, units
from steelyard.store import schema
from steelyard.store.conflicts import add_or_move, add_or_set
from steelyard.store.writer import Batch
from steelyard.summary.stages import money_text

_OF_STAGE: Final = ("priced", "money")


def put_spending(batch: Batch, evaluation: int, money: int, millis: int) -> None:
    """Add to what an evaluation has spent."""
    row = {"evaluation": evaluation, "currency": "", "money": money, "millis": millis}
    move = add_or_move(batch.connection.dialect.name, schema.spending, ("evaluation",), ("money", "millis"))
    batch.connection.execute(move, [row])


def set_currency(batch: Batch, evaluation: int, currency: str) -> None:
    """Note in what an evaluation's money is."""
    values = {"evaluation": evaluation, "currency": currency, "money": 0, "millis": 0}
    statement = add_or_set(batch.connection.dialect.name, schema.spending, ("evaluation",), ("currency",))
    batch.connection.execute(statement, [values])


def check_currency(spent: tuple[int, int, str], currency: str) -> None:
    """Refuse to add up two currencies.

    Raises:
        ConfigError: something was spent in another one than `currency`.
    """
    money, _, before = spent
    if money and before != currency:
        held = money_text(units(money), before)
        raise ConfigError(
            f"prices are in {currency or 'no currency'}, but this evaluation has spent {held}: "
            "resume it with prices in the same currency"
        )


def read_spending(connection: Connection, evaluation: int) -> tuple[int, int, str]:
    """Billionths, milliseconds and the currency; nothing where none of it was counted."""
    table = schema.spending
    if not inspect(connection).has_table(table.name):
        return 0, 0, ""
    row = connection.execute(select(table).where(table.c.evaluation == evaluation)).first()
    return (0, 0, "") if row is None else (row.money, row.millis, row.currency)


def note_cost(counters: Counter[str], metadata: Mapping[str, Any]) -> None:
    """Count what a reply cost, where it says so."""
    cost = metadata.get("cost")
    if isinstance(cost, float):
        counters["priced"] += 1
        counters["money"] += billionths(cost)


def store_stage_money(batch: Batch, run: int, stages: Sequence[str], moved: Mapping[str, Counter[str]]) -> None:
    """Move what the stages of a run cost, in the transaction of the records that they asked for."""
    rows = [
        {"run": run, "stage": stages.index(stage), **{name: counters[name] for name in _OF_STAGE}}
        for stage, counters in moved.items()
        if counters["priced"] or counters["money"]
    ]
    if rows:
        move = add_or_move(batch.connection.dialect.name, schema.stage_money, ("run", "stage"), _OF_STAGE)
        batch.connection.execute(move, rows)


def stage_money(connection: Connection, run: int) -> dict[int, tuple[int, int]]:
    """By stage: how many of its replies have a cost, and billionths of all of them."""
    table = schema.stage_money
    if not inspect(connection).has_table(table.name):
        return {}
    rows = connection.execute(select(table).where(table.c.run == run))
    return {row.stage: (row.priced, row.money) for row in rows}


def currency_of(connection: Connection, run: int) -> str:
    """In what the money of a run is; "" where no prices were given."""
    evaluation = connection.scalar(select(schema.run.c.evaluation).where(schema.run.c.num == run))
    return "" if evaluation is None else read_spending(connection, evaluation)[2]
