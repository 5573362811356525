"""The keys that suites have in common: what is the same in each is a field of one of these classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from steelyard.evaluation.objects import Options
from steelyard.scorers.judges.judge import Judge, SuiteJudges


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
