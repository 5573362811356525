"""Space for labels, colours and marks of charts.

A label's width is estimated here and not measured with a font: a chart is the same on every machine, whatever fonts it
has, and Chinese labels get the space that they need.
"""

from __future__ import annotations

from typing import Final
from unicodedata import east_asian_width

from steelyard.escaping import visible

COLOURS: Final = ("#0072b2", "#c04e00", "#007a5a", "#8f4a82", "#8a6a00", "#5b6570")
"""Distinguishable for the colour-blind (after Okabe and Ito 2008), each with a contrast of 4.5 : 1 on white or more."""
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK: Final = "#3d4650"
GRID: Final = "#d5dade"
FONT: Final = "system-ui, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
SIZE: Final = 13
"""Font size of labels in pixels."""
_WIDE: Final = frozenset("mwMW@%")


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
