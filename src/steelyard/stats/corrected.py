"""A rate or mean that a judge gave, corrected by people's labels of some of its records.

The judge gives many verdicts with an unknown error, people give few labels without it. Both together estimate what
people would say on average of all such records. `corrected_mean` picks the method from the number of labels, the
verdicts and the number of labels of the rarer class, never from the widths of intervals: choosing the narrowest of
several intervals lowers the coverage. Measured coverage is in docs/explanation/statistics.md.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-judges.md

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import (
    Interval,
    check_level,
    clustered_spread,
    mean_interval,
    score_interval,
    wilson,
    wilson_clustered,
)
from steelyard.stats.judged import (
    JudgedLabels,
    check_binary,
    is_binary,
    labelled_part,
    weighted_share,
)
from steelyard.stats.quantiles import normal_quantile, t_quantile

CorrectionMethod = Literal["post-stratified", "ppi++", "labels alone"]

FEWEST_LABELS: Final = 30
"""Fewest labelled records for a corrected value."""
FEWEST_CLUSTERS: Final = 30
"""Clusters below which the error by cluster is itself unknown."""
_RARER: Final = 40
"""Labels of the rarer class from which the normal approximation of PPI++ holds."""
_CELL: Final = 10
"""Labelled records that PPI++ also needs in each cell of label by verdict: with few errors, their rate is not known."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """What people would say on average of all records, estimated from some labels and all verdicts.

    Args:
        value: None where there are too few labels or clusters, with the reason in `reason`.
        interval: at `level`; None likewise, or where labels are all equal and no scale is known.
        method: of the correction.
        why: the reason for this method, as a clause.
        raw: the judge's own mean over all records with a verdict; None where it gave none.
        n: labelled records.
        total: all records.
        clusters: of the labelled records.
        level: of the interval.
        reason: why there is no value or interval; "" where there is.
        influence: influence of each cluster on the value (of each record, where they are independent); for differences.
        raw_interval: of `raw`: the sampling error of the judge's own mean, whatever people would say.
    """

    value: float | None
    interval: Interval | None
    method: CorrectionMethod
    why: str
    raw: float | None
    n: int
    total: int
    clusters: int
    level: float = 0.95
    reason: str = ""
    influence: Any = None
    raw_interval: Interval | None = None

    def json_fields(self) -> dict[str, Any]:
        """Without `influence`, which has a number for each record."""
        return field_values(self, influence="")


def corrected_mean(
    data: JudgedLabels,
    *,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
    method: CorrectionMethod | None = None,
) -> CorrectedMean:
    """The mean of people's labels over all records, estimated from some labels and corrected for the judge's errors.

    Labels and verdicts of 0 and 1 are a rate. It is post-stratified by the verdict (`_post_stratified`); from 40 labels
    of the rarer class and 10 in each cell of label by verdict on it is PPI++ (`_ppi`), which then is narrower, unless
    verdicts are missing. Other numbers are PPI++. Labels alone are used where all verdicts are equal, or where
    the records without a label are fewer than half of those with one, so that they add little.

    Args:
        data: with 30 or more labelled records in 30 or more clusters; with fewer there is no value.
        scale: lowest and highest possible value; a rate has (0, 1).
        level: confidence level in (0, 1).
        method: use this one instead of the automatic choice.

    Raises:
        ValueError: no label, a level out of range, or post-stratification of other numbers than 0 and 1.

    >>> labels = [1] * 40 + [0] * 10 + [0] * 45 + [1] * 5 + [None] * 300
    >>> mean = corrected_mean(JudgedLabels(labels, [1] * 50 + [0] * 50 + [1] * 210 + [0] * 90))
    >>> mean.method, round(mean.raw, 2), round(mean.value, 3)  # 0.65 * 0.8 + 0.35 * 0.1
    ('post-stratified', 0.65, 0.555)
    """
    check_level(level)
    labels, _, _, units = labelled_part(data)
    if not len(labels):
        raise ValueError("a correction needs labels, but there are none")
    rate = is_binary(data)
    if method == "post-stratified":
        check_binary(data)
    judged = np.asarray(data.verdicts)
    known_verdicts = judged[~np.isnan(judged)]
    raw = float(known_verdicts.mean()) if len(known_verdicts) else None
    raw_limits = _raw_interval(data, level, (0.0, 1.0) if rate else scale)
    clusters = len(labels) if units is None else len(np.unique(units))
    chosen, why = (method, "as requested") if method else _method(data, rate=rate)
    n, total = len(labels), len(judged)
    blank = CorrectedMean(None, None, chosen, why, raw, n, total, clusters, level, raw_interval=raw_limits)
    if len(labels) < FEWEST_LABELS:
        counted = f"{len(labels)} labelled record{'' if len(labels) == 1 else 's'}"
        return replace(blank, reason=f"{counted}; a corrected value needs {FEWEST_LABELS}")
    if clusters < FEWEST_CLUSTERS:
        return replace(blank, reason=f"labels in {clusters} clusters; a corrected value needs {FEWEST_CLUSTERS}")
    makers: dict[str, Callable[[], _Corrected]] = {
        "post-stratified": lambda: _post_stratified(data, level),
        "ppi++": lambda: _ppi(data, level, (0.0, 1.0) if rate else scale),
        "labels alone": lambda: _labels_alone(data, level, (0.0, 1.0) if rate else scale, rate=rate),
    }
    result = makers[chosen]()
    reason = "" if result.interval else "no interval: the labels are all equal, and the scale is not known"
    return replace(blank, value=result.value, interval=result.interval, reason=reason, influence=result.influence)


def _raw_interval(data: JudgedLabels, level: float, scale: tuple[float, float] | None) -> Interval | None:
    """The interval of the mean of all verdicts, by cluster; None without a verdict."""
    verdicts = np.asarray(data.verdicts)
    has_verdict = ~np.isnan(verdicts)
    if not has_verdict.any():
        return None
    known_verdicts = verdicts[has_verdict]
    units = data.units
    clusters = None if units is None else units[has_verdict]
    if not np.isin(known_verdicts, (0.0, 1.0)).all():
        return mean_interval(known_verdicts, clusters=clusters, level=level, scale=scale)
    if clusters is None:
        return wilson(int(known_verdicts.sum()), len(known_verdicts), level)
    return wilson_clustered(known_verdicts, clusters=clusters, level=level)


def _method(data: JudgedLabels, *, rate: bool) -> tuple[CorrectionMethod, str]:
    """The method, and the reason for it."""
    labels, verdicts, _, _ = labelled_part(data)
    judged = np.asarray(data.verdicts)
    if 2 * (len(judged) - len(labels)) < len(labels):
        return "labels alone", "most records are labelled"
    if np.isnan(judged).all():
        return "labels alone", "the judge gave no verdict"
    if _alike(judged):
        return "labels alone", "the judge gives all records the same verdict"
    if rate:
        return _rate_method(labels, verdicts, missing=bool(np.isnan(judged).any()))
    if _alike(verdicts) or _alike(labels):
        return "labels alone", "labels, or verdicts of the labelled records, are all equal"
    return "ppi++", "a scale"


def _rate_method(labels: Array, verdicts: Array, *, missing: bool) -> tuple[CorrectionMethod, str]:
    if missing:
        return "post-stratified", "some records have no verdict"
    rarer = min(int((labels == 1).sum()), int((labels == 0).sum()))
    if rarer < _RARER:
        return "post-stratified", f"fewer than {_RARER} labels of the rarer class: {rarer}"
    cell = min(int(((labels == label) & (verdicts == verdict)).sum()) for label in (0, 1) for verdict in (0, 1))
    if cell < _CELL:
        return "post-stratified", f"fewer than {_CELL} labels in the rarest cell of label by verdict: {cell}"
    return "ppi++", f"{rarer} labels of the rarer class"


def _alike(values: Array) -> bool:
    known = values[~np.isnan(values)]
    return not len(known) or float(np.ptp(known)) == 0


class _Corrected(NamedTuple):
    value: float
    interval: Interval | None
    influence: Array


def _post_stratified(data: JudgedLabels, level: float) -> _Corrected:
    """Post-stratification by the verdict with exact limits in each stratum, joined by MOVER.

        theta = sum_k W_k p_k        low = theta - sqrt(D sum_k W_k^2 (p_k - l_k)^2 + (theta - l_W)^2)

    W_k is the share of all records with verdict k (1, 0 or none), p_k that of ones among its labelled records, l_k the
    exact lower limit of it; l_W is Wilson's lower limit for the error of the W_k themselves, which are shares of the
    records at hand. The upper limit likewise. In clusters D >= 1 is the variance over clusters by the sum of those of
    the parts, as strata of one cluster are not independent. A stratum without a label may have any share: its p_k is
    that of all labels, its limits are 0 and 1.

    Source: D. Holt and T. M. F. Smith, "Post stratification", JRSS A 142, 1979; G. Y. Zou and A. Donner, "Construction
    of confidence limits about effect measures: a general approach", Statistics in Medicine 27, 2008 (MOVER); exact
    limits for weights and clusters as in `weighted_share`. The factor D is ours; so is
    the rule that equal labels of a stratum count as dependent within clusters as much as all labels do.
    """
    labels, _, weights, units = labelled_part(data)
    judged, all_units = np.asarray(data.verdicts), data.units
    overall = weighted_share(labels, weights, units)
    alike = overall.effective / overall.n
    predicted = np.full(len(judged), overall.share)
    influence = np.zeros(len(judged))
    rows = np.flatnonzero(~np.isnan(np.asarray(data.labels)))
    below, above, variances = [], [], []
    for verdict in (1.0, 0.0, math.nan):
        of_all = np.isnan(judged) if math.isnan(verdict) else judged == verdict
        if not of_all.any():
            continue
        in_stratum = of_all[rows]
        weight = float(of_all.mean())
        if not in_stratum.any():
            below.append(weight * overall.share)
            above.append(weight * (1 - overall.share))
            continue
        own_units = None if units is None else units[in_stratum]
        share = weighted_share(labels[in_stratum], weights[in_stratum], own_units, alike=alike)
        predicted[of_all] = share.share
        low, high = share.exact(level)
        below.append(weight * (share.share - low))
        above.append(weight * (high - share.share))
        part = weight * weights[in_stratum] * (labels[in_stratum] - share.share) / weights[in_stratum].sum()
        influence[rows[in_stratum]] = part
        variances.append(_variance(part, own_units))
    value = float(predicted.mean())
    mix = _mix_limits(predicted, all_units, level)
    influence += (predicted - value) / len(predicted)
    cluster_influence = influence if all_units is None else np.bincount(all_units, weights=influence)
    joint = 1.0
    if all_units is not None:
        spread = clustered_spread(predicted, all_units).error ** 2
        joint = max(1.0, _variance(cluster_influence, None) / parts) if (parts := sum(variances) + spread) > 0 else 1.0
    low = value - math.sqrt(joint * sum(side**2 for side in below) + joint * (value - mix.low) ** 2)
    high = value + math.sqrt(joint * sum(side**2 for side in above) + joint * (mix.high - value) ** 2)
    return _Corrected(value, Interval(max(0.0, low), min(1.0, high)), cluster_influence)


def _mix_limits(predicted: Array, units: Array | None, level: float) -> Interval:
    """The limits of the mean of `predicted`, by Wilson's equation on its range; of two values that is a rate's."""
    low, high = float(predicted.min()), float(predicted.max())
    mean, error, n, clusters = clustered_spread(predicted, units)
    if high - low < 1e-12 or error == 0:
        return Interval(mean, mean)
    share = (mean - low) / (high - low)
    effective = share * (1 - share) * ((high - low) / error) ** 2
    quantile = (1 + level) / 2
    # The error has n - 1 in its denominator, Wilson's equation n.
    trials = min(n, effective * n / max(1, n - 1)) if units is None else min(n, effective)
    z = normal_quantile(quantile) if units is None else t_quantile(quantile, clusters - 1)
    limits = score_interval(share, trials, z)
    return Interval(low + (high - low) * limits.low, low + (high - low) * limits.high)


def _variance(influence: Array, units: Array | None) -> float:
    """The variance of a sum of independent parts with mean 0, from the parts: G / (G - 1) sum of squares."""
    sums = influence if units is None else np.bincount(units, weights=influence)
    sums = sums[sums != 0]
    return len(sums) / max(1, len(sums) - 1) * float(sums @ sums) if len(sums) else 0.0


def _ppi(data: JudgedLabels, level: float, scale: tuple[float, float] | None) -> _Corrected:
    """Prediction-powered inference with power tuning (PPI++) for a mean.

        theta = c mean_N(f) + mean_n(y - c f)        c = cov_n(y, f) / var_n(f)

    over all N records and the n labelled ones, a weighted mean over these. With lambda = c M / (n + M) and M records
    without a label this is PPI++ with its tuned lambda = cov(y, f) / ((1 + n / M) var f); lambda is kept in [0, 1]. The
    variance is that of the sum over records (or clusters) of

        labelled: w_i (y_i - c f_i - mean) + c (f_i - mean f) / N        others: c (f_i - mean f) / N

    with w_i the weights over their sum, and the quantile is t with n - 1 degrees of freedom. A missing verdict counts
    as the mean of the others: any guess that does not use the label is allowed.

    Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", 2023, section
    6. Deviations: variances divide by n - 1, covariance and variance of c alike and over labelled
    records alone (ppi_py divides one by n, and takes the variance over all), t in place of z, weights, clusters.
    """
    labels, _, weights, units = labelled_part(data)
    judged, all_units = np.asarray(data.verdicts), data.units
    judged = np.where(np.isnan(judged), np.nanmean(judged), judged)
    rows = np.flatnonzero(~np.isnan(np.asarray(data.labels)))
    others = np.flatnonzero(np.isnan(np.asarray(data.labels)))
    verdicts, share = judged[rows], weights / weights.sum()
    slope = _tuned_slope(labels, verdicts, share, len(others))
    n, total = len(rows), len(judged)
    residuals = labels - slope * verdicts
    value = slope * float(judged.mean()) + float(share @ residuals)
    influence = np.zeros(total)
    influence[rows] = share * (residuals - share @ residuals) + slope * (verdicts - share @ verdicts) / total
    if len(others):
        influence[others] = slope * (judged[others] - judged[others].mean()) / total
    cluster_influence: Array = influence
    if all_units is None or units is None:
        of_labels, of_others = influence[rows], influence[others]
        squared = n / (n - 1) * float(of_labels @ of_labels)
        squared += len(others) / max(1, len(others) - 1) * float(of_others @ of_others)
        df = n - 1
    else:
        cluster_influence = np.bincount(all_units, weights=influence)
        squared, df = _variance(cluster_influence, None), len(np.unique(units)) - 1
    half = t_quantile((1 + level) / 2, df) * math.sqrt(squared)
    low, high = value - half, value + half
    if scale:
        value, low, high = (min(scale[1], max(scale[0], number)) for number in (value, low, high))
    return _Corrected(value, Interval(low, high), cluster_influence)


def _tuned_slope(labels: Array, verdicts: Array, share: Array, others: int) -> float:
    """The slope of labels on verdicts, limited as PPI++ limits its lambda = slope * M / (n + M), to [0, 1]."""
    centred = verdicts - share @ verdicts
    spread = float(share @ centred**2)
    if spread <= 0 or not others:
        return 0.0
    slope = float(share @ (centred * (labels - share @ labels))) / spread
    return min(1 + len(labels) / others, max(0.0, slope))


def _labels_alone(data: JudgedLabels, level: float, scale: tuple[float, float] | None, *, rate: bool) -> _Corrected:
    """The weighted mean of the labels: exact limits for a rate, Student's t for other means."""
    labels, _, weights, units = labelled_part(data)
    share = weights / weights.sum()
    value = float(share @ labels)
    influence = np.zeros(len(np.asarray(data.labels)))
    influence[~np.isnan(np.asarray(data.labels))] = share * (labels - value)
    all_units = data.units
    cluster_influence = influence if all_units is None else np.bincount(all_units, weights=influence)
    if rate:
        return _Corrected(value, weighted_share(labels, weights, units).exact(level), cluster_influence)
    if float(np.ptp(weights)) == 0 or float(np.ptp(labels)) == 0:
        return _Corrected(value, mean_interval(labels, clusters=units, level=level, scale=scale), cluster_influence)
    half = t_quantile((1 + level) / 2, len(labels) - 1) * math.sqrt(_variance(cluster_influence, None))
    low, high = value - half, value + half
    return _Corrected(
        value, Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high), cluster_influence
    )


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two corrected means.

    Args:
        value: first minus second; None where one of them has no value or interval, and `reason` says so.
        interval: at the level of both.
        first: the corrected mean of the first side; likewise `second`.
        correlation: of their errors, as used for the interval: 0 where they come from different records.
        reason: why there is no value; "" where there is.
    """

    value: float | None
    interval: Interval | None
    first: CorrectedMean
    second: CorrectedMean
    correlation: float
    reason: str = ""


def corrected_difference(
    first: JudgedLabels,
    second: JudgedLabels,
    *,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
) -> CorrectedDifference:
    """How much higher people would rate the first of two targets, from labels of some records and all verdicts of both.

        low = d - sqrt((t_1 - l_1)^2 + (u_2 - t_2)^2 - 2 r (t_1 - l_1) (u_2 - t_2))        (MOVER)

    d = t_1 - t_2 are the corrected means, l and u their limits, and r the correlation of their errors, summed over the
    clusters that both have. The upper limit likewise. A positive r is lowered by its own standard error; it is 0
    below 30 clusters that both have.

    Args:
        first: of one target. Without clusters both have the same samples in the same order; clusters of equal name
            belong together.
        second: of the other.
        scale: lowest and highest possible value; a rate has (0, 1).
        level: confidence level in (0, 1).

    Raises:
        ValueError: no labels, or sides of different length without clusters.

    Source: Y. Zou and A. Donner, Statistics in Medicine 27, 2008; with correlated parts as R. G. Newcombe,
    "Improved confidence intervals for the difference between binomial proportions based on paired data", Statistics in
    Medicine 17, 1998. The correlation from influences is ours.
    """
    if first.clusters is None and second.clusters is None:
        if len(first.labels) != len(second.labels):  # type: ignore[arg-type]  # arrays since they were made
            raise ValueError("two sides without clusters have the same samples in the same order; name the clusters")
    elif first.clusters is None or second.clusters is None:
        raise ValueError("name the clusters of both sides or of none")
    sides = [corrected_mean(data, scale=scale, level=level) for data in (first, second)]
    first_mean, second_mean = sides
    if (
        first_mean.value is None
        or second_mean.value is None
        or first_mean.interval is None
        or second_mean.interval is None
    ):
        reasons = (
            f"{name}: {side.reason}" for name, side in (("first", first_mean), ("second", second_mean)) if side.reason
        )
        return CorrectedDifference(None, None, first_mean, second_mean, 0.0, "; ".join(reasons))
    correlation = _correlation(_named(first, first_mean.influence), _named(second, second_mean.influence))
    value = first_mean.value - second_mean.value
    low = value - _joined(
        first_mean.value - first_mean.interval.low, second_mean.interval.high - second_mean.value, correlation
    )
    high = value + _joined(
        first_mean.interval.high - first_mean.value, second_mean.value - second_mean.interval.low, correlation
    )
    return CorrectedDifference(value, Interval(low, high), first_mean, second_mean, correlation)


def _joined(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))


def _named(data: JudgedLabels, influence: Array) -> dict[Any, float]:
    """Influence by the name of the cluster, by position where there are none."""
    names = range(len(influence)) if data.clusters is None else dict.fromkeys(data.clusters)
    return dict(zip(names, influence.tolist(), strict=True))


def _correlation(first: dict[Any, float], second: dict[Any, float]) -> float:
    """The correlation of two sums over units, some of them shared; lowered by its standard error where positive."""
    shared = first.keys() & second.keys()
    products = math.fsum(first[name] * second[name] for name in shared)
    squares = [math.fsum(value**2 for value in side.values()) for side in (first, second)]
    if len(shared) < FEWEST_CLUSTERS or min(squares) <= 0:
        return 0.0
    correlation = products / math.sqrt(squares[0] * squares[1])
    error = math.sqrt(math.fsum((first[name] * second[name]) ** 2 for name in shared) / (squares[0] * squares[1]))
    return max(0.0, correlation - error) if correlation > 0 else max(-1.0, correlation)
