"""The result, cost and time of runs in the list: read from the store, or computed by one thread.

Figures are stored when an evaluation ends, so that a page reads them; of a run that has not ended its counters are
shown. Missing ones of a finished run, and differences to the pinned baseline, are computed by one thread, newest run
first; a page waits a moment for them, and fetches later what is not ready by then. A finished run does not change, and
neither does its difference to another finished one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from steelyard.analysis.comparison.compare_runs import headline_difference
from steelyard.analysis.comparison.comparison_values import Verdict
from steelyard.analysis.numbers import cost_text, count_text, interval_text, seconds_text, signed_text, value_text
from steelyard.analysis.scores.score_infos import headline_score
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import SteelyardError, StoreError
from steelyard.report.run_texts import people_say
from steelyard.store import Run
from steelyard.store.counters import running_score
from steelyard.store.ended_runs import Latency, ListFigures, compute_figures, read_figures, store_figures
from steelyard.store.reading.run_reading import label_state

PATIENCE_S: Final = 0.1
"""How long a page waits for figures that were never computed: enough for those of ten small runs."""
_MOST_KEPT: Final = 5_000
COMPUTING: Final = "computing"
"""In place of a figure that is not known yet."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of one run as texts, for the list of runs; `ListFigures` has the numbers.

    Args:
        score: name of the headline score.
        headline: its value.
        interval: its 95 % CI.
        value: its value as a number, None where there is none or it is not a share; likewise `limits`.
        limits: its 95 % CI as numbers.
        cost: of all its replies; "" where it is not known.
        tokens: in and out.
        latency: median; "" where nothing was measured.
        latency_of: what was measured, and its 95th percentile.
        unparsed: replies in which the headline score found no verdict.
        refused: replies that a model or a content filter refused.
        fault: why there are none of the others.
    """

    score: str = ""
    headline: str = ""
    interval: str = ""
    value: float | None = None
    limits: tuple[float, float] | None = None
    cost: str = ""
    tokens: str = ""
    latency: str = ""
    latency_of: str = ""
    unparsed: int = 0
    refused: int = 0
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


def stored_figures(runs: Sequence[Run]) -> Mapping[str, ListFigures]:
    """Run id -> the figures that are stored with it."""
    return read_figures(runs[0].store, runs) if runs else {}


class FigureCache:
    """Figures and differences of runs: what is stored is read, the rest is computed once, by a thread of its own.

    Args:
        keep: whether figures that were missing are stored.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._futures: dict[Hashable, Future[Any]] = {}
        self._computing = ThreadPoolExecutor(1, thread_name_prefix="figures")

    def close(self) -> None:
        """Compute nothing more: the end of the process would otherwise wait for all that is queued."""
        self._computing.shutdown(wait=False, cancel_futures=True)

    def of(
        self, runs: Sequence[Run], baselines: Mapping[tuple[str, str], Run], *, patience_s: float = PATIENCE_S
    ) -> tuple[dict[str, RunFigures], dict[str, BaselineDifference]]:
        """Figures by run id, and differences by run id, as far as they are ready within `patience_s`.

        Those of a run that has not ended are its counters.

        Args:
            runs: in the order in which they are computed.
            baselines: (suite, kind) -> the pinned baseline.
            patience_s: how long to wait for what was never computed.
        """
        stored = stored_figures(runs)
        figures = {run.id: figures_of(run, stored[run.id]) for run in runs if run.id in stored}
        figures |= {run.id: _counted_figures(run) for run in runs if run.id not in stored and run.state != "finished"}
        missing = {run.id: self._future(state_of(run), self._figures, run) for run in runs if run.id not in figures}
        against = {run.id: baselines[run.suite, run.kind] for run in runs if self.compares(run, baselines)}
        compared = {
            run.id: self._future((*state_of(against[run.id]), *state_of(run)), _against, against[run.id], run)
            for run in runs
            if run.id in against
        }
        wait([*missing.values(), *compared.values()], timeout=patience_s)
        figures |= {ident: future.result() for ident, future in missing.items() if future.done()}
        return figures, {ident: future.result() for ident, future in compared.items() if future.done()}

    def people(self, runs: Sequence[Run], summary_of: Callable[[Run], RunSummary], patience_s: float) -> dict[str, str]:
        """What people would say of the main score of each run with labels, by its id; `COMPUTING` until it is known.

        Args:
            runs: in the order in which they are computed.
            summary_of: summarizes a run.
            patience_s: how long to wait.
        """
        states = {run.id: label_state(run) for run in runs}
        labelled = {
            run.id: self._future((*state_of(run), *states[run.id]), _people_text, run, summary_of)
            for run in runs
            if states[run.id][0]
        }
        wait(labelled.values(), timeout=patience_s)
        return {ident: future.result() if future.done() else COMPUTING for ident, future in labelled.items()}

    @staticmethod
    def compares(run: Run, baselines: Mapping[tuple[str, str], Run]) -> bool:
        """Whether a run is compared with its baseline: only when finished, as a part of the samples is not enough."""
        baseline = baselines.get((run.suite, run.kind))
        return baseline is not None and baseline.id != run.id and run.state == "finished"

    def _future(self, key: Hashable, compute: Callable[..., Any], *of: Any) -> Future[Any]:
        future = self._futures.pop(key, None)
        if future is None:
            future = self._computing.submit(compute, *of)
        self._futures[key] = future
        while len(self._futures) > _MOST_KEPT:
            self._futures.pop(next(iter(self._futures)), None)
        return future

    def _figures(self, run: Run) -> RunFigures:
        try:
            figures = compute_figures(run)
        except SteelyardError as error:
            return RunFigures(fault=str(error))
        if self._keep:
            with suppress(StoreError):  # a store that nobody may write now: the figures are there nevertheless
                store_figures(run.store, run, figures)
        return figures_of(run, figures)


def _people_text(run: Run, summary_of: Callable[[Run], RunSummary]) -> str:
    """What people would say of the main score of a run; "" where their labels correct nothing."""
    with suppress(SteelyardError):
        summary = summary_of(run)
        if (corrected := people_say(summary)) and (score := summary.score()):
            return value_text(corrected.value, share=score.is_share)
    return ""


def _counted_figures(run: Run) -> RunFigures:
    """The figures of a run from its counters, without an interval: it would tempt to stop when it looks good."""
    name = headline_score(run.manifest)
    with run.store.reading() as connection:
        score = running_score(connection, run.num, name)
    info = run.score_infos.get(name)
    value, share = score.mean(info), score.is_share(info)
    tokens, name = (run.row.input_tokens, run.row.output_tokens), name if value is not None else ""
    return figures_of(run, ListFigures(name, value, None, share, {}, *tokens, None, score.unparsed, score.refused))


def _against(baseline: Run, run: Run) -> BaselineDifference:
    """A run against the baseline of its suite, on the baseline's headline score."""
    try:
        sides = baseline.data(), run.data()
        summaries = summarize_run(sides[0]), summarize_run(sides[1])
        name = summaries[0].primary
        if not name or None in [summary.score(name) for summary in summaries]:
            return BaselineDifference(baseline.id, None, reason=f"the run has no score {name}, the baseline's headline")
        headline, verdict = headline_difference(sides, summaries, name)
    except SteelyardError as error:
        return BaselineDifference(baseline.id, None, reason=str(error))
    if headline.difference is None:
        return BaselineDifference(baseline.id, None, reason="the runs share no sample with that score")
    share = bool(headline.unit)
    return BaselineDifference(
        baseline.id,
        verdict,
        signed_text(headline.difference, share=share),
        interval_text(headline.interval, share=share, sign=True),
    )


def state_of(run: Run) -> tuple[Hashable, ...]:
    """What the figures of a run depend on; by its id, since SQLite gives the number of a deleted run to the next."""
    return run.id, run.state, run.done, run.scoring_version, run.errors, run.replies, run.seconds


def figures_of(run: Run, values: ListFigures) -> RunFigures:
    """The figures of a run as text."""
    return RunFigures(
        score=values.score,
        headline=value_text(values.value, share=values.is_share) if values.score else "",
        interval=interval_text(values.interval, share=values.is_share),
        value=values.value if values.is_share else None,
        limits=(values.interval[0], values.interval[1]) if values.interval and values.is_share else None,
        cost=cost_text(values.money),
        tokens=f"{values.input_tokens:,} tokens in, {values.output_tokens:,} out" if run.replies else "",
        latency=seconds_text(values.latency.p50) if values.latency else "",
        latency_of=_latency_of(values.latency) if values.latency else "",
        unparsed=values.unparsed,
        refused=values.refused,
    )


def _latency_of(latency: Latency) -> str:
    measured = "answered attempts of the target's models" if latency.of_models else "a record, scoring included"
    return f"median of {count_text(latency.n, 'sample')}, {measured}; 95th percentile {seconds_text(latency.p95)}"
