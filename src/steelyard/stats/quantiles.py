"""Quantiles of the normal, Student's t and the beta distribution on `math` alone: scipy takes over a second to load."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from steelyard.stats.beta import beta_logit, log_shares

_NORMAL_FROM_DF: Final = 1e7
_LARGEST_LOGARITHM: Final = 709.0


def normal_quantile(probability: float) -> float:
    """The z with P(Z <= z) = `probability`, 0 < probability < 1.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(probability)


def normal_share(z: float) -> float:
    """P(Z <= z), to full relative precision in the lower tail.

    >>> round(normal_share(1.959964), 6)
    0.975
    """
    return math.erfc(-z / math.sqrt(2)) / 2


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x with P(X <= x) = `probability` for the beta distribution with parameters a, b > 0.

    Equal to scipy's to 1e-9 of its value for parameters from 1e-3 to 1e8 (tested). Where x lies below the smallest
    float it is 0.

    >>> round(beta_quantile(0.5, 2, 1), 6) == round(math.sqrt(0.5), 6)
    True
    """
    if not (0 < probability < 1 and 0 < a < math.inf and 0 < b < math.inf):
        raise ValueError(f"a beta quantile needs 0 < probability < 1 and a, b > 0, not {probability}, {a} and {b}")
    logit = beta_logit(probability, a, b) if probability <= 0.5 else -beta_logit(1 - probability, b, a)
    return math.exp(log_shares(logit)[0])


def t_quantile(probability: float, df: float) -> float:
    """The t with P(T <= t) = `probability` for Student's t with `df` > 0 degrees of freedom.

    With x = df / (df + t^2), P(|T| > t) = I_x(df / 2, 1 / 2): the quantile of a beta distribution (Abramowitz and
    Stegun 1964, 26.5.27). From 1e7 degrees of freedom on the first three terms of the series in 1 / df around the
    normal quantile (26.7.5), which are exact there to all digits.

    >>> round(t_quantile(0.975, 3), 6)
    3.182446
    """
    if not 0 < probability < 1 or not df > 0:
        raise ValueError(f"a t quantile needs 0 < probability < 1 and df > 0, not {probability} and {df}")
    if probability < 0.5:
        return -_t_above(probability, df)
    return _t_above(1 - probability, df)


def _t_above(tail: float, df: float) -> float:
    """The t >= 0 with P(T > t) = `tail` <= 1/2."""
    if tail == 0.5:
        return 0.0
    if df >= _NORMAL_FROM_DF:
        z = -normal_quantile(tail)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)
    within = 1 - 2 * tail
    logit = beta_logit(2 * tail, df / 2, 0.5) if within >= 0.5 else -beta_logit(within, 0.5, df / 2)
    log_t = (math.log(df) - logit) / 2
    return math.exp(log_t) if log_t < _LARGEST_LOGARITHM else math.inf
