"""A mean and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.stats.intervals import Interval
from steelyard.types import Json


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `n` rows with its 95 % interval.

    `value` is None when n is 0; `interval` is None when the spread is unknown (a score that is not a rate, with
    fewer than two independent samples).
    """

    value: float | None
    interval: Interval | None
    n: int

    def to_json(self) -> dict[str, Json]:
        """Plain JSON; the interval is a list of two numbers."""
        return {"value": self.value, "interval": list(self.interval) if self.interval else None, "n": self.n}
