"""How far raters agree: scores of several judges on the same thing, and people's labels for it.

A rater is a score (of a judge) or the author of labels. What they rate is the score's name, or what its scorer says
that it `rates`; a label rates what its `name` says. Two raters of one thing are enough. Their ratings are paired by
sample and repeat; repeats of a sample, and samples of one cluster, are resampled together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, NamedTuple

from steelyard.analysis.intervals import standard_error
from steelyard.analysis.judges.judged_score import JudgedScore, clusters_of_records, mean_over, units_of
from steelyard.analysis.judges.rater_findings_values import FEWEST, Agreement, Rater, RaterKind, RaterPair
from steelyard.analysis.run_data import HoldsRunData, RecordPlace, RunData, data_of
from steelyard.analysis.scores.score_columns import ScoreColumns
from steelyard.analysis.scores.score_infos import rated_thing
from steelyard.errors import ConfigError, did_you_mean
from steelyard.stats.agreement import RatingScale, cohen_kappa, krippendorff_alpha
from steelyard.stats.binomial import wilson_with_ties, wilson_with_ties_clustered
from steelyard.stats.correlation import Coefficient, pearson, spearman
from steelyard.types import Label, ScoreInfo

_LABEL_VALUES: Final[Mapping[str, float]] = {
    "pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "right": 1.0, "wrong": 0.0, "true": 1.0, "false": 0.0,
    "a": 1.0, "b": 0.0, "tie": 0.5,
}  # fmt: skip
"""The numbers of labels that are words, to compare them with a score; for preferences, 1 is a win of side A."""
_NO_RATINGS: Final = frozenset({"cannot_tell", "text"})
"""Kinds of labels that are no ratings: the comments of two people differ in words even where they agree."""
_MOST_CATEGORIES: Final = 20
"""Most different texts of labels that are categories. With more they are remarks, which are never equal."""
_MOST_LEVELS: Final = 11
"""Most different whole or half numbers of an ordinal scale: 0 to 10 is the longest in use."""
_LARGEST: Final = 1e12
"""A larger number is no rating, and its square may overflow."""
_STOPPED: Final = "no interval: a rule ended the run early"


def agreement(
    *runs: RunData | HoldsRunData, scores: Sequence[str] = (), level: float = 0.95, seed: int = 0
) -> Agreement:
    """Agreement of several scores of a run, or of one score in several runs: each of them is a rater.

    Args:
        runs: one or more, or handles on them; ratings are paired by the sample's id and the repeat.
        scores: of one run two or more; of several runs one or more, the headline by default.
        level: confidence level in (0, 1).
        seed: of the bootstrap; equal seeds give equal intervals.

    Raises:
        ConfigError: fewer than two raters, or a score that a run does not have.
    """
    raters: dict[str, _Ratings] = {}
    clusters: dict[RecordPlace, str] = {}
    read = [data_of(run) for run in runs]
    targets = [run.target for run in read]
    names = targets if len(set(targets)) == len(targets) else [run.id for run in read]
    for name, run in zip(names, read, strict=True):
        columns = run.scores
        for score in scores or (run.primary,):
            if score not in columns.scores:
                raise ConfigError(f"run {run.id} has no score {score!r}{did_you_mean(score, columns.scores)}")
            rater = score if len(runs) == 1 else name if len(scores) < 2 else f"{name}: {score}"
            raters[rater] = _score_ratings(columns, score, run.score_infos.get(score))
        clusters |= clusters_of_records(columns)
    if len(raters) < 2:
        raise ConfigError("agreement needs two raters: name two scores of a run (scores=[...]), or several runs")
    rated = scores[0] if len(scores) == 1 else ", ".join(scores) or read[0].primary
    return _agreement(rated, raters, clusters, level=level, seed=seed)


def agreements(
    columns: ScoreColumns, infos: Mapping[str, ScoreInfo], labels: Iterable[Label] = (), *, stopped: bool = False
) -> tuple[Agreement, ...]:
    """The agreement of all raters in a run, for each thing that two or more of them rated.

    Args:
        columns: of the run.
        infos: what its scorers declared: scores that rate the same thing are raters of it.
        labels: those that count.
        stopped: whether a rule ended the run early, so that there are no intervals.
    """
    things: dict[str, dict[str, _Ratings]] = {}
    thing_of = {score: rated_thing(infos.get(score), score) for score in columns.scores}
    for score, thing in thing_of.items():
        things.setdefault(thing, {})[score] = _Ratings("score", {})
    for label in labels:
        if label.kind in _NO_RATINGS:
            continue
        author = f"{label.author} (label)" if label.author in thing_of else label.author
        raters = things.setdefault(thing_of.get(label.name, label.name), {})
        raters.setdefault(author, _Ratings("label", {})).values[label.sample, label.repeat] = label.value
    things = {thing: raters for thing, raters in things.items() if len(raters) > 1}
    clusters = clusters_of_records(columns) if things else {}
    agreements_by_thing = []
    for thing, raters in things.items():
        # Only scores that have a second rater are read.
        read = {
            name: _score_ratings(columns, name, infos.get(name)) if rater.kind == "score" else rater
            for name, rater in raters.items()
        }
        comparable = _comparable(read)
        if len(comparable) > 1:
            agreements_by_thing.append(_agreement(thing, comparable, clusters))
    return tuple(map(_without_intervals, agreements_by_thing)) if stopped else tuple(agreements_by_thing)


def label_agreement(rated: str, verdicts: Mapping[tuple[int, str, int], Mapping[str, Any]]) -> Agreement | None:
    """The agreement of people on records that two or more of them labelled; None below `FEWEST` such records.

    Args:
        rated: what they label.
        verdicts: (run's number, sample's id, repeat) -> rater -> value. Answers to one question, of several runs or
            repeats, are a cluster.
    """
    several = {key: values for key, values in verdicts.items() if len(values) > 1}
    if len(several) < FEWEST:
        return None
    raters: dict[str, _Ratings] = {}
    cluster_of: dict[RecordPlace, str] = {}
    for (run, sample, repeat), values in several.items():
        record = (f"{run} {sample}", repeat)
        cluster_of[record] = sample
        for rater, value in values.items():
            raters.setdefault(rater, _Ratings("label", {})).values[record] = value
    comparable = _comparable(raters)
    return _agreement(rated, comparable, cluster_of) if len(comparable) > 1 else None


def agreement_of_ratings(
    rated: str, raters: Mapping[str, Mapping[RecordPlace, float]], cluster_of: Mapping[RecordPlace, str]
) -> Agreement:
    """The agreement of two raters or more whose ratings are known as numbers.

    Args:
        rated: what they rate.
        raters: name -> record -> rating.
        cluster_of: record -> its cluster.
    """
    return _agreement(rated, {name: _Ratings("label", dict(values)) for name, values in raters.items()}, cluster_of)


class _Ratings(NamedTuple):
    """The ratings of one rater, and the limits of their scale where these are declared."""

    kind: RaterKind
    values: dict[RecordPlace, Any]
    limits: tuple[float, float] | None = None


def _score_ratings(columns: ScoreColumns, score: str, info: ScoreInfo | None) -> _Ratings:
    """The values of a score by sample and repeat; what was not scored is missing."""
    judged = JudgedScore.of(columns, score, info)
    return _Ratings("score", judged.known, judged.limits)


def _comparable(raters: Mapping[str, _Ratings]) -> dict[str, _Ratings]:
    """The raters whose ratings can be compared: numbers where a score is among them, else numbers or categories."""
    numbers = {name: _as_numbers(rater) for name, rater in raters.items()}
    complete = all(len(numbers[name].values) == len(rater.values) for name, rater in raters.items())
    if complete or any(rater.kind == "score" for rater in raters.values()):
        return {name: rater for name, rater in numbers.items() if rater.values}
    texts = {
        name: rater._replace(values={record: str(value) for record, value in rater.values.items()})
        for name, rater in raters.items()
    }
    different = {value for rater in texts.values() for value in rater.values.values()}
    return texts if len(different) <= _MOST_CATEGORIES else {}


def _as_numbers(rater: _Ratings) -> _Ratings:
    if rater.kind == "score":
        return rater
    numbers = {record: label_number(value) for record, value in rater.values.items()}
    return rater._replace(values={record: number for record, number in numbers.items() if number is not None})


def label_number(value: Any) -> float | None:
    """A label's value as a number: itself, or the number of its word; None for other texts and too large numbers.

    >>> label_number("pass"), label_number(4), label_number("good"), label_number(1e300)
    (1.0, 4.0, None, None)
    """
    if isinstance(value, bool | int | float):
        return float(value) if abs(value) <= _LARGEST else None
    return _LABEL_VALUES.get(value.strip().casefold()) if isinstance(value, str) else None


def _agreement(
    rated: str,
    raters: Mapping[str, _Ratings],
    cluster_of: Mapping[RecordPlace, str],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    records = list(dict.fromkeys(record for rater in raters.values() for record in rater.values))
    units = units_of(records, cluster_of)
    table = {name: [rater.values.get(record) for record in records] for name, rater in raters.items()}
    values = {value for column in table.values() for value in column if value is not None}
    scale, share = _scale(values), all(not isinstance(value, str) and 0 <= value <= 1 for value in values)
    independent = len(set(units)) == len(records)
    options: dict[str, Any] = {"clusters": None if independent else units, "level": level, "seed": seed}
    alpha = krippendorff_alpha(list(table.values()), scale=scale, **options)
    pairs = [_pair(names, (table[names[0]], table[names[1]]), scale, options) for names in combinations(table, 2)]
    limits = next((rater.limits for rater in raters.values() if rater.limits), None)
    means = [_rater(name, rater, cluster_of, limits) for name, rater in raters.items()]
    return Agreement(rated, scale, tuple(means), tuple(pairs), alpha, share)


def _scale(different: AbstractSet[Any]) -> RatingScale:
    """The kind of scale, by the values of the ratings: a declared range does not say which steps a score has."""
    if any(isinstance(value, str) for value in different) or different <= {0.0, 1.0}:
        return "nominal"
    whole = all(float(2 * value).is_integer() for value in different)
    return "ordinal" if whole and len(different) <= _MOST_LEVELS else "interval"


def _pair(
    names: tuple[str, str], columns: tuple[Sequence[Any], Sequence[Any]], scale: RatingScale, options: dict[str, Any]
) -> RaterPair:
    rated_by_both = [
        (first, second) for first, second in zip(*columns, strict=True) if first is not None and second is not None
    ]
    rated_once = sum((first is None) != (second is None) for first, second in zip(*columns, strict=True))
    if scale == "nominal":
        coefficients = [cohen_kappa(*columns, **options)]
    elif scale == "ordinal":
        coefficients = [cohen_kappa(*columns, weights="quadratic", **options)]
        coefficients += [spearman(*columns, **options), pearson(*columns, **options)]
    else:
        coefficients = [pearson(*columns, **options), spearman(*columns, **options)]
    equal = sum(first == second for first, second in rated_by_both) / len(rated_by_both) if rated_by_both else None
    return RaterPair(*names, len(rated_by_both), rated_once, equal, tuple(coefficients))


def _rater(
    name: str, rater: _Ratings, cluster_of: Mapping[RecordPlace, str], limits: tuple[float, float] | None
) -> Rater:
    values = list(rater.values.values())
    if not values or isinstance(values[0], str):
        return Rater(name, rater.kind, None, len(values))
    units = units_of(rater.values, cluster_of)
    within = limits and limits[0] <= min(values) and max(values) <= limits[1]
    mean = mean_over(rater.values, cluster_of, limits if within else None)
    if 0.5 in values and set(values) <= {0.0, 0.5, 1.0}:
        interval = wilson_with_ties_clustered(values, clusters=units)
        if len(set(units)) == len(values):
            interval = wilson_with_ties(*(values.count(value) for value in (1.0, 0.5, 0.0)))
        mean = replace(mean, interval=interval)
    return Rater(name, rater.kind, replace(mean, standard_error=standard_error(values, units)), len(values))


def _without_intervals(agreement: Agreement) -> Agreement:
    """The agreement without intervals: those for a fixed number of samples do not hold where a rule ended the run."""
    raters = tuple(
        replace(rater, mean=replace(rater.mean, interval=None, standard_error=None) if rater.mean else None)
        for rater in agreement.raters
    )
    pairs = tuple(replace(pair, coefficients=tuple(map(_bare, pair.coefficients))) for pair in agreement.pairs)
    return replace(agreement, raters=raters, pairs=pairs, alpha=_bare(agreement.alpha))


def _bare(coefficient: Coefficient) -> Coefficient:
    return replace(coefficient, interval=None, reason=coefficient.reason or _STOPPED)
