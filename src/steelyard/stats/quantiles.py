"""Quantiles of the normal, Student's t and the beta distribution with `math` only: scipy takes over a second to load.

The beta distribution, which exact intervals of a rate and Student's t use, is computed in logarithms and on the
logit scale, so that parameters of 1e-3 or 1e9 and probabilities of 1e-300 neither overflow nor lose digits.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

_NORMAL_FROM_DF: Final = 1e7
_LARGEST_LOGARITHM: Final = 709.0
_STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_2PI: Final = 0.9189385332046727
_LARGE: Final = 10.0
_TERMS: Final = 1_000_000
_NEWTON_STEPS: Final = 60
_CLOSE: Final = 1e-16


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


def log_beta(a: float, b: float) -> float:
    """The natural logarithm of the beta function B(a, b), a, b > 0, to about 15 digits also where a and b are large.

    lgamma(a) + lgamma(b) - lgamma(a + b) would lose nine digits at 1e9; here the large parts are cancelled
    algebraically.

    Source: Stirling's series (Abramowitz and Stegun 1964, 6.1.40), arranged after A. R. DiDonato and A. H. Morris,
    ACM Transactions on Mathematical Software 18, 1992.

    >>> round(math.exp(-log_beta(2, 3)), 9)
    12.0
    """
    small, large = min(a, b), max(a, b)
    total = small + large
    if large < _LARGE:
        return math.lgamma(small) + math.lgamma(large) - math.lgamma(total)
    common = (large - 0.5) * math.log1p(-small / total) + _remainder(large) - _remainder(total)
    if small < _LARGE:
        return common + math.lgamma(small) + small - small * math.log(total)
    return common + _remainder(small) + _HALF_LOG_2PI + small * math.log(small / total) - math.log(small) / 2


def _remainder(x: float) -> float:
    """The remainder of log Gamma(x) after Stirling's formula, for x >= 10."""
    value, square = 0.0, 1 / (x * x)
    for term in reversed(_STIRLING):
        value = value * square + term
    return value / x


# The rows of a report, the tests of a comparison and the steps of a search ask for the same limits again and again.
@lru_cache(maxsize=1024)
def beta_logit(lower: float, a: float, b: float) -> float:
    """log(x / (1 - x)) of the x below which a share `lower` of the beta distribution (a, b) lies.

    Newton's method on the logarithm of the distribution function over the logit of x. That function is increasing and
    concave, as the density of the logit is log-concave, so a tangent's root never lies beyond the function's:
    wherever it starts, the second and all later steps approach from the left and cannot overshoot.

    Args:
        lower: in (0, 0.5]. For more, use the other tail, `-beta_logit(1 - share, b, a)`, which keeps its digits.
        a: above 0, at most about 1e9.
        b: likewise.

    >>> round(beta_logit(0.25, 1, 1), 9) == round(math.log(0.25 / 0.75), 9)
    True
    """
    log_target, scale = math.log(lower), log_beta(a, b)
    logit = math.log(a) - math.log(b)
    # Convergence is quadratic: after a step of 1e-7 of the spread the error is below 1e-14 of it.
    close = 1e-7 * min(1.0, math.sqrt(1 / a + 1 / b))
    for _ in range(_NEWTON_STEPS):
        reached, slope = _log_below(logit, a, b, scale)
        step = (log_target - reached) / slope
        logit += step
        if abs(step) <= close:
            break
    return logit


def _log_below(logit: float, a: float, b: float, scale: float) -> tuple[float, float]:
    """The logarithm of P(X <= x) and its slope over the logit of x; `scale` is log B(a, b)."""
    log_x, log_y = log_shares(logit)
    front = a * log_x + b * log_y - scale
    x, y = math.exp(log_x), math.exp(log_y)
    if _lies_low(a, b, x, y):
        below = _mills(a, b, x, y)
        return front + math.log(below), 1 / below
    above = math.exp(front) * _mills(b, a, y, x)
    return math.log1p(-above), math.exp(front) / (1 - above)


def _lies_low(a: float, b: float, x: float, y: float) -> bool:
    """Whether to compute P(X <= x) and not the tail above x: its continued fraction is the one that converges."""
    if a < 1:
        return x < (a + 1) / (a + b + 2)
    if b < 1:
        return y >= (b + 1) / (a + b + 2)
    return a * y >= b * x


def _mills(a: float, b: float, x: float, y: float) -> float:
    """The value of B(a, b) I_x(a, b) / (x^a y^b), where y = 1 - x."""
    return _fraction_of_small(a, b, x) / a if a < 1 else _fraction(a, b, x, y)


def log_shares(logit: float) -> tuple[float, float]:
    """The logarithms of x and of 1 - x where log(x / (1 - x)) = `logit`."""
    if logit < 0:
        log_y = -math.log1p(math.exp(logit))
        return logit + log_y, log_y
    log_x = -math.log1p(math.exp(-logit))
    return log_x, log_x - logit


def _fraction_of_small(a: float, b: float, x: float) -> float:
    """Continued fraction of a B(a, b) I_x(a, b) / (x^a (1 - x)^b), for a < 1 and x < (a + 1) / (a + b + 2).

    Source: Abramowitz and Stegun 1964, 26.5.8, evaluated after Lentz. For x close to 1, which needs a large a, its
    terms cancel: there `_fraction` is used.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            value *= c * d
        if abs(value - before) <= _CLOSE * abs(value):
            break
    return value


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Continued fraction of B(a, b) I_x(a, b) / (x^a y^b) for a >= 1, x at most the mean a / (a + b), y = 1 - x.

    A few dozen terms, at worst about the root of the larger parameter.

    Source: A. R. DiDonato and A. H. Morris, ACM Transactions on Mathematical Software 18, 1992, BFRAC.
    """
    # a - (a + b) x, from the smaller of x and y as the larger one is rounded.
    start = 1 + (a - (a + b) * x if x <= y else (a + b) * y - b)
    first = 1 + 1 / a
    value = first / start
    # Numerators and denominators of two successive fractions, divided by the last denominator.
    numerator_before, denominator_before = 0.0, value
    p, s = 1.0, a + 1
    for n in range(1, _TERMS):
        w = n * (b - n) * x
        alpha = p * (p + b / a) * (a / s) ** 2 * w * x
        e = (1 + n / a) / (first + 2 * n / a)
        beta = n + w / s + e * (start + n * (1 + y))
        p, s = 1 + n / a, s + 2
        numerator = alpha * numerator_before + beta * value
        denominator = alpha * denominator_before + beta
        numerator_before, denominator_before = value / denominator, 1 / denominator
        before, value = value, numerator / denominator
        if abs(value - before) <= _CLOSE * abs(value):
            break
    return value
