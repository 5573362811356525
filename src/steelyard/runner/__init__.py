"""Runs one target over a feed of samples.

`runner` holds the workers, `step` how a target or scorer is called, `declared` what it declares about itself.
"""

from steelyard.runner.declared import judge_name, score_infos, stage_info, stage_name
from steelyard.runner.runner import Feed, Progress, Runner, RunPlan, Sink, Task
from steelyard.runner.step import Step, distinct, with_calls

__all__ = [
    "Feed",
    "Progress",
    "RunPlan",
    "Runner",
    "Sink",
    "Step",
    "Task",
    "distinct",
    "judge_name",
    "score_infos",
    "stage_info",
    "stage_name",
    "with_calls",
]
