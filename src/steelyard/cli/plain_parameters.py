"""Texts, paths and flags of the command line without pydantic, by which typer checks every parameter.

Importing pydantic and building its adapters takes as much CPU as the rest of a short command; and for a text, a path
without conditions, a flag and a small whole number there is nothing to it. Anything else is left to typer.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final, get_args, get_origin

_CHECKED: Final = "get_runtime_param"
"""What a parameter of typer 0.2x builds its adapter with; parameters of other versions are left alone."""
_DIGITS: Final = re.compile("[0-9]{1,9}")
_KINDS: Final = (str, Path, bool, int, float)


class PlainValue:
    """Stands for typer's adapter at one parameter, and steps aside for a value that is not plain.

    Args:
        param: of typer.
        kind: what its values are.
        several: whether its value is a list of them.
    """

    def __init__(self, param: Any, kind: type, *, several: bool) -> None:
        self._checked = getattr(param, _CHECKED)
        self._kind = kind
        self._several = several
        info = param.type_descriptor.parameter_info
        self._least = -math.inf if info.min is None else info.min
        self._most = math.inf if info.max is None else info.max

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as typer's adapter would give it."""
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
        """A value of the right kind; None for one that typer has to look at."""
        if isinstance(value, self._kind):
            return value
        if self._kind is int and isinstance(value, str) and _DIGITS.fullmatch(value):
            return int(value) if self._least <= int(value) <= self._most else None
        return Path(value) if self._kind is Path and isinstance(value, str) else None

    def _slow(self, value: Any, param: Any, ctx: Any) -> Any:
        return self._checked().coerce(value, param=param, ctx=ctx)


def skip_pydantic(command: Any) -> None:
    """Let plain parameters of a command, of its subcommands and `--help` go without pydantic."""
    listed = command.get_params

    def params(ctx: Any) -> Any:
        found = listed(ctx)
        for param in found:
            _make_plain(param)
        return found

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
