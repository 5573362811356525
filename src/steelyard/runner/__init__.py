"""Runs one target over a feed of samples: `runner` holds the workers, `step` how a target or scorer is called."""

from steelyard.runner.runner import Feed, Progress, Runner, Sink, Task, Work
from steelyard.runner.step import Step, as_scores, distinct

__all__ = ["Feed", "Progress", "Runner", "Sink", "Step", "Task", "Work", "as_scores", "distinct"]
