"""Probe the endpoints of a suite: one call each, to see whether they answer; nothing is stored.

A probe covers all calls to one address whose bodies name the same things and in which the user set the same parameters:
two models behind one endpoint, or two knowledge bases behind one path, are two probes. It sends the parameters that the
judges send, and like them goes without those that the endpoint refuses.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from steelyard.analysis.numbers import money_text
from steelyard.errors import ModelError, SteelyardError, boundary, shortened
from steelyard.evaluation import Suite
from steelyard.evaluation.survey import calls_in, models_in
from steelyard.models.base import Fault, ModelInfo, Request
from steelyard.models.prices import PriceTable, units
from steelyard.plain_json import to_json
from steelyard.prompts.sample_values import sample_values
from steelyard.runner import Step
from steelyard.session.parameter_findings import CHANGED_PARAMETERS, ParameterFindings, with_changes
from steelyard.session.replies import EndpointNotes, Keys
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Output, Reply, Sample, Usage

_GREETING: Final = "Reply with the word ok."
_MOST_CHARACTERS: Final = 200
"""Of a reply that is shown."""
_NAMING_KEYS: Final = ("name", "id", "ids")
"""Last parts of keys whose value names the model or knowledge base that is called, whatever its type."""
_TUNING: Final = frozenset({"stream", "response_format", "encoding_format", "stop", "reasoning_effort", "user"})
"""Keys of a body whose values change how the endpoint answers, not who answers."""


@dataclass(frozen=True, slots=True)
class PlannedProbe:
    """A call that will be made.

    Args:
        address: the URL without its query.
        asks: which parts of the suite use it.
        names: what the body names: a model, a knowledge base.
        model: what is called.
        request: the call.
        parameters: of the call, beside those of the model.
        optional: names of those that an endpoint may refuse, as the user did not set them.
    """

    address: str
    asks: tuple[str, ...]
    names: str
    model: Any
    request: Request
    parameters: Mapping[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one call.

    Args:
        endpoint: scheme, host, port and path.
        asks: which parts of the suite use it, joined by commas.
        names: what the body names: a model, a knowledge base.
        answered: whether there was a reply.
        seconds: until the reply, or until the call was given up.
        what: the start of the reply with its metadata, or the error.
        input_tokens: as the endpoint counted them; 0 if it did not answer.
        output_tokens: likewise.
        money: cost of the tokens; None if no price is known.
        via: `directly`, or the proxy and the setting that names it, without its password.
    """

    endpoint: str
    asks: str
    names: str
    answered: bool
    seconds: float
    what: str
    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None
    via: str = "directly"

    def line(self) -> str:
        """The result as one line of text."""
        state = "answers" if self.answered else "DOES NOT ANSWER"
        names = f", {self.names}" if self.names else ""
        via = f" {self.via}" if self.via != "directly" else ""
        return f"{self.endpoint} ({self.asks}{names}){via} {state} after {self.seconds:.2f} s: {self.what}"


def plan_probes(suite: Suite) -> list[PlannedProbe]:
    """Plan the calls that probe all endpoints of targets and scorers: one per address and names in the body.

    Raises:
        ConfigError: a body has a placeholder that the first sample cannot fill.
    """
    sample = next(iter(suite.samples))
    planned: dict[tuple[str, ...], PlannedProbe] = {}
    for name, model, call in _calls(suite, sample):
        request = _request(model, sample, call.parameters)
        names = _named_in(model)
        set_by_user = {key: value for key, value in call.parameters.items() if key not in call.optional}
        key = (request.method, request.url, names, to_json(set_by_user).decode("utf-8", "replace"))
        before = planned.get(key) or PlannedProbe(request.url.partition("?")[0], (), names, model, request)
        asks = before.asks if name in before.asks else (*before.asks, name)
        parameters = {**call.parameters, **before.parameters}
        request = _request(before.model, sample, parameters)
        optional = before.optional | call.optional
        planned[key] = PlannedProbe(before.address, asks, names, before.model, request, parameters, optional)
    return list(planned.values())


def cost_line(planned: Sequence[PlannedProbe], prices: PriceTable | None) -> str:
    """The number of probes and their cost, as a sentence to show before they are sent."""
    count = f"{len(planned)} probe{'s' if len(planned) != 1 else ''} will be sent, one call each"
    tokens = sum(probe.request.input_tokens for probe in planned)
    costs = [_money(probe, prices, Usage(probe.request.input_tokens, 0)) for probe in planned]
    known_costs = [money for money in costs if money is not None]
    if prices is None or not known_costs:
        price = "an endpoint may charge for them; set options.prices to see how much"
    else:
        limitation = "" if len(known_costs) == len(costs) else ", as far as prices are known"
        price = f"at least {money_text(sum(known_costs), prices.currency)}{limitation}, plus the cost of the replies"
    return f"{count}, about {tokens} input tokens: {price}. Nothing is stored; --no-probe sends none"


def send_probes(
    planned: Sequence[PlannedProbe], environment: Mapping[str, str], prices: PriceTable | None
) -> list[Probe]:
    """Make the calls concurrently, without retries and without the journal.

    Args:
        planned: as `plan_probes` gives them.
        environment: the values behind the references of the configuration.
        prices: of tokens; None if none are known.

    Raises:
        ConfigError: a reference without a value.
    """
    secrets = Secrets(environment, environment)

    async def work() -> list[Probe]:
        wire = HttpWire(secrets)
        try:
            return list(await asyncio.gather(*(_probe(wire, probe, prices) for probe in planned)))
        finally:
            await wire.close()

    return asyncio.run(work())


def not_probed(suite: Suite) -> list[str]:
    """Targets without an endpoint that could be probed, because they run the user's own code."""
    return [name for name, target in suite.targets.items() if hasattr(target, "unwrap") and not [*models_in(target)]]


class _ProbeCall(NamedTuple):
    """The parameters of a call, and which of them the user did not set."""

    parameters: Mapping[str, Any]
    optional: frozenset[str]


def _calls(suite: Suite, sample: Sample) -> Iterator[tuple[str, Any, _ProbeCall]]:
    """(name of the part, model, call) for all models of targets and scorers."""
    parts = [*suite.targets.items(), *((type(scorer).__name__, scorer) for scorer in suite.scorers)]
    parts += [(name, scorer) for name, scorers in suite.scorers_of.items() for scorer in scorers]
    for name, part in parts:
        for model, holder in calls_in(part):
            yield name, model, _call_of(part, holder, sample)


def _call_of(part: Any, holder: Any, sample: Sample) -> _ProbeCall:
    """What a judge's scorer sends with its first call, or else what the judge or prompt sends with every call."""
    sent = getattr(holder, "sent", None)
    if not callable(sent):
        parameters = getattr(holder, "parameters", None)
        return _ProbeCall(parameters if isinstance(parameters, Mapping) else {}, frozenset())
    ask = _NotingAsk()
    # A scorer that does not apply to the first sample calls nothing; one that cannot read the output fails.
    with contextlib.suppress(SteelyardError), boundary("scorer"):
        step = Step.of("scorer", part)
        shown = Output(step.info.mock_output or "...", sample.contexts or ("...",))
        asyncio.run(step(ask, sample, shown))
    if ask.noted:
        return ask.noted[0]
    return _ProbeCall(sent(), holder.optional())


class _NotingAsk:
    """An Ask that sends nothing and notes the parameters of the first call."""

    is_dry_run = True
    repeat = 0

    def __init__(self) -> None:
        self.noted: list[_ProbeCall] = []
        self.optional: Collection[str] = ()

    def may_drop(self, names: Collection[str]) -> _NotingAsk:
        view = _NotingAsk()
        view.noted, view.optional = self.noted, names
        return view

    async def __call__(self, _model: Any, _messages: Any, /, **parameters: Any) -> Reply:
        self.noted.append(_ProbeCall(parameters, frozenset(self.optional) & frozenset(parameters)))
        raise ModelError("nothing is sent", kind="interrupted")

    once = __call__

    async def either(
        self, call: Callable[..., Any], _model: Any, _wanted: Mapping[str, Any], without: Mapping[str, Any], **_: Any
    ) -> Any:
        """Without what the scorer can do without."""
        return await call(**without), ""


def _request(model: Any, sample: Sample, parameters: Mapping[str, Any]) -> Request:
    """The call: a model gets a greeting; an endpoint that is a target itself needs a sample for its body."""
    request: Request
    if _takes_sample(model):
        request = model.request(model.messages(sample), sample_values(sample))
    else:
        request = model.request(_GREETING, parameters)
    return request


def _takes_sample(model: Any) -> bool:
    return callable(model) and hasattr(model, "messages")


def _named_in(model: Any) -> str:
    """The names in a call besides its address: the constant texts in its body, and ids."""
    info = ModelInfo.of(model)
    if info.body is None:
        return info.name
    return ", ".join(f"{key}={constant}" for key, constant in sorted(dict(_constants(info.body)).items()))


def _constants(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _constants(member, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for position, member in enumerate(value):
            yield from _constants(member, f"{key}[{position}]")
    else:
        last_part = key.rpartition(".")[2]
        names_it = isinstance(value, str) or (value is not None and last_part.lower().endswith(_NAMING_KEYS))
        is_role = last_part.partition("[")[0] in {"role", "type"}
        if names_it and not is_role and last_part not in _TUNING and "{{" not in str(value) and value != "":
            yield key, value if isinstance(value, str) else json.dumps(value)


def _money(planned: PlannedProbe, prices: PriceTable | None, usage: Any) -> float | None:
    price = None if prices is None else prices.price(planned.model)
    return None if price is None else units(price.cost(usage))


async def _probe(wire: Any, planned: PlannedProbe, prices: PriceTable | None) -> Probe:
    begun = time.monotonic()
    usage = Usage()
    try:
        reply = await _answer(wire, planned)
        answered, text, usage = True, _about(reply), reply.usage
    except SteelyardError as error:
        answered, text = False, str(error)
    return Probe(
        planned.address,
        ", ".join(planned.asks),
        planned.names,
        answered,
        time.monotonic() - begun,
        wire.redact(text),
        usage.input_tokens,
        usage.output_tokens,
        _money(planned, prices, usage) if answered else None,
        _via(wire, planned.request),
    )


async def _answer(wire: Any, planned: PlannedProbe) -> Reply:
    """The reply to a probe, with the parameters that the endpoint takes.

    Raises:
        ModelError: there was none.
    """

    async def call(model: Any, parameters: Mapping[str, Any], changes: Mapping[str, str]) -> Reply:
        request = planned.request if _takes_sample(model) else model.request(_GREETING, parameters)
        try:
            reply: Reply = model.read(await model.send(request, wire))
        except Fault as fault:
            raise ModelError(f"{fault.kind}: {fault.message}", kind=fault.kind) from fault
        return with_changes(reply, changes)

    async def find(_key: bytes) -> None:
        return None

    async def commit(_key: bytes, body: bytes) -> bytes:
        return body

    findings = ParameterFindings(EndpointNotes(find, commit, wire.redact))
    keys = Keys("", 0, "")
    stage = "judge" if planned.optional else "target"
    return await findings.reply(
        call,
        planned.model,
        planned.parameters,
        SimpleNamespace(optional=planned.optional, keys=keys, sample="", stage=stage),
    )


def _via(wire: Any, request: Any) -> str:
    """The route to the endpoint. An invalid proxy in the environment has failed the probe already."""
    try:
        return str(wire.redact(str(wire.routes.of(request))))
    except SteelyardError:
        return "directly"


def _about(reply: Reply) -> str:
    """The start of a reply and its metadata, which show a wrong name that the endpoint answered all the same."""
    beginning = shortened(" ".join(reply.text.split()), _MOST_CHARACTERS)
    usage = f"{reply.usage.input_tokens} + {reply.usage.output_tokens} tokens"
    facts = [str(reply.metadata.get("model") or ""), f"{usage}, estimated" if reply.usage.estimated else usage]
    if dimension := reply.metadata.get("dimension"):
        return f"vectors of {dimension} numbers ({', '.join(filter(None, facts))})"
    if "scores" in reply.metadata:
        return f"a score of relevance ({', '.join(filter(None, facts))})"
    if "contexts" in reply.metadata:
        passages = len(reply.metadata["contexts"])
        facts.append(f"{passages} passage{'s' if passages != 1 else ''}")
    if reply.metadata.get("kb_miss"):
        facts.append("nothing found in the knowledge base")
    changes: Mapping[str, str] = reply.metadata.get(CHANGED_PARAMETERS, {})
    facts += [f"{name} is sent as {to}" if to else f"{name} is refused and left out" for name, to in changes.items()]
    return f"{beginning!r} ({', '.join(filter(None, facts))})"
