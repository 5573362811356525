"""What sections on figures share: a figure with its interval as cells, and the parts of several runs as one section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from steelyard.analysis.numbers import MISSING, interval_text, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import Section, TableCell, non_empty
from steelyard.stats.intervals import Interval


class Figure(Protocol):
    """A mean, a share, a coefficient or a difference: what has a value and an interval, each None where unknown."""

    @property
    def value(self) -> float | None:
        """The figure itself."""
        ...

    @property
    def interval(self) -> Interval | None:
        """Its limits."""
        ...


def figure_cell(figure: Figure | None, *, share: bool) -> TableCell:
    """A figure with its interval in one cell; None is shown as missing."""
    value, limits = (figure.value, figure.interval) if figure else (None, None)
    text = interval_text(limits, share=share)
    return TableCell(value_text(value, share=share), (text,) if text else (), value=value)


def figure_cells(figure: Figure | None, *, share: bool, strong: bool = False) -> tuple[TableCell, TableCell]:
    """A figure and its interval in cells of their own."""
    value, limits = (figure.value, figure.interval) if figure else (None, None)
    text = TableCell(value_text(value, share=share), strong=strong, value=value)
    return text, TableCell(interval_text(limits, share=share) or MISSING)


def section_of_runs(
    title: str,
    key: str,
    runs: tuple[Sequence[RunSummary], Sequence[str]],
    parts_of: Callable[[RunSummary, str], Iterable[Section]],
) -> Section:
    """The parts of each run in one section; empty where no run has any.

    Args:
        title: of the section.
        key: of the section.
        runs: their summaries, and what the page calls each.
        parts_of: (summary, text that is added to headings where there are several runs) -> its parts.
    """
    several = len(runs[0]) > 1
    named = zip(*runs, strict=True)
    parts = [part for summary, label in named for part in parts_of(summary, f" ({label})" if several else "")]
    return Section(title, parts=non_empty(parts), key=key)
