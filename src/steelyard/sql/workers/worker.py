"""The processes that run SQL: the template that workers are forked from, and a worker, which answers requests.

The template has imported what workers need, runs no SQL, and has no threads. It is started once for each engine, by
`python -I -S -c BOOT ...` with an empty environment, so that a worker inherits neither a secret nor an open file of the
caller's. Forking from here takes 1-2 ms, where a new Python takes 60 and more, and forking from the caller's process
would copy its threads' locks, its sockets and its memory.

The template alone waits for workers, so that the id of one that it kills cannot have been given to another process.
When the caller is gone, however it went, it kills all workers, deletes the private copies and ends.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import shutil
import signal
import socket
import sys
import time
from typing import Any, Final, NoReturn, cast

from steelyard.sql.engines.engine import Engine, EngineQuery, SqlStop
from steelyard.sql.results import EngineName, SqlLimits
from steelyard.sql.server_address import ServerLogin
from steelyard.sql.servers.session import LOST, ConnectionLost, LoginError, Numbers, SchemaHeld, ServerSession
from steelyard.sql.workers import confine, wire
from steelyard.sql.workers.wire import COMMAND

_REQUEST_BYTES: Final = 2**30
"""More than a frame of a result (`wire.FRAME_BYTES`): a request holds a whole script, and comes from the caller."""

_GROWTH: Final = 8
"""How many times as large as its files a database of tables may be: those of Parquet are compressed harder."""


def engine_of(name: EngineName) -> Engine:
    """The engine of a name, imported here: a worker of SQLite has no path to the packages that the others need."""
    if name == "sqlite":
        from steelyard.sql.engines.sqlite_engine import SqliteEngine

        return SqliteEngine()
    if name == "postgres":
        from steelyard.sql.servers.postgres_engine import PostgresEngine

        return PostgresEngine()
    if name == "mysql":
        from steelyard.sql.servers.mysql_engine import MysqlEngine

        return MysqlEngine()
    from steelyard.sql.engines.duckdb_engine import DuckdbEngine

    return DuckdbEngine()


def serve(sock: socket.socket, engine: Engine, folder: str) -> None:
    """Answer until the other side closes, or a file is prepared, which is a worker's only task then.

    Args:
        sock: the worker's end.
        engine: ready to use.
        folder: of the private copies.
    """
    reader = wire.FrameReader(sock)
    is_confined = False
    while True:
        kind, body = reader.frame(_REQUEST_BYTES)
        if kind == b"P":
            why = _prepare(wire.load(body))
            wire.send(sock, b"F" if why else b"E", why.encode("utf-8", "replace"))
            return
        if kind == b"L":
            _connect(sock, cast("ServerSession", engine), wire.load(body), folder)
            is_confined = True
            continue
        if kind == b"X":
            _clear(sock, cast("ServerSession", engine), wire.load(body))
            return
        work = _work_of(wire.load(body))
        # Once: none of these limits can be loosened again. `Pool` sends a worker only requests with the same memory.
        if not is_confined:
            confine.hold(work.engine, work.limits.memory_mib, folder)
            is_confined = True
        confine.allow_cpu(work.limits.timeout_s)
        _answer(sock, engine, work)
        gc.collect(0)


def run_worker(sock: socket.socket, engine: Engine, folder: str) -> None:
    """Run as a worker, then exit without the template's clean-up."""
    code = 1
    try:
        # Files may not grow (`confine.hold`). A write is then an error that the engine reports; the signal would kill.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        confine.leave_the_parent()
        gc.freeze()
        serve(sock, engine, folder)
        code = 0
    except wire.WireError:
        code = 0
    except ConnectionLost:
        code = LOST
    finally:
        os._exit(code)


def _answer(sock: socket.socket, engine: Engine, work: EngineQuery) -> None:
    started = time.monotonic()
    try:
        table = engine.execute(work)
        seconds = time.monotonic() - started
        wire.send(sock, b"C", wire.dump([list(table.columns), list(table.types)]))
        for kind, body in wire.frames(table.rows, len(table.columns)):
            wire.send(sock, kind, body)
        wire.send(sock, b"E", wire.dump([seconds, engine.keeps_database]))
    except SchemaHeld:
        wire.send(sock, b"W", b"")
    except SqlStop as stop:
        _send_failure(sock, stop, keeps_database=engine.keeps_database)
    except MemoryError:
        _send_failure(sock, SqlStop("memory", "out of memory"))
    except RecursionError:
        _send_failure(sock, SqlStop("error", "nested too deeply"))
    except (TypeError, ValueError, ArithmeticError) as error:
        _send_failure(sock, SqlStop("error", f"a value that cannot be converted: {error}"))


def _send_failure(sock: socket.socket, stop: SqlStop, *, keeps_database: bool = False) -> None:
    message = " ".join(str(stop.message).split())[:2000]
    failure = {"kind": stop.kind, "message": message, "part": stop.part, "keeps_database": keeps_database}
    wire.send(sock, b"F", wire.dump(failure))


def _connect(sock: socket.socket, engine: ServerSession, request: Any, folder: str) -> None:
    """Connect to a server, then confine the process: the connection is the only way out of it that is left."""
    memory_mib, *fields = request
    login = ServerLogin(*fields)
    try:
        greeting = engine.login(login)
    except LoginError as error:
        wire.send(sock, b"F", str(error).encode("utf-8", "replace"))
        return

    def tell(numbers: Numbers) -> None:
        wire.send(sock, b"N", wire.dump([list(number) for number in numbers]))

    engine.tell = tell
    confine.hold(login.engine, memory_mib, folder)
    wire.send(sock, b"E", wire.dump([greeting.backend, greeting.product, list(greeting.faults)]))


def _clear(sock: socket.socket, engine: ServerSession, request: Any) -> None:
    """End the statement of another connection, then set back what it moved."""
    backend, schema, numbers = request
    if backend:
        engine.cancel(backend)
    if numbers:
        with contextlib.suppress(SchemaHeld, SqlStop):
            engine.restore(schema, numbers)
            wire.send(sock, b"E", b"")


def _work_of(request: Any) -> EngineQuery:
    engine, file, script, create, query, limits, now, schema, changes = request
    return EngineQuery(engine, file, script, create, query, SqlLimits(*limits), now, schema, changes)


def _prepare(request: Any) -> str:
    engine, file, memory_mib, seconds, tables = request
    confine.hold_while_preparing(engine, file, memory_mib, growth=_GROWTH if tables else 2)
    confine.allow_cpu(seconds)
    if engine == "sqlite":
        from steelyard.sql.engines import sqlite_engine

        return sqlite_engine.prepare(file, memory_mib)
    from steelyard.sql.engines import duckdb_engine, duckdb_tables

    if tables:
        return duckdb_tables.load_tables(file, [tuple(table) for table in tables], memory_mib)
    return duckdb_engine.prepare(file, memory_mib)


_LOOK_S: Final = 1.0
"""Seconds between two checks whether the caller is alive; its socket may be held open by a process that it forked."""


def main(control_fd: int, engine_name: str, folder: str) -> NoReturn:
    """Report the engine's refusal, then serve requests until the caller is gone.

    Args:
        control_fd: of the socket to the caller.
        engine_name: an `EngineName`.
        folder: of the private copies, deleted when the caller is gone.
    """
    control = socket.socket(fileno=control_fd)
    try:
        engine = engine_of(cast("EngineName", engine_name))
        refusal = engine.refusal()
    except ImportError as error:
        wire.send(control, b"I", str(error).encode("utf-8", "replace"))
        sys.exit(0)
    engine.warm()
    wire.send(control, b"H", refusal.encode())
    # A collection in a worker would write to the header of every inherited object, and so copy the pages that workers
    # share with this process.
    gc.collect()
    gc.freeze()
    _Template(control, engine, folder).obey()


class _Template:
    def __init__(self, control: socket.socket, engine: Engine, folder: str) -> None:
        self._control = control
        self._engine = engine
        self._folder = folder
        self._caller = os.getppid()
        self._workers: set[int] = set()
        self._dying: set[int] = set()

    def obey(self) -> NoReturn:
        try:
            while os.getppid() == self._caller:
                if not select.select([self._control], [], [], _LOOK_S)[0]:
                    self._reap()
                    continue
                order = self._receive()
                if order is None:
                    break
                name, number, fds = order
                self._control.sendall(COMMAND.pack(name, self._do(name, number, fds)))
        except OSError:
            pass
        finally:
            for pid in tuple(self._workers):
                self._kill(pid)
            while self._dying:
                os.waitpid(self._dying.pop(), 0)
            shutil.rmtree(self._folder, ignore_errors=True)
            os._exit(0)

    def _do(self, name: bytes, number: int, fds: list[int]) -> int:
        self._reap()
        if name == b"F":
            return self._fork(fds)
        return self._end(number) if name == b"W" else self._kill(number)

    def _receive(self) -> tuple[bytes, int, list[int]] | None:
        body, fds, _, _ = socket.recv_fds(self._control, COMMAND.size, 1)
        while body and len(body) < COMMAND.size:
            chunk = self._control.recv(COMMAND.size - len(body))
            if not chunk:
                return None
            body += chunk
        if not body:
            return None
        name, number = COMMAND.unpack(body)
        return name, number, fds

    def _fork(self, fds: list[int]) -> int:
        """The id of a new worker; 0 where the system gives no process or no file, which must not end the others."""
        pid = 0
        try:
            if fds:
                pid = os.fork()
                if pid == 0:
                    self._work(fds[0])
                self._workers.add(pid)
        except OSError:
            pid = 0
        for fd in fds:
            os.close(fd)
        return pid

    def _work(self, fd: int) -> NoReturn:
        try:
            self._control.close()
            run_worker(socket.socket(fileno=fd), self._engine, self._folder)
        finally:
            # Nothing of the template's own end may run in a
            os._exit(1)

    def _kill(self, pid: int) -> int:
        """Kill a worker with its whole session; it is waited for later, as freeing its memory takes a while."""
        if pid not in self._workers:
            return 0
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        self._workers.discard(pid)
        self._dying.add(pid)
        return 0

    def _end(self, pid: int) -> int:
        """Wait for a worker that has closed its socket: its exit code, or minus the number of the signal."""
        if pid not in self._workers:
            return 0
        self._kill(pid)
        self._dying.discard(pid)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _reap(self) -> None:
        for pid in tuple(self._dying):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._dying.discard(pid)
