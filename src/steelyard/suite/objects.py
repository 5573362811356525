"""A Suite is samples + targets + scorers + options: the same object from Python and from a configuration file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from steelyard.errors import ConfigError, expect_number
from steelyard.models.budget import Budget
from steelyard.models.limits import Retry
from steelyard.models.prices import PriceTable
from steelyard.models.rates import Rates
from steelyard.summary import Intervals
from steelyard.summary.stopping import Question
from steelyard.targets.pair import Pair
from steelyard.types import Sample, Scorer, Target


@dataclass(frozen=True, slots=True)
class StopWhen:
    """When a run may end before all samples were asked: as soon as its question is decided.

    Samples are then asked in an order that is drawn from the seed, and the decision is made sample by sample in that
    order, so it is the same at any concurrency and after any resume.

    Args:
        question: `full` asks what the whole set would say, `population` whether it holds beyond this set; empty never
            stops.
        score: what is decided on; empty is the preference of a pair, else the headline score.
        threshold: is the mean above or below this value? Without one, the preference of a pair is held against 0.5,
            and of several targets each is compared with the first.
        level: the probability of a right decision, whenever it is made.
    """

    question: Literal["", "full", "population"] = ""
    score: str = ""
    threshold: float | None = None
    level: float = 0.95

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: which key, what was expected and what came.
        """
        if self.question not in {"", *get_args(Question)}:
            raise ConfigError(
                f"stop_when_decided: question must be 'full' (what would the whole set say?) or 'population' (does it "
                f"hold beyond this set?), not {self.question!r}"
            )
        expect_number("level", self.level, 0.5, 0.9999)
        if self.threshold is not None:
            expect_number("threshold", self.threshold, -math.inf)


@dataclass(frozen=True, slots=True)
class Options:
    """How a suite is run; none of these changes a score.

    Args:
        concurrency: samples in work at once, per target.
        repeats: how often each sample is asked, each time with a draw of its own.
        seed: for everything that is drawn here (baselines, random subsets).
        max_errors: share of records in [0, 1] that may end in an error before the run counts as broken (exit code 4).
        sample_timeout_s: limit for one sample, target and scorers together, in seconds.
        retry: what is done about passing faults of an endpoint.
        budget: limits on what may be sent; they hold across resumes.
        rates: requests and tokens per minute, for each endpoint.
        prices: what a million tokens cost: a table, a .json or .csv file with one, or `litellm` for the table that this
            package brings with it. Costs are then shown, and `budget.money` can be set.
        durability: `normal` survives a killed process, `full` a power cut as well (one fsync per batch).
        stop_when_decided: whether a run may end before all samples were asked.
        intervals: which stand beside rates and means.
    """

    concurrency: int = 16
    repeats: int = 1
    seed: int = 0
    max_errors: float = 0.01
    sample_timeout_s: float = 900.0
    retry: Retry = Retry()
    budget: Budget = Budget()
    rates: Rates = Rates()
    prices: PriceTable | Path | str = ""
    durability: Literal["normal", "full"] = "normal"
    stop_when_decided: StopWhen = StopWhen()
    intervals: Intervals = Intervals()

    def check(self) -> None:
        """Find what cannot be meant, here and in `retry` and `budget`.

        Raises:
            ConfigError: which option, what was expected and what came.
        """
        expect_number("concurrency", self.concurrency, 1, whole=True)
        expect_number("repeats", self.repeats, 1, whole=True)
        expect_number("seed", self.seed, 0, whole=True)
        expect_number("max_errors", self.max_errors, 0, 1)
        expect_number("sample_timeout_s", self.sample_timeout_s, 0.001)
        parts = {
            "retry": Retry,
            "budget": Budget,
            "rates": Rates,
            "stop_when_decided": StopWhen,
            "intervals": Intervals,
        }
        for name, wanted in parts.items():
            if not isinstance(getattr(self, name), wanted):
                raise ConfigError(f"{name} must be a {wanted.__name__}, not {getattr(self, name)!r}")
        self.retry.check()
        self.budget.check()
        self.rates.check()
        self.stop_when_decided.check()
        self.intervals.check()
        if self.durability not in {"normal", "full"}:
            raise ConfigError(f"durability must be 'normal' or 'full', not {self.durability!r}")


@dataclass(frozen=True, slots=True)
class Suite:
    """What is to be run.

    Args:
        name: a title for reports.
        kind: the suite's registered name (`choice`), or `custom`.
        samples: may be iterated several times; ids are unique.
        targets: one run each, by name.
        scorers: applied to every output, in order.
        options: how.
        tags: per target, report columns (`{"glm-4": {"knowledge_base": "no"}}`).
        gate: rules on scores that decide the exit code (`{"solve_rate": ">= 0.6"}`); `no_regression`, a mapping of
            score to margin, holds every run against `baseline`.
        primary: the score that headlines and charts show; "" is the first.
        source: what the samples were made of, for the manifest: file, columns, subset.
        notes: what a reader should know of the samples (bad rows that were skipped, hidden sheets).
        crossed: pairs of 0/1 scores to count against each other (`[("correct", "faithfulness")]`).
        breakdowns: keys of the samples' metadata by which scores are broken down, beside their groups (`document`).
        scorers_of: the scorers of single targets, in place of `scorers`.
    """

    name: str
    kind: str
    samples: Iterable[Sample]
    targets: Mapping[str, Target]
    scorers: tuple[Scorer, ...]
    options: Options = Options()
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gate: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)
    primary: str = ""
    source: Any = None
    notes: tuple[str, ...] = ()
    crossed: tuple[tuple[str, str], ...] = ()
    breakdowns: tuple[str, ...] = ()
    scorers_of: Mapping[str, tuple[Scorer, ...]] = field(default_factory=dict)

    def scorers_for(self, target: str) -> tuple[Scorer, ...]:
        """The scorers of one target."""
        return self.scorers_of.get(target, self.scorers)

    @property
    def pairs(self) -> dict[str, Pair]:
        """The targets that show the answers of two others."""
        return {name: target for name, target in self.targets.items() if isinstance(target, Pair)}

    @property
    def parts(self) -> list[Any]:
        """Every target and every scorer."""
        return [
            *self.targets.values(),
            *self.scorers,
            *(one for several in self.scorers_of.values() for one in several),
        ]
