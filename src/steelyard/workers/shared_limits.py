"""Limits that workers share: the part of `concurrency` that each has, and the gates of endpoints.

Each worker asks the store every second what it may have in flight, as workers come and go; with the question it reports
that it lives, and what it has done. Where an endpoint puts off a call of one worker, all wait, and all send fewer at
once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from steelyard.errors import ModelError
from steelyard.models.limits import FirstReplies, Gate, Limits
from steelyard.runner import Progress, Runner
from steelyard.store import Store
from steelyard.store.leases import ELSEWHERE, LEASE_S, changed
from steelyard.store.worker_rows import (
    CheckIn,
    PutOff,
    check_in,
    claim_call,
    endpoint_key,
    note_put_off,
    read_put_off,
    release_call,
)
from steelyard.workers.task import WorkerTask

_ASK_S: Final = 1.0
_ASK_WITHOUT_S: Final = 0.25
"""The same while this worker has no part, as others still hold what is to be its own."""
_LOOK_S: Final = 0.2
"""How often a worker looks what others were told: so long it may still send."""
_ALWAYS_S: Final = 3e8
"""Ten years: what is said of first replies holds until the end of the evaluation, when it is deleted."""
_MISMATCHED: Final = "\nmismatched"
_FOUND_ELSEWHERE: Final = "another worker found that the endpoint or its mapping is not right"


class SharedConcurrency:
    """What this worker may have in flight; its runners and its gates follow.

    Args:
        store: a PostgreSQL store.
        task: of this worker.
        limits: of its session.
        place: its process and host.

    Attributes:
        records: that were handed to the store since the last report.
        taken_over: leases of other workers, likewise.
    """

    def __init__(self, store: Store, task: WorkerTask, limits: Limits, place: str) -> None:
        self.records = 0
        self.taken_over = 0
        self._writer = store.writer
        self._task = task
        self._limits = limits
        self._place = place
        self._runners: list[tuple[Runner, Progress]] = []
        self._part = 0
        self._until = 0.0

    @property
    def part(self) -> int:
        """Samples of a run that may be in flight now; 0 where the others count without this worker by now."""
        return self._part if time.monotonic() < self._until else 0

    @property
    def ask_again_s(self) -> float:
        """Seconds until the next report."""
        return _ASK_S if self._part else _ASK_WITHOUT_S

    @contextmanager
    def followed_by(self, runner: Runner, progress: Progress) -> Iterator[None]:
        """Let a runner follow the part while it runs."""
        self._runners.append((runner, progress))
        try:
            yield
        finally:
            self._runners.remove((runner, progress))

    async def check_in(self) -> None:
        """Report what was done, and ask what this worker may have in flight from now on."""
        asked = time.monotonic()
        task = self._task
        held = max([self.part, *(progress.in_flight for _, progress in self._runners)])
        report = CheckIn(
            task.evaluation, task.slot, task.suite.options.concurrency, held,
            task.owner, self._place, self.records, self.taken_over,
        )  # fmt: skip
        self.records = self.taken_over = 0
        self._part = await changed(self._writer, b"worker", partial(check_in, report=report))
        # The store counts from its answer, which came later: nobody else takes this part before.
        self._until = asked + LEASE_S
        # A worker without a part begins nothing: its feed does not give it a sample.
        for runner, _ in self._runners:
            runner.allow(max(1, self._part))
        self._limits.change_concurrency(max(1, self._part))


class SharedGates:
    """Passes on what the endpoints of an evaluation tell this worker, and takes over what they tell the others.

    Args:
        store: a PostgreSQL store.
        evaluation: its number.
        limits: of this worker's session.
        owner: this worker.
    """

    def __init__(self, store: Store, evaluation: int, limits: Limits, owner: str) -> None:
        self._writer = store.writer
        self._evaluation = evaluation
        self._limits = limits
        self._owner = owner
        self._said: Mapping[bytes, PutOff] = {}
        self._mine: set[bytes] = set()
        limits.on_put_off = self._tell
        limits.shared = self

    async def keep(self) -> None:
        """Close the gates that another worker was told to close, and cut what may be in flight, for ever."""
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Take over what the others were told so far."""
        said = await changed(self._writer, b"", partial(read_put_off, evaluation=self._evaluation))
        self._said = said
        for first in self._limits.first_replies.values() if said else ():
            if endpoint_key(first.name) in said:
                first.note_readable()
        for endpoint, gate in self._limits.gates.items() if said else ():
            if (told := said.get(endpoint_key(endpoint))) is not None:
                _take_over(gate, told, self._limits.longest_wait_s)

    async def turn(self, first: FirstReplies) -> None:
        """Wait until this worker may send a call of a model without a readable reply, or another has had one.

        One worker at a time sends such calls, so that a wrong address costs no more calls than in one process.

        Raises:
            ModelError: another worker has found that the endpoint is not what was configured.
        """
        while not first.readable:
            if endpoint_key(f"{first.name}{_MISMATCHED}") in self._said:
                raise ModelError(_FOUND_ELSEWHERE, kind=ELSEWHERE, ends_run=True)
            if not await claim_call(self._writer, self._evaluation, self._key(first), self._owner):
                await self._limits.pauses.sleep(_LOOK_S)
                continue
            await self.look()
            if endpoint_key(f"{first.name}{_MISMATCHED}") not in self._said:
                return

    def give_up(self, first: FirstReplies, *, mismatched: bool) -> None:
        """Let another worker send, as a call of this one has failed for good; or none, as all would be mismatched."""
        if mismatched:
            self._say(endpoint_key(f"{first.name}{_MISMATCHED}"))
        release_call(self._writer, self._key(first), self._owner)

    def note_readable(self, first: FirstReplies) -> None:
        """Tell all workers of a readable reply."""
        self._say(endpoint_key(first.name))

    def came_elsewhere(self, first: FirstReplies, likeness: str) -> bool:
        """Tell all of an answer that is not what was configured; whether another worker had an equal one before."""
        answer = endpoint_key(f"{first.name}\n{likeness}")
        came = answer in self._said and answer not in self._mine
        if answer not in self._mine:
            self._mine.add(answer)
            self._say(answer)
        return came

    def _key(self, first: FirstReplies) -> bytes:
        """Of the claim, whose keys are those of all evaluations."""
        return endpoint_key(f"first replies {self._evaluation}\n{first.name}")

    def _say(self, key: bytes) -> None:
        note_put_off(self._writer, self._evaluation, key, PutOff(_ALWAYS_S, 0.0))

    def _tell(self, endpoint: str, sent_at: float, wait_s: float) -> None:
        ago_s = asyncio.get_running_loop().time() - sent_at
        note_put_off(self._writer, self._evaluation, endpoint_key(endpoint), PutOff(wait_s, ago_s))


def _take_over(gate: Gate, told: PutOff, longest_wait_s: float) -> None:
    # Neither is ever told: the store's clock was put back, or somebody changed the row.
    if told.wait_s > longest_wait_s or told.sent_ago_s < 0:
        return
    if told.wait_s > 0:
        gate.close_for(told.wait_s)
    # Calls that another worker sent before it had looked say nothing of the limit that this one has cut already.
    gate.reduce_concurrency(asyncio.get_running_loop().time() - told.sent_ago_s - _LOOK_S, None)
