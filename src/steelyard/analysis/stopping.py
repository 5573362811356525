"""The outcome of a stopping rule, and the samples behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.numbers import level_text
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval

Question = Literal["full", "population"]
DecidedSide = Literal["above", "below", "equal", ""]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The outcome of a rule that may end a run before all samples were asked.

    Args:
        question: `full`: what would the whole set say? `population`: does it hold beyond this set?
        score: whose mean is decided on.
        threshold: what the mean is compared with; 0 for a difference.
        level: the rule is right with this probability, whenever it stops.
        against: the other target, where a difference between two is decided; "" where one mean is.
        planned: samples of the whole set.
        used: samples behind the decision, the first in the drawn order.
        beyond: samples that were in flight when it was decided: stored, and not used.
        side: where the mean lies; "" where it was not decided.
        interval: the confidence sequence after `used` samples: valid at any time, whatever the reason to stop.
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
    side: DecidedSide
    interval: Interval
    path: tuple[tuple[int, float, float, float], ...] = ()

    @property
    def saved(self) -> int:
        """Samples that were not run."""
        return max(0, self.planned - self.used - self.beyond)

    def undone(self, scale: Sequence[float]) -> Self:
        """The same samples without the decision, for scores that changed since (`rescore`).

        Args:
            scale: lowest and highest value of the score.
        """
        low, high = scale
        widest = Interval(low - high, high - low) if self.against else Interval(low, high)
        return replace(self, side="", interval=widest, path=())

    @property
    def sentence(self) -> str:
        """What was decided, on how many samples, and how often such a decision is wrong.

        >>> Stopping("full", "solve_rate", 0.8, 0.95, "", 805, 212, 0, "above", Interval(0.81, 0.93)).sentence
        'solve_rate is above 0.8 over the full set (stopped after 212 of 805 samples, 593 not asked; 95 % confidence \
sequence 0.81 to 0.93). Stopping early gives another answer than all samples would in at most 5 % of runs.'
        """
        where = "over the full set" if self.question == "full" else "beyond this set"
        than = f"that of {self.against}" if self.against else f"{self.threshold:g}"
        claim = {
            "above": f"{self.score} is above {than}",
            "below": f"{self.score} is below {than}",
            "equal": f"{self.score} is exactly {than}",
            "": f"{self.score} cannot be distinguished from {than}",
        }[self.side]
        low, high = self.interval
        sequence = f"{level_text(self.level)} confidence sequence"
        subject = " of the difference" if self.against else ""
        return f"{claim} {where} ({self.extent}; {sequence}{subject} {low:.3g} to {high:.3g}). {self.promise}"

    @property
    def extent(self) -> str:
        """How many samples it took, and how many were not asked."""
        if self.used >= self.planned:
            return f"all {self.planned:,} samples were used"
        beyond = f", {self.beyond:,} more were in flight and are not used" if self.beyond else ""
        return f"stopped after {self.used:,} of {self.planned:,} samples{beyond}, {self.saved:,} not asked"

    @property
    def promise(self) -> str:
        """How often such a decision is wrong."""
        low, high = self.interval
        if self.question == "full" and self.side and self.used >= self.planned and high - low < 1e-9:
            return "This holds for the whole set and says nothing beyond it."
        wrong = f"in at most {100 * (1 - self.level):.3g} % of runs"
        if self.question == "full":
            return f"Stopping early gives another answer than all samples would {wrong}."
        return f"This rule makes a false claim {wrong}, whenever it stops."

    def json_fields(self) -> dict[str, Any]:
        """With the samples that were not asked."""
        return field_values(self) | {"saved": self.saved}

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        known = {field.name: plain[field.name] for field in fields(cls)}
        return cls(**known | {"interval": Interval(*plain["interval"]), "path": tuple(map(tuple, plain["path"]))})


@dataclass(frozen=True, slots=True)
class Used:
    """The samples behind a stopping rule's decision: a bit for each index in the dataset."""

    bits: bytes

    def __contains__(self, no: object) -> bool:
        return isinstance(no, int) and no // 8 < len(self.bits) and bool(self.bits[no // 8] >> no % 8 & 1)

    def among(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Which of these indices are in it.

        >>> import numpy as np
        >>> Used.of([0, 9]).among(np.array([0, 8, 9, 900])).tolist()
        [True, False, True, False]
        """
        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), bitorder="little").astype(bool)
        inside = positions < len(bits)
        among = np.zeros(len(positions), dtype=bool)
        among[inside] = bits[positions[inside]]
        return among

    @classmethod
    def of(cls, positions: Iterable[int]) -> Used:
        """The set of these indices.

        >>> 9 in Used.of([0, 9]), 8 in Used.of([0, 9]), 900 in Used.of([0, 9])
        (True, False, False)
        """
        bits = bytearray()
        for index in positions:
            if index // 8 >= len(bits):
                bits.extend(bytes(index // 8 - len(bits) + 1))
            bits[index // 8] |= 1 << index % 8
        return cls(bytes(bits))


Stopped = tuple[Stopping, Used | None]
"""A decision and the samples behind it; None is all."""
