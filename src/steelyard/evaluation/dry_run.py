"""Estimate the calls, tokens and cost of a suite without sending anything (`--dry-run`)."""

from __future__ import annotations

import contextlib
import copy
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, ScorerError, TargetError, boundary
from steelyard.evaluation.objects import Suite, with_references
from steelyard.evaluation.scorer_infos import scorer_stages
from steelyard.evaluation.sides import with_samples
from steelyard.evaluation.survey import prices_of, survey
from steelyard.models.base import Model, ModelInfo, Request
from steelyard.models.embeddings import Embeddings
from steelyard.models.prices import PriceTable, units
from steelyard.models.rate_limit import Rates
from steelyard.models.refused_parameters import adjusted
from steelyard.plain_json import field_values
from steelyard.runner import Step
from steelyard.session.parameter_findings import change_of, finding_digests
from steelyard.session.replies import Keys, plain_output
from steelyard.session.reply_schemas import Finding, schema_digest
from steelyard.store import Store
from steelyard.store.journal import find_reply
from steelyard.targets.replay import Pair
from steelyard.types import Output, Reply, Sample, Usage

_LOOK_UP: Final = 500
"""Number of calls whose keys are looked up in the journal together."""
_MOCK_OUTPUT: Final = "..."
"""Placeholder for an unknown answer. It is not empty, since a judge may skip an empty answer and ask nothing."""


@dataclass(slots=True)
class StageEstimate:
    """The calls and tokens that one stage (the target or a scorer) of a run would send.

    Attributes:
        stage: `target`, or the scorer's name.
        calls: requests to endpoints; retries come on top.
        in_journal: of these, how many are answered by the journal.
        input_tokens: estimated, see `steelyard.types`; of a judge without the answers, which are not
            known yet.
        output_tokens: at most, where `max_tokens` is set; else 0.
        embedding_calls: how many of the calls ask for vectors of texts.
        embedded_texts: how many texts those send that the journal does not answer: chunks of documents once for all
            samples, and each sample's question.
        money: what these tokens cost at the suite's prices, with the output as far as it is limited; None where there
            are not prices, or a model has none.
        tier_money: the same where every call is answered by the slower service that its model orders.
    """

    stage: str
    calls: int = 0
    in_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    embedding_calls: int = 0
    embedded_texts: int = 0
    money: float | None = None
    tier_money: float | None = None


@dataclass(slots=True)
class Estimate:
    """The calls, tokens, money and time of one target's run.

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
        """The sum over all stages."""
        return sum(stage.calls for stage in self.stages)

    @property
    def in_journal(self) -> int:
        """The sum over all stages."""
        return sum(stage.in_journal for stage in self.stages)

    def json_fields(self) -> dict[str, Any]:
        """With `calls` and `in_journal` of all stages."""
        return {**field_values(self), "calls": self.calls, "in_journal": self.in_journal}


async def estimate(suite: Suite, *, store: str | Path | None = None, fresh: bool = False) -> list[Estimate]:
    """Calls and tokens of every target and its judges, counted by running them with an Ask that sends nothing.

    A stage that asks gets the mock reply of its `StageInfo`, so that it goes on to all further calls; without one, an
    empty text. A judge sees what the target would have retrieved and a placeholder for its answer (its own mock output,
    where it reads no other). A function is called only where it declares `ask`; other functions, engines and chains are
    not even imported, as that may cost.

    Args:
        suite: what would be run.
        store: whose journal would answer; None is the default one.
        fresh: nothing is taken from the journal.
    """
    suite = with_samples(suite, store)
    prices = prices_of(suite)
    survey(suite.samples)
    suite = with_references(suite)
    with contextlib.ExitStack() as opened:
        journal = None if fresh else _journal(store)
        if journal is not None:
            opened.enter_context(journal)
        return [await _estimate(name, target, suite, journal, prices) for name, target in suite.targets.items()]


async def _estimate(name: str, target: Any, suite: Suite, journal: Store | None, prices: PriceTable | None) -> Estimate:
    step = _step_of(target)
    scorers = scorer_stages(suite.scorers_for(name))
    # As for targets: a function of a user's module that does not declare `ask` is not even imported.
    known = {stage: scorer for stage, scorer in scorers.items() if getattr(scorer, "may_ask", True)}
    judge_steps = [called for stage, scorer in known.items() if (called := Step.of(stage, scorer)).asks]
    estimates = [_StageDryRun(stage_step, journal, prices) for stage_step in (step, *judge_steps)]
    asks = step.asks and not isinstance(target, Pair)
    asking = [stage.estimate for stage in estimates[not asks :] if stage.step.asks]
    estimate_of_run = Estimate(name, asks=asks, stages=asking)
    for sample in suite.samples:
        for repeat in range(suite.options.repeats):
            estimate_of_run.records += 1
            output = await _mock_output_of(estimates[0], sample, repeat) if asks else None
            for judge in estimates[1:]:
                # Calls before a failure count: the judge need not understand a mock output.
                with contextlib.suppress(ScorerError), boundary("scorer"):
                    shown = judge.shown(output or await _known_output(step, sample))
                    await judge.step(judge.ask(sample, repeat), sample, shown)
    for estimate in estimates:
        estimate.count()
    estimate_of_run.currency = prices.currency if prices is not None else ""
    estimate_of_run.minutes = _least_minutes(estimates, suite.options.rates)
    return estimate_of_run


def _step_of(target: Any) -> Step:
    """The target's step; targets of a user's module that do not declare `ask` are neither imported nor built."""
    if hasattr(target, "unwrap") and not getattr(target, "may_ask", False):
        return Step("target", _never, asks=False, threaded=False, given={})
    return Step.of("target", target)


def _never(sample: Sample) -> Output:
    raise TargetError(f"a dry run does not ask the target for sample {sample.id!r}")


def _least_minutes(estimates: Sequence[_StageDryRun], rates: Rates) -> float | None:
    """The time of the slowest endpoint, since the stages of a run overlap."""
    if not rates:
        return None
    sent: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for estimate in estimates:
        sent.update(estimate.sent)
        tokens.update(estimate.tokens)
    return max((rates.least_s(sent[endpoint], tokens[endpoint]) for endpoint in sent), default=0.0) / 60


async def _mock_output_of(target: _StageDryRun, sample: Sample, repeat: int) -> Output:
    """The passages that the target retrieves, with a mock answer."""
    with contextlib.suppress(TargetError), boundary("target"):
        output = plain_output(await target.step(target.ask(sample, repeat), sample))
        return replace(output, value=output.value or _MOCK_OUTPUT)
    return _unknown_output(sample)


async def _known_output(step: Step, sample: Sample) -> Output:
    """The output of a target that asks no model: computed if it is an inline function, else a mock output."""
    if isinstance(step.function, Pair):
        return step.function.expected()
    if step.info.inline and not step.given:
        with contextlib.suppress(TargetError), boundary("target"):
            return plain_output(await step(None, sample))
    return _unknown_output(sample)


def _unknown_output(sample: Sample) -> Output:
    return Output(_MOCK_OUTPUT, sample.contexts or (_MOCK_OUTPUT,))


@dataclass(frozen=True, slots=True)
class _Call:
    key: bytes
    input_tokens: int
    output_tokens: int
    endpoint: str
    cost: int | None
    tier_cost: int | None
    texts: int = 0


class _StageDryRun:
    """Runs one stage with an Ask that sends nothing, and counts what it would have sent."""

    def __init__(self, step: Step, journal: Store | None, prices: PriceTable | None) -> None:
        self.step = step
        self.estimate = StageEstimate(step.stage)
        self.sent: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self._cost: int | None = 0 if prices is not None else None
        self._tier_cost = self._cost
        self._journal = journal
        self._prices = prices
        self._calls: list[_Call] = []
        self._keys: set[bytes] = set()
        self._notes: dict[bytes, str | None] = {}

    def ask(self, sample: Sample, repeat: int) -> _CountingAsk:
        if len(self._calls) >= _LOOK_UP:
            self.count()
        return _CountingAsk(self, Keys(sample.id, repeat, ""), repeat)

    def shown(self, output: Output) -> Output:
        """The output as this scorer sees it: a mock output is replaced by one that the scorer can parse."""
        mock = self.step.info.mock_output
        return replace(output, value=mock) if mock and output.value == _MOCK_OUTPUT else output

    def note(self, call: _Call) -> None:
        """Note a call; one that serves several samples has the same key for each, and is sent once."""
        if call.key not in self._keys:
            self._keys.add(call.key)
            self._calls.append(call)

    def count(self) -> None:
        """Add the calls to the estimate, and forget them."""
        estimate, calls = self.estimate, self._calls
        keys = [call.key for call in calls]
        stored = self._journal.stored_keys(keys) if self._journal is not None and keys else set()
        estimate.calls += len(calls)
        for call in calls:
            estimate.embedding_calls += call.texts > 0
            if call.key in stored:
                estimate.in_journal += 1
            else:
                estimate.embedded_texts += call.texts
                estimate.input_tokens += call.input_tokens
                estimate.output_tokens += call.output_tokens
                self.sent[call.endpoint] += 1
                self.tokens[call.endpoint] += call.input_tokens + call.output_tokens
                self._cost = None if self._cost is None or call.cost is None else self._cost + call.cost
                self._tier_cost = (
                    None if self._tier_cost is None or call.tier_cost is None else self._tier_cost + call.tier_cost
                )
        estimate.money = None if self._cost is None else units(self._cost)
        estimate.tier_money = None if self._tier_cost is None else units(self._tier_cost)
        calls.clear()

    def noted(self, key: bytes) -> str | None:
        """The journal's note of what an endpoint refuses; None where it has none."""
        if key not in self._notes:
            note = find_reply(self._journal, key) if self._journal is not None else None
            self._notes[key] = None if note is None else note.text
        return self._notes[key]

    def call(self, key: bytes, model: Model, request: Request, parameters: Mapping[str, Any]) -> _Call:
        """Describe one call, with its cost if the model has a price."""
        most = request.output_tokens or _most_tokens(model, parameters)
        price = None if self._prices is None else self._prices.price(model)
        cost = None if price is None else price.cost(Usage(request.input_tokens, most))
        tier_cost = cost
        if self._prices is not None and (tier := ModelInfo.of(model).tier):
            tier_price = self._prices.price(model, tier)
            tier_cost = None if tier_price is None else tier_price.cost(Usage(request.input_tokens, most))
        texts = len(json.loads(request.payload)["input"]) if isinstance(model, Embeddings) else 0
        return _Call(key, request.input_tokens, most, request.endpoint, cost, tier_cost, texts)


class _CountingAsk:
    """An Ask that sends nothing and notes what it would have sent."""

    is_dry_run = True

    def __init__(self, estimate: _StageDryRun, keys: Keys, repeat: int) -> None:
        self.repeat = repeat
        self._estimate = estimate
        self._keys = keys
        self.optional: Collection[str] = ()

    def may_drop(self, names: Collection[str]) -> _CountingAsk:
        view = copy.copy(self)
        view.optional = names
        return view

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        return self._counted(self._keys.next, model, messages, parameters)

    async def either(
        self,
        call: Callable[..., Awaitable[Reply]],
        model: Model,
        wanted: Mapping[str, Any],
        without: Mapping[str, Any],
        *,
        has_images: bool = False,
    ) -> Finding:
        """With what the endpoint may refuse, unless the journal knows that it does."""
        refusal = self._estimate.noted(self._keys.once(schema_digest(model, wanted, has_images=has_images))) or ""
        return Finding(await call(**(without if refusal else wanted)), refusal)

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        return self._counted(self._keys.once, model, messages, parameters)

    def _counted(
        self, key_of: Callable[[bytes], bytes], model: Model, messages: Any, parameters: Mapping[str, Any]
    ) -> Reply:
        model, parameters = self._changed(model, parameters)
        request = model.request(messages, parameters)
        call = self._estimate.call(key_of(request.digest), model, request, parameters)
        self._estimate.note(call)
        if hasattr(model, "mock_reply"):
            reply: Reply = model.mock_reply(request)
            return replace(reply, key=call.key.hex())
        return Reply(call.key.hex(), self._estimate.step.info.mock_reply)

    def _changed(self, model: Model, parameters: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
        """The call without the parameters of which the journal knows that the endpoint refuses them."""
        changes: dict[str, str] = {}
        for name, digest in finding_digests(model, parameters, self.optional):
            changes |= change_of(self._estimate.noted(self._keys.once(digest)), name, self.optional)
        return adjusted(model, parameters, changes, self.optional)


def _most_tokens(model: Any, parameters: Mapping[str, Any]) -> int:
    most = {**ModelInfo.of(model).parameters, **parameters}.get("max_tokens")
    return most if isinstance(most, int) else 0


def _journal(where: str | Path | None) -> Store | None:
    """The store with the journal; None where there is no store yet."""
    try:
        return Store(where)
    except ConfigError:
        return None
