"""The kinds of evaluation. Each class describes one and builds a `Suite`; each function loads its dataset."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
