"""Scores -> means, intervals and counts: what every table, page and gate shows of a run. Pure; knows no store.

A rate over samples that were asked once gets Wilson's interval. Where rows depend on each other (repeats of a
sample, samples of one `cluster`), the interval is made by cluster; any other score gets Student's t interval, clipped
to its scale.
"""

from __future__ import annotations

from steelyard.summary.answered import NOT_KEPT, QUEUE_KINDS, Answered, QueueKind, queue_kind
from steelyard.summary.columns import summarize
from steelyard.summary.consistency import Consistency
from steelyard.summary.crosses import Cross, cross
from steelyard.summary.exam import Exam, LetterBias, LetterRecall, Repeats, Rotations, beyond_chance
from steelyard.summary.examined import examined
from steelyard.summary.histograms import UNIT, Histogram, histogram
from steelyard.summary.intervals import Intervals
from steelyard.summary.labelled import Labelled
from steelyard.summary.means import Mean
from steelyard.summary.rows import JudgedRow, RowOutcome, ScoreRow
from steelyard.summary.score_columns import CODES, ROW_OUTCOMES, ScoreColumns, Texts, by_appearance
from steelyard.summary.stages import StageCost
from steelyard.summary.stopped import as_stopped, exam_as_stopped
from steelyard.summary.stopping import Stopping
from steelyard.summary.values import (
    NO_GROUP,
    Over,
    RunState,
    RunSummary,
    ScoreSummary,
)

__all__ = [
    "CODES",
    "NOT_KEPT",
    "NO_GROUP",
    "QUEUE_KINDS",
    "ROW_OUTCOMES",
    "UNIT",
    "Answered",
    "Consistency",
    "Cross",
    "Exam",
    "Histogram",
    "Intervals",
    "JudgedRow",
    "Labelled",
    "LetterBias",
    "LetterRecall",
    "Mean",
    "Over",
    "QueueKind",
    "Repeats",
    "Rotations",
    "RowOutcome",
    "RunState",
    "RunSummary",
    "ScoreColumns",
    "ScoreRow",
    "ScoreSummary",
    "StageCost",
    "Stopping",
    "Texts",
    "as_stopped",
    "beyond_chance",
    "by_appearance",
    "cross",
    "exam_as_stopped",
    "examined",
    "histogram",
    "queue_kind",
    "summarize",
]
