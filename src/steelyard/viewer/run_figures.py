"""What the list says of a run's result, cost and time: computed once, by one thread, while pages wait a bounded time.

The first look at a store has to summarize up to 50 runs, and of a run of 100,000 samples that alone takes the better
part of a second; its comparison with a baseline of that size takes some. So one thread computes, newest run first, and
a page waits two seconds for it: what is not there by then is fetched by the page when it is. A finished run does not
change, and neither does its difference to another finished one, so each is computed once for the life of the viewer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from steelyard.analysis.comparison import headline_difference
from steelyard.analysis.comparison_values import Verdict
from steelyard.analysis.summary_values import RunSummary
from steelyard.analysis.usage import money_text
from steelyard.errors import ConfigError, SteelyardError
from steelyard.report.numbers import interval_text, signed_text, value_text
from steelyard.store import Run
from steelyard.store.latency import Latency, read_latency

PATIENCE_S: Final = 2.0
"""How long a page waits for figures that were never computed."""
_MOST_KEPT: Final = 5_000
_MOST_SUMMARIES: Final = 200


VERDICTS: Final[Mapping[Verdict, str]] = {
    "better": "▲ better",
    "worse": "▼ worse",
    "no_evidence": "≈ no evidence",
    "inconclusive": "? cannot tell",
    "none": "",
}
"""Beside a difference, since a colour alone says nothing to some."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of one run as text.

    Args:
        score: name of the headline score.
        headline: its value.
        interval: its 95 % CI.
        cost: of all its replies; "" where it is not known.
        tokens: in and out.
        latency: median and 95th percentile; "" where nothing was measured.
        latency_of: what was measured.
        fault: why there are none of the others.
    """

    score: str = ""
    headline: str = ""
    interval: str = ""
    cost: str = ""
    tokens: str = ""
    latency: str = ""
    latency_of: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class BaselineDifference:
    """A run against the pinned baseline of its suite.

    Args:
        baseline: id of the baseline.
        verdict: for the colour; None where they cannot be compared.
        text: the difference with its sign.
        interval: its 95 % CI.
        reason: why there is none.
    """

    baseline: str
    verdict: Verdict | None
    text: str = ""
    interval: str = ""
    reason: str = ""


class FigureCache:
    """Computes figures and differences, each once, in a thread of its own."""

    def __init__(self) -> None:
        self._summaries: dict[Hashable, RunSummary] = {}
        # One summary at a time: two requests for the same run would compute it twice, and need the memory of two.
        self._lock = Lock()
        self._futures: dict[Hashable, Future[Any]] = {}
        self._newest: dict[str, RunFigures] = {}
        self._computing = ThreadPoolExecutor(1, thread_name_prefix="figures")

    def close(self) -> None:
        """Compute nothing more: the end of the process would otherwise wait for all that is queued."""
        self._computing.shutdown(wait=False, cancel_futures=True)

    def later(self, task: Callable[..., object], *arguments: Any) -> None:
        """Run a task in that thread, after what is queued; a page that needs the same meets its errors by itself."""
        self._computing.submit(task, *arguments)

    def of(
        self, runs: Sequence[Run], baselines: Mapping[tuple[str, str], Run], *, patience_s: float = PATIENCE_S
    ) -> tuple[dict[str, RunFigures], dict[str, BaselineDifference]]:
        """Figures by run id, and differences by run id, as far as they are there within the patience.

        Of a run that is running the figures may be those of a moment before.

        Args:
            runs: in the order in which they are computed.
            baselines: (suite, kind) -> the pinned baseline.
            patience_s: how long to wait for what was never computed.
        """
        figures = {run.id: self._future(state_of(run), self._figures, run) for run in runs}
        compared = {
            run.id: self._future((baseline.id, baseline.scoring_version, *state_of(run)), self._against, baseline, run)
            for run in runs
            if self.compares(run, baselines) and (baseline := baselines.get((run.suite, run.kind)))
        }
        wait([*figures.values(), *compared.values()], timeout=patience_s)
        there = {ident: future.result() for ident, future in figures.items() if future.done()}
        self._newest |= {run.id: there[run.id] for run in runs if run.id in there and run.state == "running"}
        before = {ident: self._newest[ident] for ident in figures if ident in self._newest}
        return before | there, {ident: future.result() for ident, future in compared.items() if future.done()}

    @staticmethod
    def compares(run: Run, baselines: Mapping[tuple[str, str], Run]) -> bool:
        """Whether a run is compared with its baseline: only a finished one: a part of the samples decides nothing."""
        baseline = baselines.get((run.suite, run.kind))
        return baseline is not None and baseline.id != run.id and run.state == "finished"

    def _future(self, key: Hashable, compute: Callable[..., Any], *runs: Run) -> Future[Any]:
        future = self._futures.pop(key, None)
        if future is None:
            future = self._computing.submit(compute, *runs)
        self._futures[key] = future
        while len(self._futures) > _MOST_KEPT:
            self._futures.pop(next(iter(self._futures)), None)
        return future

    def summary(self, run: Run) -> RunSummary:
        """The summary of a run, computed once, without looking for damage in every body."""
        with self._lock:
            key = state_of(run)
            found = self._summaries.get(key)
            if found is None:
                self._summaries[key] = found = run.quick_summary()
                while len(self._summaries) > _MOST_SUMMARIES:
                    self._summaries.pop(next(iter(self._summaries)))
            return found

    def _figures(self, run: Run) -> RunFigures:
        try:
            return figures_of(run, self.summary(run), read_latency(run.store, run, run.done))
        except SteelyardError as error:
            return RunFigures(fault=str(error))

    def _against(self, baseline: Run, run: Run) -> BaselineDifference:
        try:
            return _difference(baseline, run, (self.summary(baseline), self.summary(run)))
        except SteelyardError as error:
            return BaselineDifference(baseline.id, None, reason=str(error))


def state_of(run: Run) -> tuple[Hashable, ...]:
    """What the figures of a run depend on; by its id, since SQLite gives the number of a deleted run to the next."""
    return run.id, run.state, run.done, run.scoring_version


def figures_of(run: Run, summary: RunSummary, latency: Latency | None) -> RunFigures:
    """The figures of a run as text."""
    score = summary.score(summary.primary)
    mean = score.headline if score else None
    share = bool(score and score.is_share)
    return RunFigures(
        score=summary.primary,
        headline=value_text(mean.value, share=share) if mean else "",
        interval=interval_text(mean.interval, share=share) if mean else "",
        cost=cost_text(summary),
        tokens=f"{summary.input_tokens:,} tokens in, {summary.output_tokens:,} out" if run.replies else "",
        latency=f"{seconds_text(latency.p50)} / {seconds_text(latency.p95)}" if latency else "",
        latency_of=_latency_of(latency) if latency else "",
    )


def cost_text(summary: RunSummary) -> str:
    """What all replies of a run cost at the prices of the day; "" where some stage that asked has no price."""
    asked = [stage for stage in summary.stages if stage.calls]
    if not asked or any(stage.money is None for stage in asked):
        return ""
    sums: dict[str, float] = {}
    for stage in asked:
        sums[stage.currency] = sums.get(stage.currency, 0.0) + (stage.money or 0.0)
    return " + ".join(money_text(amount, currency) for currency, amount in sums.items())


def _latency_of(latency: Latency) -> str:
    what = "answered attempts of the target's models" if latency.of_models else "a record, scoring included"
    return f"seconds of {what}, median and 95th percentile of {latency.n:,} samples"


def seconds_text(seconds: float) -> str:
    """A short duration with the digits that count.

    >>> seconds_text(0.0), seconds_text(0.0834), seconds_text(1.26), seconds_text(75)
    ('<1 ms', '83 ms', '1.3 s', '75 s')
    """
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.0095:
        return f"{1000 * seconds:.1f} ms"
    if seconds < 0.95:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _difference(baseline: Run, run: Run, summaries: tuple[RunSummary, RunSummary]) -> BaselineDifference:
    name = summaries[0].primary
    sides = [summary.score(name) for summary in summaries]
    if None in sides or not name:
        return BaselineDifference(baseline.id, None, reason=f"the run has no score {name}, the baseline's headline")
    try:
        headline, verdict = headline_difference((baseline, run), summaries, name)
    except ConfigError as error:
        return BaselineDifference(baseline.id, None, reason=str(error))
    if headline.difference is None:
        return BaselineDifference(baseline.id, None, reason="the runs share no sample with that score")
    interval = headline.interval
    return BaselineDifference(
        baseline.id,
        verdict,
        signed_text(headline.difference, share=headline.unit),
        " to ".join(signed_text(end, share=headline.unit) for end in interval) if interval else "",
    )
