"""A release's exception is a result as well: there is no number, and the reason says which exception."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from steelyard.tables.measure import Measure

RAISED: Final = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
"""What the releases let through for tables that they cannot take."""


def attempt(release: str, compute: Callable[[], float]) -> Measure:
    """What a release gives: its number, or none and the reason.

    Args:
        release: its version.
        compute: gives the number, or raises what the release raises.

    >>> attempt("0.2.5", lambda: 1 / 0)
    Measure(value=None, reason='QATCH 0.2.5 raises ZeroDivisionError', flags=())
    """
    try:
        value = compute()
    except RAISED as error:
        return Measure(None, f"QATCH {release} raises {type(error).__name__}")
    return Measure(None, f"QATCH {release} gives NaN") if math.isnan(value) else Measure(value)


def lacks_accuracy(release: str) -> Measure:
    """What a rule set without execution accuracy says."""
    return Measure(None, f"{release} has no execution_accuracy")
