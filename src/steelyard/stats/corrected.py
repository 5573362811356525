"""A rate or mean that a judge gave, corrected by people's labels of some of its records.

What the judge says of all records is many verdicts with an unknown error, what people say of some is few without it.
Both together estimate what people would say on average of all such records. `corrected_mean` picks the method from the
number of labels, what the judge said and how many labels are of the rarer kind, never from the widths of intervals, as
the narrowest of several intervals holds less than each. Measured coverage is in docs/explanation/statistics.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

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
    cluster_numbers,
    is_binary,
    labelled_part,
    weighted_share,
)
from steelyard.stats.quantiles import normal_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

CorrectionMethod = Literal["post-stratified", "ppi++", "labels alone"]

FEWEST_LABELS: Final = 30
"""Labelled records below which only their number is told."""
FEWEST_CLUSTERS: Final = 30
"""Clusters below which the error by cluster is itself unknown."""
_RARER: Final = 40
"""Labels of the rarer class from which the normal approximation of PPI++ holds."""
_CELL: Final = 10
"""Labelled records in each cell of label by verdict that it needs beside: a judge who was wrong once shows no error."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """What people would say on average of all records, estimated from some labels and all verdicts.

    Args:
        value: None where there are too few labels or clusters; `reason` says so.
        interval: at `level`; None likewise, or where equal labels off any scale show no spread.
        method: how it was made.
        why: why by this method, as a clause.
        raw: the judge's own mean over all records with a verdict; None where it gave none.
        n: labelled records.
        total: all records.
        clusters: of the labelled records.
        level: of the interval.
        reason: why there is no value or interval; "" where there is.
        influence: how much each cluster (each record, where they are independent) moves the value; for differences.
        raw_interval: of `raw`: how far the judge's own mean would vary, which says nothing of what people would say.
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
    verdicts are missing. Other numbers are PPI++. Labels alone are used where the judge says the same of all, or where
    the records without a label are fewer than half of those with one, so that they have little to add.

    Args:
        data: of which 30 records or more are labelled, in 30 clusters or more; below there is no value.
        scale: lowest and highest possible value; a rate has (0, 1).
        level: confidence level in (0, 1).
        method: instead of the one that is chosen.

    Raises:
        ValueError: no label, a level out of range, or post-stratification of other numbers than 0 and 1.

    >>> labels = [1] * 40 + [0] * 10 + [0] * 45 + [1] * 5 + [None] * 300
    >>> found = corrected_mean(JudgedLabels(labels, [1] * 50 + [0] * 50 + [1] * 210 + [0] * 90))
    >>> found.method, round(found.raw, 2), round(found.value, 3)  # 0.65 * 0.8 + 0.35 * 0.1
    ('post-stratified', 0.65, 0.555)
    """
    import numpy as np

    check_level(level)
    labels, _, _, units = labelled_part(data)
    if not len(labels):
        raise ValueError("a correction needs labels, but there are none")
    rate = is_binary(data)
    if method == "post-stratified":
        check_binary(data)
    judged = np.asarray(data.verdicts)
    given = judged[~np.isnan(judged)]
    raw = float(given.mean()) if len(given) else None
    raw_limits = _raw_interval(data, level, (0.0, 1.0) if rate else scale)
    clusters = len(labels) if units is None else len(np.unique(units))
    chosen, why = (method, "as asked for") if method else _method(data, rate=rate)
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
    made = makers[chosen]()
    reason = "" if made.interval else "no interval: the labels are all alike, and the scale is not known"
    return replace(blank, value=made.value, interval=made.interval, reason=reason, influence=made.influence)


def _raw_interval(data: JudgedLabels, level: float, scale: tuple[float, float] | None) -> Interval | None:
    """The interval of the mean of all verdicts, by cluster; None without a verdict."""
    import numpy as np

    verdicts = np.asarray(data.verdicts)
    there = ~np.isnan(verdicts)
    if not there.any():
        return None
    given = verdicts[there]
    units = cluster_numbers(data)
    clusters = None if units is None else units[there]
    if not np.isin(given, (0.0, 1.0)).all():
        return mean_interval(given, clusters=clusters, level=level, scale=scale)
    if clusters is None:
        return wilson(int(given.sum()), len(given), level)
    return wilson_clustered(given, clusters=clusters, level=level)


def _method(data: JudgedLabels, *, rate: bool) -> tuple[CorrectionMethod, str]:
    """The method, and why it."""
    import numpy as np

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
        return "labels alone", "labels, or verdicts of the labelled records, are all alike"
    return "ppi++", "a scale"


def _rate_method(labels: Array, verdicts: Array, *, missing: bool) -> tuple[CorrectionMethod, str]:
    if missing:
        return "post-stratified", "some records have no verdict"
    rarer = min(int((labels == 1).sum()), int((labels == 0).sum()))
    if rarer < _RARER:
        return "post-stratified", f"{rarer} labels of the rarer class, fewer than {_RARER}"
    cell = min(int(((labels == label) & (verdicts == verdict)).sum()) for label in (0, 1) for verdict in (0, 1))
    if cell < _CELL:
        return "post-stratified", f"{cell} labels in the rarest cell of label by verdict, fewer than {_CELL}"
    return "ppi++", f"{rarer} labels of the rarer class"


def _alike(values: Array) -> bool:
    import numpy as np

    given = values[~np.isnan(values)]
    return not len(given) or float(np.ptp(given)) == 0


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
    that labels of a stratum that are all alike are taken to be as dependent within clusters as all labels are.
    """
    import numpy as np

    labels, _, weights, units = labelled_part(data)
    judged, all_units = np.asarray(data.verdicts), cluster_numbers(data)
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
        held = of_all[rows]
        weight = float(of_all.mean())
        if not held.any():
            below.append(weight * overall.share)
            above.append(weight * (1 - overall.share))
            continue
        own_units = None if units is None else units[held]
        share = weighted_share(labels[held], weights[held], own_units, alike=alike)
        predicted[of_all] = share.share
        low, high = share.exact(level)
        below.append(weight * (share.share - low))
        above.append(weight * (high - share.share))
        part = weight * weights[held] * (labels[held] - share.share) / weights[held].sum()
        influence[rows[held]] = part
        variances.append(_variance(part, own_units))
    value = float(predicted.mean())
    mix = _mix_limits(predicted, all_units, level)
    influence += (predicted - value) / len(predicted)
    moved = influence if all_units is None else np.bincount(all_units, weights=influence)
    joint = 1.0
    if all_units is not None:
        spread = clustered_spread(predicted, all_units).error ** 2
        joint = max(1.0, _variance(moved, None) / parts) if (parts := sum(variances) + spread) > 0 else 1.0
    low = value - math.sqrt(joint * sum(side**2 for side in below) + joint * (value - mix.low) ** 2)
    high = value + math.sqrt(joint * sum(side**2 for side in above) + joint * (mix.high - value) ** 2)
    return _Corrected(value, Interval(max(0.0, low), min(1.0, high)), moved)


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
    found = score_interval(share, trials, z)
    return Interval(low + (high - low) * found.low, low + (high - low) * found.high)


def _variance(influence: Array, units: Array | None) -> float:
    """The variance of a sum of independent parts with mean 0, from the parts themselves: G / (G - 1) sum of squares."""
    import numpy as np

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
    as the mean of the others: any guess is allowed that does not see the label.

    Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", 2023, section
    6. Deviations: variances divide by n - 1, covariance and variance of c alike and over labelled
    records alone (ppi_py divides one by n, and takes the variance over all), t in place of z, weights, clusters.
    """
    import numpy as np

    labels, _, weights, units = labelled_part(data)
    judged, all_units = np.asarray(data.verdicts), cluster_numbers(data)
    judged = np.where(np.isnan(judged), np.nanmean(judged), judged)
    rows = np.flatnonzero(~np.isnan(np.asarray(data.labels)))
    others = np.flatnonzero(np.isnan(np.asarray(data.labels)))
    verdicts, share = judged[rows], weights / weights.sum()
    slope = _tuned_slope(labels, verdicts, share, len(others))
    n, total = len(rows), len(judged)
    rest = labels - slope * verdicts
    value = slope * float(judged.mean()) + float(share @ rest)
    influence = np.zeros(total)
    influence[rows] = share * (rest - share @ rest) + slope * (verdicts - share @ verdicts) / total
    if len(others):
        influence[others] = slope * (judged[others] - judged[others].mean()) / total
    moved: Array = influence
    if all_units is None or units is None:
        of_labels, of_others = influence[rows], influence[others]
        squared = n / (n - 1) * float(of_labels @ of_labels)
        squared += len(others) / max(1, len(others) - 1) * float(of_others @ of_others)
        df = n - 1
    else:
        moved = np.bincount(all_units, weights=influence)
        squared, df = _variance(moved, None), len(np.unique(units)) - 1
    half = t_quantile((1 + level) / 2, df) * math.sqrt(squared)
    low, high = value - half, value + half
    if scale:
        value, low, high = (min(scale[1], max(scale[0], number)) for number in (value, low, high))
    return _Corrected(value, Interval(low, high), moved)


def _tuned_slope(labels: Array, verdicts: Array, share: Array, others: int) -> float:
    """The slope of labels on verdicts, kept where PPI++ keeps its lambda, in [0, 1] by M / (n + M)."""
    centred = verdicts - share @ verdicts
    spread = float(share @ centred**2)
    if spread <= 0 or not others:
        return 0.0
    slope = float(share @ (centred * (labels - share @ labels))) / spread
    return min(1 + len(labels) / others, max(0.0, slope))


def _labels_alone(data: JudgedLabels, level: float, scale: tuple[float, float] | None, *, rate: bool) -> _Corrected:
    """The weighted mean of the labels: exact limits for a rate, Student's t for other means."""
    import numpy as np

    labels, _, weights, units = labelled_part(data)
    share = weights / weights.sum()
    value = float(share @ labels)
    influence = np.zeros(len(np.asarray(data.labels)))
    influence[~np.isnan(np.asarray(data.labels))] = share * (labels - value)
    all_units = cluster_numbers(data)
    moved = influence if all_units is None else np.bincount(all_units, weights=influence)
    if rate:
        return _Corrected(value, weighted_share(labels, weights, units).exact(level), moved)
    if float(np.ptp(weights)) == 0 or float(np.ptp(labels)) == 0:
        return _Corrected(value, mean_interval(labels, clusters=units, level=level, scale=scale), moved)
    half = t_quantile((1 + level) / 2, len(labels) - 1) * math.sqrt(_variance(moved, None))
    low, high = value - half, value + half
    return _Corrected(value, Interval(max(low, scale[0]), min(high, scale[1])) if scale else Interval(low, high), moved)


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two corrected means.

    Args:
        value: first minus second; None where one of them has no value or interval, and `reason` says so.
        interval: at the level of both.
        first: the corrected mean of the first side; likewise `second`.
        correlation: of their errors, as it was used: 0 where they rest on different records.
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
    """How much higher people would rate the first of two targets, from some labels and all verdicts of both.

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
    one, other = sides
    if one.value is None or other.value is None or one.interval is None or other.interval is None:
        reasons = (f"{name}: {side.reason}" for name, side in (("first", one), ("second", other)) if side.reason)
        return CorrectedDifference(None, None, one, other, 0.0, "; ".join(reasons))
    correlation = _correlation(_named(first, one.influence), _named(second, other.influence))
    value = one.value - other.value
    low = value - _joined(one.value - one.interval.low, other.interval.high - other.value, correlation)
    high = value + _joined(one.interval.high - one.value, other.value - other.interval.low, correlation)
    return CorrectedDifference(value, Interval(low, high), one, other, correlation)


def _joined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def _named(data: JudgedLabels, influence: Array) -> dict[Any, float]:
    """Influence by the name of the cluster, by position where there are none."""
    names = range(len(influence)) if data.clusters is None else dict.fromkeys(data.clusters)
    return dict(zip(names, influence.tolist(), strict=True))


def _correlation(first: dict[Any, float], second: dict[Any, float]) -> float:
    """The correlation of two sums over units, of which they may share some; lowered by its error where positive."""
    shared = first.keys() & second.keys()
    products = math.fsum(first[name] * second[name] for name in shared)
    squares = [math.fsum(value**2 for value in side.values()) for side in (first, second)]
    if len(shared) < FEWEST_CLUSTERS or min(squares) <= 0:
        return 0.0
    found = products / math.sqrt(squares[0] * squares[1])
    error = math.sqrt(math.fsum((first[name] * second[name]) ** 2 for name in shared) / (squares[0] * squares[1]))
    return max(0.0, found - error) if found > 0 else max(-1.0, found)
