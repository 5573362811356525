"""The mean of a score over the records so far: from sums that are kept while a run runs, without reading its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.scores.score_infos import over_of, range_of
from steelyard.types import Outcome, ScoreInfo

_UNIT = (0.0, 1.0)


@dataclass(slots=True)
class RunningScore:
    """Counts and the sum of one score's values; no interval, as looking at it repeatedly would invalidate it.

    Args:
        scored: records with a value, and so on for `not_applicable`, `unparsed` and `refused`.
        off_unit: values outside [0, 1].
        total: sum of the values.
    """

    scored: int = 0
    not_applicable: int = 0
    unparsed: int = 0
    refused: int = 0
    off_unit: int = 0
    total: float = 0.0

    def add(self, outcome: Outcome, value: float | None, times: int = 1) -> None:
        """Count a score `times` times; -1 takes it away again."""
        setattr(self, outcome, getattr(self, outcome) + times)
        if value is not None:
            self.off_unit += times * (not 0 <= value <= 1)
            self.total += times * value

    def mean(self, info: ScoreInfo | None) -> float | None:
        """The headline of a summary over the same records; None where no record counts.

        >>> running = RunningScore(scored=2, unparsed=2, total=2.0)
        >>> running.mean(None), running.mean(ScoreInfo("rating", (1.0, 5.0)))
        (0.5, 1.0)
        """
        n = self.scored + (self.unparsed + self.refused if over_of(info) == "all" else 0)
        return self.total / n if n else None

    def is_share(self, info: ScoreInfo | None) -> bool:
        """Whether the mean is shown in percent."""
        unbounded = info is not None and info.unbounded
        return range_of(info) == _UNIT and not unbounded and not self.off_unit


def headline_score(manifest: Mapping[str, Any]) -> str:
    """The score that headlines of a run show; "" where its scorers announce none.

    >>> headline_score({"scores": ["length", "right"], "primary": "right"}), headline_score({"scores": []})
    ('right', '')
    """
    return manifest.get("primary") or next(filter(None, manifest.get("scores") or ()), "")
