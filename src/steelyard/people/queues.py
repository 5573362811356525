"""Queues: records that people are asked to label, each by as many raters as the queue wants.

A queue is a list of records and a rule. Verdicts of raters are labels of the records, stored with all others, so that
whatever counts labels counts these, and a label that was given elsewhere counts here. While somebody looks at an item
it is reserved for 15 minutes by the database's clock, so that two people do not do the same work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from steelyard.analysis.label_forms import CANNOT_TELL, COMMENT, MODEL, NO_OPTION, SideOrder, shown_order
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.draw import (
    DrawnItem,
    DrawnRecord,
    RecordKey,
    drawn_items,
    item_record,
    seeded_rank,
    store_draw,
)
from steelyard.people.events import Event, checked_author, event_of, read_events, take_turn
from steelyard.people.labels import add_labels
from steelyard.people.queue_values import (
    LabelQueue,
    QueueDesign,
    QueueProgress,
    RaterVerdict,
    Verdicts,
)
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection, portions
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.store.writer import Batch
from steelyard.types import Label, Sample

RESERVED_S: Final = 15 * 60
MOST_ITEMS: Final = 100_000
_LONGEST_NAME: Final = 100
_CLOCK: Final = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
}


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
    if not items:
        raise ConfigError("a queue needs at least one record; none was drawn")
    if len(items) > MOST_ITEMS:
        raise ConfigError(f"a queue has at most {MOST_ITEMS:,} items, not {len(items):,}: draw some of them")
    name = checked_rater(author)
    ranked = sorted(range(len(items)), key=lambda at: _rank(design.seed, "overlap", at))
    doubly = set(ranked[: round(design.overlap * len(items))])
    needing = [
        replace(item, needed=item.needed + (design.raters if at in doubly else 1)) for at, item in enumerate(items)
    ]
    ident, number, created = store_draw(store, "queue", design, needing, author=name)
    return LabelQueue(number, ident, name, created, design)


def queues(store: Store) -> list[LabelQueue]:
    """All queues of a store, newest first."""
    with store.reading() as connection:
        listed = [_queue(ident, event) for ident, event in read_events(connection, "queue")]
    return listed[::-1]


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
    """The name of a person who labels, without blanks around it.

    Raises:
        ConfigError: it is blank, too long, or that of a model.
    """
    return checked_author(name, longest=_LONGEST_NAME)


def reserve_item(store: Store, queue: LabelQueue, rater: str) -> DrawnRecord | None:
    """The item that a rater is to label next, reserved for 15 minutes; None where nothing is left for them.

    The item that they have on the screen already is returned again. Else an item that another rater has labelled comes
    before new ones, so that the overlap is complete when the queue is; among equals the order is drawn by seed and
    rater, and items that they skipped come last.

    Raises:
        StoreError: it could not be written.
    """
    while (item := _next_item(store, queue, rater)) is not None:
        if store.writer.change(partial(_reserve, queue, item, rater)):
            return item
        # Somebody else got it between the two; who asks again sees that.
    return None


def _next_item(store: Store, queue: LabelQueue, rater: str) -> DrawnRecord | None:
    with store.reading() as connection:
        items = drawn_items(connection, queue.num)
        raters = _raters(_labels(connection, queue, items))
        reservations = _reservations(connection, queue)
        now = _now(connection)
    own_rows = {row.item: row for row in reservations if row.rater == rater}
    held = Counter(row.item for row in reservations if row.rater != rater and row.until > now)

    def order(item: DrawnRecord) -> tuple[Any, ...]:
        own = own_rows.get(item.num)
        is_open, skipped = own is not None and own.until > now, own is not None and bool(own.skipped)
        return not is_open, skipped, not raters.get(item.key), _rank(queue.design.seed, rater, item.num)

    def is_free(item: DrawnRecord) -> bool:
        labelled_by = raters.get(item.key, frozenset())
        return rater not in labelled_by and len(labelled_by) + held[item.num] < item.needed

    return min(filter(is_free, items), key=order, default=None)


def _reserve(queue: LabelQueue, item: DrawnRecord, rater: str, batch: Batch) -> bool:
    """Reserve an item unless as many others as it needs have it by now: looks at the rows of this item alone."""
    take_turn(batch, f"reservation {item.num}")
    connection = batch.connection
    now = _now(connection)
    held = sum(row.rater != rater and row.until > now for row in _reservations(connection, queue, item))
    labelled_by = {row.author for row in _labels(connection, queue, [item])}
    if rater in labelled_by or len(labelled_by) + held >= item.needed:
        return False
    _set_reservation(connection, item, rater, until=now + RESERVED_S, skipped=False)
    return True


def open_items(store: Store, queue: LabelQueue, rater: str) -> list[DrawnRecord]:
    """The items that a rater may still label, in the rater's order; nothing is reserved."""
    with store.reading() as connection:
        items = drawn_items(connection, queue.num)
        raters = _raters(_labels(connection, queue, items))
    remaining = [
        item for item in items if rater not in raters.get(item.key, ()) and len(raters.get(item.key, ())) < item.needed
    ]
    return sorted(remaining, key=lambda item: _rank(queue.design.seed, rater, item.num))


def skip_item(store: Store, queue: LabelQueue, item: int, rater: str) -> None:
    """Skip an item: others may have it, and the rater gets it again when nothing else is left."""
    skipped = queue_item(store, queue, item)
    store.writer.change(lambda batch: _set_reservation(batch.connection, skipped, rater, until=0.0, skipped=True))


def queue_item(store: Store, queue: LabelQueue, num: int) -> DrawnRecord:
    """An item of a queue by its number.

    Raises:
        ConfigError: the queue has no such item: its run may have been deleted.
    """
    with store.reading() as connection:
        matches = drawn_items(connection, queue.num, num)
    if not matches:
        raise ConfigError(f"queue {queue.id} has no item {num} any more: its run may have been deleted")
    return matches[0]


def queue_items(store: Store, queue: LabelQueue) -> list[DrawnRecord]:
    """All items of a queue, in the order in which they were drawn."""
    with store.reading() as connection:
        return drawn_items(connection, queue.num)


def run_of(store: Store, item: DrawnRecord) -> Run:
    """The run of an item.

    Raises:
        ConfigError: it was deleted.
    """
    match = next((run for run in store.runs() if run.num == item.run), None)
    if match is None:
        raise ConfigError("the run of this item was deleted, and its labels with it")
    return match


def rater_order(queue: LabelQueue, item: DrawnRecord, rater: str) -> SideOrder:
    """In which order a rater sees the two answers of a pair: half of the raters each way, by seed."""
    return shown_order(_rank(queue.design.seed, rater, -1), item.sample, item.repeat)


def label_item(store: Store, queue: LabelQueue, item: DrawnRecord, said: RaterVerdict) -> None:
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


def check_verdict(store: Store, queue: LabelQueue, item: DrawnRecord, said: RaterVerdict) -> None:
    """Refuse what `label_item` would refuse, so that all rows of a sheet are stored or none.

    Raises:
        ConfigError: the verdict is not valid in this queue, or the run or its sample was deleted.
    """
    _spoken(queue, item, item_record(run_of(store, item), item).sample, said)


def _spoken(queue: LabelQueue, item: DrawnRecord, sample: Sample, said: RaterVerdict) -> list[Label]:
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


def undo_label(store: Store, queue: LabelQueue, rater: str) -> DrawnRecord | None:
    """Withdraw the last label that a rater gave in a queue and reserve its item again; None where there is none."""
    with store.reading() as connection:
        items = {item.key: item for item in drawn_items(connection, queue.num)}
        own_rows = _labels(connection, queue, list(items.values()), rater)
    if not own_rows:
        return None
    newest = max(own_rows, key=lambda row: row.num)
    item = items[_key(newest)]
    add_labels(
        store, run_of(store, item), [Label(item.sample, newest.name, None, rater, datetime.now(UTC), item.repeat)]
    )

    def change(batch: Batch) -> None:
        connection = batch.connection
        _set_reservation(connection, item, rater, until=_now(connection) + RESERVED_S, skipped=False)

    store.writer.change(change)
    return item


def given_verdict(store: Store, queue: LabelQueue, item: DrawnRecord, rater: str, order: SideOrder = "AB") -> str:
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
    value = next((row.body for row in rows if row.author == rater), None)
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
        items = drawn_items(connection, queue.num)
        rows = _labels(connection, queue, items)
        now = _now(connection)
        reserved = {row.item for row in _reservations(connection, queue) if row.until > now}
    raters = _raters(rows)
    by_rater: dict[str, int] = {}
    verdicts: dict[RecordKey, dict[str, Any]] = {}
    for row in rows:
        by_rater[row.author] = by_rater.get(row.author, 0) + 1
        value = row.body
        if value != CANNOT_TELL:
            verdicts.setdefault(_key(row), {})[row.author] = value
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
        return len(_labels(connection, queue, drawn_items(connection, queue.num), rater))


def disagreements(store: Store, queue: LabelQueue) -> list[DrawnItem]:
    """The items on which raters disagree, for a queue of their own: each is to be decided by one more person."""
    _, verdicts = read_progress(store, queue)
    runs = {run.num: run for run in store.runs()}
    with store.reading() as connection:
        items = drawn_items(connection, queue.num)
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
    return seeded_rank("queue", seed, name, number, digest_size=6)


def _queue(ident: str, event: Event) -> LabelQueue:
    return LabelQueue(event.num, ident, event.author, event.at, QueueDesign.from_json(event.body))


def _labels(connection: Connection, queue: LabelQueue, items: Sequence[DrawnRecord], rater: str = "") -> list[Event]:
    """The current labels on items of a queue, oldest first; those of one rater where it is named."""
    keys = {item.key for item in items}
    query = """SELECT * FROM event WHERE topic = 'label' AND subject IN (SELECT id FROM run WHERE num IN :runs)
        AND name = :name AND (:rater = '' OR author = :rater) AND (:sample = '' OR sample = :sample) ORDER BY num"""
    values = {"name": queue.design.form.name, "rater": rater, "sample": items[0].sample if len(items) == 1 else ""}
    newest: dict[tuple[RecordKey, str], Event] = {}
    for runs in portions(sorted({run for run, _, _ in keys})):
        for row in connection.execute(query, {"runs": runs, **values}):
            key = (row.run, row.sample, row.repeat)
            if key in keys and not row.author.startswith(MODEL):
                newest.pop((key, row.author), None)
                newest[key, row.author] = event_of(row)
    return [event for event in newest.values() if event.body is not None]


def _raters(labels: Iterable[Event]) -> dict[RecordKey, Collection[str]]:
    raters: dict[RecordKey, set[str]] = {}
    for label in labels:
        raters.setdefault(_key(label), set()).add(label.author)
    return dict(raters)


def _key(label: Event) -> RecordKey:
    return label.run or 0, label.sample, label.repeat


def _reservations(connection: Connection, queue: LabelQueue, item: DrawnRecord | None = None) -> list[Any]:
    """Reservations of one item, or of all items of the queue."""
    where = "item IN (SELECT num FROM drawn WHERE event = :event)" if item is None else "item = :item"
    values = {"event": queue.num} if item is None else {"item": item.num}
    return connection.execute(f"SELECT item, rater, until, skipped FROM reservation WHERE {where}", values).all()


def _set_reservation(connection: Connection, item: DrawnRecord, rater: str, *, until: float, skipped: bool) -> None:
    row = {"item": item.num, "rater": rater, "run": item.run, "until": until, "skipped": int(skipped)}
    connection.execute(schema.insert_or_update(schema.reservation, ("item", "rater"), ("run", "until", "skipped")), row)


def _release(connection: Connection, item: DrawnRecord, rater: str) -> None:
    connection.execute(
        "DELETE FROM reservation WHERE item = :item AND rater = :rater", {"item": item.num, "rater": rater}
    )
