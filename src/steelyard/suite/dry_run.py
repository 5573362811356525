"""What a suite would send: calls and estimated tokens, counted without sending anything."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import ConfigError, TargetError, boundary
from steelyard.models.base import Model
from steelyard.runner import Step
from steelyard.session.session import journal_key
from steelyard.store import Store
from steelyard.suite.objects import Suite
from steelyard.suite.survey import survey
from steelyard.types import Reply, Sample


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


async def estimate(suite: Suite, *, store: str | None = None) -> list[Estimate]:
    """Calls and tokens of every target, counted by running it with an Ask that answers with an empty text.

    A target that asks again because of what it was answered is counted as if the answer was empty; a plain function
    is not run.
    """
    survey(suite.samples)
    known = _known_keys(store)
    return [await _estimate(name, target, suite, known) for name, target in suite.targets.items()]


async def _estimate(name: str, target: Any, suite: Suite, known: Any) -> Estimate:
    step = Step.of("target", target)
    found = Estimate(name, asks=step.asks)
    for sample in suite.samples:
        for repeat in range(suite.options.repeats):
            found.records += 1
            if step.asks:
                # An empty text is no answer that a target need understand; what it asked before counts.
                with contextlib.suppress(TargetError), boundary("target"):
                    await step(_CountingAsk(found, sample, repeat, known), sample)
    return found


class _CountingAsk:
    """An Ask that sends nothing and counts."""

    def __init__(self, found: Estimate, sample: Sample, repeat: int, known: Any) -> None:
        self._found = found
        self._sample = sample
        self._repeat = repeat
        self._known = known
        self._asked: dict[bytes, int] = {}

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        nth = self._asked.get(request.digest, 0)
        self._asked[request.digest] = nth + 1
        key = journal_key(request.digest, self._sample.id, self._repeat, nth, "")
        self._found.calls += 1
        if self._known(key):
            self._found.in_journal += 1
        else:
            self._found.input_tokens += request.input_tokens
            self._found.output_tokens += _most_tokens(model, parameters)
        return Reply(key.hex(), "")


def _most_tokens(model: Any, parameters: Mapping[str, Any]) -> int:
    most = {**getattr(model, "parameters", {}), **parameters}.get("max_tokens")
    return most if isinstance(most, int) else 0


def _known_keys(where: str | None) -> Any:
    """A function that tells whether the journal holds a key; without a store it holds none."""
    try:
        store = Store(where)
    except ConfigError:
        return lambda _: False
    return store.has_reply
