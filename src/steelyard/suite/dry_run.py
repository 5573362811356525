"""What a suite would send: calls and estimated tokens of its targets and judges, counted without sending anything."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from steelyard.errors import ConfigError, ScorerError, TargetError, boundary
from steelyard.models.base import Model, Request
from steelyard.models.prices import PriceTable, units
from steelyard.models.rates import Rates
from steelyard.runner import Step
from steelyard.session.replies import plain_output
from steelyard.session.session import Keys
from steelyard.store import Store
from steelyard.suite.objects import Suite
from steelyard.suite.pricing import prices_of
from steelyard.suite.sides import with_samples
from steelyard.suite.survey import scorer_stages, survey
from steelyard.targets.pair import Pair
from steelyard.types import Output, Reply, Sample, Usage

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
        money: what these tokens cost at the suite's prices, with the output as far as it is limited; None where there
            are no prices, or a model has none.
    """

    stage: str
    calls: int = 0
    in_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None


@dataclass(slots=True)
class Estimate:
    """What one target's run would send.

    Attributes:
        target: its name.
        records: samples times repeats.
        asks: False for a target that sends nothing through Ask (a baseline, a plain function).
        stages: of the target, and of every scorer that asks a model.
        currency: of the money.
        minutes: the least time that the rates leave for it; None where there are no rates.
    """

    target: str
    records: int = 0
    asks: bool = False
    stages: list[StageEstimate] = field(default_factory=list)
    currency: str = ""
    minutes: float | None = None

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
    prices = prices_of(suite)
    survey(suite.samples)
    with contextlib.ExitStack() as opened:
        journal = None if fresh else _journal(store)
        if journal is not None:
            opened.enter_context(journal)
        known = _Known(journal, prices)
        return [await _estimate(name, target, suite, known) for name, target in suite.targets.items()]


@dataclass(frozen=True, slots=True)
class _Known:
    """What calls are held against: the journal that may answer them, and what they cost."""

    journal: Store | None
    prices: PriceTable | None


async def _estimate(name: str, target: Any, suite: Suite, known: _Known) -> Estimate:
    step = Step.of("target", target)
    scorers = scorer_stages(suite.scorers_for(name))
    judges = [one for stage, scorer in scorers.items() if (one := Step.of(stage, scorer)).asks]
    rehearsals = [_Rehearsal(one, known) for one in (step, *judges)]
    asks = step.asks and not isinstance(target, Pair)
    found = Estimate(name, asks=asks, stages=[one.found for one in rehearsals[not asks :] if one.step.asks])
    for sample in suite.samples:
        for repeat in range(suite.options.repeats):
            found.records += 1
            output = await _rehearsed_output(rehearsals[0], sample, repeat) if asks else None
            for judge in rehearsals[1:]:
                # What it asked before it failed counts: a stand-in is no answer that it need understand.
                with contextlib.suppress(ScorerError), boundary("scorer"):
                    shown = judge.shown(output or await _known_output(step, sample))
                    await judge.step(judge.ask(sample, repeat), sample, shown)
    for rehearsal in rehearsals:
        rehearsal.count()
    found.currency = known.prices.currency if known.prices is not None else ""
    found.minutes = _least_minutes(rehearsals, suite.options.rates)
    return found


def _least_minutes(rehearsals: Sequence[_Rehearsal], rates: Rates) -> float | None:
    """The time of the slowest endpoint, since the stages of a run go on side by side."""
    if not rates:
        return None
    sent: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for one in rehearsals:
        sent.update(one.sent)
        tokens.update(one.tokens)
    return max((rates.least_s(sent[endpoint], tokens[endpoint]) for endpoint in sent), default=0.0) / 60


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
    endpoint: str
    cost: int | None


class _Rehearsal:
    """One stage with an Ask that sends nothing, and what it would have sent."""

    def __init__(self, step: Step, known: _Known) -> None:
        self.step = step
        self.found = StageEstimate(step.stage)
        self.sent: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self._cost: int | None = 0 if known.prices is not None else None
        self._journal = known.journal
        self._prices = known.prices
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
                self.sent[one.endpoint] += 1
                self.tokens[one.endpoint] += one.input_tokens + one.output_tokens
                self._cost = None if self._cost is None or one.cost is None else self._cost + one.cost
        found.money = None if self._cost is None else units(self._cost)
        calls.clear()

    def call(self, key: bytes, model: Model, request: Request, parameters: Mapping[str, Any]) -> _Call:
        """What one call would be, with its cost where the model has a price."""
        most = request.output_tokens or _most_tokens(model, parameters)
        price = None if self._prices is None else self._prices.price(model)
        cost = None if price is None else price.cost(Usage(request.input_tokens, most))
        return _Call(key, request.input_tokens, most, request.endpoint, cost)


class _CountingAsk:
    """An Ask that sends nothing and notes what it would have sent."""

    def __init__(self, rehearsal: _Rehearsal, keys: Keys, repeat: int) -> None:
        self.repeat = repeat
        self._rehearsal = rehearsal
        self._keys = keys

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        call = self._rehearsal.call(self._keys.next(request.digest), model, request, parameters)
        self._rehearsal.note(call)
        return self._reply(model, request, call, messages)

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        request = model.request(messages, parameters)
        call = self._rehearsal.call(self._keys.once(request.digest), model, request, parameters)
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
