"""Quantiles of the normal and of Student's t distribution, on `math` alone: importing scipy costs over a second."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

_SERIES_FROM_DF: Final = 1000.0
_CLOSE: Final = 1e-15


def normal_quantile(probability: float) -> float:
    """The z with P(Z <= z) = `probability`, 0 < probability < 1.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(probability)


def t_quantile(probability: float, df: float) -> float:
    """The t with P(T <= t) = `probability` for Student's t with `df` >= 1 degrees of freedom.

    From 1,000 degrees of freedom on the asymptotic series in 1/df (Abramowitz and Stegun 1964, 26.7.5), whose
    relative error is below 1e-10 there; below that Newton's method on the distribution function. It starts at the
    normal quantile, which lies between 0 and the root, where the distribution function is concave, so it cannot
    overshoot.

    >>> round(t_quantile(0.975, 3), 6)
    3.182446
    """
    if not 0 < probability < 1 or df < 1:
        raise ValueError(f"a t quantile needs 0 < probability < 1 and df >= 1, not {probability} and {df}")
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    z = normal_quantile(probability)
    return _t_series(z, df) if df >= _SERIES_FROM_DF else _t_newton(probability, df, z)


def _t_series(z: float, df: float) -> float:
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    g4 = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + g1 / df + g2 / df**2 + g3 / df**3 + g4 / df**4


def _t_newton(probability: float, df: float, start: float) -> float:
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    upper_tail, t = 1 - probability, start
    for _ in range(500):
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))
        step = (_upper_tail(t, df) - upper_tail) / density
        t += step
        if abs(step) <= 1e-14 * (1 + abs(t)):
            break
    return t


def _upper_tail(t: float, df: float) -> float:
    """P(T > t) for t >= 0: half the regularised incomplete beta I_x(df/2, 1/2) at x = df / (df + t^2)."""
    x = df / (df + t * t)
    if x < (df / 2 + 1) / (df / 2 + 2.5):
        return _beta_fraction(df / 2, 0.5, x) / 2
    return (1 - _beta_fraction(0.5, df / 2, 1 - x)) / 2


def _beta_fraction(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction (Abramowitz and Stegun 1964, 26.5.8), evaluated after Lentz.

    Converges quickly for x < (a + 1) / (a + b + 2).
    """
    if x <= 0:
        return 0.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x),
    )
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            value *= c * d
        if abs(value - before) <= _CLOSE * abs(value):
            break
    return front * value / a
