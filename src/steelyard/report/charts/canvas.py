"""The canvas that charts are drawn on: lines, texts, marks and areas by colour, and axes with grid and figures.

Horizontal positions are percentages of the width and vertical ones are pixels, so that one drawing fits any width while
its letters keep their size. `templates/chart.svg.j2` writes a drawing as SVG. A label's width is estimated here and not
measured with a font: a chart is the same on every machine, whatever fonts it has, and Chinese labels get the space that
they need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final
from unicodedata import east_asian_width

from steelyard.escaping import visible
from steelyard.report.charts.chart import ConditionLink, RowChart

COLOURS: Final = ("#0072b2", "#c04e00", "#007a5a", "#8f4a82", "#8a6a00", "#5b6570")
"""Distinguishable for the colour-blind (after Okabe and Ito 2008), each with a contrast of 4.5 : 1 on white or more."""
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK: Final = "#3d4650"
GRID: Final = "#d5dade"
FONT: Final = "system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
SIZE: Final = 13
"""Font size of labels in pixels."""
_WIDE: Final = frozenset("mwMW@%")
LEAST_WIDE: Final = 560
"""Charts narrower than this write the names of rows above the marks instead of beside them."""
TITLE: Final = 30
"""Pixels from the top to the plot: the title and the space below it."""
TICKS: Final = 24
PLOT: Final = 220
"""Height in pixels of a plot of lines."""
GAP: Final = 10
MARKS: Final = {
    "circle": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "M-4-4h8v8h-8z",
    "triangle-up": "M0-5.5L5.5 4h-11z",
    "diamond": "M0-6L6 0L0 6L-6 0z",
    "cross": "M-2-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z",
    "triangle-down": "M0 5.5L5.5-4h-11z",
}


def shape(number: int) -> str:
    """The mark of a series by its 0-based number; with its colour, unique for 36 series."""
    return SHAPES[(number + number // len(COLOURS)) % len(SHAPES)]


def width_of(text: str) -> float:
    """Upper estimate of the pixels of a label: a full-width character is 1 em, m and w 0.9, any other 0.58.

    >>> width_of("周易"), round(width_of("abc"), 1)
    (26.0, 22.6)
    """
    return sum(
        SIZE * (1.0 if east_asian_width(character) in "WF" else 0.9 if character in _WIDE else 0.58)
        for character in text
    )


def wrapped(text: str, room: float, *, lines: int = 2) -> str:
    r"""A label in at most `lines` lines of `room` pixels, with an ellipsis where that is not enough.

    >>> wrapped("model-a with knowledge", 90)
    'model-a\nwith know…'
    """
    remaining = " ".join(visible(text, keep="").split())
    wrapped_lines: list[str] = []
    while remaining:
        if len(wrapped_lines) == lines - 1:
            wrapped_lines.append(_cut(remaining, room))
            break
        end = _break_place(remaining, room)
        wrapped_lines.append(remaining[:end].rstrip())
        remaining = remaining[end:].lstrip()
    return "\n".join(wrapped_lines)


def _fits(text: str, room: float) -> int:
    """How many characters from the beginning fit; at least one."""
    used = 0.0
    for at, character in enumerate(text):
        used += width_of(character)
        if used > room:
            return max(1, at)
    return len(text)


def _cut(text: str, room: float) -> str:
    fits = _fits(text, room)
    return text if fits == len(text) else text[: max(1, _fits(text, room - width_of("…")))] + "…"


def _break_place(text: str, room: float) -> int:
    fits = _fits(text, room)
    if fits == len(text):
        return fits
    # A blank or an opening bracket goes to the next line and may begin where the space ends; other marks have to fit.
    blank = max(text.rfind(mark, 0, fits + (mark in " （")) for mark in (" ", "-", "_", "/", "，", "（"))
    return fits if blank < fits // 2 else blank + (text[blank] not in " （")


@dataclass(frozen=True, slots=True)
class SvgLine:
    """A straight line; here and in the other elements `x` is a horizontal position and `y` a vertical one."""

    x1: str
    y1: float
    x2: str
    y2: float
    width: float = 1
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class SvgText:
    """A text on one line.

    Args:
        x: of its beginning, end or middle, by `anchor` (`start`, `end`, `middle`).
        y: of its base line.
        text: may hold anything.
        dx: pixels that it is moved to the right.
        size: of its letters in pixels.
        bold: whether it is bold.
    """

    x: str
    y: float
    text: str
    anchor: str = "start"
    dx: float = 0
    size: float = SIZE
    bold: bool = False


@dataclass(frozen=True, slots=True)
class SvgMark:
    """A mark of a series; `path` is drawn around (x, y); a hollow one is filled with the colour of the page.

    Args:
        dx: pixels that it is moved to the right.
        label: its meaning; "" where it has no single one.
        link: its address; "" for none.
    """

    x: str
    y: float
    path: str
    hollow: bool = False
    dx: float = 0
    label: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class SvgBar:
    """A filled rectangle.

    Args:
        fill: a colour of its own; "" is that of the layer.
        link: the samples that it counts; a page may know an address for them.
        label: its meaning, if it has a link.
    """

    x: str
    y: float
    width: str
    height: float
    fill: str = ""
    link: ConditionLink | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class SvgPath:
    """A line or an area within the plot; horizontally in 1/1000 of its width, vertically in pixels."""

    path: str
    area: bool = False


SvgElement = SvgLine | SvgText | SvgMark | SvgBar | SvgPath


@dataclass(frozen=True, slots=True)
class SvgLayer:
    """Elements of one colour; from the bottom bars, paths, lines, marks and texts.

    Args:
        kind: `ink`, `quiet`, `grid`, `figure` (dark in either scheme) or `s0` to `s5`: the class that it has.
        elements: in any order.
    """

    kind: str
    elements: tuple[SvgElement, ...]

    @property
    def colour(self) -> str:
        """Its colour in the light scheme."""
        return _COLOURS[self.kind]

    @property
    def bars(self) -> list[SvgBar]:
        """Its bars; `paths`, `lines`, `marks` and `texts` likewise."""
        return [element for element in self.elements if isinstance(element, SvgBar)]

    @property
    def paths(self) -> list[SvgPath]:
        """See `bars`."""
        return [element for element in self.elements if isinstance(element, SvgPath)]

    @property
    def lines(self) -> list[SvgLine]:
        """See `bars`."""
        return [element for element in self.elements if isinstance(element, SvgLine)]

    @property
    def marks(self) -> list[SvgMark]:
        """See `bars`."""
        return [element for element in self.elements if isinstance(element, SvgMark)]

    @property
    def texts(self) -> list[SvgText]:
        """See `bars`."""
        return [element for element in self.elements if isinstance(element, SvgText)]


@dataclass(frozen=True, slots=True)
class SvgDrawing:
    """A chart as drawn: its elements and their positions.

    Args:
        ident: unique to its content, so that several charts may be on one page.
        title: its full name; `description` says what it shows.
        height: pixels.
        layers: from the bottom.
        least: width in pixels below which texts would overlap; 0 where any width is enough.
        plot: (x, y, width, height) of the plot where there are paths.
    """

    ident: str
    title: str
    description: str
    height: float
    layers: tuple[SvgLayer, ...]
    least: int = 0
    plot: tuple[str, float, str, float] = ("0%", 0, "0%", 0)
    font: str = FONT

    @property
    def has_links(self) -> bool:
        """Whether a mark has a link."""
        return any(mark.link for layer in self.layers for mark in layer.marks)

    @property
    def bar_link(self) -> ConditionLink | None:
        """The link of the first bar that has one."""
        return next((bar.link for layer in self.layers for bar in layer.bars if bar.link), None)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Values of an axis from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def of(cls, chart: RowChart) -> AxisScale:
        """The chart's own domain, else the range of its data with some space."""
        if chart.domain is not None:
            return cls(*chart.domain)
        ends = (value for point in chart.points for value in (point.value, point.low, point.high))
        values = [value for value in (*ends, *(at for at, _ in chart.lines)) if value is not None]
        low, high = min(values, default=0.0), max(values, default=1.0)
        low = min(low, 0.0) if chart.shape == "bars" else low
        room = 0.05 * (high - low) or 0.5
        return cls(low - (0 if chart.shape == "bars" else room), high + room)

    def share(self, value: float) -> float:
        """The position of a value, 0 at `low` and 1 at `high`."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def ticks(self, n: int) -> list[float]:
        """About n round values within the scale."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(span / n))
        step = next((factor * power for factor in (1, 2, 2.5, 5) if span / (factor * power) <= n + 0.5), 10 * power)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


@dataclass(slots=True)
class Canvas:
    """Collects the elements of a chart by colour.

    Args:
        width: pixels that the chart has at least.
        left: pixels before the plot; likewise `right` after it.
        least: width in pixels below which texts would overlap.
    """

    width: int
    left: float
    right: float
    least: int = 0
    layers: dict[tuple[int, str], list[SvgElement]] = field(default_factory=dict)

    def across(self, share: float) -> str:
        """The position of a share of the plot, 0 at its left end, as a percentage of the whole."""
        plot = self.width - self.left - self.right
        return f"{100 * (self.left + share * plot) / self.width:.2f}%"

    def wide(self, share: float) -> str:
        """The width of a share of the plot."""
        return f"{100 * share * (self.width - self.left - self.right) / self.width:.2f}%"

    def add(self, kind: str, *elements: SvgElement, order: int = 1) -> None:
        """Add elements of a kind of layer; those of a lower `order` are below."""
        self.layers.setdefault((order, kind), []).extend(elements)

    def drawing(self, title: str, description: str, height: float, *, plot: _Plot | None = None) -> SvgDrawing:
        """The drawing of all added elements, with its title above them."""
        head = wrapped(title, self.width - 2 * SIZE).split("\n")
        size, first = (14, 15) if len(head) == 1 else (12, 10)
        lines = (SvgText("0", first + 14 * at, line, size=size, bold=True) for at, line in enumerate(head))
        self.add("ink", *lines, order=3)
        layers = tuple(SvgLayer(kind, tuple(self.layers[order, kind])) for order, kind in sorted(self.layers))
        names = (visible(title, keep=""), visible(description, keep=""))
        drawing = SvgDrawing("", *names, round(height, 1), layers, least=self.least)
        drawing = drawing if plot is None else replace(drawing, plot=plot)
        content = repr(drawing).encode("utf-8", "backslashreplace")
        return replace(drawing, ident=blake2b(content, digest_size=5).hexdigest())


_Plot = tuple[str, float, str, float]
_COLOURS: Final = {
    "ink": INK,
    "quiet": INK,
    "grid": GRID,
    "figure": "#1d242b",
    **{f"s{number}": colour for number, colour in enumerate(COLOURS)},
}


def tick_text(value: float) -> str:
    """The label of a tick."""
    return f"{value:,.10g}"


def level_axis(canvas: Canvas, scale: AxisScale, lines: Iterable[tuple[float, str]], plot: tuple[float, float]) -> None:
    """Grid and tick labels of a horizontal axis below the plot, and vertical lines to compare with."""
    top, bottom = plot
    for value in scale.ticks(5 if canvas.width >= LEAST_WIDE else 4):
        x = canvas.across(scale.share(value))
        canvas.add("grid", SvgLine(x, top, x, bottom + 4), order=0)
        canvas.add("quiet", SvgText(x, bottom + 19, tick_text(value), "middle"))
    for value, words in lines:
        share = scale.share(value)
        x = canvas.across(share)
        canvas.add("ink", SvgLine(x, top - 2, x, bottom, 1.2, dashed=True), order=0)
        anchor = "end" if share > 0.8 else "start" if share < 0.2 else "middle"
        canvas.add("ink", *([SvgText(x, top - 6, visible(words, keep=""), anchor)] if words else []))


def upright_axis(canvas: Canvas, scale: AxisScale, top: float, plot: float = PLOT) -> Callable[[float], float]:
    """Grid and tick labels of a vertical axis, `plot` pixels long; returns the function from value to pixel."""

    def down(value: float) -> float:
        return round(top + plot * (1 - scale.share(value)), 2)

    for value in scale.ticks(5):
        y = down(value)
        canvas.add("grid", SvgLine(canvas.across(0), y, canvas.across(1), y), order=0)
        canvas.add("quiet", SvgText(canvas.across(0), y + 4.5, tick_text(value), "end", -8))
    return down


def room_of_figures(scale: AxisScale) -> float:
    """Pixels before a plot, for the tick labels of its vertical axis."""
    return max((width_of(tick_text(value)) for value in scale.ticks(5)), default=0) + GAP


def line_path(points: Iterable[tuple[float, float]]) -> str:
    """A line through points of a plot, as a path.

    Args:
        points: (share of the width, pixels from the top of the plot).

    >>> line_path([(0, 20), (0.5, 12.25)])
    'M0.0 20.0L500.0 12.2'
    """
    return "M" + "L".join(f"{1000 * x:.1f} {y:.1f}" for x, y in points)


def apart(heights: Sequence[float], bottom: float, step: float = SIZE + 4) -> list[float]:
    """Positions, such as the heights of names at the ends of lines, moved on so that they do not overlap.

    Two are `step` apart or more. All are moved back where the last would be beyond `bottom`.

    >>> apart([80.0, 70.0, 20.0], 100.0), apart([100.0, 90.0, 20.0], 100.0)
    ([87.0, 70.0, 20.0], [100.0, 83.0, 13.0])
    """
    placed: dict[int, float] = {}
    lowest = -math.inf
    for number in sorted(range(len(heights)), key=heights.__getitem__):
        lowest = placed[number] = max(heights[number], lowest + step)
    over = max(0.0, lowest - bottom)
    return [placed[number] - over for number in range(len(heights))]
