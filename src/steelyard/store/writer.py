"""The single writer thread: batches operations into one transaction and wakes everybody who waits for them.

Measured: a commit per reply costs 0.45 ms of CPU, a shared one a tenth of it. If a commit fails, everybody who waits
and every later call gets the StoreError, and `store_error` stops the session from sending anything whose reply could
not be kept. A full disk is met with a reserve of space, taken when the store was opened: it is given back so that what
is already in flight can still be stored.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-writer.md

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from steelyard.errors import StoreError
from steelyard.plain_json import grouped
from steelyard.store.codec import Packer, Unpacker, load_dictionary, save_dictionary
from steelyard.store.database.backend import Backend, cause_of, repair_hint
from steelyard.store.database.connection import Connection, DatabaseError
from steelyard.store.database.sqlite_locks import ReserveFile

_LATER_S: Final = 0.02
"""How long records wait for others to share a transaction: their replies are in the journal already, and a transaction
takes seven statements whatever the number of records."""
_LATER_MOST: Final = 100
_MOST: Final = 2000
"""Operations in one transaction at most, so that it stays short."""
_RETRY_PAUSES_S: Final = (0.02, 0.04, 0.08, 0.16, 0.32)
"""Waits before the repeats of a transaction that failed because of another process's. The server wakes the other one as
it ends ours; without a wait ours may take the same rows before it does, and both wait for each other again: measured on
a busy machine in 8 of 60 cases, each of which costs the server's `deadlock_timeout` (1 s), and once more in one of 8.
"""
_WATCH_S: Final = 0.2
"""Seconds between checks of an idle connection or of a file, and between attempts to restore a lost connection."""
_RECONNECT_S: Final = 30.0
"""How long a server may take to come back for the replies that are on their way."""
_APART_S: Final = 0.002
"""Transactions begin at least so far apart: what arrives meanwhile shares the next one. The first reply after a pause
is not kept waiting: at 50 ms latency replies come in bursts, which would never spread out if each waited for the last.
"""
_LATEST_S: Final = 0.1
_FURTHEST_S: Final = 0.01
"""The most of both where several processes write."""


@dataclass(frozen=True, slots=True)
class ThreadTicket:
    """A thread that waits for an operation; `box` receives (value, error) before `done` is set."""

    done: threading.Event
    box: list[tuple[Any, StoreError | None]]


Ticket: TypeAlias = "asyncio.Future[Any] | ThreadTicket"
"""Who waits for an operation: a coroutine by a future of its event loop, or a thread."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What operations work with: an open transaction, the packer and unpacker of bodies, the numbers of words.

    `alone` is `Writer.alone`, and `shared` whether other processes may write at the same time.
    """

    connection: Connection
    packer: Packer
    unpacker: Unpacker
    words: dict[str, int]
    alone: bool
    shared: bool

    def flush_at_commit(self) -> None:
        """Let this commit wait for the disk of a server, whatever the durability: it leads to what cannot be undone.

        A server that crashes then loses nothing that was committed before it either.
        """
        if self.shared:
            self.connection.execute("SET LOCAL synchronous_commit = on")


@dataclass(frozen=True, slots=True)
class Gathering:
    """How long operations wait, so that several share a transaction.

    Args:
        later_s: wait of records, whose replies are in the journal already.
        apart_s: between the beginnings of two transactions.
    """

    later_s: float = _LATER_S
    apart_s: float = _APART_S

    @classmethod
    def of_processes(cls, n: int) -> Gathering:
        """The waits of one of `n` processes that write to one store, so that all begin no more transactions than one.

        A reply still waits less than 10 ms; the promise is that after 50 ms it survives a kill.

        >>> Gathering.of_processes(2), Gathering.of_processes(64)
        (Gathering(later_s=0.04, apart_s=0.004), Gathering(later_s=0.1, apart_s=0.01))
        """
        return cls(min(_LATER_S * n, _LATEST_S), min(_APART_S * n, _FURTHEST_S))


@dataclass(frozen=True, slots=True)
class Operation(ABC):
    """A queued write; operations of one type are applied together.

    Attributes:
        rank: types are done in this order within a batch.
        writes: whether it changes the store.
        urgent: whether it is done at once; else within 20 ms, and before anything of a higher rank.
        outlives: whether it is done even after the connection was lost: it is about the journal, which all runs share,
            and needs no lock of a run.
        ticket: who waits for it; None where nobody does.
    """

    rank: ClassVar[int]
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = True
    outlives: ClassVar[bool] = False
    ticket: Ticket | None = field(default=None, kw_only=True)

    @classmethod
    @abstractmethod
    def apply(cls, batch: Batch, operations: Sequence[Any]) -> Sequence[Any]:
        """Apply all operations and return one value each; called again from the start after a failed transaction."""


@dataclass(frozen=True, slots=True)
class ChangeStore(Operation):
    """A rare write given as a function; its return value answers the ticket."""

    rank: ClassVar[int] = 9
    change: Callable[[Batch], Any]

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[ChangeStore]) -> Sequence[Any]:
        """One after the other."""
        return [operation.change(batch) for operation in operations]


_Result: TypeAlias = "tuple[Ticket | None, Any, StoreError | None]"
"""A ticket, and the value or the error that answers it."""


class Writer:
    """Owns the writing connection and its thread.

    Args:
        backend: two connections of it are held open until `close`.
        reserve: space to give back when the disk is full; None where there is no disk of ours.

    Attributes:
        gathering: how long operations wait for others.
        pays: a journal is in use, whose replies are paid for; what a lost file held is then saved to another one.
        alone: the journal was empty when this process opened it and no other process has written since, so it holds
            nothing but what this process put there.
    """

    def __init__(self, backend: Backend, reserve: ReserveFile | None) -> None:
        self._backend = backend
        self._reserve = reserve
        self._queue: deque[Operation] = deque()
        self._later: deque[Operation] = deque()
        self._later_since = 0.0
        self.gathering = Gathering()
        self._last_start = 0.0
        self._wake = threading.Event()
        self._closing = False
        self._ended = False
        self._taken: list[Operation] = []
        self.pays = False
        # Three kinds of failure: for good, with the reserve just given back, and of the connection, after which replies
        # in flight are still stored over a new one.
        self._error: StoreError | None = None
        self._full: StoreError | None = None
        self._lost: StoreError | None = None
        self._connect()
        self._packer = Packer(lambda kind, data: save_dictionary(self._writing, kind, data))
        # Whose transaction is open: a dictionary that was added in it is seen on this connection alone.
        self._current = self._reading
        self._unpacker = Unpacker(lambda number: load_dictionary(self._current, number))
        self._words: dict[str, int] = {}
        try:
            backend.warm_up(self._writing)
            with self._writing.begin():
                self._version = backend.changes(self._writing)
            self.alone = self._version is not None and self._is_empty()
        except BaseException:
            self._let_go()
            raise
        self._thread = threading.Thread(target=self._work, name="steelyard-store", daemon=True)
        self._thread.start()

    def store_error(self) -> StoreError | None:
        """Why nothing more may be sent to a model, as its reply could not be stored; None while all is well."""
        return self._error or self._lost or self._full

    @property
    def backlog(self) -> int:
        """Number of queued operations."""
        return len(self._queue) + len(self._later)

    def _connect(self) -> None:
        self._reading = self._backend.connect("latest")
        try:
            self._writing = self._backend.connect("writing")
        except BaseException:
            self._reading.close()
            raise

    def _let_go(self) -> None:
        self._reading.close()
        self._writing.close()

    def _is_empty(self) -> bool:
        with self._reading.begin():
            return self._reading.execute("SELECT num FROM reply LIMIT 1").scalar() is None

    def submit(self, operation: Operation) -> None:
        """Queue an operation; its ticket is answered from the writer's thread.

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
            # The first one wakes the thread, so that it waits with a timeout; the hundredth makes them due.
            if 1 < len(self._later) < _LATER_MOST and not self._ended:
                return
        if not self._wake.is_set():  # 0.1 µs; setting it takes a lock, 2.5 µs
            self._wake.set()
        if self._ended:  # meanwhile
            self._refuse_queued()

    def change(self, change: Callable[[Batch], Any]) -> Any:
        """Run `change` in a transaction and wait for it; for callers without an event loop.

        Raises:
            StoreError: it could not be written.
        """
        # Only for the rare changes: on an event loop this would stop every other sample for a commit's length.
        ticket = ThreadTicket(threading.Event(), [])
        self.submit(ChangeStore(change, ticket=ticket))
        ticket.done.wait()
        value, error = ticket.box[0]
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Write what is queued, then close the connections."""
        if self._thread.is_alive():
            self._closing = True
            self._wake.set()
            self._thread.join()

    def _work(self) -> None:
        """The thread: whatever ends it, everybody who waits gets an answer, and so does whoever comes later."""
        try:
            self._serve()
            self._error = self._error or StoreError("the store is closed")
        except BaseException as error:  # noqa: BLE001  # nobody else would hear of it, and the run would hang
            self._error = self._error or self._surprise(error)
        finally:
            self._ended = True
            self._refuse_queued()
            self._let_go()

    def _serve(self) -> None:
        while True:
            if not self._wake.wait(self.gathering.later_s if self._later else _WATCH_S):
                self._watch()
            self._gather()
            # Cleared before anything is taken: in the other order the wake-up of an operation that arrives in between
            # would be lost.
            self._wake.clear()
            self._take()
            if self._taken:
                _wake_waiting(self._do(self._taken))
                self._taken = []
            if self._queue:
                self._wake.set()
            elif self._closing and not self._later:
                break

    def _refuse_queued(self) -> None:
        """Answer the operations that the thread left: a ticket that nobody answers would hang its holder."""
        left, self._taken = self._taken, []
        for queue in (self._queue, self._later):
            with contextlib.suppress(IndexError):
                while True:  # by whoever comes first, the thread at its end or somebody who has just queued one
                    left.append(queue.popleft())
        _wake_waiting([(operation.ticket, None, self._error) for operation in left])

    def _gather(self) -> None:
        """Wait a little where the last transaction has just begun, so that more operations share the next one."""
        wait_s = self._last_start + self.gathering.apart_s - time.monotonic()
        if wait_s > 0 and self._queue and not self._closing:
            time.sleep(wait_s)
        self._last_start = time.monotonic()

    def _watch(self) -> None:
        """Detect a lost connection or file before anything is written to it or sent, and stop further calls."""
        if (self._error or self._lost) is None and (lost := self._is_lost()):
            self._reconnect(self._failure(lost) if self._backend.shared else self._lost_file(lost))

    def _is_lost(self) -> str:
        # Both: a stopping server ends one connection after the other; a look-up may fail before the writing one ends.
        return self._backend.is_lost(self._writing) or self._backend.is_lost(self._reading)

    def _take(self) -> None:
        """Take what is to be done now: all that is urgent, and the rest when it is due or something waits for it."""
        taken = self._taken
        taken += [self._queue.popleft() for _ in range(min(_MOST, len(self._queue)))]
        due = (
            self._closing
            or len(self._later) >= _LATER_MOST
            or time.monotonic() - self._later_since >= self.gathering.later_s
        )
        if self._later and (due or any(isinstance(operation, ChangeStore) for operation in taken)):
            taken += [self._later.popleft() for _ in range(min(_MOST, len(self._later)))]
            self._later_since = time.monotonic()

    def _do(self, operations: Sequence[Operation]) -> list[_Result]:
        self._watch()
        refused = self._error or self._lost
        if refused is not None:
            done = self._do_outliving([operation for operation in operations if operation.outlives])
            return done + [(operation.ticket, None, refused) for operation in operations if not operation.outlives]
        try:
            return self._transact(operations)
        except StoreError as error:
            self._error = error
        except DatabaseError as error:
            return self._do_once_more(operations, error)
        except Exception as error:  # noqa: BLE001  # what was queued before it may still be stored
            self._error = self._surprise(error)
        return [(operation.ticket, None, self._error) for operation in operations]

    def _do_once_more(self, operations: Sequence[Operation], error: DatabaseError) -> list[_Result]:
        """Repeat a failed batch: after a conflict with others, over a new connection, or with the reserve freed.

        In the last two cases, and where none of them helps, no more calls are sent.
        """
        for pause_s in _RETRY_PAUSES_S:
            if not self._backend.is_transient(error):
                break
            time.sleep(pause_s)
            try:
                return self._transact(operations)
            except DatabaseError as again:
                error = again
        failure = self._failure(cause_of(error, self._backend.where), repair_hint(error, self._backend.where))
        failure.__cause__ = error
        if lost := self._is_lost():
            self._reconnect(failure if self._backend.shared else self._lost_file(lost))
            return self._do(operations)
        if self._reserve is not None and self._reserve.release():
            self._full = failure
            with contextlib.suppress(DatabaseError):
                return self._transact(operations)
        self._error = failure
        return [(operation.ticket, None, failure) for operation in operations]

    def _reconnect(self, failure: StoreError) -> None:
        """Stop sending, and open a new connection for the replies in flight, which are paid for already."""
        if not (self._backend.shared or self.pays):
            self._error = failure
            return
        self._lost = failure
        if not self._save(failure):
            self._error = failure
            return
        self._let_go()
        self._backend.close()  # what was kept for the next reading is lost as well, or about to be
        until = time.monotonic() + _RECONNECT_S
        while not self._closing:
            try:
                self._connect()
            except DatabaseError:
                if time.monotonic() > until:
                    break
                time.sleep(_WATCH_S)
            else:
                return
        self._error = failure

    def _save(self, failure: StoreError) -> bool:
        """Save what a lost file held; whether there is something to connect to again."""
        if self._reserve is not None:
            self._reserve.release()
        try:
            saved = self._backend.save(self._writing)
        except StoreError as error:
            failure.args = (f"{failure} {error}",)
            return False
        if saved:
            # Whoever has the error already prints it when the store has been closed, and so after this.
            failure.args = (f"{failure} {saved}",)
        return True

    def _do_outliving(self, operations: Sequence[Operation]) -> list[_Result]:
        until = time.monotonic() + _RECONNECT_S
        while self._error is None:
            try:
                return self._transact(operations)
            except DatabaseError:
                # These operations themselves may end each connection, as what takes longer than the server permits.
                if self._lost is not None and time.monotonic() < until and self._is_lost():
                    time.sleep(_WATCH_S)
                    self._reconnect(self._lost)
                else:
                    self._error = self._lost
        return [(operation.ticket, None, self._error) for operation in operations]

    def _failure(self, why: str, what_to_do: str = "") -> StoreError:
        return StoreError(
            f"the store cannot be written: {why} ({self._backend.where}). Replies that came before are kept; when the "
            f"cause is removed, continue with `steelyard resume`{what_to_do}"
        )

    def _lost_file(self, why: str) -> StoreError:
        return StoreError(f"the store cannot be written: {why} ({self._backend.where}).")

    @staticmethod
    def _surprise(error: BaseException) -> StoreError:
        failure = StoreError(f"the store's writer failed: {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure

    def _transact(self, operations: Sequence[Operation]) -> list[_Result]:
        by_type = grouped((type(operation), operation) for operation in operations)
        results: list[_Result] = []
        # Look-ups have a connection of their own: a batch of them alone need not wait for the lock of those who write.
        for connection, writes in ((self._reading, False), (self._writing, True)):
            types = sorted((kind for kind in by_type if kind.writes == writes), key=lambda kind: kind.rank)
            if not types:
                continue
            try:
                self._current = connection
                with connection.begin():
                    if writes and self.alone:
                        self.alone = self._backend.changes(connection) == self._version
                    batch = self._batch(connection)
                    for kind in types:
                        values = kind.apply(batch, by_type[kind])
                        answered = zip(by_type[kind], values, strict=True)
                        results += [(operation.ticket, value, None) for operation, value in answered]
            except BaseException:
                # Dictionaries and numbers of words that were added in this transaction do not exist any more.
                self._packer.forget()
                self._unpacker.forget()
                self._words.clear()
                raise
        return results

    def _batch(self, connection: Connection) -> Batch:
        shared = self._backend.shared
        return Batch(connection, self._packer, self._unpacker, self._words, alone=self.alone, shared=shared)


def _wake_waiting(results: Sequence[_Result]) -> None:
    """Hand every waiting thread and coroutine its value or error, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, StoreError | None]]] = {}
    for ticket, value, error in results:
        if ticket is None:
            continue
        if isinstance(ticket, ThreadTicket):
            ticket.box.append((value, error))
            ticket.done.set()
        else:
            by_loop.setdefault(ticket.get_loop(), []).append((ticket, value, error))
    for loop, answers in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop has been closed, so nobody waits any more
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: Sequence[tuple[asyncio.Future[Any], Any, StoreError | None]]) -> None:
    for future, value, error in answers:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
