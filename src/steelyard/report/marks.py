"""Dots, intervals, axes and legends: from rows of numbers to a layered chart of fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steelyard.report import layout

if TYPE_CHECKING:
    import altair as alt

_TOP: Final = 46
_AXIS: Final = 26
_RIGHT: Final = 74
_LEGEND_ROW: Final = 18

Row = dict[str, Any]
"""One mark: `label` (its row), `place` (its series), `value`, `low`, `high`, `text` beside it, `decided`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the marks.

    Args:
        title: above the plot; kept short enough for the narrowest chart by its writer.
        words: the chart in words, for those who do not see it.
        width: pixels of the whole.
        height: pixels of the plot alone.
        labels: rows, from the top.
        series: names of the series in order; a legend stands below where there are several, and rows are parted.
        domain: ends of the axis; None is taken from the data.
    """

    title: str
    words: str
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


def drawn(frame: Frame, rows: Sequence[Row], *, lines: Sequence[tuple[float, str]] = ()) -> alt.LayerChart:
    """The chart of `rows` in `frame`.

    Args:
        frame: size, labels and legend.
        rows: a mark each; without a value only the text is shown.
        lines: (value, words) of upright lines to compare with.
    """
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
        base.mark_text(align="left", color=layout.INK, fontSize=layout.SIZE - 1).encode(
            x=alt.value(frame.plot + 10), text="text:N"
        ),
    ]
    return framed(alt.LayerChart(layer=layers), frame, offset=8 if any(words for _, words in lines) else 24)


def barred(frame: Frame, rows: Sequence[Row]) -> alt.LayerChart:
    """Bars from zero, each with its text behind it.

    Args:
        frame: size, labels and legend; with a domain.
        rows: a bar each; without a value only the text is shown.
    """
    import altair as alt

    base = alt.Chart({"values": list(rows)}).encode(**_rows_axis(frame))
    bars = base.mark_bar().encode(x=_values_axis(frame, "value"), color=_colours(rows, frame))
    texts = base.mark_text(align="left", color=layout.INK, fontSize=layout.SIZE - 2, dx=4).encode(
        x=alt.X("at:Q"), text="text:N"
    )
    texts = texts.transform_calculate(at="datum.value === null ? 0 : datum.value")
    return framed(alt.LayerChart(layer=[bars, texts]), frame, offset=24)


def _rows_axis(frame: Frame) -> dict[str, Any]:
    import altair as alt

    axis = alt.Axis(
        title=None, domain=False, ticks=False, labelExpr="split(datum.label, '\\n')", labelLimit=0, labelPadding=8
    )
    channels: dict[str, Any] = {"y": alt.Y("label:N", sort=list(frame.labels), axis=axis)}
    if len(frame.series) > 1:
        channels["yOffset"] = alt.YOffset("place:O", scale=alt.Scale(paddingOuter=0.35))
    return channels


def _values_axis(frame: Frame, name: str) -> alt.X:
    import altair as alt

    scale = alt.Scale(domain=list(frame.domain), nice=False) if frame.domain else alt.Scale(zero=False)
    return alt.X(
        f"{name}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5 if frame.plot > 240 else 3, labelFlush=False)
    )


def _colours(rows: Sequence[Row], frame: Frame) -> alt.Color:
    import altair as alt

    places = _places(rows)
    scale = alt.Scale(domain=places, range=[layout.colour(place) for place in places])
    return alt.Color("place:N", scale=scale, legend=_legend(frame))


def _shapes(rows: Sequence[Row], frame: Frame) -> alt.Shape:
    import altair as alt

    places = _places(rows)
    scale = alt.Scale(domain=places, range=[layout.shape(place) for place in places])
    return alt.Shape("place:N", scale=scale, legend=_legend(frame))


def _places(rows: Sequence[Row]) -> list[int]:
    return sorted({row["place"] for row in rows})


def _legend(frame: Frame) -> alt.Legend | None:
    import altair as alt

    if len(frame.series) < 2:
        return None
    # Names travel as a signal's array and not inside the expression, so that no name can be read as code.
    return alt.Legend(
        title=None, orient="none", direction="vertical", legendX=0, legendY=frame.height + _AXIS + 4,
        labelExpr="legend_names[datum.value]", labelLimit=0, symbolOpacity=1, rowPadding=2, symbolSize=64,
    )  # fmt: skip


def _line(value: float, words: str) -> list[alt.Chart]:
    import altair as alt

    base = alt.Chart({"values": [{"at": value, "words": words}]}).encode(x="at:Q")
    rule = base.mark_rule(color=layout.INK, strokeDash=[4, 3], strokeWidth=1.2)
    text = base.mark_text(align="center", dy=-6, color=layout.INK, fontSize=11, baseline="bottom")
    return [rule, text.encode(y=alt.value(0), text="words:N")] if words else [rule]


def framed(chart: alt.LayerChart, frame: Frame, *, offset: int) -> alt.LayerChart:
    """The chart with title, room and style; `offset` parts the title from what stands highest in the plot."""
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
    return styled(
        chart.add_params(names).properties(
            title=title,
            description=frame.words,
            width=frame.plot,
            height=frame.height,
            padding={"left": frame.left, "top": _TOP, "right": _RIGHT, "bottom": frame.bottom},
        )
    )


def styled(chart: alt.LayerChart) -> alt.LayerChart:
    """The chart in the type and colours that all have, in the room that it was given."""
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
