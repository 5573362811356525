"""Time, calls and tokens of a run's samples, from the few records that an answer needs; differences of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from steelyard.analysis.run_data import RecordColumns, RunBodies
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval
from steelyard.types import Reply

MOST_SAMPLES: Final = 2_000
"""Most samples whose costs are read, in a seeded draw: each needs its replies from the journal, and this many give a
quantile to within a few percent of its rank."""
_RESAMPLES: Final = 999
_AT_ONCE: Final = 100_000
"""Random numbers drawn at once: more need memory and are no faster."""


@dataclass(frozen=True, slots=True)
class CostDifference:
    """One cost figure of two runs over the same samples, with its difference.

    Args:
        measure: `latency` (seconds of the answered attempts, without queueing and retries), `seconds` (wall time of
            the record, where a target asked no model), `ttft` (seconds to the first token, where both streamed),
            `calls`, `input_tokens` or `output_tokens`, all per sample.
        statistic: `p50` or `p95` (the smallest value that so many percent of the samples do not exceed), or `mean`.
        n: samples.
        baseline: the baseline's figure; likewise `other`.
        difference: other - baseline.
        interval: of the difference, paired bootstrap by cluster; None for fewer than two clusters.
        estimated: some of the tokens were estimated.
    """

    measure: str
    statistic: str
    n: int
    baseline: float
    other: float
    difference: float
    interval: Interval | None
    estimated: bool = False


def cost_differences(
    before: Sequence[SampleCost],
    after: Sequence[SampleCost],
    *,
    clusters: Sequence[int],
    level: float,
    counted: bool = True,
) -> tuple[CostDifference, ...]:
    """Differences in time, calls and tokens; empty without samples, and without counts that are 0 for both.

    Latency is compared where both targets asked models for every sample, else wall time: latency excludes queueing
    and wall time includes it, so the two are not compared with each other.

    Args:
        before: the costs of some samples in the baseline.
        after: those of the same samples in the other run.
        clusters: a number per sample, equal for samples that are not independent.
        level: of the intervals.
        counted: whether the calls and tokens of both are known. Those of a target that calls models itself are not,
            and a 0 in their place would look like a saving.
    """
    if not before:
        return ()

    def sides(measure: str) -> tuple[Array, Array]:
        first, second = (np.asarray([getattr(cost, measure) for cost in side], dtype=float) for side in (before, after))
        return first, second

    draw, costs = _Resamples(clusters, level), [*before, *after]
    time = "latency" if all(side.latency is not None for side in costs) else "seconds"
    times = [time, "ttft"] if all(side.ttft is not None for side in costs) else [time]
    rows = [row for name in times for row in draw.quantiles(name, sides(name), (50, 95))]
    if counted and any(side.calls for side in costs):
        estimated = any(side.estimated for side in costs)
        rows.append(draw.means("calls", sides("calls"), estimated=False))
        tokens = ("input_tokens", "output_tokens")
        rows += [draw.means(name, sides(name), estimated=estimated) for name in tokens]
    # Rows of time are kept even at 0: which rows there are must not depend on the clock.
    return tuple(row for row in rows if row.statistic != "mean" or row.baseline or row.other)


def time_quantile(costs: Sequence[tuple[int, SampleCost]], rank: int) -> CostDifference | None:
    """A quantile of one run's latency, or of its wall time where it asked no model, as a difference from 0 seconds.

    Its interval is at 95 %.

    Args:
        costs: of each sample, with a number that is equal for samples that are not independent.
        rank: in percent, 1 to 99.

    Returns None without samples.
    """
    if not costs:
        return None
    measure, values = times_of([cost for _, cost in costs])
    draw = _Resamples([unit for unit, _ in costs], 0.95)
    return next(draw.quantiles(measure, (np.zeros(len(values)), values), (rank,)))


def times_of(costs: Sequence[SampleCost]) -> tuple[str, Array]:
    """`latency` and the seconds of each sample; where a target asked no model for some, `seconds`, the wall time."""
    measure = "latency" if all(cost.latency is not None for cost in costs) else "seconds"
    return measure, np.asarray([getattr(cost, measure) for cost in costs], dtype=float)


class _Resamples:
    """Draws of clusters with replacement, the same for every measure; seeded, so equal data give equal numbers."""

    def __init__(self, clusters: Sequence[int], level: float) -> None:
        self._clusters = np.unique(np.asarray(clusters), return_inverse=True)[1]
        self._n = len(clusters)
        self._groups = int(self._clusters.max()) + 1
        most = self._groups * int(np.bincount(self._clusters).max())
        self._count = np.int16 if most < 2**15 else np.int32
        self._ends = ((1 - level) / 2, (1 + level) / 2)
        self._weights = list(self._drawn_weights(np.random.default_rng(0))) if self._groups > 1 else []

    def means(self, measure: str, sides: tuple[Array, Array], *, estimated: bool) -> CostDifference:
        """The difference of the means."""
        # Not `@`: for so few numbers the threads of a BLAS cost more, half a second of CPU, than they save.
        sums = [np.einsum("ij,j->i", weights, sides[1] - sides[0]) for weights in self._weights]
        draws = [sums_drawn / weights.sum(axis=1) for sums_drawn, weights in zip(sums, self._weights, strict=True)]
        before, after = (float(side.mean()) for side in sides)
        return self._difference((measure, "mean"), before, after, draws, estimated=estimated)

    def quantiles(self, measure: str, sides: tuple[Array, Array], ranks: Sequence[int]) -> Iterator[CostDifference]:
        """The differences of the quantiles at so many percent."""
        shares = [rank / 100 for rank in ranks]
        drawn = [[_weighted_quantiles(side, weights, shares) for side in sides] for weights in self._weights]
        for at, share in enumerate(shares):
            before, after = (quantile(side, share) for side in sides)
            draws = [second[at] - first[at] for first, second in drawn]
            yield self._difference((measure, f"p{ranks[at]}"), before, after, draws)

    def _difference(
        self, names: tuple[str, str], before: float, after: float, draws: Sequence[Array], *, estimated: bool = False
    ) -> CostDifference:
        interval = None
        if draws:
            low, high = np.quantile(np.concatenate(draws), self._ends)
            interval = Interval(float(low), float(high))
        return CostDifference(*names, self._n, before, after, after - before, interval, estimated)

    def _drawn_weights(self, rng: Any) -> Iterator[Array]:
        """How often each pair is drawn, some resamples at a time."""
        rows = max(1, _AT_ONCE // self._n)
        for start in range(0, _RESAMPLES, rows):
            drawn = rng.integers(0, self._groups, size=(min(rows, _RESAMPLES - start), self._groups))
            offset = np.arange(len(drawn))[:, None] * self._groups
            counts = np.bincount((drawn + offset).ravel(), minlength=drawn.size).reshape(drawn.shape)
            # The narrowest integers that hold the sum of a resample: less memory to read for each measure.
            yield counts[:, self._clusters].astype(self._count)


def quantile(values: Array, rank: float) -> float:
    """The smallest value with at least `rank` of all values at or below it (nearest rank)."""
    return float(np.quantile(values, rank, method="inverted_cdf"))


def _weighted_quantiles(values: Array, weights: Array, ranks: Sequence[float]) -> list[Array]:
    """`quantile` for each row of weights and each rank; the values are sorted once, not once per draw."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[:, order], axis=1, dtype=weights.dtype)
    # The same rule as in `quantile`; the small constant allows for rounding of the product.
    return [values[order][np.argmax(reached >= rank * reached[:, -1:] - 1e-9, axis=1)] for rank in ranks]


def drawn_samples(samples: Sized) -> list[int]:
    """Indices of at most `MOST_SAMPLES` samples, drawn by a seed, without replacement and in order."""
    if len(samples) <= MOST_SAMPLES:
        return list(range(len(samples)))
    return sorted(np.random.default_rng(0).choice(len(samples), size=MOST_SAMPLES, replace=False).tolist())


class SampleCost(NamedTuple):
    """Time, tokens and cost of a target for one sample: the mean over repeats that did not fail.

    Args:
        seconds: wall time of the record, queueing, retries and scorers included.
        latency: seconds of the answered attempts of its replies, one after another; None where it asked no model.
        calls: replies of the target; likewise the tokens.
        input_tokens: of these replies.
        output_tokens: of these replies.
        estimated: whether the endpoint did not count some of the tokens, so that they were estimated.
        ttft: seconds to the first token of its first reply; None where it was not streamed.
    """

    seconds: float
    latency: float | None
    calls: float
    input_tokens: float
    output_tokens: float
    estimated: bool
    ttft: float | None = None


def sample_costs(records: RecordColumns, bodies: RunBodies, numbers: Sequence[int]) -> dict[int, SampleCost]:
    """Sample's number -> its cost; no entry for a sample of which each repeat failed or lost a reply.

    Args:
        records: of a run.
        bodies: likewise.
        numbers: of the samples that are wanted.
    """
    places = np.flatnonzero(np.isin(records.sample, numbers) & ~records.failed)
    begins, ends = (np.searchsorted(records.replies.owner, places, side=side) for side in ("left", "right"))
    keys_of_records = [
        [key.tobytes() for key in records.replies.key[begin:end]]
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    replies = bodies.replies({key for of_record in keys_of_records for key in of_record})
    costs: dict[int, list[SampleCost]] = {}
    for position, of_record in zip(places.tolist(), keys_of_records, strict=True):
        if all(key in replies for key in of_record):
            cost = _cost(int(records.millis[position]) / 1000, [replies[key] for key in of_record])
            costs.setdefault(int(records.sample[position]), []).append(cost)
    return {number: _mean(of_sample) for number, of_sample in costs.items()}


def _cost(seconds: float, replies: Sequence[Reply]) -> SampleCost:
    return SampleCost(
        seconds,
        sum(reply.latency for reply in replies) if replies else None,
        len(replies),
        sum(reply.usage.input_tokens for reply in replies),
        sum(reply.usage.output_tokens for reply in replies),
        any(reply.usage.estimated for reply in replies),
        _ttft(replies[0]) if replies else None,
    )


def _ttft(reply: Reply) -> float | None:
    seconds = reply.metadata.get("ttft")
    return seconds if isinstance(seconds, float) else None


def _mean(costs: Sequence[SampleCost]) -> SampleCost:
    if len(costs) == 1:
        return costs[0]
    n = len(costs)
    latencies = [cost.latency for cost in costs if cost.latency is not None]
    ttfts = [cost.ttft for cost in costs if cost.ttft is not None]
    return SampleCost(
        sum(cost.seconds for cost in costs) / n,
        sum(latencies) / len(latencies) if latencies else None,
        sum(cost.calls for cost in costs) / n,
        sum(cost.input_tokens for cost in costs) / n,
        sum(cost.output_tokens for cost in costs) / n,
        any(cost.estimated for cost in costs),
        sum(ttfts) / len(ttfts) if ttfts else None,
    )
