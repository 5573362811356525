"""Steelyard weighs LLM applications: runs them over a dataset, scores them, and says whether a difference is real.

Public names are imported on first use (PEP 562), so that `import steelyard` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard.errors import (
        ConfigError,
        DataError,
        ModelError,
        ScorerError,
        SteelyardError,
        StoreError,
        TargetError,
    )
    from steelyard.types import Failure, Label, Output, Record, Reply, Sample, Score

_HOME = {
    "ConfigError": "errors",
    "DataError": "errors",
    "Failure": "types",
    "Label": "types",
    "ModelError": "errors",
    "Output": "types",
    "Record": "types",
    "Reply": "types",
    "Sample": "types",
    "Score": "types",
    "ScorerError": "errors",
    "SteelyardError": "errors",
    "StoreError": "errors",
    "TargetError": "errors",
}

__all__ = [
    "ConfigError",
    "DataError",
    "Failure",
    "Label",
    "ModelError",
    "Output",
    "Record",
    "Reply",
    "Sample",
    "Score",
    "ScorerError",
    "SteelyardError",
    "StoreError",
    "TargetError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    return getattr(import_module(f"steelyard.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
