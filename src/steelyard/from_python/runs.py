"""The runs of several targets over the same samples, as `evaluate` returns them or a store has them already.

`kept_or_run` is for tests: where the store lacks a run, it makes an evaluation within a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.config.load import load
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation import Options, Suite, evaluate_suite
from steelyard.evaluation.objects import with_references
from steelyard.evaluation.sides import with_samples
from steelyard.evaluation.survey import changed_keys, check_suite, manifests, survey_of
from steelyard.from_python.described import GivenEvaluation
from steelyard.models.budget import Budget
from steelyard.report.charts.svg import svg
from steelyard.report.sections.targets import rate_chart
from steelyard.store import Run, Store

_OWN = ("model", "judge", "name", "jury")


class Runs(Sequence["Run"]):
    """One run per target, in the order of the targets; also found by the target's name.

    Printed, it says the rate of each run and what may be concluded; a notebook shows a table, or for prompts x models
    the matrix, and the rates as dots with their intervals.

    Args:
        runs: of one evaluation.
    """

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, at: int | str) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Runs: ...
    def __getitem__(self, at: int | str | slice) -> Run | Runs:
        """The run at a position or of a target; a slice of positions gives several.

        Raises:
            ConfigError: there is no such target.
        """
        if isinstance(at, slice):
            return Runs(self._runs[at])
        if isinstance(at, int):
            return self._runs[at]
        by_target = {run.target: run for run in self._runs}
        if at not in by_target:
            raise ConfigError(f"there is no run of {at!r}{did_you_mean(at, by_target)}")
        return by_target[at]

    def compare(self, **options: Any) -> Comparison:
        """Every run compared with the first; of prompts x models also which to ship (`.grid`).

        Args:
            options: of `steelyard.compare`: `score`, `level`, `groups`.

        Raises:
            ConfigError: there is a single run, or a run without the score.
        """
        return compare(*self._runs, **options)

    def to_frame(self) -> Any:
        """One row per record of all runs, as a data frame; the columns `target`, `run` and `tag_...` tell them apart.

        Raises:
            ConfigError: none of pandas, polars and pyarrow is installed.
        """
        import narwhals as nw

        frames = [nw.from_native(run.to_frame(), eager_only=True) for run in self._runs]
        return nw.concat(frames, how="diagonal").to_native()

    def __str__(self) -> str:
        summaries = [run.summary() for run in self._runs]
        lines = [f"{run.target}: {score}" for run in summaries if (score := run.score()) is not None]
        return "\n".join([*lines, *([str(self._comparison(summaries))] if _comparable(summaries) else [])])

    def __repr__(self) -> str:
        return f"Runs([{', '.join(map(repr, self._runs))}])"

    def _repr_html_(self) -> str:
        summaries = [run.summary() for run in self._runs]
        if not _comparable(summaries):
            return "".join(summary._repr_html_() for summary in summaries)
        comparison = self._comparison(summaries)
        return f"{comparison._repr_html_()}{svg(rate_chart(summaries, score=comparison.score))}"

    def _comparison(self, summaries: Sequence[RunSummary]) -> Comparison:
        return compare(*self._runs, summaries=summaries)


def _comparable(summaries: Sequence[RunSummary]) -> bool:
    return len(summaries) > 1 and all(summary.scores for summary in summaries)


class NotRunError(ConfigError):
    """A suite has no run yet, and nobody allowed one; the message says how."""


def kept_or_run(  # what is evaluated, and what pytest was told
    given: tuple[Any, ...],
    options: Mapping[str, Any],
    store: Store,
    *,
    environ: Mapping[str, str],
    may_run: bool,
    calls: int | None,
) -> Run | Runs:
    """The newest finished runs of exactly this evaluation; where the store lacks one, all targets are run.

    Args:
        given: the path of a configuration, or target, samples and scorers as `evaluate` takes them.
        options: the keywords of `evaluate`.
        store: where runs are looked up and kept.
        environ: where a configuration looks its references up first.
        may_run: whether something may be run.
        calls: the most calls of the evaluation; None where the budget of the options holds.

    Raises:
        NotRunError: there is no run, and none may be made; or there is no budget for it.
        ConfigError: what is given cannot be used.
        RunError: a run ended as broken.
    """
    described, suite = _suite_of(given, options, environ)
    suite = with_references(with_samples(suite, store.path))
    check_suite(suite)
    kept = _kept(suite, store)
    if len(kept) < len(suite.targets):
        missing = ", ".join(name for name in suite.targets if name not in kept)
        if not may_run:
            raise NotRunError(
                f"{suite.name}: no finished run of {missing} as it is now; pytest --steelyard-run --steelyard-budget "
                "CALLS makes it"
            )
        budget = suite.options.budget if calls is None else replace(suite.options.budget, calls=calls)
        if budget == Budget():
            raise NotRunError(
                f"{suite.name}: {missing} is run only with a budget: add --steelyard-budget CALLS, or a budget to the "
                "options"
            )
        made = evaluate_suite(replace(suite, options=replace(suite.options, budget=budget)), store=store.path)
        if stopped := next((run for run in made if run.state != "finished"), None):
            raise ConfigError(f"{suite.name}: the run of {stopped.target} is {stopped.state}: {stopped.reason}")
        kept = {run.target: run for run in made}
    runs = Runs([kept[name] for name in suite.targets])
    return runs if described is None or described.is_several else runs[0]


def _suite_of(
    given: tuple[Any, ...], options: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[GivenEvaluation | None, Suite]:
    if len(given) == 1:
        if options:
            raise ConfigError(f"a configuration has its own options; leave out {', '.join(options)}")
        return None, load(Path(given[0]), environ=environ).suite
    described = GivenEvaluation(*given, **{key: value for key, value in options.items() if key in _OWN})
    return described, described.suite(Options(**{key: value for key, value in options.items() if key not in _OWN}))


def _kept(suite: Suite, store: Store) -> dict[str, Run]:
    """Target -> the newest finished run that differs in nothing which decides its records."""
    plan = dict(manifests(suite, survey_of(suite), draw="", config=None))
    kept: dict[str, Run] = {}
    for run in store.runs():
        is_of_suite = (run.suite, run.kind, run.state) == (suite.name, suite.kind, "finished")
        wanted = plan.get(run.target) if is_of_suite and run.target not in kept else None
        if wanted and not changed_keys(run.first_manifest, wanted):
            kept[run.target] = run
    return kept
