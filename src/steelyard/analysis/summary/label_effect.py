"""What people's labels changed in a run, where they count in place of scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.label_forms import MODEL
from steelyard.analysis.people_labels import NOT_COUNTED, CountedLabels, PeopleScores, PeopleVerdicts
from steelyard.analysis.review_reasons import ReviewRules, with_reasons
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import NO_DETAIL, Answered, ScoreRow, queue_kind
from steelyard.analysis.scores.score_infos import range_of, rated_thing
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import LabelEffect
from steelyard.analysis.summary.run_summary_values import RunSummary


def labelled_summary(summary: RunSummary, data: RunData, before: RunData) -> RunSummary:
    """A summary with what labels changed.

    Args:
        summary: of the run with labels.
        data: that run.
        before: the run as it was scored.
    """
    counted = CountedLabels.of(before)
    exam = summary.exam.score if summary.exam else ""
    name = exam or _labelled_score(summary, counted)
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


def _labelled_score(summary: RunSummary, counted: CountedLabels) -> str:
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
