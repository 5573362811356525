"""Rule sets and metrics by name: what each rule set takes as a table, compares as a cell and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from steelyard.errors import ConfigError, did_you_mean
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
        ConfigError: there is none; the message suggests one.
    """
    check_rules(name)
    return next(RULES[known] for known in get_args(RuleName) if known == name)


def metric_names(metrics: Any) -> list[str]:
    """The names of metrics given as names, tag classes or tags.

    Args:
        metrics: one or several.

    Raises:
        ConfigError: there is no such metric, or none at all.

    >>> metric_names("cell_recall")
    ['cell_recall']
    """
    several = metrics if isinstance(metrics, list | tuple | set | frozenset) else [metrics]
    names = [one if isinstance(one, str) else getattr(one, "metric", repr(one)) for one in several]
    if not names:
        raise ConfigError(f"metrics names none; known: {', '.join(ALL_METRICS)}")
    for name in names:
        if name not in ALL_METRICS:
            raise ConfigError(f"there is no metric {name!r}{did_you_mean(name, ALL_METRICS)}")
    return list(dict.fromkeys(names))


def check_rules(rules: Any) -> None:
    """Refuse a rule set that there is not.

    Raises:
        ConfigError: the message suggests one.
    """
    known = get_args(RuleName)
    if rules not in known:
        raise ConfigError(f"there are no rules {rules!r}{did_you_mean(str(rules), known)}")
