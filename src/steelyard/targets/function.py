"""A Python function as target, named by its import path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError, boundary


@dataclass(frozen=True, slots=True)
class Function:
    """A function of yours: it gets the sample, and Ask where it declares `ask`.

    Args:
        function: `package.module:name`; the current folder is searched too.
    """

    function: str

    def check(self) -> None:
        """Find the function before anything is run.

        Raises:
            ConfigError: there is none of that name.
        """
        self.unwrap()

    def unwrap(self) -> Callable[..., Any]:
        """The function itself."""
        return _find(self.function)


@lru_cache(maxsize=64)
def _find(path: str) -> Callable[..., Any]:
    found = find_object(path)
    if not callable(found):
        raise ConfigError(f"{path!r} is a {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def find_object(path: str) -> Any:
    """What stands at an import path, `package.module:name`; the current folder is searched too.

    Raises:
        ConfigError: there is nothing of that name, or its module cannot be imported; the cause is chained.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ConfigError(f"{path!r} is no import path: write package.module:name")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    with boundary("config", f"{path!r} cannot be imported"):
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    return found
