"""A Python function as target, named by its import path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.building.import_paths import check_function, describe_path, find_function


@dataclass(frozen=True, slots=True)
class Function:
    """Calls a function of yours with the sample, and with Ask where it declares `ask`.

    Args:
        function: `package.module:name`; the current folder is searched too.
    """

    function: str

    def check(self) -> None:
        """Find the function in the source of its module; importing it may be expensive and happens later.

        Raises:
            ConfigError: there is none of that name.
        """
        check_function(self.function)

    @property
    def may_ask(self) -> bool:
        """Whether the function declares `ask`, so that a dry run has to call it to count what it asks."""
        return "ask" in (describe_path(self.function).arguments or ())

    def unwrap(self) -> Callable[..., Any]:
        """Import and return the function."""
        return find_function(self.function)
