"""The result of reading a judge's reply, and the scale on which a rating is requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["scored", "refused", "unparsed"]
Kind = Literal["", "empty", "truncated", "out_of_scale", "ambiguous", "none"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale that a judge was asked to rate on.

    Args:
        low: the lowest value that is allowed.
        high: the highest; values between the whole numbers are allowed as well.

    Raises:
        ValueError: `low` is not below `high`, or one of them is not a finite number.

    >>> 2.5 in Scale(1, 5), 0 in Scale(1, 5)
    (True, False)
    """

    low: float = 1
    high: float = 5

    def __post_init__(self) -> None:
        if not -float("inf") < self.low < self.high < float("inf"):
            raise ValueError(f"a scale runs from a lower to a higher number, not from {self.low} to {self.high}")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reading of one reply of a judge: outcome, value, label and reason.

    Args:
        outcome: `refused` where the judge declined; `unparsed` where the reply holds no verdict that can be read.
        value: the rating, or 1 and 0 for yes and no; None where nothing was read.
        label: the verdict as a word; "" where it is a number or nothing.
        kind: why it is unparsed: `empty`, `truncated`, `out_of_scale`, `ambiguous` or `none`; "" otherwise.
        span: the range of the verdict in the original reply, as (start, end); None where nothing was read.
        form: the name of the form in which it was written; "" where nothing was read.
        reason: the reply's text without the verdict: what the judge gives as its reasoning.
        asked_for: in which form the reply was asked for, where a JSON schema was to be sent; "" elsewhere.
        probabilities: of each verdict, where the endpoint gave them in place of a text.
    """

    outcome: Outcome
    value: float | None = None
    label: str = ""
    kind: Kind = ""
    span: tuple[int, int] | None = None
    form: str = ""
    reason: str = ""
    asked_for: str = ""
    probabilities: Mapping[str, float] = field(default_factory=dict)
