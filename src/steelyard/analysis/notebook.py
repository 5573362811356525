"""Small HTML tables for notebooks, of summaries, comparisons, preferences and standings.

A notebook has styles of its own, so there is nothing here but tables and paragraphs; the pages of `steelyard.report`
are for people who want more. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from steelyard.escaping import visible


def table_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], sentences: Iterable[str] = ()) -> str:
    """A table with its caption, and a paragraph for each sentence that is not empty."""
    lines = [_cells(head, "th"), *(_cells(row, "td") for row in rows)]
    paragraphs = "".join(f"<p>{_html(sentence)}</p>" for sentence in sentences if sentence)
    return f"<table><caption>{_html(caption)}</caption>{''.join(lines)}</table>{paragraphs}"


def _cells(texts: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_html(text)}</{tag}>" for text in texts) + "</tr>"


def _html(text: str) -> str:
    return escape(visible(text, keep=""))
