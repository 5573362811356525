"""The one thread that writes: it gathers what arrived, commits it together, and wakes all who wait.

Measured: a commit per reply costs 0.45 ms of CPU, a shared one a tenth of it. If a commit fails, everybody who waits
and every later call gets the StoreError, and `refuse` stops the session from sending anything whose reply could not
be kept. A full disk is met with a reserve of space, taken when the store was opened: it is given back so that what is
already in flight can still be stored.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.backend import Backend
from steelyard.store.codec import Packer, Unpacker
from steelyard.store.dictionaries import load_dictionary, save_dictionary
from steelyard.store.engine import cause_of, writing
from steelyard.store.operations import Batch, Change, Operation
from steelyard.store.reserve import Reserve
from steelyard.store.tickets import Result, ThreadTicket, answer

__all__ = ["Batch", "Change", "Operation", "Writer"]

_LATER_S: Final = 0.02
"""How long records wait for company: their replies are in the journal already, and a record costs seven statements
however many there are."""
_LATER_MOST: Final = 100
_MOST: Final = 2000
"""Operations in one transaction at most: it stays short, and within SQLite's limit of bound values."""
_RETRIES: Final = 5
"""Times that a transaction is done again which lost against another process's: one of two always gets through."""
_WATCH_S: Final = 0.2
"""How often an idle connection to a server is looked at, and a lost one is tried again."""
_RECONNECT_S: Final = 30.0
"""How long a server may take to come back for the replies that are on their way."""
_GATHER_S: Final = 0.001
"""How long a first arrival waits for company. More costs time where replies come in bursts: 2 ms took a tenth of the
samples per second at 50 ms latency and saved no CPU, since the wait for the interpreter's lock gathers as well."""


class Writer:
    """Owns the writing connection and its thread.

    Args:
        backend: two connections of it are held open until `close`.
        reserve: space to give back when the disk is full; None where there is no disk of ours.

    Attributes:
        alone: the journal was empty when this process opened it and no other process has written since, so it holds
            nothing but what this process put there.
    """

    def __init__(self, backend: Backend, reserve: Reserve | None) -> None:
        self._backend = backend
        self._reserve = reserve
        self._queue: deque[Operation] = deque()
        self._later: deque[Operation] = deque()
        self._later_since = 0.0
        self._wake = threading.Event()
        self._closing = False
        self._error: StoreError | None = None
        self._full: StoreError | None = None
        self._lost: StoreError | None = None
        self._connect()
        self._packer = Packer(lambda kind, data: save_dictionary(self._writing, kind, data))
        self._at = self._reading
        self._unpacker = Unpacker(lambda number: load_dictionary(self._at, number))
        self._words: dict[str, int] = {}
        self._watch_s = _WATCH_S if backend.shared else None
        try:
            backend.begin_log(self._writing)
            with self._writing.begin():
                self._version = backend.changes(self._writing)
            self.alone = self._version is not None and self._is_empty()
        except BaseException:
            self._let_go()
            raise
        self._thread = threading.Thread(target=self._work, name="steelyard-store", daemon=True)
        self._thread.start()

    @property
    def refuse(self) -> StoreError | None:
        """Why nothing more may be sent, or None while all is well."""
        return self._error or self._lost or self._full

    @property
    def _refusal(self) -> StoreError | None:
        """Why nothing is written any more, but for what outlives the connection."""
        return self._error or self._lost

    @property
    def backlog(self) -> int:
        """Operations that wait to be written."""
        return len(self._queue) + len(self._later)

    def _connect(self) -> None:
        self._reading = self._backend.engine.connect().execution_options(**self._backend.finding)
        try:
            self._writing = writing(self._backend)
            # Not to be handed to whoever connects next: a lock is the connection's.
            self._writing.detach()
        except BaseException:
            self._reading.close()
            raise

    def _let_go(self) -> None:
        self._reading.close()
        self._writing.close()

    def _is_empty(self) -> bool:
        with self._reading.begin():
            return self._reading.execute(select(schema.reply.c.num).limit(1)).first() is None

    def submit(self, operation: Operation) -> None:
        """Hand over an operation; its ticket is answered from the writer's thread.

        Raises:
            StoreError: the store failed before; nothing is accepted any more.
        """
        if self._error is not None:
            raise self._error
        if self._closing:
            raise StoreError("the store is closed")
        if operation.urgent:
            self._queue.append(operation)
        else:
            if not self._later:
                self._later_since = time.monotonic()
            self._later.append(operation)
            if 1 < len(self._later) < _LATER_MOST:
                return
        if not self._wake.is_set():
            self._wake.set()

    def change(self, change: Callable[[Batch], Any]) -> Any:
        """Run `change` in a transaction and wait for it; for callers without an event loop.

        Raises:
            StoreError: it could not be written.
        """
        ticket = ThreadTicket(threading.Event(), [])
        self.submit(Change(change, ticket))
        ticket.done.wait()
        value, error = ticket.box[0]
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Write what is queued, then let the connections go."""
        if self._thread.is_alive():
            self._closing = True
            self._wake.set()
            self._thread.join()

    def _work(self) -> None:
        while True:
            if not self._wake.wait(_LATER_S if self._later else self._watch_s):
                self._watch()
            if self._queue and not self._closing:
                time.sleep(_GATHER_S)
            self._wake.clear()
            operations = self._take()
            if operations:
                answer(self._do(operations))
            if self._queue:
                self._wake.set()
            elif self._closing and not self._later:
                break
        # What was handed over between the last look and now: a ticket that nobody answers would hang its holder.
        self._error = self._error or StoreError("the store is closed")
        answer([(one.ticket, None, self._error) for one in (*self._queue, *self._later)])
        self._let_go()

    def _watch(self) -> None:
        """Let nothing more be sent once the connection is lost, though nothing is to be written just now."""
        if self._refusal is None and (lost := self._backend.is_lost(self._writing)):
            self._reconnect(self._failure(lost))

    def _take(self) -> list[Operation]:
        """What is to be done now: all that is urgent, and the rest when it is due or something waits for it."""
        taken = [self._queue.popleft() for _ in range(min(_MOST, len(self._queue)))]
        due = self._closing or len(self._later) >= _LATER_MOST or time.monotonic() - self._later_since >= _LATER_S
        if self._later and (due or any(isinstance(one, Change) for one in taken)):
            taken += [self._later.popleft() for _ in range(min(_MOST, len(self._later)))]
            self._later_since = time.monotonic()
        return taken

    def _do(self, operations: Sequence[Operation]) -> list[Result]:
        refused = self._refusal
        if refused is not None:
            done = self._do_outliving([one for one in operations if one.outlives])
            return done + [(one.ticket, None, refused) for one in operations if not one.outlives]
        try:
            return self._transact(operations)
        except StoreError as error:
            self._error = error
        except SQLAlchemyError as error:
            return self._do_once_more(operations, error)
        except Exception as error:  # noqa: BLE001  # whoever waits must hear of it: a dead writer would hang the run
            self._error = StoreError(f"the store's writer failed: {type(error).__name__}: {error}")
            self._error.__cause__ = error
        return [(one.ticket, None, self._error) for one in operations]

    def _do_once_more(self, operations: Sequence[Operation], error: SQLAlchemyError) -> list[Result]:
        """Do it again where the database itself says so; else with the reserve, and then nothing more is sent."""
        for _ in range(_RETRIES):
            if not self._backend.is_passing(error):
                break
            try:
                return self._transact(operations)
            except SQLAlchemyError as again:
                error = again
        failure = self._failure(cause_of(error, self._backend.where))
        failure.__cause__ = error
        if self._backend.is_lost(self._writing):
            self._reconnect(failure)
            return self._do(operations)
        if self._reserve is not None and self._reserve.release():
            self._full = failure
            with contextlib.suppress(SQLAlchemyError):
                return self._transact(operations)
        self._error = failure
        return [(one.ticket, None, failure) for one in operations]

    def _reconnect(self, failure: StoreError) -> None:
        """Let nothing more be sent, and connect anew for the replies that are on their way: those are paid for."""
        self._lost = failure
        self._let_go()
        until = time.monotonic() + _RECONNECT_S
        while not self._closing:
            try:
                self._connect()
            except SQLAlchemyError:
                if time.monotonic() > until:
                    break
                time.sleep(_WATCH_S)
            else:
                return
        self._error = failure

    def _do_outliving(self, operations: Sequence[Operation]) -> list[Result]:
        if self._error is None:
            try:
                return self._transact(operations)
            except SQLAlchemyError:
                self._error = self._lost
        return [(one.ticket, None, self._error) for one in operations]

    def _failure(self, why: str) -> StoreError:
        return StoreError(
            f"the store cannot be written: {why} ({self._backend.where}). What was answered is kept; when that is "
            "mended, `steelyard resume` goes on"
        )

    def _transact(self, operations: Sequence[Operation]) -> list[Result]:
        by_type: dict[type[Operation], list[Operation]] = {}
        for one in operations:
            by_type.setdefault(type(one), []).append(one)
        results: list[Result] = []
        for connection, writes in ((self._reading, False), (self._writing, True)):
            types = sorted((kind for kind in by_type if kind.writes == writes), key=lambda kind: kind.rank)
            if not types:
                continue
            try:
                self._at = connection
                with connection.begin():
                    if writes and self.alone:
                        self.alone = self._backend.changes(connection) == self._version
                    batch = self._batch(connection)
                    for kind in types:
                        values = kind.apply(batch, by_type[kind])
                        results += [(one.ticket, value, None) for one, value in zip(by_type[kind], values, strict=True)]
            except BaseException:
                self._backend.undo(connection)
                self._packer.forget()
                self._unpacker.forget()
                self._words.clear()
                raise
        return results

    def _batch(self, connection: Connection) -> Batch:
        shared = self._backend.shared
        return Batch(connection, self._packer, self._unpacker, self._words, alone=self.alone, shared=shared)
