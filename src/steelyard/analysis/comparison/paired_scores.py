"""One score over the samples of two aligned runs: paired values, replies without a value, a rule's decision on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from steelyard.analysis.comparison.alignment import AlignedRuns
from steelyard.analysis.comparison.comparison_values import Methods, MissingVerdicts, PairedDifference
from steelyard.analysis.comparison.differences import PairedValues, ScoreMeaning
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.scores.score_infos import parts_right_from_wrong, score_infos
from steelyard.analysis.scores.score_summary import UNIT
from steelyard.analysis.scores.score_summary_values import Over
from steelyard.analysis.stopping import Stopping
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval

_MAJORITY: Final = 0.5


def score_meaning(name: str, runs: Sequence[RunBySample]) -> ScoreMeaning:
    """What a score of some runs means; its headline is that of the first run that has it."""
    scores = [score for run in runs if (score := run.summary.score(name)) is not None]
    infos = [info for run in runs if (info := score_infos(run.run.manifest).get(name)) is not None]
    scale = next((score.scale for score in scores if score.scale), None)
    threshold = next((info.threshold for info in infos if info.threshold is not None), None)
    lower = any(info.lower_is_better for info in infos)
    weighted = any(info.weighted for info in infos)
    scaled = scale is not None or any(info.unbounded for info in infos)
    ends = scale or (UNIT if not weighted and all(score.is_share for score in scores) else None)
    over = scores[0].over if scores else "all"
    meaning = ScoreMeaning(scaled, lower, threshold, share=weighted, name=name, over=over, ends=ends)
    if all(score.binary for score in scores) and parts_right_from_wrong(threshold, lower_is_better=lower):
        # A sample passes where most of its repeats do, whatever the threshold of one repeat, and fails where most fail.
        meaning = meaning._replace(threshold=_MAJORITY, undecided_at=_MAJORITY)
    return meaning


def paired_values(runs: AlignedRuns, score: str, over: Over) -> PairedValues:
    """The samples with a value on both sides; the group is the baseline's, the cluster as `clusters_of` says.

    Values that weigh differently are scaled so that their plain mean over these samples is the weighted one.
    """
    before = runs.baseline.sums_of(score).means(over)[runs.first]
    after = runs.other.sums_of(score).means(over)[runs.second]
    indices = np.flatnonzero(~(np.isnan(before) | np.isnan(after)))
    before, after, clusters = before[indices], after[indices], clusters_of(runs)
    weights = runs.baseline.sums_of(score).weights
    if weights is not None and (of_pairs := weights[runs.first][indices]).any():
        before, after = (side * of_pairs / of_pairs.mean() for side in (before, after))
    return PairedValues(indices, before, after, None if clusters is None else clusters[indices])


def clusters_of(runs: AlignedRuns) -> Array | None:
    """A number per aligned sample, equal within a cluster; None where no sample names one.

    They are the baseline's, or the other run's if the baseline has none: the dataset may have gained them since.
    """
    if has_clusters(runs.baseline):
        return runs.baseline.units()[runs.first]
    return runs.other.units()[runs.second] if has_clusters(runs.other) else None


def has_clusters(run: RunBySample) -> bool:
    """Whether any sample of a run names a cluster."""
    return not run.clusters.are("").all()


def n_differently_clustered(runs: AlignedRuns) -> int:
    """How many aligned samples are in a cluster that begins with another sample in one run than in the other.

    What clusters are called does not matter, and one with a single sample is the same as none.
    """
    if not has_clusters(runs.baseline) and not has_clusters(runs.other):
        return 0
    firsts = []
    for run, indices in ((runs.baseline, runs.first), (runs.other, runs.second)):
        _, first, cluster = np.unique(run.units()[indices], return_index=True, return_inverse=True)
        firsts.append(first[cluster])
    return int((firsts[0] != firsts[1]).sum())


@dataclass(frozen=True, slots=True)
class MissingBySample:
    """Replies without a known value, for each aligned sample for which both runs have replies.

    Args:
        indices: of these samples in the alignment.
        sides: missing verdicts of the baseline and of the other run, per sample.
        replies: replies of both runs, per sample.
        low: the least difference other - baseline that the missing verdicts leave possible, per sample; likewise
            `high`. None where the score's range is not known.
    """

    indices: Array
    sides: tuple[Array, Array]
    replies: Array
    low: Array | None
    high: Array | None

    @classmethod
    def of(cls, runs: AlignedRuns, score: ScoreMeaning) -> MissingBySample:
        """The missing verdicts of one score of two aligned runs."""
        sums = [run.sums_of(score.name) for run in (runs.baseline, runs.other)]
        rows = (runs.first, runs.second)
        read = [side.read[indices_of_side] for side, indices_of_side in zip(sums, rows, strict=True)]
        indices = np.flatnonzero((read[0] > 0) & (read[1] > 0))
        counts = [side[indices] for side in read]
        missing, total = (
            [values[indices_of_side][indices] for values, indices_of_side in zip(columns, rows, strict=True)]
            for columns in ([side.missing(score.over) for side in sums], [side.total for side in sums])
        )
        sides = (missing[0], missing[1])
        if score.ends is None:
            return cls(indices, sides, counts[0] + counts[1], None, None)
        # Each missing verdict at one end of the scale for the one run and at the other end for the other run.
        (low_before, high_before), (low_after, high_after) = (
            [(total[side] + missing[side] * end) / counts[side] for end in score.ends] for side in (0, 1)
        )
        return cls(indices, sides, counts[0] + counts[1], low_after - high_before, high_after - low_before)

    def among(self, chosen: Array | None = None) -> MissingVerdicts | None:
        """The missing verdicts of some samples of the alignment, true or false for each; None where none is missing.

        Source of the bounds: C. F. Manski, "Partial Identification of Probability Distributions", 2003, chapter 1:
        the mean of a bounded variable where some outcomes are missing, whatever the reason.
        """
        at = np.ones(len(self.indices), dtype=bool) if chosen is None else chosen[self.indices]
        baseline, other = (int(side[at].sum()) for side in self.sides)
        if not baseline + other:
            return None
        bounds = None
        if self.low is not None and self.high is not None:
            bounds = Interval(float(self.low[at].mean()), float(self.high[at].mean()))
        return MissingVerdicts(baseline, other, int(self.replies[at].sum()), bounds)


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
        methods=Methods(SEQUENCE, BETTING),
        stopped=stopping,
        standard_error=None,
    )
