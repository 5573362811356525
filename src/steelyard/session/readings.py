"""Kept bodies: what an endpoint answered, as it came, where the user configures how replies are read (`response:`).

The journal's key of a call does not depend on that mapping. Its row holds the reply as it was read first, and in the
reply's metadata the body; under another mapping the body is read again, and that reading gets a row of its own, as
records of earlier runs go on showing what they were scored by. A corrected mapping so costs no call.

| row | key |
|---|---|
| the reply as first read, with its body | that of the call |
| the same body, read under another mapping | `read_again_key` of that key and the mapping |
| the call again, where the row is of a version that kept no bodies, and of another mapping | `asked_again_key` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from steelyard.errors import ModelError
from steelyard.models.base import READ_AGAIN, Answer, Fault, Model, Request
from steelyard.models.references import without_query
from steelyard.session.replies import unpack_kept, unpack_reply
from steelyard.types import Reply, Usage

if TYPE_CHECKING:
    from steelyard.models.response import ResponseMap


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
        """From a stored reply; None where it has none: its mapping is fixed, or its version kept no bodies."""
        match unpack_kept(stored):
            case [str(reading), int(status), str() | None as body]:
                return cls(reading, status, body)
        return None


def read_again_key(key: bytes, reading: str) -> bytes:
    """The journal's key of the reading of a kept body under another mapping than at first."""
    return blake2b(key + f"\0read as {reading}".encode(), digest_size=10).digest()


def asked_again_key(key: bytes) -> bytes:
    """The journal's key of a call whose own key holds a reply without its body, read under another mapping."""
    return blake2b(key + b"\0asked again", digest_size=10).digest()


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
    unknown: Reply | None = None
    for first in (asked_again_key(key), key) if request.reading else (key,):
        stored = find(first)
        if stored is None:
            continue
        reply, kept = unpack_reply(first.hex(), stored), Kept.of(stored)
        if not request.reading or (kept is not None and kept.reading == request.reading):
            return reply
        again = read_again_key(first, request.reading)
        if (stored_again := find(again)) is not None:
            return unpack_reply(again.hex(), stored_again)
        if kept is not None and kept.body is not None:
            return read_again(model, request, again, reply, kept)
        unknown = reply if kept is None else unknown
    return unknown


def readings_in(manifests: Iterable[Mapping[str, Any]], address: str) -> frozenset[str]:
    """Digests of the mappings under which the endpoint at an address was read, by the manifests of runs.

    Args:
        manifests: of runs.
        address: as the configuration has it, placeholders included.
    """
    return frozenset(
        _mapping(endpoint["response"]).digest(tuple(map(int, endpoint.get("accept_status") or ())))
        for manifest in manifests
        for endpoint in _endpoints(manifest)
        if endpoint.get("url") == address
    )


def _mapping(described: Mapping[str, Any]) -> ResponseMap:
    # Only for stores of older versions: most runs have no endpoint with a mapping.
    from steelyard.models.response import ResponseMap

    texts: dict[str, Any] = {
        mapped.name: str(described.get(mapped.name, mapped.default)) for mapped in fields(ResponseMap)
    }
    return ResponseMap(**texts)


def _endpoints(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every description of an endpoint with a mapping inside a manifest."""
    if isinstance(value, Mapping):
        if isinstance(value.get("response"), Mapping) and "url" in value:
            yield value
        for inner in value.values():
            yield from _endpoints(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _endpoints(inner)
