"""Intervals, tests, rankings and sample sizes: pure functions on numpy, each with its source."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
