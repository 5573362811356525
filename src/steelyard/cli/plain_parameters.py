"""Converts simple command-line parameters without pydantic, which typer uses for every parameter.

Importing pydantic and building its adapters takes as much CPU as the rest of a short command, while texts, paths
without conditions, flags and small whole numbers are easy to convert. Anything else is left to typer.
"""

# Why it is so, and what was rejected: docs/decisions/cli-light-start.md

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final, get_args, get_origin

_CHECKED: Final = "get_runtime_param"
"""The method with which a parameter of typer 0.2x builds its adapter; parameters of other versions are left alone."""
_DIGITS: Final = re.compile("[0-9]{1,9}")
_KINDS: Final = (str, Path, bool, int, float)


class PlainValue:
    """Replaces typer's adapter for one parameter, and calls it for a value that is not simple.

    Args:
        param: typer's parameter.
        kind: type of its values.
        several: whether it takes a list of values.
    """

    def __init__(self, param: Any, kind: type, *, several: bool) -> None:
        self._checked = getattr(param, _CHECKED)
        self._kind = kind
        self._several = several
        info = param.type_descriptor.parameter_info
        self._least = -math.inf if info.min is None else info.min
        self._most = math.inf if info.max is None else info.max

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as typer's adapter would convert it."""
        if value is None:
            return () if self._several else None
        if not self._several:
            plain = self._plain(value)
            return self._slow(value, param, ctx) if plain is None else plain
        if not isinstance(value, list | tuple):
            return self._slow(value, param, ctx)
        values = [self._plain(part) for part in value]
        return self._slow(value, param, ctx) if None in values else values

    def _plain(self, value: Any) -> Any:
        """The converted value; None if typer has to convert it."""
        if isinstance(value, self._kind):
            return value
        if self._kind is int and isinstance(value, str) and _DIGITS.fullmatch(value):
            return int(value) if self._least <= int(value) <= self._most else None
        return Path(value) if self._kind is Path and isinstance(value, str) else None

    def _slow(self, value: Any, param: Any, ctx: Any) -> Any:
        return self._checked().coerce(value, param=param, ctx=ctx)


def skip_pydantic(command: Any) -> None:
    """Make a command, its subcommands and `--help` convert simple parameters without pydantic."""
    original_get_params = command.get_params

    def params(ctx: Any) -> Any:
        parameters = original_get_params(ctx)
        for param in parameters:
            _make_plain(param)
        return parameters

    command.get_params = params
    for inner in getattr(command, "commands", {}).values():
        skip_pydantic(inner)


def _make_plain(param: Any) -> None:
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    several = get_origin(annotation) is list
    kind = get_args(annotation)[0] if several else annotation
    if kind in _KINDS and hasattr(param, _CHECKED) and _CHECKED not in vars(param):
        plain = PlainValue(param, kind, several=several)
        setattr(param, _CHECKED, lambda: plain)
