"""What people's verdicts on replies changed in a rate, where a page counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from steelyard.types import Json


@dataclass(frozen=True, slots=True)
class Labelled:
    """Verdicts that a summary counts in place of what was read.

    Args:
        score: the exam score that they are about.
        decided: author, or authors who agree, -> replies that they decided; most first.
        changed: of these, replies that count otherwise than what was read.
        conflicting: replies on which people disagree: they count as they were read.
        unseen: replies in the review queue on which nobody said anything.
        before: the headline without verdicts; likewise `after` with them.
    """

    score: str
    decided: Mapping[str, int]
    changed: int
    conflicting: int
    unseen: int
    before: float | None
    after: float | None

    @property
    def total(self) -> int:
        """Replies that people decided."""
        return sum(self.decided.values())

    @property
    def moved(self) -> float:
        """By how much the headline moved; 0 where there is none."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name, and `moved`."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {"decided": dict(self.decided), "moved": self.moved}
