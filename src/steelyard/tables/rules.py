"""Rule sets by name: what each takes as a table, compares as a cell and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, get_args

from steelyard.errors import ConfigError
from steelyard.tables.documented import documented_metrics
from steelyard.tables.folded import early_release, late_release
from steelyard.tables.measure import ALL_METRICS, Measure, Question, RuleName
from steelyard.tables.typed import typed_metrics
from steelyard.tables.unfolded import unfolded_metrics

Rules = Callable[[Question], dict[str, Measure]]

RULES: Final[Mapping[RuleName, Rules]] = {
    "steelyard": typed_metrics,
    "documented": documented_metrics,
    "qatch-0.2.2": early_release,
    "qatch-0.2.5": late_release,
    "qatch-1.0.36": unfolded_metrics,
}


def rules_of(name: str) -> Rules:
    """The rule set of this name.

    Raises:
        ConfigError: there is none.
    """
    for known in get_args(RuleName):
        if known == name:
            return RULES[known]
    raise ConfigError(f"there are no table rules {name!r}; known: {', '.join(RULES)}")


def check_metrics(names: tuple[str, ...]) -> None:
    """Refuse a metric that no rule set has.

    Raises:
        ConfigError: which, and what is known.
    """
    for name in names:
        if name not in ALL_METRICS:
            raise ConfigError(f"there is no table metric {name!r}; known: {', '.join(ALL_METRICS)}")
