"""How a notebook shows summaries, comparisons, preferences and standings."""

from __future__ import annotations

from importlib import import_module


def notebook_html(value: object) -> str:
    """A value as HTML, by the Sections of its page.

    Found by name: a notebook asks the value itself, and `analysis` stands below `report`, which makes pages of it.
    """
    html: str = import_module("steelyard.report.render.html").notebook_html(value)
    return html
