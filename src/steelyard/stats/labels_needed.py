"""How many labels a correction still needs, and which records to label next without biasing it.

Both use two parts of the error of a corrected mean: the part due to the judge, which labels reduce, and the part due to
the number of records, which only more records reduce.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Array
from steelyard.stats.corrected import CorrectedMean, corrected_difference, corrected_mean
from steelyard.stats.intervals import check_level
from steelyard.stats.judged import JudgedLabels, is_binary, labelled_part
from steelyard.stats.power import check_power
from steelyard.stats.quantiles import normal_quantile

_ADDED: Final = 1.0
"""Labels of each class that are added to every verdict: a judge without a mistake so far may still make some."""
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """The number of labels needed for a given precision or decision.

    Args:
        more: further labels; 0 where the aim is met, None where no number of labels meets it.
        n: labels so far (of each target, where two are compared).
        reason: why there is no number, as a clause; "" where there is one.
    """

    more: int | None
    n: int
    reason: str = ""


class _VarianceParts(NamedTuple):
    """The variance of a corrected mean from n labels is `left / n + fixed`."""

    left: float
    fixed: float


def labels_for_half_width(
    data: JudgedLabels, half_width: float, *, scale: tuple[float, float] | None = None, level: float = 0.95
) -> LabelsNeeded:
    """Labels until the interval of a corrected mean has at most the half-width `half_width`.

        z sqrt(D R / n + D (T - R) / N) + c / n <= h

    N records have labels of variance T, of which the verdict leaves R open. For a rate R = sum_k W_k p_k (1 - p_k) over
    the verdicts k, each with one label of both kinds added; for a scale it is the variance of the labels
    around their regression on the verdicts. D >= 1 is the variance over clusters by that of independent records. The
    interval at hand may be wider than this normal approximation, as with exact limits of few labels: c >= 0 is chosen
    so that both sides are equal for its half-width and its n.

    Args:
        data: with 30 labels or more.
        half_width: target, in units of the labels.
        scale: lowest and highest possible value; a rate has (0, 1).
        level: confidence level in (0, 1).

    Raises:
        ValueError: a half-width that is not positive, or no labels.

    Source: W. G. Cochran, "Sampling techniques", 3rd edition, 1977, section 12.2 (double sampling for stratification)
    and 12.6 (for regression). Deviations: added labels, D, and c: exact limits exceed the normal ones by a term of the
    order 1 / n, as a continuity correction does.

    >>> labels = [1] * 24 + [0] * 6 + [0] * 27 + [1] * 3 + [None] * 940
    >>> labels_for_half_width(JudgedLabels(labels, [1] * 30 + [0] * 30 + [1, 0] * 470), 0.05)
    LabelsNeeded(more=219, n=60, reason='')
    """
    check_level(level)
    if not half_width > 0:
        raise ValueError(f"a half-width is positive, not {half_width}")
    corrected = corrected_mean(data, scale=scale, level=level)
    if corrected.value is None:
        return LabelsNeeded(None, corrected.n, corrected.reason)
    interval, z = corrected.interval, normal_quantile((1 + level) / 2)
    forecast = _Forecast.of([_variance_parts(data, corrected)], z, z, corrected.n)
    if interval is not None:
        forecast = forecast.as_wide_as((interval.high - interval.low) / 2)
        if interval.high - interval.low <= 2 * half_width:
            return LabelsNeeded(0, corrected.n)
    return forecast.needed(half_width, corrected.total)


def labels_to_decide(
    first: JudgedLabels,
    second: JudgedLabels,
    *,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> LabelsNeeded:
    """Labels of each of two targets until an interval of their difference excludes 0 in a share `power` of cases.

        (z_level + z_power) sqrt((1 - r) sum_t (D_t R_t / n + D_t (T_t - R_t) / N_t)) + c / n <= d

    if the observed difference d is the true one; r is the correlation of both errors (`corrected_difference`), and
    the other symbols are those of `labels_for_half_width`; c belongs to the limit that is nearer to 0.

    Args:
        first: of one target; likewise `second`. See `corrected_difference`.
        second: of the other.
        scale: lowest and highest possible value; a rate has (0, 1).
        level: confidence level in (0, 1).
        power: in (0, 1).

    Source: as `labels_for_half_width`; z_level + z_power as for two means, J. L. Fleiss, "Statistical methods for rates
    and proportions", 2nd edition, 1981, section 3.2.
    """
    check_level(level)
    check_power(power)
    difference = corrected_difference(first, second, scale=scale, level=level)
    n = min(difference.first.n, difference.second.n)
    if difference.value is None or difference.interval is None:
        return LabelsNeeded(None, n, difference.reason)
    if difference.interval.low > 0 or difference.interval.high < 0:
        return LabelsNeeded(0, n)
    if abs(difference.value) < _ROUNDING:
        return LabelsNeeded(None, n, "both corrected means are equal so far")
    independent_part = 1 - difference.correlation
    sides = ((first, difference.first), (second, difference.second))
    parts = [_VarianceParts(*(independent_part * part for part in _variance_parts(data, side))) for data, side in sides]
    z = normal_quantile((1 + level) / 2)
    to_zero = difference.interval.low if difference.value > 0 else difference.interval.high
    forecast = _Forecast.of(parts, z + normal_quantile(power), z, n).as_wide_as(abs(difference.value - to_zero))
    return forecast.needed(abs(difference.value), min(difference.first.total, difference.second.total))


@dataclass(frozen=True, slots=True)
class _Forecast:
    """How far an interval will reach from its value, by the number of labels.

    Args:
        left: the variance that labels reduce, times their number.
        fixed: the variance that they leave.
        quantile: of the normal distribution, for the aim; that of the interval at hand is `z`.
        z: see `quantile`.
        n: labels so far.
        wider: what an interval reaches beyond the normal approximation, times the number of labels.
    """

    left: float
    fixed: float
    quantile: float
    z: float
    n: int
    wider: float = 0.0

    @classmethod
    def of(cls, parts: Sequence[_VarianceParts], quantile: float, z: float, n: int) -> _Forecast:
        """The normal approximation of a sum of parts."""
        return cls(math.fsum(part.left for part in parts), math.fsum(part.fixed for part in parts), quantile, z, n)

    def as_wide_as(self, reach: float) -> _Forecast:
        """The same with the reach of the interval at hand, where it is wider than the normal approximation."""
        return replace(self, wider=self.n * max(0.0, reach - self.z * math.sqrt(self.left / self.n + self.fixed)))

    def needed(self, aim: float, total: int) -> LabelsNeeded:
        """The further labels until the reach is at most `aim`; None where those of all records are not enough."""

        def is_enough(labels: int) -> bool:
            reach = self.quantile * math.sqrt(self.left / labels + self.fixed) + self.wider / labels
            return reach <= aim * (1 + _ROUNDING)

        if not is_enough(total):
            reason = f"you need more than these {total:,} samples"
            return LabelsNeeded(None, self.n, reason)
        return LabelsNeeded(bisect_left(range(self.n, total), x=True, key=is_enough), self.n)


def _variance_parts(data: JudgedLabels, corrected: CorrectedMean) -> _VarianceParts:
    n, total = corrected.n, corrected.total
    variance, left = _open_variance(data) if is_binary(data) else _regression_variance(data)
    fixed = max(0.0, variance - left) / total
    independent = left / n + fixed
    effect = 1.0
    if data.clusters is not None and independent > 0:
        influence = np.asarray(corrected.influence)
        effect = max(1.0, float(influence @ influence) / independent)
    return _VarianceParts(effect * left, effect * fixed)


def _open_variance(data: JudgedLabels) -> tuple[float, float]:
    """The variance of binary labels, and the part of it that remains within verdicts."""
    labels, verdicts, weights, _ = labelled_part(data)
    judged = np.asarray(data.verdicts)
    mean = left = 0.0
    for verdict in (1.0, 0.0, math.nan):
        of_all, with_label = (np.isnan(side) if math.isnan(verdict) else side == verdict for side in (judged, verdicts))
        drawn = (
            weights[with_label] * (with_label.sum() / weights[with_label].sum())
            if with_label.any()
            else weights[with_label]
        )
        share = (float(drawn @ labels[with_label]) + _ADDED) / (with_label.sum() + 2 * _ADDED)
        mean += float(of_all.mean()) * share
        left += float(of_all.mean()) * share * (1 - share)
    return mean * (1 - mean), left


def _regression_variance(data: JudgedLabels) -> tuple[float, float]:
    """The variance of labels, and the part of it that remains around their regression on the verdicts."""
    labels, verdicts, weights, _ = labelled_part(data)
    known = ~np.isnan(verdicts)
    variance = float(np.cov(labels, aweights=weights)) if len(labels) > 1 else 0.0
    if known.sum() < 3 or np.ptp(verdicts[known]) == 0 or np.ptp(labels[known]) == 0:
        return variance, variance
    table = np.cov(labels[known], verdicts[known], aweights=weights[known])
    explained = max(0.0, table[0, 1]) ** 2 / (table[0, 0] * table[1, 1])
    return variance, variance * (1 - explained)


def labelling_chances(uncertainty: ArrayLike, n: int, *, uniform: float = 0.3) -> Array:
    """The chance of each record to be labelled next, higher where the judge is more uncertain.

        pi_i = min(1, a ((1 - uniform) u_i / sum u + uniform / N)), with a such that they sum to n

    A mean that weighs each label by 1 / pi_i (`JudgedLabels.weights`) is not biased by this, as every record can be
    drawn. The share that is drawn uniformly bounds the weights where the judge is sure and wrong.

    Args:
        uncertainty: u_i >= 0, one per record: p (1 - p) of several judges, or closeness to the threshold.
        n: labels to draw on average, 0 < n <= N.
        uniform: share of the draw that ignores the uncertainty, in (0, 1].

    Raises:
        ValueError: a number out of its range.

    Source: T. Zrnic and E. J. Candes, "Active statistical inference", ICML 2024, section 3 (mixed with the uniform draw
    as in its section 5); weights after D. G. Horvitz and D. J. Thompson, JASA 47, 1952.

    >>> labelling_chances([0, 0, 1, 1], 2, uniform=0.5).round(3).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    unsure = np.asarray(uncertainty, dtype=float)
    if not len(unsure) or not np.isfinite(unsure).all() or (unsure < 0).any():
        raise ValueError("an uncertainty is a finite number of at least 0, one per record")
    if not 0 < n <= len(unsure):
        raise ValueError(f"between 1 and {len(unsure)} records can be drawn, not {n}")
    if not 0 < uniform <= 1:
        raise ValueError(f"the share that is drawn uniformly must be above 0 and at most 1, not {uniform}")
    even = np.full(len(unsure), 1 / len(unsure))
    share = uniform * even + (1 - uniform) * (unsure / unsure.sum() if unsure.sum() > 0 else even)
    sure = np.zeros(len(unsure), dtype=bool)
    chances = n * share
    while (chances[~sure] > 1).any():
        sure |= chances > 1
        chances = np.where(sure, 1.0, (n - sure.sum()) * share / share[~sure].sum())
    result: Array = np.where(sure, 1.0, chances)
    return result


def draw_by_chance(chances: ArrayLike, rng: np.random.Generator) -> Array:
    """Draw positions, each with its chance, as many as the chances sum to (rounded up or down at random).

    Records are put in a random order, their chances laid end to end, and those hit by points one apart are taken.

    Args:
        chances: of `labelling_chances`.
        rng: a seeded generator.

    Source: W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics 20, 1949.
    """
    order = rng.permutation(len(np.asarray(chances)))
    ends = np.cumsum(np.asarray(chances, dtype=float)[order])
    # The chances sum to n up to rounding; without rounding the ends, the last point could lie beyond them.
    ends = np.round(ends, 9)
    points = np.arange(rng.random(), ends[-1], 1.0)
    return np.sort(order[np.searchsorted(ends, points, side="right")])
