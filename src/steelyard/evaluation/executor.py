"""The protocol of executors, which run an evaluation in place of this process, and the values that they get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from steelyard.evaluation.objects import Suite
from steelyard.models.budget import BudgetMeter, Quota
from steelyard.runner import Progress
from steelyard.sql.sandbox import Permit
from steelyard.store import RunWriter, Store


@dataclass(slots=True)
class RunHandle:
    """Progress of a running evaluation, and a way to stop it.

    Attributes:
        progress: per target, in order; written by the runner.
        retries: kind of fault -> attempts of this process that failed and were sent again.
        meter: of the budget and of money; None where neither a budget nor prices are set.
        stop: finish what is in flight, store it and end; set once the runs have begun.
        workers: a line on the processes that share the samples; "" where there are none.
    """

    progress: list[Progress] = field(default_factory=list)
    retries: Mapping[str, int] = field(default_factory=dict)
    meter: BudgetMeter | None = None
    stop: Callable[[str], None] | None = None
    workers: str = ""


@dataclass(frozen=True, slots=True)
class BegunEvaluation:
    """An evaluation whose runs are begun and locked, and not yet worked on.

    Args:
        suite: what is run.
        store: where the runs are written.
        where: its address as it was given, which may name a password by `${NAME}`.
        evaluation: its number.
        writers: of its unfinished runs, in order.
        manifests: of each target's run.
        planned: records of each run.
        quota: budget, rates and prices of the whole evaluation.
        environment: values for `${NAME}` that this process's environment lacks.
        unsafe_sql: run generated SQL also on engines that cannot be sandboxed.
        permits: see `Sandbox`.
    """

    suite: Suite
    store: Store
    where: str | Path | None
    evaluation: int
    writers: Sequence[RunWriter]
    manifests: Mapping[str, Mapping[str, Any]]
    planned: int
    quota: Quota
    environment: Mapping[str, str]
    unsafe_sql: bool
    permits: frozenset[Permit]


class Executor(Protocol):
    """Runs the targets of an evaluation elsewhere than in this process."""

    def check(self, suite: Suite, where: str | Path | None) -> None:
        """Refuse what it cannot run, before anything is stored.

        Raises:
            ConfigError: what is missing, and what to do.
        """

    async def run(self, begun: BegunEvaluation, control: RunHandle) -> None:
        """Run every target to its end and store the state that each run ends in.

        Raises:
            StoreError: the results could not be kept.
        """


def is_executor(value: object) -> TypeGuard[Executor]:
    """Whether a value has the methods of an `Executor`; a class of executors is none."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("check", "run"))
