"""Several answers to one sample: pass@k and pass^k of repeated samples, and the single turns of conversations.

A record passes where its score meets the threshold that the scorer declares, or is 1 where all values are 0 or 1. A
reply without a verdict counts as in the score's headline mean: as not passed, or left out. A sample with fewer than k
records that count is left out.

The turns of a conversation depend on each other, so a conversation is a cluster, and so are a sample's own cluster and
all repeats of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.intervals import USUAL, Intervals, Mean
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import RowOutcome, ScoreRow
from steelyard.analysis.scores.score_infos import over_of, range_of
from steelyard.analysis.scores.score_summary import ANSWERED, OVERALL, summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP, TurnSummary
from steelyard.prompts.trajectory import TURNS
from steelyard.stats.arrays import Array
from steelyard.stats.pass_k import mean_pass, pass_at_k, pass_hat_k
from steelyard.types import OUTCOMES, ScoreInfo


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


def turn_rows(rows: Iterable[ScoreRow], score: str) -> Iterator[ScoreRow]:
    """A row for each turn: its group is the turn's number, its cluster the conversation."""
    for row in rows:
        cluster = f"cluster {row.cluster}" if row.cluster else f"conversation {row.sample}"
        turns = list(_turns_in(row.detail))
        for no, (outcome, value) in enumerate(turns, start=1):
            yield ScoreRow(row.sample, f"turn {no}", cluster, row.repeat, score, outcome, value)
        if not turns:
            known = row.outcome in {"not_applicable", "refused", "unparsed"}
            yield ScoreRow(row.sample, "", cluster, row.repeat, score, row.outcome if known else "error", None)


def _turns_in(detail: Mapping[str, Any]) -> Iterator[tuple[RowOutcome, float | None]]:
    """Outcome and value of each turn, as `PerTurn` writes them; nothing where the detail holds no such list."""
    turns = detail.get(TURNS)
    for turn in turns if isinstance(turns, list) else ():
        outcome, value = (turn.get("outcome"), turn.get("value")) if isinstance(turn, Mapping) else (None, None)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        known: RowOutcome = (
            outcome if outcome in OUTCOMES and (outcome == "scored") == (number is not None) else "error"
        )
        yield known, number if known == "scored" else None


def turn_summary(rows: Iterable[ScoreRow], info: ScoreInfo, intervals: Intervals = USUAL) -> TurnSummary | None:
    """One score over all turns of a run; None where no record has a turn.

    >>> turns = [{"outcome": "scored", "value": 1.0}, {"outcome": "scored", "value": 0.0}]
    >>> rows = [ScoreRow(name, "", "", 0, "right", "scored", 0.5, {"turns": turns}) for name in "ab"]
    >>> turn_summary(rows, ScoreInfo("right_per_turn", (0, 1))).score.answered.n
    4
    """
    rows_of_turns = list(turn_rows(rows, info.name))
    if not any(row.group for row in rows_of_turns):
        return None
    scores, groups = summarize(rows_of_turns, infos={info.name: info}, intervals=intervals)
    by_turn = [group for group in groups.get(info.name, ()) if group.group != NO_GROUP]
    conversations = len({(row.sample, row.repeat) for row in rows_of_turns if row.group})
    return TurnSummary(scores[0], conversations, tuple(sorted(by_turn, key=lambda group: int(group.group[5:]))))
