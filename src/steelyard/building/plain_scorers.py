"""Builds scorers from plain values: from Python dicts, and from cells of a dataset, which are not trusted."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.building.build import Site, build
from steelyard.building.nodes import Node, from_plain
from steelyard.errors import ConfigError
from steelyard.sql.results import SqlLimits
from steelyard.types import Scorer

_LIMITS: Final = frozenset(field.name for field in fields(SqlLimits))
"""Of time, rows and memory; patterns have one of time, by the same name as queries."""


def build_scorer(given: Any, where: str, *, folder: Path | None = None) -> Scorer:
    """A scorer from a name, a mapping as in a configuration, or a node of one; a function or object is one already.

    Args:
        given: what is written.
        where: for messages: the argument, or the file.
        folder: paths are resolved against it; None is the current one.

    Raises:
        ConfigError: one mistake with its place, or several as `ConfigErrors`.

    >>> build_scorer({"regex": "a+", "name": "letters"}, "scorers[0]").score_infos[0].name
    'letters'
    """
    if callable(given) and not isinstance(given, type):
        scorer: Scorer = given
        return scorer
    node = given if isinstance(given, Node) else from_plain(given, where)
    built: Scorer = build(Scorer, node, Site(folder or Path()))
    return built


def build_row_scorer(given: Any, where: str) -> Scorer:
    """A scorer from a row of a dataset: without code, models, endpoints and files, and with limits as by default.

    A judge among them has no model; the caller gives it the configuration's own.

    Args:
        given: a name, a mapping, or a node of it.
        where: the row, for messages: `rows.jsonl, row 7`.

    Raises:
        ConfigError: a mistake, or something that a row may not hold.
    """
    node = given if isinstance(given, Node) else from_plain(given, where)
    scorer: Scorer = build(Scorer, node, Site(Path(), stored=True))
    check_limits(scorer)
    return scorer


def check_limits(described: Any) -> None:
    """Refuse limits above the default ones in a scorer that strangers wrote: scoring would never end.

    Raises:
        ConfigError: which limit.
    """
    for field in fields(described):
        value = getattr(described, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                check_limits(part)
        if field.name in _LIMITS and value > field.default:
            raise ConfigError(f"{field.name} is {value:g}, and a store may set {field.default:g} at most")
