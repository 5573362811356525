"""The review list of a run: the records that a person should look at, each with the reasons.

Of an exam these are the replies whose letters are uncertain, found without opening the other records; of any other run
the records to which a rule of `analysis.review_reasons` applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.review_reasons import ReviewReason, ReviewRules, with_reasons
from steelyard.analysis.scores.score_columns import NOT_KEPT, Answered, QueueKind, queue_kind
from steelyard.analysis.scores.score_infos import names_where
from steelyard.store.run import Run
from steelyard.types import Record

_CONTEXT: Final = 60
"""Characters shown on each side of the letters that were read."""


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A record in the review list.

    Args:
        reasons: why it is there; none where every record is listed and nothing is doubtful about this one.
        record: with the sample and the output.
        answered: of an exam, the letters that were read, and the key.
        span: of an exam, where in the reply the letter was read; None where none was.
    """

    reasons: tuple[ReviewReason, ...]
    record: Record
    answered: Answered = NOT_KEPT
    span: tuple[int, int] | None = None

    @property
    def kind(self) -> str:
        """The first reason; "" where there is none."""
        return self.reasons[0].key if self.reasons else ""

    @property
    def key(self) -> tuple[str, int]:
        """(sample's id, repeat)."""
        return self.record.sample.id, self.record.repeat

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


def review_entries(run: Run, *, everything: bool = False) -> Iterator[ReviewEntry]:
    """The records of a run that a person should look at, in the order of samples and repeats.

    Args:
        run: of any suite.
        everything: list all records with an output, those without a reason too.
    """
    exams = names_where(run.score_infos, lambda info: info.exam)
    if exams and not everything:
        yield from queue_of(run, exams[0])
        return
    rules = ReviewRules.of(run.manifest, run.score_infos)
    for record, reasons in with_reasons(run.records(), rules):
        entry = _exam_entry(record, exams[0]) if exams else ReviewEntry(reasons, record)
        if entry.reasons or everything:
            yield entry


def queue_of(run: Run, score: str) -> Iterator[ReviewEntry]:
    """The replies of a run that are in the queue of an exam score.

    Args:
        run: any run; one without that score has none.
        score: one that the manifest names under `exam`.
    """
    doubtful: dict[tuple[str, int], tuple[QueueKind, Answered]] = {}
    for row in run.detailed_rows(score):
        answered = Answered.of(row.detail)
        if kind := queue_kind(row.outcome, answered):
            doubtful[row.sample, row.repeat] = kind, answered
    for record in run.records_of({sample for sample, _ in doubtful}):
        if verdict := doubtful.get((record.sample.id, record.repeat)):
            yield ReviewEntry((ReviewReason(verdict[0]),), record, verdict[1], _span(record, score))


def _exam_entry(record: Record, score: str) -> ReviewEntry:
    """The entry of any reply of an exam, with the reason for which it is in the queue, if it is."""
    verdict = next((entry for entry in record.scores if entry.name == score), None)
    if verdict is None:
        return ReviewEntry((), record)
    answered = Answered.of(verdict.detail)
    kind = queue_kind(verdict.outcome, answered)
    return ReviewEntry((ReviewReason(kind),) if kind else (), record, answered, _span(record, score))


def _span(record: Record, score: str) -> tuple[int, int] | None:
    detail = next((entry.detail for entry in record.scores if entry.name == score), {})
    span = detail.get("span")
    if isinstance(span, list | tuple) and len(span) == 2 and all(isinstance(end, int) for end in span):
        return span[0], span[1]
    return None
