"""Builds the scorers of a stored run from the run's own description of them, so that it can be scored again.

Only scorers of this package whose settings are plain values are built: one that needs a model, a file or code takes
those from a configuration of this person.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.building.build import Site, build, check_limits
from steelyard.building.nodes import from_plain
from steelyard.errors import ConfigError, boundary
from steelyard.types import Scorer


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
            check_limits(scorer)
    except ConfigError as error:
        raise ConfigError(f"{stage}: {error.message}") from error
    return scorer
