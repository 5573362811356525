"""People's labels and a judge's verdicts: the data of a correction, and the rates of a judge compared with people.

Some records of a run have a label; all have a verdict of the judge, unless its reply was unparsed. The labels may have
been drawn with unequal probability, and records may come in clusters; shares and their intervals account for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.stats.binomial import exact_limits
from steelyard.stats.intervals import Interval, check_level, score_interval
from steelyard.stats.quantiles import normal_quantile, t_quantile


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLabels:
    """Labels and verdicts of the judged records, one entry per record.

    Args:
        labels: of people, as numbers; NaN or None where a record has no label.
        verdicts: of the judge, in the same order; NaN or None where it gave no verdict.
        weights: how many records a labelled one represents, the inverse of its probability of being drawn; only their
            ratios count, and those of records without a label are not read. None: all equal.
        clusters: anything, equal within a cluster; None: records are independent.

    `units` are the clusters as numbers, None where each record is a cluster of its own.

    Raises:
        ValueError: lists of different lengths, infinite numbers, or weights of labelled records that are not positive.
    """

    labels: ArrayLike
    verdicts: ArrayLike
    weights: ArrayLike | None = None
    clusters: Sequence[Any] | None = None
    units: Array | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labels, verdicts = (np.asarray(side, dtype=float) for side in (self.labels, self.verdicts))
        weights = np.ones(len(labels)) if self.weights is None else np.asarray(self.weights, dtype=float)
        if not len(labels) == len(verdicts) == len(weights):
            raise ValueError(
                f"{len(labels)} labels, {len(verdicts)} verdicts, {len(weights)} weights: give one per record"
            )
        if self.clusters is not None and len(self.clusters) != len(labels):
            raise ValueError(f"{len(labels)} records and {len(self.clusters)} clusters: give one cluster per record")
        if np.isinf(labels).any() or np.isinf(verdicts).any():
            raise ValueError("labels and verdicts must be finite numbers; these contain infinity")
        drawn = weights[~np.isnan(labels)]
        if not (np.isfinite(drawn) & (drawn > 0)).all():
            raise ValueError("the weight of a labelled record must be a positive number")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "verdicts", verdicts)
        object.__setattr__(self, "weights", weights)
        # Numbered once: every figure needs them, and 100,000 names take a tenth of a second.
        object.__setattr__(self, "units", None if self.clusters is None else _cluster_numbers(self.clusters))


class WeightedShare(NamedTuple):
    """A share of ones and its effective size: independent records with equal weights that give the same precision."""

    share: float
    effective: float
    n: int
    df: float

    def exact(self, level: float) -> Interval:
        """Clopper and Pearson's limits for `effective` records, which need not be whole."""
        n, successes = self._counts(level)
        return exact_limits(successes, n, level)

    def wilson(self, level: float) -> Interval:
        """Wilson's limits for `effective` records."""
        quantile = (1 + level) / 2
        z = normal_quantile(quantile) if math.isinf(self.df) else t_quantile(quantile, self.df)
        return score_interval(self.share, self.effective, z)

    def _counts(self, level: float) -> tuple[float, float]:
        """Effective records and successes; fewer where few clusters give only a rough error."""
        n = self.effective
        if not math.isinf(self.df):
            quantile = (1 + level) / 2
            n *= (normal_quantile(quantile) / t_quantile(quantile, self.df)) ** 2
        return n, n if self.share >= 1 else n * self.share


def weighted_share(
    values: ArrayLike, weights: ArrayLike, clusters: Array | None, *, alike: float = 0.0
) -> WeightedShare:
    """The weighted share of ones, and its effective number of records.

        p = sum w y / sum w        SE^2 = G / (G - 1) sum_g (sum_{i in g} w_i (y_i - p))^2 / (sum w)^2
        n_eff = min((sum w)^2 / sum w^2, p (1 - p) / SE^2)

    Values that are all equal have an error of 0: their n_eff is the number of clusters of equal weight.

    Args:
        values: n >= 1 zeros and ones.
        weights: positive, one per value.
        clusters: a number per value; None: values are independent.
        alike: share of the records that counts as independent where values are all equal, if it is known from others;
            never fewer than the clusters.

    Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data", Survey Methodology 24, 1998; clusters of unequal weight after L. Kish, "Survey
    Sampling", 1965. Deviation: n_eff never exceeds Kish's number of records.

    >>> weighted_share([1, 0, 1, 1], [1, 1, 1, 1], None)
    WeightedShare(share=0.75, effective=4.0, n=4, df=inf)
    """
    data, drawn = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    total = float(drawn.sum())
    share = float(drawn @ data) / total
    kish = total**2 / float(drawn @ drawn)
    if clusters is None and float(np.ptp(drawn)) == 0:
        return WeightedShare(share, float(len(data)), len(data), math.inf)
    sums: Array = drawn * (data - share)
    sizes: Array = drawn
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1]
        sums, sizes = np.bincount(units, weights=sums), np.bincount(units, weights=drawn)
    count = len(sums)
    balanced = total**2 / float(sizes @ sizes)
    effective = min(kish, max(balanced, alike * kish))
    if count > 1 and 0 < share < 1:
        squared = count / (count - 1) * float(sums @ sums) / total**2
        effective = min(kish, share * (1 - share) / squared) if squared > 0 else effective
    return WeightedShare(share, effective, len(data), max(1.0, balanced - 1))


Condition = Literal["tpr", "tnr", "ppv", "npv"]


@dataclass(frozen=True, slots=True)
class JudgedRate:
    """A rate of the judge, its interval and the number of labels behind it; None where it cannot be computed."""

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class VerdictRates:
    """A judge's binary verdicts compared with people's labels.

    Args:
        tpr: of what people call 1, the share that the judge calls 1 (sensitivity, recall).
        tnr: of what people call 0, the share that the judge calls 0 (specificity).
        ppv: of what the judge calls 1, the share that people call 1 (precision).
        npv: of what the judge calls 0, the share that people call 0.
        table: records, without weights: (label, verdict) -> count; a verdict of None is a missing one.
    """

    tpr: JudgedRate
    tnr: JudgedRate
    ppv: JudgedRate
    npv: JudgedRate
    table: dict[tuple[int, int | None], int]

    def json_fields(self) -> dict[str, JudgedRate]:
        """The rates: the table is also that of the labels."""
        return field_values(self, table="")


def verdict_rates(data: JudgedLabels, *, level: float = 0.95) -> VerdictRates:
    """True positive and negative rate of a judge, and the predictive values, each with Wilson's interval.

    A labelled record without a verdict counts in no rate; `table` has it. In clusters, or with weights, the interval is
    that of the effective number of records (`weighted_share`).

    Args:
        data: labels and verdicts of 0 or 1.
        level: confidence level in (0, 1).

    Raises:
        ValueError: a label or verdict that is neither 0 nor 1.

    Source: D. G. Altman and J. M. Bland, "Diagnostic tests 1 and 2", BMJ 308, 1994.

    >>> rates = verdict_rates(JudgedLabels([1, 1, 1, 0, 0], [1, 1, 0, 0, None]))
    >>> round(rates.tpr.value, 2), rates.tpr.interval.rounded(2), rates.tnr.n
    (0.67, (0.21, 0.94), 1)
    """
    check_level(level)
    check_binary(data)
    labels, verdicts, weights, units = labelled_part(data)
    table = {
        (label, verdict): int(((labels == label) & _is(verdicts, verdict)).sum())
        for label in (1, 0)
        for verdict in (1, 0, None)
    }

    def rate(of: Array, condition: Array) -> JudgedRate:
        rows = np.flatnonzero(condition & ~np.isnan(verdicts))
        if not len(rows):
            return JudgedRate(None, None, 0)
        share = weighted_share(of[rows], weights[rows], None if units is None else units[rows])
        return JudgedRate(share.share, share.wilson(level), len(rows))

    agrees = (labels == verdicts).astype(float)
    conditions = (labels == 1, labels == 0, verdicts == 1, verdicts == 0)
    tpr, tnr, ppv, npv = (rate(agrees, condition) for condition in conditions)
    return VerdictRates(tpr, tnr, ppv, npv, table)


def _is(verdicts: Array, verdict: int | None) -> Array:
    missing: Array = np.isnan(verdicts)
    return missing if verdict is None else verdicts == verdict


def is_binary(data: JudgedLabels) -> bool:
    """Whether every label and every verdict is 0 or 1."""
    return all(bool(np.isin(side[~np.isnan(side)], (0.0, 1.0)).all()) for side in _sides(data))


def check_binary(data: JudgedLabels) -> None:
    """Refuse labels and verdicts other than 0 and 1.

    Raises:
        ValueError: there are others.
    """
    if not is_binary(data):
        raise ValueError("labels and verdicts of a rate must be 0 or 1; use corrected_mean for scales")


def labelled_part(data: JudgedLabels) -> tuple[Array, Array, Array, Array | None]:
    """Labels, verdicts, weights and cluster numbers of the labelled records."""
    labels, verdicts = _sides(data)
    rows = np.flatnonzero(~np.isnan(labels))
    units = data.units
    weights = np.asarray(data.weights)
    return labels[rows], verdicts[rows], weights[rows], None if units is None else units[rows]


def _cluster_numbers(clusters: Sequence[Any]) -> Array | None:
    numbers: dict[Any, int] = {}
    units = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=int)
    return None if len(numbers) == len(units) else units


def _sides(data: JudgedLabels) -> tuple[Array, Array]:
    return np.asarray(data.labels), np.asarray(data.verdicts)
