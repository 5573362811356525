"""Charts of preferences and rankings, as Altair specifications like those of `charts`; `charts.svg` renders them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from steelyard.compare.preferences_values import Preferences
from steelyard.report import layout
from steelyard.report.charts import WIDTH
from steelyard.report.marks import Frame, Row, drawn, framed
from steelyard.report.numbers import MISSING, score_title
from steelyard.stats.intervals import Interval
from steelyard.summary import RunSummary, Stopping
from steelyard.text.inert import visible

if TYPE_CHECKING:
    import altair as alt

_ROW: Final = 34
_CELL: Final = 40
_LABEL_SHARE: Final = 0.34
_HEIGHT: Final = 220
_LEAST_SAMPLES: Final = 2
_ROUND: Final = 20
_LOSES: Final = "#f2b98f"
_EVEN: Final = "#fbfbf9"
_WINS: Final = "#8fc0e3"
"""Light enough for dark figures at 7 : 1, and apart in lightness from the middle as well as in hue."""
_FIGURES: Final = "#1d242b"


def preference_charts(found: Sequence[Preferences], *, width: int = WIDTH) -> list[alt.LayerChart]:
    """What a page draws of judging runs: the first side's share in each, and the sequence of each that could stop."""
    if not found:
        return []
    sequences = [sequence_chart(one.stopping, name=one.title, width=width) for one in found if one.stopping]
    return [win_rate_chart(found, width=width), *sequences]


def stopping_charts(summaries: Sequence[RunSummary], *, width: int = WIDTH) -> list[alt.LayerChart]:
    """The confidence sequence of every run that a rule could stop early."""
    return [
        sequence_chart(one.stopping, name=f"{one.target}, {one.stopping.score}", width=width)
        for one in summaries
        if one.stopping
    ]


def win_rate_chart(found: Sequence[Preferences], *, width: int = WIDTH) -> alt.LayerChart:
    """The first side's share of every pair of targets with its interval, a row each; hollow where nothing is decided.

    It is the win rate over the decided pairs; of a run that was stopped early, the mean with ties as half and its
    confidence sequence.

    Args:
        found: one per judging run, at least one.
        width: pixels of the whole chart, 300 or more.
    """
    labels = _labels([one.title for one in found], width)
    rows, words = [], []
    for label, one in zip(labels, found, strict=True):
        mean = one.half if one.stopping else one.win
        decided = one.verdict in {"A", "B"}
        rows.append(_row(label, mean.value, mean.interval if mean.n else None, decided=decided))
        words.append(f"{one.title}: {rows[-1]['text']}{_between(mean.interval)}")
    level = {one.level for one in found}
    kind = "confidence sequence" if all(one.stopping for one in found) else "interval"
    title = f"Share of the first, {100 * level.pop():g} % {kind}" if len(level) == 1 else "Share of the first"
    frame = Frame(title, visible("; ".join(words), keep=""), width, _ROW * len(rows), labels, domain=(0, 100))
    return drawn(frame, rows, lines=[(50, "even")])


def rating_chart(
    names: Sequence[str],
    ratings: Sequence[float],
    intervals: Sequence[Interval | None],
    *,
    ranks: Sequence[tuple[int, int]] = (),
    width: int = WIDTH,
) -> alt.LayerChart:
    """Ratings on the Elo scale with their intervals, in the given order; before each name the range of its rank.

    Args:
        names: of the targets.
        ratings: a number each.
        intervals: None where there is none.
        ranks: best and worst rank of each; () leaves them out.
        width: pixels of the whole chart, 300 or more.
    """
    shown = [f"{rank_text(*rank)}  {name}" for name, rank in zip(names, ranks, strict=True)] if ranks else names
    labels = _labels(shown, width)
    rows: list[Row] = [
        {**_row(label, None, None, decided=True), "value": round(rating, 2), "text": f"{rating:.0f}"}
        | ({"low": round(interval.low, 2), "high": round(interval.high, 2)} if interval else {})
        for label, rating, interval in zip(labels, ratings, intervals, strict=True)
    ]
    words = "; ".join(
        f"{name}: {rating:.0f}" + (f" ({interval.low:.0f} to {interval.high:.0f})" if interval else "")
        for name, rating, interval in zip(shown, ratings, intervals, strict=True)
    )
    ends = [*ratings, *(end for interval in intervals if interval for end in interval)]
    # Ends of its own: the usual round ones would leave labels of four digits no room on a telephone.
    domain = (_ROUND * math.floor(min(ends) / _ROUND), _ROUND * math.ceil(max(ends) / _ROUND + 0.01))
    words = visible(words, keep="")
    frame = Frame("Rank and Elo rating, 95 % interval", words, width, _ROW * len(rows), labels, domain=domain)
    return drawn(frame, rows)


def rank_text(best: int, worst: int) -> str:
    """A rank, or its range where it is not certain.

    >>> rank_text(1, 1), rank_text(2, 4)
    ('1', '2 to 4')
    """
    return f"{best}" if best == worst else f"{best} to {worst}"


def win_matrix_chart(
    names: Sequence[str], shares: Sequence[Sequence[float | None]], *, width: int = WIDTH
) -> alt.LayerChart:
    """How often each row was preferred to each column, in percent, ties as half; columns bear the rows' numbers.

    Args:
        names: of the targets, rows from the top and columns from the left.
        shares: per row its share in [0, 1] against every column; None where they did not meet.
        width: pixels of the whole chart, 300 or more.
    """
    import altair as alt

    labels = _labels([f"{at}  {name}" for at, name in enumerate(names, start=1)], width)
    columns = [str(at) for at in range(1, len(names) + 1)]
    cells = [_cell(label, column, share) for label, row in zip(labels, shares, strict=True)
             for column, share in zip(columns, row, strict=True)]  # fmt: skip
    words = "; ".join(
        f"{name}: " + ", ".join(_cell(name, "", share)["text"] for share in row)
        for name, row in zip(names, shares, strict=True)
    )
    frame = Frame(
        "Share of the row against the column, in %", visible(words, keep=""), width, _CELL * len(names), labels
    )
    rows_axis = alt.Axis(title=None, ticks=False, labelExpr="split(datum.label, '\\n')", labelLimit=0, labelPadding=8)
    base = alt.Chart({"values": cells}).encode(
        x=alt.X("column:N", sort=columns, title=None, axis=alt.Axis(orient="top", ticks=False, labelAngle=0)),
        y=alt.Y("label:N", sort=list(labels), axis=rows_axis),
    )
    scale = alt.Scale(domain=[0, 50, 100], range=[_LOSES, _EVEN, _WINS], interpolate="rgb")
    heat = base.mark_rect(stroke=layout.GRID).encode(color=alt.Color("value:Q", scale=scale, legend=None))
    texts = base.mark_text(fontSize=layout.SIZE, color=_FIGURES).encode(text="text:N")
    apart = base.transform_filter("datum.value === null").mark_text(color=layout.INK).encode(text="text:N")
    met = [layer.transform_filter("datum.value !== null") for layer in (heat, texts)]
    return framed(alt.LayerChart(layer=[*met, apart]), frame, offset=8)


def sequence_chart(stopping: Stopping, *, name: str = "", width: int = WIDTH) -> alt.LayerChart:
    """The confidence sequence over the number of samples, with the threshold and where the run stopped.

    Args:
        stopping: what the rule decided, with its path.
        name: whose mean it is; "" is the score's.
        width: pixels of the whole chart, 300 or more.
    """
    import altair as alt

    path = stopping.path or ((stopping.used, sum(stopping.interval) / 2, *stopping.interval),)
    points = [
        {"n": n, "mean": round(100 * mean, 3), "low": round(100 * low, 3), "high": round(100 * high, 3)}
        for n, mean, low, high in path
    ]
    share = not stopping.against
    title = f"{name or score_title(stopping.score)}: confidence sequence over the samples"
    fits = layout.width_of(title) < width - 2 * layout.SIZE
    frame = Frame(
        visible(title, keep="") if fits else "Confidence sequence over the samples",
        _sequence_words(stopping, name),
        width,
        _HEIGHT,
        ("-100",),
        domain=(0, 100) if share else (-100, 100),
    )
    most = max(stopping.planned, stopping.used, _LEAST_SAMPLES)
    x = alt.X("n:Q", title=None, scale=alt.Scale(domain=[0, most], nice=False), axis=alt.Axis(tickCount=5, format=",d"))
    base = alt.Chart({"values": points}).encode(x=x)
    layers = [
        base.mark_area(color=layout.colour(0), opacity=0.22).encode(y=_percent_axis(frame, "low"), y2="high:Q"),
        base.mark_line(color=layout.colour(0), strokeWidth=2).encode(y=_percent_axis(frame, "mean")),
        base.mark_point(color=layout.colour(0), filled=True, size=30 if len(points) < 2 else 0).encode(
            y=_percent_axis(frame, "mean")
        ),
        *_threshold(frame, stopping, most),
        *_stop(stopping, most),
    ]
    return framed(alt.LayerChart(layer=layers), frame, offset=8 if stopping.used < stopping.planned else 24)


def _percent_axis(frame: Frame, name: str) -> alt.Y:
    import altair as alt

    scale = alt.Scale(domain=list(frame.domain or (0, 100)), nice=False)
    return alt.Y(f"{name}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))


def _threshold(frame: Frame, stopping: Stopping, most: int) -> list[alt.Chart]:
    """A dashed line with its value at the right, where there is room for it."""
    import altair as alt

    value = 100 * stopping.threshold
    ends = [{"n": 0, "at": value, "text": ""}, {"n": most, "at": value, "text": f"{value:g} %"}]
    base = alt.Chart({"values": ends}).encode(x="n:Q", y=_percent_axis(frame, "at"))
    line = base.mark_line(color=layout.INK, strokeDash=[4, 3], strokeWidth=1.2)
    return [line, base.mark_text(align="left", dx=8, color=layout.INK, fontSize=layout.SIZE - 1).encode(text="text:N")]


def _stop(stopping: Stopping, most: int) -> list[alt.Chart]:
    """An upright line where the decision was made, named above the plot."""
    import altair as alt

    if stopping.used >= stopping.planned:
        return []
    at_right = stopping.used > 0.7 * most
    words = f"decided after {stopping.used:,}"
    base = alt.Chart({"values": [{"n": stopping.used, "words": words}]}).encode(x="n:Q")
    text = base.mark_text(
        align="right" if at_right else "left", dy=-6, color=layout.INK, fontSize=layout.SIZE - 1, baseline="bottom"
    )
    rule = base.mark_rule(color=layout.INK, strokeWidth=1.2)
    return [rule, text.encode(y=alt.value(0), text="words:N")]


def _sequence_words(stopping: Stopping, name: str) -> str:
    low, high = stopping.interval
    limits = f"{100 * low:.1f} to {100 * high:.1f} %"
    used = f"after {stopping.used:,} of {stopping.planned:,} samples"
    return visible(f"{name or stopping.score}: {limits} {used}, threshold {100 * stopping.threshold:g} %", keep="")


def _labels(names: Sequence[str], width: int) -> tuple[str, ...]:
    return tuple(layout.distinct(layout.wrapped(one, _LABEL_SHARE * width) for one in names))


def _row(label: str, value: float | None, interval: Interval | None, *, decided: bool) -> Row:
    return {
        "label": label,
        "place": 0,
        "value": None if value is None else round(100 * value, 3),
        "low": round(100 * interval.low, 3) if interval else None,
        "high": round(100 * interval.high, 3) if interval else None,
        "text": MISSING if value is None else f"{100 * value:.1f} %",
        "decided": decided,
    }


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def _cell(label: str, column: str, share: float | None) -> dict[str, Any]:
    return {
        "label": label,
        "column": column,
        "value": None if share is None else round(100 * share, 2),
        "text": MISSING if share is None else f"{100 * share:.0f}",
    }
