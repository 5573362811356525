"""A history in words: what the table of a terminal, a page and Markdown have in their cells."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from steelyard.report.history import History, PastRun, Told
from steelyard.report.numbers import interval_text, signed_text, value_text

MARKS: Final[Mapping[Told, str]] = MappingProxyType({"better": "▲", "worse": "▼", "no_evidence": "≈", "": ""})
LEGEND: Final = "▲ better, ▼ worse, ≈ no evidence of a difference, against the run before of the same target"
_WORDS: Final[Mapping[Told, str]] = MappingProxyType(
    {"better": "better", "worse": "worse", "no_evidence": "no evidence", "": ""}
)
_DIFFERS: Final[Mapping[str, str]] = MappingProxyType(
    {"samples": "other samples", "target": "target changed", "scorers": "scorers changed"}
)


def value_of(run: PastRun, history: History) -> str:
    """The score's headline."""
    return value_text(run.value, share=history.share)


def interval_of(run: PastRun, history: History) -> str:
    """Its interval; "" where there is none."""
    return interval_text(run.interval, share=history.share)


def count_of(run: PastRun) -> str:
    """What the mean is over."""
    return f"{run.score.headline.n:,}" if run.score else "0"


def change_of(run: PastRun, history: History, *, words: bool = False) -> str:
    """The difference to the run before with what it tells: `+9.2 ▲`; "" for a target's first run."""
    if run.change is None or run.change.difference is None:
        return ""
    told = (_WORDS if words else MARKS)[run.change.told]
    return f"{signed_text(run.change.difference, share=history.share)} {told}".rstrip()


def remarks_of(run: PastRun) -> str:
    """What a reader must know before holding a run against the one before; "" where that is nothing."""
    parts = [] if run.state == "finished" else [f"{run.state}, {run.done:,} of {run.planned:,} done"]
    stopping = run.stopping
    if stopping and stopping.used < stopping.planned:
        about = f" (interval: {run.score.note})" if run.score and run.score.note else ""
        parts.append(f"stopped early, {stopping.used:,} of {stopping.planned:,} samples used{about}")
    parts += [_DIFFERS[one] if one != "samples" else f"{_DIFFERS[one]} ({run.samples:,})" for one in run.differs]
    change = run.change
    if change and change.told and not change.paired:
        parts.append("told by intervals, not by pairs")
    elif change and change.paired and "samples" in run.differs:
        parts.append(f"change over {change.n:,} samples in both")
    return "; ".join(parts)


def how_told(history: History) -> str:
    """How a change was told to be one, and what many of them mean; "" where there is none."""
    tested = [one.change for one in history.runs if one.change and one.change.told]
    if not tested:
        return ""
    how = "paired by sample" if all(one.paired for one in tested) else "paired by sample where runs are small enough"
    several = f" Of {len(tested)} such tests, one in 20 finds a change where there is none." if len(tested) > 1 else ""
    return f"Changes are {how}, p < 0.05.{several}"
