"""A score's verdict on each record, and shares and means over records, by cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from steelyard.analysis.intervals import Mean
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_columns import CODES, ScoreColumns
from steelyard.stats.intervals import mean_interval, wilson, wilson_clustered
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
    numbers: dict[str, int] = {}
    return [numbers.setdefault(clusters.get(record, record[0]), len(numbers)) for record in records]


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
    if not set(numbers) <= {0.0, 1.0}:
        interval = mean_interval(numbers, clusters=units, scale=scale)
    elif len(set(units)) == len(units):
        interval = wilson(int(sum(numbers)), len(numbers))
    else:
        interval = wilson_clustered(numbers, clusters=units)
    return Mean(math.fsum(numbers) / len(numbers), interval, len(numbers))
