"""The review queue of a run: replies whose reading a person should look at, in order of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select

from steelyard.store import schema
from steelyard.store.details import AnsweredReader
from steelyard.store.reading import unpacker_of
from steelyard.store.run import Run
from steelyard.summary import NOT_KEPT, Answered, QueueKind, queue_kind
from steelyard.types import OUTCOMES, Record

_AROUND: Final = 60


@dataclass(frozen=True, slots=True)
class Queued:
    """A reply in the queue.

    Args:
        kind: why it is there.
        record: with the sample and the reply.
        answered: what was read, and the key.
        span: where in the reply the letter was read; None where none was.
    """

    kind: QueueKind
    record: Record
    answered: Answered
    span: tuple[int, int] | None

    @property
    def reply(self) -> str:
        """The reply's text."""
        value = self.record.output.value if self.record.output else ""
        return value if isinstance(value, str) else str(value)

    @property
    def context(self) -> str:
        """Up to 60 characters around what was read, on one line; of a reply from which nothing was, its end."""
        text = self.reply
        first, last = self.span or (len(text), len(text))
        start = max(0, min(first - (_AROUND - (last - first)) // 2, len(text) - _AROUND))
        end = min(len(text), start + _AROUND)
        cut = " ".join(text[start:end].split())
        return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def queue_of(run: Run, score: str) -> Iterator[Queued]:
    """The replies of a run that are in the queue of an exam score.

    Args:
        run: any run; one without that score has none.
        score: one that the manifest names under `exam`.
    """
    for no, repeat, kind, answered in _places(run, score):
        for _, record in run.records_between(no, no):
            if record.repeat == repeat:
                yield Queued(kind, record, answered, _span(record, score))


def _places(run: Run, score: str) -> list[tuple[int, int, QueueKind, Answered]]:
    table, word = schema.score, schema.word
    here = (table.c.run == run.num) & (table.c.layer == run.layer) & (word.c.text == score)
    query = (
        select(table.c.no, table.c.repeat, table.c.outcome, table.c.body)
        .select_from(table.join(word, word.c.num == table.c.name))
        .where(here)
        .order_by(table.c.no, table.c.repeat)
    )
    found: list[tuple[int, int, QueueKind, Answered]] = []
    with run.store.reading() as connection:
        reader = AnsweredReader(unpacker_of(connection))
        for row in connection.execute(query):
            answered = NOT_KEPT if row.body is None else reader.read(bytes(row.body))
            kind = queue_kind(OUTCOMES[row.outcome], answered)
            if kind:
                found.append((row.no, row.repeat, kind, answered))
    return found


def _span(record: Record, score: str) -> tuple[int, int] | None:
    detail = next((one.detail for one in record.scores if one.name == score), {})
    span = detail.get("span")
    if isinstance(span, list | tuple) and len(span) == 2 and all(isinstance(one, int) for one in span):
        return span[0], span[1]
    return None
