"""Figures of a classification from its confusion matrix: precision, recall, F1, macro F1, balanced accuracy, kappa.

A confusion matrix has a row per reference class and a column per class that was read, in one order, with one more
column for replies of which no class was read. So an unread reply lowers recall and F1, and is an answer of its own in
kappa.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.stats.intervals import Interval, check_level, score_interval, wilson
from steelyard.stats.quantiles import normal_quantile

Array = NDArray[Any]

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
    that of a bootstrap over clusters, and the intervals of the classes are its percentiles.

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
    right, support, read = np.diag(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0)

    def rates(of: Array) -> list[Interval | None]:
        return [wilson(int(hits), int(n), level) if n else None for hits, n in zip(right, of, strict=True)]

    def f1(interval: Interval | None) -> Interval | None:
        return None if interval is None else Interval(*(2 * limit / (1 + limit) for limit in interval))

    intervals: dict[str, Any] = {"precision": rates(read), "recall": rates(support)}
    intervals["f1"] = [f1(interval) for interval in rates(support + read - right)]
    n, p = counts.sum(), _smoothed(counts)
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


def _smoothed(counts: Array) -> Array:
    """Shares of the cells, with half a reply added to each row: a class without an error has a spread all the same."""
    added = counts + 0.5 / counts.shape[1]
    shares: Array = added / added.sum()
    return shares


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
    """Percentile intervals over resamples of clusters; of equal clusters only their number is drawn."""
    g, k = clusters.shape[:2]
    alike, times = np.unique(clusters.reshape(g, -1), axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(g, times / g, size=_RESAMPLES)
    values = _values((drawn @ alike).reshape(_RESAMPLES, k, k + 1))
    ends = [(1 - level) / 2, (1 + level) / 2]

    def interval(of: Array) -> Interval | None:
        known = of[~np.isnan(of)]
        return Interval(*map(float, np.quantile(known, ends))) if len(known) and g > 1 else None

    per_class = {name: [interval(values[name][:, at]) for at in range(k)] for name in _OF_CLASS}
    if g < 2:
        return per_class | dict.fromkeys(_MEANS)
    found = _values(clusters.sum(axis=0)[None])
    means = {}
    for name in _MEANS:
        mean, variance = float(found[name][0]), float(values[name].var())
        means[name] = _of_mean(mean, _trials(mean, variance, 2 * clusters.sum(), g), level)
    return per_class | means
