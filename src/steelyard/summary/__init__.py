"""Scores -> means, intervals and counts: what every table, page and gate shows of a run. Pure; knows no store.

A rate over samples that were asked once gets Wilson's interval. Where rows depend on each other (repeats of a
sample, samples of one `cluster`), the interval is made by cluster; any other score gets Student's t interval, clipped
to its scale.
"""

from __future__ import annotations

from steelyard.summary.columns import summarize
from steelyard.summary.consistency import Consistency
from steelyard.summary.crosses import Cross, CrossTally
from steelyard.summary.exam import Exam, LetterBias, LetterRecall, Repeats, Rotations, beyond_chance
from steelyard.summary.exam_rows import NOT_KEPT, QUEUE_KINDS, Answered, ExamTally, QueueKind, queue_kind
from steelyard.summary.examined import examined
from steelyard.summary.histograms import UNIT, Histogram, HistogramTally
from steelyard.summary.intervals import Intervals
from steelyard.summary.labelled import Labelled
from steelyard.summary.means import Mean
from steelyard.summary.rows import JudgedRow, RowOutcome, ScoreRow
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
    "NOT_KEPT",
    "NO_GROUP",
    "QUEUE_KINDS",
    "UNIT",
    "Answered",
    "Consistency",
    "Cross",
    "CrossTally",
    "Exam",
    "ExamTally",
    "Histogram",
    "HistogramTally",
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
    "ScoreRow",
    "ScoreSummary",
    "StageCost",
    "Stopping",
    "as_stopped",
    "beyond_chance",
    "exam_as_stopped",
    "examined",
    "queue_kind",
    "summarize",
]
