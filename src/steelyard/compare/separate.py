"""Two rates over samples that nobody shares: what may be said of them, which is less than of pairs."""

from __future__ import annotations

import math
from typing import Final

from steelyard.stats.intervals import Interval
from steelyard.stats.power import detectable_rates, samples_for_rates
from steelyard.summary import ScoreSummary

_POWER: Final = 0.8


def difference_of_rates(first: ScoreSummary, second: ScoreSummary) -> Interval | None:
    """The 95 % interval of second - first, by Newcombe's method for two separate samples; None without intervals.

        low = d - sqrt((p2 - l2)^2 + (u1 - p1)^2),    high = d + sqrt((u2 - p2)^2 + (p1 - l1)^2)

    from the limits that stand beside the rates, Wilson's, by cluster where samples are.

    Source: R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
    Medicine 17, 1998, method 10.
    """
    before, after = first.headline, second.headline
    if before.value is None or after.value is None or before.interval is None or after.interval is None:
        return None
    d = after.value - before.value
    below = math.hypot(after.value - after.interval.low, before.interval.high - before.value)
    above = math.hypot(after.interval.high - after.value, before.value - before.interval.low)
    return Interval(max(-1.0, d - below), min(1.0, d + above))


def separate_sentence(first: ScoreSummary, second: ScoreSummary, names: tuple[str, str]) -> str:
    """What two rates over different samples say, with the numbers; "" where they are no rates.

    Args:
        first: of the baseline.
        second: of the other run.
        names: of both.
    """
    if not (first.binary and second.binary):
        return ""
    interval = difference_of_rates(first, second)
    before, after = first.headline, second.headline
    if interval is None or before.value is None or after.value is None:
        return ""
    rates = f"{names[1]} solves {_count(second)}, {names[0]} {_count(first)}"
    limits = f"95 % interval of the difference {100 * interval.low:+.1f} to {100 * interval.high:+.1f} points"
    if interval.low > 0 or interval.high < 0:
        return (
            f" As separate sets, {rates} ({limits}): more than chance, but the two were asked other questions, and "
            "these may be what differs."
        )
    facts = f"{rates} ({limits}{_test(first, second)})"
    return f" As separate sets they show no evidence of a difference: {facts}.{_power(first, second)}"


def _count(score: ScoreSummary) -> str:
    mean = score.headline
    return f"{round((mean.value or 0) * mean.n)} of {mean.n}"


def _test(first: ScoreSummary, second: ScoreSummary) -> str:
    """The pooled z test of two proportions, where every sample stands for itself."""
    if first.note or second.note:
        return ""
    one, two = first.headline, second.headline
    pooled = ((one.value or 0) * one.n + (two.value or 0) * two.n) / (one.n + two.n)
    error = math.sqrt(pooled * (1 - pooled) * (1 / one.n + 1 / two.n))
    if not error:
        return ""
    z = ((two.value or 0) - (one.value or 0)) / error
    return f"; z = {z:.2f}, p = {math.erfc(abs(z) / math.sqrt(2)):.2g}"


def _power(first: ScoreSummary, second: ScoreSummary) -> str:
    if first.note or second.note:
        return ""
    low, high = sorted((first.headline.value or 0.0, second.headline.value or 0.0))
    detectable = detectable_rates(min(first.headline.n, second.headline.n), low, power=_POWER)
    if detectable is None or high - low < 5e-4:
        return ""
    needed = samples_for_rates(low, high, power=_POWER)
    return (
        f" Separate sets like these show a difference of {100 * detectable:.1f} points in 80 % of cases; "
        f"{100 * (high - low):.1f} points, as seen here, would take about {needed:,} samples each."
    )
