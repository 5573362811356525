"""What a stopping rule decided for a run: stored with its end, read with its scores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, inspect, select

from steelyard.store import schema
from steelyard.store.writer import Batch
from steelyard.summary.stopping import Stopping
from steelyard.text.plain_json import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Used:
    """The places of a dataset that a decision rests on, a bit each."""

    bits: bytes

    def __contains__(self, no: object) -> bool:
        return isinstance(no, int) and no // 8 < len(self.bits) and bool(self.bits[no // 8] >> no % 8 & 1)

    def among(self, places: NDArray[Any]) -> NDArray[Any]:
        """Which of these places are in it.

        >>> import numpy as np
        >>> Used.of([0, 9]).among(np.array([0, 8, 9, 900])).tolist()
        [True, False, True, False]
        """
        import numpy as np

        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), bitorder="little").astype(bool)
        inside = places < len(bits)
        found = np.zeros(len(places), dtype=bool)
        found[inside] = bits[places[inside]]
        return found

    @classmethod
    def of(cls, places: Iterable[int]) -> Used:
        """The set of these places.

        >>> 9 in Used.of([0, 9]), 8 in Used.of([0, 9]), 900 in Used.of([0, 9])
        (True, False, False)
        """
        bits = bytearray()
        for no in places:
            if no // 8 >= len(bits):
                bits.extend(bytes(no // 8 - len(bits) + 1))
            bits[no // 8] |= 1 << no % 8
        return cls(bytes(bits))


Stopped = tuple[Stopping, Used | None]
"""A decision, and the places that it rests on; None is all."""


def put_stopping(batch: Batch, run: int, stopping: Stopping, used: Used | None) -> None:
    """Store the decision of a run, in the transaction that ends it."""
    table = schema.stopping
    batch.connection.execute(table.delete().where(table.c.run == run))
    row = {"run": run, "body": to_json(stopping.to_json()).decode(), "used": used.bits if used else None}
    batch.connection.execute(table.insert(), row)


def read_stopping(connection: Connection, run: int) -> Stopped | None:
    """What was decided and on which places (None: on all); None where no rule ended the run."""
    table = schema.stopping
    if not inspect(connection).has_table(table.name):
        return None
    row = connection.execute(select(table.c.body, table.c.used).where(table.c.run == run)).first()
    if row is None:
        return None
    return Stopping.of_json(json.loads(row.body)), None if row.used is None else Used(bytes(row.used))
