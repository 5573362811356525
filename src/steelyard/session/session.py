"""The Session owns whatever is open while runs run and gives out `Ask`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, Protocol, Self

from steelyard.errors import ModelError, SteelyardError, StoreError
from steelyard.models.base import Model, Request
from steelyard.models.budget import Ledger
from steelyard.models.limits import Limits, Retry
from steelyard.models.tolls import Terms
from steelyard.session.replies import pack_reply, unpack_reply
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Reply


class Journal(Ledger, Protocol):
    """What the session needs of a store; `steelyard.store` is the one that keeps it on disk."""

    @property
    def refuse(self) -> StoreError | None:
        """Why nothing more may be sent, or None."""

    async def find(self, key: bytes) -> bytes | None:
        """The body kept under `key`, or None."""

    async def commit(self, key: bytes, body: bytes) -> bytes:
        """Keep `body`; returns once it is on disk, with the body kept: the first of that key."""


def journal_key(digest: bytes, sample: str, repeat: int, nth: int, draw: str) -> bytes:
    """10 bytes for the `nth` time that this call has asked the same, in this repeat and draw.

    Args:
        digest: of the request.
        sample: its id.
        repeat: 0-based.
        nth: 0 for the first time.
        draw: "" unless a fresh draw was taken.
    """
    tail = f"\0{sample}\0{repeat}\0{nth}\0{draw}".encode("utf-8", "surrogatepass")
    return blake2b(digest + tail, digest_size=10).digest()


class Session:
    """Connections, gates, budget, journal and SQL workers of the runs of one evaluation.

    Args:
        journal: where replies are committed before anything uses them.
        secrets: behind the references in targets and scorers.
        retry: what is done about passing faults.
        concurrency: calls in flight at one endpoint at most.
        terms: budget, rates and prices.
        sandbox: where targets and scorers run SQL; None is one that holds every engine.
    """

    def __init__(
        self,
        journal: Journal,
        secrets: Secrets,
        *,
        retry: Retry = Retry(),
        concurrency: int = 16,
        terms: Terms = Terms(),
        sandbox: Sandbox | None = None,
    ) -> None:
        self.journal = journal
        self.secrets = secrets
        self.sandbox = sandbox or Sandbox()
        self.limits = Limits(retry, concurrency, refusal=lambda: journal.refuse, terms=terms)
        self._wire = HttpWire(secrets)
        self._in_flight: dict[bytes, asyncio.Future[Reply | None]] = {}
        self._stopped = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.close()

    def stop(self, reason: str) -> None:
        """Send nothing more; what is in flight comes in and is committed."""
        self._stopped = True
        self.limits.pauses.end(ModelError(reason, kind="interrupted", ends_run=True))

    def halt(self, error: SteelyardError) -> None:
        """Send nothing more for the run that `error` ended: nobody waits for a retry that would be in vain."""
        if self.limits.pauses.ended is None:
            self.limits.pauses.end(error)

    def begin_run(self) -> None:
        """Let the next run send, whatever ended the one before; not after `stop`."""
        if not self._stopped:
            self.limits.pauses.resume()

    def ask(self, sample: str, repeat: int, stage: str, *, draw: str = "") -> Ask:
        """The Ask of one sample, repeat and stage."""
        return Ask(self, sample, repeat, stage, draw)

    async def reply(self, model: Model, request: Request, key: bytes) -> Reply:
        """The journal's reply for `key`, or a new one, committed. An equal key in flight is awaited, not asked twice.

        Raises:
            ModelError: no usable reply for good.
            StoreError: the journal failed.
        """
        while (pending := self._in_flight.get(key)) is not None:
            # None: its owner was cancelled, so we ask ourselves. The future is never cancelled: that could not be told
            # from our own cancellation.
            shared = await asyncio.shield(pending)
            if shared is not None:
                return replace(shared, cached=True)
        mine: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = mine
        try:
            reply = await self._obtain(model, request, key)
        except BaseException as error:
            if isinstance(error, Exception):
                mine.set_exception(error)
                mine.exception()
            else:
                mine.set_result(None)
            raise
        else:
            mine.set_result(reply)
            return reply
        finally:
            del self._in_flight[key]

    async def _obtain(self, model: Model, request: Request, key: bytes) -> Reply:
        found = await self.journal.find(key)
        if found is not None:
            return unpack_reply(key.hex(), found)
        reply = self._clean(await self.limits.call(model, request, self._wire), key)
        body = pack_reply(reply)
        kept = await self.journal.commit(key, body)
        return reply if kept is body else unpack_reply(key.hex(), kept)

    def _clean(self, reply: Reply, key: bytes) -> Reply:
        """`reply` with its key; a secret that came back in it is gone, however it was escaped or cut on the wire."""
        if not self.secrets:
            latency, attempts, metadata = reply.latency, reply.attempts, reply.metadata
            return Reply(key.hex(), reply.text, reply.finish, reply.usage, latency, attempts, metadata=metadata)
        redact = self.secrets.redact_value
        return replace(
            reply,
            key=key.hex(),
            text=redact(reply.text),
            finish=redact(reply.finish),
            attempts=tuple(replace(one, message=redact(one.message)) for one in reply.attempts),
            metadata=redact(reply.metadata),
        )


_FOR_ALL: Final = "\0every sample"
"""Stands for the sample in the key of what is asked once; no dataset has such an id by chance."""


class Keys:
    """The journal's keys of one sample, repeat and draw; knows how often the same was asked."""

    __slots__ = ("_asked", "_draw", "_repeat", "_sample")

    def __init__(self, sample: str, repeat: int, draw: str) -> None:
        self._sample = sample
        self._repeat = repeat
        self._draw = draw
        self._asked: dict[bytes, int] = {}

    def next(self, digest: bytes) -> bytes:
        """The key of asking what `digest` stands for, once more."""
        nth = self._asked.get(digest, 0)
        self._asked[digest] = nth + 1
        return journal_key(digest, self._sample, self._repeat, nth, self._draw)

    def once(self, digest: bytes) -> bytes:
        """The key of asking what `digest` stands for once, for all samples and repeats."""
        return journal_key(digest, _FOR_ALL, 0, 0, self._draw)


class Ask:
    """One call to a model for one sample, repeat and stage.

    Attributes:
        stage: `target`, or a scorer's name.
        repeat: which of the sample's repeats this is, from 0.
        replies: in the order they were asked.
        over: what ended the run while this asked, even where the target's own code caught it.
    """

    __slots__ = ("_keys", "_session", "over", "repeat", "replies", "stage")

    def __init__(self, session: Session, sample: str, repeat: int, stage: str, draw: str) -> None:
        self.stage = stage
        self.repeat = repeat
        self.replies: list[Reply] = []
        self.over: ModelError | StoreError | None = None
        self._session = session
        self._keys = Keys(sample, repeat, draw)

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model`; see `steelyard.types.Asks`."""
        request = model.request(messages, parameters)
        try:
            reply = await self._session.reply(model, request, self._keys.next(request.digest))
        except (ModelError, StoreError) as error:
            self._note(error)
            raise
        self.replies.append(reply)
        return reply

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model` once for all samples; the reply belongs to the record that paid for it."""
        request = model.request(messages, parameters)
        try:
            reply = await self._session.reply(model, request, self._keys.once(request.digest))
        except (ModelError, StoreError) as error:
            self._note(error)
            raise
        if not reply.cached:
            self.replies.append(reply)
        return reply

    def _note(self, error: ModelError | StoreError) -> None:
        if isinstance(error, StoreError) or error.ends_run:
            self.over = error
