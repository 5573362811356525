"""Labels on records: what people and models say of single answers, beside the scores and never instead of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, inspect, select

from steelyard.errors import ConfigError, did_you_mean
from steelyard.store import schema
from steelyard.store.notes import notes_in
from steelyard.store.writer import Batch
from steelyard.text.plain_json import check_plain, from_json, to_json
from steelyard.types import Label, Remarks

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

MODEL: Final = "model:"
"""What the author of a model's labels begins with."""
_Key = tuple[str, int, str, str]


def add_labels(store: Store, run: Run, labels: Sequence[Label]) -> int:
    """Keep labels, all or none; returns once they are on disk. What its author says already is not said again.

    Args:
        store: where the run is.
        run: whose records they are about; it may be finished.
        labels: of samples of the run; a value of None withdraws an earlier one.

    Returns:
        How many were written.

    Raises:
        ConfigError: a label without a name or author, or of a sample that the run has not asked.
        StoreError: they could not be written.
    """
    _check(store, run, labels)

    def change(batch: Batch) -> int:
        held = {_key(one): one.value for one in _read(batch.connection, run)}
        rows = []
        for one in labels:
            if held.get(_key(one)) != one.value:
                held[_key(one)] = one.value
                rows.append(_row(run, one))
        if rows:
            batch.connection.execute(schema.label.insert(), rows)
        return len(rows)

    return int(store.writer.change(change))


def read_labels(store: Store, run: Run) -> tuple[Label, ...]:
    """The labels that count: the newest of each sample, repeat, name and author, without those withdrawn."""
    with store.reading() as connection:
        return labels_in(connection, run)


def all_labels(store: Store, run: Run) -> tuple[Label, ...]:
    """Every label that was ever given, oldest first."""
    with store.reading() as connection:
        return tuple(_read(connection, run))


def labels_in(connection: Connection, run: Run) -> tuple[Label, ...]:
    """As `read_labels`, on a connection; nothing in a store that is older than labels."""
    newest: dict[_Key, Label] = {}
    for one in _read(connection, run):
        newest.pop(_key(one), None)
        newest[_key(one)] = one
    return tuple(one for one in newest.values() if one.value is not None)


def remarks_in(connection: Connection, run: Run) -> Remarks:
    """All that is said of a run beside its scores."""
    return Remarks(notes_in(connection, {run.num: run.id})[run.id], labels_in(connection, run))


def by_record(labels: Iterable[Label]) -> dict[tuple[str, int], tuple[Label, ...]]:
    """(sample's id, repeat) -> its labels."""
    found: dict[tuple[str, int], tuple[Label, ...]] = {}
    for one in labels:
        found[one.sample, one.repeat] = (*found.get((one.sample, one.repeat), ()), one)
    return found


def _check(store: Store, run: Run, labels: Sequence[Label]) -> None:
    """Refuse what cannot be kept; here, as an error in the writer's transaction would end all writing."""
    with store.reading() as connection:
        known = _samples(connection, run)
    for one in labels:
        if not one.name.strip() or not one.author.strip():
            raise ConfigError(f"a label has a name and an author: {one.name!r} by {one.author!r} lacks one")
        check_plain(one.value)
        if one.sample not in known:
            near = did_you_mean(one.sample, known)
            raise ConfigError(f"run {run.id} has no sample {one.sample!r}{near if near.startswith(':') else ''}")


def _key(label: Label) -> _Key:
    return label.sample, label.repeat, label.name, label.author


def _samples(connection: Connection, run: Run) -> set[str]:
    record, sample = schema.record, schema.sample
    joined = record.join(sample, sample.c.num == record.c.sample)
    return set(connection.scalars(select(sample.c.id).select_from(joined).where(record.c.run == run.num)))


def _read(connection: Connection, run: Run) -> list[Label]:
    table = schema.label
    if not inspect(connection).has_table(table.name):
        return []
    rows = connection.execute(select(table).where(table.c.run == run.num).order_by(table.c.num))
    return [
        Label(
            row.sample,
            row.name,
            from_json(row.value.encode()),
            row.author,
            datetime.fromtimestamp(row.created, UTC),
            row.repeat,
        )
        for row in rows
    ]


def _row(run: Run, label: Label) -> dict[str, Any]:
    return {
        "run": run.num,
        "sample": label.sample,
        "repeat": label.repeat,
        "name": label.name,
        "author": label.author,
        "created": label.at.timestamp(),
        "value": to_json(label.value).decode("utf-8", "replace"),
    }
