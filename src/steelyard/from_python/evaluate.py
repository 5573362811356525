"""`evaluate`: one target or several, prompts or functions, over rows from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack, overload

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judges.rater_findings_values import JuryVote
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
from steelyard.scorers import Judge
from steelyard.store import Run
from steelyard.types import Sample, Scorer, Target
from steelyard.workers.executors import Workers, aevaluate_suite

if TYPE_CHECKING:
    from steelyard.from_python.runs import Runs


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
    if not described.is_several:
        return runs[0]
    from steelyard.from_python.runs import Runs  # comparisons and charts take a tenth of the start of a single run

    return Runs(runs)
