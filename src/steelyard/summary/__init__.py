"""Scores -> means, intervals and counts: what every table, page and gate shows of a run. Pure; knows no store.

A rate over samples that were asked once gets Wilson's interval. Where rows depend on each other (repeats of a
sample, samples of one `cluster`), the interval is made by cluster; any other score gets Student's t interval.
"""

from __future__ import annotations

from steelyard.summary.columns import summarize
from steelyard.summary.values import (
    NO_GROUP,
    Mean,
    Over,
    RowOutcome,
    RunState,
    RunSummary,
    ScoreRow,
    ScoreSummary,
)

__all__ = [
    "NO_GROUP",
    "Mean",
    "Over",
    "RowOutcome",
    "RunState",
    "RunSummary",
    "ScoreRow",
    "ScoreSummary",
    "summarize",
]
