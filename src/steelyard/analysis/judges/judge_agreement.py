"""A judge compared with people's labels: how far it agrees with them, and the mean that people would give.

All people who labelled a record count as one rater: by majority for categories, by the mean for ratings. The judge's
mean over all records is then corrected by the labels (`stats.corrected`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.judged_score import JudgedScore, mean_over
from steelyard.analysis.judges.rater_agreement import agreement_of_ratings, label_number
from steelyard.analysis.judges.rater_findings_values import (
    FEWEST,
    Agreement,
    ConfusionCount,
    GroupAgreement,
    JudgeAgreement,
    LabelCounts,
)
from steelyard.analysis.label_forms import ANSWER, MODEL
from steelyard.analysis.numbers import count_text, score_phrase
from steelyard.analysis.run_data import LabelDraw, RecordPlace
from steelyard.analysis.scores.score_columns import ScoreColumns
from steelyard.analysis.scores.score_infos import rated_thing, scores_rating
from steelyard.plain_json import grouped
from steelyard.stats.corrected import corrected_mean
from steelyard.stats.judged import JudgedLabels, is_binary, verdict_rates
from steelyard.stats.labels_needed import labels_for_half_width
from steelyard.types import Label, ScoreInfo

PEOPLE: Final = "people"
"""Name of all people of a record as one rater."""
_HALF_WIDTH: Final = 0.05
"""The default half-width of a corrected mean's interval, as a share of the score's range."""
_MOST_LEVELS: Final = 11
_MOST_RECORDS: Final = 20
_EQUAL: Final = 1e-9


def judge_agreements(  # noqa: PLR0913  # what was scored, what was labelled and how, and what to compute
    columns: ScoreColumns,
    infos: Mapping[str, ScoreInfo],
    labels: Iterable[Label],
    *,
    draw: LabelDraw | None = None,
    score: str = "",
    against: str = "",
    half_width: float | None = None,
) -> tuple[JudgeAgreement, ...]:
    """Every score of a run that people labelled, compared with their labels.

    Args:
        columns: of the run.
        infos: what its scorers declared.
        labels: those that count; labels of models, remarks and letters of exams are left out.
        draw: how the labelled records were drawn; None where it is not known.
        score: only this one, or those that rate the thing of this name.
        against: labels of this name; "" takes those with the name of the score, or of what it rates; where there are
            none, those of the first other score that rates the same thing.
        half_width: target half-width of a corrected mean's interval; None is 0.05 of the score's range.
    """
    by_name = labels_by_people(labels)
    agreements = []
    for name in scores_rating(score, infos, columns.scores) if score else columns.scores:
        info = infos.get(name)
        if info is not None and info.exam:
            continue
        score_labels = by_name.get(against, []) if against else _labels_of(name, infos, columns.scores, by_name)
        if score_labels and score_labels[0].name != ANSWER:
            agreements.append(
                agreement_with_people(
                    JudgedScore.of(columns, name, info), score_labels, draw or LabelDraw(), half_width
                )
            )
    return tuple(agreements)


def _labels_of(
    score: str, infos: Mapping[str, ScoreInfo], scores: Collection[str], by_name: Mapping[str, list[Label]]
) -> list[Label]:
    """Labels of the thing that a score rates, whichever judge's score they were given for."""
    thing = rated_thing(infos.get(score), score)
    own = [label for name in dict.fromkeys((score, thing)) if name != ANSWER for label in by_name.get(name, ())]
    others = (by_name[name] for name in scores if name in by_name and rated_thing(infos.get(name), name) == thing)
    return own or next(others, [])


def labels_by_people(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Name -> the labels that a score may be compared with: not those of models, remarks, or letters of exams."""
    return grouped(
        (label.name, label)
        for label in labels
        if label.kind not in {"cannot_tell", "text", "choice"} and not label.author.startswith(MODEL)
    )


class _PeopleLabels(NamedTuple):
    """People's labels as numbers: those of each rater, and of all together, without ties; and who labelled twice."""

    by_rater: dict[str, dict[RecordPlace, float]]
    together: dict[RecordPlace, float]
    tied: int
    several: set[RecordPlace]


def agreement_with_people(
    judged: JudgedScore, labels: Sequence[Label], draw: LabelDraw, half_width: float | None = None
) -> JudgeAgreement:
    """One score compared with people's labels.

    Args:
        judged: the score.
        labels: of one name; without any there are only counts.
        draw: how the labelled records were drawn.
        half_width: see `judge_agreements`.
    """
    known = [label for label in labels if _place(label) in judged.verdicts]
    counted = [label for label in known if _place(label) not in draw.examples]
    people = _people_labels(counted)
    judged, problem = _comparable(judged, counted, people) if counted else (judged, "")
    labelled, verdicts = people.together, judged.known
    blank = JudgeAgreement(
        judged.score,
        labels[0].name if labels else "",
        LabelCounts(
            records=len(judged.verdicts),
            verdicts=len(verdicts),
            labelled=len(labelled),
            both=sum(record in verdicts for record in labelled),
            raters=tuple(people.by_rater),
            several=len(people.several),
            tied=people.tied,
            elsewhere=len(labels) - len(known),
            examples=tuple(dict.fromkeys(_place(label) for label in known if _place(label) in draw.examples)),
        ),
        share=all(0 <= value <= 1 for value in (*labelled.values(), *verdicts.values())),
        problem=problem,
    )
    if problem:
        return blank
    blank = replace(blank, warnings=tuple(_warnings(blank, people, counted, draw)))
    return blank if not labelled else _with_figures(blank, judged, people, draw, half_width)


def _place(label: Label) -> RecordPlace:
    return label.sample, label.repeat


def _people_labels(labels: Sequence[Label]) -> _PeopleLabels:
    by_rater: dict[str, dict[RecordPlace, float]] = {}
    of_record: dict[RecordPlace, list[float]] = {}
    for label in labels:
        number = label_number(label.value)
        if number is not None:
            by_rater.setdefault(label.author, {})[_place(label)] = number
            of_record.setdefault(_place(label), []).append(number)
    counts = Counter(record for ratings in by_rater.values() for record in ratings)
    several = {record for record, count in counts.items() if count > 1}
    means = {record: math.fsum(numbers) / len(numbers) for record, numbers in of_record.items()}
    if not all(number in {0.0, 1.0} for numbers in of_record.values() for number in numbers):
        return _PeopleLabels(by_rater, means, 0, several)
    decided = {record: float(mean > 0.5) for record, mean in means.items() if mean != 0.5}
    return _PeopleLabels(by_rater, decided, len(means) - len(decided), several)


def _comparable(judged: JudgedScore, labels: Sequence[Label], people: _PeopleLabels) -> tuple[JudgedScore, str]:
    """The judge's verdicts on the scale of the labels, or why they cannot be compared."""
    name, info = score_phrase(judged.score), judged.info
    if not any(people.by_rater.values()):
        problem = f"the labels {labels[0].name!r} are neither numbers nor pass or fail, so no score can be held to them"
        return judged, problem
    values = {value for ratings in people.by_rater.values() for value in ratings.values()}
    # Pass and fail are not ratings, even from 0 to 1: only a threshold of the score makes them comparable.
    people_binary = values <= {0.0, 1.0}
    rated = any(label.kind in {"scale", "preference"} for label in labels)
    if problem := _scale_problem(judged, labels, () if people_binary and not rated else values):
        return judged, problem
    if rated or not people_binary or set(judged.known.values()) <= {0.0, 1.0}:
        return judged, ""
    if info is None or info.threshold is None:
        return judged, f"the labels are pass or fail, and {name} has no threshold that says which of its values pass"
    passed = {
        record: None if verdict is None else float(bool(info.passes(verdict)))
        for record, verdict in judged.verdicts.items()
    }
    return judged._replace(verdicts=passed), ""


def _scale_problem(judged: JudgedScore, labels: Sequence[Label], ratings: Iterable[float]) -> str:
    """Why ratings are not on the scale of a score; "" where they are, as far as it is known."""
    name, limits = score_phrase(judged.score), judged.limits
    scales = {label.scale for label in labels if label.scale}
    if not limits:
        return "the labels have different scales: label all records on one" if len(scales) > 1 else ""
    expected = f"{name} goes from {limits[0]:g} to {limits[1]:g}: label on the scale of the score"
    if other_scale := next((scale for scale in scales if scale != limits), None):
        return f"the labels go from {other_scale[0]:g} to {other_scale[1]:g}, and {expected}"
    outside = [value for value in ratings if not limits[0] <= value <= limits[1]]
    return f"a label is {max(outside, key=abs):g}, and {expected}" if outside else ""


def _with_figures(
    blank: JudgeAgreement, judged: JudgedScore, people: _PeopleLabels, draw: LabelDraw, half_width: float | None
) -> JudgeAgreement:
    data = JudgedLabels(
        [people.together.get(record, math.nan) for record in judged.verdicts],
        [math.nan if verdict is None else verdict for verdict in judged.verdicts.values()],
        # A record that a person picked counts for itself alone.
        weights=[draw.weights.get(record, 1.0) for record in judged.verdicts] if draw.weights else None,
        clusters=[judged.clusters.get(record, record[0]) for record in judged.verdicts],
    )
    binary = is_binary(data)
    limits = (0.0, 1.0) if binary else judged.limits
    target_width = half_width or (_HALF_WIDTH * (limits[1] - limits[0]) if limits else None)
    enough = blank.counts.both >= FEWEST
    both = [record for record in people.together if judged.verdicts[record] is not None]
    agreement = _agreement_on(both, judged, people.together) if enough else None
    return replace(
        blank,
        judged=agreement,
        equal=_equal_share(both, judged, people.together) if enough else None,
        people=_people_among_themselves(blank, people, judged.clusters),
        rates=verdict_rates(data) if binary and enough else None,
        table=_table(people.together, judged.verdicts),
        groups=tuple(_groups(both, judged, people.together)),
        scale=limits,
        corrected=corrected_mean(data, scale=limits),
        half_width=target_width,
        needed=labels_for_half_width(data, target_width, scale=limits) if target_width else None,
        data=data,
        compared={
            record: (people.together[record], math.nan if verdict is None else verdict)
            for record, verdict in judged.verdicts.items()
            if record in people.together
        },
    )


def _agreement_on(
    records: Sequence[RecordPlace], judged: JudgedScore, labels: Mapping[RecordPlace, float]
) -> Agreement:
    """The agreement of the judge with the people together, on records that both rated."""
    verdicts = judged.known
    raters = {
        judged.score: {record: verdicts[record] for record in records},
        PEOPLE: {record: labels[record] for record in records},
    }
    return agreement_of_ratings(judged.score, raters, judged.clusters)


def _equal_share(records: Sequence[RecordPlace], judged: JudgedScore, labels: Mapping[RecordPlace, float]) -> Mean:
    """The share of records on which both say the same, with Wilson's interval, by cluster."""
    verdicts = judged.known
    equal = {record: float(abs(verdicts[record] - labels[record]) < _EQUAL) for record in records}
    return mean_over(equal, judged.clusters)


def _people_among_themselves(
    blank: JudgeAgreement, people: _PeopleLabels, clusters: Mapping[RecordPlace, str]
) -> Agreement | None:
    if blank.counts.several < FEWEST:
        return None
    raters = {
        rater: {record: value for record, value in values.items() if record in people.several}
        for rater, values in people.by_rater.items()
    }
    return agreement_of_ratings(blank.against, {rater: values for rater, values in raters.items() if values}, clusters)


def _table(
    labels: Mapping[RecordPlace, float], verdicts: Mapping[RecordPlace, float | None]
) -> tuple[ConfusionCount, ...]:
    cells = grouped(((label, verdicts[record]), record) for record, label in labels.items())
    if len({value for cell in cells for value in cell if value is not None}) > _MOST_LEVELS:
        return ()
    return tuple(
        ConfusionCount(label, verdict, len(records), tuple(records[:_MOST_RECORDS]) if label != verdict else ())
        for (label, verdict), records in sorted(
            cells.items(), key=lambda cell: (-cell[0][0], cell[0][1] is None, -(cell[0][1] or 0))
        )
    )


def _groups(
    records: Sequence[RecordPlace], judged: JudgedScore, labels: Mapping[RecordPlace, float]
) -> Iterator[GroupAgreement]:
    of_group = grouped((judged.groups[record], record) for record in records)
    if set(of_group) <= {""}:
        return
    for group, within in of_group.items():
        equal = kappa = None
        if len(within) >= FEWEST:
            equal = _equal_share(within, judged, labels)
            kappa = _agreement_on(within, judged, labels).kappa
        yield GroupAgreement(group, len(within), equal, kappa)


def _warnings(blank: JudgeAgreement, people: _PeopleLabels, labels: Sequence[Label], draw: LabelDraw) -> Iterable[str]:
    picked = sum(record not in draw.weights for record in people.together)
    if picked and blank.counts.labelled < blank.counts.records:
        counted = count_text(blank.counts.labelled, "labelled record")
        yield (
            f"{picked:,} of {counted} {'was' if picked == 1 else 'were'} not drawn at random by a queue: records "
            "picked by hand may differ from the rest, and the corrected figure may be off by any amount."
        )
    for condition in draw.conditions:
        yield f"Records were drawn under the condition {condition!r}: their labels say nothing about other records."
    if blank.counts.examples:
        named = ", ".join(sample for sample, _ in blank.counts.examples[:5])
        yield (
            f"Labels of {count_text(len(blank.counts.examples), 'record')} are not counted: prompts of this run "
            f"contain these as examples ({named})."
        )
    if blank.counts.elsewhere:
        yield f"{count_text(blank.counts.elsewhere, 'label')} on records without this score: not counted."
    if unusable := sum(label_number(label.value) is None for label in labels):
        are = "are not counted:" if unusable > 1 else "is not counted: it is"
        yield f"{count_text(unusable, 'label')} {are} neither a number nor a pass or a fail."
    if blank.counts.tied:
        yield f"People are evenly divided on {count_text(blank.counts.tied, 'record')}: these are left out."
    if len(blank.counts.raters) == 1:
        yield "Only one person labelled, so how far people agree with each other is not known."
