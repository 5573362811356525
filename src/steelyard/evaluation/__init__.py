"""Suite and the functions that run it."""

from steelyard.evaluation.evaluate import RunConfig, aevaluate_suite, evaluate_suite
from steelyard.evaluation.executor import RunHandle
from steelyard.evaluation.objects import Options, Suite

__all__ = [
    "Options",
    "RunConfig",
    "RunHandle",
    "Suite",
    "aevaluate_suite",
    "evaluate_suite",
]
