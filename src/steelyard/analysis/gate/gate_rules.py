"""Parses the entries under `gate:` into rules."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from steelyard.analysis.conditions import SIGNS
from steelyard.errors import ConfigError

NO_REGRESSION: Final = "no_regression"
BASELINE: Final = "baseline"
MIN_SCORED: Final = "min_scored"
"""The three keys of a gate that are not scores."""
USUAL_SCORED: Final = 0.9

_NAME: Final = re.compile(
    r"(?P<score>[^\[\]]+?)(?:\.(?P<rate>answered|with_errors|corrected|macro|each))?(?:\[(?P<group>[^\[\]]+)\])?"
)
_FIGURE: Final = re.compile(
    r"(?P<rate>pass[@^]|latency(?=\.p)|(?:cost|ece|brier|majority|m[ai]cro_f1|balanced_accuracy|kappa)$)(?:\.p)?(?P<k>[1-9]\d*)?"
)
"""Names of rules that compare no score's mean."""
_BOUND: Final = re.compile(
    r"\s*(?P<operator>>=|<=|>|<)(?P<whole>!?)\s*(?P<limit>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*", re.IGNORECASE
)
OF_EXAMS: Final = frozenset({"ece", "brier", "majority"})
OF_CLASSES: Final = frozenset({"macro_f1", "micro_f1", "balanced_accuracy", "kappa"})
"""Figures of an exam's confidences and repeats, and over the classes of a score."""
ALONE: Final = frozenset({"cost", *OF_EXAMS, *OF_CLASSES})
"""Figures without a number; a score of such a name comes first."""
_FIGURES: Final = frozenset({"each", "pass@", "pass^", "latency", *ALONE})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a gate.

    Args:
        text: the rule as it was written.
        score: the score's name; of a figure that is no score's, the rule's own name.
        group: one group; "" is the whole run.
        rate: which of the score's means, or another figure, see `gate_figures`.
        operator: `>=`, `>`, `<=` or `<`.
        limit: in units of the score (0.6 for 60 %).
        whole_interval: whether the whole interval must satisfy it, not only the value.
        k: of pass@k and pass^k; of a latency the quantile in percent; else 0.
    """

    text: str
    score: str
    group: str
    rate: str
    operator: str
    limit: float
    whole_interval: bool
    k: int = 0

    @property
    def is_figure(self) -> bool:
        """Whether it compares a figure that is no score's mean."""
        return self.rate in _FIGURES

    def holds(self, value: float) -> bool:
        """Whether a value meets the limit."""
        return SIGNS[self.operator](value, self.limit)


@dataclass(frozen=True, slots=True)
class Margin:
    """One entry of `no_regression`: the largest loss against the baseline that is tolerated, in units of the score.

    Args:
        text: the rule as it is shown.
        score: the score's name.
        group: one group; "" is the whole run.
        answered: only the samples that both sides answered.
        margin: 0 or more (0.02 is two points of a rate).
    """

    text: str
    score: str
    group: str
    answered: bool
    margin: float

    @property
    def name(self) -> str:
        """The score as it was written, with its group."""
        return self.text.removeprefix(f"{NO_REGRESSION} ").rpartition(" ")[0]


@dataclass(frozen=True, slots=True)
class GateRules:
    """A whole gate.

    Args:
        rules: on the run itself.
        margins: against a baseline.
        baseline: its name.
        min_scored: the least share of the records that could have the score and have it, in [0, 1]; below it no rule
            holds.
    """

    rules: tuple[Rule, ...] = ()
    margins: tuple[Margin, ...] = ()
    baseline: str = ""
    min_scored: float = USUAL_SCORED


def parse_rule(name: str, bound: Any) -> Rule:
    """Parse one entry of `gate:`.

    Raises:
        ConfigError: it does not follow the grammar; the message shows one that does.

    >>> parse_rule("solve_rate[hexagrams]", ">=! 0.6").whole_interval
    True
    """
    figure = _figure(name.strip())
    name_match = figure or _left(name)
    rate, group = name_match["rate"] or "headline", "" if figure else name_match["group"] or ""
    if rate == "corrected" and group:
        raise ConfigError(f"gate: {name}: a score is corrected by labels over the whole run, not over a group")
    bound_match = _BOUND.fullmatch(bound) if isinstance(bound, str) else None
    if bound_match is None:
        raise ConfigError(
            f"gate: {name}: {bound!r} is not a rule; write an operator (>=, >, <=, <; with ! for the whole interval) "
            f'and a number, such as ">= 0.6" or ">=! 0.6"'
        )
    if bound_match["whole"] and rate in {"each", "cost", "ece", "micro_f1", "kappa"}:
        raise ConfigError(f"gate: {name}: {bound!r}: this figure has no interval; leave out the !")
    return Rule(
        text=f"{name.strip()} {bound.strip()}",
        score=name.strip() if figure else name_match["score"],
        group=group,
        rate=rate,
        operator=bound_match["operator"],
        limit=float(bound_match["limit"]),
        whole_interval=bound_match["whole"] == "!",
        k=int(figure["k"] or 0) if figure else 0,
    )


def parse_margin(name: str, margin: Any) -> Margin:
    """Parse one entry of `no_regression`.

    Raises:
        ConfigError: no score is named, two runs cannot be compared by its rate, or the margin is not 0 or more.

    >>> parse_margin("solve_rate[hexagrams]", 0.02).text
    'no_regression solve_rate[hexagrams] 0.02'
    """
    name_match = _left(name)
    if (
        _figure(name.strip())
        or name_match["rate"] in {"with_errors", "corrected", "macro", "each"}
        or (name_match["rate"] and name_match["group"])
    ):
        raise ConfigError(
            f"gate: {NO_REGRESSION}: {name}: a margin is for a score, its .answered or one [group] of it, "
            "not for .with_errors, .corrected, .macro or .each, pass^k, latency, cost, nor for .answered and a [group]"
        )
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not math.isfinite(margin):
        raise ConfigError(
            f"gate: {NO_REGRESSION}: {name}: expected the largest loss that is tolerated, in units of the score "
            f"(0.02 is two points of a rate), not {margin!r}"
        )
    if margin < 0:
        raise ConfigError(
            f"gate: {NO_REGRESSION}: {name}: the largest loss that is tolerated is 0 or more, not {margin:g}. "
            "For a score where lower is better, the loss is an increase"
        )
    text = f"{NO_REGRESSION} {name.strip()} {margin:g}"
    return Margin(text, name_match["score"], name_match["group"] or "", name_match["rate"] == "answered", float(margin))


def parse_gate(gate: Mapping[str, Any]) -> GateRules:
    """Parse everything under `gate:`.

    Raises:
        ConfigError: an entry cannot be read, or margins and baseline do not go together.
    """
    if not isinstance(gate, Mapping):  # a store is data of strangers
        raise ConfigError(f"gate: {gate!r} is not a mapping of scores to rules")
    margins, baseline = gate.get(NO_REGRESSION), gate.get(BASELINE)
    check_together(gate)
    if margins is not None and not isinstance(margins, Mapping):
        raise ConfigError(f"gate: {NO_REGRESSION}: {margins!r} is not a mapping; {_EXAMPLE}")
    return GateRules(
        tuple(
            parse_rule(name, bound) for name, bound in gate.items() if name not in {NO_REGRESSION, BASELINE, MIN_SCORED}
        ),
        tuple(parse_margin(name, margin) for name, margin in (margins or {}).items()),
        baseline.strip() if isinstance(baseline, str) else "",
        parse_min_scored(gate.get(MIN_SCORED, USUAL_SCORED)),
    )


def parse_min_scored(share: Any) -> float:
    """Parse `min_scored`.

    Raises:
        ConfigError: it is not a share.
    """
    with suppress(TypeError, ValueError):
        if not isinstance(share, bool) and 0 <= float(share) <= 1:
            return float(share)
    raise ConfigError(
        f"gate: {MIN_SCORED}: expected the least share of the records that have the score, from 0 to 1, not {share!r}"
    )


_EXAMPLE: Final = f"write {NO_REGRESSION}: {{solve_rate: 0.02}} and {BASELINE}: the run to compare with"


def check_together(gate: Mapping[str, Any]) -> None:
    """Refuse margins without a baseline, and a baseline without margins.

    Raises:
        ConfigError: which of the two is missing.
    """
    margins, baseline = gate.get(NO_REGRESSION), gate.get(BASELINE)
    if NO_REGRESSION in gate and not margins:
        raise ConfigError(f"gate: {NO_REGRESSION} names no score; {_EXAMPLE}")
    if BASELINE in gate and not (isinstance(baseline, str) and baseline.strip()):
        raise ConfigError(
            f"gate: {BASELINE}: expected a run's id, a target's name, 'latest' or a file that `steelyard baseline` "
            f"wrote, not {baseline!r}"
        )
    if margins and not baseline:
        raise ConfigError(
            f"gate: {NO_REGRESSION} needs a {BASELINE}: a run's id, a target's name, 'latest' or a file that "
            "`steelyard baseline` wrote"
        )
    if baseline and not margins:
        raise ConfigError(f"gate: nothing is compared with the {BASELINE}; {_EXAMPLE}")


def _figure(name: str) -> re.Match[str] | None:
    """The name of a figure that is no score's; None where it is the name of a score.

    Raises:
        ConfigError: pass@k, pass^k or a quantile without its number, or with one that is out of range.
    """
    match = _FIGURE.fullmatch(name)
    if match is None and not re.fullmatch(r"pass[@^].*|latency\.p.*", name):
        return None
    if match is None or (match["rate"] not in ALONE) != bool(match["k"]):
        raise ConfigError(f"gate: {name}: write pass^3, pass@3 or latency.p95, with a number of your own")
    if match["rate"] == "latency" and int(match["k"]) > 99:
        raise ConfigError(f"gate: {name}: a quantile lies between latency.p1 and latency.p99")
    return match


def _left(name: str) -> re.Match[str]:
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise ConfigError(
            f"gate: {name!r} names no score; write its name, optionally with .answered, .with_errors, "
            f".macro or .corrected and a [group] after it: solve_rate.answered[hexagrams]"
        )
    return match
