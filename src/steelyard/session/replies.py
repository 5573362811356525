"""Replies and outputs as the journal keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from steelyard.errors import Attempt
from steelyard.text.plain_json import check_plain, from_json, to_json
from steelyard.types import Output, Reply, Usage

_MOST_BYTES: Final = 32 << 20
"""A larger output is no answer, and a store of such could not be read any more."""


def pack_reply(reply: Reply) -> bytes:
    """A reply as a JSON list; the attempts only where there was more than one."""
    usage = [reply.usage.input_tokens, reply.usage.output_tokens, int(reply.usage.estimated)]
    tried = [[one.fault, round(one.seconds, 3), round(one.waited, 3), one.message] for one in reply.attempts]
    body = [reply.text, reply.finish, usage, round(reply.latency, 3), tried if len(tried) > 1 else 0, reply.metadata]
    return to_json(body)


def unpack_reply(key: str, body: bytes) -> Reply:
    """The reply in `body`, marked as cached: it was read, not asked."""
    text, finish, (asked, answered, estimated), latency, tried, metadata = from_json(body)
    attempts = tuple(Attempt(*one) for one in tried) if tried else (Attempt("", latency),)
    usage = Usage(asked, answered, bool(estimated))
    return Reply(key, text, finish, usage, latency, attempts, cached=True, metadata=metadata)


def pack_output(output: Output) -> bytes:
    """An output that a target returned without asking, as a JSON list."""
    return to_json([output.value, output.contexts, output.metadata])


def unpack_output(body: bytes) -> Output:
    """The output in `body`."""
    value, contexts, metadata = from_json(body)
    return Output(value, tuple(contexts), metadata)


def plain_output(value: Any) -> Output:
    """Whatever a target returned, as an Output that is equal to what the store gives back.

    Raises:
        TypeError: there is no plain form of it (a generator), it is None: nearly always a forgotten `return`, or its
            contexts are no list of texts.
        ValueError: it is too large to be kept.
    """
    if value is None:
        raise TypeError("it returned nothing; is a `return` missing? Output(None) says that nothing is meant")
    output = value if isinstance(value, Output) else Output(value)
    if type(output.value) is str and not output.contexts and not output.metadata:
        _check_size(len(output.value))
        return Output(output.value)
    check_plain(output.value)
    _check_contexts(output.contexts)
    packed = pack_output(output)
    _check_size(len(packed))
    return unpack_output(packed)


def _check_contexts(contexts: Any) -> None:
    """Refuse one text, which would be taken for as many passages as it has letters, and passages that are no text."""
    if isinstance(contexts, str) or not isinstance(contexts, Sequence):
        raise TypeError(f"contexts are a list of texts, one for each passage, not {type(contexts).__name__}")
    odd = next((type(one).__name__ for one in contexts if not isinstance(one, str)), "")
    if odd:
        raise TypeError(f"contexts are texts, but one of them is {odd}")


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        raise ValueError(f"an output of {size >> 20} MiB is too large: at most {_MOST_BYTES >> 20} MiB are kept")
