"""Replies and outputs as the journal keeps them, and the output and answer in whatever a target returned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.errors import Attempt
from steelyard.plain_json import check_plain, from_json, to_json
from steelyard.prompts.agent_messages import conversation_output, with_plain_conversation
from steelyard.types import Output, Reply, Usage

_MOST_BYTES: Final = 32 << 20
"""A larger output is no answer, and a store of such could not be read any more."""
STOPPED: Final = frozenset({"content_filter", "refusal"})
"""How a reply ends that an endpoint or a model did not want to give."""


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


def plain_output(value: Any, asked: Any = None) -> Output:
    """Whatever a target returned, as an Output that is equal to what the store gives back.

    Args:
        value: what it returned; of a conversation the last answer is the value.
        asked: the sample's input, which is no message of the target's.

    Raises:
        TypeError: there is no plain form of it (a generator), it is None: nearly always a forgotten `return`, or its
            contexts are no list of texts.
        ValueError: it is too large to be kept.
    """
    if value is None:
        raise TypeError("it returned nothing; is a `return` missing? Output(None) says that nothing is meant")
    if isinstance(value, Output):
        output = with_plain_conversation(value, asked) if value.metadata else value
    else:
        output = (None if isinstance(value, str) else conversation_output(value, asked)) or Output(value)
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


def answer_of(output: Output) -> str:
    """The candidate's text: a text, what a mapping holds at `answer` or `output`, or the value as JSON.

    >>> answer_of(Output({"output": "Paris", "steps": 3})), answer_of(Output([1, 2]))
    ('Paris', '[1, 2]')
    """
    value = output.value
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("answer", "output") if isinstance(value.get(key), str)), value)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def refused_before(output: Output) -> bool:
    """Whether the target gave no answer because its model refused or a content filter stopped it.

    Words that come with a refusal are no answer. What a content filter cut off is one, as far as it came.
    """
    finish = str(output.metadata.get("finish"))
    return finish == "refusal" or (finish in STOPPED and not answer_of(output).strip())
