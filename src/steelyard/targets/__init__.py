"""Systems under test: a prompt, an endpoint, a function, a baseline, an agent, stored outputs."""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
