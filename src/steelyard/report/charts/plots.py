"""Charts on two axes of numbers: every sample's two values as a cloud of points, and a number over a count.

Points of equal values would overlap. While there are few, they are placed side by side, so that each can be selected
and links to its sample. Many are drawn as one circle per pair of values, which grows with their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.plain_json import grouped
from steelyard.report.charts.canvas import (
    MARKS,
    TICKS,
    TITLE,
    AxisScale,
    Canvas,
    SvgDrawing,
    SvgLine,
    SvgMark,
    SvgPath,
    SvgText,
    apart,
    level_axis,
    line_path,
    room_of_figures,
    upright_axis,
    width_of,
)

MOST_LINKED: Final = 500
"""Most points that each get a mark of their own."""
_PLOT: Final = 320
_NAME: Final = 22
"""Pixels for the name of an axis."""
_TOP: Final = TITLE + _NAME
_GOLDEN: Final = math.pi * (3 - math.sqrt(5))
_STEP: Final = 6.5
"""Pixels from the first point of a pair of values to the second; a mark is 9 wide."""
_LARGEST: Final = 16
_LOOKS: Final = {
    "above": ("s2", "triangle-up"),
    "below": ("s1", "triangle-down"),
    "level": ("s5", "circle"),
}
"""Layer and shape of a point by its position relative to the diagonal."""


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A sample with its two values, its name (`label`) and the address of its page (`link`)."""

    x: float
    y: float
    label: str
    link: str


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """A cloud of points.

    Args:
        title: above the plot.
        across: name of the horizontal axis; `upright` of the vertical one.
        points: at least one.
        domain: ends of both axes; None takes them from the data.
        lower_is_better: of the score; a point above or below the diagonal is better or worse.
    """

    title: str
    across: str
    upright: str
    points: tuple[ScatterPoint, ...]
    domain: tuple[float, float] | None = None
    lower_is_better: bool = False

    @property
    def description(self) -> str:
        """The chart in words."""
        above = sum(point.y > point.x for point in self.points)
        below = sum(point.y < point.x for point in self.points)
        level = len(self.points) - above - below
        return f"samples above the diagonal: {above:,}, below: {below:,}, on it: {level:,}"

    def look(self, point: ScatterPoint) -> tuple[str, str]:
        """Layer and shape of a point: up is better, whatever the direction of the score."""
        gain = (point.x - point.y) if self.lower_is_better else (point.y - point.x)
        return _LOOKS["above" if gain > 0 else "below" if gain < 0 else "level"]


def scatter_drawing(chart: ScatterChart, *, width: int) -> SvgDrawing:
    """The drawing of a cloud of points.

    Args:
        chart: what it shows.
        width: least width in pixels.
    """
    scale = AxisScale(*(chart.domain or _ends([value for point in chart.points for value in (point.x, point.y)])))
    canvas = Canvas(width, room_of_figures(scale) + 8, 16)
    down, bottom = _axes(canvas, chart, (scale, scale), _PLOT)
    ends = (canvas.across(scale.share(end)) for end in (scale.low, scale.high))
    line = SvgLine(next(ends), down(scale.low), next(ends), down(scale.high), 1.2, dashed=True)
    canvas.add("quiet", line, order=0)
    for kind, mark in _marks(chart, canvas, scale, down):
        canvas.add(kind, mark, order=2)
    return canvas.drawing(chart.title, chart.description, bottom + _NAME)


def _axes(
    canvas: Canvas, chart: ScatterChart | CurveChart, scales: tuple[AxisScale, AxisScale], height: int
) -> tuple[Callable[[float], float], float]:
    """Draw both axes with their names; returns the height in pixels of a value, and where the drawing ends below."""
    across, upright = scales
    down = upright_axis(canvas, upright, _TOP, height)
    level_axis(canvas, across, (), (_TOP, _TOP + height))
    bottom = _TOP + height + TICKS + 2
    canvas.add("ink", SvgText("0", _TOP - 8, chart.upright), SvgText("100%", bottom + 14, chart.across, "end"))
    return down, bottom


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis with some space beyond the outermost points."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _marks(
    chart: ScatterChart, canvas: Canvas, across: AxisScale, down: Callable[[float], float]
) -> Iterator[tuple[str, SvgMark]]:
    """The marks with their layers."""
    points_by_values = grouped(((point.x, point.y), point) for point in chart.points)
    for (x, y), points in points_by_values.items():
        kind, shape = chart.look(points[0])
        at, middle = canvas.across(across.share(x)), down(y)
        if len(chart.points) > MOST_LINKED:
            radius = min(_LARGEST, 3 + 1.2 * math.sqrt(len(points) - 1))
            yield kind, SvgMark(at, middle, _circle(radius), label=f"{len(points):,} samples: {x:g}, {y:g}")
            continue
        for number, point in enumerate(points):
            radius, angle = _STEP * math.sqrt(number), number * _GOLDEN
            dx, dy = round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1)
            yield kind, SvgMark(at, round(middle + dy, 1), MARKS[shape], dx=dx, label=point.label, link=point.link)


def _circle(radius: float) -> str:
    r = round(radius, 1)
    return f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0{-2 * r} 0z"


_CURVE_PLOT: Final = 200
_MOST: Final = 400
"""Most points of a line that are drawn."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Lines over 1, 2, 3 ... of something.

    Args:
        title: above the plot.
        description: the chart in words, for those who do not see it.
        across: name of the horizontal axis; `upright` of the vertical one.
        series: (name, values) of each line; all have one value for each count, at least one.
    """

    title: str
    description: str
    across: str
    upright: str
    series: tuple[tuple[str, tuple[float, ...]], ...]


def curve_drawing(chart: CurveChart, *, width: int) -> SvgDrawing:
    """The drawing of a chart.

    Args:
        chart: what it shows.
        width: least width in pixels.
    """
    count = max(len(values) for _, values in chart.series)
    across = AxisScale(0, count)
    upright = AxisScale(0, max(max(values) for _, values in chart.series) * 1.05)
    names = max(width_of(name) for name, _ in chart.series)
    canvas = Canvas(width, room_of_figures(upright) + 8, names + 14)
    down, bottom = _axes(canvas, chart, (across, upright), _CURVE_PLOT)
    heights = apart([down(values[-1]) for _, values in chart.series], _TOP + _CURVE_PLOT)
    for at, (name, values) in enumerate(chart.series):
        path = line_path((across.share(m), down(value) - _TOP) for m, value in _thinned(values))
        canvas.add(f"s{at}", SvgPath(path))
        canvas.add(f"s{at}", SvgText(canvas.across(1), heights[at] + 4.5, name, "start", 6))
    plot = (canvas.across(0), float(_TOP), canvas.wide(1), float(_CURVE_PLOT))
    return canvas.drawing(chart.title, chart.description, bottom + _NAME, plot=plot)


def _thinned(values: Sequence[float]) -> list[tuple[int, float]]:
    """(count, value) from (0, 0) on; long lines are thinned, keeping the last point."""
    step = max(1, len(values) // _MOST)
    points = [(m, value) for m, value in enumerate(values, 1) if m % step == 0 or m == len(values)]
    return [(0, 0.0), *points]
