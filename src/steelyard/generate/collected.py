"""A run over chunks -> the question set, and a report of what was asked for and not made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from steelyard.generate.rows import QaRow, row_id, save_rows
from steelyard.store import Run
from steelyard.text.listed import distinct_texts
from steelyard.types import Record


@dataclass(frozen=True, slots=True)
class ShortChunk:
    """A chunk that gave fewer questions than it was asked for.

    Args:
        chunk: its id.
        document: the document's name.
        page: 1-based, or None.
        made: questions of it in the set.
        dropped: reason -> how many of its questions were dropped; `missing` are those that the model never wrote.
        problem: why nothing of it could be read (`refused`, `none`, `empty`, `truncated`), or what failed for
            good; "" where questions were read.
    """

    chunk: str
    document: str
    page: int | None
    made: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QaReport:
    """What was asked for, what came, and what was dropped for which reason.

    Args:
        run: the run's id.
        state: `finished`, `interrupted` or `broken`.
        reason: why it did not finish.
        chunks: how many chunks were to be asked about.
        per_chunk: questions asked for of each.
        made: questions in the set.
        dropped: reason -> how many, over all chunks.
        unread_checks: questions that are kept though nobody can tell whether the check said yes or no.
        errors: chunks whose calls failed for good.
        not_reached: chunks that were not asked about because the run ended before.
        short: every chunk that gave fewer than `per_chunk`.
        from_journal: replies that had been paid for before.
    """

    run: str
    state: str
    reason: str
    chunks: int
    per_chunk: int
    made: int
    dropped: Mapping[str, int]
    unread_checks: int
    errors: int
    not_reached: int
    short: tuple[ShortChunk, ...]
    from_journal: int

    @property
    def asked(self) -> int:
        """Questions that were asked for in all."""
        return self.chunks * self.per_chunk

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {**asdict(self), "asked": self.asked}


@dataclass(frozen=True, slots=True)
class QaSet:
    """A question set, and how it came about.

    Args:
        rows: in the order of the documents and chunks.
        report: what was asked for, and what was dropped.
    """

    rows: tuple[QaRow, ...]
    report: QaReport

    def save(self, path: Path | str) -> None:
        """Write it as .jsonl or .csv, whole or not at all; a file of that name is replaced.

        Raises:
            ConfigError: another suffix, or it cannot be written.
        """
        save_rows(self.rows, Path(path))


def collect(run: Run, *, kind: str, per_chunk: int) -> QaSet:
    """The questions of a run, each once: of those that differ in case, width and punctuation only, the first is kept.

    Args:
        run: over chunks; it may be unfinished.
        kind: of its rows: `generated` or `cloze`.
        per_chunk: how many were asked for.
    """
    tally = _Tally(per_chunk)
    records = list(run.records())
    first = set(distinct_texts(one["question"] for record in records for one in _made(record)))
    rows: list[QaRow] = []
    for record in records:
        own = []
        for one in _made(record):
            if one["question"] in first:
                first.remove(one["question"])
                own.append(_row(record, one, kind))
        tally.add(record, len(own))
        rows += own
    report = QaReport(
        run=run.id,
        state=run.state,
        reason=run.reason,
        chunks=run.planned,
        per_chunk=per_chunk,
        made=len(rows),
        dropped=dict(sorted(tally.dropped.items(), key=lambda pair: (-pair[1], pair[0]))),
        unread_checks=tally.unread,
        errors=tally.errors,
        not_reached=run.planned - len(records),
        short=tuple(tally.short),
        from_journal=run.from_journal,
    )
    return QaSet(tuple(rows), report)


class _Tally:
    """What is counted over the records of one run."""

    def __init__(self, per_chunk: int) -> None:
        self.dropped: Counter[str] = Counter()
        self.unread = self.errors = 0
        self.short: list[ShortChunk] = []
        self._per_chunk = per_chunk

    def add(self, record: Record, made: int) -> None:
        about = record.output.metadata if record.output is not None else {}
        dropped = Counter(about.get("dropped", {}))
        dropped["duplicate"] += len(_made(record)) - made
        self.dropped += dropped
        self.unread += about.get("unread_checks", 0)
        self.errors += record.failure is not None
        if made < self._per_chunk:
            self.short.append(self._short(record, made, {reason: count for reason, count in dropped.items() if count}))

    def _short(self, record: Record, made: int, dropped: dict[str, int]) -> ShortChunk:
        about = record.output.metadata if record.output is not None else {}
        problem = f"{record.failure.kind}: {record.failure.message}" if record.failure else about.get("kind", "")
        listed = made + sum(count for reason, count in dropped.items() if reason != "surplus")
        if not record.failure and listed < self._per_chunk:
            dropped["missing"] = self._per_chunk - listed
        metadata = record.sample.metadata
        return ShortChunk(record.sample.id, str(metadata["document"]), metadata["page"], made, dropped, problem)


def _made(record: Record) -> Sequence[Any]:
    return record.output.value if record.output is not None and record.failure is None else ()


def _row(record: Record, made: Mapping[str, str], kind: str) -> QaRow:
    sample = record.sample
    return QaRow(
        id=row_id(sample.id, made["question"]),
        question=made["question"],
        answer=made["answer"],
        document=sample.metadata["document"],
        page=sample.metadata["page"],
        start=sample.metadata["start"],
        end=sample.metadata["end"],
        heading=sample.metadata["heading"],
        source=sample.input,
        chunk=sample.id,
        group=sample.group,
        kind=kind,
        answerable=made["answerable"],
    )
