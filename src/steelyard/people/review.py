"""The review list of a run: the records that a person should look at, as a sheet, and filled-in verdicts as labels.

Of an exam these are the replies whose letters are uncertain, found without opening the other records; of any other run
the records to which a rule of `analysis.review_reasons` applies. The answers of a pair are shown without the names of
their targets and in an order drawn by a seed, which the sheet holds, so that a verdict can be assigned to the run's
sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from steelyard.analysis.label_forms import COMMENT, LabelForm, SideOrder, shown_order
from steelyard.analysis.review_reasons import ReviewReason, ReviewRules, with_reasons
from steelyard.analysis.scores.score_columns import NOT_KEPT, Answered, QueueKind, queue_kind
from steelyard.analysis.scores.score_infos import names_where
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text
from steelyard.people.sheets import filled_rows, row_number, sample_id, sheet_text
from steelyard.prompts.conversation import input_text
from steelyard.store import Run
from steelyard.types import Label, Record

_CONTEXT: Final = 60
"""Characters shown on each side of the letters that were read."""
_REQUIRED: Final = ("sample", "verdict")
AuthorVerdicts = Mapping[tuple[str, int], Mapping[str, str]]
"""(sample, repeat) -> author -> verdict; "" for a reply that gives no option."""


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


@dataclass(frozen=True, slots=True)
class ReviewView:
    """How entries are shown to people.

    Args:
        form: of the labels that they give.
        verdicts: those given so far.
        show_key: show what would influence a person: the right letters of an exam, the judge's verdict on a pair.
        seed: of the order in which the two answers of a pair are shown.
    """

    form: LabelForm
    verdicts: AuthorVerdicts
    show_key: bool = False
    seed: int = 0

    def of(self, entry: ReviewEntry) -> Mapping[str, str]:
        """Author -> verdict on an entry."""
        return self.verdicts.get(entry.key, {})

    def sides(self, record: Record) -> tuple[str, str] | None:
        """The two answers of a pair in the order shown; None where there are not two."""
        value = record.output.value if record.output else None
        if not isinstance(value, Mapping) or set(value) != {"A", "B"}:
            return None
        first, second = shown_order(self.seed, record.sample.id, record.repeat)
        return cell_text(value[first]), cell_text(value[second])


class TypedVerdict(NamedTuple):
    """A verdict as a person typed it; None withdraws.

    `location` is its row in a sheet; `seed` drew the order in which a pair was shown; `comment` is free text.
    """

    sample: str
    repeat: int
    value: str | None
    location: str = ""
    comment: str = ""
    seed: int = 0


def author_verdicts(labels: Iterable[Label], form: LabelForm) -> AuthorVerdicts:
    """The labels of one form among those of a run; others are left out."""
    verdicts: dict[tuple[str, int], dict[str, str]] = {}
    for label in labels:
        if label.name == form.name:
            verdicts.setdefault((label.sample, label.repeat), {})[label.author] = cell_text(label.value)
    return verdicts


def sheet(run: Run, entries: Sequence[ReviewEntry], view: ReviewView) -> str:
    """The list as a sheet with columns for verdict and comment."""
    rows = [_sheet_row(run, entry, view) for entry in entries]
    header = list(rows[0]) if rows else ["run", *_REQUIRED]
    return sheet_text(header, (row.values() for row in rows))


def _sheet_row(run: Run, entry: ReviewEntry, view: ReviewView) -> dict[str, Any]:
    """Column -> cell; the verdict is blank, as `label --from` would store what others said as the reader's own."""
    record = entry.record
    sample, repeat = entry.key
    row: dict[str, Any] = {"run": run.id, "sample": sample, "repeat": repeat}
    row["why"] = ", ".join(map(str, entry.reasons))
    question = input_text(record.sample.input)
    sides = view.sides(record)
    if view.form.kind == "choice":
        options = "\n".join(f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(record.sample.choices))
        row |= {"read": entry.answered.letters, "context": entry.context}
        row |= {"question": question, "options": options, "reply": entry.reply}
        row |= {"key": entry.answered.wanted} if view.show_key else {}
    elif sides:
        row |= {"seed": view.seed, "question": question, "expected": cell_text(record.sample.reference)}
        row |= {"A": sides[0], "B": sides[1]}
    else:
        row |= {"question": question, "expected": cell_text(record.sample.reference), "output": entry.reply}
        row["scores"] = "\n".join(f"{score.name}: {score.reason or score.value}" for score in record.scores)
    return {**row, "verdict": "", "comment": ""}


def read_sheet(run: Run, path: Path) -> list[TypedVerdict]:
    """The rows of a sheet whose verdict or comment is filled in.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing, the sheet belongs to another run, has two verdicts on a record, or none at all.
    """
    typed: list[TypedVerdict] = []
    said: dict[tuple[str, int], tuple[str, str]] = {}
    for location, texts in filled_rows(path, _REQUIRED, "sample and verdict of review --csv"):
        if texts.get("run", run.id) not in {"", run.id}:
            raise DataError(f"{location}the row is of run {texts['run']}, but {run.id} was given")
        if texts["sample"] and (texts["verdict"] or texts.get("comment")):
            repeat, seed = (row_number(texts, name, location) if texts.get(name) else 0 for name in ("repeat", "seed"))
            comment, about = texts.get("comment", ""), (texts["sample"], repeat)
            if said.setdefault(about, (texts["verdict"], comment)) != (texts["verdict"], comment):
                raise DataError(f"{location}a second verdict on {texts['sample']!r}; write a sheet for each person")
            typed.append(TypedVerdict(texts["sample"], repeat, texts["verdict"], location, comment, seed))
    if not typed:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict`")
    return typed


class GivenBy(NamedTuple):
    """Who gives labels, and when."""

    author: str
    at: datetime


def verdict_labels(run: Run, typed: Sequence[TypedVerdict], form: LabelForm, given: GivenBy) -> list[Label]:
    """Verdicts and comments as labels, all checked against the run before any is stored.

    Args:
        run: any run that has the samples.
        typed: the verdicts.
        form: of the labels.
        given: by whom and when.

    Raises:
        ConfigError: a sample or repeat that the run does not have, or a verdict of another form.
    """
    positions = run.places()
    labels: list[Label] = []
    for verdict in typed:
        record = _record_of(run, verdict, positions)
        name, repeat = record.sample.id, record.repeat
        kind = form.kind
        if verdict.value is None:
            labels.append(Label(name, form.name, None, given.author, given.at, repeat, kind))
        elif verdict.value:
            order = shown_order(verdict.seed, name, repeat) if kind == "preference" else "AB"
            value = _parsed(verdict, form, record, order)
            labels.append(Label(name, form.name, value, given.author, given.at, repeat, kind, form.scale))
        if verdict.comment:
            labels.append(Label(name, COMMENT, verdict.comment, given.author, given.at, repeat, "text"))
    return labels


def _parsed(verdict: TypedVerdict, form: LabelForm, record: Record, order: SideOrder) -> Any:
    try:
        return form.parse(verdict.value or "", record.sample, order)
    except ConfigError as error:
        raise ConfigError(f"{verdict.location}{error}") from error


def _record_of(run: Run, verdict: TypedVerdict, positions: Mapping[str, int]) -> Record:
    name = sample_id(verdict.sample, positions, run)
    repeats = {record.repeat: record for _, record in run.records_between(positions[name], positions[name])}
    if verdict.repeat not in repeats:
        known = ", ".join(map(str, sorted(repeats)))
        raise ConfigError(
            f"{verdict.location}run {run.id} has no repeat {verdict.repeat} of sample {name!r}, but {known}"
        )
    return repeats[verdict.repeat]
