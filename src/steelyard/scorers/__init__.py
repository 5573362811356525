"""Scorers turn a sample and an output into scores: by rules, by execution, or by asking a model."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
