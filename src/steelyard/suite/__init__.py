"""Suite and the functions that run it."""

from steelyard.suite.evaluate import RunConfig, RunHandle, aevaluate, aevaluate_suite, evaluate, evaluate_suite
from steelyard.suite.objects import Options, Suite

__all__ = [
    "Control",
    "How",
    "Options",
    "RunConfig",
    "RunHandle",
    "Suite",
    "aevaluate",
    "aevaluate_suite",
    "evaluate",
    "evaluate_suite",
]

How = RunConfig
"""The name of `RunConfig` in version 0.1, which users' code may have."""
Control = RunHandle
"""The name of `RunHandle` in version 0.1."""
