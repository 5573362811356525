"""People's review of an exam's replies: the queue of replies to look at, verdicts, and the run with these verdicts.

A verdict is a label named `answer`: the letters that a person reads in the reply, as they were shown to the model; ""
where it gives no option. It counts where all people who labelled the reply agree; models' labels never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from sqlalchemy import select

from steelyard.analysis.score_columns import (
    CODES,
    NOT_KEPT,
    ROW_OUTCOMES,
    Answered,
    JudgedRow,
    QueueKind,
    ScoreColumns,
    ScoreRow,
    queue_kind,
)
from steelyard.analysis.score_infos import names_where, range_of
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import Labelled, RunSummary
from steelyard.errors import ConfigError, StoreError
from steelyard.replies.clean import fold
from steelyard.store import schema
from steelyard.store.labels import MODEL
from steelyard.store.records import unpack_sample, unpacker_of
from steelyard.store.run import Run
from steelyard.store.scores import AnsweredReader, answered_of
from steelyard.store.usage import RunUsage
from steelyard.types import OUTCOMES, Label, Record, Score

_CONTEXT: Final = 60
"""Characters shown on each side of the letters that were read."""
_CHUNK: Final = 500
"""Samples whose rows are read together."""
ANSWER: Final = "answer"
"""The name of such a label."""
NO_OPTION: Final = "none"
"""The verdict on a reply that gives no option, as a person types it."""
RecordKey = tuple[str, int]
"""(sample's id, repeat)."""


@dataclass(frozen=True, slots=True)
class PeopleVerdicts:
    """People's verdicts on the replies of one run.

    Args:
        letters: (sample, repeat) -> letters that all who labelled it agree on.
        authors: likewise who they are, by name, joined by " and ".
        conflicting: places on which people disagree.
        orders: sample's id -> the dataset's own letters in the order shown, for samples with an order of their own.
    """

    letters: Mapping[RecordKey, str]
    authors: Mapping[RecordKey, str]
    conflicting: frozenset[RecordKey]
    orders: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Iterable[Label]) -> PeopleVerdicts:
        """From the current labels of a run; `orders` stays empty, since labels do not hold the samples."""
        by_author: dict[RecordKey, dict[str, str]] = {}
        for label in labels:
            if label.name == ANSWER and not label.author.startswith(MODEL) and isinstance(label.value, str):
                read = "".join(sorted(set(label.value)))
                by_author.setdefault((label.sample, label.repeat), {})[label.author] = read
        readings = {key: set(of_record.values()) for key, of_record in by_author.items()}
        letters = {key: next(iter(read)) for key, read in readings.items() if len(read) == 1}
        authors = {key: " and ".join(sorted(by_author[key])) for key in letters}
        return cls(letters, authors, frozenset(key for key, read in readings.items() if len(read) > 1))

    def __contains__(self, key: RecordKey) -> bool:
        return key in self.letters or key in self.conflicting

    def row(self, row: ScoreRow, answered: Answered) -> tuple[ScoreRow, Answered]:
        """A row of an exam score with the people's verdict; unchanged if there is none, or no reply to label."""
        letters = self.letters.get((row.sample, row.repeat))
        if letters is None or not answered.wanted or row.outcome in {"error", "not_applicable"}:
            return row, answered
        original = None if answered.original is None else self.own_letters(row.sample, letters)
        labelled = answered._replace(letters=letters, original=original, inferred=False, kind="")
        return row._replace(outcome="scored", value=float(letters == answered.wanted)), labelled

    def columns(self, columns: ScoreColumns, exams: Sequence[str]) -> ScoreColumns:
        """The columns of exam scores with the people's verdicts."""
        import numpy as np

        codes = [code for code, name in enumerate(columns.names) if name in exams]
        labelled = {sample for sample, _ in self.letters}
        numbers = [number for number, sample in enumerate(columns.samples) if sample in labelled]
        outcome, value, answered = columns.outcome.copy(), columns.value.copy(), columns.answered.copy()
        details = {detail: number for number, detail in enumerate(columns.details)}
        to_check = np.isin(columns.name, codes) & np.isin(columns.sample, numbers) & (answered >= 0)
        for at in np.flatnonzero(to_check).tolist():
            row = ScoreRow(
                columns.samples[columns.sample[at]], "", "", int(columns.repeat[at]), "",
                ROW_OUTCOMES[outcome[at]], None,
            )  # fmt: skip
            changed, detail = self.row(row, columns.details[answered[at]])
            if changed is not row:
                outcome[at], value[at] = CODES[changed.outcome], changed.value
                answered[at] = details.setdefault(detail, len(details))
        return replace(columns, outcome=outcome, value=value, answered=answered, details=tuple(details))

    def own_letters(self, sample: str, letters: str) -> str:
        """Letters as shown to the model -> as the dataset has them."""
        order = self.orders.get(sample, "")
        return "".join(
            sorted(order[at] if (at := ord(letter) - ord("A")) < len(order) else letter for letter in letters)
        )

    def score(self, record: Record, score: Score) -> Score:
        """A score of a record with the people's verdict in its value, reason and detail."""
        letters = self.letters.get((record.sample.id, record.repeat))
        wanted = score.detail.get("wanted")
        if letters is None or not wanted or score.outcome == "not_applicable":
            return score
        solved = letters == wanted
        who = self.authors[record.sample.id, record.repeat]
        labelled = {"letters": letters, "status": "answered" if letters else "none_of_these", "rule": "label"}
        detail = {**score.detail, **labelled, "confidence": "explicit", "span": None}
        detail.pop("kind", None)
        if "original" in detail:
            detail["original"] = self.own_letters(record.sample.id, letters)
        reason = f"{letters or 'no option'}, says {who}; {wanted} is right"
        return Score(score.name, float(solved), passed=solved, reason=reason, detail=detail)


def verdict_letters(text: str, options: int) -> str:
    """Parse a verdict that a person typed: its letters, sorted, or "" for `none`.

    Args:
        text: as typed.
        options: of the sample.

    Raises:
        ConfigError: it is neither.

    >>> verdict_letters("c, A", 4), verdict_letters("None", 4)
    ('AC', '')
    """
    folded = fold(text).strip()
    if folded.casefold() == NO_OPTION:
        return ""
    letters = {letter for letter in folded.upper() if letter not in " ,;、/&+."}
    last = chr(ord("A") + options - 1)
    if not letters or not all("A" <= letter <= last for letter in letters):
        raise ConfigError(
            f"{text[:40]!r} is no verdict: type letters from A to {last} as they were shown (B, or AC), or "
            f"{NO_OPTION} for a reply that gives no option"
        )
    return "".join(sorted(letters))


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
        start = max(0, min(first - (_CONTEXT - (last - first)) // 2, len(text) - _CONTEXT))
        end = min(len(text), start + _CONTEXT)
        cut = " ".join(text[start:end].split())
        return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def queue_of(run: Run, score: str) -> Iterator[Queued]:
    """List the replies of a run that need human review for an exam score.

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
    of_score = (table.c.run == run.num) & (table.c.layer == run.scoring_version) & (word.c.text == score)
    query = (
        select(table.c.no, table.c.repeat, table.c.outcome, table.c.body)
        .select_from(table.join(word, word.c.num == table.c.name))
        .where(of_score)
        .order_by(table.c.no, table.c.repeat)
    )
    places: list[tuple[int, int, QueueKind, Answered]] = []
    with run.store.reading() as connection:
        reader = AnsweredReader(unpacker_of(connection))
        for row in connection.execute(query):
            answered = NOT_KEPT if row.body is None else reader.read(row.body)
            kind = queue_kind(OUTCOMES[row.outcome], answered)
            if kind:
                places.append((row.no, row.repeat, kind, answered))
    return places


def _span(record: Record, score: str) -> tuple[int, int] | None:
    detail = next((entry.detail for entry in record.scores if entry.name == score), {})
    span = detail.get("span")
    if isinstance(span, list | tuple) and len(span) == 2 and all(isinstance(end, int) for end in span):
        return span[0], span[1]
    return None


class LabelledRun(Run):
    """A run whose scores are replaced by people's labels, while it is read; nothing is stored.

    A decision that a stopping rule made on the stored scores is not claimed for the replaced ones.
    """

    @classmethod
    def of(cls, run: Run) -> LabelledRun:
        """A labelled view of a stored run."""
        return cls(run._store, run._row)  # noqa: SLF001  # a handle on the same row

    @cached_property
    def verdicts(self) -> PeopleVerdicts:
        """People's verdicts on its replies."""
        verdicts = PeopleVerdicts.of(self.labels())
        return replace(verdicts, orders=self._orders(sorted({sample for sample, _ in verdicts.letters})))

    @property
    def exams(self) -> tuple[str, ...]:
        """Names of the scores that verdicts change."""
        return names_where(self.score_infos, lambda info: info.exam)

    @property
    def stopping(self) -> Stopping | None:
        """The stopping rule's decision, withdrawn if labels changed the score that it was made on."""
        stopping = super().stopping
        if stopping is None or stopping.score not in self.exams or not self.verdicts.letters:
            return stopping
        return stopping.undone(range_of(self.score_infos.get(stopping.score)))

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score, replaced by labels where there are any."""
        return (row for row, _ in self.examined_rows())

    def examined_rows(self) -> Iterator[tuple[ScoreRow, Answered | None]]:
        """The same, with the letters of exam scores."""
        for row, answered in super().examined_rows():
            yield (row, None) if answered is None else self.verdicts.row(row, answered)

    def columns(self) -> tuple[ScoreColumns, RunUsage]:
        """All scores as columns, replaced by labels likewise."""
        scores, usage = super().columns()
        return self.verdicts.columns(scores, self.exams), usage

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """The rows of one score, likewise."""
        for judged in super().judged_rows(score):
            if score in self.exams:
                head = ScoreRow(
                    judged.sample, judged.group, judged.cluster, judged.repeat, score, judged.outcome, judged.value
                )
                row, answered = self.verdicts.row(head, answered_of(judged.detail))
                detail = {**judged.detail, "letters": answered.letters}
                yield judged._replace(outcome=row.outcome, value=row.value, detail=detail)
            else:
                yield judged

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
        summary = super().summary()
        if not summary.exams:
            return summary
        name = summary.exam.score if summary.exam else ""
        plain = Run(self._store, self._row).summary().score(name)
        counts = self._count_verdicts(name)
        score = summary.score(name)
        kinds = Counter(summary.unparsed_kinds)
        kinds.subtract(counts.read)
        labelled = Labelled(
            score=name,
            decided=dict(sorted(counts.decided.items(), key=lambda pair: (-pair[1], pair[0]))),
            changed=counts.changed,
            conflicting=counts.conflicting,
            unseen=counts.unseen,
            before=plain.headline.value if plain else None,
            after=score.headline.value if score else None,
        )
        return replace(summary, labelled=labelled, unparsed_kinds={kind: n for kind, n in kinds.items() if n > 0})

    def _count_verdicts(self, name: str) -> _VerdictCounts:
        counts = _VerdictCounts()
        for row, answered in super().examined_rows():
            if answered is not None and row.name == name and row.outcome not in {"error", "not_applicable"}:
                counts.add(row, answered, self.verdicts)
        return counts

    def _record(self, record: Record) -> Record:
        if (record.sample.id, record.repeat) not in self.verdicts.letters:
            return record
        scores = tuple(
            self.verdicts.score(record, score) if score.name in self.exams else score for score in record.scores
        )
        return replace(record, scores=scores)

    def _orders(self, samples: list[str]) -> dict[str, str]:
        """Id -> the order of the options, of these samples, where they have one."""
        record, table = schema.record, schema.sample
        joined = record.join(table, table.c.num == record.c.sample)
        query = select(table).select_from(joined).where(record.c.run == self.num).distinct()
        orders: dict[str, str] = {}
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for at in range(0, len(samples), _CHUNK):
                for row in connection.execute(query.where(table.c.id.in_(samples[at : at + _CHUNK]))):
                    with suppress(StoreError):
                        sample = unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body)))
                        order = sample.metadata.get("order")
                        if isinstance(order, str):
                            orders[row.id] = order
        return orders


@dataclass(slots=True)
class _VerdictCounts:
    """What verdicts change in a run, counted row by row: `read` has the kinds of unparsed replies that they decided."""

    decided: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    conflicting: int = 0
    unseen: int = 0
    read: Counter[str] = field(default_factory=Counter)

    def add(self, row: ScoreRow, answered: Answered, verdicts: PeopleVerdicts) -> None:
        key = (row.sample, row.repeat)
        if key in verdicts.letters and answered is not NOT_KEPT:
            self.decided[verdicts.authors[key]] += 1
            labelled, _ = verdicts.row(row, answered)
            self.changed += (labelled.outcome, labelled.value) != (row.outcome, row.value)
            if row.outcome == "unparsed":
                self.read[answered.kind or "unparsed"] += 1
        elif key in verdicts.conflicting:
            self.conflicting += 1
        elif queue_kind(row.outcome, answered):
            self.unseen += 1
