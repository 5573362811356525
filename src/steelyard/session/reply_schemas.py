"""Whether an endpoint takes a JSON schema, or gives token probabilities: one call finds out, and the journal keeps it.

An endpoint without structured outputs refuses the call that holds a schema: with status 400, 404, 422 or 501, and its
message may name the field or not. So whatever it says, the same question is sent once more without the schema; if that
is answered, the schema was the reason. A refused call costs nothing, and no answer is paid for twice. A request for
token probabilities, without which a scorer can do, falls back in the same way.

The result counts for one endpoint, model and schema: servers exist that take a schema of one number and refuse one
with a list. Of decisions it counts for the types of the questions, with images or without. It is kept in the journal
like a reply, so that a run that is resumed or scored again goes on as it began, and runs that share replies share this
too; a fresh draw finds it out again.
"""

# Why it is so, and what was rejected: docs/decisions/models-refused-parameters.md

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from steelyard.errors import ModelError
from steelyard.models.base import Model, ModelInfo
from steelyard.models.decisions import DECISIONS
from steelyard.models.refusals import ENDING
from steelyard.plain_json import to_json
from steelyard.prompts.message_parts import images_in
from steelyard.session.replies import EndpointNotes
from steelyard.types import Asks, Reply

REPLY_FORM: Final = "reply_form"
"""Key of a reply's metadata that says whether the reply was requested with the schema or as free text."""
AS_SCHEMA: Final = "JSON schema"
AS_DECISIONS: Final = "decisions"
_IGNORED: Final = "free text: the endpoint ignored the JSON schema"
_WITHOUT_DECISIONS: Final = "free text: the endpoint gives no decisions"
_REFUSED: Final = "free text: the endpoint refused the JSON schema"
_MAY_CONCERN_SCHEMA: Final = ENDING | {"bad_request"}
"""Kinds of a refusal whose cause may be the schema: words such as "not supported by this model" are easily misread."""


class Finding(NamedTuple):
    """A reply, and why it was asked for without what was wanted: the endpoint's words, or "" where it took it."""

    reply: Reply
    refusal: str


async def _either(
    ask: Asks,
    call: Callable[..., Awaitable[Reply]],
    model: Model,
    wanted: Mapping[str, Any],
    without: Mapping[str, Any],
    **about: bool,
) -> Finding:
    """Call with the parameters `wanted`, or `without` where the endpoint refuses those; see `session.Ask.either`.

    An `Asks` of a user's own does not know which endpoints take what: it always sends what is wanted.
    """
    either: Callable[..., Awaitable[Finding]] | None = getattr(ask, "either", None)
    return Finding(await call(**wanted), "") if either is None else await either(call, model, wanted, without, **about)


async def ask_for_schema(
    ask: Asks, model: Model, messages: Any, *, schema: Mapping[str, Any], free: Mapping[str, Any]
) -> Reply:
    """Ask for a reply that follows a JSON schema, or for decisions, where the endpoint has them, else for free text.

    Args:
        ask: an `Asks` of a user's own does not know which endpoints take a schema: it always sends the schema.
        model: the model to call.
        messages: the messages to send.
        schema: parameters of the call with the schema, or with the questions of decisions.
        free: those without.

    Returns:
        The reply; its metadata says at `reply_form` how it was asked for.

    Raises:
        ModelError: no usable reply for good.
    """
    has_images = DECISIONS in schema and bool(images_in(messages))
    finding = await _either(ask, partial(ask, model, messages), model, schema, free, has_images=has_images)
    return _with_form(finding.reply, _decision_form(finding.refusal)) if DECISIONS in schema else marked(*finding)


def _decision_form(refusal: str) -> str:
    return f"{_WITHOUT_DECISIONS} ({refusal})" if refusal else AS_DECISIONS


def _with_form(reply: Reply, form: str) -> Reply:
    return replace(reply, metadata={**reply.metadata, REPLY_FORM: form})


async def ask_for_probabilities(ask: Asks, model: Model, call: Callable[..., Awaitable[Reply]], most: int) -> Finding:
    """Ask for a reply with token probabilities where the endpoint gives them, else for one without.

    Args:
        ask: one of a user's own does not know which endpoints give them: their refusal is an error.
        model: the model to call.
        call: takes the parameters that ask for them, or none.
        most: how many tokens the endpoint is asked to list.

    Raises:
        ModelError: no usable reply for good.
    """
    return await _either(ask, call, model, {"logprobs": True, "top_logprobs": most}, {})


def schema_digest(model: Model, parameters: Mapping[str, Any], *, has_images: bool = False) -> bytes:
    """The digest under which the journal keeps whether this endpoint and model take this schema, or this request.

    Of decisions it depends on the types of the questions and on whether there are images beside them: services exist
    that take predicates and no scores, and texts and no images.
    """
    info = ModelInfo.of(model)
    wanted: Any = parameters.get("response_format", dict(parameters))
    if questions := parameters.get(DECISIONS):
        wanted = [DECISIONS, sorted({question["type"] for question in questions}), has_images]
    identity = [info.address, info.name or type(model).__name__, wanted]
    return blake2b(b"reply schema\0" + to_json(identity), digest_size=16).digest()


def marked(reply: Reply, refusal: str) -> Reply:
    """The reply with a note that says whether it was requested with a schema or as free text.

    Args:
        reply: as it came.
        refusal: the endpoint's error message about the schema; "" where it took it.

    >>> marked(Reply("", "Rating: 4"), "").metadata["reply_form"]
    'free text: the endpoint ignored the JSON schema'
    """
    # A proxy may drop the field without a word, and a model may stop before it has written anything.
    is_json = reply.text.lstrip()[:1] in {"{", ""}
    form = f"{_REFUSED} ({refusal})" if refusal else AS_SCHEMA if is_json else _IGNORED
    return _with_form(reply, form)


class ReplySchemas:
    """Remembers which endpoints take a JSON schema, by the journal's key.

    Args:
        notes: of the journal.
    """

    def __init__(self, notes: EndpointNotes) -> None:
        self._notes = notes
        self._known: dict[bytes, str] = {}
        self._locks: dict[bytes, asyncio.Lock] = {}

    async def reply(
        self,
        call: Callable[..., Awaitable[Reply]],
        key: bytes,
        wanted: Mapping[str, Any],
        without: Mapping[str, Any],
    ) -> Finding:
        """The reply to a call; the first one of its key finds out what is taken, and others wait for it.

        Args:
            call: takes the parameters.
            key: see `schema_digest`.
            wanted: parameters with the schema, or with the request for probabilities.
            without: those without.

        Raises:
            ModelError: of the call without, where both were refused: what was wanted was not the reason.
        """
        if (refusal := await self._refusal(key)) is None:
            async with self._locks.setdefault(key, asyncio.Lock()):
                if (refusal := await self._refusal(key)) is None:
                    return await self._find_out(partial(call, **wanted), partial(call, **without), key)
        return Finding(await call(**(without if refusal else wanted)), refusal)

    async def _find_out(
        self, with_schema: Callable[[], Awaitable[Reply]], without: Callable[[], Awaitable[Reply]], key: bytes
    ) -> Finding:
        refusal = ""
        try:
            reply = await with_schema()
        except ModelError as error:
            if error.ends_run or error.kind not in _MAY_CONCERN_SCHEMA:
                raise
            reply, refusal = await without(), self._notes.words(error)
        self._known[key] = await self._notes.keep(key, refusal)
        return Finding(reply, self._known[key])

    async def _refusal(self, key: bytes) -> str | None:
        """The endpoint's refusal of the schema; "" where it takes the schema, None where that is not known yet."""
        if key not in self._known and (note := await self._notes.read(key)) is not None:
            self._known[key] = note
        return self._known.get(key)
