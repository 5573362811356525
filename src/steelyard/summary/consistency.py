"""How far a judge agrees with itself: over a run, from the repeats of each of its verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from statistics import fmean

from steelyard.types import Json


@dataclass(frozen=True, slots=True)
class Consistency:
    """What a score's repeats say of its judge.

    Args:
        n: scores of which two or more repeats were read.
        sd: mean of their standard deviations (n - 1 in the denominator), in the score's unit.
        flip_rate: mean share of a score's repeats that differ from its most frequent verdict, in [0, 1].
    """

    n: int
    sd: float
    flip_rate: float

    @classmethod
    def of(cls, repeats: Iterable[tuple[float, float]]) -> Consistency | None:
        """The mean of (standard deviation, flip rate) of several scores; None of no score.

        >>> Consistency.of([(0.0, 0.0), (1.0, 0.5)])
        Consistency(n=2, sd=0.5, flip_rate=0.25)
        """
        found = list(repeats)
        if not found:
            return None
        return cls(len(found), fmean(sd for sd, _ in found), fmean(flip for _, flip in found))

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}
