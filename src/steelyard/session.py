"""What is open while a run runs: connections, gates, budget, journal; and Ask, the one way to a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits over all runs of one evaluation, resumes included; None is no limit.

    Args:
        calls: requests that the endpoint may have charged for.
        tokens: input and output tokens together.
    """

    calls: int | None = None
    tokens: int | None = None
