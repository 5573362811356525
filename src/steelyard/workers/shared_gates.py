"""The gate of an endpoint over all workers: where it puts off a call of one, all wait, and all send fewer at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from steelyard.models.limits import Gate, Limits
from steelyard.store import Store
from steelyard.store.put_off import NotePutOff, PutOff, ReadPutOff, endpoint_key

_LOOK_S: Final = 0.2
"""How often a worker looks what others were told: so long it may still send."""


class SharedGates:
    """Passes on what the endpoints of an evaluation tell this worker, and takes over what they tell the others.

    Args:
        store: a PostgreSQL store.
        evaluation: its number.
        limits: of this worker's session.
    """

    def __init__(self, store: Store, evaluation: int, limits: Limits) -> None:
        self._writer = store.writer
        self._evaluation = evaluation
        self._limits = limits
        limits.on_put_off = self._tell

    async def keep(self) -> None:
        """Close the gates that another worker was told to close, and cut what may be in flight, for ever."""
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Take over what the others were told so far."""
        ticket: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._writer.submit(ReadPutOff(self._evaluation, ticket))
        said: Mapping[bytes, PutOff] = await ticket
        for endpoint, gate in self._limits.gates.items() if said else ():
            if (told := said.get(endpoint_key(endpoint))) is not None:
                _take_over(gate, told)

    def _tell(self, endpoint: str, sent_at: float, wait_s: float) -> None:
        ago_s = asyncio.get_running_loop().time() - sent_at
        self._writer.submit(NotePutOff(self._evaluation, endpoint_key(endpoint), PutOff(wait_s, ago_s)))


def _take_over(gate: Gate, told: PutOff) -> None:
    if told.wait_s > 0:
        gate.close_for(told.wait_s)
    # Calls that another worker sent before it had looked say nothing of the limit that this one has cut already.
    gate.reduce_concurrency(asyncio.get_running_loop().time() - told.sent_ago_s - _LOOK_S, None)
