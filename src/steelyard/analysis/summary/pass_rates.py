"""pass@k and pass^k of a run whose samples are asked several times: of its headline score, where that passes or fails.

A record passes where its score meets the threshold that the scorer declares, or is 1 where all values are 0 or 1. A
reply without a verdict counts as in the score's headline mean: as not passed, or left out. A sample with fewer than k
records that count is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.intervals import Mean
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_infos import over_of, range_of
from steelyard.analysis.scores.score_summary import ANSWERED, OVERALL
from steelyard.stats.pass_k import mean_pass, pass_at_k, pass_hat_k
from steelyard.types import ScoreInfo

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class PassRate:
    """pass@k and pass^k of one score; `n` of both means is the number of samples with at least k records that count.

    Args:
        score: its name.
        k: records of a sample that are drawn.
        at_least_one: pass@k, the chance that at least one of k records passes.
        each: pass^k, the chance that each of k records passes.
    """

    score: str
    k: int
    at_least_one: Mean
    each: Mean


def pass_rates(data: RunData, ks: Iterable[int] = ()) -> tuple[PassRate, ...]:
    """pass@k and pass^k of a run's headline score, by rising k.

    Empty where samples are asked once, where the score neither passes nor fails, and where a rule stopped the run.

    Args:
        data: the run.
        ks: which k; by default 1, `options.pass_k` where that is set, and the number of repeats.
    """
    options = data.manifest.get("options") or {}
    repeats = options.get("repeats", 1)
    if repeats < 2 or data.stopped_early or not data.primary:
        return ()
    counts = _counts(data, data.primary)
    chosen = sorted({*ks} or {1, repeats, options.get("pass_k") or 1})
    return () if counts is None else tuple(_rate(data.primary, k, *counts) for k in chosen)


def _counts(data: RunData, score: str) -> tuple[Array, Array, Array] | None:
    """Per sample the records that count, those that pass, and a number of its cluster; None without pass or fail."""
    columns, info = data.scores, data.score_infos.get(score)
    rows = columns.rows_of(score)
    outcome, values, samples = columns.outcome[rows], columns.value[rows], columns.sample[rows]
    passed = _passed(values, info)
    if passed is None:
        return None
    counted = np.isin(outcome, OVERALL if over_of(info) == "all" else ANSWERED)
    size = len(columns.samples)
    clusters = np.arange(size)
    of_row = columns.clusters.codes[rows]
    shared = ~columns.clusters.are("")[rows]
    clusters[samples[shared]] = size + of_row[shared]
    n = np.bincount(samples[counted], minlength=size)
    return n, np.bincount(samples[counted & passed], minlength=size), clusters


def _passed(values: Array, info: ScoreInfo | None) -> Array | None:
    """Which values pass; None where the score declares no threshold and is not a rate."""
    known = ~np.isnan(values)
    if info is not None and info.threshold is not None:
        meets = values <= info.threshold if info.lower_is_better else values >= info.threshold
        return np.asarray(known & meets)
    is_rate = range_of(info) == (0.0, 1.0) and not (info is not None and info.unbounded)
    binary = bool(np.isin(values[known], (0.0, 1.0)).all())
    if not (is_rate and binary):
        return None
    return np.asarray(values == (0.0 if info is not None and info.lower_is_better else 1.0))


def _rate(score: str, k: int, n: Array, passed: Array, clusters: Array) -> PassRate:
    asked = n >= k
    # Few different counts: each chance is computed once.
    pairs, of_sample = np.unique(np.stack([n[asked], passed[asked]]), axis=1, return_inverse=True)
    units = clusters[asked]

    def mean(chance: Callable[[int, int, int], float]) -> Mean:
        if not len(units):
            return Mean(None, None, 0)
        chances = np.array([chance(attempts, passes, k) for attempts, passes in pairs.T.tolist()])[of_sample.ravel()]
        return Mean(*mean_pass(chances, clusters=None if is_alone else units), len(units))

    is_alone = bool((units < len(n)).all())
    return PassRate(score, k, mean(pass_at_k), mean(pass_hat_k))
