"""Suite and the functions that run it."""

from steelyard.evaluation.evaluate import RunConfig, aevaluate_suite, evaluate_suite
from steelyard.evaluation.objects import Options, Suite
from steelyard.evaluation.running import RunHandle

__all__ = [
    "Options",
    "RunConfig",
    "RunHandle",
    "Suite",
    "aevaluate_suite",
    "evaluate_suite",
]
