"""A Suite is samples + targets + scorers + options: the same object from Python and from a configuration file.

Its targets and scorers are checked before the first call, and without cost: a user's own code is imported by
`build_targets` alone, as the last thing before a run.
"""

# Why it is so, and what was rejected: docs/decisions/evaluation-one-path.md

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from steelyard.analysis.gate.gate_rules import parse_gate
from steelyard.analysis.intervals import Intervals
from steelyard.analysis.run_data import MARGIN
from steelyard.building.row_values import WithRowValues
from steelyard.building.wrapped import rebound
from steelyard.constraints import Seed, Share, Within, check_options
from steelyard.errors import ConfigError, boundary, expect_number
from steelyard.models.base import ModelInfo, is_model
from steelyard.models.budget import Budget
from steelyard.models.limits import Retry
from steelyard.models.litellm import cost_map
from steelyard.models.prices import PriceTable, read_prices
from steelyard.models.rate_limit import Rates
from steelyard.plain_json import digest_of
from steelyard.registry import name_of
from steelyard.runner import Step
from steelyard.scorers.judges.judge import Judge, SuiteJudges, judge_of
from steelyard.targets.prompt import Prompt
from steelyard.targets.replay import Pair
from steelyard.types import Sample, Scorer, Target, WrapsScorers

_ID_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class StopWhen:
    """Early stopping: a run ends as soon as its question is decided.

    Samples are then asked in an order that is drawn from the seed, and the decision is made sample by sample in that
    order, so it is the same at any concurrency and after any resume.

    Args:
        question: `full` asks for the result of the whole set, `population` whether it holds beyond this set; empty
            never stops.
        score: what is decided on; empty is the preference of a pair, else the headline score.
        threshold: is the mean above or below this value? Without one, the preference of a pair is compared with 0.5,
            and of several targets each is compared with the first.
        level: the probability of a right decision, whenever it is made.
    """

    question: Literal["", "full", "population"] = ""
    score: str = ""
    threshold: Annotated[float | None, Within(-math.inf)] = None
    level: Annotated[float, Within(0.5, 0.9999)] = 0.95


_SHARE_OF_ENDPOINTS: Final = 0.01
_SHARE_OF_CODE: Final = 0.2
"""An agent of 20 steps that fails in one sample of ten is a result; an endpoint that fails so often is a fault."""
_RUN_OWN_CODE: Final = frozenset({"function", "langchain", "llama_index"})
"""Registered targets that run code of the user's."""
_FEWEST_ERRORS: Final = 2
"""Errors that break no run, however small it is: with 20 samples 1 % would be none."""


def system_under_test(target: Any) -> Any:
    """The target itself, or the one that a simulated user talks to."""
    return getattr(target, "target", target)


def error_share(target: Target, options: Options) -> float:
    """The share of a run's records that may fail: set by the options, else the default of the target's kind."""
    if options.max_errors is not None:
        return options.max_errors
    target = system_under_test(target)
    of_this_package = type(target).__module__.startswith("steelyard.")
    is_own_code = not of_this_package or name_of("target", type(target)) in _RUN_OWN_CODE
    return _SHARE_OF_CODE if is_own_code else _SHARE_OF_ENDPOINTS


def most_errors(share: float, records: int) -> float:
    """The largest number of errors with which a run of `records` records is not broken.

    >>> most_errors(0.01, 20), most_errors(0.01, 1000), most_errors(0.2, 20), most_errors(0.0, 20)
    (2, 10.0, 4.0, 0)
    """
    return max(_FEWEST_ERRORS, share * records) if share else 0


@dataclass(frozen=True, slots=True)
class Options:
    """How a suite is run; none of these changes a score.

    Args:
        concurrency: samples that are worked on at the same time, per target.
        repeats: how often each sample is asked; each repeat is a call of its own. Reports then show pass@k (at least
            one of k repeats passes) and pass^k (each does) for k = 1 and for all repeats.
        pass_k: another k for which they are shown, at most `repeats`; 0 is none.
        margin: of prompts x models, by how much one may be worse than the best and still be as good, as a share of the
            score's scale: 0.03 is three points of a rate. The cheapest of those is named.
        seed: of every random choice (baselines, random subsets).
        max_errors: share of records in [0, 1] that may end in an error. A run is broken (exit code 4) if more than this
            share and more than 2 records failed, or all. By default 0.01, and 0.2 if the target is your own code: a
            function, an agent or a chain. 0 allows none.
        sample_timeout_s: limit for one sample, target and scorers together, in seconds.
        retry: how transient faults of an endpoint are retried.
        budget: limits on what may be sent; they hold across resumes.
        rates: requests and tokens per minute, for each endpoint.
        prices: what a million tokens cost: a table, a .json or .csv file with one, or `litellm` for the table that this
            package brings with it. Costs are then shown, and `budget.money` can be set.
        durability: `normal` survives a killed process, `full` a power cut as well (one fsync per batch).
        stop_when_decided: whether a run may end before all samples were asked.
        intervals: which intervals are shown with rates.
        allow_constant_prompt: let a target send the same words for every sample. Otherwise a template or body without
            the question (`{{question}}`, `{{transcript}}`, or a key of the metadata) is refused.
    """

    concurrency: Annotated[int, Within(1)] = 16
    repeats: Annotated[int, Within(1)] = 1
    pass_k: int = 0
    margin: Annotated[float, Within(0.0001, 1)] = MARGIN
    seed: Seed = 0
    max_errors: Share | None = None
    sample_timeout_s: Annotated[float, Within(0.001)] = 900.0
    retry: Retry = Retry()
    budget: Budget = Budget()
    rates: Rates = Rates()
    prices: PriceTable | Path | str = ""
    durability: Literal["normal", "full"] = "normal"
    stop_when_decided: StopWhen = StopWhen()
    intervals: Intervals = Intervals()
    allow_constant_prompt: bool = False

    def check(self) -> None:
        """Refuse a `pass_k` above the repeats, and a file of prices that cannot be read.

        Raises:
            ConfigError: which option, what was expected and what came.
        """
        expect_number("pass_k", self.pass_k, 0, self.repeats, whole=True)
        try:
            if self.prices and self.prices != "litellm":
                price_table(self.prices)
        except ConfigError as error:
            raise ConfigError(f"prices: {error.message}") from error


@dataclass(frozen=True, slots=True)
class Suite:
    """An evaluation to run: samples, targets, scorers and options.

    Args:
        name: a title for reports.
        kind: the suite's registered name (`choice`), or `custom`.
        samples: may be iterated several times; ids are unique. In a list or tuple, one without an id gets a hash of its
            content.
        targets: one run each, by name; a model alone is asked the question.
        scorers: applied to every output, in order.
        options: how it is run.
        tags: per target, report columns (`{"glm-4": {"knowledge_base": "no"}}`).
        gate: rules on scores that decide the exit code (`{"solve_rate": ">= 0.6"}`); `no_regression`, a mapping of
            score to margin, holds every run against `baseline`.
        primary: the score that headlines and charts show; "" is the first.
        source: what the samples were made of, for the manifest: file, columns, subset.
        notes: what a reader should know about the samples (bad rows that were skipped, hidden sheets).
        crossed: pairs of 0/1 scores to count against each other (`[("correct", "faithfulness")]`).
        breakdowns: keys of the samples' metadata by which scores are broken down, beside their groups (`document`).
        scorers_of: the scorers of single targets, in place of `scorers`.
        jury: how the verdicts of several judges on one thing become one when they are read: `vote`, and the `margin`
            within which a judge is called not worse than another; for the manifest.
        columns: keys of the samples' metadata that are columns of the dataset without a role: where nothing reads them,
            they may change while a run is resumed.
    """

    name: str
    kind: str
    samples: Iterable[Sample]
    targets: Mapping[str, Target]
    scorers: tuple[Scorer, ...]
    options: Options = Options()
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gate: Mapping[str, str | float | Mapping[str, float]] = field(default_factory=dict)
    primary: str = ""
    source: Any = None
    notes: tuple[str, ...] = ()
    crossed: tuple[tuple[str, str], ...] = ()
    breakdowns: tuple[str, ...] = ()
    scorers_of: Mapping[str, tuple[Scorer, ...]] = field(default_factory=dict)
    jury: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.samples, list | tuple):
            object.__setattr__(self, "samples", with_ids(self.samples))  # the class is frozen
        # A model alone is asked each sample's question, as by a prompt that is nothing but the question.
        if any(is_model(target) and not callable(target) for target in self.targets.values()):
            asked = {
                name: Prompt(target) if is_model(target) and not callable(target) else target
                for name, target in self.targets.items()
            }
            object.__setattr__(self, "targets", asked)
        if self.gate:
            parse_gate(self.gate)  # before anything is paid for

    def scorers_for(self, target: str) -> tuple[Scorer, ...]:
        """The scorers of one target, bound to it if they depend on what it was shown."""
        scorers = self.scorers_of.get(target, self.scorers)

        def bound(scorer: Any) -> Any:
            return _with_prices(_for_target(scorer, self.targets.get(target)), self.options)

        return tuple(rebound(scorer, bound) for scorer in scorers)

    @property
    def pairs(self) -> dict[str, Pair]:
        """The targets that are pairs: they present the answers of two other targets to a judge."""
        return {name: target for name, target in self.targets.items() if isinstance(target, Pair)}

    @property
    def all_scorers(self) -> list[Scorer]:
        """Every scorer, those of single targets included."""
        return [scorer for scorers in self.scorer_sets for scorer in scorers]

    @property
    def scorer_sets(self) -> list[tuple[Scorer, ...]]:
        """The scorers of the suite, and the sets that single targets have instead."""
        return [self.scorers, *self.scorers_of.values()]

    @property
    def parts(self) -> list[Any]:
        """Every target and every scorer."""
        return [*self.targets.values(), *self.all_scorers]


def _for_target(scorer: Any, target: Any) -> Any:
    """Bind a scorer to a target, for scorers that need to know what the target was shown."""
    bind = getattr(scorer, "for_target", None)
    return bind(target) if callable(bind) else scorer


def _with_prices(scorer: Any, options: Options) -> Any:
    """Give a scorer that computes costs of what outputs report the prices of the run."""
    bind = getattr(scorer, "with_prices", None)
    if not callable(bind):
        return scorer
    return bind(price_table(options.prices) if options.prices else None)


def price_table(prices: PriceTable | Path | str) -> PriceTable:
    """The table of prices that the options name.

    Raises:
        ConfigError: it cannot be read.
    """
    if isinstance(prices, PriceTable):
        return prices
    if prices == "litellm":
        return cost_map()
    return read_prices(Path(prices))


@dataclass(frozen=True, slots=True)
class ChosenSamples:
    """The samples with the given ids, in the order of the dataset.

    Args:
        samples: may be iterated several times.
        ids: of the samples to keep; ids that no sample has are ignored.
    """

    samples: Iterable[Sample]
    ids: Collection[str]

    def __iter__(self) -> Iterator[Sample]:
        return (sample for sample in self.samples if sample.id in self.ids)


def with_chosen(suite: Suite, ids: Collection[str], why: str) -> Suite:
    """The suite with some of its samples.

    Args:
        suite: whose.
        ids: of the samples to keep.
        why: what they have in common, for the run's notes.

    Raises:
        ConfigError: it has none of them.
    """
    chosen = ChosenSamples(suite.samples, ids)
    count = sum(1 for _ in chosen)
    if not count:
        raise ConfigError(f"none of these samples is {why}; samples of two runs are matched by their ids")
    return replace(suite, samples=chosen, notes=(*suite.notes, f"{count} samples were asked: {why}"))


def with_references(suite: Suite) -> Suite:
    """The suite with scorers that know all expected outputs of its dataset, for those that need them.

    Raises:
        ConfigError: a scorer refuses one of them.
    """
    scorers_of = {name: know_references(scorers, suite.samples) for name, scorers in suite.scorers_of.items()}
    return replace(suite, scorers=know_references(suite.scorers, suite.samples), scorers_of=scorers_of)


def know_references(scorers: Sequence[Scorer], samples: Iterable[Sample]) -> tuple[Scorer, ...]:
    """The scorers, bound to the expected outputs of all samples; these are read only if a scorer needs them.

    Raises:
        ConfigError: a scorer refuses one of them.
    """
    if not any(map(_needs_references, scorers)):
        return tuple(scorers)
    return bind_references(scorers, [(sample.id, sample.reference) for sample in samples if isinstance(sample, Sample)])


def bind_references(scorers: Sequence[Scorer], references: Sequence[tuple[str, Any]]) -> tuple[Scorer, ...]:
    """The scorers; those that depend on all expected outputs, such as labels, know them.

    Args:
        scorers: of a suite.
        references: each with the place or the id of its sample, for messages.

    Raises:
        ConfigError: a scorer refuses one of them.
    """

    def bound(scorer: Any) -> Any:
        return scorer.with_references(references) if hasattr(scorer, "with_references") else scorer

    return tuple(rebound(scorer, bound) for scorer in scorers)


def _needs_references(scorer: Any) -> bool:
    inner = scorer.parts if isinstance(scorer, WrapsScorers) else ()
    return hasattr(scorer, "with_references") or any(map(_needs_references, inner))


def check_parts(value: Any, *, within: str = "") -> None:
    """Check the options of a target, scorer or other object, and of everything inside it.

    Args:
        value: any object.
        within: the option that it is a value of, with a dot behind, for messages.

    Raises:
        ConfigError: what is wrong.
    """
    with boundary("config", type(value).__name__):
        check_options(value, within=within)
    if dataclasses.is_dataclass(value) and not isinstance(value, type | WithRowValues):
        for part_field in dataclasses.fields(value):
            part = getattr(value, part_field.name)
            for inner in part if isinstance(part, tuple) else (part,):
                check_parts(inner, within="" if callable(inner) else f"{part_field.name}.")


def build_targets(suite: Suite) -> None:
    """Import and build what targets take from the user's own modules, as the last thing before a run begins.

    Raises:
        ConfigError: which target, and what is wrong with it.
    """
    for name, target in suite.targets.items():
        tested = system_under_test(target)
        if hasattr(tested, "unwrap"):
            with boundary("config", name):
                Step.of("target", tested)


def constant_prompts(suite: Suite) -> Iterator[tuple[str, str]]:
    """Yield (target, message) for every target whose prompt is the same for every sample.

    The name is empty for a judge. Nothing is wrong where the options say that it is meant.
    """
    if suite.options.allow_constant_prompt:
        return
    hint = "; where that is meant, write options: {allow_constant_prompt: true}"
    for name, target in suite.targets.items():
        if missing := getattr(target, "without_question", ""):
            yield name, f"{missing}, so every sample would be asked the same{hint}"
    for scorer in suite.all_scorers:
        judge = judge_of(scorer)
        if judge and (missing := ModelInfo.of(judge.model).without_question):
            yield "", f"judge: {missing}, so the judge would see no answer{hint}"


def content_ids(contents: Iterable[Any]) -> Iterator[str]:
    """Yield an id for each content, in order; equal ones are numbered: `3f...`, `3f...#2`.

    Args:
        contents: plain JSON values, or values that are described as such.

    >>> first, second, third = content_ids([{"a": 1}, {"a": 2}, {"a": 1}])
    >>> third == f"{first}#2" and first != second
    True
    """
    seen: Counter[str] = Counter()
    for content in contents:
        digest = digest_of(content)[:_ID_DIGITS]
        seen[digest] += 1
        yield digest if seen[digest] == 1 else f"{digest}#{seen[digest]}"


def with_ids(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples; those without an id get one of their content."""
    missing = [sample for sample in samples if isinstance(sample, Sample) and not sample.id]
    if not missing:
        return samples
    ids = content_ids(missing)
    return tuple(
        replace(sample, id=next(ids)) if isinstance(sample, Sample) and not sample.id else sample for sample in samples
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteKeys:
    """Keys of every suite.

    Args:
        name: a title for reports; empty is the first file's name.
        tags: per target, report columns.
        options: concurrency, repeats, limits, budget.
        gate: rules on the scores that decide the exit code, `{solve_rate: ">= 0.6"}`; `no_regression` compares runs
            with a `baseline`.
    """

    name: str = ""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: Options = Options()
    gate: Mapping[str, str | float | Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSuiteKeys(SuiteKeys):
    """Keys of a suite whose scorers may ask judges; its key `judge` is its own.

    Args:
        judges: several of them, by name, in place of `judge`: each scorer that has none of its own is asked of each.
        jury: how the verdicts of judges with names become one when a run is read: `majority`, or `mean` (of
            ratings); empty for no jury.
    """

    judges: Mapping[str, Judge] = field(default_factory=dict)
    jury: Literal["", "majority", "mean"] = ""

    def judges_with(self, judge: Judge) -> SuiteJudges:
        """The judges that the keys name.

        Args:
            judge: that of the key `judge`.

        Raises:
            ConfigError: both `judge` and `judges` are set.
        """
        return SuiteJudges.given(judge, self.judges, self.jury)
