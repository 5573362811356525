"""A Python function as target, named by its import path."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.building.import_paths import UserFunction


@dataclass(frozen=True, slots=True)
class Function(UserFunction):
    """Calls a function of yours with the sample, and with Ask where it declares `ask`."""
