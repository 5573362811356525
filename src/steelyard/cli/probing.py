"""One call to every endpoint of a configuration, to see whether it answers: nothing of it is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    from steelyard.suite import Suite
    from steelyard.types import Reply, Sample

_ASKED: Final = "Reply with the word ok."
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Probe:
    """What one endpoint did.

    Args:
        endpoint: scheme, host and port.
        asks: which part of the suite asks there.
        answered: whether there was a reply.
        seconds: until it was there, or given up.
        what: the reply's beginning with what the endpoint says of it, or what went wrong.
    """

    endpoint: str
    asks: str
    answered: bool
    seconds: float
    what: str

    def line(self) -> str:
        """For a person."""
        state = "answers" if self.answered else "DOES NOT ANSWER"
        return f"{self.endpoint} ({self.asks}) {state} after {self.seconds:.2f} s: {self.what}"


def probe_all(suite: Suite, environment: Mapping[str, str]) -> list[Probe]:
    """One call to each endpoint that targets and scorers ask, all at once; retries and the journal are left out.

    Args:
        suite: whose.
        environment: the values behind its references.

    Raises:
        ConfigError: a reference without a value.
    """
    from steelyard.session.secrets import Secrets

    sample = next(iter(suite.samples))
    found: dict[str, tuple[str, Any, Any]] = {}
    for name, model in _models(suite):
        request = _request(model, sample)
        found.setdefault(request.endpoint, (name, model, request))
    secrets = Secrets(environment, environment)

    async def work() -> list[Probe]:
        from steelyard.session.wire import HttpWire

        wire = HttpWire(secrets)
        try:
            return list(await asyncio.gather(*(_probe(wire, *one) for one in found.values())))
        finally:
            await wire.close()

    return asyncio.run(work())


def _models(suite: Suite) -> Iterator[tuple[str, Any]]:
    """(which part asks, model) of all targets and scorers."""
    from steelyard.suite.pricing import models_in

    parts = [*suite.targets.items(), *((type(one).__name__, one) for one in suite.scorers)]
    parts += [(name, one) for name, several in suite.scorers_of.items() for one in several]
    for name, part in parts:
        for model in models_in(part):
            yield name, model


def _request(model: Any, sample: Sample) -> Any:
    """The call: a model is greeted; an endpoint that is a target itself needs a sample for its body."""
    from steelyard.text.prompt_files import sample_values

    if callable(model) and hasattr(model, "messages"):
        return model.request(model.messages(sample), sample_values(sample))
    return model.request(_ASKED, {})


async def _probe(wire: Any, name: str, model: Any, request: Any) -> Probe:
    from steelyard.models.base import Fault

    begun = time.monotonic()
    try:
        reply = model.read(await model.send(request, wire))
        answered, what = True, _about(reply)
    except Fault as fault:
        answered, what = False, f"{fault.kind}: {fault.message}"
    except SteelyardError as error:
        answered, what = False, str(error)
    return Probe(request.endpoint, name, answered, time.monotonic() - begun, wire.redact(what))


def _about(reply: Reply) -> str:
    text = " ".join(reply.text.split())[:_SHOWN]
    model = reply.metadata.get("model")
    usage = f"{reply.usage.input_tokens} + {reply.usage.output_tokens} tokens"
    counted = f"{usage}, estimated" if reply.usage.estimated else usage
    return f"{text!r} ({', '.join(filter(None, (str(model or ''), counted)))})"
