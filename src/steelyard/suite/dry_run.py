"""What a suite would send: calls and estimated tokens, counted without sending anything."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from steelyard.errors import ConfigError, TargetError, boundary
from steelyard.models.base import Model
from steelyard.runner import Step
from steelyard.session.session import Keys
from steelyard.store import Store
from steelyard.suite.objects import Suite
from steelyard.suite.survey import survey
from steelyard.types import Reply, Sample

_LOOK_UP: Final = 500
"""Calls whose keys are looked up together."""


@dataclass(slots=True)
class Estimate:
    """What one target would send.

    Attributes:
        target: its name.
        records: samples times repeats.
        calls: requests to endpoints; retries come on top.
        in_journal: of these, how many are answered by the journal.
        input_tokens: estimated, see `steelyard.text.token_estimate`.
        output_tokens: at most, where `max_tokens` is set; else 0.
        asks: False for a target that sends nothing through Ask (a baseline, a plain function).
    """

    target: str
    records: int = 0
    calls: int = 0
    in_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    asks: bool = False


async def estimate(suite: Suite, *, store: str | None = None, fresh: bool = False) -> list[Estimate]:
    """Calls and tokens of every target, counted by running it with an Ask that answers with an empty text.

    A target that asks again because of what it was answered is counted as if the answer was empty; a plain function
    is not run.

    Args:
        suite: what would be run.
        store: whose journal would answer; None is the default one.
        fresh: nothing is taken from the journal.
    """
    survey(suite.samples)
    with contextlib.ExitStack() as opened:
        journal = None if fresh else _journal(store)
        if journal is not None:
            opened.enter_context(journal)
        return [await _estimate(name, target, suite, journal) for name, target in suite.targets.items()]


async def _estimate(name: str, target: Any, suite: Suite, journal: Store | None) -> Estimate:
    step = Step.of("target", target)
    found = Estimate(name, asks=step.asks)
    waiting: list[_Call] = []
    for sample in suite.samples:
        for repeat in range(suite.options.repeats):
            found.records += 1
            if step.asks:
                # An empty text is no answer that a target need understand; what it asked before counts.
                with contextlib.suppress(TargetError), boundary("target"):
                    await step(_CountingAsk(waiting, sample, repeat), sample)
        if len(waiting) >= _LOOK_UP:
            _count(found, waiting, journal)
    _count(found, waiting, journal)
    return found


@dataclass(frozen=True, slots=True)
class _Call:
    key: bytes
    input_tokens: int
    output_tokens: int


class _CountingAsk:
    """An Ask that sends nothing and notes what it would have sent."""

    def __init__(self, calls: list[_Call], sample: Sample, repeat: int) -> None:
        self._calls = calls
        self._keys = Keys(sample.id, repeat, "")

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        key = self._keys.next(request.digest)
        self._calls.append(_Call(key, request.input_tokens, _most_tokens(model, parameters)))
        return Reply(key.hex(), "")


def _count(found: Estimate, calls: list[_Call], journal: Store | None) -> None:
    """Add the calls to the estimate, and forget them."""
    held = journal.held([one.key for one in calls]) if journal is not None and calls else set()
    found.calls += len(calls)
    for one in calls:
        if one.key in held:
            found.in_journal += 1
        else:
            found.input_tokens += one.input_tokens
            found.output_tokens += one.output_tokens
    calls.clear()


def _most_tokens(model: Any, parameters: Mapping[str, Any]) -> int:
    most = {**getattr(model, "parameters", {}), **parameters}.get("max_tokens")
    return most if isinstance(most, int) else 0


def _journal(where: str | None) -> Store | None:
    """The store whose journal answers; None where there is none yet."""
    try:
        return Store(where)
    except ConfigError:
        return None
