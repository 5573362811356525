"""A run whose scores are replaced by people's labels while it is read; nothing of it is stored.

A label counts where all people who labelled the record agree; of ratings the mean counts. Labels of models, and labels
that no score of the run takes (see `analysis.label_forms`), never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Final

from steelyard.analysis.label_forms import ANSWER, LabelForm, counted_forms
from steelyard.analysis.score_columns import (
    CODES,
    NOT_KEPT,
    ROW_OUTCOMES,
    Answered,
    JudgedRow,
    ScoreColumns,
    ScoreRow,
    queue_kind,
)
from steelyard.analysis.score_infos import range_of, rated_thing
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import LabelEffect, RunSummary
from steelyard.errors import StoreError
from steelyard.replies.answer_key import solves
from steelyard.store.connection import portions
from steelyard.store.labels import MODEL
from steelyard.store.raters import RaterFindings
from steelyard.store.records import unpack_sample, unpacker_of
from steelyard.store.review import review_entries
from steelyard.store.run import Run
from steelyard.store.scores import answered_of
from steelyard.store.usage import RunUsage
from steelyard.types import Label, Record, Score, ScoreInfo

RecordKey = tuple[str, int]
"""(sample's id, repeat)."""
_NOT_COUNTED: Final = frozenset({"error", "not_applicable"})
"""A record that failed has no output to judge, and a score that does not apply has no mean that a label could enter."""


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
            is_verdict = label.name == ANSWER and label.kind != "cannot_tell" and isinstance(label.value, str)
            if is_verdict and not label.author.startswith(MODEL):
                reading = "".join(sorted(set(label.value)))
                by_author.setdefault((label.sample, label.repeat), {})[label.author] = reading
        readings = {key: set(of_record.values()) for key, of_record in by_author.items()}
        letters = {key: next(iter(reading)) for key, reading in readings.items() if len(reading) == 1}
        authors = {key: " and ".join(sorted(by_author[key])) for key in letters}
        return cls(letters, authors, frozenset(key for key, reading in readings.items() if len(reading) > 1))

    def __contains__(self, key: RecordKey) -> bool:
        return key in self.letters or key in self.conflicting

    def row(self, row: ScoreRow, answered: Answered) -> tuple[ScoreRow, Answered]:
        """A row of an exam score with the people's verdict; unchanged if there is none, or no reply to label."""
        letters = self.letters.get((row.sample, row.repeat))
        if letters is None or not answered.wanted or row.outcome in {"error", "not_applicable"}:
            return row, answered
        original = None if answered.original is None else self.own_letters(row.sample, letters)
        labelled = answered._replace(letters=letters, original=original, inferred=False, kind="")
        return row._replace(outcome="scored", value=float(solves(letters, answered.wanted))), labelled

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
        right_letters = score.detail.get("wanted")
        if letters is None or not right_letters or score.outcome == "not_applicable":
            return score
        solved = solves(letters, str(right_letters))
        authors = self.authors[record.sample.id, record.repeat]
        labelled = {"letters": letters, "status": "answered" if letters else "none_of_these", "rule": "label"}
        detail = {**score.detail, **labelled, "confidence": "explicit", "span": None}
        detail.pop("kind", None)
        if "original" in detail:
            detail["original"] = self.own_letters(record.sample.id, letters)
        reason = f"{letters or 'no option'}, says {authors}; {right_letters} is right"
        return Score(score.name, float(solved), passed=solved, reason=reason, detail=detail)


@dataclass(frozen=True, slots=True)
class PeopleScores:
    """People's labels of one score of one run, as values of that score.

    Args:
        form: of the labels.
        info: what the scorer declared about the score.
        values: (sample, repeat) -> value: that on which all who labelled it agree, or the mean of their ratings.
        authors: likewise who they are, by name, joined by " and ".
        conflicting: records on which people disagree.
    """

    form: LabelForm
    info: ScoreInfo
    values: Mapping[RecordKey, float]
    authors: Mapping[RecordKey, str]
    conflicting: frozenset[RecordKey]

    @classmethod
    def of(cls, labels: Iterable[Label], form: LabelForm, info: ScoreInfo) -> PeopleScores:
        """From the labels of a run that count; those of another name, kind or scale are left out."""
        by_author: dict[RecordKey, dict[str, float]] = {}
        names = {form.name, rated_thing(info, form.name)}
        for label in labels:
            fits = label.name in names and label.kind in {"", form.kind} and label.scale in {None, form.scale}
            number = form.number(label.value)
            if fits and number is not None and not label.author.startswith(MODEL):
                by_author.setdefault((label.sample, label.repeat), {})[label.author] = number
        # Two people who rate a 3 and a 4 do not contradict each other; a pass and a fail do.
        agreed = {
            key: fmean(ratings.values())
            for key, ratings in by_author.items()
            if form.kind == "scale" or len(set(ratings.values())) == 1
        }
        authors = {key: " and ".join(sorted(by_author[key])) for key in agreed}
        return cls(form, info, agreed, authors, frozenset(set(by_author) - set(agreed)))

    def __contains__(self, key: RecordKey) -> bool:
        return key in self.values or key in self.conflicting

    def row(self, row: ScoreRow) -> ScoreRow:
        """A row of the score with the people's label in place of its value."""
        value = self.values.get((row.sample, row.repeat))
        if value is None or row.outcome in _NOT_COUNTED:
            return row
        return row._replace(outcome="scored", value=value)

    def judged_row(self, row: JudgedRow) -> JudgedRow:
        """The same for a row with its detail."""
        value = self.values.get((row.sample, row.repeat))
        if value is None or row.outcome in _NOT_COUNTED:
            return row
        return row._replace(outcome="scored", value=value, detail=self._detail(value, row.detail))

    def columns(self, columns: ScoreColumns) -> ScoreColumns:
        """The columns of a run with the people's labels in this score."""
        import numpy as np

        labelled = {sample for sample, _ in self.values}
        numbers = [number for number, sample in enumerate(columns.samples) if sample in labelled]
        of_score = columns.names.index(self.form.name) if self.form.name in columns.names else -1
        outcome, value = columns.outcome.copy(), columns.value.copy()
        for index in np.flatnonzero((columns.name == of_score) & np.isin(columns.sample, numbers)).tolist():
            key = (columns.samples[columns.sample[index]], int(columns.repeat[index]))
            if key in self.values and ROW_OUTCOMES[outcome[index]] not in _NOT_COUNTED:
                outcome[index], value[index] = CODES["scored"], self.values[key]
        return replace(columns, outcome=outcome, value=value)

    def score(self, record: Record, score: Score) -> Score:
        """A score of a record with the people's label in its value, reason and detail."""
        key = (record.sample.id, record.repeat)
        value = self.values.get(key)
        if value is None or score.outcome == "not_applicable":
            return score
        reason = f"{self._text(value)}, says {self.authors[key]}"
        detail = self._detail(value, score.detail)
        return Score(score.name, value, passed=self.info.passes(value), reason=reason, detail=detail)

    def _detail(self, value: float, detail: Mapping[str, Any]) -> dict[str, Any]:
        """The label's own detail in place of the scorer's, which explains another verdict."""
        label = {"label": self._text(value)} if self.form.kind == "preference" or self.info.named_verdicts else {}
        side = {key: detail[key] for key in ("alike",) if key in detail}
        return {**side, **label, "by": "people", "rule": "label"}

    def _text(self, value: float) -> str:
        if self.form.kind == "preference":
            return {1.0: "A", 0.0: "B"}.get(value, "tie")
        if self.form.kind == "pass_fail":
            return "pass" if value else "fail"
        return f"{value:g}"


class LabelledRun(Run):
    """A run whose scores are replaced by people's labels, while it is read; nothing is stored.

    A decision that a stopping rule made on the stored scores is not claimed for the replaced ones.
    """

    @classmethod
    def of(cls, run: Run) -> LabelledRun:
        """A labelled view of a stored run."""
        return cls(run._store, run._row)  # noqa: SLF001  # a handle on the same row

    @cached_property
    def forms(self) -> Mapping[str, LabelForm]:
        """Score -> the form of labels that count in its place."""
        return counted_forms(self.manifest, self.score_infos)

    @cached_property
    def verdicts(self) -> PeopleVerdicts:
        """People's labels of the exam's replies."""
        verdicts = PeopleVerdicts.of(self.labels())
        return replace(verdicts, orders=self._orders(sorted({sample for sample, _ in verdicts.letters})))

    @cached_property
    def people(self) -> Mapping[str, PeopleScores]:
        """Score -> people's labels of it, where it is not an exam's and has any."""
        labels = self.labels()
        scores = {
            name: PeopleScores.of(labels, form, self.score_infos[name])
            for name, form in self.forms.items()
            if form.kind != "choice"
        }
        return {name: people for name, people in scores.items() if people.values or people.conflicting}

    @property
    def exams(self) -> tuple[str, ...]:
        """Exam scores, which labels of letters change."""
        return tuple(name for name, form in self.forms.items() if form.kind == "choice")

    @property
    def stopping(self) -> Stopping | None:
        """The stopping rule's decision, withdrawn if labels changed the score that it was made on."""
        stopping = super().stopping
        changed = stopping is not None and (
            (stopping.score in self.exams and self.verdicts.letters) or stopping.score in self.people
        )
        if stopping is None or not changed:
            return stopping
        return stopping.undone(range_of(self.score_infos.get(stopping.score)))

    def _from_counts(self) -> None:
        """None: labels replace rows."""

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score, replaced by labels where there are any."""
        return (row for row, _ in self.examined_rows())

    def examined_rows(self) -> Iterator[tuple[ScoreRow, Answered | None]]:
        """The same, with the letters of exam scores."""
        for row, answered in super().examined_rows():
            if answered is not None:
                yield self.verdicts.row(row, answered)
            else:
                yield (self.people[row.name].row(row) if row.name in self.people else row), None

    def columns(self) -> tuple[ScoreColumns, RunUsage]:
        """All scores as columns, replaced by labels likewise."""
        scores, usage = super().columns()
        if self.exams:
            scores = self.verdicts.columns(scores, self.exams)
        for people in self.people.values():
            scores = people.columns(scores)
        return scores, usage

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
                yield self.people[score].judged_row(judged) if score in self.people else judged

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
        """The summary with labels counted, and what they changed."""
        summary = super().summary()
        exam = summary.exam.score if summary.exam else ""
        name = exam or self._labelled_score(summary)
        counts = self._count_letters(name) if exam else self._count_numbers(name)
        unlabelled = Run(self._store, self._row).summary()
        unlabelled_score, score = unlabelled.score(name), summary.score(name)
        kinds = Counter(summary.unparsed_kinds)
        kinds.subtract(counts.read)
        labelled = LabelEffect(
            score=name,
            decided=dict(sorted(counts.decided.items(), key=lambda pair: (-pair[1], pair[0]))),
            changed=counts.changed,
            conflicting=counts.conflicting,
            unseen=counts.unseen,
            before=unlabelled_score.headline.value if unlabelled_score else None,
            after=score.headline.value if score else None,
            uncounted=self._uncounted(name),
            share=range_of(self.score_infos.get(name)) == (0.0, 1.0),
            exam=bool(exam),
        )
        kinds_left = {kind: n for kind, n in kinds.items() if n > 0}
        # Scores that people's labels replaced would agree with these labels.
        raters = {name: getattr(unlabelled, name) for name in RaterFindings._fields}
        return replace(summary, labelled=labelled, unparsed_kinds=kinds_left, **raters)

    def _labelled_score(self, summary: RunSummary) -> str:
        """The score whose labels a summary is about: the headline if it takes labels, else the first with any."""
        if summary.primary in self.forms:
            return summary.primary
        return next(iter([*self.people, *self.forms]), "")

    def _uncounted(self, score: str) -> dict[str, int]:
        """Names of people's labels that enter no score -> how many; comments are not meant to."""
        forms, infos = self.forms.items(), self.score_infos
        counted_names = {
            score,
            *(form.name for _, form in forms),
            *(rated_thing(infos.get(name), name) for name, _ in forms),
        }
        names = (label.name for label in self.labels() if not label.author.startswith(MODEL) and label.kind != "text")
        return dict(Counter(name for name in names if name not in counted_names))

    def _count_letters(self, name: str) -> _LabelCounts:
        counts = _LabelCounts()
        for row, answered in super().examined_rows():
            if answered is not None and row.name == name and row.outcome not in _NOT_COUNTED:
                counts.add_letters(row, answered, self.verdicts)
        return counts

    def _count_numbers(self, name: str) -> _LabelCounts:
        counts = _LabelCounts()
        people = self.people.get(name)
        if people is not None:
            for row in super().judged_rows(name):
                if row.outcome not in _NOT_COUNTED:
                    counts.add_number(row, people)
        if name:
            unlabelled = Run(self._store, self._row)
            counts.unseen = sum(people is None or entry.key not in people for entry in review_entries(unlabelled))
        return counts

    def _record(self, record: Record) -> Record:
        key = (record.sample.id, record.repeat)
        if key not in self.verdicts.letters and not any(key in people.values for people in self.people.values()):
            return record
        return replace(record, scores=tuple(self._score(record, score) for score in record.scores))

    def _score(self, record: Record, score: Score) -> Score:
        if score.name in self.exams:
            return self.verdicts.score(record, score)
        return self.people[score.name].score(record, score) if score.name in self.people else score

    def _orders(self, samples: list[str]) -> dict[str, str]:
        """Id -> the order of the options, of these samples, where they have one."""
        query = """SELECT id, grp, cluster, body FROM sample
            WHERE id IN :ids AND num IN (SELECT sample FROM record WHERE run = :run)"""
        orders: dict[str, str] = {}
        with self._store.reading() as connection:
            unpack = unpacker_of(connection).unpack
            for ids in portions(samples):
                for row in connection.execute(query, {"run": self.num, "ids": ids}):
                    with suppress(StoreError):
                        sample = unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body)))
                        order = sample.metadata.get("order")
                        if isinstance(order, str):
                            orders[row.id] = order
        return orders


@dataclass(slots=True)
class _LabelCounts:
    """Changes by labels in a run, counted row by row; `read` has the kinds of unparsed replies that they decided."""

    decided: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    conflicting: int = 0
    unseen: int = 0
    read: Counter[str] = field(default_factory=Counter)

    def add_letters(self, row: ScoreRow, answered: Answered, verdicts: PeopleVerdicts) -> None:
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

    def add_number(self, row: JudgedRow, people: PeopleScores) -> None:
        key = (row.sample, row.repeat)
        if key in people.values:
            self.decided[people.authors[key]] += 1
            self.changed += (row.outcome, row.value) != ("scored", people.values[key])
            if row.outcome == "unparsed":
                self.read[str(row.detail.get("kind") or "unparsed")] += 1
        elif key in people.conflicting:
            self.conflicting += 1
