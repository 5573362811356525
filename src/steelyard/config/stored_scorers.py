"""Builds the scorers of a stored run from the run's own description of them, so that it can be scored again.

Only scorers of this package whose settings are plain values are built: one that needs a model, a file or code takes
those from a configuration of this person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.building.build import Site, build
from steelyard.building.nodes import from_plain
from steelyard.errors import ConfigError, boundary
from steelyard.sql.results import SqlLimits
from steelyard.types import Scorer

_LIMITS: Final = frozenset(field.name for field in fields(SqlLimits))
"""Of time, rows and memory; patterns have one of time, by the same name as queries."""


def stored_scorers(described: Mapping[str, Any]) -> tuple[Scorer, ...]:
    """The scorers that a run's manifest describes; nothing is opened, imported or looked up for them.

    Args:
        described: stage -> `{name: {fields}}`, as `registry.describe` wrote it.

    Raises:
        ConfigError: one of them cannot be built from plain values alone; the message begins with its stage.
    """
    return tuple(_stored_scorer(stage, scorer) for stage, scorer in described.items())


def _stored_scorer(stage: str, described: Any) -> Scorer:
    if not isinstance(described, Mapping):
        raise ConfigError(f"{stage} needs code: {described!r:.80}")
    try:
        with boundary("config", stage):
            scorer: Scorer = build(Scorer, from_plain(described, "the store"), Site(Path(), stored=True))
            _check_limits(scorer)
    except ConfigError as error:
        raise ConfigError(f"{stage}: {error.message}") from error
    return scorer


def _check_limits(described: Any) -> None:
    """Refuse limits above the default ones: with hours for each pattern or query, scoring would never end."""
    for field in fields(described):
        value = getattr(described, field.name)
        if is_dataclass(value):
            _check_limits(value)
        elif field.name in _LIMITS and value > field.default:
            raise ConfigError(f"{field.name} is {value:g}, and a store may set {field.default:g} at most")
