"""The Session owns everything that is open while runs run; targets and scorers call models through its `Ask`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from steelyard.errors import ModelError, SteelyardError, StoreError
from steelyard.models.base import Model, ModelInfo, Request
from steelyard.models.budget import Ledger, Quota
from steelyard.models.limits import Limits, Retry
from steelyard.models.refused_parameters import LIMIT_NAMES
from steelyard.session.kept_requests import with_request
from steelyard.session.parameter_findings import Call, Changes, ParameterFindings, with_changes
from steelyard.session.replies import (
    EndpointNotes,
    Kept,
    Keys,
    journal_key,
    pack_output,
    pack_reply,
    read_again,
    read_again_key,
    read_unread,
    unpack_output,
    unpack_reply,
    unread,
    unread_key,
    without_kept,
)
from steelyard.session.reply_schemas import Finding, ReplySchemas, schema_digest
from steelyard.session.secrets import Secrets
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Asks, Output, Reply

if TYPE_CHECKING:
    from steelyard.session.wire import HttpWire

_NO_CHANGES: Final[Changes] = MappingProxyType({})


class Journal(Ledger, Protocol):
    """The part of a store that a session uses; `steelyard.store` implements it on disk."""

    def store_error(self) -> StoreError | None:
        """Why nothing more may be sent, as its reply could not be stored; or None."""

    async def find(self, key: bytes) -> bytes | None:
        """The body stored under `key`, or None."""

    async def claim(self, key: bytes) -> bytes | None:
        """Wait while another process sends this call for all; its stored body, or None where this one is to send it."""

    async def commit(self, key: bytes, body: bytes) -> bytes:
        """Store `body`; returns the stored body once it is on disk, which is the first one of that key."""

    def retried(self, model: str, fault: str) -> None:
        """Count an attempt that failed and is sent again, without waiting.

        Args:
            model: its name.
            fault: kind of the failure, such as `rate_limit`.
        """


class Session:
    """Connections, limits, budget, journal and SQL workers of the runs of one evaluation.

    Args:
        journal: where replies are committed before anything uses them.
        secrets: behind the references in targets and scorers.
        retry: the policy for faults that pass.
        concurrency: the most calls in flight at one endpoint.
        quota: budget, rates and prices.
        sandbox: where targets and scorers run SQL; None makes one for every engine.
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
        self.sandbox = sandbox or Sandbox(resolve=secrets.resolve)
        self.limits = Limits(retry, concurrency, refusal=journal.store_error, quota=quota, retried=journal.retried)
        self._opened_wire: HttpWire | None = None
        self._shown_features: set[str] = set()
        self._feature_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        notes = EndpointNotes(journal.find, journal.commit, secrets.redact_text)
        self.schemas = ReplySchemas(notes)
        self.parameters = ParameterFindings(notes)
        # A future only where another call waits for the same reply.
        self._in_flight: dict[bytes, asyncio.Future[Reply | None] | None] = {}
        self._stopped = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opened_wire is not None:
            await self._opened_wire.close()

    def _wire(self) -> HttpWire:
        if self._opened_wire is None:
            from steelyard.session.wire import HttpWire  # aiohttp is a tenth of the start of a run that sends nothing

            self._opened_wire = HttpWire(self.secrets)
        return self._opened_wire

    def stop(self, reason: str) -> None:
        """Send nothing more; calls in flight are awaited and committed."""
        self._stopped = True
        self.limits.pauses.end(ModelError(reason, kind="interrupted", ends_run=True))

    def halt(self, error: SteelyardError) -> None:
        """Send nothing more for the run that `error` ended, and end the waiting for retries."""
        if self.limits.pauses.ended is None:
            self.limits.pauses.end(error)

    def begin_run(self) -> None:
        """Allow calls again for the next run, however the previous one ended; not after `stop`."""
        if not self._stopped:
            self.limits.pauses.resume()

    @contextlib.asynccontextmanager
    async def proving(self, feature: str) -> AsyncIterator[bool]:
        """See the function `proving`; `feature` names the endpoint, the model and the feature."""
        if feature not in self._shown_features:
            async with self._feature_locks[feature]:
                if feature not in self._shown_features:
                    yield False
                    self._shown_features.add(feature)
                    return
        yield True

    def ask(
        self, sample: str, repeat: int, stage: str, *, draw: str = "", run: str = "", keeps_requests: bool = False
    ) -> Ask:
        """An `Ask` for one sample, repeat and stage.

        Args:
            sample: its id.
            repeat: 0-based.
            stage: `target`, or a scorer's name.
            draw: "" unless a fresh draw was taken.
            run: for which outputs are kept, see `Ask.kept_output`.
            keeps_requests: whether requests are stored with their replies.
        """
        ask = Ask(self, sample, repeat, stage, draw, run)
        ask.keeps_requests = keeps_requests
        return ask

    async def reply(
        self,
        model: Model,
        request: Request,
        key: bytes,
        sample: str = "",
        *,
        for_all: bool = False,
        changes: Changes = _NO_CHANGES,
    ) -> Reply:
        """The journal's reply for `key`, or a new one, committed. An equal call in flight is awaited, not repeated.

        Args:
            model: where the request is sent.
            request: the call.
            key: of the journal.
            sample: the id of the sample that it is sent for.
            for_all: whether it is sent once for all samples, whatever process they are in.
            changes: how its parameters were changed, which the reply records.

        Raises:
            ModelError: no usable reply for good.
            StoreError: the journal failed.
        """
        in_flight = self._in_flight
        flight = key + request.reading.encode()  # two mappings of one answer are two replies
        while flight in in_flight:
            shared = await self._shared(flight)
            if shared is not None:
                return replace(shared, cached=True)
        in_flight[flight] = None
        try:
            stored = await self.journal.find(key)
            if stored is None and (for_all or request.reading):
                stored = await self._found_elsewhere(model, request, key, changes, for_all=for_all)
            body = None
            if stored is None:
                send = self._send_and_keep if request.reading else self.limits.call
                reply = await send(model, request, self._wire(), sample, key.hex())
                reply = self._redacted(reply, changes, request)
                body = pack_reply(reply)
                stored = await self.journal.commit(key, body)
                reply = without_kept(reply)
            if stored is not body:  # it was there before, or another process committed its own first
                reply = await self._stored_reply(model, request, (key, stored), sample, changes)
                # Another process's reply counts, as it was first; this one was sent and paid for all the same.
                reply = reply if body is None else replace(reply, cached=False)
        except BaseException as error:
            _pass_on(in_flight.pop(flight), error)
            raise
        if (waiting := in_flight.pop(flight)) is not None:
            waiting.set_result(reply)
        return reply

    async def _stored_reply(
        self, model: Model, request: Request, row: tuple[bytes, bytes], sample: str, changes: Changes
    ) -> Reply:
        """The reply of a row, its key and body; read again if an endpoint with a mapping was read under another."""
        key, stored = row
        reply = unpack_reply(key.hex(), stored)
        if not request.reading:
            return reply
        kept = Kept.of(stored)
        if kept is None or kept.reading == request.reading:
            return reply
        again = read_again_key(key, request.reading)
        if kept.body is None:
            return await self.reply(model, request, again, sample, changes=changes)
        packed = await self.journal.find(again)
        if packed is None:
            reply = self._redacted(read_again(model, request, again, reply, kept), changes)
            packed = await self.journal.commit(again, pack_reply(reply))
        return unpack_reply(again.hex(), packed)

    async def _send_and_keep(self, model: Model, request: Request, wire: HttpWire, sample: str, key: str) -> Reply:
        """A new reply; a body in which the present mapping finds nothing is kept, see `replies`."""
        try:
            return await self.limits.call(model, request, wire, sample, key)
        except ModelError as error:
            if (kept := unread(model, request, error)) is not None:
                await self.journal.commit(unread_key(bytes.fromhex(key)), pack_reply(self._redacted(kept, _NO_CHANGES)))
            raise

    async def _found_elsewhere(
        self, model: Model, request: Request, key: bytes, changes: Changes, *, for_all: bool
    ) -> bytes | None:
        """The row that another process makes, or of an answer that fitted no earlier mapping and fits this one."""
        stored = await self.journal.claim(key) if for_all else None
        if stored is not None or not request.reading:
            return stored
        stored = await self.journal.find(unread_key(key))
        reply = None if stored is None else read_unread(model, request, key, stored)
        return None if reply is None else await self.journal.commit(key, pack_reply(self._redacted(reply, changes)))

    async def _shared(self, key: bytes) -> Reply | None:
        """The reply of the equal call in flight; None if it was cancelled, so that this call is to be sent itself."""
        waiting = self._in_flight[key]
        if waiting is None:
            waiting = self._in_flight[key] = asyncio.get_running_loop().create_future()
        # The future is never cancelled: awaiting it would then look like a cancellation of this call.
        return await asyncio.shield(waiting)

    def _redacted(self, reply: Reply, changes: Changes, request: Request | None = None) -> Reply:
        """`reply` without secrets, with its request if that is kept: the wire misses what events of a stream split."""
        if changes:
            reply = with_changes(reply, changes)
        if request is not None and request.is_kept:
            reply = with_request(reply, request, self.secrets.redact_text)
        if self.secrets.empty:
            return reply
        redact = self.secrets.redact_value
        parts = [reply.text, reply.finish, reply.metadata, [attempt.message for attempt in reply.attempts]]
        if redact(parts) is parts:
            return reply
        return replace(
            reply,
            text=redact(reply.text),
            finish=redact(reply.finish),
            attempts=tuple(replace(attempt, message=redact(attempt.message)) for attempt in reply.attempts),
            metadata=redact(reply.metadata),
        )


def _pass_on(waiting: asyncio.Future[Reply | None] | None, error: BaseException) -> None:
    """Raise the error of a failed call in the calls that wait for it; give them None where it was cancelled."""
    if waiting is None:
        return
    if isinstance(error, Exception):
        waiting.set_exception(error)
        waiting.exception()  # marks it as seen: asyncio logs an exception that nobody awaits
    else:
        waiting.set_result(None)


@contextlib.asynccontextmanager
async def proving(ask: Asks, model: Any, feature: str) -> AsyncIterator[bool]:
    """Let one call at a time through until one has shown that the endpoint of `model` supports `feature`.

    A call inside the block that finds it unsupported raises a ModelError that ends the run: that costs one call instead
    of one per sample in flight. Yields whether an earlier call has shown it. An `ask` outside a session (in a dry run
    or when scoring again) does not wait.
    """
    if not isinstance(ask, Ask):
        yield True
        return
    info = ModelInfo.of(model)
    async with ask.session.proving(f"{info.address} {info.name or type(model).__name__} {feature}") as proven:
        yield proven


def ask_of_stage(ask: Asks, stage: str) -> Asks:
    """An Ask whose replies are counted under another stage; outside a session (in a dry run) the same one."""
    return ask.of_stage(stage) if isinstance(ask, Ask) else ask


class Ask:
    """Calls models on behalf of one sample, repeat and stage.

    Attributes:
        stage: `target`, or a scorer's name.
        sample: its id.
        keys: of its calls in the journal.
        repeat: which of the sample's repeats this is, from 0.
        replies: in the order of their calls.
        optional: parameters that may be left out where the endpoint refuses them.
        keeps_requests: whether the journal keeps each request with its reply.
        over: the error that ended the run during a call, even if the target's own code caught it.
    """

    __slots__ = (
        *("_above", "_others", "_run"),
        *("keeps_requests", "keys", "optional", "over", "repeat", "replies", "sample", "session", "stage"),
    )

    def __init__(self, session: Session, sample: str, repeat: int, stage: str, draw: str, run: str = "") -> None:
        self.stage = stage
        self.repeat = repeat
        self.replies: list[Reply] = []
        self.over: ModelError | StoreError | None = None
        self.session = session
        self.sample = sample
        self._run = run
        self.keys = Keys(sample, repeat, draw)
        self._above: Ask | None = None
        self._others: dict[str, Ask] = {}
        self.optional: Collection[str] = ()
        self.keeps_requests = False

    def may_drop(self, names: Collection[str]) -> Ask:
        """The same Ask for a call that may do without these parameters, where the endpoint refuses them."""
        view = Ask(self.session, self.sample, self.repeat, self.stage, "", self._run)
        view.keeps_requests = self.keeps_requests
        view.optional = names
        view.replies = self.replies
        view.keys = self.keys
        view._others = self._others
        view._above = self._above or self
        return view

    def of_stage(self, stage: str) -> Ask:
        """An Ask for the same sample and repeat whose replies are counted under another stage."""
        stage_ask = self._others.get(stage)
        if stage_ask is None:
            stage_ask = self._others[stage] = Ask(self.session, self.sample, self.repeat, stage, "", self._run)
            stage_ask.keeps_requests = self.keeps_requests
            stage_ask.keys = self.keys
            stage_ask._above = self
        return stage_ask

    def replies_by_stage(self) -> dict[str, tuple[Reply, ...]]:
        """The replies of this stage and of those made by `of_stage`; stages without one are left out."""
        return {ask.stage: tuple(ask.replies) for ask in (self, *self._others.values()) if ask.replies}

    async def kept_output(self, nth: int, make: Callable[[], Awaitable[Output]]) -> Output:
        """An output of code that calls models by itself, from the journal if this run has it, else made and committed.

        Args:
            nth: which of the sample's outputs it is, from 0.
            make: makes it.

        Raises:
            StoreError: it could not be stored.
        """
        journal = self.session.journal
        key = journal_key(b"output of a turn", self.sample, self.repeat, nth, self._run)
        packed = await journal.find(key)
        return unpack_output(packed or await journal.commit(key, pack_output(await make())))

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Ask `model`; see `steelyard.types.Asks`."""
        own = getattr(model, "parameters", None) or ()
        if self.optional or not (LIMIT_NAMES.isdisjoint(parameters) and LIMIT_NAMES.isdisjoint(own)):

            async def send(model: Model, parameters: Mapping[str, Any], changes: Changes) -> Reply:
                request = replace(model.request(messages, parameters), is_kept=self.keeps_requests)
                key = self.keys.next(request.digest)
                return await self.session.reply(model, request, key, self.sample, changes=changes)

            reply = await self._changed(send, model, parameters)
        else:  # nothing may be changed: no step more than the call itself, as most calls are of this kind
            request = model.request(messages, parameters)
            if self.keeps_requests:
                request = replace(request, is_kept=True)
            try:
                reply = await self.session.reply(model, request, self.keys.next(request.digest), self.sample)
            except ModelError as error:
                explained = self.session.parameters.explained(error, model, parameters, self)
                self._note(explained)
                raise explained from error.__cause__
            except StoreError as error:
                self._note(error)
                raise
        self.replies.append(reply)
        return reply

    async def _changed(self, send: Call, model: Model, parameters: Mapping[str, Any]) -> Reply:
        """The reply of `send`, with the parameters that the endpoint takes."""
        try:
            return await self.session.parameters.reply(send, model, parameters, self)
        except (ModelError, StoreError) as error:
            self._note(error)
            raise

    async def either(
        self,
        call: Callable[..., Awaitable[Reply]],
        model: Model,
        wanted: Mapping[str, Any],
        without: Mapping[str, Any],
        *,
        has_images: bool = False,
    ) -> Finding:
        """Call with parameters that the endpoint may refuse, or else without; see `session.reply_schemas`.

        `has_images` says whether the messages have images, which an endpoint of decisions may refuse.
        """
        key = self.keys.once(schema_digest(model, wanted, has_images=has_images))
        return await self.session.schemas.reply(call, key, wanted, without)

    async def once(self, model: Model, messages: Any, /, **parameters: Any) -> Reply:
        """Call `model` once for all samples; the reply counts as one of the record whose call was sent."""

        async def send(model: Model, parameters: Mapping[str, Any], changes: Changes) -> Reply:
            request = replace(model.request(messages, parameters), is_kept=self.keeps_requests)
            key = self.keys.once(request.digest)
            return await self.session.reply(model, request, key, self.sample, for_all=True, changes=changes)

        reply = await self._changed(send, model, parameters)
        if not reply.cached:
            self.replies.append(reply)
        return reply

    def _note(self, error: ModelError | StoreError) -> None:
        if isinstance(error, StoreError) or error.ends_run:
            self.over = error
            if self._above is not None:
                self._above.over = error
