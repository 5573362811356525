"""Several processes work on one run: each takes ranges of samples by leases from a PostgreSQL store.

The process that was started plans the ranges, starts the workers and restarts those that die; the truth is in the
store. See docs/how-to/scale.md.
"""

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
