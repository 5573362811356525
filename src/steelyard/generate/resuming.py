"""Running a step once: the newest run of the same step is taken, or resumed, before a new one is begun."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.survey import changed_keys, manifests, survey_of
from steelyard.store import Run, Store


class Evaluate(Protocol):
    """How a suite is run: `evaluate_suite`, or with progress."""

    def __call__(self, suite: Suite, *, how: RunConfig) -> Sequence[Run]:
        """The runs of all targets of a suite, in order."""
        ...


def run_step(suite: Suite, where: str | Path | None, how: RunConfig, evaluate: Evaluate) -> Run:
    """The newest run of the same step, resumed if it is unfinished; else a new run.

    Args:
        suite: with one target; runs of its kind whose samples, target and scorers are the same count as the same step.
        where: the store.
        how: settings of the run; `fresh` always begins a new one.
        evaluate: runs the suite.
    """
    before = None if how.fresh else newest_run(suite, where)
    if before is not None and before.state == "finished":
        return before
    resumed = dataclasses.replace(how, store=where, resume=before.id if before else "", on_broken="return")
    return evaluate(suite, how=resumed)[0]


def newest_run(suite: Suite, where: str | Path | None) -> Run | None:
    """The newest run of the same step, whatever became of it; None if there is none."""
    (name,) = suite.targets
    plan = dict(manifests(suite, survey_of(suite), draw="", config=None))[name]
    try:
        store = Store(where)
    except ConfigError:  # there is no store yet
        return None
    with store:
        for run in store.runs():
            if run.kind == suite.kind and run.target == name and not changed_keys(run.manifest, plan):
                return run
    return None
