"""The Session owns whatever is open while runs run and gives out `Ask`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, Protocol, Self

from steelyard.errors import ModelError, SteelyardError, StoreError
from steelyard.models.base import Model, Request
from steelyard.models.budget import Ledger, Quota
from steelyard.models.limits import Limits, Retry
from steelyard.session.replies import pack_reply, unpack_reply
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Asks, Reply


class Journal(Ledger, Protocol):
    """What the session needs of a store; `steelyard.store` is the one that keeps it on disk."""

    def store_error(self) -> StoreError | None:
        """Why nothing more may be sent, as its reply could not be stored; or None."""

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


class Proofs:
    """What endpoints have shown that they can or cannot do (log-probabilities, say); one call finds out for all."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._shown: dict[str, ModelError | None] = {}

    @contextlib.asynccontextmanager
    async def of(self, what: str) -> AsyncIterator[bool]:
        """See `Ask.proving`."""
        if what in self._shown:
            self._raise_shown(what)
            yield True
            return
        async with self._locks.setdefault(what, asyncio.Lock()):
            if what not in self._shown:
                try:
                    yield False
                except ModelError as error:
                    if error.ends_run:
                        self._shown[what] = error
                    raise
                self._shown[what] = None
                return
        # Another call has shown it while this one waited. Out of the lock, so that all who waited go on together.
        self._raise_shown(what)
        yield True

    def _raise_shown(self, what: str) -> None:
        error = self._shown[what]
        if error is not None:
            raise error

    def forget_failures(self) -> None:
        """Let the next run ask again: what ended one run is not known of the next."""
        self._shown = {what: error for what, error in self._shown.items() if error is None}


class Session:
    """Connections, limits, budget, journal and SQL workers of the runs of one evaluation.

    Args:
        journal: where replies are committed before anything uses them.
        secrets: behind the references in targets and scorers.
        retry: what is done about passing faults.
        concurrency: calls in flight at one endpoint at most.
        quota: budget, rates and prices.
        sandbox: where targets and scorers run SQL; None is one that holds every engine.
    """

    def __init__(
        self,
        journal: Journal,
        secrets: Secrets,
        *,
        retry: Retry = Retry(),
        concurrency: int = 16,
        quota: Quota = Quota(),
        sandbox: Sandbox | None = None,
    ) -> None:
        self.journal = journal
        self.secrets = secrets
        self.sandbox = sandbox or Sandbox()
        self.limits = Limits(retry, concurrency, refusal=journal.store_error, quota=quota)
        self._wire = HttpWire(secrets)
        self.proofs = Proofs()
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
            self.proofs.forget_failures()

    def ask(self, sample: str, repeat: int, stage: str, *, draw: str = "") -> Ask:
        """The Ask of one sample, repeat and stage."""
        return Ask(self, sample, repeat, stage, draw)

    async def reply(self, model: Model, request: Request, key: bytes, sample: str = "") -> Reply:
        """The journal's reply for `key`, or a new one, committed. An equal key in flight is awaited, not asked twice.

        Args:
            model: what is asked.
            request: the call.
            key: of the journal.
            sample: the id of the sample that asks.

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
            kept = await self.journal.find(key)
            body = None
            if kept is None:
                reply = self._clean(await self.limits.call(model, request, self._wire, sample), key)
                body = pack_reply(reply)
                kept = await self.journal.commit(key, body)
            if kept is not body:  # it was there before, or another process committed its own first
                reply = unpack_reply(key.hex(), kept)
        except BaseException as error:
            if isinstance(error, Exception):
                mine.set_exception(error)
                mine.exception()  # marks it as seen: asyncio logs an exception that nobody awaits
            else:
                mine.set_result(None)
            raise
        else:
            mine.set_result(reply)
            return reply
        finally:
            del self._in_flight[key]

    def _clean(self, reply: Reply, key: bytes) -> Reply:
        """`reply` with its key; a secret that came back in it is gone, however it was escaped or cut on the wire."""
        if self.secrets.empty:
            # What `replace` below would give, in about half the time: 4 µs and not 7 in each call of most runs.
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


@contextlib.asynccontextmanager
async def proving(ask: Asks, model: Any, what: str) -> AsyncIterator[bool]:
    """Let one call at a time through until the endpoint of `model` has shown that it can do `what`.

    Whoever asks inside raises a ModelError that ends the run where it cannot: that costs one call, and not one for
    every sample in work. Gives whether it has been shown before. An `ask` that does not belong to a session (of a dry
    run, of a rescoring) lets all through.
    """
    if not isinstance(ask, Ask):
        yield True
        return
    name = getattr(model, "name", "") or type(model).__name__
    async with ask.proving(f"{getattr(model, 'base_url', '')} {name} {what}") as shown:
        yield shown


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

    __slots__ = ("_keys", "_sample", "_session", "over", "repeat", "replies", "stage")

    def __init__(self, session: Session, sample: str, repeat: int, stage: str, draw: str) -> None:
        self.stage = stage
        self.repeat = repeat
        self.replies: list[Reply] = []
        self.over: ModelError | StoreError | None = None
        self._session = session
        self._sample = sample
        self._keys = Keys(sample, repeat, draw)

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model`; see `steelyard.types.Asks`."""
        request = model.request(messages, parameters)
        try:
            reply = await self._session.reply(model, request, self._keys.next(request.digest), self._sample)
        except (ModelError, StoreError) as error:
            self._note(error)
            raise
        self.replies.append(reply)
        return reply

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model` once for all samples; the reply belongs to the record that paid for it."""
        request = model.request(messages, parameters)
        try:
            reply = await self._session.reply(model, request, self._keys.once(request.digest), self._sample)
        except (ModelError, StoreError) as error:
            self._note(error)
            raise
        if not reply.cached:
            self.replies.append(reply)
        return reply

    @contextlib.asynccontextmanager
    async def proving(self, what: str) -> AsyncIterator[bool]:
        """Let one call at a time through until one has shown that the endpoint can do `what`; then all.

        Gives whether one has: a reply without it is then about its sample and not about the endpoint.

        Args:
            what: names the endpoint, the model and what it must be able to do.

        Raises:
            ModelError: an earlier call showed that it cannot.
        """
        try:
            async with self._session.proofs.of(what) as shown:
                yield shown
        except ModelError as error:
            self._note(error)
            raise

    def _note(self, error: ModelError | StoreError) -> None:
        if isinstance(error, StoreError) or error.ends_run:
            self.over = error
