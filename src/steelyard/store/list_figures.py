"""The figures of a run in lists of runs: its headline score, cost and latency, and its difference to a baseline.

They are computed once for a state of the run and stored with it (see `computed`): at the end of an evaluation, so that
a viewer that is started afterwards shows them at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.stats.intervals import Interval
from steelyard.store.computed import ComputedOf, read_state, store_computed
from steelyard.store.latency import Latency, read_latency
from steelyard.store.marks import baselines, read_marks
from steelyard.store.stored_summary import FROM_RECORDS, kept_summary

if TYPE_CHECKING:
    from steelyard.analysis.comparison_values import Verdict
    from steelyard.analysis.summary_values import RunSummary
    from steelyard.analysis.usage import StageCost
    from steelyard.store.run import Run
    from steelyard.store.store import Store

_LIST: Final = "list"


@dataclass(frozen=True, slots=True)
class ListFigures:
    """The figures of one run.

    Args:
        score: name of the headline score; "" where no record has it.
        value: its headline mean; None where no record has a value.
        interval: the 95 % CI of the mean.
        is_share: whether the score is shown in percent.
        money: currency -> what all replies cost; empty where a stage with calls has no price.
        input_tokens: of all replies; likewise `output_tokens`.
        output_tokens: see there.
        latency: of the target; None where nothing was measured.
    """

    score: str = ""
    value: float | None = None
    interval: Interval | None = None
    is_share: bool = False
    money: Mapping[str, float] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    latency: Latency | None = None

    @classmethod
    def of(cls, summary: RunSummary, latency: Latency | None) -> ListFigures:
        """The figures of a summary."""
        score = summary.score(summary.primary)
        mean = score.headline if score else None
        return cls(
            summary.primary if score else "",
            mean.value if mean else None,
            mean.interval if mean else None,
            bool(score and score.is_share),
            money_of(summary.stages),
            summary.input_tokens,
            summary.output_tokens,
            latency,
        )

    def to_json(self) -> list[Any]:
        """Plain JSON for `of_json`."""
        interval, latency = self.interval and list(self.interval), self.latency and list(self.latency)
        tokens = self.input_tokens, self.output_tokens
        return [self.score, self.value, interval, self.is_share, dict(self.money), *tokens, latency]

    @classmethod
    def of_json(cls, plain: Any) -> ListFigures:
        """Read what `to_json` wrote."""
        score, value, interval, is_share, money, input_tokens, output_tokens, latency = plain
        bounds, measured = interval and Interval(*interval), latency and Latency(*latency)
        return cls(score, value, bounds, is_share, money, input_tokens, output_tokens, measured)


@dataclass(frozen=True, slots=True)
class HeadlineDifference:
    """A run against the baseline of its suite, on the baseline's headline score.

    Args:
        verdict: whether it is better; None where the two cannot be compared.
        value: the difference of the means.
        interval: its 95 % CI.
        is_share: whether it is shown in points.
        reason: why there is none.
    """

    verdict: Verdict | None
    value: float = 0.0
    interval: Interval | None = None
    is_share: bool = False
    reason: str = ""

    @classmethod
    def of(cls, baseline: Run, run: Run, summaries: tuple[RunSummary, RunSummary]) -> HeadlineDifference:
        """Compare two runs on the headline alone.

        Args:
            baseline: the pinned one.
            run: the other.
            summaries: of both.

        Raises:
            StoreError: rows of one cannot be read.
        """
        from steelyard.analysis.comparison import headline_difference  # here, as nothing else needs it at start

        name = summaries[0].primary
        if not name or None in [summary.score(name) for summary in summaries]:
            return cls(None, reason=f"the run has no score {name}, the baseline's headline")
        try:
            headline, verdict = headline_difference((baseline, run), summaries, name)
        except ConfigError as error:
            return cls(None, reason=str(error))
        if headline.difference is None:
            return cls(None, reason="the runs share no sample with that score")
        interval = None if headline.interval is None else Interval(*map(float, headline.interval))
        return cls(verdict, float(headline.difference), interval, bool(headline.unit))

    def to_json(self) -> list[Any]:
        """Plain JSON for `of_json`."""
        return [self.verdict, self.value, self.interval and list(self.interval), self.is_share, self.reason]

    @classmethod
    def of_json(cls, plain: Any) -> HeadlineDifference:
        """Read what `to_json` wrote."""
        verdict, value, interval, is_share, reason = plain
        return cls(verdict, value, interval and Interval(*interval), is_share, reason)


def money_of(stages: Sequence[StageCost]) -> dict[str, float]:
    """Currency -> what all replies of a run cost; empty if a stage with calls has no price."""
    called = [stage for stage in stages if stage.calls]
    if any(stage.money is None for stage in called):
        return {}
    sums: dict[str, float] = {}
    for stage in called:
        sums[stage.currency] = sums.get(stage.currency, 0.0) + (stage.money or 0.0)
    return sums


def figures_of_list(run: Run) -> ComputedOf:
    """The key under which the figures of a run are stored."""
    return ComputedOf(_LIST, (run,))


def difference_to(baseline: Run, run: Run) -> ComputedOf:
    """The key under which the difference of a run to a baseline is stored."""
    return ComputedOf(f"against {baseline.id}", (baseline, run))


def compute_figures(run: Run, summarize: Callable[[Run], RunSummary], *, keep: bool) -> ListFigures:
    """Compute the figures of a run.

    Args:
        run: in any state.
        summarize: gives its summary.
        keep: whether they are stored for later readers.

    Raises:
        StoreError: rows of the run cannot be read.
    """
    of = figures_of_list(run)
    with run.store.reading() as connection:
        state = read_state(connection, of) if keep else None
    figures = ListFigures.of(summarize(run), read_latency(run.store, run, run.done))
    if keep:
        store_computed(run.store, [(of, state, figures.to_json())])
    return figures


def compute_difference(
    baseline: Run, run: Run, summarize: Callable[[Run], RunSummary], *, keep: bool
) -> HeadlineDifference:
    """Compute the difference of a run to a baseline.

    Args:
        baseline: a finished run.
        run: likewise.
        summarize: gives their summaries.
        keep: as for `compute_figures`.

    Raises:
        StoreError: rows of one cannot be read.
    """
    of = difference_to(baseline, run)
    with run.store.reading() as connection:
        state = read_state(connection, of) if keep else None
    difference = HeadlineDifference.of(baseline, run, (summarize(baseline), summarize(run)))
    if keep:
        store_computed(run.store, [(of, state, difference.to_json())])
    return difference


def remember_figures(store: Store, runs: Sequence[Run]) -> None:
    """Compute and store the figures of runs that have just ended; those that fail are left to whoever lists the runs.

    Args:
        store: of the runs, open for writing.
        runs: that have ended.
    """
    if any(run.done > FROM_RECORDS for run in runs):
        with contextlib.suppress(StoreError):  # a server may do it by itself
            store.gather_statistics()
    marks = read_marks(store)
    pinned = baselines(store.runs(), marks) if marks else {}
    for run in runs:
        with contextlib.suppress(SteelyardError):  # a damaged row: whoever lists the run says so
            compute_figures(run, kept_summary, keep=True)
            baseline = pinned.get((run.suite, run.kind))
            if baseline is not None and baseline.id != run.id and run.state == "finished":
                compute_difference(baseline, run, kept_summary, keep=True)
