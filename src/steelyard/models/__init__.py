"""Models that answer messages, and what limits the calls to them: retries, budgets, prices.

To call an API that none of them speaks, describe it to `HttpModel`, or write a class that satisfies `Model`.
"""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
