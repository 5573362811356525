"""Charts as SVG: dots with intervals, bars, a matrix of shares, and lines over samples or time.

Horizontal positions are percentages of the width and vertical ones are pixels, so that one drawing fits any width while
its letters keep their size. `drawing` computes the positions; `templates/chart.svg.j2` writes the SVG. The space for
names is estimated by `canvas`: a chart is the same on every machine, whatever fonts it has.

Series are named next to their marks, not in a legend, and differ in shape as well as in colour. Colours are attributes
for the light scheme; a page's style sheet replaces them by the class of their layer.
"""

# Why it is so, and what was rejected: docs/decisions/report-sections.md

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from steelyard.analysis.numbers import MISSING
from steelyard.escaping import visible
from steelyard.plain_json import grouped
from steelyard.report.charts.canvas import (
    COLOURS,
    GAP,
    LEAST_WIDE,
    MARKS,
    PLOT,
    SIZE,
    TICKS,
    TITLE,
    AxisScale,
    Canvas,
    SvgBar,
    SvgDrawing,
    SvgLine,
    SvgMark,
    SvgPath,
    SvgText,
    apart,
    level_axis,
    line_path,
    room_of_figures,
    shape,
    tick_text,
    upright_axis,
    width_of,
    wrapped,
)
from steelyard.report.charts.chart import (
    ChartPoint,
    MatrixChart,
    RowChart,
    SequenceChart,
    TimelineChart,
    TimelinePoint,
)
from steelyard.report.charts.plots import CurveChart, ScatterChart, curve_drawing, scatter_drawing
from steelyard.report.template import environment

WIDTH: Final = 720
"""Default width of a chart in pixels, labels included."""
_WORDS: Final = 18
"""A line of words above the plot."""
_ROW: Final = 32
_SERIES: Final = 21
_BAR: Final = 14
_HEADER: Final = 22
_MATRIX_CELL: Final = 36
_LEAST_CELL: Final = 34
"""Least width of a cell of a matrix in pixels, for "100"."""
_EDGE: Final = 16
"""Pixels next to a plot without names, for half of the first and the last tick label of its axis."""
_NAMES_SHARE: Final = 0.36
"""Largest share of the width for the names of rows or series."""
_MARK: Final = 5
"""Half the width of a mark."""
_DATE: Final = 82
"""Pixels that a date takes below the axis."""
_MARGIN: Final = 0.04
"""Space before the first and after the last run of a timeline, as a share of the time between them."""
_ANCHOR_COLOURS: Final = ((0xF2, 0xB9, 0x8F), (0xFB, 0xFB, 0xF9), (0x8F, 0xC0, 0xE3))
"""Colours of 0, 50 and 100 % in a matrix: light enough for dark figures (contrast 7 : 1), and unlike in lightness."""
Drawable = RowChart | MatrixChart | SequenceChart | TimelineChart | ScatterChart | CurveChart


class SvgMarkup(str):
    """SVG text that a notebook shows as an image."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def svg(chart: Drawable, *, width: int = WIDTH) -> SvgMarkup:
    """The chart as SVG text, with a title and a description for screen readers; it loads nothing.

    A notebook shows it where it is the last value of a cell. Equal charts give equal text. The background is
    transparent, the colours are those for a light one.

    Args:
        chart: what it shows.
        width: pixels of the whole chart, 300 or more.
    """
    drawn = drawing(chart, width=width)
    macro = '{% import "chart.svg.j2" as charts %}{{ charts.chart(drawn, width) }}'
    return SvgMarkup(environment().from_string(macro).render(drawn=drawn, width=max(width, drawn.least)).strip())


def drawing(chart: Drawable, *, width: int = WIDTH) -> SvgDrawing:
    """The drawing of a chart.

    Args:
        chart: what it shows.
        width: least width in pixels; in more space it stretches without being drawn again.
    """
    if isinstance(chart, RowChart):
        return _drawn_rows(chart, width)
    if isinstance(chart, MatrixChart):
        return _drawn_matrix(chart, width)
    if isinstance(chart, SequenceChart):
        return _drawn_sequence(chart, width)
    if isinstance(chart, TimelineChart):
        return _drawn_timeline(chart, width)
    if isinstance(chart, ScatterChart):
        return scatter_drawing(chart, width=width)
    return curve_drawing(chart, width=width)


def _series_kind(number: int) -> str:
    return f"s{number % len(COLOURS)}"


def _mark(x: str, y: float, number: int, *, hollow: bool = False) -> SvgMark:
    return SvgMark(x, y, MARKS[shape(number)], hollow)


def _drawn_rows(chart: RowChart, width: int) -> SvgDrawing:
    """A chart of rows: each row is a line of the plot, or a heading with a line per series."""
    several = len(chart.series) > 1
    beside = several or width >= LEAST_WIDE
    names = [wrapped(name, _NAMES_SHARE * width - GAP) for name in (chart.series if several else chart.rows)]
    most_name = max((width_of(line) for name in names for line in name.split("\n")), default=0) if beside else 0
    # Figures above the marks need no space after the plot.
    figures = max((width_of(point.text) for point in chart.points), default=0) if beside else 0
    canvas = Canvas(width, most_name + GAP if beside else _EDGE, figures + GAP + 4 if beside else _EDGE)
    scale = AxisScale.of(chart)
    top = TITLE + (_WORDS if any(words for _, words in chart.lines) else 0)
    bottom: float = top
    by_row = grouped((point.row, point) for point in chart.points)
    for row, name in enumerate(chart.rows):
        points = sorted(by_row.get(row, ()), key=lambda point: point.series)
        if several or not beside:
            room = width - 2 * SIZE - (0 if beside else width_of(points[0].text) if points else 0)
            canvas.add("ink", SvgText("0", bottom + 16, wrapped(name, room, lines=1), bold=several))
            bottom += _HEADER
        for point in points or [ChartPoint(row, 0, None, "")]:
            label = names[point.series if several else row] if beside else ""
            bottom += _row_of(canvas, chart, scale, point, (bottom, label))
        bottom += 8 if several else 0
    level_axis(canvas, scale, chart.lines, (top, bottom))
    return canvas.drawing(chart.title, chart.description, bottom + TICKS)


def _row_of(
    canvas: Canvas, chart: RowChart, scale: AxisScale, point: ChartPoint, top_and_name: tuple[float, str]
) -> float:
    """Draw one point with its name and its figure; returns its height in pixels."""
    top, name = top_and_name
    lines = name.split("\n") if name else []
    height = max(_SERIES if len(chart.series) > 1 or not name else _ROW, 15 * len(lines) + 3)
    middle = top + height / 2
    _name_beside(canvas, lines, middle)
    kind = _series_kind(point.series)
    figure_x, anchor, figure_y = canvas.across(1), "start", middle + 4.5
    if not name:
        figure_x, anchor, figure_y = "100%", "end", top - _HEADER + 16
    if point.value is not None and chart.shape == "bars":
        share = min(max(scale.share(point.value), 0.0), 1.0)
        label = f"{' '.join(lines)}: {point.text}" if point.link else ""
        canvas.add(
            kind, SvgBar(canvas.across(0), middle - _BAR / 2, canvas.wide(share), _BAR, link=point.link, label=label)
        )
        figure_x = canvas.across(share) if name else figure_x
    elif point.value is not None:
        if point.low is not None and point.high is not None:
            ends = (canvas.across(scale.share(end)) for end in (point.low, point.high))
            canvas.add(kind, SvgLine(next(ends), middle, next(ends), middle, 2))
        at = canvas.across(scale.share(point.value))
        canvas.add(kind, _mark(at, middle, point.series, hollow=not point.decided), order=2)
    dx = 0 if not name else 6 if chart.shape == "bars" else GAP
    canvas.add("ink", SvgText(figure_x, figure_y, visible(point.text, keep=""), anchor, dx))
    return height


def _name_beside(canvas: Canvas, lines: Sequence[str], middle: float) -> None:
    """The lines of a name before the plot, centred at a height."""
    for number, line in enumerate(lines):
        y = middle + 4.5 + 15 * (number - (len(lines) - 1) / 2)
        canvas.add("ink", SvgText(canvas.across(0), y, line, "end", -GAP))


def _drawn_matrix(chart: MatrixChart, width: int) -> SvgDrawing:
    """A matrix; columns are headed by the numbers of the rows, as names have no space there."""
    n = len(chart.rows)
    room = _NAMES_SHARE * width
    names = [wrapped(f"{number}  {name}", room) for number, name in enumerate(chart.rows, start=1)]
    left = max((width_of(line) for name in names for line in name.split("\n")), default=0) + GAP
    least = math.ceil(left + n * _LEAST_CELL + 2)
    canvas = Canvas(max(width, least), left, 2, least)
    top = TITLE + _WORDS
    for column in range(n):
        canvas.add("quiet", SvgText(canvas.across((column + 0.5) / n), top - 6, str(column + 1), "middle"))
    for row, (name, values) in enumerate(zip(names, chart.values, strict=True)):
        y = top + row * _MATRIX_CELL
        _name_beside(canvas, name.split("\n"), y + _MATRIX_CELL / 2)
        for column, value in enumerate(values):
            middle = (canvas.across((column + 0.5) / n), y + _MATRIX_CELL / 2 + 4.5)
            if value is None:
                canvas.add("ink", SvgText(*middle, MISSING, "middle"))
                continue
            cell = SvgBar(canvas.across(column / n), y, canvas.wide(1 / n), _MATRIX_CELL, _share_colour(value))
            canvas.add("figure", cell, SvgText(*middle, f"{value:.0f}", "middle"))
    return canvas.drawing(chart.title, chart.description, top + n * _MATRIX_CELL + 4)


def _share_colour(value: float) -> str:
    """The colour of a percentage, between those of 0, 50 and 100 %."""
    share = min(max(value, 0.0), 100.0) / 50
    number = min(int(share), 1)
    below, above = _ANCHOR_COLOURS[number], _ANCHOR_COLOURS[number + 1]
    parts = (round(low + (high - low) * (share - number)) for low, high in zip(below, above, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def _band(lows: Sequence[tuple[float, float]], highs: Sequence[tuple[float, float]]) -> str:
    return line_path([*highs, *reversed(lows)]) + "Z"


def _drawn_sequence(chart: SequenceChart, width: int) -> SvgDrawing:
    """A line with its band over the samples, a dashed threshold, and a vertical line at the decision."""
    scale, samples = AxisScale(*chart.domain), AxisScale(0, chart.most)
    threshold = f"{chart.threshold:g} %"
    canvas = Canvas(width, room_of_figures(scale), width_of(threshold) + GAP)
    top = TITLE + (0 if chart.decided_after is None else _WORDS)
    down = upright_axis(canvas, scale, top)
    for n in samples.ticks(5 if width >= LEAST_WIDE else 3):
        canvas.add("quiet", SvgText(canvas.across(samples.share(n)), top + PLOT + 19, tick_text(n), "middle"))
    points = [
        (samples.share(n), down(mean) - top, down(low) - top, down(high) - top) for n, mean, low, high in chart.points
    ]
    band = _band([(x, low) for x, _, low, _ in points], [(x, high) for x, _, _, high in points])
    if len(points) > 1:
        canvas.add("s0", SvgPath(band, area=True), SvgPath(line_path([(x, mean) for x, mean, _, _ in points])))
    elif points:
        # A line of one point is invisible, so a single point gets a dot with its interval.
        [(position, mean, low, high)] = points
        at = canvas.across(position)
        canvas.add("s0", SvgLine(at, top + low, at, top + high, 2), _mark(at, top + mean, 0))
    y = down(chart.threshold)
    canvas.add("ink", SvgLine(canvas.across(0), y, canvas.across(1), y, 1.2, dashed=True))
    canvas.add("ink", SvgText(canvas.across(1), y + 4.5, threshold, "start", 6))
    if chart.decided_after is not None:
        share = samples.share(chart.decided_after)
        x = canvas.across(share)
        canvas.add("ink", SvgLine(x, top - 2, x, top + PLOT, 1.2))
        words = f"decided after {chart.decided_after:,}"
        canvas.add("ink", SvgText(x, top - 6, words, "end" if share > 0.6 else "start"))
    plot = (canvas.across(0), float(top), canvas.wide(1), float(PLOT))
    return canvas.drawing(chart.title, chart.description, top + PLOT + TICKS + 2, plot=plot)


def _drawn_timeline(chart: TimelineChart, width: int) -> SvgDrawing:
    """A timeline; distances between runs are proportional to the time between them."""
    scale = AxisScale(*chart.domain)
    # A margin on either side, also where all runs were started at the same moment.
    margin = _MARGIN * (chart.points[-1].days or 1.0)
    days = AxisScale(-margin, chart.points[-1].days + margin)
    several = len(chart.series) > 1
    names = [wrapped(name, _NAMES_SHARE * width, lines=1) for name in chart.series] if several else []
    right = max((width_of(name) for name in names), default=0) + 2 * GAP
    canvas = Canvas(width, room_of_figures(scale), right)
    # Runs of one moment stand beside each other: their intervals would cover each other.
    step = (days.high - days.low) * 2 * _MARK / (width - canvas.left - right) if several else 0.0
    moments = apart([point.days for point in chart.points], math.inf, step)
    moved = (replace(point, days=moment) for point, moment in zip(chart.points, moments, strict=True))
    chart = replace(chart, points=tuple(moved))
    days = AxisScale(-margin, max(moments) + margin)
    top = TITLE + (2 * _WORDS if any(point.notes for point in chart.points) else 6)
    down = upright_axis(canvas, scale, top)
    _dates(canvas, chart, days, top + PLOT)
    for before, point in pairwise(chart.points):
        if point.new_samples:
            x = canvas.across(days.share((before.days + point.days) / 2))
            canvas.add("ink", SvgLine(x, top, x, top + PLOT, 1.2, dashed=True), order=0)
    ends = []
    for number in range(len(chart.series)):
        points = [point for point in chart.points if point.series == number and point.value is not None]
        _timeline_series(canvas, points, (number, top), days, down)
        if several and points:
            ends.append((number, down(points[-1].value or 0.0)))
    heights = apart([height for _, height in ends], top + PLOT)
    for (number, _), y in zip(ends, heights, strict=True):
        mark = replace(_mark(canvas.across(1), y, number), dx=_MARK + 2)
        name = SvgText(canvas.across(1), y + 4.5, names[number], "start", 2 * _MARK + 6, bold=True)
        canvas.add(_series_kind(number), mark, name)
    for point in chart.points:
        if point.notes and point.value is not None:
            at = canvas.across(days.share(point.days))
            canvas.add(
                "ink", SvgMark(at, top - 8, MARKS["triangle-down"]), SvgText(at, top - 17, point.notes, "middle")
            )
    plot = (canvas.across(0), float(top), canvas.wide(1), float(PLOT))
    return canvas.drawing(chart.title, chart.description, top + PLOT + TICKS + 2, plot=plot)


def _timeline_series(
    canvas: Canvas,
    points: Sequence[TimelinePoint],
    number_and_top: tuple[int, float],
    days: AxisScale,
    down: Callable[[float], float],
) -> None:
    """The band, the line, the intervals and the marks of one target."""
    number, top = number_and_top
    kind = _series_kind(number)
    positions = [(days.share(point.days), point) for point in points]
    if len(positions) > 1:
        ends = [
            [(x, down(_or_value(getattr(point, name), point)) - top) for x, point in positions]
            for name in ("low", "high", "value")
        ]
        canvas.add(kind, SvgPath(_band(ends[0], ends[1]), area=True), SvgPath(line_path(ends[2])))
    for share, point in positions:
        across = canvas.across(share)
        low, high = (down(_or_value(end, point)) for end in (point.low, point.high))
        canvas.add(kind, SvgLine(across, low, across, high, 1.4))
        mark = _mark(across, down(point.value or 0.0), number)
        canvas.add(kind, replace(mark, label=point.label, link=point.link), order=2)


def _or_value(end: float | None, point: TimelinePoint) -> float:
    """An end of an interval, or the value where there is none."""
    return end if end is not None else point.value or 0.0


def _dates(canvas: Canvas, chart: TimelineChart, days: AxisScale, bottom: float) -> None:
    """The dates of the chart's ticks, as many as fit."""
    room = max(1, int((canvas.width - canvas.left - canvas.right) // _DATE))
    for at, date in chart.ticks[:: -(-len(chart.ticks) // room) or 1]:
        x = canvas.across(days.share(at))
        canvas.add("grid", SvgLine(x, bottom, x, bottom + 5), order=0)
        canvas.add("quiet", SvgText(x, bottom + 19, date, "middle"))
