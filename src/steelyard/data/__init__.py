"""Samples from spreadsheets, text tables, JSON, data frames and hubs; documents from PDF, Word, HTML and text."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
