"""Pages and files made from stored runs: HTML, Markdown, tables of records, charts."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
