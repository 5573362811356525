"""The agreement of raters of one thing: their means, each pair's coefficients, and alpha over all. Values only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from steelyard.analysis.intervals import Mean
from steelyard.types import Json

if TYPE_CHECKING:
    from steelyard.stats.agreement import RatingScale
    from steelyard.stats.rating_bootstrap import Coefficient

RaterKind = Literal["score", "label"]

FEWEST: Final = 30
"""Fewest records with two labels for a coefficient: with fewer, its interval would span nearly everything."""


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater of something.

    Args:
        name: the score's name, or the author of the labels.
        kind: `score` or `label`.
        mean: of the ratings, with its interval and standard error; None where they are not numbers.
        n: ratings.
    """

    name: str
    kind: RaterKind
    mean: Mean | None
    n: int

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        return {"name": self.name, "kind": self.kind, "n": self.n, "mean": self.mean.to_json() if self.mean else None}


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters of the same thing.

    Args:
        first: a rater's name; likewise `second`.
        n: records that both rated.
        one_only: records that one of them rated and the other did not.
        equal: share of these `n` with equal ratings; None where there are none.
        coefficients: by scale. Nominal: kappa. Ordinal: kappa with quadratic weights, Spearman, Pearson. Of
            any other numbers: Pearson, Spearman.
    """

    first: str
    second: str
    n: int
    one_only: int
    equal: float | None
    coefficients: tuple[Coefficient, ...]

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"coefficients": [coefficient_json(coefficient) for coefficient in self.coefficients]}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of all raters of one score.

    Args:
        rated: what they rate: the name of a score.
        scale: `nominal` (0 or 1, or texts), `ordinal` (few whole or half numbers), `interval` (any other numbers).
        raters: the scores first, then people.
        pairs: each with each, in this order.
        alpha: Krippendorff's, over all raters and every record with two ratings or more.
        share: every rating is a number in [0, 1], so that means are shown in percent.
    """

    rated: str
    scale: RatingScale
    raters: tuple[Rater, ...]
    pairs: tuple[RaterPair, ...]
    alpha: Coefficient
    share: bool

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        return {
            "rated": self.rated,
            "scale": self.scale,
            "share": self.share,
            "raters": [rater.to_json() for rater in self.raters],
            "pairs": [pair.to_json() for pair in self.pairs],
            "alpha": coefficient_json(self.alpha),
        }

    def __str__(self) -> str:
        pairs = (f"  {pair.first}, {pair.second}: {'; '.join(map(str, pair.coefficients))}" for pair in self.pairs)
        return "\n".join([f"{self.rated} ({self.scale}): {self.alpha}", *pairs])


def coefficient_json(found: Coefficient) -> dict[str, Json]:
    """Plain JSON, every field by its name; the interval is a list of two numbers."""
    plain = {field.name: getattr(found, field.name) for field in fields(found)}
    return plain | {"interval": list(found.interval) if found.interval else None}
