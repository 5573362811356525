"""What every call passes: one retry policy, one gate per endpoint."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """What is done about a passing fault (429, 5xx, dropped, truncated, malformed, empty, hang).

    Args:
        attempts: sendings of one call at most.
        total_s: limit for one call, waits included, in seconds.
        base_s: the first back-off is drawn below this; it doubles with every attempt.
        cap_s: no back-off of our own is longer; a longer Retry-After is obeyed within `total_s`.
    """

    attempts: int = 20
    total_s: float = 600.0
    base_s: float = 0.5
    cap_s: float = 30.0
