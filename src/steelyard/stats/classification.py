"""Figures of a classification from its confusion matrix (F1, balanced accuracy, kappa), and of its confidences.

A confusion matrix has a row per reference class and a column per class that was read, in one order, with one more
column for replies of which no class was read. So an unread reply lowers recall and F1, and is an answer of its own in
kappa.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.stats.arrays import Array
from steelyard.stats.intervals import (
    Interval,
    check_level,
    check_values,
    mean_interval,
    score_interval,
    wilson,
    wilson_clustered,
)
from steelyard.stats.quantiles import normal_quantile, t_quantile

LEAST_REFERENCES: Final = 10
"""References that each class needs for an interval of a figure over all classes: with fewer its coverage falls."""
_RESAMPLES: Final = 1_999
_OF_CLASS: Final = ("precision", "recall", "f1")
_MEANS: Final = ("macro_f1", "balanced_accuracy")


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """How well one class was found; None where there is nothing to divide by.

    Args:
        support: references of this class.
        read: replies read as this class.
        right: those that are both.
        precision: right / read.
        recall: right / support.
        f1: 2 right / (support + read).
    """

    support: int
    read: int
    right: int
    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval | None = None
    recall_interval: Interval | None = None
    f1_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class ClassificationFigures:
    """Figures of a classification; classes without any reference and reply are not averaged.

    Args:
        n: replies.
        unread: those of which no class was read.
        classes: in the order of the matrix.
        accuracy: share that is right; an unread reply is wrong.
        macro_f1: mean of the classes' F1.
        micro_f1: F1 of all classes counted together: 2 right / (n + read).
        balanced_accuracy: mean of the classes' recall.
        kappa: Cohen's kappa of references and replies; None where chance explains everything.
        majority: share of the most frequent reference class: the accuracy of always answering it.
    """

    n: int
    unread: int
    classes: tuple[ClassFigures, ...]
    accuracy: float
    macro_f1: float
    micro_f1: float
    balanced_accuracy: float
    kappa: float | None
    majority: float
    macro_f1_interval: Interval | None = None
    balanced_accuracy_interval: Interval | None = None


def classification_figures(
    confusion: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, seed: int = 0
) -> ClassificationFigures:
    """Compute the figures of a confusion matrix, with intervals.

    Per class, precision and recall have Wilson's interval. F1 = 2J / (1 + J) increases with J = tp / (tp + fp + fn),
    which is a rate over the replies that are or should be of the class, so its limits are those of Wilson's interval of
    J. The means of F1 and of recall over the classes have Wilson's interval with the number of independent trials that
    would give the variance of the mean, n_eff = M (1 - M) / Var(M), which follows from the multinomial confusion matrix
    by the delta method. They are given where every class has 10 references or more. With `clusters` the variance is
    that of a bootstrap over clusters, and the intervals of the classes are its percentiles; where no draw differs, as
    of a class without an error, Wilson's over the clusters with a reply that counts, as in `wilson_clustered`.

    Args:
        confusion: k rows and k + 1 columns of counts; the last column is of unread replies.
        clusters: None: replies are independent. Else the matrices of single clusters (paraphrases, repeats of one
            sample), G x k x (k + 1), which sum up to `confusion`.
        level: confidence level in (0, 1).
        seed: of the bootstrap.

    Raises:
        ValueError: another shape, a negative count, or no count at all.

    Source: K. Takahashi et al., "Confidence interval for micro-averaged F1 and macro-averaged F1 scores", Applied
    Intelligence 52, 2022 (delta method), but with Wilson's limits: theirs, and those of MOVER from the classes' limits,
    cover 0.87 to 0.93 where recall is high and classes are small. J. Cohen 1960 (kappa).

    >>> figures = classification_figures([[8, 1, 1], [2, 8, 0]])
    >>> figures.accuracy, round(figures.classes[0].f1, 3), round(figures.macro_f1, 3), round(figures.micro_f1, 3)
    (0.8, 0.8, 0.821, 0.821)
    """
    counts = np.asarray(confusion, dtype=float)
    check_level(level)
    if counts.ndim != 2 or counts.shape[1] != counts.shape[0] + 1 or (counts < 0).any() or not counts.sum():
        raise ValueError("a confusion matrix has k rows, k + 1 columns and a count that is not 0")
    values = _values(counts[None])
    intervals = _by_formula(counts, level) if clusters is None else _by_bootstrap(np.asarray(clusters), level, seed)
    enough = bool((counts.sum(axis=1) >= LEAST_REFERENCES).all())
    right, support, read = np.diag(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0)
    classes = []
    for at in range(len(counts)):
        figures: dict[str, Any] = {name: _number(values[name][0, at]) for name in _OF_CLASS}
        figures |= {f"{name}_interval": intervals[name][at] for name in _OF_CLASS}
        classes.append(ClassFigures(int(support[at]), int(read[at]), int(right[at]), **figures))
    n = float(counts.sum())
    return ClassificationFigures(
        n=int(n),
        unread=int(counts[:, -1].sum()),
        classes=tuple(classes),
        accuracy=float(right.sum() / n),
        macro_f1=float(values["macro_f1"][0]),
        micro_f1=float(2 * right.sum() / (n + read.sum())),
        balanced_accuracy=float(values["balanced_accuracy"][0]),
        kappa=_number(values["kappa"][0]),
        majority=float(support.max() / n),
        macro_f1_interval=intervals["macro_f1"] if enough else None,
        balanced_accuracy_interval=intervals["balanced_accuracy"] if enough else None,
    )


def _number(value: Any) -> float | None:
    return float(value) if value == value else None  # noqa: PLR0124  # NaN: nothing to divide by


def _values(counts: Array) -> dict[str, Array]:
    """The figures of many matrices at once: NaN where there is nothing to divide by."""
    right = np.diagonal(counts, axis1=1, axis2=2)
    support, read = counts.sum(axis=2), counts[:, :, :-1].sum(axis=1)
    n = counts.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = {"precision": right / read, "recall": right / support, "f1": 2 * right / (support + read)}
        by_chance = (support * read).sum(axis=1) / n**2
        values["kappa"] = (right.sum(axis=1) / n - by_chance) / (1 - by_chance)
    values["macro_f1"] = _mean(values["f1"])
    values["balanced_accuracy"] = _mean(values["recall"])
    return values


def _mean(values: Array) -> Array:
    """Means over the classes that have a value; 0 where none has."""
    known = ~np.isnan(values)
    mean: Array = np.where(known, values, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return mean


def _by_formula(counts: Array, level: float) -> dict[str, Any]:
    """For independent replies: Wilson's intervals, those of the means with the variance by the delta method."""
    right, support, read = np.diag(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0)

    def rates(of: Array) -> list[Interval | None]:
        return [wilson(int(hits), int(n), level) if n else None for hits, n in zip(right, of, strict=True)]

    def f1(interval: Interval | None) -> Interval | None:
        return None if interval is None else Interval(*(2 * limit / (1 + limit) for limit in interval))

    intervals: dict[str, Any] = {"precision": rates(read), "recall": rates(support)}
    intervals["f1"] = [f1(interval) for interval in rates(support + read - right)]
    # Shares of the cells, with half a reply added to each row: a class without an error has a spread all the same.
    added = counts + 0.5 / counts.shape[1]
    n, p = counts.sum(), added / added.sum()
    for name, gradient in (("macro_f1", _f1_gradient(p)), ("balanced_accuracy", _recall_gradient(p))):
        variance = float((gradient**2 * p).sum() - (gradient * p).sum() ** 2) / n
        trials = _trials(float(_values(p[None])[name][0]), variance, 2 * n, n)
        intervals[name] = _of_mean(float(_values(counts[None])[name][0]), trials, level)
    return intervals


def _trials(mean: float, variance: float, most: float, units: float) -> float:
    """Independent trials that would give a mean this variance, `most` at most; `units` where there is no spread."""
    spread = mean * (1 - mean)
    return min(most, spread / variance) if variance > 0 and spread > 0 else units


def _of_mean(mean: float, trials: float, level: float) -> Interval:
    return score_interval(mean, trials, normal_quantile((1 + level) / 2))


def _f1_gradient(p: Array) -> Array:
    """Per cell: mean over i of (2 [a = b = i] s_i - 2 p_ii ([a = i] + [b = i])) / s_i^2, with s_i = p_i. + p_.i."""
    k = len(p)
    right, total = np.diag(p), p.sum(axis=1) + p[:, :-1].sum(axis=0)
    missed = 2 * right / total**2
    gradient: Array = np.zeros((k, k + 1)) - missed[:, None]
    gradient[:, :-1] -= missed
    gradient[range(k), range(k)] += 2 / total
    gradient /= k
    return gradient


def _recall_gradient(p: Array) -> Array:
    """Per cell: mean over i of ([a = b = i] p_i. - p_ii [a = i]) / p_i.^2."""
    k, support = len(p), p.sum(axis=1)
    gradient: Array = np.zeros((k, k + 1)) - (np.diag(p) / support**2)[:, None]
    gradient[range(k), range(k)] += 1 / support
    gradient /= k
    return gradient


def _by_bootstrap(clusters: Array, level: float, seed: int) -> dict[str, Any]:
    """By resampling clusters: percentiles for each class, and for the means Wilson's interval with their variance.

    Of equal clusters only their number is drawn.
    """
    g, k = clusters.shape[:2]
    alike, times = np.unique(clusters.reshape(g, -1), axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(g, times / g, size=_RESAMPLES)
    values = _values((drawn @ alike).reshape(_RESAMPLES, k, k + 1))
    ends = [(1 - level) / 2, (1 + level) / 2]

    right = np.diagonal(clusters, axis1=1, axis2=2)
    support, read = clusters.sum(axis=2), clusters[:, :, :-1].sum(axis=1)
    # Of each figure the clusters that it is a rate over.
    counted = {"precision": read > 0, "recall": support > 0, "f1": support + read - right > 0}

    def interval(name: str, at: int) -> Interval | None:
        known = values[name][:, at][~np.isnan(values[name][:, at])]
        if not len(known) or g < 2:
            return None
        low, high = map(float, np.quantile(known, ends))
        if known.min() < known.max():
            return Interval(low, high)
        units, is_f1 = int(counted[name][:, at].sum()), name == "f1"
        limits = score_interval(low / (2 - low) if is_f1 else low, units, t_quantile(ends[1], max(1, units - 1)))
        return Interval(*(2 * limit / (1 + limit) for limit in limits)) if is_f1 else limits

    per_class = {name: [interval(name, at) for at in range(k)] for name in _OF_CLASS}
    if g < 2:
        return per_class | dict.fromkeys(_MEANS)
    found = _values(clusters.sum(axis=0)[None])
    means = {}
    for name in _MEANS:
        mean, variance = float(found[name][0]), float(values[name].var())
        means[name] = _of_mean(mean, _trials(mean, variance, 2 * clusters.sum(), g), level)
    return per_class | means


BINS: Final = 10
"""Bins of equal width, as in the literature; figures with other numbers of bins cannot be compared."""


class CalibrationBin(NamedTuple):
    """The answers whose confidence lies in one part of [0, 1].

    Args:
        low: lower end, which belongs to the bin; `high` belongs to the next one, and 1 to the last.
        high: likewise.
        n: answers.
        confidence: their mean confidence.
        right: share of them that is right.
        interval: of that share.
    """

    low: float
    high: float
    n: int
    confidence: float
    right: float
    interval: Interval


class Calibration(NamedTuple):
    """How confidences agree with being right.

    Args:
        n: answers.
        confidence: mean confidence.
        right: share that is right.
        ece: expected calibration error: mean distance of confidence and share right over the bins, in [0, 1].
        ece_by_chance: the same that perfectly calibrated confidences would show on average, as bins are small.
        brier: Brier score: mean squared distance of confidence and outcome; 0 is perfect, lower is better.
        brier_interval: of the Brier score.
        reliability: part of the Brier score by confidences that are off; 0 is perfect.
        resolution: what is gained by bins whose shares differ; higher is better.
        uncertainty: Brier score of always stating the share that is right.
        within: part by differences within bins.
        bins: those with an answer, in order.
    """

    n: int
    confidence: float
    right: float
    ece: float
    ece_by_chance: float
    brier: float
    brier_interval: Interval | None
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    bins: tuple[CalibrationBin, ...]


def calibration_figures(confidences: ArrayLike, right: ArrayLike, *, clusters: ArrayLike | None = None) -> Calibration:
    """Calibration of the confidences in [0, 1] that answers are right.

    With n_b answers in bin b of ten of equal width, c_b their mean confidence, r_b their share right, and r over all:

        ECE = sum_b n_b / n * |c_b - r_b|
        Brier = mean (c_i - y_i)^2 = reliability - resolution + uncertainty + within
        reliability = sum_b n_b / n (c_b - r_b)^2,   resolution = sum_b n_b / n (r_b - r)^2,   uncertainty = r (1 - r)

    The estimated ECE is too high, as |c_b - r_b| is above 0 by chance alone. If every answer were right with the
    probability c_i, it would be about sum_b sqrt(2 / pi * sum_{i in b} c_i (1 - c_i)) / n: that is `ece_by_chance`,
    by the normal approximation in each bin. It takes answers as independent.

    Args:
        confidences: n >= 1 numbers in [0, 1].
        right: of each answer 1 if it is right, else 0.
        clusters: a number per answer, equal for those that are not independent; None: all are.

    Raises:
        ValueError: no answer, or a confidence outside of [0, 1].

    Source: ECE after C. Guo et al., "On calibration of modern neural networks", ICML 2017, section 2, whose bins hold
    their upper end; here they hold the lower one, so that a stated 0.9 is beside 0.95, not 0.85. Its bias after
    J. Brocker and L. A. Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting 22, 2007.
    Parts of the Brier score after A. H. Murphy, Journal of Applied Meteorology 12, 1973; that within bins, here one
    sum, after D. B. Stephenson et al., Weather and Forecasting 23, 2008.

    >>> found = calibration_figures([0.9, 0.9, 0.9, 0.6, 0.6], [1, 1, 0, 1, 0])
    >>> round(found.ece, 3), round(found.brier, 3), [(bin.n, round(bin.right, 2)) for bin in found.bins]
    (0.18, 0.27, [(2, 0.5), (3, 0.67)])
    """
    stated, outcomes = np.asarray(confidences, dtype=float), np.asarray(right, dtype=float)
    check_values(stated)
    if ((stated < 0) | (stated > 1)).any():
        raise ValueError("a confidence is a probability between 0 and 1")
    bins, squares = _bins(stated, outcomes, clusters), (stated - outcomes) ** 2
    n, rate, brier = len(stated), float(outcomes.mean()), float(squares.mean())
    reliability = math.fsum(bin_.n * (bin_.confidence - bin_.right) ** 2 for bin_ in bins) / n
    resolution = math.fsum(bin_.n * (bin_.right - rate) ** 2 for bin_ in bins) / n
    chance = np.sqrt(2 / math.pi * np.bincount(_places(stated), weights=stated * (1 - stated)))
    return Calibration(
        n=n,
        confidence=float(stated.mean()),
        right=rate,
        ece=math.fsum(bin_.n * abs(bin_.confidence - bin_.right) for bin_ in bins) / n,
        ece_by_chance=float(chance.sum() / n),
        brier=brier,
        brier_interval=mean_interval(squares, clusters=clusters, scale=(0.0, 1.0)),
        reliability=reliability,
        resolution=resolution,
        uncertainty=rate * (1 - rate),
        within=brier - (reliability - resolution + rate * (1 - rate)),
        bins=bins,
    )


def _places(stated: NDArray[Any]) -> NDArray[Any]:
    """The number of each confidence's bin; 0.29 * 100 is 28.999999999999996, but a bin's lower end is its own."""
    places: NDArray[Any] = np.minimum((stated * BINS + 1e-9).astype(int), BINS - 1)
    return places


def _bins(stated: NDArray[Any], outcomes: NDArray[Any], clusters: ArrayLike | None) -> tuple[CalibrationBin, ...]:
    places = _places(stated)
    bins = []
    for number in np.unique(places).tolist():
        chosen = places == number
        confidence, right = float(stated[chosen].mean()), float(outcomes[chosen].mean())
        limits = _interval(outcomes, chosen, clusters)
        bins.append(CalibrationBin(number / BINS, (number + 1) / BINS, int(chosen.sum()), confidence, right, limits))
    return tuple(bins)


def _interval(outcomes: NDArray[Any], chosen: NDArray[Any], clusters: ArrayLike | None) -> Interval:
    values = outcomes[chosen]
    if clusters is None:
        return wilson(int(values.sum()), len(values))
    units = np.asarray(clusters)[chosen]
    if len(np.unique(units)) == len(units):
        return wilson(int(values.sum()), len(values))
    return wilson_clustered(values, clusters=units)
