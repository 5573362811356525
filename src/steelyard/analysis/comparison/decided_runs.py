"""Comparisons of runs that a stopping rule ended: its decision holds, fixed-n intervals and tests do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from steelyard.analysis.comparison.comparison_values import PairedDifference
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.stopping import Stopping

SEQUENCE: Final = "confidence sequence"
BETTING: Final = "betting test"


def decision_on(baseline: RunBySample, other: RunBySample, score: str) -> Stopping | None:
    """The stopping rule's decision on the difference of these two runs; None where there was no such rule.

    It applies within one evaluation only: runs of the same target that were started at another time are other runs.
    """
    stopping = other.summary.stopping
    if stopping is None or stopping.score != score or stopping.against != baseline.run.target:
        return None
    evaluations = {side.run.evaluation for side in (baseline, other)}
    return stopping if len(evaluations) == 1 and None not in evaluations else None


def as_decided(difference: PairedDifference, stopping: Stopping) -> PairedDifference:
    """The difference with the confidence sequence for its interval, and without a p-value: none holds here."""
    return replace(
        difference,
        interval=stopping.interval,
        p=None,
        interval_method=SEQUENCE,
        test=BETTING,
        stopped=stopping,
        standard_error=None,
    )
