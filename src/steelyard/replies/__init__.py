"""Reading what a model said: which option, rating, verdict, label, list or SQL statement a reply gives, or none.

Nothing is guessed: a reply that gives no verdict, or several, is left unparsed, with the kind and the words seen.
"""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
