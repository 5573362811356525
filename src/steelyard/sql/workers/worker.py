"""The loop of a worker process: reads requests from its socket and answers each with a result or a failure."""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any, Final, cast

from steelyard.sql.engines.engine import Engine, EngineQuery, SqlStop
from steelyard.sql.results import EngineName, ResultTable, SqlLimits
from steelyard.sql.server_address import ServerLogin
from steelyard.sql.servers.session import LOST, ConnectionLost, LoginError, Numbers, SchemaHeld, ServerSession
from steelyard.sql.workers import confine, wire

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


def main(sock: socket.socket, engine: Engine, folder: str) -> None:
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
        _send_table(sock, table, seconds, keeps_database=engine.keeps_database)
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


def _send_table(sock: socket.socket, table: ResultTable, seconds: float, *, keeps_database: bool) -> None:
    wire.send(sock, b"C", wire.dump([list(table.columns), list(table.types)]))
    for kind, body in wire.frames(table.rows, len(table.columns)):
        wire.send(sock, kind, body)
    wire.send(sock, b"E", wire.dump([seconds, keeps_database]))


def _connect(sock: socket.socket, engine: ServerSession, request: Any, folder: str) -> None:
    """Connect to a server, then confine the process: the connection is the only way out of it that is left."""
    engine_name, host, port, user, database, options, password, writes_to, memory_mib = request
    pairs = tuple((name, value) for name, value in options)
    login = ServerLogin(engine_name, host, port, user, database, pairs, password, writes_to)
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
        with suppress(SchemaHeld, SqlStop):
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
