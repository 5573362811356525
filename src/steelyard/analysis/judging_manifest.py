"""What a manifest tells of pairs: whether its run judges pairs of answers, of which sides, and by which score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import ConfigError


def is_judging(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's target pairs the answers of two others."""
    target = manifest.get("target")
    return isinstance(target, Mapping) and isinstance(target.get("pair"), Mapping)


def only_answers(manifest: Mapping[str, Any]) -> bool:
    """Whether a run has no scores and was to have none: its answers are judged in another run."""
    return manifest.get("scores") == [] and not is_judging(manifest)


def sides_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """What the two sides of a judging run are called.

    Raises:
        ConfigError: it is no judging run.
    """
    if not is_judging(manifest):
        raise ConfigError("this run judges no pairs of answers: preferences are read of a run of the suite pairwise")
    pair = manifest["target"]["pair"]
    first, second = pair.get("names") or (pair.get("first", "A"), pair.get("second", "B"))
    return str(first), str(second)


def score_of(manifest: Mapping[str, Any]) -> str:
    """The preference among a run's scores: the one of that name, else its headline."""
    scores = manifest.get("scores") or ["preference"]
    return "preference" if "preference" in scores else str(manifest.get("primary") or scores[0])
