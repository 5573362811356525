"""What a run has come to, counted as its records are stored: its own counters, and those of every stage that asks.

Both move in the transaction of the records that they count, so that they are right after a kill at any moment, and no
page has to read the journal to say what a judge cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from sqlalchemy import Connection, bindparam, inspect, select, update

from steelyard.models.prices import units
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.conflicts import add_or_move
from steelyard.store.records import unpack_keys
from steelyard.store.spending import currency_of, note_cost, stage_money, store_stage_money
from steelyard.store.writer import Batch
from steelyard.summary import StageCost
from steelyard.types import Record, Reply

_OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
_OF_STAGE: Final = ("calls", "from_journal", "input_tokens", "output_tokens", "estimated")
_MOVE: Final = (
    update(schema.run)
    .where(schema.run.c.num == bindparam("run"))
    .values({name: schema.run.c[name] + bindparam(f"by_{name}") for name in _OF_RUN})
)

Moved = dict[str, Counter[str]]
"""Stage -> its counters; "" holds those of the run that no stage has."""


class Stored(Protocol):
    """A record and where it belongs, as far as counting needs it."""

    @property
    def run(self) -> int:
        """The run's number."""

    @property
    def no(self) -> int:
        """The sample's place in the dataset."""

    @property
    def record(self) -> Record:
        """What was stored."""

    @property
    def stages(self) -> Sequence[str]:
        """Names by number, the target first."""


def count(batch: Batch, run: int, operations: Sequence[Stored], replaced: Iterable[Moved]) -> None:
    """Move the counters of a run and of its stages by what was just stored, and back by what was replaced."""
    moved: Moved = {"": Counter(done=len(operations), errors=sum(one.record.failure is not None for one in operations))}
    for one in operations:
        for stage, replies in one.record.replies.items():
            for reply in replies:
                _note(moved.setdefault(stage, Counter()), reply, cached=reply.cached)
    for before in replaced:
        for stage, counters in before.items():
            moved.setdefault(stage, Counter()).subtract(counters)
    _store(batch, run, operations[0].stages, moved)


def _store(batch: Batch, run: int, stages: Sequence[str], moved: Moved) -> None:
    whole = moved.pop("")
    for counters in moved.values():
        whole.update({name: counters[name] for name in _OF_RUN})
        whole["replies"] += counters["calls"]
    batch.connection.execute(_MOVE, {"run": run, **{f"by_{name}": whole[name] for name in _OF_RUN}})
    rows = [
        {"run": run, "stage": stages.index(stage), **{name: counters[name] for name in _OF_STAGE}}
        for stage, counters in moved.items()
    ]
    if rows:
        move = add_or_move(batch.connection.dialect.name, schema.stage, ("run", "stage"), _OF_STAGE)
        batch.connection.execute(move, rows)
    store_stage_money(batch, run, stages, moved)


def _note(counters: Counter[str], reply: Reply, *, cached: bool) -> None:
    usage = reply.usage
    counters["calls"] += 1
    counters["from_journal"] += cached
    counters["input_tokens"] += usage.input_tokens
    counters["output_tokens"] += usage.output_tokens
    counters["estimated"] += usage.estimated
    if reply.metadata:
        note_cost(counters, reply.metadata)


def moved_by(batch: Batch, operation: Stored) -> Moved:
    """By how much the record that `operation` replaces had moved the counters."""
    table, journal = schema.record, schema.reply
    place = (table.c.run == operation.run) & (table.c.no == operation.no)
    row = batch.connection.execute(
        select(table.c.failed, table.c.replies).where(place & (table.c.repeat == operation.record.repeat))
    ).first()
    if row is None:
        return {}
    moved: Moved = {"": Counter(done=1, errors=row.failed)}
    for one in unpack_keys(row.replies, operation.stages):
        body = batch.connection.scalar(select(journal.c.body).where(journal.c.key == one.key))
        reply = Reply("", "") if body is None else unpack_reply("", batch.unpacker.unpack(bytes(body)))
        _note(moved.setdefault(one.stage, Counter()), reply, cached=one.cached)
    return moved


def stage_costs(connection: Connection, run: int, stages: Sequence[str]) -> tuple[StageCost, ...]:
    """What each stage of a run asked, in their order.

    Args:
        connection: of the store.
        run: the run's number.
        stages: names by number, the target first.

    Returns:
        Nothing where the stages do not add up to the run: an earlier version stored some of its records and counted
        no stages, and a part would be taken for the whole.
    """
    if not inspect(connection).has_table(schema.stage.name):
        return ()
    table = schema.stage
    rows = connection.execute(select(table).where(table.c.run == run).order_by(table.c.stage)).all()
    costs = stage_money(connection, run)
    currency = currency_of(connection, run) if costs else ""
    found = tuple(_stage_cost(one, stages[one.stage], costs.get(one.stage, (0, 0)), currency) for one in rows)
    total = connection.scalar(select(schema.run.c.replies).where(schema.run.c.num == run))
    return found if sum(one.calls for one in found) == total else ()


def _stage_cost(row: Any, name: str, cost: tuple[int, int], currency: str) -> StageCost:
    """A stage's counters; without its money where some of its replies have no cost, since a part is no sum."""
    counted = StageCost(name, *(getattr(row, one) for one in _OF_STAGE))
    priced, money = cost
    return replace(counted, money=units(money), currency=currency) if priced and priced == row.calls else counted
