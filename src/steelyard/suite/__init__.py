"""Suite and the functions that run it."""

from steelyard.suite.evaluate import Control, How, aevaluate, aevaluate_suite, evaluate, evaluate_suite
from steelyard.suite.objects import Options, Suite

__all__ = ["Control", "How", "Options", "Suite", "aevaluate", "aevaluate_suite", "evaluate", "evaluate_suite"]
