"""What a stopping rule decided, and on how many samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from steelyard.stats.intervals import Interval
from steelyard.types import Json

Question = Literal["full", "population"]
Side = Literal["above", "below", "equal", ""]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The outcome of a rule that may end a run before all samples were asked.

    Args:
        question: `full`: what would the whole set say? `population`: does it hold beyond this set?
        score: whose mean is decided on.
        threshold: what the mean is held against; of a difference 0.
        level: the rule is right with this probability, whenever it stops.
        against: the other target, where a difference between two is decided; "" where one mean is.
        planned: samples of the whole set.
        used: samples that the decision rests on, the first in the drawn order.
        beyond: samples that were in flight when it was decided: stored, and not used.
        side: where the mean lies; "" where that could not be told.
        interval: the confidence sequence after `used` samples: it holds at every moment at once, however one stops.
        path: (samples, mean, low, high) at up to some two hundred moments, the last among them.
    """

    question: Question
    score: str
    threshold: float
    level: float
    against: str
    planned: int
    used: int
    beyond: int
    side: Side
    interval: Interval
    path: tuple[tuple[int, float, float, float], ...] = ()

    @property
    def saved(self) -> int:
        """Samples that were not asked."""
        return max(0, self.planned - self.used - self.beyond)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name, `saved` among them."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {
            "interval": list(self.interval),
            "path": [list(point) for point in self.path],
            "saved": self.saved,
        }

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        known = {one.name: plain[one.name] for one in fields(cls)}
        return cls(**known | {"interval": Interval(*plain["interval"]), "path": tuple(map(tuple, plain["path"]))})
