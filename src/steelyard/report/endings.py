"""Runs that a rule ended: what it decided, and what that saved."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.compare import Comparison
from steelyard.report.numbers import counted
from steelyard.summary import RunSummary


def saved_calls(summaries: Sequence[RunSummary]) -> str:
    """About how many calls were not sent because a rule ended the runs; "" where none was saved."""
    saved = [(one.target, one.calls_saved) for one in summaries if one.calls_saved]
    if not saved:
        return ""
    by_target = ", ".join(f"{count:,} of {target}" for target, count in saved) if len(saved) > 1 else ""
    total = counted(sum(count for _, count in saved), "call")
    return f"Ending early saved about {total}{f' ({by_target})' if by_target else ''}."


def own_decisions(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    """What rules decided, run by run; where the runs are compared, without what the comparison says already."""
    return [
        f"{one.target}: {one.stopping.sentence}"
        for one in summaries
        if one.stopping and not (comparison and one.stopping.against)
    ]
