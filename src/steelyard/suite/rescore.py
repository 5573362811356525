"""Scoring stored outputs again: a new layer of scores, no call to any target."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.errors import ConfigError, boundary
from steelyard.registry import describe
from steelyard.runner import Step, as_scores, distinct
from steelyard.sql.sandbox import Sandbox
from steelyard.store import Run, Store
from steelyard.suite.survey import prepare, scorer_stages
from steelyard.types import Score, Scorer


def rescore(store: Store, run: Run, scorers: Sequence[Scorer], *, unsafe_sql: bool = False) -> tuple[Run, int]:
    """Apply `scorers` to the stored outputs of a run; the earlier scores stay as an older layer.

    Args:
        store: where the run is.
        run: a run that has ended.
        scorers: none of them may ask a model.
        unsafe_sql: run SQL on engines too that cannot be held here.

    Returns:
        The run with its new scores, and how many of its records are damaged in the store and could not be scored.

    Raises:
        ConfigError: the run is still running, or a scorer asks a model.
        ScorerError: a scorer failed.
    """
    if run.state == "running":
        raise ConfigError(f"run {run.id} is still running")
    stages = scorer_stages(scorers)
    described = {name: describe(scorer) for name, scorer in stages.items()}
    damaged: list[str] = []
    with Sandbox(unsafe=unsafe_sql) as sandbox:
        steps = [Step.of(name, scorer, sandbox) for name, scorer in stages.items()]
        asking = next((step.stage for step in steps if step.asks), None)
        if asking is not None:
            raise ConfigError(f"scorer {asking!r} asks a model; stored runs are scored again by scorers that do not")
        prepare(scorers, sandbox)
        return store.add_layer(run, described, _scores(run, steps, damaged)), len(damaged)


def _scores(run: Run, steps: Sequence[Step], damaged: list[str]) -> Iterator[tuple[int, int, list[Score]]]:
    with asyncio.Runner() as loop:
        for no, record in run.numbered_records():
            if record.output is None:
                if record.failure is not None and record.failure.kind == "damaged":
                    damaged.append(record.sample.id)
                continue
            found: list[Score] = []
            for step in steps:
                with boundary("scorer", step.stage):
                    value = loop.run(_call(step, record.sample, record.output))
                    found += distinct(as_scores(step.stage, value), found)
            yield no, record.repeat, found


async def _call(step: Step, *values: Any) -> Any:
    return await step(None, *values)
