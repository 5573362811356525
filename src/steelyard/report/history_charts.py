"""The chart of a history: each target's score run by run, with the band of its intervals and marks where notes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from steelyard.report import layout
from steelyard.report.charts import WIDTH
from steelyard.report.history import History, PastRun
from steelyard.report.marks import styled
from steelyard.report.numbers import interval_text, value_text
from steelyard.text.inert import visible

if TYPE_CHECKING:
    import altair as alt

_TOP: Final = 74
_LEFT: Final = 46
_RIGHT: Final = 24
_AXIS: Final = 26
_LEGEND_ROW: Final = 18
_PLOT: Final = 230
_DATE: Final = 62
"""Pixels that a date below the axis takes."""
_LEAST_SHARE: Final = 20.0
"""Points that the axis of a share spans at least: a tenth of a point must not look like a landslide."""


def history_chart(history: History, *, width: int = WIDTH) -> alt.LayerChart:
    """The score of every run in order, oldest at the left; numbers above the plot are those of the notes.

    Runs stand at equal distances, whatever time lies between them. A dashed line stands where the samples have changed.

    Args:
        history: at least one run.
        width: pixels of the whole chart, 300 or more.
    """
    import altair as alt

    rows = _rows(history)
    scored = [row for row in rows if row["value"] is not None]
    places = list(range(len(history.targets)))
    x = alt.X("at:Q", title=None, scale=alt.Scale(domain=[-0.5, len(rows) - 0.5], nice=False), axis=_dates(rows, width))
    colour = alt.Color(
        "place:N",
        scale=alt.Scale(domain=places, range=[layout.colour(one) for one in places]),
        legend=_legend(history),
    )
    shape = alt.Shape(
        "place:N",
        scale=alt.Scale(domain=places, range=[layout.shape(one) for one in places]),
        legend=_legend(history),
    )
    base = alt.Chart({"values": scored}).encode(x=x)
    low, value = (_values(name, history, scored) for name in ("low", "value"))
    layers = [
        *_breaks(rows),
        base.mark_area(opacity=0.16).encode(y=low, y2="high:Q", color=colour),
        base.mark_rule(strokeWidth=1.4).encode(y=low, y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(y=value, color=colour, detail="place:N"),
        base.mark_point(size=56, strokeWidth=2, opacity=1, filled=True).encode(y=value, color=colour, shape=shape),
        *_note_marks(rows),
    ]
    return _framed(alt.LayerChart(layer=layers), history, rows, width)


def numbered_notes(history: History) -> list[tuple[int, PastRun, Any]]:
    """(number, run, note) of every note, in order: the numbers that the chart's marks have."""
    pairs = [(run, note) for run in history.runs for note in run.notes]
    return [(number, run, note) for number, (run, note) in enumerate(pairs, start=1)]


def _rows(history: History) -> list[dict[str, Any]]:
    factor = 100 if history.share else 1
    numbers: dict[str, list[str]] = {}
    for number, run, _ in numbered_notes(history):
        numbers.setdefault(run.run, []).append(str(number))
    rows = []
    for at, run in enumerate(history.runs):
        low, high = run.interval or (run.value, run.value)
        rows.append(
            {
                "at": at,
                "date": run.day[5:],
                "place": history.targets.index(run.target),
                "value": _rounded(run.value, factor),
                "low": _rounded(low, factor),
                "high": _rounded(high, factor),
                "notes": ", ".join(numbers.get(run.run, ())),
                "break": "samples" in run.differs and run.digest != history.runs[at - 1].digest,
            }
        )
    return rows


def _rounded(value: float | None, factor: int) -> float | None:
    return None if value is None else round(factor * value, 3)


def _values(name: str, history: History, rows: Sequence[dict[str, Any]]) -> alt.Y:
    import altair as alt

    low, high = _domain(history, rows)
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    return alt.Y(f"{name}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5, ticks=False))


def _domain(history: History, rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Ends of the axis: what the intervals need, with some room, and never a sliver."""
    ends = [row[name] for row in rows for name in ("low", "high")] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    least = _LEAST_SHARE if history.share else 0.1 * max(abs(low), abs(high), 1.0)
    missing = max(0.0, least - (high - low)) / 2 + 0.06 * (high - low)
    low, high = low - missing, high + missing
    if not history.share:
        return low, high
    down = min(0.0, 100 - high) + max(0.0, -low)
    return max(0.0, low + down), min(100.0, high + down)


def _dates(rows: Sequence[dict[str, Any]], width: int) -> alt.Axis:
    """Days under the runs, as many as there is room for, the newest among them."""
    import altair as alt

    room = max(1, int((width - _LEFT - _RIGHT) // _DATE))
    step = -(-len(rows) // room)
    ticks = list(range(len(rows) - 1, -1, -step))[::-1]
    # Dates travel as a signal's array: nothing of a run is read as an expression.
    return alt.Axis(values=ticks, labelExpr="history_dates[datum.value]", grid=False, labelOverlap=False)


def _legend(history: History) -> alt.Legend | None:
    import altair as alt

    if len(history.targets) < 2:
        return None
    return alt.Legend(
        title=None, orient="none", direction="vertical", legendX=0, legendY=_PLOT + _AXIS + 4,
        labelExpr="history_names[datum.value]", labelLimit=0, symbolOpacity=1, rowPadding=2, symbolSize=64,
    )  # fmt: skip


def _breaks(rows: Sequence[dict[str, Any]]) -> list[alt.Chart]:
    """Upright lines before runs that were asked other samples."""
    import altair as alt

    found = [{"at": row["at"] - 0.5} for row in rows if row["break"]]
    if not found:
        return []
    return [alt.Chart({"values": found}).mark_rule(color=layout.INK, strokeDash=[4, 3]).encode(x="at:Q")]


def _note_marks(rows: Sequence[dict[str, Any]]) -> list[alt.Chart]:
    """A flag above each run that has notes: their numbers, with a line down into the plot."""
    import altair as alt

    found = [row for row in rows if row["notes"]]
    if not found:
        return []
    base = alt.Chart({"values": found}).encode(x="at:Q")
    mark = base.mark_point(shape="triangle-down", size=50, filled=True, opacity=1, color=layout.INK)
    text = base.mark_text(fontSize=11, dy=-12, color=layout.INK, baseline="bottom")
    return [mark.encode(y=alt.value(-5)), text.encode(y=alt.value(0), text="notes:N")]


def _framed(chart: alt.LayerChart, history: History, rows: Sequence[dict[str, Any]], width: int) -> alt.LayerChart:
    import altair as alt

    names = [layout.wrapped(one, width - 60, lines=1) for one in history.targets]
    title = alt.TitleParams(
        layout.wrapped(f"{history.title}, run by run, 95 % interval", width - 12, lines=1),
        anchor="start", frame="group", dx=-_LEFT, offset=30, color=layout.INK, fontSize=14, limit=0,
    )  # fmt: skip
    legend = len(names) * _LEGEND_ROW + 8 if len(names) > 1 else 0
    return styled(
        chart.add_params(
            alt.param(name="history_dates", value=[row["date"] for row in rows]),
            alt.param(name="history_names", value=names),
        ).properties(
            title=title,
            description=_in_words(history),
            width=width - _LEFT - _RIGHT,
            height=_PLOT,
            padding={"left": _LEFT, "top": _TOP, "right": _RIGHT, "bottom": _AXIS + legend},
        )
    )


def _in_words(history: History) -> str:
    words = []
    for run in history.runs:
        value = value_text(run.value, share=history.share)
        interval = interval_text(run.interval, share=history.share)
        words.append(f"{run.day} {run.target}: {value}" + (f" ({interval})" if interval else ""))
    return visible("; ".join(words), keep="")
