"""Keys of the journal, replies, outputs and notes as its bytes, and what a target returned as an `Output`.

Where the user configures how replies are read (`response:`), the answer's body is kept as it came, in the metadata of
the reply as it was read first. The journal's key of a call does not depend on that mapping: under another one the body
is read again, and that reading gets a row of its own, as records of earlier runs go on showing what they were scored
by. A corrected mapping so costs no call.

| row | key |
|---|---|
| the reply as first read, with its body | that of the call |
| the same body, read under another mapping | `read_again_key` of that key and the mapping |
| a body in which the first mapping found nothing | `unread_key` of that key |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

from steelyard.errors import Attempt, ModelError
from steelyard.models.base import KEPT, READ_AGAIN, SENT, Answer, Fault, Model, Request
from steelyard.models.references import without_query
from steelyard.models.refusals import MISMATCH
from steelyard.plain_json import check_plain, check_types, from_json, stored_json, to_json
from steelyard.prompts.agent_messages import conversation_output, with_plain_conversation
from steelyard.replies.answer_text import answer_of
from steelyard.types import STOPPED, Output, Reply, Usage

_FOR_ALL: Final = "\0every sample"
"""In the journal's key, the sample of a call that is sent once for all samples; no dataset has such an id by chance."""
_OF_JOURNAL: Final = frozenset({KEPT, SENT})
_LONGEST_REASON: Final = 300
_MOST_BYTES: Final = 32 << 20
"""Limit of one output: a larger one is a mistake of the target, and reading it back would fill the memory."""


def journal_key(digest: bytes, sample: str, repeat: int, nth: int, draw: str) -> bytes:
    """The journal's key of a call, 10 bytes: equal calls of one sample differ by repeat, draw and count.

    Args:
        digest: of the request.
        sample: its id.
        repeat: 0-based.
        nth: how often this sample has sent the same request before, from 0.
        draw: "" unless a fresh draw was taken.
    """
    tail = f"\0{sample}\0{repeat}\0{nth}\0{draw}".encode("utf-8", "surrogatepass")
    return blake2b(digest + tail, digest_size=10).digest()


class Keys:
    """Makes the journal's keys of one sample, repeat and draw ("" unless a fresh one was taken); counts equal calls."""

    __slots__ = ("_counts", "_repeat", "_sample", "draw")

    def __init__(self, sample: str, repeat: int, draw: str) -> None:
        self._sample = sample
        self._repeat = repeat
        self.draw = draw
        self._counts: dict[bytes, int] = {}

    def next(self, digest: bytes) -> bytes:
        """The key of the next call with this request."""
        nth = self._counts.get(digest, 0)
        self._counts[digest] = nth + 1
        return journal_key(digest, self._sample, self._repeat, nth, self.draw)

    def once(self, digest: bytes) -> bytes:
        """The key of the one call with this request for all samples and repeats."""
        return journal_key(digest, _FOR_ALL, 0, 0, self.draw)


def pack_reply(reply: Reply) -> bytes:
    """Encode a reply as a JSON list.

    Raises:
        ModelError: it is too large to be read back, as one of millions of empty passages is.
    """
    attempts = [
        [attempt.fault, round(attempt.seconds, 3), round(attempt.waited, 3), attempt.message]
        for attempt in reply.attempts
    ]
    # One attempt that was answered says no more than the latency does, and most replies have one: 0 saves its bytes.
    several = attempts if len(attempts) > 1 else 0
    usage = _counts(reply.usage)
    try:
        return stored_json([reply.text, reply.finish, usage, round(reply.latency, 3), several, reply.metadata])
    except ValueError as error:
        raise ModelError(f"the reply is too large: {error}", kind="malformed", attempts=reply.attempts) from error


def _counts(usage: Usage) -> list[int]:
    """The tokens of a call; counts at the end that are 0 are left out."""
    counts = [usage.input_tokens, usage.output_tokens, int(usage.estimated)]
    if usage.cache_read or usage.cache_write or usage.reasoning:
        return [*counts, usage.sent, int(usage.dense), usage.cache_read, usage.cache_write, usage.reasoning]
    return [*counts, usage.sent, *([1] if usage.dense else [])] if usage.sent else counts


def unpack_reply(key: str, body: bytes, *, cached: bool = True) -> Reply:
    """Decode a reply; it is marked as cached unless whoever reads it knows that it was sent."""
    text, finish, (input_tokens, output_tokens, estimated, *sent), latency, several, metadata = from_json(body)
    counts = (input_tokens, output_tokens, *sent)
    check_types((text, str), (finish, str), (latency, int | float), (metadata, dict), *((n, int) for n in counts))
    for name in _OF_JOURNAL:
        metadata.pop(name, None)
    attempts = tuple(Attempt(*attempt) for attempt in several) if several else (Attempt("", latency),)
    usage = Usage(input_tokens, output_tokens, bool(estimated), *sent[:1], *map(bool, sent[1:2]), *sent[2:])
    return Reply(key, text, finish, usage, latency, attempts, cached=cached, metadata=metadata)


def unpack_sent(body: bytes) -> str:
    """The request that was kept with a stored reply; "" where none was."""
    return str(from_json(body)[5].get(SENT, ""))


def without_kept(reply: Reply) -> Reply:
    """The reply as it will be when it is read from the journal."""
    if _OF_JOURNAL.isdisjoint(reply.metadata):
        return reply
    return replace(reply, metadata={name: value for name, value in reply.metadata.items() if name not in _OF_JOURNAL})


def pack_output(output: Output) -> bytes:
    """Encode the output of a target that called no model itself, as a JSON list."""
    return to_json([output.value, output.contexts, output.metadata])


def unpack_output(body: bytes) -> Output:
    """Decode an output."""
    value, contexts, metadata = from_json(body)
    return Output(value, tuple(contexts), metadata)


def plain_output(value: Any, question: Any = None) -> Output:
    """Convert whatever a target returned to an Output, equal to the one that the store will give back.

    Args:
        value: what it returned; of a conversation, the last answer becomes the output's value.
        question: the sample's input; in a conversation it is not a message of the target.

    Raises:
        TypeError: it has no JSON form (a generator), it is None (nearly always a forgotten `return`), or its
            contexts are not lists of texts.
        ValueError: it is too large to be kept.
    """
    if value is None:
        raise TypeError("it returned nothing; is a `return` missing? Output(None) says that nothing is meant")
    if isinstance(value, Output):
        output = with_plain_conversation(value, question) if value.metadata else value
    else:
        output = (None if isinstance(value, str) else conversation_output(value, question)) or Output(value)
    if type(output.value) is str and not output.contexts and not output.metadata:
        _check_size(len(output.value))
        return Output(output.value)
    check_plain(output.value)
    _check_contexts(output.contexts)
    packed = pack_output(output)
    _check_size(len(packed))
    return unpack_output(packed)


def _check_contexts(contexts: Any) -> None:
    """Refuse a single text, which would be read as one passage per character, and passages that are not texts."""
    if isinstance(contexts, str) or not isinstance(contexts, Sequence):
        raise TypeError(f"contexts are a list of texts, one for each passage, not {type(contexts).__name__}")
    wrong_type = next((type(passage).__name__ for passage in contexts if not isinstance(passage, str)), "")
    if wrong_type:
        raise TypeError(f"contexts are texts, but one of them is {wrong_type}")


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        raise ValueError(f"an output of {size >> 20} MiB is too large: at most {_MOST_BYTES >> 20} MiB are kept")


def refused_before(output: Output) -> bool:
    """Whether the target gave no answer because its model refused or a content filter stopped it.

    Words that come with a refusal are not an answer. What a content filter cut off is one, as far as it came.
    """
    finish = str(output.metadata.get("finish"))
    return finish == "refusal" or (finish in STOPPED and not answer_of(output).strip())


class EndpointNotes:
    """What was found out of endpoints: texts that the journal keeps like replies.

    Args:
        find: gives the body that the journal holds under a key, or None.
        commit: stores a body, and gives back the first one of its key.
        redact: removes secrets from what an endpoint says.
    """

    def __init__(
        self,
        find: Callable[[bytes], Awaitable[bytes | None]],
        commit: Callable[[bytes, bytes], Awaitable[bytes]],
        redact: Callable[[str], str],
    ) -> None:
        self._find = find
        self._commit = commit
        self._redact = redact

    async def read(self, key: bytes) -> str | None:
        """The note under a key of the journal, or None."""
        body = await self._find(key)
        return None if body is None else unpack_reply("", body).text

    async def keep(self, key: bytes, note: str) -> str:
        """Store a note; gives back the first one of its key."""
        return unpack_reply("", await self._commit(key, pack_reply(Reply("", note)))).text

    def words(self, error: ModelError) -> str:
        """What an endpoint said, in one line without secrets."""
        return " ".join(self._redact(str(error)).split())[:_LONGEST_REASON]


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
        match from_json(stored)[5].get(KEPT):
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
