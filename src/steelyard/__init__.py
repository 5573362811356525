"""Steelyard weighs LLM applications: runs them over a dataset, scores them, and says whether a difference is real.

Public names are imported on first use (PEP 562), so that `import steelyard` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard.compare import compare
    from steelyard.errors import (
        ConfigError,
        DataError,
        ModelError,
        ScorerError,
        SteelyardError,
        StoreError,
        TargetError,
    )
    from steelyard.models.budget import Budget
    from steelyard.models.limits import Retry
    from steelyard.models.openai_compatible import OpenAICompatible
    from steelyard.models.scripted import Scripted
    from steelyard.scorers.choice import Choice
    from steelyard.scorers.match import ExactMatch
    from steelyard.scorers.sql import SqlResult
    from steelyard.scorers.tables import TableMetrics
    from steelyard.sql.results import Database, SqlLimits
    from steelyard.sql.sandbox import Sandbox
    from steelyard.store import Run, Store
    from steelyard.suite import Options, Suite, aevaluate, aevaluate_suite, evaluate, evaluate_suite
    from steelyard.targets.baseline import Baseline
    from steelyard.targets.prompt import Prompt
    from steelyard.types import Failure, Label, Output, Record, Reply, Sample, Score

_HOME = {
    "Baseline": "targets.baseline",
    "Budget": "models.budget",
    "Choice": "scorers.choice",
    "ConfigError": "errors",
    "DataError": "errors",
    "Database": "sql.results",
    "ExactMatch": "scorers.match",
    "Failure": "types",
    "Label": "types",
    "ModelError": "errors",
    "OpenAICompatible": "models.openai_compatible",
    "Options": "suite",
    "Output": "types",
    "Prompt": "targets.prompt",
    "Record": "types",
    "Reply": "types",
    "Retry": "models.limits",
    "Run": "store",
    "Sample": "types",
    "Sandbox": "sql.sandbox",
    "Score": "types",
    "ScorerError": "errors",
    "Scripted": "models.scripted",
    "SqlLimits": "sql.results",
    "SqlResult": "scorers.sql",
    "SteelyardError": "errors",
    "Store": "store",
    "StoreError": "errors",
    "Suite": "suite",
    "TableMetrics": "scorers.tables",
    "TargetError": "errors",
    "aevaluate": "suite",
    "aevaluate_suite": "suite",
    "compare": "compare",
    "evaluate": "suite",
    "evaluate_suite": "suite",
}

__all__ = [
    "Baseline",
    "Budget",
    "Choice",
    "ConfigError",
    "DataError",
    "Database",
    "ExactMatch",
    "Failure",
    "Label",
    "ModelError",
    "OpenAICompatible",
    "Options",
    "Output",
    "Prompt",
    "Record",
    "Reply",
    "Retry",
    "Run",
    "Sample",
    "Sandbox",
    "Score",
    "ScorerError",
    "Scripted",
    "SqlLimits",
    "SqlResult",
    "SteelyardError",
    "Store",
    "StoreError",
    "Suite",
    "TableMetrics",
    "TargetError",
    "aevaluate",
    "aevaluate_suite",
    "compare",
    "evaluate",
    "evaluate_suite",
]


def __getattr__(name: str) -> Any:
    import gc
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    # Loading modules makes many objects and no garbage: looking for some takes a sixth of the import's CPU.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    finally:
        if collecting:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
