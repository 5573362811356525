"""Which parameters an endpoint refuses although nobody asked for them: one call finds out, and the journal keeps it.

A call that is refused because of a parameter is sent again without it, or with a limit of tokens under the name that
the endpoint knows; a refused call costs nothing. Only what the endpoint then answers counts as found out, so that a
refusal that was misread changes nothing. A finding counts for one endpoint, model, parameter and value. It is kept in
the journal like a reply: a resumed or repeated run sends at once what was answered before, under the key that its reply
has; a fresh draw finds out again.

A parameter that the user set is never left out: its refusal is an error that names the key to change.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeVar

from steelyard.errors import ModelError, shortened
from steelyard.models.base import Fault, Model, ModelInfo, Refused
from steelyard.models.budget import UNPROVEN
from steelyard.models.refusals import Refusals
from steelyard.models.refused_parameters import DROPPED, LIMITS, SAMPLING, adjusted, changes_for, refused_of
from steelyard.plain_json import to_json
from steelyard.session.replies import EndpointNotes, Keys
from steelyard.types import Asks, Reply

CHANGED_PARAMETERS: Final = "changed_parameters"
"""Key of a reply's metadata: parameter -> the name that it was sent under, "" where it was left out."""
_LONGEST_VALUE: Final = 60
_NOTHING_FOUND: Final = "-"

Changes = Mapping[str, str]
Call = Callable[[Model, Mapping[str, Any], Changes], Awaitable[Reply]]
AnyAsk = TypeVar("AnyAsk", bound=Asks)


class AsksForSample(Protocol):
    """What is known of whoever makes a call; see `session.Ask`."""

    @property
    def optional(self) -> Collection[str]:
        """Names of the parameters that nobody asked for."""

    @property
    def keys(self) -> Keys:
        """The keys under which the journal has the replies of the sample."""

    @property
    def sample(self) -> str:
        """The id of the sample."""

    @property
    def stage(self) -> str:
        """`target`, or a scorer's name."""


def may_drop(ask: AnyAsk, names: Collection[str]) -> AnyAsk:
    """An Ask that may leave out these parameters where the endpoint refuses them; one of a user's own never does."""
    view: Callable[[Collection[str]], AnyAsk] | None = getattr(ask, "may_drop", None)
    return ask if view is None else view(names)


def with_changes(reply: Reply, changes: Changes) -> Reply:
    """The reply with a note of how the parameters of its call were changed; the same one where they were not."""
    return replace(reply, metadata={**reply.metadata, CHANGED_PARAMETERS: dict(changes)}) if changes else reply


def finding_digests(
    model: Model, parameters: Mapping[str, Any], optional: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    """(parameter, digest under which the journal keeps what is found out of it) for each that may be changed.

    Args:
        model: what is called.
        parameters: of the call.
        optional: those that nobody asked for.
    """
    info = ModelInfo.of(model)
    sent = {**info.parameters, **parameters}
    for name in _adjustable(info.parameters, parameters, optional):
        identity = [info.address, info.name or type(model).__name__, name, sent[name] if name in SAMPLING else None]
        yield name, blake2b(b"refused parameter\0" + to_json(identity), digest_size=16).digest()


def _adjustable(own: Mapping[str, Any], parameters: Mapping[str, Any], optional: Collection[str]) -> list[str]:
    """The parameters of a call that may be changed: limits of tokens, and others that nobody asked for."""
    limits = [name for name in own if name in LIMITS and name not in parameters]
    return [name for name in parameters if name in LIMITS or (name in optional and name in SAMPLING)] + limits


def change_of(note: str | None, name: str, optional: Collection[str]) -> Changes:
    """What a note in the journal says of one parameter; empty without one, and for a user's limit that is refused."""
    if note is None:
        return {}
    to = str(json.loads(note)[0])
    return {} if to == DROPPED and name not in optional else {name: to}


class ParameterFindings:
    """Remembers which parameters endpoints refuse.

    Args:
        notes: of the journal.
    """

    def __init__(self, notes: EndpointNotes) -> None:
        self._notes = notes
        self._known: dict[tuple[Any, ...], str] = {}
        self._first: dict[tuple[str, str], _First] = {}
        self._refusals = Refusals()

    async def reply(self, call: Call, model: Model, parameters: Mapping[str, Any], asked_by: AsksForSample) -> Reply:
        """The reply to a call, changed as far as the endpoint needs it; one finds out, and others wait for it.

        Until the first answer as many calls are made as may be in flight at an endpoint that has given no good reply.

        Args:
            call: sends it: takes the model, the parameters and the changes that were made.
            model: what is called.
            parameters: of the call.
            asked_by: the sample's Ask.

        Raises:
            ModelError: no reply for good; where a parameter of the user's is refused, it names the key to change.
        """
        work = _Work.of(call, model, parameters, asked_by)
        names = _adjustable(work.own, parameters, asked_by.optional)
        first = self._first.setdefault(work.identity, _First())
        if work.optional and names and not first.answered.is_set():
            first.begun += 1
            if first.begun > UNPROVEN:
                await first.answered.wait()
        known = await self._changes(work, names)
        try:
            reply = await self._sent(work, known)
        except ModelError as error:
            if not self._new_changes(error, work, known):
                first.answered.set()
                raise self._explained(error, work, known) from error.__cause__
            refusal = error
        except BaseException:
            first.answered.set()
            raise
        else:
            first.answered.set()
            return reply
        async with first.finding_out:
            try:
                if await self._changes(work, names) == known:
                    return await self._find_out(work, known, refusal)
            finally:
                first.answered.set()
        return await self.reply(call, model, parameters, asked_by)  # it was found out meanwhile

    def explained(
        self, error: ModelError, model: Model, parameters: Mapping[str, Any], asked_by: AsksForSample
    ) -> ModelError:
        """The error of a call of which nothing could be changed; see `reply`."""
        return self._explained(error, _Work.of(None, model, parameters, asked_by), {})

    async def _find_out(self, work: _Work, known: Changes, refusal: ModelError) -> Reply:
        """Change the call until it is answered, and keep what that took."""
        found: dict[str, str] = {}
        reasons: dict[str, str] = {}
        while True:
            new = self._new_changes(refusal, work, {**known, **found})
            if not new:
                raise self._explained(refusal, work, {**known, **found}) from refusal.__cause__
            found |= new
            reasons |= dict.fromkeys(new, self._notes.words(refusal))
            try:
                reply = await self._sent(work, {**known, **found})
            except ModelError as error:
                refusal = error
                continue
            for name, to in found.items():
                await self._keep(work, name, to, reasons[name])
            return reply

    async def _sent(self, work: _Work, changes: Changes) -> Reply:
        model, parameters = adjusted(work.model, work.parameters, changes, work.optional)
        assert work.call is not None  # noqa: S101  # only an explanation has none
        return await work.call(model, parameters, changes)

    def _new_changes(self, error: ModelError, work: _Work, changes: Changes) -> Changes:
        return changes_for(_refused(error), work.sent, work.optional, changes)

    async def _changes(self, work: _Work, names: Collection[str]) -> Changes:
        """What is known of the parameters of a call."""
        known: dict[str, str] = {}
        for name in names:
            # What is known of one parameter, in memory or in the journal.
            memory = work.memory(name)
            to = self._known.get(memory)
            if to is None:
                note = await self._notes.read(work.key(name))
                to = self._known[memory] = change_of(note, name, (name,)).get(name, _NOTHING_FOUND)
            known |= {} if to == _NOTHING_FOUND or (to == DROPPED and name not in work.optional) else {name: to}
        return known

    async def _keep(self, work: _Work, name: str, to: str, reason: str) -> None:
        stored = await self._notes.keep(work.key(name), to_json([to, reason]).decode("utf-8", "replace"))
        self._known[work.memory(name)] = change_of(stored, name, (name,))[name]

    def _explained(self, error: ModelError, work: _Work, changes: Changes) -> ModelError:
        """The error, with the key of a refused parameter that cannot be changed; its second sample ends the run."""
        by_call = {name for name in work.parameters if changes.get(name) != DROPPED}
        names = refused_of(_refused(error), {**work.own, **dict.fromkeys(by_call)}, work.optional)
        if not names or error.ends_run:
            return error
        of_call = "parameters of the target" if work.asked_by.stage == "target" else "judge: parameters"
        sent = [
            f"{name} = {_shown(work.sent[name] if name in by_call else work.own[name])} "
            f"(`{of_call if name in by_call else 'parameters of the model'}`)"
            for name in names
        ]
        text = f"{error}; the call sends {' and '.join(sent)}: change or remove it there"
        again = self._refusals.repeats(work.identity[1], str(error), work.asked_by.sample)
        return ModelError(text, kind=error.kind, attempts=error.attempts, ends_run=again)


class _First:
    """The first calls of a model at an endpoint: how many were begun, and whether one has been answered."""

    __slots__ = ("answered", "begun", "finding_out")

    def __init__(self) -> None:
        self.begun = 0
        self.answered = asyncio.Event()
        self.finding_out = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class _Work:
    """One call whose parameters may have to change; see `ParameterFindings.reply`."""

    call: Call | None
    model: Model
    parameters: Mapping[str, Any]
    asked_by: AsksForSample
    own: Mapping[str, Any]
    identity: tuple[str, str]

    @classmethod
    def of(cls, call: Call | None, model: Model, parameters: Mapping[str, Any], asked_by: AsksForSample) -> _Work:
        """With what is known of the model."""
        info = ModelInfo.of(model)
        identity = (info.address, info.name or type(model).__name__)
        return cls(call, model, parameters, asked_by, info.parameters, identity)

    @property
    def optional(self) -> Collection[str]:
        """The parameters that nobody asked for."""
        return self.asked_by.optional

    @property
    def sent(self) -> Mapping[str, Any]:
        """The parameters of the call and of the model."""
        return {**self.own, **self.parameters}

    def memory(self, name: str) -> tuple[Any, ...]:
        """What a finding is remembered under: the journal's key takes ten times as long to compute."""
        value = (self.parameters if name in self.parameters else self.own)[name] if name in SAMPLING else None
        return (self.identity, name, _plain(value), self.asked_by.keys.draw)

    def key(self, name: str) -> bytes:
        """The journal's key of what is found out of a parameter."""
        return self.asked_by.keys.once(dict(finding_digests(self.model, self.parameters, self.optional))[name])


def _refused(error: ModelError) -> Refused:
    """What the endpoint's refusal names; nothing for any other error."""
    return error.__cause__.refused if isinstance(error.__cause__, Fault) else Refused()


def _shown(value: Any) -> str:
    """A parameter's value as JSON, for a message; tools are long."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_VALUE)


def _plain(value: Any) -> Any:
    """A value that can be a key of a dictionary; 1 and True are two values."""
    return (type(value), value) if isinstance(value, str | int | float) or value is None else to_json(value)
