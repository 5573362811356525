"""Confidence intervals for one rate or one mean; pure functions, without numpy until clusters ask for it."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """A closed range `low <= high`; equal to the plain tuple `(low, high)`."""

    low: float
    high: float

    def rounded(self, digits: int) -> tuple[float, float]:
        """Both limits rounded to `digits` decimals, as a plain tuple for display and tests.

        >>> Interval(0.0945, 0.9055).rounded(2)
        (0.09, 0.91)
        """
        return round(self.low, digits), round(self.high, digits)
