"""The Session owns whatever is open while runs run and gives out `Ask`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol, Self

from steelyard.errors import ModelError, StoreError
from steelyard.models.base import Model, Request
from steelyard.models.budget import Budget, Ledger, Purse
from steelyard.models.limits import Limits, Retry
from steelyard.session.replies import pack_reply, unpack_reply
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Reply


class Journal(Ledger, Protocol):
    """What the session needs of a store; `steelyard.store` is the one that keeps it on disk."""

    @property
    def refuse(self) -> StoreError | None:
        """Why nothing more may be sent, or None."""

    async def find(self, key: bytes) -> bytes | None:
        """The body kept under `key`, or None."""

    async def commit(self, key: bytes, body: bytes) -> None:
        """Keep `body`; returns once it is on disk."""


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
    """Connections, gates, budget and journal of the runs of one evaluation.

    Args:
        journal: where replies are committed before anything uses them.
        secrets: behind the references in targets and scorers.
        retry: what is done about passing faults.
        concurrency: calls in flight at one endpoint at most.
        budget: limits; with what was spent by earlier processes as `spent` (calls, tokens).
    """

    def __init__(
        self,
        journal: Journal,
        secrets: Secrets,
        *,
        retry: Retry = Retry(),
        concurrency: int = 16,
        budget: Budget = Budget(),
        spent: tuple[int, int] = (0, 0),
    ) -> None:
        self.journal = journal
        self.secrets = secrets
        self.limits = Limits(retry, concurrency)
        self._wire = HttpWire(secrets)
        self._purse = None if budget == Budget() else Purse(budget, *spent, journal)
        self._in_flight: dict[bytes, asyncio.Future[Reply]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.close()

    def stop(self, reason: str) -> None:
        """Send nothing more; what is in flight comes in and is committed."""
        self.limits.pauses.end(ModelError(reason, kind="interrupted", ends_run=True))

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
            reply = await _shared(pending)
            if reply is not None:
                return replace(reply, cached=True)
        mine: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = mine
        try:
            reply = await self._obtain(model, request, key)
        except BaseException as error:
            if isinstance(error, Exception):
                mine.set_exception(error)
                mine.exception()
            else:
                mine.cancel()
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
        if self.limits.pauses.ended is not None:
            raise self.limits.pauses.ended
        if self.journal.refuse is not None:
            raise self.journal.refuse
        reply = replace(await self.limits.call(model, request, self._wire, self._purse), key=key.hex())
        await self.journal.commit(key, pack_reply(reply))
        return reply


class Ask:
    """One call to a model for one sample, repeat and stage; remembers its replies, in the order they were asked."""

    __slots__ = ("_asked", "_draw", "_repeat", "_sample", "_session", "replies", "stage")

    def __init__(self, session: Session, sample: str, repeat: int, stage: str, draw: str) -> None:
        self.stage = stage
        self.replies: list[Reply] = []
        self._session = session
        self._sample = sample
        self._repeat = repeat
        self._draw = draw
        self._asked: dict[bytes, int] = {}

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model`; see `steelyard.types.Asks`."""
        request = model.request(messages, parameters)
        digest = request.digest
        nth = self._asked.get(digest, 0)
        self._asked[digest] = nth + 1
        key = journal_key(digest, self._sample, self._repeat, nth, self._draw)
        reply = await self._session.reply(model, request, key)
        self.replies.append(reply)
        return reply


async def _shared(pending: asyncio.Future[Reply]) -> Reply | None:
    """What another caller of the same key got; None where it was cancelled, so that we ask ourselves."""
    try:
        return await asyncio.shield(pending)
    except asyncio.CancelledError:
        if pending.cancelled():
            return None
        raise
