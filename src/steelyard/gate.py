"""Rules on scores -> a verdict and an exit code.

    solve_rate: ">= 0.6"                 the headline value of the score, for every run
    solve_rate.answered: "> 0.7"         over what was answered; `.with_errors` counts errors as not solved
    "solve_rate[hexagrams]": ">= 0.5"    one group
    solve_rate: ">=! 0.6"                the whole 95 % interval: holds if all of it does, fails if none of it does,
                                         else the data cannot decide

A score or group that a run does not have (none of its samples was of that group) leaves the rule undecided.

Exit codes: 0 every rule holds; 1 a rule fails; 3 no rule fails, but one cannot be decided; 4 a run is broken or
unfinished, so that its rules say nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from steelyard.errors import ConfigError, did_you_mean
from steelyard.stats.intervals import Interval
from steelyard.summary import Mean, RunSummary
from steelyard.types import Json

Rate = Literal["headline", "answered", "with_errors"]
RuleState = Literal["holds", "fails", "undecided", "broken"]

_NAME: Final = re.compile(r"(?P<score>[^\[\]]+?)(?:\.(?P<rate>answered|with_errors))?(?:\[(?P<group>[^\[\]]+)\])?")
_BOUND: Final = re.compile(
    r"\s*(?P<operator>>=|<=|>|<)(?P<whole>!?)\s*(?P<limit>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*", re.IGNORECASE
)
_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_RATES: Final[Mapping[str, Rate]] = {"answered": "answered", "with_errors": "with_errors"}
_EXIT_CODES: Final[Mapping[RuleState, int]] = {"broken": 4, "fails": 1, "undecided": 3, "holds": 0}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a gate.

    Args:
        text: the rule as it was written.
        score: the score's name.
        group: one group; "" is the whole run.
        rate: which of the score's means.
        operator: `>=`, `>`, `<=` or `<`.
        limit: in units of the score (0.6 for 60 %).
        whole: whether the whole interval must satisfy it, not only the value.
    """

    text: str
    score: str
    group: str
    rate: Rate
    operator: str
    limit: float
    whole: bool


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule on one run."""

    rule: str
    run: str
    target: str
    state: RuleState
    value: float | None
    interval: Interval | None
    sentence: str

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        names = ("rule", "run", "target", "state", "value", "sentence")
        interval = list(self.interval) if self.interval else None
        return {**{name: getattr(self, name) for name in names}, "interval": interval}


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


def parse_rule(name: str, bound: str) -> Rule:
    """One entry of `gate:`.

    Raises:
        ConfigError: it does not follow the grammar; the message shows one that does.

    >>> parse_rule("solve_rate[hexagrams]", ">=! 0.6").whole
    True
    """
    left = _NAME.fullmatch(name.strip())
    if left is None:
        raise ConfigError(
            f"gate: {name!r} names no score; write its name, with .answered or .with_errors and a [group] after it "
            f"where wanted: solve_rate.answered[hexagrams]"
        )
    right = _BOUND.fullmatch(bound) if isinstance(bound, str) else None
    if right is None:
        raise ConfigError(
            f"gate: {name}: {bound!r} is no rule; write an operator (>=, >, <=, <; with ! for the whole interval) and "
            f'a number, such as ">= 0.6" or ">=! 0.6"'
        )
    return Rule(
        text=f"{name.strip()} {bound.strip()}",
        score=left["score"],
        group=left["group"] or "",
        rate=_RATES.get(left["rate"], "headline"),
        operator=right["operator"],
        limit=float(right["limit"]),
        whole=right["whole"] == "!",
    )


def judge_gate(rules: Mapping[str, str], summaries: Sequence[RunSummary]) -> GateVerdict:
    """Every rule on every run.

    Raises:
        ConfigError: a rule cannot be read.
    """
    parsed = [parse_rule(name, bound) for name, bound in rules.items()]
    return GateVerdict(tuple(_judge(rule, summary) for rule in parsed for summary in summaries))


def _judge(rule: Rule, summary: RunSummary) -> RuleResult:
    if summary.state != "finished":
        counts = f"{summary.done} of {summary.planned} records, {summary.errors} errors"
        sentence = f"{summary.target}: {rule.text} says nothing, as the run is {summary.state} ({counts})."
        return RuleResult(rule.text, summary.run, summary.target, "broken", None, None, sentence)
    found = summary.score(rule.score, rule.group)
    if found is None:
        sentence = f"{summary.target}: {rule.text} cannot be decided: {_missing(rule, summary)}."
        return RuleResult(rule.text, summary.run, summary.target, "undecided", None, None, sentence)
    mean: Mean = getattr(found, rule.rate)
    state = _state(rule, mean)
    verb = {"holds": "holds", "fails": "does not hold", "undecided": "cannot be decided"}[state]
    sentence = f"{summary.target}: {rule.text} {verb} ({_evidence(mean)})."
    return RuleResult(rule.text, summary.run, summary.target, state, mean.value, mean.interval, sentence)


def _missing(rule: Rule, summary: RunSummary) -> str:
    known = [score.name for score in summary.scores]
    if rule.score not in known:
        return f"the run has no score {rule.score!r}{did_you_mean(rule.score, known)}"
    groups = [group.group for group in summary.groups.get(rule.score, ())]
    return f"the run has no group {rule.group!r}{did_you_mean(rule.group, groups)}"


def _state(rule: Rule, mean: Mean) -> Literal["holds", "fails", "undecided"]:
    holds = _HOLDS[rule.operator]
    if not rule.whole:
        if mean.value is None:
            return "undecided"
        return "holds" if holds(mean.value, rule.limit) else "fails"
    if mean.interval is None:
        return "undecided"
    # Every operator is monotone, so an interval satisfies or violates it as a whole when both its ends do.
    ends = [holds(end, rule.limit) for end in mean.interval]
    if all(ends):
        return "holds"
    return "undecided" if any(ends) else "fails"


def _evidence(mean: Mean) -> str:
    if mean.value is None:
        return "nothing was scored"
    limits = "no interval" if mean.interval is None else "95 % interval {:.4g} to {:.4g}".format(*mean.interval)
    return f"{mean.value:.4g}, {limits}, n={mean.n}"
