"""The result, cost and time of runs in the list: read from the store, or computed by one thread.

Figures are stored when an evaluation ends, so that the first page reads them. Missing ones (of a run that is running or
was killed, of an older store, of a baseline that was pinned since) are computed by one thread, newest run first, and
stored where the viewer may write; a page waits a moment for them, and fetches later what is not ready by then. A
finished run does not change, and neither does its difference to another finished one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.numbers import cost_text, interval_text, seconds_text, signed_text, value_text
from steelyard.errors import SteelyardError
from steelyard.store import Run
from steelyard.store.computed import ComputedOf, CountedRun, read_computed
from steelyard.store.list_figures import (
    HeadlineDifference,
    ListFigures,
    compute_difference,
    compute_figures,
    difference_to,
    figures_of_list,
)
from steelyard.store.stored_summary import kept_summary

if TYPE_CHECKING:
    from steelyard.analysis.comparison_values import Verdict
    from steelyard.analysis.summary_values import RunSummary
    from steelyard.store.latency import Latency

PATIENCE_S: Final = 0.1
"""How long a page waits for figures that were never computed: enough for those of ten small runs."""
_MOST_KEPT: Final = 5_000
_MOST_SUMMARIES: Final = 200


VERDICTS: Final[Mapping[Verdict, str]] = {
    "better": "▲ better",
    "worse": "▼ worse",
    "no_evidence": "≈ no evidence",
    "inconclusive": "? cannot tell",
    "none": "",
}
"""Text next to a difference, as not everybody can tell the colours apart."""


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
    """Figures and differences of runs, each read or computed once; one thread of its own computes.

    Args:
        keep: whether what is computed is stored with its runs.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._summaries: dict[Hashable, RunSummary] = {}
        # One summary at a time: two requests for the same run would compute it twice, and need the memory of two.
        self._lock = Lock()
        self._futures: dict[Hashable, Future[Any]] = {}
        self._newest: dict[str, RunFigures] = {}
        self._computing = ThreadPoolExecutor(1, thread_name_prefix="figures")

    def close(self) -> None:
        """Compute nothing more: the end of the process would otherwise wait for all that is queued."""
        self._computing.shutdown(wait=False, cancel_futures=True)

    def of(
        self, runs: Sequence[Run], baselines: Mapping[tuple[str, str], Run], *, patience_s: float = PATIENCE_S
    ) -> tuple[dict[str, RunFigures], dict[str, BaselineDifference]]:
        """Figures by run id, and differences by run id, as far as they are ready within `patience_s`.

        For a run that is running the figures may be those of a moment before.

        Args:
            runs: in the order in which they are computed.
            baselines: (suite, kind) -> the pinned baseline.
            patience_s: how long to wait for what is not stored and was never computed.
        """
        against = {run.id: baselines[run.suite, run.kind] for run in runs if self.compares(run, baselines)}
        keys = {run.id: _difference_key(against[run.id], run) for run in runs if run.id in against}
        self._read_stored(
            {state_of(run): figures_of_list(run) for run in runs},
            {keys[run.id]: difference_to(against[run.id], run) for run in runs if run.id in against},
        )
        figures = {run.id: self._future(state_of(run), self._figures, run) for run in runs}
        compared = {
            run.id: self._future(keys[run.id], self._against, against[run.id], run) for run in runs if run.id in against
        }
        wait([*figures.values(), *compared.values()], timeout=patience_s)
        ready = {ident: future.result() for ident, future in figures.items() if future.done()}
        self._newest |= {run.id: ready[run.id] for run in runs if run.id in ready and run.state == "running"}
        before = {ident: self._newest[ident] for ident in figures if ident in self._newest}
        return before | ready, {ident: future.result() for ident, future in compared.items() if future.done()}

    @staticmethod
    def compares(run: Run, baselines: Mapping[tuple[str, str], Run]) -> bool:
        """Whether a run is compared with its baseline: only when finished, as a part of the samples is not enough."""
        baseline = baselines.get((run.suite, run.kind))
        return baseline is not None and baseline.id != run.id and run.state == "finished"

    def _read_stored(self, figures: Mapping[Hashable, ComputedOf], differences: Mapping[Hashable, ComputedOf]) -> None:
        """Read the stored figures that were neither read nor computed yet."""
        missing = {key: of for key, of in [*figures.items(), *differences.items()] if key not in self._futures}
        if not missing:
            return
        with next(iter(missing.values())).runs[0].store.reading() as connection:
            stored = read_computed(connection, missing)
        for key, plain in stored.items():
            *_, run = missing[key].runs
            try:
                if key in figures:
                    result: object = figures_of(run, ListFigures.of_json(plain))
                else:
                    result = _shown_difference(missing[key].runs[0], HeadlineDifference.of_json(plain))
            except (TypeError, ValueError):
                continue  # of another version: it is computed
            self._futures[key] = future = Future[Any]()
            future.set_result(result)

    def _future(self, key: Hashable, compute: Callable[..., Any], *runs: Run) -> Future[Any]:
        future = self._futures.pop(key, None)
        if future is None:
            future = self._computing.submit(compute, *runs)
        self._futures[key] = future
        while len(self._futures) > _MOST_KEPT:
            self._futures.pop(next(iter(self._futures)), None)
        return future

    def summary(self, run: Run, raters: tuple[Hashable, ...] = ()) -> RunSummary:
        """The summary of a run, computed once, without looking for damage in every body.

        Args:
            run: the run.
            raters: the state of labels that it is to count; a list shows none of them.
        """
        with self._lock:
            key = (*state_of(run), *raters)
            summary = self._summaries.get(key)
            if summary is None:
                self._summaries[key] = summary = kept_summary(run) if self._keep else run.quick_summary()
                while len(self._summaries) > _MOST_SUMMARIES:
                    self._summaries.pop(next(iter(self._summaries)))
            return summary

    def _figures(self, run: Run) -> RunFigures:
        try:
            return figures_of(run, compute_figures(run, self.summary, keep=self._keep))
        except SteelyardError as error:
            return RunFigures(fault=str(error))

    def _against(self, baseline: Run, run: Run) -> BaselineDifference:
        try:
            return _shown_difference(baseline, compute_difference(baseline, run, self.summary, keep=self._keep))
        except SteelyardError as error:
            return BaselineDifference(baseline.id, None, reason=str(error))


def state_of(run: Run) -> tuple[Hashable, ...]:
    """What the figures of a run depend on; by its id, since SQLite gives the number of a deleted run to the next."""
    return run.id, run.state, run.done, run.scoring_version, run.errors, run.replies, run.seconds


def _difference_key(baseline: Run, run: Run) -> Hashable:
    return (baseline.id, baseline.scoring_version, *state_of(run))


def figures_of(run: CountedRun, values: ListFigures) -> RunFigures:
    """The figures of a run as text."""
    return RunFigures(
        score=values.score,
        headline=value_text(values.value, share=values.is_share) if values.score else "",
        interval=interval_text(values.interval, share=values.is_share),
        cost=cost_text(values.money),
        tokens=f"{values.input_tokens:,} tokens in, {values.output_tokens:,} out" if run.replies else "",
        latency=f"{seconds_text(values.latency.p50)} / {seconds_text(values.latency.p95)}" if values.latency else "",
        latency_of=_latency_of(values.latency) if values.latency else "",
    )


def _latency_of(latency: Latency) -> str:
    measured = "answered attempts of the target's models" if latency.of_models else "a record, scoring included"
    return f"seconds of {measured}, median and 95th percentile of {latency.n:,} samples"


def _shown_difference(baseline: CountedRun, difference: HeadlineDifference) -> BaselineDifference:
    if difference.verdict is None:
        return BaselineDifference(baseline.id, None, reason=difference.reason)
    interval, share = difference.interval, difference.is_share
    return BaselineDifference(
        baseline.id,
        difference.verdict,
        signed_text(difference.value, share=share),
        " to ".join(signed_text(end, share=share) for end in interval) if interval else "",
    )
