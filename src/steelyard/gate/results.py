"""What came of every rule on every run, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from steelyard.stats.intervals import Interval
from steelyard.summary import RunSummary
from steelyard.types import Json

RuleState = Literal["holds", "fails", "undecided", "broken"]

_EXIT_CODES: Final[Mapping[RuleState, int]] = {"broken": 4, "fails": 1, "undecided": 3, "holds": 0}


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule on one run.

    Args:
        rule: as it was written.
        run: the run's id; `target` its target.
        state: what came of it.
        value: what was held against the limit: a mean, or the difference from the baseline.
        interval: of that value.
        sentence: for a person.
        baseline: id of the run it was compared with; "" where the rule compares nothing.
        notes: what a reader must know of the two runs before believing a comparison.
    """

    rule: str
    run: str
    target: str
    state: RuleState
    value: float | None
    interval: Interval | None
    sentence: str
    baseline: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        names = ("rule", "run", "target", "state", "value", "sentence", "baseline")
        interval = list(self.interval) if self.interval else None
        return {**{name: getattr(self, name) for name in names}, "interval": interval, "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Every rule on every run, and the exit code that follows: 4 before 1 before 3 before 0."""

    results: tuple[RuleResult, ...]

    @property
    def exit_code(self) -> int:
        """0 holds, 1 fails, 3 cannot be decided, 4 a run is broken or unfinished."""
        states = {result.state for result in self.results}
        return next((code for state, code in _EXIT_CODES.items() if state in states), 0)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One per rule and run."""
        return tuple(result.sentence for result in self.results)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON."""
        return {"exit_code": self.exit_code, "results": [result.to_json() for result in self.results]}


def unfinished(rule: str, summary: RunSummary) -> RuleResult:
    """What a rule says of a run that has not come to its end: nothing."""
    counts = f"{summary.done} of {summary.planned} records, {summary.errors} errors"
    sentence = f"{summary.target}: {rule} says nothing, as the run is {summary.state} ({counts})."
    return RuleResult(rule, summary.run, summary.target, "broken", None, None, sentence)


def stopped_early(summary: RunSummary) -> bool:
    """Whether a stopping rule ended the run, so that intervals for a fixed number of samples do not hold."""
    return summary.stopping is not None and summary.stopping.used < summary.stopping.planned
