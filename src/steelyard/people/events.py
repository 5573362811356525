"""The table of events: who did what, when, on which record, and what they had seen; rows are only added.

Labels, notes and marks of runs, queues, error analyses and drafts of datasets are what their events make of them.
Those who write about one subject take turns: SQLite has one writer, PostgreSQL a lock of the transaction. What has to
hold for an event to be added is checked in its turn, by look-ups of single rows; everything else is read before.
"""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from steelyard.analysis.label_forms import MODEL
from steelyard.errors import ConfigError
from steelyard.plain_json import from_json, to_json
from steelyard.store.database import schema
from steelyard.store.database.connection import Connection, select_in
from steelyard.store.open_store import OpenStore
from steelyard.store.writer import Batch

Topic = Literal["label", "note", "mark", "queue", "analysis", "draft"]
_COLUMNS: Final = tuple(name for name in schema.event.names if name != "num")
INSERT_EVENT: Final = schema.insert_into(schema.event, _COLUMNS)
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(:turn, 0))"
_LONGEST_NAME: Final = 200
_OF_ANY_VALUE: Final = frozenset({"label", "note"})
_BODY: Final[Mapping[str, type]] = {
    **dict.fromkeys(("code", "definition", "digest", "into", "name", "parent", "split_from", "text", "title"), str),
    **dict.fromkeys(("examples", "items", "tags"), list),
    **dict.fromkeys(("cells", "config", "counts", "drawn", "from"), dict),
    "item": int,
}
"""Types of what the bodies of events hold, by key; a store of strangers may hold anything in their place."""
_TEXTS: Final = ("tags",)


@dataclass(frozen=True, slots=True)
class Event:
    """What somebody did.

    Args:
        kind: of it, one of its topic's.
        author: who did it; a model's name begins with `model:`.
        body: what the kind says, as plain JSON.
        at: when; by default now.
        run: number of the run that it is about, with which it is deleted; None where it is about none.
        sample: id of the sample that it is about; "" for none.
        repeat: of it.
        name: of a label or tag.
        seen: number of the last event on the same thing that the author saw; 0 for none.
        num: in the order in which it was stored; 0 before it is.
    """

    kind: str
    author: str
    body: Any = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    run: int | None = None
    sample: str = ""
    repeat: int = 0
    name: str = ""
    seen: int = 0
    num: int = 0

    def row(self, topic: Topic, subject: str) -> dict[str, Any]:
        """The event as a row of the table."""
        return {
            "topic": topic,
            "subject": subject,
            "run": self.run,
            "sample": self.sample,
            "repeat": self.repeat,
            "kind": self.kind,
            "name": encodable(self.name),
            "author": encodable(self.author),
            "created": self.at.timestamp(),
            "seen": self.seen,
            "body": encodable(to_json(self.body).decode("utf-8", "surrogatepass")),
        }


def encodable(text: str) -> str:
    """A text with `?` for half a surrogate pair: a terminal may hand one over, and SQLite's driver refuses it."""
    return text.encode("utf-8", "replace").decode()


def checked_author(name: str, *, longest: int = _LONGEST_NAME) -> str:
    """The name of a person, without blanks around it.

    Raises:
        ConfigError: it is blank, too long, or that of a model.
    """
    author = encodable(name).strip()
    if not author:
        raise ConfigError("your name is missing: what people do is stored with the name of its author")
    if len(author) > longest:
        raise ConfigError(f"a name has at most {longest} characters, not {len(author)}")
    if author.startswith(MODEL):
        raise ConfigError(f"{author!r}: names that begin with {MODEL} are reserved for models")
    return author


def read_events(connection: Connection, topic: Topic, subject: str = "") -> Iterator[tuple[str, Event]]:
    """Subject and event, oldest first; of all subjects of the topic where none is named."""
    of_one = "AND subject = :subject" if subject else ""
    query = f"SELECT * FROM event WHERE topic = :topic {of_one} ORDER BY num"
    for row in connection.execute(query, {"topic": topic, "subject": subject} if subject else {"topic": topic}):
        yield row.subject, event_of(row)


def event_of(row: Any) -> Event:
    """The event of a row of the table.

    Raises:
        TypeError: its body is none that any version writes.
        ValueError: likewise.
    """
    body = from_json(row.body.encode())
    if row.topic not in _OF_ANY_VALUE and body is not None:
        _check_body(row, body)
    return Event(
        row.kind,
        row.author,
        body,
        datetime.fromtimestamp(row.created, UTC),
        row.run,
        row.sample,
        row.repeat,
        row.name,
        row.seen,
        row.num,
    )


def _check_body(row: Any, body: Any) -> None:
    wrong = [] if isinstance(body, dict) else ["it"]
    if not wrong and (row.topic, row.kind) == ("analysis", "drawn"):  # run -> how its records were drawn
        wrong = [run for run, drawn in body.items() if not _is_drawn(drawn)]
    elif not wrong:
        wrong = [key for key, kind in _BODY.items() if key in body and not isinstance(body[key], kind)]
        wrong += [key for key in _TEXTS if not all(isinstance(text, str) for text in body.get(key, ()))]
    if wrong:
        raise TypeError(f"{row.topic} event {row.num}: {wrong[0]} is of another type than any version writes")


def _is_drawn(drawn: Any) -> bool:
    strata = drawn.get("strata") if isinstance(drawn, dict) else None
    return isinstance(strata, dict) and all(
        isinstance(part, dict) and isinstance(part.get("records"), int) for part in strata.values()
    )


def newest_event(connection: Connection, topic: Topic, subject: str, sample: str | None = None) -> int:
    """The number of the newest event of a subject; 0 where there is none.

    Args:
        connection: to the store.
        topic: of the subject.
        subject: its id.
        sample: only events on this sample, "" those on none; None is all.
    """
    query = "SELECT max(num) FROM event WHERE topic = :topic AND subject = :subject"
    values: dict[str, Any] = {"topic": topic, "subject": subject}
    if sample is not None:
        query, values["sample"] = f"{query} AND sample = :sample", sample
    return int(connection.execute(query, values).scalar() or 0)


def append(
    store: OpenStore,
    topic: Topic,
    subject: str,
    events: Sequence[Event],
    *,
    check: Callable[[Connection], ConfigError | None] = lambda _connection: None,
) -> None:
    """Store events, all or none, and return once they are on disk.

    Args:
        store: that has the subject.
        topic: of the subject.
        subject: its id.
        events: in order.
        check: looks up, in its turn, whether they may be added; the error says why not.

    Raises:
        ConfigError: what `check` found, or a run that they are about was deleted.
        StoreError: they could not be written.
    """
    rows = [event.row(topic, subject) for event in events]

    def change(batch: Batch) -> ConfigError | None:
        take_turn(batch, f"{topic} {subject}")
        refused = check(batch.connection) or _deleted(batch, {event.run for event in events if event.run is not None})
        if refused is None:
            batch.connection.insert_rows(INSERT_EVENT, rows)
        return refused

    # An error raised within the change would end all writing.
    refused: ConfigError | None = store.writer.change(change)
    if refused is not None:
        raise refused


def _deleted(batch: Batch, runs: Collection[int]) -> ConfigError | None:
    """The error of runs of which one was deleted meanwhile; None where all are there."""
    if batch.shared and runs:
        batch.connection.execute("LOCK TABLE run IN ROW EXCLUSIVE MODE")  # waits for who is deleting runs
    stored = sum(1 for _ in select_in(batch.connection, "SELECT num FROM run WHERE num IN :runs", "runs", runs))
    return None if stored == len(runs) else ConfigError("the run of the record was deleted meanwhile: not stored")


def take_turn(batch: Batch, turn: str) -> None:
    """Wait until no other process has a transaction with the same `turn` open."""
    if batch.shared:
        batch.connection.execute(_LOCK, {"turn": turn})
