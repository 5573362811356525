"""A line chart of a number over a count: the observed line and the expected one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.report.charts import layout
from steelyard.report.charts.canvas import (
    TICKS,
    TITLE,
    AxisScale,
    Canvas,
    SvgDrawing,
    SvgPath,
    SvgText,
    apart,
    level_axis,
    line_path,
    room_of_figures,
    upright_axis,
)

_PLOT: Final = 200
_NAME: Final = 22
"""Pixels for the name of an axis."""
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
    names = max(layout.width_of(name) for name, _ in chart.series)
    canvas = Canvas(width, room_of_figures(upright) + 8, names + 14)
    top = TITLE + _NAME
    down = upright_axis(canvas, upright, top, _PLOT)
    level_axis(canvas, across, (), (top, top + _PLOT))
    bottom = top + _PLOT + TICKS + 2
    canvas.add("ink", SvgText("0", top - 8, chart.upright), SvgText("100%", bottom + 14, chart.across, "end"))
    heights = apart([down(values[-1]) for _, values in chart.series], top + _PLOT)
    for at, (name, values) in enumerate(chart.series):
        path = line_path((across.share(m), down(value) - top) for m, value in _thinned(values))
        canvas.add(f"s{at}", SvgPath(path))
        canvas.add(f"s{at}", SvgText(canvas.across(1), heights[at] + 4.5, name, "start", 6))
    plot = (canvas.across(0), float(top), canvas.wide(1), float(_PLOT))
    return canvas.drawing(chart.title, chart.description, bottom + _NAME, plot=plot)


def _thinned(values: Sequence[float]) -> list[tuple[int, float]]:
    """(count, value) from (0, 0) on; long lines are thinned, keeping the last point."""
    step = max(1, len(values) // _MOST)
    points = [(m, value) for m, value in enumerate(values, 1) if m % step == 0 or m == len(values)]
    return [(0, 0.0), *points]
