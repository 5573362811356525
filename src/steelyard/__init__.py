"""Steelyard evaluates LLM applications: runs them over a dataset, scores the outputs, tests differences.

The names below are those of a first evaluation. Everything else has a public namespace by its kind:
`steelyard.models`, `.targets`, `.scorers`, `.suites`, `.data`, `.generate`, `.sql`, `.tables`, `.replies`, `.stats`,
`.analysis` and `.report`.
Names are imported on first use (see `steelyard.lazy`), so that `import steelyard` stays light.
"""

from __future__ import annotations

from steelyard.lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
