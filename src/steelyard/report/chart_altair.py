"""Charts as Altair objects, for notebooks, Vega-Lite specifications and PNG; needs the extra `charts`.

Pages do not need it: `chart_svg` draws theirs. `draw` fixes a chart's size by its arguments; the space for
labels is computed by `chart_layout`, so that a chart is the same whatever fonts a machine has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError, install_command
from steelyard.escaping import visible
from steelyard.report import chart_layout as layout
from steelyard.report.chart import ChartPoint, MatrixChart, RowChart, SequenceChart, TimelineChart
from steelyard.report.numbers import MISSING

if TYPE_CHECKING:
    import altair as alt

WIDTH: Final = 720
"""Pixels of a whole chart, labels included."""
_TOP: Final = 46
_AXIS: Final = 26
_RIGHT: Final = 74
_LEGEND_ROW: Final = 18
_LABEL_SHARE: Final = 0.34
"""Of the width, for the names of rows."""
_ROW: Final = 34
_SERIES: Final = 17
_BAR: Final = 15
_BETWEEN_BARS: Final = 16
_MATRIX_CELL: Final = 40
_SEQUENCE_HEIGHT: Final = 220
_LOSES: Final = "#f2b98f"
_EVEN: Final = "#fbfbf9"
_WINS: Final = "#8fc0e3"
"""Light enough for dark figures (contrast 7 : 1), and different from the middle in lightness as well as in hue."""
_FIGURES: Final = "#1d242b"

_TIMELINE_TOP: Final = 74
_TIMELINE_LEFT: Final = 46
_TIMELINE_RIGHT: Final = 24
_TIMELINE_HEIGHT: Final = 230
_DATE: Final = 78
"""Pixels that a date with its year takes below the axis."""
_TIMELINE_MARGIN: Final = 0.04
"""Space before the first and after the last run, as a share of the time between them."""

Drawable = RowChart | MatrixChart | SequenceChart | TimelineChart


def draw(chart: Drawable, *, width: int = WIDTH) -> alt.LayerChart:
    """The chart as an Altair object.

    Args:
        chart: what it shows.
        width: pixels of the whole chart, 300 or more.

    Raises:
        ConfigError: altair is not installed.
    """
    try:
        import altair as alt  # noqa: F401  # imported only to say what to install
        from altair.utils.schemapi import debug_mode
    except ImportError as error:
        raise ConfigError(
            f"a chart as an Altair object needs altair: {install_command('charts')}; `svg` needs no extra"
        ) from error
    # Altair would check each part, and each whole of parts again: most of the time that a chart takes. `to_dict`
    # checks the whole.
    with debug_mode(False):
        if isinstance(chart, RowChart):
            return _drawn_rows(chart, width)
        if isinstance(chart, MatrixChart):
            return _drawn_matrix(chart, width)
        if isinstance(chart, SequenceChart):
            return _drawn_sequence(chart, width)
        return _drawn_timeline(chart, width)


def png(chart: Drawable, *, width: int = WIDTH, scale: float = 2) -> bytes:
    """The chart as a PNG image on white.

    Args:
        chart: what it shows.
        width: as for `draw`.
        scale: pixels of the image for each of the chart.

    Raises:
        ConfigError: altair or vl-convert is not installed.
    """
    spec = draw(chart, width=width).to_dict()
    try:
        import vl_convert
    except ImportError as error:
        raise ConfigError(f"a PNG of a chart needs vl-convert-python: {install_command('charts')}") from error
    image: bytes = vl_convert.vegalite_to_png(spec, scale=scale, allowed_base_urls=[])
    return image


@dataclass(frozen=True, slots=True)
class _ChartFrame:
    """The frame of a chart: size in pixels, and the names of rows and series, cut to fit."""

    title: str
    description: str
    width: int
    height: int
    labels: tuple[str, ...]
    series: tuple[str, ...] = ()
    domain: tuple[float, float] | None = None

    @property
    def left(self) -> int:
        """Pixels for the labels."""
        return layout.room_of(self.labels, 0.36 * self.width)

    @property
    def plot(self) -> int:
        """Pixels of the plot's width."""
        return self.width - self.left - _RIGHT

    @property
    def bottom(self) -> int:
        """Pixels for axis and legend."""
        return _AXIS + (len(self.series) * _LEGEND_ROW + 8 if len(self.series) > 1 else 0)


def _labels(names: Sequence[str], width: int) -> tuple[str, ...]:
    return tuple(layout.distinct(layout.wrapped(name, _LABEL_SHARE * width) for name in names))


def _title(text: str, width: int) -> str:
    return layout.wrapped(text, width - 2 * layout.SIZE, lines=1)


def _drawn_rows(chart: RowChart, width: int) -> alt.LayerChart:
    labels = _labels(chart.rows, width)
    per_row = max(1, len(chart.series))
    if chart.shape == "bars":
        row_height = per_row * _BAR + _BETWEEN_BARS
    else:
        row_height = _ROW if per_row == 1 else max(_ROW, per_row * _SERIES + 12)
    frame = _ChartFrame(
        _title(chart.title, width),
        visible(chart.description, keep=""),
        width,
        len(labels) * row_height,
        labels,
        series=tuple(layout.wrapped(name, width - 60, lines=1) for name in chart.series),
        domain=chart.domain,
    )
    rows = [_row(point, labels) for point in chart.points]
    return _bars(frame, rows) if chart.shape == "bars" else _dots(frame, rows, chart.lines)


def _row(point: ChartPoint, labels: Sequence[str]) -> dict[str, Any]:
    values = {"value": point.value, "low": point.low, "high": point.high}
    rounded = {name: None if value is None else round(value, 3) for name, value in values.items()}
    return {"label": labels[point.row], "place": point.series, **rounded, "text": point.text, "decided": point.decided}


def _dots(frame: _ChartFrame, rows: Sequence[Mapping[str, Any]], lines: Sequence[tuple[float, str]]) -> alt.LayerChart:
    """A dot per row of data with its interval and its text; without a value the text alone."""
    import altair as alt

    layers = [layer for value, words in lines for layer in _line(value, words)]
    base = alt.Chart({"values": list(rows)}).encode(**_rows_axis(frame))
    colours = _colours(rows, frame)
    layers += [
        base.mark_rule(strokeWidth=2).encode(x=_values_axis(frame, "low"), x2="high:Q", color=colours),
        base.mark_point(size=64, strokeWidth=2, opacity=1).encode(
            x=_values_axis(frame, "value"),
            color=colours,
            shape=_shapes(rows, frame),
            fill=alt.condition("datum.decided", colours, alt.value("transparent")),
        ),
        base.mark_text(align="left", color=layout.INK, fontSize=layout.SIZE).encode(
            x=alt.value(frame.plot + 10), text="text:N"
        ),
    ]
    return _framed(alt.LayerChart(layer=layers), frame, offset=8 if any(words for _, words in lines) else 24)


def _bars(frame: _ChartFrame, rows: Sequence[Mapping[str, Any]]) -> alt.LayerChart:
    """Bars from zero, each with its text behind it."""
    import altair as alt

    base = alt.Chart({"values": list(rows)}).encode(**_rows_axis(frame))
    bars = base.mark_bar().encode(x=_values_axis(frame, "value"), color=_colours(rows, frame))
    texts = base.mark_text(align="left", color=layout.INK, fontSize=layout.SIZE, dx=4).encode(
        x=alt.X("at:Q"), text="text:N"
    )
    texts = texts.transform_calculate(at="datum.value === null ? 0 : datum.value")
    return _framed(alt.LayerChart(layer=[bars, texts]), frame, offset=24)


def _rows_axis(frame: _ChartFrame) -> dict[str, Any]:
    import altair as alt

    axis = alt.Axis(
        title=None, domain=False, ticks=False, labelExpr="split(datum.label, '\\n')", labelLimit=0, labelPadding=8
    )
    channels: dict[str, Any] = {"y": alt.Y("label:N", sort=list(frame.labels), axis=axis)}
    if len(frame.series) > 1:
        channels["yOffset"] = alt.YOffset("place:O", scale=alt.Scale(paddingOuter=0.35))
    return channels


def _values_axis(frame: _ChartFrame, name: str) -> alt.X:
    import altair as alt

    scale = alt.Scale(domain=list(frame.domain), nice=False) if frame.domain else alt.Scale(zero=False)
    return alt.X(
        f"{name}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5 if frame.plot > 240 else 3, labelFlush=False)
    )


def _colours(rows: Sequence[Mapping[str, Any]], frame: _ChartFrame) -> alt.Color:
    import altair as alt

    numbers = _series_numbers(rows)
    scale = alt.Scale(domain=numbers, range=[layout.colour(number) for number in numbers])
    return alt.Color("place:N", scale=scale, legend=_legend(frame))


def _shapes(rows: Sequence[Mapping[str, Any]], frame: _ChartFrame) -> alt.Shape:
    import altair as alt

    numbers = _series_numbers(rows)
    scale = alt.Scale(domain=numbers, range=[layout.shape(number) for number in numbers])
    return alt.Shape("place:N", scale=scale, legend=_legend(frame))


def _series_numbers(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted({row["place"] for row in rows})


def _legend(frame: _ChartFrame) -> alt.Legend | None:
    import altair as alt

    if len(frame.series) < 2:
        return None
    # Names are passed as a signal's array and not inside the expression, so that no name is read as code.
    return alt.Legend(
        title=None, orient="none", direction="vertical", legendX=0, legendY=frame.height + _AXIS + 4,
        labelExpr="legend_names[datum.value]", labelLimit=0, symbolOpacity=1, rowPadding=2, symbolSize=64,
    )  # fmt: skip


def _line(value: float, words: str) -> list[alt.Chart]:
    import altair as alt

    base = alt.Chart({"values": [{"at": value, "words": words}]}).encode(x="at:Q")
    rule = base.mark_rule(color=layout.INK, strokeDash=[4, 3], strokeWidth=1.2)
    text = base.mark_text(align="center", dy=-6, color=layout.INK, fontSize=12, baseline="bottom")
    return [rule, text.encode(y=alt.value(0), text="words:N")] if words else [rule]


def _framed(chart: alt.LayerChart, frame: _ChartFrame, *, offset: int) -> alt.LayerChart:
    """The chart with title, padding and style; `offset` separates the title from the highest mark of the plot."""
    import altair as alt

    title = alt.TitleParams(
        frame.title,
        anchor="start",
        frame="group",
        dx=-frame.left,
        offset=offset,
        color=layout.INK,
        fontSize=14,
        limit=0,
    )
    names = alt.param(name="legend_names", value=list(frame.series))
    return _styled(
        chart.add_params(names).properties(
            title=title,
            description=frame.description,
            width=frame.plot,
            height=frame.height,
            padding={"left": frame.left, "top": _TOP, "right": _RIGHT, "bottom": frame.bottom},
        )
    )


def _styled(chart: alt.LayerChart) -> alt.LayerChart:
    """The chart with the font and colours of all charts, without automatic sizing."""
    import altair as alt

    done: alt.LayerChart = (
        chart.properties(autosize=alt.AutoSizeParams(type="none"), background="white")
        .configure(font=layout.FONT, aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=layout.INK, labelFontSize=layout.SIZE, gridColor=layout.GRID, tickColor=layout.GRID, domain=False
        )
        .configure_legend(labelColor=layout.INK, labelFontSize=layout.SIZE)
    )
    return done


def _drawn_matrix(chart: MatrixChart, width: int) -> alt.LayerChart:
    import altair as alt

    labels = _labels([f"{number}  {name}" for number, name in enumerate(chart.rows, start=1)], width)
    columns = [str(number) for number in range(1, len(chart.rows) + 1)]
    cells = [
        {
            "label": label,
            "column": column,
            "value": None if value is None else round(value, 2),
            "text": MISSING if value is None else f"{value:.0f}",
        }
        for label, values in zip(labels, chart.values, strict=True)
        for column, value in zip(columns, values, strict=True)
    ]
    height = _MATRIX_CELL * len(labels)
    frame = _ChartFrame(_title(chart.title, width), visible(chart.description, keep=""), width, height, labels)
    rows_axis = alt.Axis(title=None, ticks=False, labelExpr="split(datum.label, '\\n')", labelLimit=0, labelPadding=8)
    base = alt.Chart({"values": cells}).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=alt.Axis(orient="top", ticks=False, labelAngle=0)),
        y=alt.Y("label:N", sort=list(labels), axis=rows_axis),
    )
    scale = alt.Scale(domain=[0, 50, 100], range=[_LOSES, _EVEN, _WINS], interpolate="rgb")
    heat = base.mark_rect(stroke=layout.GRID).encode(color=alt.Color("value:Q", scale=scale, legend=None))
    texts = base.mark_text(fontSize=layout.SIZE, color=_FIGURES).encode(text="text:N")
    missing = base.transform_filter("datum.value === null").mark_text(color=layout.INK).encode(text="text:N")
    present = [layer.transform_filter("datum.value !== null") for layer in (heat, texts)]
    return _framed(alt.LayerChart(layer=[*present, missing]), frame, offset=8)


def _drawn_sequence(chart: SequenceChart, width: int) -> alt.LayerChart:
    import altair as alt

    fits = layout.width_of(chart.title) < width - 2 * layout.SIZE
    frame = _ChartFrame(
        visible(chart.title, keep="") if fits else chart.short_title,
        visible(chart.description, keep=""),
        width,
        _SEQUENCE_HEIGHT,
        ("-100",),
        domain=chart.domain,
    )
    points = [
        {"n": n, "mean": round(mean, 3), "low": round(low, 3), "high": round(high, 3)}
        for n, mean, low, high in chart.points
    ]
    scale = alt.Scale(domain=[0, chart.most], nice=False)
    x = alt.X("n:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5, format=",d"))
    base = alt.Chart({"values": points}).encode(x=x)
    # A line of one point is invisible, so a single point gets a dot.
    dot = 30 if len(points) < 2 else 0
    layers = [
        base.mark_area(color=layout.colour(0), opacity=0.22).encode(y=_percent_axis(chart, "low"), y2="high:Q"),
        base.mark_line(color=layout.colour(0), strokeWidth=2).encode(y=_percent_axis(chart, "mean")),
        base.mark_point(color=layout.colour(0), filled=True, size=dot).encode(y=_percent_axis(chart, "mean")),
        *_threshold(chart),
        *_decision(chart),
    ]
    return _framed(alt.LayerChart(layer=layers), frame, offset=24 if chart.decided_after is None else 8)


def _percent_axis(chart: SequenceChart, name: str) -> alt.Y:
    import altair as alt

    scale = alt.Scale(domain=list(chart.domain), nice=False)
    return alt.Y(f"{name}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))


def _threshold(chart: SequenceChart) -> list[alt.Chart]:
    """A dashed line with its value at the right, if there is space."""
    import altair as alt

    value = chart.threshold
    ends = [{"n": 0, "at": value, "text": ""}, {"n": chart.most, "at": value, "text": f"{value:g} %"}]
    base = alt.Chart({"values": ends}).encode(x="n:Q", y=_percent_axis(chart, "at"))
    line = base.mark_line(color=layout.INK, strokeDash=[4, 3], strokeWidth=1.2)
    return [line, base.mark_text(align="left", dx=8, color=layout.INK, fontSize=layout.SIZE).encode(text="text:N")]


def _decision(chart: SequenceChart) -> list[alt.Chart]:
    """A vertical line at the sample of the decision, labelled above the plot."""
    import altair as alt

    used = chart.decided_after
    if used is None:
        return []
    base = alt.Chart({"values": [{"n": used, "words": f"decided after {used:,}"}]}).encode(x="n:Q")
    text = base.mark_text(
        align="right" if used > 0.7 * chart.most else "left",
        dy=-6,
        color=layout.INK,
        fontSize=layout.SIZE,
        baseline="bottom",
    )
    rule = base.mark_rule(color=layout.INK, strokeWidth=1.2)
    return [rule, text.encode(y=alt.value(0), text="words:N")]


def _drawn_timeline(chart: TimelineChart, width: int) -> alt.LayerChart:
    """Distances between runs are proportional to the time between them."""
    import altair as alt

    rows = [
        {
            "days": point.days,
            "place": point.series,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "notes": point.notes,
        }
        for point in chart.points
    ]
    numbers = list(range(len(chart.series)))
    # A margin on either side, also where all runs were started at the same moment.
    margin = _TIMELINE_MARGIN * (chart.points[-1].days or 1.0)
    scale = alt.Scale(domain=[-margin, chart.points[-1].days + margin], nice=False)
    legend = _timeline_legend(chart)
    colour = alt.Color(
        "place:N", scale=alt.Scale(domain=numbers, range=[layout.colour(number) for number in numbers]), legend=legend
    )
    shape = alt.Shape(
        "place:N", scale=alt.Scale(domain=numbers, range=[layout.shape(number) for number in numbers]), legend=legend
    )
    base = alt.Chart({"values": [row for row in rows if row["value"] is not None]}).encode(
        x=alt.X("days:Q", title=None, scale=scale, axis=_dates(chart, width))
    )
    y_scale = alt.Scale(domain=list(chart.domain), nice=False, zero=False)
    low, value = (
        alt.Y(f"{name}:Q", title=None, scale=y_scale, axis=alt.Axis(tickCount=5, ticks=False))
        for name in ("low", "value")
    )
    layers = [
        *_breaks(chart),
        base.mark_area(opacity=0.16).encode(y=low, y2="high:Q", color=colour),
        base.mark_rule(strokeWidth=1.4).encode(y=low, y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(y=value, color=colour, detail="place:N"),
        base.mark_point(size=56, strokeWidth=2, opacity=1, filled=True).encode(y=value, color=colour, shape=shape),
        *_note_flags(rows),
    ]
    return _framed_timeline(alt.LayerChart(layer=layers), chart, width)


def _dates(chart: TimelineChart, width: int) -> alt.Axis:
    """The dates of the chart's ticks, as many as fit."""
    import altair as alt

    # Dates are passed as a signal's array: no text of a run is read as an expression.
    label = "history_dates[indexof(history_ticks, datum.value)]"
    room = max(1, int((width - _TIMELINE_LEFT - _TIMELINE_RIGHT) // _DATE))
    ticks = [days for days, _ in chart.ticks][:: -(-len(chart.ticks) // room)]
    return alt.Axis(values=ticks, labelExpr=label, grid=False, labelOverlap=True)


def _timeline_legend(chart: TimelineChart) -> alt.Legend | None:
    import altair as alt

    if len(chart.series) < 2:
        return None
    return alt.Legend(
        title=None, orient="none", direction="vertical", legendX=0, legendY=_TIMELINE_HEIGHT + _AXIS + 4,
        labelExpr="history_names[datum.value]", labelLimit=0, symbolOpacity=1, rowPadding=2, symbolSize=64,
    )  # fmt: skip


def _breaks(chart: TimelineChart) -> list[alt.Chart]:
    """Vertical dashed lines before runs on other samples."""
    import altair as alt

    breaks = [{"days": (before.days + point.days) / 2} for before, point in pairwise(chart.points) if point.new_samples]
    if not breaks:
        return []
    return [alt.Chart({"values": breaks}).mark_rule(color=layout.INK, strokeDash=[4, 3]).encode(x="days:Q")]


def _note_flags(rows: Sequence[Mapping[str, Any]]) -> list[alt.Chart]:
    """A flag above each run that has notes: their numbers, with a triangle that points into the plot."""
    import altair as alt

    noted = [row for row in rows if row["notes"]]
    if not noted:
        return []
    base = alt.Chart({"values": noted}).encode(x="days:Q")
    flag = base.mark_point(shape="triangle-down", size=50, filled=True, opacity=1, color=layout.INK)
    text = base.mark_text(fontSize=12, dy=-12, color=layout.INK, baseline="bottom")
    return [flag.encode(y=alt.value(-5)), text.encode(y=alt.value(0), text="notes:N")]


def _framed_timeline(layers: alt.LayerChart, chart: TimelineChart, width: int) -> alt.LayerChart:
    import altair as alt

    names = [layout.wrapped(name, width - 60, lines=1) for name in chart.series]
    title = alt.TitleParams(
        layout.wrapped(chart.title, width - 12, lines=1),
        anchor="start", frame="group", dx=-_TIMELINE_LEFT, offset=30, color=layout.INK, fontSize=14, limit=0,
    )  # fmt: skip
    legend = len(names) * _LEGEND_ROW + 8 if len(names) > 1 else 0
    return _styled(
        layers.add_params(
            alt.param(name="history_ticks", value=[days for days, _ in chart.ticks]),
            alt.param(name="history_dates", value=[date for _, date in chart.ticks]),
            alt.param(name="history_names", value=names),
        ).properties(
            title=title,
            description=visible(chart.description, keep=""),
            width=width - _TIMELINE_LEFT - _TIMELINE_RIGHT,
            height=_TIMELINE_HEIGHT,
            padding={
                "left": _TIMELINE_LEFT,
                "top": _TIMELINE_TOP,
                "right": _TIMELINE_RIGHT,
                "bottom": _AXIS + legend,
            },
        )
    )
