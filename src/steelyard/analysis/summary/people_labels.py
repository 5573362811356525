"""People's labels in place of scores: `with_labels` gives a run with them, `labelled_record` one record.

A label counts where all people who labelled the record agree; of ratings the mean counts. Labels of models, and labels
that no score of the run takes (see `label_forms`), never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Final

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judging_manifest import OF_ANSWERS
from steelyard.analysis.label_forms import ANSWER, MODEL, LabelForm, counted_forms
from steelyard.analysis.review_reasons import ReviewRules, with_reasons
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import NO_DETAIL, Answered, ScoreColumns, ScoreRow, queue_kind
from steelyard.analysis.scores.score_infos import range_of, rated_thing
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import LabelEffect
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.replies.answer_key import points_of, solves
from steelyard.types import Label, Record, Score, ScoreInfo

RecordKey = tuple[str, int]
"""(sample's id, repeat)."""
CREDIT: Final = "credit"
"""Key of a score's detail by which the points of an answer are computed again."""
NOT_COUNTED: Final = frozenset({"error", "not_applicable"})
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

    def row(self, row: ScoreRow) -> ScoreRow:
        """A row of an exam score with the people's verdict; unchanged if there is none, or no reply to label."""
        letters, wanted = self.letters.get((row.sample, row.repeat)), Answered.of(row.detail).wanted
        if letters is None or not wanted or row.outcome in NOT_COUNTED:
            return row
        detail = {key: value for key, value in row.detail.items() if key not in {"kind", "confidence"}}
        detail |= {"letters": letters}
        if "original" in detail:
            detail["original"] = self.own_letters(row.sample, letters)
        return row._replace(outcome="scored", value=_value(letters, detail), detail=detail)

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
        reason = f"{letters or 'no option'}, says {authors} · correct {right_letters}"
        passed = None if CREDIT in detail else solved
        return Score(score.name, _value(letters, detail), passed=passed, reason=reason, detail=detail)


def _value(letters: str, detail: Mapping[str, Any]) -> float:
    """What an exam score gives for letters: 1 where they solve the question; its points for a score of points."""
    wanted = str(detail["wanted"])
    if CREDIT in detail:
        return points_of(letters, wanted, detail["options"], detail[CREDIT], detail["lowest"])
    return float(solves(letters, wanted))


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
        if value is None or row.outcome in NOT_COUNTED:
            return row
        return row._replace(outcome="scored", value=value, detail=self._detail(value, row.detail))

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
        side = {key: detail[key] for key in OF_ANSWERS if key in detail}
        return {**side, **label, "by": "people", "rule": "label"}

    def _text(self, value: float) -> str:
        if self.form.kind == "preference":
            return {1.0: "A", 0.0: "B"}.get(value, "tie")
        if self.form.kind == "pass_fail":
            return "pass" if value else "fail"
        return f"{value:g}"


@dataclass(frozen=True, slots=True)
class CountedLabels:
    """People's labels of a run that count in place of its scores.

    Args:
        forms: score -> the form of labels that count in its place.
        verdicts: labels of the exams' replies.
        people: score -> labels of it, where it is not an exam's and has any.
    """

    forms: Mapping[str, LabelForm]
    verdicts: PeopleVerdicts
    people: Mapping[str, PeopleScores]

    @classmethod
    def of(cls, data: RunData) -> CountedLabels:
        """Those of a run."""
        infos = data.score_infos
        forms = counted_forms(data.manifest, infos)
        verdicts = PeopleVerdicts.of(data.labels)
        people = {
            name: PeopleScores.of(data.labels, form, infos[name])
            for name, form in forms.items()
            if form.kind != "choice"
        }
        return cls(
            forms,
            replace(verdicts, orders=_orders(data, {sample for sample, _ in verdicts.letters})),
            {name: scores for name, scores in people.items() if scores.values or scores.conflicting},
        )

    @property
    def exams(self) -> tuple[str, ...]:
        """Exam scores, which labels of letters change."""
        return tuple(name for name, form in self.forms.items() if form.kind == "choice")

    def row(self, row: ScoreRow) -> ScoreRow:
        """A row with the people's label; unchanged where there is none."""
        if row.name in self.exams or CREDIT in row.detail:
            return self.verdicts.row(row)
        return self.people[row.name].row(row) if row.name in self.people else row

    def columns(self, columns: ScoreColumns) -> ScoreColumns:
        """The rows of a run with the people's labels."""
        labelled = {*self.verdicts.letters, *(key for people in self.people.values() for key in people.values)}
        rows = enumerate(columns.rows()) if labelled else ()
        return columns.changed(
            {
                index: changed
                for index, row in rows
                if (row.sample, row.repeat) in labelled and (changed := self.row(row)) is not row
            }
        )


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
        (stopping.score in counted.exams and counted.verdicts.letters) or stopping.score in counted.people
    ):
        stopping = stopping.undone(range_of(data.score_infos.get(stopping.score)))
    return replace(data, scores=counted.columns(data.scores), stopping=stopping, before_labels=data)


def labelled_record(record: Record, counted: CountedLabels) -> Record:
    """A record with people's labels in place of the scores that they are about."""
    key = (record.sample.id, record.repeat)
    if key not in counted.verdicts.letters and not any(key in people.values for people in counted.people.values()):
        return record
    return replace(record, scores=tuple(_labelled_score(record, score, counted) for score in record.scores))


def _labelled_score(record: Record, score: Score, counted: CountedLabels) -> Score:
    if score.name in counted.exams or CREDIT in score.detail:
        return counted.verdicts.score(record, score)
    return counted.people[score.name].score(record, score) if score.name in counted.people else score


def labelled_summary(summary: RunSummary, data: RunData, before: RunData) -> RunSummary:
    """A summary with what labels changed.

    Args:
        summary: of the run with labels.
        data: that run.
        before: the run as it was scored.
    """
    counted = CountedLabels.of(before)
    exam = summary.exam.score if summary.exam else ""
    name = exam or _counted_score(summary, counted)
    counts = _count_letters(before, counted.verdicts, name) if exam else _count_numbers(before, counted, name)
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


def _counted_score(summary: RunSummary, counted: CountedLabels) -> str:
    """The score whose labels a summary is about: the headline if it takes labels, else the first with any."""
    if summary.primary in counted.forms:
        return summary.primary
    return next(iter([*counted.people, *counted.forms]), "")


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
    """Changes by labels in a run, counted row by row; `read` has the kinds of unparsed replies that they decided."""

    decided: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    conflicting: int = 0
    unseen: int = 0
    read: Counter[str] = field(default_factory=Counter)

    def add_letters(self, row: ScoreRow, verdicts: PeopleVerdicts) -> None:
        key, answered = (row.sample, row.repeat), Answered.of(row.detail)
        if key in verdicts.letters and row.detail != NO_DETAIL:
            self.decided[verdicts.authors[key]] += 1
            labelled = verdicts.row(row)
            self.changed += (labelled.outcome, labelled.value) != (row.outcome, row.value)
            if row.outcome == "unparsed":
                self.read[answered.kind or "unparsed"] += 1
        elif key in verdicts.conflicting:
            self.conflicting += 1
        elif queue_kind(row.outcome, answered):
            self.unseen += 1

    def add_number(self, row: ScoreRow, people: PeopleScores) -> None:
        key = (row.sample, row.repeat)
        if key in people.values:
            self.decided[people.authors[key]] += 1
            self.changed += (row.outcome, row.value) != ("scored", people.values[key])
            if row.outcome == "unparsed":
                self.read[str(row.detail.get("kind") or "unparsed")] += 1
        elif key in people.conflicting:
            self.conflicting += 1


def _count_letters(before: RunData, verdicts: PeopleVerdicts, name: str) -> _LabelCounts:
    counts = _LabelCounts()
    for row in before.scores.rows(name):
        if row.outcome not in NOT_COUNTED:
            counts.add_letters(row, verdicts)
    return counts


def _count_numbers(before: RunData, counted: CountedLabels, name: str) -> _LabelCounts:
    counts = _LabelCounts()
    people = counted.people.get(name)
    if people is not None:
        for row in before.scores.judged_rows(name):
            if row.outcome not in NOT_COUNTED:
                counts.add_number(row, people)
    if name and before.bodies is not None:
        rules = ReviewRules.of(before.manifest, before.score_infos)
        counts.unseen = sum(
            bool(reasons) and (people is None or (record.sample.id, record.repeat) not in people)
            for record, reasons in with_reasons(before.bodies.records(None), rules)
        )
    return counts
