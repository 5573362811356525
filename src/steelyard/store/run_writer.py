"""RunWriter: where the records of one run go while it is running."""

from __future__ import annotations

from sqlalchemy import update

from steelyard.store import schema
from steelyard.store.backend import Lock
from steelyard.store.put import Put
from steelyard.store.run import Run
from steelyard.store.stopping import Stopped, put_stopping
from steelyard.store.writer import Batch, Writer
from steelyard.types import Record


class RunWriter:
    """Writes the records of one run; holds its lock until `finish` or `abandon`."""

    def __init__(self, writer: Writer, run: Run, lock: Lock) -> None:
        self.run = run
        self._writer = writer
        self._lock = lock
        self._stages = run.stages

    @property
    def backlog(self) -> int:
        """Operations that wait to be written."""
        return self._writer.backlog

    def put(self, no: int, record: Record, *, replaces: bool | None = None) -> None:
        """Hand over a record; it is on disk a few milliseconds later, and at the latest after `finish`.

        Raises:
            StoreError: the store failed before.
        """
        self._writer.submit(Put(self.run.num, no, record, self._stages, replaces=replaces))

    def finish(self, state: str, reason: str, seconds: float, stopped: Stopped | None = None) -> None:
        """Store the state that the run ends in, adding `seconds` of work, and let go of it.

        Args:
            state: `finished`, `interrupted` or `broken`.
            reason: why, where it is not finished.
            seconds: of work.
            stopped: what a stopping rule decided, and on which places of the dataset (None: on all).

        Raises:
            StoreError: it could not be written.
        """
        table = schema.run
        text = reason.encode("utf-8", "replace").decode()  # it quotes errors, and those may hold anything

        def change(batch: Batch) -> None:
            batch.connection.execute(
                update(table)
                .where(table.c.num == self.run.num)
                .values(state=state, reason=text, seconds=table.c.seconds + seconds)
            )
            if stopped is not None:
                put_stopping(batch, self.run.num, *stopped)

        try:
            self._writer.change(change)
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """Let go of the run as it is, unfinished."""
        self._lock.release()
