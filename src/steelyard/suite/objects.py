"""A Suite is samples + targets + scorers + options: the same object from Python and from a configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.errors import ConfigError, expect_number
from steelyard.models.budget import Budget
from steelyard.models.limits import Retry
from steelyard.types import Sample, Scorer, Target


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
        durability: `normal` survives a killed process, `full` a power cut as well (one fsync per batch).
    """

    concurrency: int = 16
    repeats: int = 1
    seed: int = 0
    max_errors: float = 0.01
    sample_timeout_s: float = 900.0
    retry: Retry = Retry()
    budget: Budget = Budget()
    durability: Literal["normal", "full"] = "normal"

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
        for name, wanted in (("retry", Retry), ("budget", Budget)):
            if not isinstance(getattr(self, name), wanted):
                raise ConfigError(f"{name} must be a {wanted.__name__}, not {getattr(self, name)!r}")
        self.retry.check()
        self.budget.check()
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
        gate: rules on scores that decide the exit code (`{"solve_rate": ">= 0.6"}`).
        primary: the score that headlines and charts show; "" is the first.
        source: what the samples were made of, for the manifest: file, columns, subset.
        notes: what a reader should know of the samples (bad rows that were skipped, hidden sheets).
        crossed: pairs of 0/1 scores to count against each other (`[("correct", "faithfulness")]`).
        breakdowns: keys of the samples' metadata by which scores are broken down, beside their groups (`document`).
    """

    name: str
    kind: str
    samples: Iterable[Sample]
    targets: Mapping[str, Target]
    scorers: tuple[Scorer, ...]
    options: Options = Options()
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gate: Mapping[str, str] = field(default_factory=dict)
    primary: str = ""
    source: Any = None
    notes: tuple[str, ...] = ()
    crossed: tuple[tuple[str, str], ...] = ()
    breakdowns: tuple[str, ...] = ()
