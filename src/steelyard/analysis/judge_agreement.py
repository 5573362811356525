"""A judge compared with people's labels: how far it agrees with them, and the mean that people would give.

The people of a record are one rater: of categories what most of them say, of ratings their mean. The judge's figure
over all records is then corrected by what people say of the labelled ones (`stats.corrected`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judge_agreement_values import (
    ConfusionCount,
    GroupAgreement,
    JudgeAgreement,
    LabelDraw,
    RecordPlace,
)
from steelyard.analysis.label_forms import ANSWER
from steelyard.analysis.numbers import count_text, score_phrase
from steelyard.analysis.rater_agreement import agreement_of_ratings, clusters_of_records, label_number
from steelyard.analysis.rater_agreement_values import FEWEST
from steelyard.analysis.score_columns import CODES, ScoreColumns
from steelyard.analysis.score_infos import rated_thing, scores_rating
from steelyard.types import Label, ScoreInfo

if TYPE_CHECKING:
    from steelyard.stats.judged import JudgedLabels

PEOPLE: Final = "people"
"""Name of the people of a record, taken together as one rater."""
_MODEL: Final = "model:"
_ASKED: Final = ("scored", "unparsed", "refused")
_HALF_WIDTH: Final = 0.05
"""Of the range of a score: how exactly a mean is usually wanted."""
_MOST_LEVELS: Final = 11
_MOST_RECORDS: Final = 20
_EQUAL: Final = 1e-9


def judge_agreements(  # noqa: PLR0913  # what was scored, what was labelled and how, and what of it is asked for
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
        draw: how the labelled records were drawn; None: nothing is known, and nothing said.
        score: only this one, or those that rate the thing of this name.
        against: labels of this name; "" takes those with the name of the score, or of what it rates; where there are
            none, those of the first other score that rates the same thing.
        half_width: wanted of a corrected mean; None is 0.05 of the score's range.
    """
    by_name = labels_by_people(labels)
    found = []
    for name in scores_rating(score, infos, columns.scores) if score else columns.scores:
        info = infos.get(name)
        if info is not None and info.exam:
            continue
        said = by_name.get(against, []) if against else _labels_of(name, infos, columns.scores, by_name)
        if said and said[0].name != ANSWER:
            found.append(
                agreement_with_people(JudgedScore.of(columns, name, info), said, draw or LabelDraw(), half_width)
            )
    return tuple(found)


def _labels_of(
    score: str, infos: Mapping[str, ScoreInfo], scores: Collection[str], by_name: Mapping[str, list[Label]]
) -> list[Label]:
    """What people say of what a score rates, whichever judge's score they were asked about."""
    thing = rated_thing(infos.get(score), score)
    own = [label for name in dict.fromkeys((score, thing)) if name != ANSWER for label in by_name.get(name, ())]
    others = (by_name[name] for name in scores if name in by_name and rated_thing(infos.get(name), name) == thing)
    return own or next(others, [])


def labels_by_people(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Name -> the labels that a score may be held to: not those of models, remarks, or letters of exams."""
    by_name: dict[str, list[Label]] = {}
    for label in labels:
        if label.kind not in {"cannot_tell", "text", "choice"} and not label.author.startswith(_MODEL):
            by_name.setdefault(label.name, []).append(label)
    return by_name


class JudgedScore(NamedTuple):
    """One score of every record that its judge was asked about; None where it gave no verdict."""

    score: str
    info: ScoreInfo | None
    verdicts: Mapping[RecordPlace, float | None]
    groups: Mapping[RecordPlace, str]
    clusters: Mapping[RecordPlace, str]

    @classmethod
    def of(cls, columns: ScoreColumns, score: str, info: ScoreInfo | None) -> JudgedScore:
        """The score as the columns of a run hold it."""
        import numpy as np

        asked = np.isin(columns.outcome, [CODES[outcome] for outcome in _ASKED])
        rows = np.flatnonzero((columns.name == columns.names.index(score)) & asked)
        samples, repeats, values, outcomes = (
            column[rows].tolist() for column in (columns.sample, columns.repeat, columns.value, columns.outcome)
        )
        places = [(columns.samples[sample], repeat) for sample, repeat in zip(samples, repeats, strict=True)]
        verdicts = {
            place: value if outcome == CODES["scored"] else None
            for place, value, outcome in zip(places, values, outcomes, strict=True)
        }
        names = columns.groups.names
        groups = {place: names[code] for place, code in zip(places, columns.groups.codes[rows].tolist(), strict=True)}
        return cls(score, info, verdicts, groups, clusters_of_records(columns))


class _Said(NamedTuple):
    """What people say: each rater's numbers, and those of all together, without ties."""

    by_rater: dict[str, dict[RecordPlace, float]]
    together: dict[RecordPlace, float]
    tied: int


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
    known = [label for label in labels if (label.sample, label.repeat) in judged.verdicts]
    kept = [label for label in known if (label.sample, label.repeat) not in draw.examples]
    examples = dict.fromkeys(
        (label.sample, label.repeat) for label in known if (label.sample, label.repeat) in draw.examples
    )
    said = _said(kept)
    judged, problem = _comparable(judged, kept, said) if kept else (judged, "")
    labelled = said.together
    blank = JudgeAgreement(
        judged.score,
        labels[0].name if labels else "",
        records=len(judged.verdicts),
        verdicts=len(_given(judged.verdicts.values())),
        labelled=len(labelled),
        both=sum(judged.verdicts[place] is not None for place in labelled),
        raters=tuple(said.by_rater),
        several=sum(count > 1 for count in Counter(place for of in said.by_rater.values() for place in of).values()),
        tied=said.tied,
        elsewhere=len(labels) - len(known),
        examples=tuple(examples),
        share=all(0 <= value <= 1 for value in (*labelled.values(), *_given(judged.verdicts.values()))),
        problem=problem,
    )
    if problem:
        return blank
    blank = replace(blank, warnings=tuple(_warnings(blank, said, kept, draw)))
    return blank if not labelled else _with_figures(blank, judged, said, draw, half_width)


def _given(verdicts: Iterable[float | None]) -> list[float]:
    return [verdict for verdict in verdicts if verdict is not None]


def _said(labels: Sequence[Label]) -> _Said:
    by_rater: dict[str, dict[RecordPlace, float]] = {}
    of_record: dict[RecordPlace, list[float]] = {}
    for label in labels:
        number = label_number(label.value)
        if number is not None:
            by_rater.setdefault(label.author, {})[label.sample, label.repeat] = number
            of_record.setdefault((label.sample, label.repeat), []).append(number)
    binary = all(number in {0.0, 1.0} for numbers in of_record.values() for number in numbers)
    together = {place: math.fsum(numbers) / len(numbers) for place, numbers in of_record.items()}
    if not binary:
        return _Said(by_rater, together, 0)
    decided = {place: float(mean > 0.5) for place, mean in together.items() if mean != 0.5}
    return _Said(by_rater, decided, len(together) - len(decided))


def _comparable(judged: JudgedScore, labels: Sequence[Label], said: _Said) -> tuple[JudgedScore, str]:
    """The judge's verdicts on the scale of the labels, or why there are none."""
    name, info = score_phrase(judged.score), judged.info
    if not any(said.by_rater.values()):
        return judged, f"the labels {labels[0].name!r} are not numbers, passes or fails, so that they rate no score"
    values = {value for of in said.by_rater.values() for value in of.values()}
    # A pass says nothing of how high a rating is, also of one from 0 to 1: only a threshold makes both one scale.
    people_binary = values <= {0.0, 1.0}
    rated = any(label.kind in {"scale", "preference"} for label in labels)
    if problem := _scale_problem(judged, labels, () if people_binary and not rated else values):
        return judged, problem
    if rated or not people_binary or set(_given(judged.verdicts.values())) <= {0.0, 1.0}:
        return judged, ""
    if info is None or info.threshold is None:
        return judged, f"the labels are pass or fail, and {name} has no threshold that says which of its values pass"
    passed = {
        place: None if verdict is None else float(bool(info.passes(verdict)))
        for place, verdict in judged.verdicts.items()
    }
    return judged._replace(verdicts=passed), ""


def _scale_problem(judged: JudgedScore, labels: Sequence[Label], ratings: Iterable[float]) -> str:
    """Why ratings are not on the scale of a score; "" where they are, as far as it is known."""
    name, limits = score_phrase(judged.score), judged.info.range if judged.info else None
    scales = {label.scale for label in labels if label.scale}
    if not limits:
        return "the labels have different scales: label all records on one" if len(scales) > 1 else ""
    told = f"{name} goes from {limits[0]:g} to {limits[1]:g}: label on the scale of the score"
    if other := next((scale for scale in scales if scale != limits), None):
        return f"the labels go from {other[0]:g} to {other[1]:g}, and {told}"
    outside = [value for value in ratings if not limits[0] <= value <= limits[1]]
    return f"a label is {max(outside, key=abs):g}, and {told}" if outside else ""


def _with_figures(
    blank: JudgeAgreement, judged: JudgedScore, said: _Said, draw: LabelDraw, half_width: float | None
) -> JudgeAgreement:
    from steelyard.stats.corrected import corrected_mean
    from steelyard.stats.judged import is_binary, verdict_rates
    from steelyard.stats.labels_needed import labels_for_half_width

    data = _judged_labels(judged, said.together, draw)
    binary = is_binary(data)
    limits = (0.0, 1.0) if binary else judged.info.range if judged.info else None
    wanted = half_width or (_HALF_WIDTH * (limits[1] - limits[0]) if limits else None)
    enough = blank.both >= FEWEST
    verdicts = {place: judged.verdicts[place] for place in said.together}
    both = {place: verdict for place, verdict in verdicts.items() if verdict is not None}
    raters = {judged.score: both, PEOPLE: {place: said.together[place] for place in both}}
    return replace(
        blank,
        judged=agreement_of_ratings(judged.score, raters, judged.clusters) if enough else None,
        people=_people_among_themselves(blank, said, judged.clusters),
        rates=verdict_rates(data) if binary and enough else None,
        table=_table(said.together, verdicts),
        groups=_groups(raters, judged),
        scale=limits,
        corrected=corrected_mean(data, scale=limits),
        half_width=wanted,
        needed=labels_for_half_width(data, wanted) if wanted else None,
        data=data,
        places=tuple(judged.verdicts),
    )


def _judged_labels(judged: JudgedScore, labels: Mapping[RecordPlace, float], draw: LabelDraw) -> JudgedLabels:
    from steelyard.stats.judged import JudgedLabels

    places = list(judged.verdicts)
    # A record that somebody picked stands for itself alone.
    weights = [draw.weights.get(place, 1.0) for place in places] if draw.weights else None
    return JudgedLabels(
        [labels.get(place, math.nan) for place in places],
        [math.nan if (verdict := judged.verdicts[place]) is None else verdict for place in places],
        weights=weights,
        clusters=[judged.clusters.get(place, place[0]) for place in places],
    )


def _people_among_themselves(blank: JudgeAgreement, said: _Said, clusters: Mapping[RecordPlace, str]) -> Any:
    if blank.several < FEWEST:
        return None
    counts = Counter(place for of in said.by_rater.values() for place in of)
    raters = {
        rater: {place: value for place, value in values.items() if counts[place] > 1}
        for rater, values in said.by_rater.items()
    }
    return agreement_of_ratings(blank.against, {rater: of for rater, of in raters.items() if of}, clusters)


def _table(
    labels: Mapping[RecordPlace, float], verdicts: Mapping[RecordPlace, float | None]
) -> tuple[ConfusionCount, ...]:
    if len({*labels.values(), *_given(verdicts.values())}) > _MOST_LEVELS:
        return ()
    cells: dict[tuple[float, float | None], list[RecordPlace]] = {}
    for place, label in labels.items():
        cells.setdefault((label, verdicts[place]), []).append(place)
    order = sorted(cells, key=lambda cell: (-cell[0], cell[1] is None, -(cell[1] or 0)))
    return tuple(
        ConfusionCount(*cell, len(cells[cell]), tuple(cells[cell][:_MOST_RECORDS]) if cell[0] != cell[1] else ())
        for cell in order
    )


def _groups(raters: Mapping[str, Mapping[RecordPlace, float]], judged: JudgedScore) -> tuple[GroupAgreement, ...]:
    of_group: dict[str, list[RecordPlace]] = {}
    for place in raters[PEOPLE]:
        of_group.setdefault(judged.groups[place], []).append(place)
    if set(of_group) <= {""}:
        return ()
    found = []
    for group, places in of_group.items():
        if len(places) < FEWEST:
            found.append(GroupAgreement(group, len(places), None, None))
            continue
        within = {name: {place: values[place] for place in places} for name, values in raters.items()}
        (pair,) = agreement_of_ratings(judged.score, within, judged.clusters).pairs
        equal = _equal_share(within, judged.clusters, places)
        kappa = next((each for each in pair.coefficients if each.name == "cohen_kappa"), None)
        found.append(GroupAgreement(group, len(places), equal, kappa))
    return tuple(found)


def _equal_share(
    raters: Mapping[str, Mapping[RecordPlace, float]],
    clusters: Mapping[RecordPlace, str],
    places: Sequence[RecordPlace],
) -> Mean:
    """The share of equal ratings with Wilson's interval, by cluster."""
    from steelyard.stats.intervals import wilson_clustered

    first, second = raters.values()
    equal = [float(abs(first[place] - second[place]) < _EQUAL) for place in places]
    names = {
        name: number for number, name in enumerate(dict.fromkeys(clusters.get(place, place[0]) for place in places))
    }
    units = [names[clusters.get(place, place[0])] for place in places]
    return Mean(math.fsum(equal) / len(equal), wilson_clustered(equal, clusters=units), len(equal))


def _warnings(blank: JudgeAgreement, said: _Said, labels: Sequence[Label], draw: LabelDraw) -> Iterable[str]:
    picked = sum(place not in draw.weights for place in said.together)
    if picked and blank.labelled < blank.records:
        yield (
            f"{picked:,} of {count_text(blank.labelled, 'labelled record')} came from no random draw of a queue: what "
            "people pick by hand need not be like the rest, and the corrected figure may be off by any amount."
        )
    for condition in draw.conditions:
        yield f"Records were drawn under the condition {condition!r}: their labels say nothing of other records."
    if blank.examples:
        named = ", ".join(sample for sample, _ in blank.examples[:5])
        yield (
            f"Labels of {count_text(len(blank.examples), 'record')} are not counted: prompts of this run hold these as "
            f"examples ({named})."
        )
    if blank.elsewhere:
        yield f"{count_text(blank.elsewhere, 'label')} on records that have no such score."
    if unread := sum(label_number(label.value) is None for label in labels):
        yield (
            f"{count_text(unread, 'label')} rate nothing: neither a number nor a pass or a fail."
            if unread > 1
            else ("1 label rates nothing: it is neither a number nor a pass or a fail.")
        )
    if blank.tied:
        yield f"People are evenly divided on {count_text(blank.tied, 'record')}: these are left out."
    if len(blank.raters) == 1:
        yield "One person labelled: how far people agree among themselves is not known."
