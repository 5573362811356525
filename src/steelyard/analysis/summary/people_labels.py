"""People's labels in place of scores: `with_labels` gives a run with them, `labelled_record` one record.

A label counts where all people who labelled the record agree; of ratings the mean counts. Labels of models, and labels
that no score of the run takes (see `label_forms`), never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Final

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judging_manifest import OF_ANSWERS
from steelyard.analysis.label_forms import ANSWER, MODEL, LabelForm, counted_forms
from steelyard.analysis.review_reasons import ReviewRules, with_reasons
from steelyard.analysis.run_data import RecordPlace, RunData
from steelyard.analysis.scores.score_columns import NO_DETAIL, Answered, ScoreColumns, ScoreRow, queue_kind
from steelyard.analysis.scores.score_infos import range_of, rated_thing
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import LabelEffect
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.replies.answer_key import points_of, solves
from steelyard.types import Label, Record, Score, ScoreInfo

CREDIT: Final = "credit"
"""Key of a score's detail by which the points of an answer are computed again."""
NOT_COUNTED: Final = frozenset({"error", "not_applicable"})
"""A record that failed has no output to judge, and a score that does not apply has no mean that a label could enter."""


@dataclass(frozen=True, slots=True)
class AgreedLabels:
    """What people say of the records of a run about one thing: letters of exams' replies, or values of a score.

    Args:
        values: (sample, repeat) -> what all who labelled it say, or the mean of their ratings.
        authors: likewise who they are, by name, joined by " and ".
        conflicting: records on which people disagree.
    """

    values: Mapping[RecordPlace, Any]
    authors: Mapping[RecordPlace, str]
    conflicting: frozenset[RecordPlace]

    @classmethod
    def of(cls, labels: Iterable[Label], read: Callable[[Label], Any], *, averaged: bool = False) -> AgreedLabels:
        """The labels that count.

        Args:
            labels: the current ones of a run.
            read: what a label says; None where it is not about this.
            averaged: two people who rate a 3 and a 4 do not contradict each other; a pass and a fail do.
        """
        by_author: dict[RecordPlace, dict[str, Any]] = {}
        for label in labels:
            value = None if label.author.startswith(MODEL) else read(label)
            if value is not None:
                by_author.setdefault((label.sample, label.repeat), {})[label.author] = value
        values = {
            key: fmean(said.values()) if averaged else next(iter(said.values()))
            for key, said in by_author.items()
            if averaged or len(set(said.values())) == 1
        }
        authors = {key: " and ".join(sorted(by_author[key])) for key in values}
        return cls(values, authors, frozenset(by_author) - frozenset(values))

    def __contains__(self, key: RecordPlace) -> bool:
        return key in self.values or key in self.conflicting


_NOBODY: Final = AgreedLabels({}, {}, frozenset())


def agreed_letters(labels: Iterable[Label]) -> AgreedLabels:
    """The letters that people read in the replies of an exam, sorted."""

    def read(label: Label) -> str | None:
        is_verdict = label.name == ANSWER and label.kind != "cannot_tell" and isinstance(label.value, str)
        return "".join(sorted(set(label.value))) if is_verdict else None

    return AgreedLabels.of(labels, read)


def _agreed_values(labels: Iterable[Label], form: LabelForm, info: ScoreInfo) -> AgreedLabels:
    """The values of a score that labels stand for; those of another name, kind or scale are left out."""
    names = {form.name, rated_thing(info, form.name)}

    def read(label: Label) -> float | None:
        fits = label.name in names and label.kind in {"", form.kind} and label.scale in {None, form.scale}
        return form.number(label.value) if fits else None

    return AgreedLabels.of(labels, read, averaged=form.kind == "scale")


@dataclass(frozen=True, slots=True)
class CountedLabels:
    """People's labels of a run that count in place of its scores.

    Args:
        forms: score -> the form of labels that count in its place.
        infos: what the scorers declared, by score.
        letters: labels of the exams' replies.
        people: score -> labels of it, where it is not an exam's and has any.
        orders: sample's id -> the dataset's own letters in the order shown, for samples with an order of their own.
    """

    forms: Mapping[str, LabelForm]
    infos: Mapping[str, ScoreInfo]
    letters: AgreedLabels
    people: Mapping[str, AgreedLabels]
    orders: Mapping[str, str]

    @classmethod
    def of(cls, data: RunData) -> CountedLabels:
        """The labels of a run that count."""
        infos = data.score_infos
        forms = counted_forms(data.manifest, infos)
        letters = agreed_letters(data.labels)
        people = {
            name: _agreed_values(data.labels, form, infos[name])
            for name, form in forms.items()
            if form.kind != "choice"
        }
        labelled = {name: agreed for name, agreed in people.items() if agreed.values or agreed.conflicting}
        return cls(forms, infos, letters, labelled, _orders(data, {sample for sample, _ in letters.values}))

    @property
    def exams(self) -> tuple[str, ...]:
        """Exam scores, which labels of letters change."""
        return tuple(name for name, form in self.forms.items() if form.kind == "choice")

    def __contains__(self, key: RecordPlace) -> bool:
        return any(key in agreed.values for agreed in (self.letters, *self.people.values()))

    def _takes_letters(self, name: str, detail: Mapping[str, Any]) -> bool:
        return name in self.exams or CREDIT in detail

    def _label(self, name: str, key: RecordPlace, outcome: str, detail: Mapping[str, Any]) -> Any:
        """The letters or the value in place of a score; None where it stays as it was scored."""
        if outcome in NOT_COUNTED:
            return None
        if self._takes_letters(name, detail):
            return self.letters.values.get(key) if detail.get("wanted") else None
        return self.people[name].values.get(key) if name in self.people else None

    def row(self, row: ScoreRow) -> ScoreRow:
        """A row with the people's label; unchanged where there is none."""
        label = self._label(row.name, (row.sample, row.repeat), row.outcome, row.detail)
        if label is None:
            return row
        if self._takes_letters(row.name, row.detail):
            detail = self._with_letters(row.sample, label, row.detail)
            detail.pop("confidence", None)
            return row._replace(outcome="scored", value=_value_of_letters(label, detail), detail=detail)
        return row._replace(outcome="scored", value=label, detail=self._by_people(row.name, label, row.detail))

    def score(self, record: Record, score: Score) -> Score:
        """A score of a record with the people's label in its value, reason and detail."""
        key = (record.sample.id, record.repeat)
        label = self._label(score.name, key, score.outcome, score.detail)
        if label is None:
            return score
        if self._takes_letters(score.name, score.detail):
            status = "answered" if label else "none_of_these"
            detail = self._with_letters(record.sample.id, label, score.detail)
            detail |= {"status": status, "rule": "label", "confidence": "explicit", "span": None}
            wanted = str(detail["wanted"])
            reason = f"{label or 'no option'}, says {self.letters.authors[key]} · correct {wanted}"
            passed = None if CREDIT in detail else solves(label, wanted)
            return Score(score.name, _value_of_letters(label, detail), passed=passed, reason=reason, detail=detail)
        reason = f"{_value_text(self.forms[score.name], label)}, says {self.people[score.name].authors[key]}"
        detail = self._by_people(score.name, label, score.detail)
        return Score(score.name, label, passed=self.infos[score.name].passes(label), reason=reason, detail=detail)

    def _with_letters(self, sample: str, letters: str, detail: Mapping[str, Any]) -> dict[str, Any]:
        """The detail of an exam's score with other letters, as shown to the model and as the dataset has them."""
        own = {"original": own_letters(letters, self.orders.get(sample, ""))} if "original" in detail else {}
        return {key: value for key, value in detail.items() if key != "kind"} | {"letters": letters} | own

    def _by_people(self, name: str, value: float, detail: Mapping[str, Any]) -> dict[str, Any]:
        """The label's own detail in place of the scorer's, which explains another verdict."""
        form = self.forms[name]
        is_named = form.kind == "preference" or self.infos[name].named_verdicts
        label = {"label": _value_text(form, value)} if is_named else {}
        side = {key: detail[key] for key in OF_ANSWERS if key in detail}
        return {**side, **label, "by": "people", "rule": "label"}

    def columns(self, columns: ScoreColumns) -> ScoreColumns:
        """The rows of a run with the people's labels."""
        labelled = {key for agreed in (self.letters, *self.people.values()) for key in agreed.values}
        rows = enumerate(columns.rows()) if labelled else ()
        return columns.changed(
            {
                index: changed
                for index, row in rows
                if (row.sample, row.repeat) in labelled and (changed := self.row(row)) is not row
            }
        )


def own_letters(letters: str, order: str) -> str:
    """Letters as shown to the model -> as the dataset has them, which shows its options in this order.

    >>> own_letters("AC", "BCAD")
    'AB'
    """
    return "".join(sorted(order[at] if (at := ord(letter) - ord("A")) < len(order) else letter for letter in letters))


def _value_of_letters(letters: str, detail: Mapping[str, Any]) -> float:
    """What an exam score gives for letters: 1 where they solve the question; its points for a score of points."""
    wanted = str(detail["wanted"])
    if CREDIT in detail:
        return points_of(letters, wanted, detail["options"], detail[CREDIT], detail["lowest"])
    return float(solves(letters, wanted))


def _value_text(form: LabelForm, value: float) -> str:
    if form.kind == "preference":
        return {1.0: "A", 0.0: "B"}.get(value, "tie")
    if form.kind == "pass_fail":
        return "pass" if value else "fail"
    return f"{value:g}"


def _orders(data: RunData, samples: set[str]) -> dict[str, str]:
    """Id -> the order of the options, of these samples, where they have one."""
    if data.bodies is None or not samples:
        return {}
    orders = {sample.id: sample.metadata.get("order") for sample in data.bodies.samples(samples)}
    return {ident: order for ident, order in orders.items() if isinstance(order, str)}


def with_labels(data: RunData) -> RunData:
    """The run with its scores replaced by people's labels; nothing is stored.

    A decision that a stopping rule made on a replaced score is not claimed for it.
    """
    counted, stopping = CountedLabels.of(data), data.stopping
    if stopping is not None and (
        (stopping.score in counted.exams and counted.letters.values) or stopping.score in counted.people
    ):
        stopping = stopping.undone(range_of(data.score_infos.get(stopping.score)))
    return replace(data, scores=counted.columns(data.scores), stopping=stopping, before_labels=data)


def labelled_record(record: Record, counted: CountedLabels) -> Record:
    """A record with people's labels in place of the scores that they are about."""
    if (record.sample.id, record.repeat) not in counted:
        return record
    return replace(record, scores=tuple(counted.score(record, score) for score in record.scores))


def labelled_summary(summary: RunSummary, data: RunData, before: RunData) -> RunSummary:
    """A summary with what labels changed.

    Args:
        summary: of the run with labels.
        data: that run.
        before: the run as it was scored.
    """
    counted = CountedLabels.of(before)
    exam = summary.exam.score if summary.exam else ""
    # The headline if it takes labels, else the first score with any.
    others = [summary.primary] if summary.primary in counted.forms else [*counted.people, *counted.forms]
    name = exam or next(iter(others), "")
    counts = _count_labels(before, counted, name, exam=bool(exam))
    kinds = Counter(summary.records.unparsed_kinds)
    kinds.subtract(counts.read)
    unlabelled = before.scores.only(before.scores.rows_of(name))
    scores, _ = summarize(unlabelled, infos=before.score_infos, intervals=Intervals.of(before.manifest))
    of_score, score = next((entry for entry in scores if entry.name == name), None), summary.score(name)
    labelled = LabelEffect(
        score=name,
        decided=dict(sorted(counts.decided.items(), key=lambda pair: (-pair[1], pair[0]))),
        changed=counts.changed,
        conflicting=counts.conflicting,
        unseen=counts.unseen,
        before=of_score.headline.value if of_score else None,
        after=score.headline.value if score else None,
        uncounted=_uncounted(data, counted, name),
        share=range_of(data.score_infos.get(name)) == (0.0, 1.0),
        exam=bool(exam),
    )
    return replace(
        summary,
        records=replace(summary.records, unparsed_kinds={kind: n for kind, n in kinds.items() if n > 0}),
        raters=replace(summary.raters, labelled=labelled),
    )


def _uncounted(data: RunData, counted: CountedLabels, score: str) -> dict[str, int]:
    """Names of people's labels that enter no score -> how many; comments are not meant to."""
    forms, infos = counted.forms.items(), data.score_infos
    counted_names = {
        score,
        *(form.name for _, form in forms),
        *(rated_thing(infos.get(name), name) for name, _ in forms),
    }
    by_people = (label for label in data.labels if not label.author.startswith(MODEL) and label.kind != "text")
    return dict(Counter(label.name for label in by_people if label.name not in counted_names))


@dataclass(slots=True)
class _LabelCounts:
    """Changes by labels in a run; `read` has the kinds of unparsed replies that they decided."""

    decided: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    conflicting: int = 0
    unseen: int = 0
    read: Counter[str] = field(default_factory=Counter)


def _count_labels(before: RunData, counted: CountedLabels, name: str, *, exam: bool) -> _LabelCounts:
    """Changes of one score, counted row by row."""
    counts, agreed = _LabelCounts(), counted.letters if exam else counted.people.get(name, _NOBODY)
    rows = before.scores.rows(name) if exam else before.scores.judged_rows(name)
    for row in rows:
        key, answered = (row.sample, row.repeat), Answered.of(row.detail)
        if row.outcome in NOT_COUNTED:
            continue
        if key in agreed.values and (not exam or row.detail != NO_DETAIL):
            counts.decided[agreed.authors[key]] += 1
            labelled = counted.row(row)
            counts.changed += (labelled.outcome, labelled.value) != (row.outcome, row.value)
            if row.outcome == "unparsed":
                counts.read[answered.kind or "unparsed"] += 1
        elif key in agreed.conflicting:
            counts.conflicting += 1
        elif exam and queue_kind(row.outcome, answered):
            counts.unseen += 1
    if not exam and name and before.bodies is not None:
        rules = ReviewRules.of(before.manifest, before.score_infos)
        counts.unseen = sum(
            bool(reasons) and (record.sample.id, record.repeat) not in agreed
            for record, reasons in with_reasons(before.bodies.records(None), rules)
        )
    return counts
