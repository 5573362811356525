"""Datasets and scorers made from documents and from runs: question sets, reviews, error analyses."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
