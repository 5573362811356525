"""Whether a store is sound: everything in it is read, unpacked, counted again and held against its check sums.

Each run is read in one moment, so that a store that is being written can be looked at too. What is found and what
cannot be found is told in docs/store.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, Table, func, select

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.damage import Verdict
from steelyard.store.reading import unpacker_of
from steelyard.store.records import sample_hash
from steelyard.store.verify_run import RunCheck
from steelyard.text.plain_json import from_json

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

_KEY_BYTES: Final = 10
_OF_RUNS: Final = (
    schema.record, schema.score, schema.stage, schema.stage_money, schema.layer, schema.stopping, schema.seal,
    schema.note, schema.label,
)  # fmt: skip


def verify(store: Store, run: Run | None = None, *, deep: bool = False) -> Verdict:
    """Look at a whole store, or at one run with all it needs.

    Args:
        store: is read only.
        run: look at this run alone.
        deep: let the database check its indexes against its tables too, which takes longer.

    Returns:
        What was looked at, and what is wrong.
    """
    verdict = Verdict()
    with verdict.reading("the file"), store.reading() as connection:
        for line in store.check_pages(connection, deep=deep, notes=verdict.notes):
            verdict.add(line)
    with verdict.reading("the tables"), store.reading() as connection:
        _check_tables(store.tables(connection), verdict)
    if run is None:
        for what, check in (("samples", _check_samples), ("replies", _check_replies), ("words", _check_words)):
            with verdict.reading(what), store.reading() as connection:
                check(connection, verdict)
        for table in _OF_RUNS:
            with verdict.reading(f"table {table.name}"), store.reading() as connection:
                _check_owner(connection, table, verdict)
    with verdict.reading("the table of runs"):
        for one in [run] if run is not None else store.runs():
            with verdict.reading(f"run {one.id}"), store.reading() as connection:
                RunCheck(connection, one.num, one.id, verdict).check()
    return verdict


def _check_tables(known: set[str], verdict: Verdict) -> None:
    later = {table.name for table in schema.LATER}
    for table in schema.metadata.sorted_tables:
        if table.name not in known and table.name not in later:
            verdict.add(f"table {table.name} is missing")
    if missing := sorted(later - known):
        verdict.notes.append(f"an earlier version made this store; it has no table {', '.join(missing)} yet")


def _streamed(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    return iter(connection.execution_options(yield_per=1000).execute(query))


def _check_samples(connection: Connection, verdict: Verdict) -> None:
    """Each unpacks to what its hash was made of."""
    table, unpack = schema.sample, unpacker_of(connection).unpack
    for row in _streamed(connection, select(table).order_by(table.c.num)):
        verdict.counts["samples"] += 1
        try:
            body = unpack(bytes(row.body))
        except StoreError as error:
            verdict.add(str(error), sample=row.id)
            continue
        if sample_hash(row.id, row.grp, row.cluster, body) != row.hash:
            verdict.add("the sample is not what its hash was made of", sample=row.id)


def _check_replies(connection: Connection, verdict: Verdict) -> None:
    """Each unpacks to a JSON list under a key of ten bytes, and has its key alone."""
    table, unpack = schema.reply, unpacker_of(connection).unpack
    for row in _streamed(connection, select(table).order_by(table.c.num)):
        verdict.counts["replies"] += 1
        key = bytes(row.key)
        if len(key) != _KEY_BYTES:
            verdict.add(f"reply {key.hex()} has a key of {len(key)} bytes, not {_KEY_BYTES}")
        try:
            if not isinstance(from_json(unpack(bytes(row.body))), list):
                verdict.add(f"reply {key.hex()} is no list")
        except (StoreError, ValueError) as error:
            verdict.add(f"reply {key.hex()}: {error}")
    # An index that lost a row would not notice a second one, so the table itself is grouped.
    grouped = func.substr(table.c.key, 1, 2 * _KEY_BYTES)
    twice = select(grouped).group_by(grouped).having(func.count() > 1)
    for (several,) in connection.execute(twice.limit(_KEY_BYTES)):
        verdict.add(f"reply {bytes(several).hex()} is there more than once")


def _check_words(connection: Connection, verdict: Verdict) -> None:
    """No text has two numbers, and every dictionary holds something."""
    word, dictionary = schema.word, schema.dictionary
    seen: dict[str, int] = {}
    for row in connection.execute(select(word).order_by(word.c.num)):
        verdict.counts["names"] += 1
        if row.text in seen:
            verdict.add(f"the name {row.text!r} has two numbers, {seen[row.text]} and {row.num}")
        seen[row.text] = row.num
    for row in connection.execute(select(dictionary)):
        verdict.counts["dictionaries"] += 1
        if not row.data:
            verdict.add(f"dictionary {row.num} is empty")


def _check_owner(connection: Connection, table: Table, verdict: Verdict) -> None:
    """Every row is of a run that is there."""
    if not connection.dialect.has_table(connection, table.name):
        return
    rows = (
        select(table.c.run, func.count())
        .where(table.c.run.not_in(select(schema.run.c.num)))
        .group_by(table.c.run)
        .order_by(table.c.run)
    )
    for number, count in connection.execute(rows):
        verdict.add(f"table {table.name} has {count} rows of run number {number}, which is not there")
