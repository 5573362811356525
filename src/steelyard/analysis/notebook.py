"""Small HTML tables for notebooks, of summaries, comparisons, preferences and standings.

A notebook has styles of its own, so there is nothing here but tables and paragraphs; the pages of `steelyard.report`
are for people who want more. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from steelyard.escaping import visible

if TYPE_CHECKING:
    from steelyard.stats.intervals import Interval

ABSENT: Final = "–"


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], sentences: Iterable[str] = ()) -> str:
    """A table with its caption, and a paragraph for each sentence that is not empty."""
    lines = [_cells(head, "th"), *(_cells(row, "td") for row in rows)]
    paragraphs = "".join(f"<p>{_html(sentence)}</p>" for sentence in sentences if sentence)
    return f"<table><caption>{_html(caption)}</caption>{''.join(lines)}</table>{paragraphs}"


def number_text(value: float | None, *, share: bool = False, difference: bool = False) -> str:
    """A value for a cell: a share in percent, a difference with its sign, one of shares in points.

    >>> number_text(0.5, share=True), number_text(0.05, share=True, difference=True), number_text(2.5)
    ('50.0 %', '+5.0', '2.50')
    """
    if value is None:
        return ABSENT
    sign = "+" if difference else ""
    if not share:
        return f"{value:{sign}.2f}"
    return f"{100 * value:{sign}.1f}{'' if difference else ' %'}"


def interval_text(interval: Interval | None, *, share: bool = False, difference: bool = False) -> str:
    """Both ends of an interval, written like the value that it belongs to."""
    if interval is None:
        return ABSENT
    return " to ".join(number_text(end, share=share, difference=difference) for end in interval)


def _cells(texts: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_html(text)}</{tag}>" for text in texts) + "</tr>"


def _html(text: str) -> str:
    return escape(visible(text, keep=""))
