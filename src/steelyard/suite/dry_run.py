"""What a suite would send: calls and estimated tokens of its targets and judges, counted without sending anything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from steelyard.errors import ConfigError, ScorerError, TargetError, boundary
from steelyard.models.base import Model
from steelyard.runner import Step
from steelyard.session.replies import plain_output
from steelyard.session.session import Keys
from steelyard.store import Store
from steelyard.suite.objects import Suite
from steelyard.suite.sides import with_samples
from steelyard.suite.survey import scorer_stages, survey
from steelyard.targets.pair import Pair
from steelyard.types import Output, Reply, Sample

_LOOK_UP: Final = 500
"""Calls whose keys are looked up together."""
_STAND_IN: Final = "..."
"""For an answer that is not known yet: a judge that gets none might ask nothing."""


@dataclass(slots=True)
class StageEstimate:
    """What the target, or one scorer, would send for one target's run.

    Attributes:
        stage: `target`, or the scorer's name.
        calls: requests to endpoints; retries come on top.
        in_journal: of these, how many are answered by the journal.
        input_tokens: estimated, see `steelyard.text.token_estimate`; of a judge without the answers, which are not
            known yet.
        output_tokens: at most, where `max_tokens` is set; else 0.
    """

    stage: str
    calls: int = 0
    in_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Estimate:
    """What one target's run would send.

    Attributes:
        target: its name.
        records: samples times repeats.
        asks: False for a target that sends nothing through Ask (a baseline, a plain function).
        stages: of the target, and of every scorer that asks a model.
    """

    target: str
    records: int = 0
    asks: bool = False
    stages: list[StageEstimate] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Of all stages."""
        return sum(one.calls for one in self.stages)

    @property
    def in_journal(self) -> int:
        """Of all stages."""
        return sum(one.in_journal for one in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `calls` and `in_journal` are those of all stages."""
        return {**asdict(self), "calls": self.calls, "in_journal": self.in_journal}


async def estimate(suite: Suite, *, store: str | None = None, fresh: bool = False) -> list[Estimate]:
    """Calls and tokens of every target and its judges, counted by running them with an Ask that sends nothing.

    Whoever asks is answered with its `rehearsal` (a text, or a function `rehearse` of the messages), which makes it
    go on to all it may ask; without one, with an empty text. A judge sees what the target would have retrieved and a
    stand-in for its answer (its own `stand_in`, where it reads no other); a plain function is not run.

    Args:
        suite: what would be run.
        store: whose journal would answer; None is the default one.
        fresh: nothing is taken from the journal.
    """
    suite = with_samples(suite, store)
    survey(suite.samples)
    with contextlib.ExitStack() as opened:
        journal = None if fresh else _journal(store)
        if journal is not None:
            opened.enter_context(journal)
        return [await _estimate(name, target, suite, journal) for name, target in suite.targets.items()]


async def _estimate(name: str, target: Any, suite: Suite, journal: Store | None) -> Estimate:
    step = Step.of("target", target)
    scorers = scorer_stages(suite.scorers_for(name))
    judges = [one for stage, scorer in scorers.items() if (one := Step.of(stage, scorer)).asks]
    rehearsals = [_Rehearsal(one, journal) for one in (step, *judges)]
    asks = step.asks and not isinstance(target, Pair)
    found = Estimate(name, asks=asks, stages=[one.found for one in rehearsals[not asks :] if one.step.asks])
    for sample in suite.samples:
        for repeat in range(suite.options.repeats):
            found.records += 1
            output = await _rehearsed_output(rehearsals[0], sample, repeat) if asks else None
            for judge in rehearsals[1:]:
                # What it asked before it failed counts: a stand-in is no answer that it need understand.
                with contextlib.suppress(ScorerError), boundary("scorer"):
                    known = judge.shown(output or await _known_output(step, sample))
                    await judge.step(judge.ask(sample, repeat), sample, known)
    for rehearsal in rehearsals:
        rehearsal.count()
    return found


async def _rehearsed_output(target: _Rehearsal, sample: Sample, repeat: int) -> Output:
    """What the target would retrieve, with a stand-in for its answer."""
    with contextlib.suppress(TargetError), boundary("target"):
        output = plain_output(await target.step(target.ask(sample, repeat), sample))
        return replace(output, value=output.value or _STAND_IN)
    return _unknown_output(sample)


async def _known_output(step: Step, sample: Sample) -> Output:
    """The output of a target that asks nothing: itself where it is quick and free, else a stand-in."""
    if isinstance(step.function, Pair):
        return step.function.expected()
    if step.inline and not step.given:
        with contextlib.suppress(TargetError), boundary("target"):
            return plain_output(await step(None, sample))
    return _unknown_output(sample)


def _unknown_output(sample: Sample) -> Output:
    return Output(_STAND_IN, sample.contexts or (_STAND_IN,))


@dataclass(frozen=True, slots=True)
class _Call:
    key: bytes
    input_tokens: int
    output_tokens: int


class _Rehearsal:
    """One stage with an Ask that sends nothing, and what it would have sent."""

    def __init__(self, step: Step, journal: Store | None) -> None:
        self.step = step
        self.found = StageEstimate(step.stage)
        self._journal = journal
        self._calls: list[_Call] = []
        self._once: set[bytes] = set()
        text = getattr(step.function, "rehearsal", "")
        self._says: Callable[[Any], str] = getattr(step.function, "rehearse", lambda _messages: text)

    def ask(self, sample: Sample, repeat: int) -> _CountingAsk:
        if len(self._calls) >= _LOOK_UP:
            self.count()
        return _CountingAsk(self, Keys(sample.id, repeat, ""), repeat)

    def shown(self, output: Output) -> Output:
        """What this scorer is shown of an output: where only a stand-in is known, one that it can read."""
        stand_in = getattr(self.step.function, "stand_in", "")
        return replace(output, value=stand_in) if stand_in and output.value == _STAND_IN else output

    def note(self, call: _Call) -> None:
        self._calls.append(call)

    def note_once(self, call: _Call) -> None:
        if call.key not in self._once:
            self._once.add(call.key)
            self._calls.append(call)

    def says(self, messages: Any) -> str:
        return self._says(messages)

    def count(self) -> None:
        """Add the calls to the estimate, and forget them."""
        found, calls = self.found, self._calls
        held = self._journal.held([one.key for one in calls]) if self._journal is not None and calls else set()
        found.calls += len(calls)
        for one in calls:
            if one.key in held:
                found.in_journal += 1
            else:
                found.input_tokens += one.input_tokens
                found.output_tokens += one.output_tokens
        calls.clear()


class _CountingAsk:
    """An Ask that sends nothing and notes what it would have sent."""

    def __init__(self, rehearsal: _Rehearsal, keys: Keys, repeat: int) -> None:
        self.repeat = repeat
        self._rehearsal = rehearsal
        self._keys = keys

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        call = _Call(self._keys.next(request.digest), request.input_tokens, _most_tokens(model, parameters))
        self._rehearsal.note(call)
        return self._reply(model, request, call, messages)

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        call = _Call(self._keys.once(request.digest), request.input_tokens, _most_tokens(model, parameters))
        self._rehearsal.note_once(call)
        return self._reply(model, request, call, messages)

    def _reply(self, model: Any, request: Any, call: _Call, messages: Any) -> Reply:
        if hasattr(model, "rehearsal"):
            found: Reply = model.rehearsal(request)
            return replace(found, key=call.key.hex())
        return Reply(call.key.hex(), self._rehearsal.says(messages))


def _most_tokens(model: Any, parameters: Mapping[str, Any]) -> int:
    most = {**getattr(model, "parameters", {}), **parameters}.get("max_tokens")
    return most if isinstance(most, int) else 0


def _journal(where: str | None) -> Store | None:
    """The store whose journal answers; None where there is none yet."""
    try:
        return Store(where)
    except ConfigError:
        return None
