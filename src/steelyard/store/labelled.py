"""A run with people's verdicts on its replies in place of what was read: for pages that ask for it, stored nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlalchemy import select

from steelyard.store import schema
from steelyard.store.asked import Asked
from steelyard.store.details import answered_of
from steelyard.store.reading import unpacker_of
from steelyard.store.records import unpack_sample
from steelyard.store.run import Run
from steelyard.store.verdicts import Verdicts
from steelyard.summary import (
    NOT_KEPT,
    Answered,
    JudgedRow,
    Labelled,
    RunSummary,
    ScoreColumns,
    ScoreRow,
    Stopping,
    queue_kind,
)
from steelyard.types import Record

_AT_ONCE = 500


class LabelledRun(Run):
    """The run as it would be if each reply said what people read in it; see `Verdicts` for whose word counts.

    Only scores that the manifest names under `exam` change. What a rule decided on the stored scores is not claimed.
    """

    @classmethod
    def of(cls, run: Run) -> LabelledRun:
        """The same run."""
        return cls(run._store, run._row)  # noqa: SLF001  # a handle on the same row

    @cached_property
    def verdicts(self) -> Verdicts:
        """What people say of its replies."""
        found = Verdicts.of(self.remarks().labels)
        return replace(found, orders=self._orders(sorted({sample for sample, _ in found.letters})))

    @property
    def exams(self) -> tuple[str, ...]:
        """Scores that verdicts change."""
        return tuple(self.manifest.get("exam", ()))

    @property
    def stopping(self) -> Stopping | None:
        """What a rule decided, without a claim where verdicts changed what it was decided on."""
        found = super().stopping
        if found is None or found.score not in self.exams or not self.verdicts.letters:
            return found
        return found.undone(self.manifest.get("scales", {}).get(found.score, (0.0, 1.0)))

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score, as verdicts have it."""
        return (row for row, _ in self.examined_rows())

    def examined_rows(self) -> Iterator[tuple[ScoreRow, Answered | None]]:
        """The same with the letters."""
        for row, answered in super().examined_rows():
            yield (row, None) if answered is None else self.verdicts.row(row, answered)

    def columns(self) -> tuple[ScoreColumns, Asked]:
        """The same by columns."""
        scores, asked = super().columns()
        return self.verdicts.columns(scores, self.exams), asked

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """The rows of one score, likewise."""
        for one in super().judged_rows(score):
            if score in self.exams:
                head = ScoreRow(one.sample, one.group, one.cluster, one.repeat, score, one.outcome, one.value)
                row, answered = self.verdicts.row(head, answered_of(one.detail))
                detail = {**one.detail, "letters": answered.letters}
                yield one._replace(outcome=row.outcome, value=row.value, detail=detail)
            else:
                yield one

    def numbered_records(self) -> Iterator[tuple[int, Record]]:
        """Every record with its place, likewise."""
        return ((no, self._record(record)) for no, record in super().numbered_records())

    def records_between(self, first: int, last: int) -> list[tuple[int, Record]]:
        """Those of some places, likewise."""
        return [(no, self._record(record)) for no, record in super().records_between(first, last)]

    def records_of(self, samples: Collection[str]) -> list[Record]:
        """Those of some samples, likewise."""
        return [self._record(record) for record in super().records_of(samples)]

    def summary(self) -> RunSummary:
        """The summary with verdicts, and what they changed."""
        told = super().summary()
        if not told.exams:
            return told
        name = told.exam.score if told.exam else ""
        plain = Run(self._store, self._row).summary().score(name)
        found = self._look(name)
        score = told.score(name)
        kinds = Counter(told.unparsed_kinds)
        kinds.subtract(found.read)
        labelled = Labelled(
            score=name,
            decided=dict(sorted(found.decided.items(), key=lambda pair: (-pair[1], pair[0]))),
            changed=found.changed,
            conflicting=found.conflicting,
            unseen=found.unseen,
            before=plain.headline.value if plain else None,
            after=score.headline.value if score else None,
        )
        return replace(told, labelled=labelled, unparsed_kinds={kind: n for kind, n in kinds.items() if n > 0})

    def _look(self, name: str) -> _Look:
        found = _Look()
        for row, answered in super().examined_rows():
            if answered is not None and row.name == name and row.outcome not in {"error", "not_applicable"}:
                found.add(row, answered, self.verdicts)
        return found

    def _record(self, record: Record) -> Record:
        if (record.sample.id, record.repeat) not in self.verdicts.letters:
            return record
        scores = tuple(self.verdicts.score(record, one) if one.name in self.exams else one for one in record.scores)
        return replace(record, scores=scores)

    def _orders(self, samples: list[str]) -> dict[str, str]:
        """Id -> the order of the options, of these samples, where they have one."""
        record, sample = schema.record, schema.sample
        joined = record.join(sample, sample.c.num == record.c.sample)
        query = select(sample).select_from(joined).where(record.c.run == self.num).distinct()
        found: dict[str, str] = {}
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for at in range(0, len(samples), _AT_ONCE):
                for row in connection.execute(query.where(sample.c.id.in_(samples[at : at + _AT_ONCE]))):
                    order = unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body))).metadata.get("order")
                    if isinstance(order, str):
                        found[row.id] = order
        return found


@dataclass(slots=True)
class _Look:
    """What verdicts meet in a run, counted row by row: `read` has the kinds of unread replies that they decided."""

    decided: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    conflicting: int = 0
    unseen: int = 0
    read: Counter[str] = field(default_factory=Counter)

    def add(self, row: ScoreRow, answered: Answered, verdicts: Verdicts) -> None:
        place = (row.sample, row.repeat)
        if place in verdicts.letters and answered is not NOT_KEPT:
            self.decided[verdicts.authors[place]] += 1
            told, _ = verdicts.row(row, answered)
            self.changed += (told.outcome, told.value) != (row.outcome, row.value)
            if row.outcome == "unparsed":
                self.read[answered.kind or "unparsed"] += 1
        elif place in verdicts.conflicting:
            self.conflicting += 1
        elif queue_kind(row.outcome, answered):
            self.unseen += 1
