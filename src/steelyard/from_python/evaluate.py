"""`evaluate`: one target or several, prompts or functions, over rows from anywhere; and the `Runs` that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal, TypedDict, Unpack, overload

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judges.findings import JuryVote
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation import Options
from steelyard.evaluation.evaluate import wait_for
from steelyard.evaluation.objects import StopWhen
from steelyard.evaluation.running import Executor
from steelyard.from_python.described import GivenEvaluation
from steelyard.models.base import Model
from steelyard.models.budget import Budget
from steelyard.models.limits import Retry
from steelyard.models.prices import PriceTable
from steelyard.models.rate_limit import Rates
from steelyard.report.charts.svg import svg
from steelyard.report.sections.targets import rate_chart
from steelyard.scorers import Judge
from steelyard.store import Run
from steelyard.types import Sample, Scorer, Target
from steelyard.workers.executors import Workers, aevaluate_suite


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


class EvaluationOptions(TypedDict, total=False):
    """Further keywords of `evaluate`: a title, the jury, the fields of `Options` and of `RunConfig`, and `workers`."""

    name: str
    jury: JuryVote | Literal[""]
    concurrency: int
    repeats: int
    pass_k: int
    margin: float
    seed: int
    max_errors: float | None
    sample_timeout_s: float
    retry: Retry
    budget: Budget
    rates: Rates
    prices: PriceTable | Path | str
    durability: Literal["normal", "full"]
    stop_when_decided: StopWhen
    intervals: Intervals
    allow_constant_prompt: bool
    fresh: bool
    resume: str
    allow_changed: bool
    unsafe_sql: bool
    allow_commands: bool
    unsafe_code: bool
    environment: Mapping[str, str]
    config: Mapping[str, Any] | None
    executor: Executor | None
    on_broken: Literal["raise", "return"]
    progress: bool
    workers: Workers | None


_OPTIONS: Final = frozenset(option.name for option in fields(Options))

Prompted = str | Path
"""The text of a prompt, or its file."""


@overload
def evaluate(
    target: Mapping[str, Prompted | Target | Model],
    samples: str | Path | Iterable[Sample] | Iterable[Mapping[str, Any]] | Any,
    scorers: Sequence[str | Mapping[str, Any] | Scorer],
    *,
    model: Model | Mapping[str, Model] | None = None,
    judge: Model | Judge | None = None,
    store: str | Path | None = None,
    **options: Unpack[EvaluationOptions],
) -> Runs: ...
@overload
def evaluate(
    target: Prompted,
    samples: str | Path | Iterable[Sample] | Iterable[Mapping[str, Any]] | Any,
    scorers: Sequence[str | Mapping[str, Any] | Scorer],
    *,
    model: Mapping[str, Model],
    judge: Model | Judge | None = None,
    store: str | Path | None = None,
    **options: Unpack[EvaluationOptions],
) -> Runs: ...
@overload
def evaluate(
    target: Prompted | Target | Model,
    samples: str | Path | Iterable[Sample] | Iterable[Mapping[str, Any]] | Any,
    scorers: Sequence[str | Mapping[str, Any] | Scorer],
    *,
    model: Model | None = None,
    judge: Model | Judge | None = None,
    store: str | Path | None = None,
    **options: Unpack[EvaluationOptions],
) -> Run: ...
def evaluate(
    target: Any,
    samples: Any,
    scorers: Sequence[Any],
    *,
    model: Any = None,
    judge: Any = None,
    store: str | Path | None = None,
    **options: Unpack[EvaluationOptions],
) -> Any:
    """Run one target or several over samples and score the answers; also inside a running event loop.

    Args:
        target: the text of a prompt with `{{column}}` for the values of a row, or its file; a function of a Sample (and
            of Ask, if it is async and declares `ask`); a target object, or a model, which is asked the input. Or a
            mapping of several by name: then there is a run for each.
        samples: a path; rows as mappings; a frame of pandas, polars or pyarrow; or `Sample` objects, which can be read
            twice. Rows and samples without an id get a hash of their content. Of rows, columns named input, question,
            text ... are the input, those named expected, reference, label ... the expected output.
        scorers: names (`"label"`), mappings as in a configuration (`{"length": 25}`), functions of `(output)`,
            `(output, expected)` or `(sample, output)`, or scorer objects.
        model: what answers prompts; a mapping of several by name gives a run for each prompt and model.
        judge: a model or a `Judge`, for all scorers that judge and have none of their own.
        store: a file, or None for `.steelyard/steelyard.db` here.
        options: `name`, a title for reports (by default the file's name, else `evaluation`); `jury="majority"`,
            or `"mean"`, which makes one verdict of those of several judges with names; any field of
            `Options` (`concurrency=64`) or of `RunConfig` (`resume=run.id`); `workers`, a number of processes that
            share the samples, `ray`, `ray://HOST:10001` or an executor, which need a PostgreSQL store, and targets and
            scorers from modules that can be imported.

    Returns:
        A Run; `Runs`, a sequence of them, for a mapping of targets or of models.

    Raises:
        ConfigError: found before the first call.
        DataError: likewise.
        StoreError: the results could not be kept.
        RunError: a run ended as broken; `on_broken="return"` returns it instead.
    """
    return wait_for(aevaluate(target, samples, scorers, model=model, judge=judge, store=store, **options))


async def aevaluate(
    target: Any,
    samples: Any,
    scorers: Sequence[Any],
    *,
    model: Any = None,
    judge: Any = None,
    store: str | Path | None = None,
    **options: Unpack[EvaluationOptions],
) -> Any:
    """The same as `evaluate`, for async callers."""
    given: dict[str, Any] = {**options}
    known = EvaluationOptions.__optional_keys__ | EvaluationOptions.__required_keys__
    if unknown := next((key for key in given if key not in known), ""):
        raise ConfigError(f"evaluate() has no option {unknown!r}{did_you_mean(unknown, sorted(known))}")
    described = GivenEvaluation(
        target, samples, scorers, model, judge, name=given.pop("name", ""), jury=given.pop("jury", "")
    )
    of_suite = {key: given.pop(key) for key in [*given] if key in _OPTIONS}
    runs = await aevaluate_suite(described.suite(Options(**of_suite)), store=store, **given)
    return Runs(runs) if described.is_several else runs[0]
