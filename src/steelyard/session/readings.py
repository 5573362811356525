"""Kept bodies: what an endpoint answered, as it came, where the user configures how replies are read (`response:`).

The journal's key of a call does not depend on that mapping. Its row holds the reply as it was read first, and in the
reply's metadata the body; under another mapping the body is read again, and that reading gets a row of its own, as
records of earlier runs go on showing what they were scored by. A corrected mapping so costs no call.

| row | key |
|---|---|
| the reply as first read, with its body | that of the call |
| the same body, read under another mapping | `read_again_key` of that key and the mapping |
| a body in which the first mapping found nothing | `unread_key` of that key |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from steelyard.errors import ModelError
from steelyard.models.base import READ_AGAIN, Answer, Fault, Model, Request
from steelyard.models.references import without_query
from steelyard.models.refusals import MISMATCH
from steelyard.session.replies import unpack_kept, unpack_reply
from steelyard.types import Reply, Usage


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of an answer.

    Args:
        reading: digest of the mapping under which it was read.
        status: of HTTP.
        body: the answer's body; None where it was too long.
    """

    reading: str
    status: int
    body: str | None

    @classmethod
    def of(cls, stored: bytes) -> Kept | None:
        """From a stored reply; None where it has none: its mapping is fixed."""
        match unpack_kept(stored):
            case [str(reading), int(status), str() | None as body]:
                return cls(reading, status, body)
        return None


def read_again_key(key: bytes, reading: str) -> bytes:
    """The journal's key of the reading of a kept body under another mapping than at first."""
    return blake2b(key + f"\0read as {reading}".encode(), digest_size=10).digest()


def unread_key(key: bytes) -> bytes:
    """The journal's key of an answer in which the mapping of its call found nothing."""
    return blake2b(key + b"\0unread", digest_size=10).digest()


def read_again(model: Model, request: Request, key: bytes, before: Reply, kept: Kept) -> Reply:
    """The reply in a kept body, read as the model reads now.

    Args:
        model: with the present mapping.
        request: of the call.
        key: for the new reading.
        before: the reply as it was read first.
        kept: with a body.

    Raises:
        ModelError: nothing can be read in it. Asking again would cost a call, and give an answer of the same form.
    """
    body, ttft = (kept.body or "").encode("utf-8", "surrogatepass"), before.metadata.get("ttft")
    answer = Answer(kept.status, {}, body, ttft if isinstance(ttft, float) else None)
    try:
        reply = model.read(answer)
    except Fault as fault:
        address = without_query(request.url)
        message = f"{address}: {fault.message} (a kept reply; --fresh asks again)"
        raise ModelError(message, kind=fault.kind) from fault
    usage = reply.usage
    if usage.estimated and not usage.input_tokens:
        usage = Usage(request.input_tokens, usage.output_tokens, estimated=True)
    cost = {name: before.metadata[name] for name in ("cost",) if name in before.metadata}
    metadata = {**reply.metadata, **cost, READ_AGAIN: True}
    return Reply(key.hex(), reply.text, reply.finish, usage, before.latency, before.attempts, True, metadata)


def stored_reading(find: Callable[[bytes], bytes | None], model: Model, request: Request, key: bytes) -> Reply | None:
    """The stored reply to a call as the model reads now; None where the journal has none. Nothing is stored.

    Args:
        find: the body under a key of the journal.
        model: with the present mapping.
        request: of the call.
        key: of the call.

    Raises:
        ModelError: the kept body has nothing where the model reads now.
    """
    stored = find(key)
    if stored is None:
        return None
    reply, kept = unpack_reply(key.hex(), stored), Kept.of(stored)
    if kept is None or kept.reading == request.reading:
        return reply
    again = read_again_key(key, request.reading)
    if (stored_again := find(again)) is not None:
        return unpack_reply(again.hex(), stored_again)
    return None if kept.body is None else read_again(model, request, again, reply, kept)


def unread(model: Model, request: Request, error: ModelError) -> Reply | None:
    """What is kept of an answer in which the mapping finds nothing; None where another error ended the call.

    Args:
        model: with a mapping.
        request: of the call.
        error: that ended it.
    """
    fault = error.__cause__
    if not isinstance(fault, Fault) or fault.refusal != MISMATCH or fault.answer is None:
        return None
    return _with_body(model, Reply("", "", latency=error.attempts[-1].seconds), request, fault.answer)


def read_unread(model: Model, request: Request, key: bytes, stored: bytes) -> Reply | None:
    """The reply in a row of `unread`, with its body; None where the present mapping finds nothing there either.

    Args:
        model: with the present mapping.
        request: of the call.
        key: of the call.
        stored: the row.
    """
    kept = Kept.of(stored)
    if kept is None or kept.body is None or kept.reading == request.reading:
        return None
    try:
        reply = read_again(model, request, key, unpack_reply(key.hex(), stored), kept)
    except ModelError:
        return None
    answer = Answer(kept.status, {}, kept.body.encode("utf-8", "surrogatepass"))
    return _with_body(model, reply, request, answer)


def _with_body(model: Model, reply: Reply, request: Request, answer: Answer) -> Reply:
    kept: Reply = model.with_body(reply, request, answer)  # type: ignore[attr-defined]  # one with a mapping has it
    return kept
