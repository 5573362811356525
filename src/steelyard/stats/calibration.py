"""How well stated probabilities agree with what happened: calibration error, Brier score and its parts."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.intervals import Interval, check_values, mean_interval, wilson, wilson_clustered

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

    Source: ECE after C. Guo et al., "On calibration of modern neural networks", ICML 2017, section 2; its bias after
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
    n, rate = len(stated), float(outcomes.mean())
    # 0.7 * 10 is 7.000000000000001, and 0.29 * 100 is 28.999999999999996: a bin's lower end must be its own.
    place = np.minimum((stated * BINS + 1e-9).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    filled = np.flatnonzero(counts)
    share = counts[filled] / n
    means, rates = (
        np.bincount(place, weights=side, minlength=BINS)[filled] / counts[filled] for side in (stated, outcomes)
    )
    chance = np.sqrt(2 / math.pi * np.bincount(place, weights=stated * (1 - stated), minlength=BINS))
    squares = (stated - outcomes) ** 2
    reliability, resolution = float(share @ (means - rates) ** 2), float(share @ (rates - rate) ** 2)
    uncertainty, brier = rate * (1 - rate), float(squares.mean())
    return Calibration(
        n=n,
        confidence=float(stated.mean()),
        right=rate,
        ece=float(share @ np.abs(means - rates)),
        ece_by_chance=float(chance.sum() / n),
        brier=brier,
        brier_interval=mean_interval(squares, clusters=clusters, scale=(0.0, 1.0)),
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        within=brier - (reliability - resolution + uncertainty),
        bins=tuple(
            CalibrationBin(
                float(number / BINS),
                float((number + 1) / BINS),
                int(counts[number]),
                float(means[at]),
                float(rates[at]),
                _interval(outcomes, place == number, clusters),
            )
            for at, number in enumerate(filled.tolist())
        ),
    )


def _interval(outcomes: np.ndarray, chosen: np.ndarray, clusters: ArrayLike | None) -> Interval:
    values = outcomes[chosen]
    if clusters is None:
        return wilson(int(values.sum()), len(values))
    units = np.asarray(clusters)[chosen]
    if len(np.unique(units)) == len(units):
        return wilson(int(values.sum()), len(values))
    return wilson_clustered(values, clusters=units)
