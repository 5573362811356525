"""Queues: records that people are asked to label, each by as many raters as the queue wants.

A queue is a list of records and a rule. Verdicts of raters are labels of the records, stored with all others, so that
whatever counts labels counts these, and a label that was given elsewhere counts here. While somebody looks at an item
it is reserved for 15 minutes by the database's clock, so that two people do not do the same work.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.label_forms import CANNOT_TELL, COMMENT, MODEL, NO_OPTION, SideOrder, shown_order
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.labels import add_labels
from steelyard.people.queue_values import (
    DrawnItem,
    LabelQueue,
    QueueDesign,
    QueueItem,
    QueueProgress,
    RaterVerdict,
    RecordKey,
    Verdicts,
)
from steelyard.plain_json import from_json, to_json
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection, portions
from steelyard.store.writer import Batch
from steelyard.types import Label, Record, Sample

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

RESERVED_S: Final = 15 * 60
MOST_ITEMS: Final = 100_000
_LONGEST_NAME: Final = 100
_CLOCK: Final = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
}
_LOCK: Final = "UPDATE queue SET created = created WHERE num = :queue"
"""Of two raters who ask at the same time the second must see what the first was given."""


def create_queue(store: Store, design: QueueDesign, items: Sequence[DrawnItem], *, author: str) -> LabelQueue:
    """Store a queue and its items, and return it once it is on disk.

    Args:
        store: where the runs are.
        design: what is asked.
        items: in any order; raters see them in orders of their own.
        author: who makes it.

    Raises:
        ConfigError: no item, too many, or no author.
        StoreError: it could not be written.
    """
    from steelyard.store.store import new_id

    if not items:
        raise ConfigError("a queue needs at least one record; none was drawn")
    if len(items) > MOST_ITEMS:
        raise ConfigError(f"a queue has at most {MOST_ITEMS:,} items, not {len(items):,}: draw some of them")
    name = checked_rater(author)
    ident, created = new_id(), time.time()
    row = {"id": ident, "created": created, "author": name, "body": to_json(design).decode()}
    ranked = sorted(range(len(items)), key=lambda at: _rank(design.seed, "overlap", at))
    doubly = set(ranked[: round(design.overlap * len(items))])

    def change(batch: Batch) -> int:
        number = batch.connection.insert(schema.queue, row)
        rows = [
            {
                "queue": number,
                "run": item.run.num,
                "no": item.no,
                "sample": item.sample,
                "repeat": item.repeat,
                "needed": item.labelled + (design.raters if at in doubly else 1),
                "weight": item.weight,
                "stratum": item.stratum,
            }
            for at, item in enumerate(items)
        ]
        columns = tuple(rows[0])
        batch.connection.insert_rows(schema.insert_into(schema.queue_item, columns), rows)
        return number

    number = int(store.writer.change(change))
    return LabelQueue(number, ident, name, datetime.fromtimestamp(created, UTC), design)


def queues(store: Store) -> list[LabelQueue]:
    """All queues of a store, newest first."""
    with store.reading() as connection:
        rows = connection.execute("SELECT num, id, created, author, body FROM queue ORDER BY num DESC").all()
    return [_queue(row) for row in rows]


def named_queue(store: Store, ident: str) -> LabelQueue:
    """The queue of an id.

    Raises:
        ConfigError: there is none.
    """
    by_id = {queue.id: queue for queue in queues(store)}
    if ident not in by_id:
        hint = did_you_mean(ident, by_id) if by_id else ": the store has no queues"
        raise ConfigError(f"there is no queue {ident!r}{hint}")
    return by_id[ident]


def checked_rater(name: str) -> str:
    """The name of a person who gives labels, without blanks around it.

    Raises:
        ConfigError: it is blank, too long, or that of a model.
    """
    rater = name.encode("utf-8", "replace").decode().strip()
    if not rater:
        raise ConfigError("a name is missing: every label has the name of its author")
    if len(rater) > _LONGEST_NAME:
        raise ConfigError(f"a name has at most {_LONGEST_NAME} characters, not {len(rater)}")
    if rater.startswith(MODEL):
        raise ConfigError(f"{rater!r}: names that begin with {MODEL} are reserved for models")
    return rater


def reserve_item(store: Store, queue: LabelQueue, rater: str) -> QueueItem | None:
    """The item that a rater is to label next, reserved for 15 minutes; None where nothing is left for them.

    The item that they have on the screen already is returned again. Else an item that another rater has labelled comes
    before new ones, so that the overlap is complete when the queue is; among equals the order is drawn by seed and
    rater, and items that they skipped come last.

    Raises:
        StoreError: it could not be written.
    """
    reserved: QueueItem | None = store.writer.change(lambda batch: _reserve(batch.connection, queue, rater))
    return reserved


def _reserve(connection: Connection, queue: LabelQueue, rater: str) -> QueueItem | None:
    connection.execute(_LOCK, {"queue": queue.num})
    now = _now(connection)
    items = _items(connection, queue.num)
    raters = _raters(_labels(connection, queue, items))
    own_rows: dict[int, Any] = {}
    held_by_others: dict[int, int] = {}
    for row in _reservations(connection, queue.num):
        if row.rater == rater:
            own_rows[row.item] = row
        elif row.until > now:
            held_by_others[row.item] = held_by_others.get(row.item, 0) + 1
    best: tuple[Any, ...] | None = None
    chosen: QueueItem | None = None
    for item in items:
        labelled_by = raters.get(item.key, frozenset())
        if rater in labelled_by or len(labelled_by) + held_by_others.get(item.num, 0) >= item.needed:
            continue
        own_row = own_rows.get(item.num)
        is_open = own_row is not None and own_row.until > now
        skipped = own_row is not None and bool(own_row.skipped)
        order = (not is_open, skipped, not labelled_by, _rank(queue.design.seed, rater, item.num))
        if best is None or order < best:
            best, chosen = order, item
    if chosen is not None:
        _set_reservation(connection, chosen, rater, until=now + RESERVED_S, skipped=False)
    return chosen


def open_items(store: Store, queue: LabelQueue, rater: str) -> list[QueueItem]:
    """The items that a rater may still label, in the rater's order; nothing is reserved."""
    with store.reading() as connection:
        items = _items(connection, queue.num)
        raters = _raters(_labels(connection, queue, items))
    remaining = [
        item for item in items if rater not in raters.get(item.key, ()) and len(raters.get(item.key, ())) < item.needed
    ]
    return sorted(remaining, key=lambda item: _rank(queue.design.seed, rater, item.num))


def skip_item(store: Store, queue: LabelQueue, item: int, rater: str) -> None:
    """Skip an item: others may have it, and the rater gets it again when nothing else is left."""

    def change(batch: Batch) -> None:
        connection = batch.connection
        for found in _items(connection, queue.num, item):
            _set_reservation(connection, found, rater, until=0.0, skipped=True)

    store.writer.change(change)


def queue_item(store: Store, queue: LabelQueue, num: int) -> QueueItem:
    """An item of a queue by its number.

    Raises:
        ConfigError: the queue has no such item: its run may have been deleted.
    """
    with store.reading() as connection:
        matches = _items(connection, queue.num, num)
    if not matches:
        raise ConfigError(f"queue {queue.id} has no item {num} any more: its run may have been deleted")
    return matches[0]


def queue_items(store: Store, queue: LabelQueue) -> list[QueueItem]:
    """All items of a queue, in the order in which they were drawn."""
    with store.reading() as connection:
        return _items(connection, queue.num)


def run_of(store: Store, item: QueueItem) -> Run:
    """The run of an item.

    Raises:
        ConfigError: it was deleted.
    """
    match = next((run for run in store.runs() if run.num == item.run), None)
    if match is None:
        raise ConfigError("the run of this item was deleted, and its labels with it")
    return match


def item_record(run: Run, item: QueueItem) -> Record:
    """The record of an item.

    Raises:
        ConfigError: the run has it no more.
    """
    at_place = (record for _, record in run.records_between(item.no, item.no))
    key = (item.sample, item.repeat)
    match = next((record for record in at_place if (record.sample.id, record.repeat) == key), None)
    if match is None:  # its place may be another's after a resume that allowed changed inputs
        match = next((record for record in run.records_of([item.sample]) if record.repeat == item.repeat), None)
    if match is None:
        raise ConfigError(f"run {run.id} has no record of the sample {item.sample!r} any more")
    return match


def rater_order(queue: LabelQueue, item: QueueItem, rater: str) -> SideOrder:
    """In which order a rater sees the two answers of a pair: half of the raters each way, by seed."""
    return shown_order(_rank(queue.design.seed, rater, -1), item.sample, item.repeat)


def label_item(store: Store, queue: LabelQueue, item: QueueItem, said: RaterVerdict) -> None:
    """Store what a rater says of an item, and return once it is on disk.

    Args:
        store: where the queue is.
        queue: that the item is of.
        item: what is labelled. A reservation that has lapsed does not matter: nothing that was said is lost.
        said: by whom and what.

    Raises:
        ConfigError: the verdict is not valid in this queue, or the run or its sample was deleted.
        StoreError: it could not be written.
    """
    run = run_of(store, item)
    add_labels(store, run, _spoken(queue, item, item_record(run, item).sample, said))
    if said.verdict is None or said.verdict.strip():
        store.writer.change(lambda batch: _release(batch.connection, item, said.rater))


def check_verdict(store: Store, queue: LabelQueue, item: QueueItem, said: RaterVerdict) -> None:
    """Refuse what `label_item` would refuse, so that all rows of a sheet are stored or none.

    Raises:
        ConfigError: the verdict is not valid in this queue, or the run or its sample was deleted.
    """
    _spoken(queue, item, item_record(run_of(store, item), item).sample, said)


def _spoken(queue: LabelQueue, item: QueueItem, sample: Sample, said: RaterVerdict) -> list[Label]:
    """What a rater said, as labels."""
    form, at, labels = queue.design.form, datetime.now(UTC), []
    if said.verdict is None:
        labels.append(Label(item.sample, form.name, CANNOT_TELL, said.rater, at, item.repeat, "cannot_tell"))
    elif said.verdict.strip():
        value = form.parse(said.verdict, sample, rater_order(queue, item, said.rater))
        labels.append(Label(item.sample, form.name, value, said.rater, at, item.repeat, form.kind, form.scale))
    if said.comment.strip():
        labels.append(Label(item.sample, COMMENT, said.comment.strip(), said.rater, at, item.repeat, "text"))
    if not labels:
        raise ConfigError(f"no verdict and no comment: type {form.hint(len(sample.choices))}")
    return labels


def undo_label(store: Store, queue: LabelQueue, rater: str) -> QueueItem | None:
    """Withdraw the last label that a rater gave in a queue and reserve its item again; None where there is none."""
    with store.reading() as connection:
        items = {item.key: item for item in _items(connection, queue.num)}
        own_rows = [row for row in _labels(connection, queue, items.values()) if row.author == rater]
    if not own_rows:
        return None
    newest = max(own_rows, key=lambda row: row.num)
    item = items[newest.run, newest.sample, newest.repeat]
    add_labels(
        store, run_of(store, item), [Label(item.sample, newest.name, None, rater, datetime.now(UTC), item.repeat)]
    )

    def change(batch: Batch) -> None:
        connection = batch.connection
        _set_reservation(connection, item, rater, until=_now(connection) + RESERVED_S, skipped=False)

    store.writer.change(change)
    return item


def given_verdict(store: Store, queue: LabelQueue, item: QueueItem, rater: str, order: SideOrder = "AB") -> str:
    """What a rater said of an item, as it is typed; "" where nothing.

    Args:
        store: where the queue is.
        queue: that the item is of.
        item: a record of it.
        rater: who may have said something.
        order: of the two answers of a pair as the rater sees them.
    """
    with store.reading() as connection:
        rows = _labels(connection, queue, [item])
    value = next((_value(row) for row in rows if row.author == rater), None)
    if value is None:
        return ""
    if queue.design.form.kind == "preference" and value in {"A", "B"}:
        return "AB"[order.index(value)]
    if queue.design.form.kind == "choice":
        return value or NO_OPTION
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_progress(store: Store, queue: LabelQueue) -> tuple[QueueProgress, Verdicts]:
    """How far a queue is, and the verdicts in it, without those of raters who cannot tell."""
    with store.reading() as connection:
        items = _items(connection, queue.num)
        rows = _labels(connection, queue, items)
        now = _now(connection)
        reserved = {row.item for row in _reservations(connection, queue.num) if row.until > now}
    raters = _raters(rows)
    by_rater: dict[str, int] = {}
    verdicts: dict[RecordKey, dict[str, Any]] = {}
    for row in rows:
        by_rater[row.author] = by_rater.get(row.author, 0) + 1
        value = _value(row)
        if value != CANNOT_TELL:
            verdicts.setdefault((row.run, row.sample, row.repeat), {})[row.author] = value
    progress = QueueProgress(
        items=len(items),
        done=sum(len(raters.get(item.key, ())) >= item.needed for item in items),
        labels=len(rows),
        unsure=len(rows) - sum(map(len, verdicts.values())),
        overlapping=sum(len(by_rater_name) > 1 for by_rater_name in verdicts.values()),
        conflicting=sum(map(_is_conflict, verdicts.values())),
        reserved=len(reserved),
        by_rater=dict(sorted(by_rater.items(), key=lambda pair: -pair[1])),
    )
    return progress, verdicts


def _is_conflict(verdicts: Mapping[str, Any]) -> bool:
    values = list(verdicts.values())
    return any(value != values[0] for value in values)


def count_by_rater(store: Store, queue: LabelQueue, rater: str) -> int:
    """How many records of a queue a rater has labelled."""
    with store.reading() as connection:
        return len(_labels(connection, queue, _items(connection, queue.num), rater))


def disagreements(store: Store, queue: LabelQueue) -> list[DrawnItem]:
    """The items on which raters disagree, for a queue of their own: each is to be decided by one more person."""
    _, verdicts = read_progress(store, queue)
    runs = {run.num: run for run in store.runs()}
    with store.reading() as connection:
        items = _items(connection, queue.num)
        raters = _raters(_labels(connection, queue, items))  # those who cannot tell too: they are not asked again
    return [
        DrawnItem(runs[item.run], item.no, item.sample, item.repeat, item.weight, item.stratum, len(raters[item.key]))
        for item in items
        if item.run in runs and item.key in raters and _is_conflict(verdicts.get(item.key, {}))
    ]


def _now(connection: Connection) -> float:
    """The database's time: clocks of several machines differ."""
    return float(connection.execute(_CLOCK[connection.dialect]).scalar())


def _rank(seed: int, name: str, number: int) -> int:
    """A number drawn by seed, name and number, the same on every machine."""
    text = f"queue\0{seed}\0{name}\0{number}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=6).digest())


def _queue(row: Any) -> LabelQueue:
    design = QueueDesign.from_json(from_json(row.body.encode()))
    return LabelQueue(row.num, row.id, row.author, datetime.fromtimestamp(row.created, UTC), design)


def _items(connection: Connection, queue: int, num: int | None = None) -> list[QueueItem]:
    query = "SELECT num, run, no, sample, repeat, needed, weight, stratum FROM queue_item WHERE queue = :queue"
    values = {"queue": queue}
    if num is not None:
        query, values = f"{query} AND num = :num", {**values, "num": num}
    return [QueueItem(*row) for row in connection.execute(f"{query} ORDER BY num", values).tuples()]


def _labels(connection: Connection, queue: LabelQueue, items: Iterable[QueueItem], rater: str = "") -> list[Any]:
    """The rows of the current labels on items of a queue, oldest first; those of one rater where it is named."""
    keys = {item.key for item in items}
    query = """SELECT num, run, sample, repeat, name, author, value FROM label
        WHERE run IN :runs AND name = :name AND (:rater = '' OR author = :rater) ORDER BY num"""
    newest: dict[tuple[RecordKey, str], Any] = {}
    for runs in portions(sorted({run for run, _, _ in keys})):
        for row in connection.execute(query, {"runs": runs, "name": queue.design.form.name, "rater": rater}):
            key = (row.run, row.sample, row.repeat)
            if key in keys and not row.author.startswith(MODEL):
                newest.pop((key, row.author), None)
                newest[key, row.author] = row
    return [row for row in newest.values() if row.value != "null"]


def _raters(rows: Iterable[Any]) -> dict[RecordKey, Collection[str]]:
    raters: dict[RecordKey, set[str]] = {}
    for row in rows:
        raters.setdefault((row.run, row.sample, row.repeat), set()).add(row.author)
    return dict(raters)


def _value(row: Any) -> Any:
    return from_json(row.value.encode())


def _reservations(connection: Connection, queue: int) -> list[Any]:
    query = """SELECT item, rater, until, skipped FROM reservation
        WHERE item IN (SELECT num FROM queue_item WHERE queue = :queue)"""
    return connection.execute(query, {"queue": queue}).all()


def _set_reservation(connection: Connection, item: QueueItem, rater: str, *, until: float, skipped: bool) -> None:
    row = {"item": item.num, "rater": rater, "run": item.run, "until": until, "skipped": int(skipped)}
    connection.execute(schema.insert_or_update(schema.reservation, ("item", "rater"), ("run", "until", "skipped")), row)


def _release(connection: Connection, item: QueueItem, rater: str) -> None:
    connection.execute(
        "DELETE FROM reservation WHERE item = :item AND rater = :rater", {"item": item.num, "rater": rater}
    )
