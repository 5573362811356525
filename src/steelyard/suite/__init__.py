"""Suite and the functions that run it."""

from steelyard.suite.evaluate import RunConfig, aevaluate_suite, evaluate_suite
from steelyard.suite.executor import RunHandle
from steelyard.suite.objects import Options, Suite

__all__ = [
    "Options",
    "RunConfig",
    "RunHandle",
    "Suite",
    "aevaluate_suite",
    "evaluate_suite",
]
