"""A score's verdict on each record: means by cluster, how uncertain judges are, which place of a pair they favour."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from steelyard.analysis.intervals import Mean, share_interval, unit_numbers
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_columns import CODES, ScoreColumns
from steelyard.analysis.scores.score_infos import rated_thing, scores_rating
from steelyard.errors import ConfigError, did_you_mean
from steelyard.stats.intervals import Interval, mean_interval
from steelyard.stats.paired import newcombe_clustered, newcombe_paired
from steelyard.types import ScoreInfo

_ASKED: Final = ("scored", "unparsed", "refused")


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
        is_judged = np.isin(columns.outcome, [CODES[outcome] for outcome in _ASKED])
        rows = np.flatnonzero((columns.name == columns.names.index(score)) & is_judged)
        records = [
            (columns.samples[sample], repeat)
            for sample, repeat in zip(columns.sample[rows].tolist(), columns.repeat[rows].tolist(), strict=True)
        ]
        scored = (columns.outcome[rows] == CODES["scored"]).tolist()
        values = [value if known else None for value, known in zip(columns.value[rows].tolist(), scored, strict=True)]
        groups = [columns.groups.names[code] for code in columns.groups.codes[rows].tolist()]
        verdicts, of_group = (dict(zip(records, column, strict=True)) for column in (values, groups))
        return cls(score, info, verdicts, of_group, clusters_of_records(columns))

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and highest possible value; None where the score declares none."""
        return self.info.range if self.info else None

    @property
    def known(self) -> dict[RecordPlace, float]:
        """Record -> verdict, of those that have one."""
        return {record: verdict for record, verdict in self.verdicts.items() if verdict is not None}


def clusters_of_records(columns: ScoreColumns) -> dict[RecordPlace, str]:
    """Record -> its cluster: the one of its sample, else the sample, as repeats of a sample depend on each other."""
    names, codes = columns.clusters.names, columns.clusters.codes.tolist()
    records = zip(columns.sample.tolist(), columns.repeat.tolist(), codes, strict=True)
    return {
        (columns.samples[sample], repeat): f"cluster {names[code]}" if names[code] else columns.samples[sample]
        for sample, repeat, code in records
    }


def units_of(records: Iterable[RecordPlace], clusters: Mapping[RecordPlace, str]) -> list[int]:
    """A number per record, equal for records of one cluster.

    >>> units_of([("1", 0), ("2", 0), ("1", 1)], {})
    [0, 1, 0]
    """
    return unit_numbers(clusters.get(record, record[0]) for record in records)


def mean_over(
    values: Mapping[RecordPlace, float],
    clusters: Mapping[RecordPlace, str],
    scale: tuple[float, float] | None = (0.0, 1.0),
) -> Mean:
    """The mean of one record or more: with Wilson's interval for zeros and ones, else Student's t, both by cluster.

    Args:
        values: record -> its value.
        clusters: record -> its cluster.
        scale: lowest and highest possible value; None where they are not known.

    >>> mean_over({("1", 0): 1.0, ("2", 0): 0.0}, {}).interval.rounded(2)
    (0.09, 0.91)
    """
    numbers, units = list(values.values()), units_of(values, clusters)
    is_share = set(numbers) <= {0.0, 1.0}
    interval = share_interval(numbers, units) if is_share else mean_interval(numbers, clusters=units, scale=scale)
    return Mean(math.fsum(numbers) / len(numbers), interval, len(numbers))


def judge_uncertainty(
    columns: ScoreColumns, infos: Mapping[str, ScoreInfo], scores: Sequence[str]
) -> tuple[str, dict[RecordPlace, float]]:
    """Record -> how uncertain its judges are, from 0 to 1, by the first score for which this is known.

    It is the mean of those of these two that are known, over all scores that rate the same thing:

        4 p (1 - p)        p: the share of judges whose verdict passes, where several judge
        1 - d / d_max      d: the distance of a rating from the threshold, d_max the largest one possible

    A reply that gave no verdict is 1.

    Args:
        columns: of a run.
        infos: what its scorers declared.
        scores: names of scores, or of what several judges rate, in the order in which they are tried; "" is ignored.

    Returns:
        The score, and the uncertainty of each of its records.

    Raises:
        ConfigError: there is no such score, or the uncertainty of none is known.
    """
    names = [name for name in dict.fromkeys(scores) if name]
    for name in names:
        if not scores_rating(name, infos, columns.scores):
            raise ConfigError(f"there is no score {name!r}{did_you_mean(name, columns.scores)}")
        if uncertainty := _uncertainty(columns, infos, rated_thing(infos.get(name), name)):
            return name, uncertainty
    raise ConfigError(
        f"the uncertainty of the judge of {' or '.join(names)} is not known: it needs a rating with a threshold, or "
        "several judges of one thing. Draw at random, or --stratified"
    )


def _uncertainty(columns: ScoreColumns, infos: Mapping[str, ScoreInfo], thing: str) -> dict[RecordPlace, float]:
    """Uncertainty over all scores that rate a thing; empty for a single judge with binary verdicts."""
    names = [name for name in columns.scores if rated_thing(infos.get(name), name) == thing]
    closeness: dict[RecordPlace, list[float]] = {}
    passed: dict[RecordPlace, list[bool]] = {}
    graded = False
    for name in names:
        info = infos.get(name)
        for record, value in JudgedScore.of(columns, name, info).verdicts.items():
            if value is None:
                closeness.setdefault(record, []).append(1.0)
            elif info is not None and info.threshold is not None:
                passed.setdefault(record, []).append(bool(info.passes(value)))
                if info.range != (0.0, 1.0) or info.threshold not in {0.0, 1.0}:
                    graded = True
                    closeness.setdefault(record, []).append(_closeness(value, info))
    if not graded and len(names) < 2:
        return {}
    return {
        record: _joint_uncertainty(passed.get(record, []), closeness.get(record, []))
        for record in {**closeness, **passed}
    }


def _closeness(value: float, info: ScoreInfo) -> float:
    """1 at the threshold, 0 at the end of the range that is further from it."""
    threshold = info.threshold or 0.0
    low, high = info.range or (min(value, threshold), max(value, threshold))
    # Of whole ratings with threshold 4, both 3 and 4 are next to the border.
    whole = value.is_integer() and float(threshold).is_integer()
    border = threshold + (0.5 if info.lower_is_better else -0.5) if whole and high - low > 1 else threshold
    furthest = max(high - border, border - low)
    return 1 - min(1.0, abs(value - border) / furthest) if furthest > 0 else 1.0


def _joint_uncertainty(passed: list[bool], close: list[float]) -> float:
    terms = [sum(close) / len(close)] if close else []
    if len(passed) > 1:
        share = sum(passed) / len(passed)
        terms.append(4 * share * (1 - share))
    return sum(terms) / len(terms) if terms else 0.0


def place_interval(ways: Sequence[int], units: Sequence[Hashable]) -> Interval:
    """The interval of the share of pairs that favour the first position minus the share that favour the second.

    Both shares are of the same pairs: it is Newcombe's of a paired difference, by cluster. A bootstrap of three values
    has no spread where a judge never contradicts itself.

    Args:
        ways: of each pair, see `favoured_place`; at least one.
        units: the independent unit of each pair, equal for pairs that depend on each other.
    """
    numbers = unit_numbers(units)
    if len(set(numbers)) == len(numbers):
        first, second = ways.count(1), ways.count(-1)
        return newcombe_paired(0, first, second, len(ways) - first - second)
    sides = ([float(way == position) for way in ways] for position in (1, -1))
    return newcombe_clustered(*sides, clusters=numbers)


def favoured_place(orders: Sequence[Any]) -> int | None:
    """Which position the verdicts on a pair favour: 1 the first, -1 the second, 0 neither.

    Of both orders only verdicts that contradict each other favour one. None where there is no verdict.

    Args:
        orders: the verdict on each order, a mapping with `shown`, `slot` and, where no verdict was read, `outcome`.

    >>> favoured_place([{"shown": "AB", "slot": 1}, {"shown": "BA", "slot": 1}])
    1
    >>> favoured_place([{"shown": "AB", "slot": 1}, {"shown": "BA", "slot": 2}])
    0
    """
    slots = [order.get("slot") for order in with_verdict(orders)]
    leaning = slots.count(1) - slots.count(2)
    return (leaning > 0) - (leaning < 0) if slots else None


def with_verdict(orders: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The orders in which a verdict was read."""
    return [order for order in orders if isinstance(order, Mapping) and order.get("outcome", "scored") == "scored"]
