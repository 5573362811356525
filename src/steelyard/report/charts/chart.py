"""The content of charts: rows, series, values and words; `svg` draws them.

A value is in the unit of its axis: percent where it is a share. Colour is never the only way to tell marks apart:
series also differ in shape, rows are named, and each value is written next to its interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class ConditionLink:
    """Samples of a run that meet a condition, which a page may link to.

    Args:
        run: its id.
        where: the condition, as `analysis.conditions` reads it.
    """

    run: str
    where: str


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One value in a chart of rows.

    Args:
        row: its row, 0-based from the top.
        series: its series, 0-based; with one series the same for all or a number each.
        value: None shows only the text.
        low: lower end of its interval; None where there is none; likewise `high`.
        text: written next to it.
        decided: False draws a hollow mark, as nothing may be concluded from it.
        link: the samples that its bar counts.
    """

    row: int
    series: int
    value: float | None
    text: str
    low: float | None = None
    high: float | None = None
    decided: bool = True
    link: ConditionLink | None = None


def interval_point(
    row: int,
    series: int,
    value_and_interval: tuple[float | None, Interval | None],
    text: str,
    *,
    factor: float = 100,
    decided: bool = True,
) -> ChartPoint:
    """A value with its interval as a point, in units of the axis: of a share in percent, times 100."""
    value, interval = value_and_interval
    if value is None:
        return ChartPoint(row, series, None, text, decided=decided)
    low, high = (factor * end for end in interval) if interval else (None, None)
    return ChartPoint(row, series, factor * value, text, low, high, decided)


@dataclass(frozen=True, slots=True)
class RowChart:
    """Dots with intervals, or bars from zero: a row per name, a point per row and series.

    Args:
        title: above the plot; cut if there is no space.
        description: the chart in words, for those who do not see it.
        rows: names from the top.
        points: in any order.
        shape: of the marks.
        series: names, in order; several have a legend.
        domain: ends of the axis; None is taken from the data.
        lines: (value, words) of upright lines to compare with.
    """

    title: str
    description: str
    rows: tuple[str, ...]
    points: tuple[ChartPoint, ...]
    shape: Literal["dots", "bars"] = "dots"
    series: tuple[str, ...] = ()
    domain: tuple[float, float] | None = None
    lines: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MatrixChart:
    """A coloured matrix of percentages with as many columns as rows; columns are headed by the numbers of the rows.

    Args:
        title: above the plot; likewise `description`, `rows` as in `RowChart`.
        values: per row a percentage for each column; None where there is none.
    """

    title: str
    description: str
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class SequenceChart:
    """A confidence sequence over the number of samples, with the threshold and the point where the run stopped.

    Args:
        title: above the plot.
        points: (samples, mean, low, high) in percent.
        domain: ends of the axis of percentages.
        most: samples at the right end.
        threshold: in percent.
        decided_after: samples at the decision; None where there was none before the end.
    """

    title: str
    description: str
    points: tuple[tuple[int, float, float, float], ...]
    domain: tuple[float, float]
    most: int
    threshold: float
    decided_after: int | None


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """One run in a timeline.

    Args:
        days: when the run was started, in days since the first run of the chart.
        series: index of the target, 0-based.
        value: None leaves the mark out; `low` and `high` are the interval's ends, or the value.
        notes: numbers of its notes, above the plot.
        new_samples: whether it has other samples than the previous run of its target.
        label: its meaning, if it has a link.
        link: address of the run; "" for none.
    """

    days: float
    series: int
    value: float | None
    low: float | None
    high: float | None
    notes: str
    new_samples: bool
    label: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class TimelineChart:
    """A score over time, oldest run at the left, with the band of its intervals and flags for notes.

    Args:
        title: above the plot.
        description: the chart in words.
        series: names of the targets.
        points: oldest first; their distances are those in time.
        domain: ends of the vertical axis.
        ticks: (days since the first run, date as text) below the axis.
    """

    title: str
    description: str
    series: tuple[str, ...]
    points: tuple[TimelinePoint, ...]
    domain: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class SharePart:
    """One part of a bar of shares.

    Args:
        kind: `a`, `tie`, `inconsistent`, `unparsed`, `refused` or `b`: its colour or filling.
        name: what it is called.
        count: how many, written out.
        text: its percentage, written out.
        begin: start of the part, in [0, 1].
        share: its size, in [0, 1].
    """

    kind: str
    name: str
    count: str
    text: str
    begin: float
    share: float


@dataclass(frozen=True, slots=True)
class ShareBar:
    """One bar over all pairs, each part with its name and figures."""

    parts: tuple[SharePart, ...]

    @property
    def description(self) -> str:
        """The bar in words."""
        return ", ".join(f"{part.name} {part.text}" for part in self.parts)


Chart = RowChart | MatrixChart | SequenceChart | TimelineChart | ShareBar
