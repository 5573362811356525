"""The agreement of raters of one thing: their means, each pair's coefficients, and alpha over all. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from steelyard.analysis.intervals import Mean

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

    def __str__(self) -> str:
        pairs = (f"  {pair.first}, {pair.second}: {'; '.join(map(str, pair.coefficients))}" for pair in self.pairs)
        return "\n".join([f"{self.rated} ({self.scale}): {self.alpha}", *pairs])
