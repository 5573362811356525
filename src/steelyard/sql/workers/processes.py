"""The caller's side of the processes: a template that forks workers, and a worker that runs one query at a time."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, ScorerError
from steelyard.sql.engines.engine import EngineQuery
from steelyard.sql.extent import count_cells
from steelyard.sql.results import EngineName, Execution, ResultTable, SqlFailure, SqlLimits
from steelyard.sql.server_address import ServerLogin
from steelyard.sql.servers.session import CONNECT_S, LOCK_SHARE, LOST, RESTORE_S, Greeting, LoginError, Numbers
from steelyard.sql.workers import wire
from steelyard.sql.workers.wire import BOOT, COMMAND

GRACE_S: Final = 0.5
"""Seconds after the deadline in which a worker may still say itself that the time is over; then it is killed."""

# Limits against a hang: the start of a template, which imports the engine, and one order to it (a fork takes 1-2 ms).
_START_S: Final = 60.0
_ORDER_S: Final = 30.0
PREPARE_S: Final = 10.0
"""Seconds in which a private copy must be prepared: for what a file can make an engine evaluate when it is opened."""
_PREPARED_BYTES: Final = 20_000_000
"""Bytes on the disk for each further second, as a large log is merged and all pages are read: SQLite checks 2 GB in 3 s
where the copy is in memory, and a slow disk reads a tenth of that."""
_REASON: Final = 500
_KINDS: Final = frozenset({"denied", "timeout", "memory", "too_large", "constraint", "error"})
_PARTS: Final = frozenset({"script", "create", "query"})
_ENDED: Final = {
    -signal.SIGXCPU: ("timeout", "the worker used more CPU time than the deadline leaves"),
    -signal.SIGSEGV: ("error", "the engine crashed (segmentation fault)"),
    -signal.SIGABRT: ("memory", "the engine aborted, probably for lack of memory"),
    -signal.SIGKILL: ("memory", "the operating system killed the worker, probably for lack of memory"),
    LOST: ("error", "the server ended the connection while the statement ran"),
}
_LOGIN_S: Final = 3.0 * CONNECT_S


_HELD: Final = "another process changes {} on the server, and has not ended within the time that is waited for it"
_Answer = tuple[ResultTable | None, SqlFailure | None, float, bool]
"""A table or a failure, seconds in the worker (0 where it did not say), and whether it keeps the database open."""


class Template:
    """A running template; the orders of several threads take turns.

    Args:
        engine: what its workers run.
        folder: of the private copies.

    Raises:
        ConfigError: it cannot be started.
    """

    def __init__(self, engine: EngineName, folder: Path) -> None:
        self.engine = engine
        self.missing = ""
        self.refusal = ""
        self._lock = threading.Lock()
        try:
            self._control, template_socket = socket.socketpair()
        except OSError as error:
            raise ConfigError(f"the process that is to run SQL could not be started: {error}") from None
        try:
            self._process = _start(engine, template_socket, folder)
        finally:
            template_socket.close()
        self._greet()

    @property
    def lives(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def fork(self) -> Worker:
        """Fork a new worker.

        Raises:
            OSError: the template is gone, or the system has no process or file to give.
        """
        own_socket, worker_socket = socket.socketpair()
        try:
            return Worker(self, self._order(b"F", 0, worker_socket), own_socket)
        except BaseException:
            own_socket.close()
            raise
        finally:
            worker_socket.close()

    def kill(self, pid: int) -> None:
        """Kill a worker; without the template it is dead already."""
        with contextlib.suppress(OSError):
            self._order(b"K", pid)

    def wait(self, pid: int) -> int:
        """Return how a worker ended: its exit code, or minus the number of the signal."""
        try:
            return self._order(b"W", pid)
        except OSError:
            return -signal.SIGKILL

    def close(self) -> None:
        """Ask the template to end its workers and itself."""
        # Another thread may be waiting for an answer: a socket that is closed under it would leave it there.
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._control.close()

    def _order(self, name: bytes, number: int, sent: socket.socket | None = None) -> int:
        with self._lock:
            body = COMMAND.pack(name, number)
            if sent is None:
                self._control.sendall(body)
            else:
                socket.send_fds(self._control, [body], [sent.fileno()])
            answer = b""
            while len(answer) < COMMAND.size:
                chunk = self._control.recv(COMMAND.size - len(answer))
                if not chunk:
                    raise OSError("the template process is gone")
                answer += chunk
        pid = int(COMMAND.unpack(answer)[1])
        if name == b"F" and not pid:
            raise OSError("the system gives no further process")
        return pid

    def _greet(self) -> None:
        try:
            kind, message = wire.FrameReader(self._control).frame(2**16, time.monotonic() + _START_S)
        except (wire.WireError, wire.DeadlineError):
            self._process.kill()
            self.close()
            raise ConfigError(
                f"the process that is to run SQL could not be started ({sys.executable}, exit code "
                f"{self._process.returncode})"
            ) from None
        self._control.settimeout(_ORDER_S)
        if kind == b"I":
            self.missing = message.decode("utf-8", "replace")
        else:
            self.refusal = message.decode("utf-8", "replace")


class Worker:
    """A worker process, used by one thread at a time.

    Args:
        template: which it was forked from, and which kills it.
        pid: of the process.
        sock: the caller's end.

    Attributes:
        served: queries so far.
        lost: whether it was killed by somebody else.
        keeps: file and script of the database that it has open for the next query; None: of no database.
        greeting: of the server that it is connected to; None for an engine without one, and where the server hung up.
        numbers: of the schema before the last statement could change it; None where it could not.
    """

    def __init__(self, template: Template, pid: int, sock: socket.socket) -> None:
        self.pid = pid
        self.served = 0
        self.lost = False
        self.keeps: tuple[str, str] | None = None
        self.greeting: Greeting | None = None
        self.numbers: Numbers | None = None
        self._template = template
        self._sock = sock
        self._reader = wire.FrameReader(sock)

    @property
    def waits(self) -> bool:
        """Whether the worker is idle: it has neither ended nor sent anything."""
        try:
            self._sock.settimeout(0)
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def run(self, work: EngineQuery) -> Execution:
        """Run one query; after a failure the worker is not to be used again unless it `keeps` the database."""
        started = time.monotonic()
        waits = work.changes and self.greeting is not None
        deadline = started + work.limits.timeout_s * (LOCK_SHARE if waits else 1) + GRACE_S
        self.served += 1
        self.keeps = self.numbers = None
        try:
            self._sock.settimeout(max(0.05, deadline - time.monotonic()))
            wire.send(self._sock, b"Q", wire.dump(astuple(work)))
            if waits:
                table, failure, seconds, keeps = self._changed(work, deadline)
            else:
                table, failure, seconds, keeps = self._answer(work.limits, deadline)
            self.keeps = (work.file, work.script) if keeps else None
            return Execution(table, failure, seconds or time.monotonic() - started)
        except (wire.DeadlineError, TimeoutError):
            if waits and self.numbers is None:
                raise ScorerError(_HELD.format(work.schema)) from None
            return Execution(None, SqlFailure("timeout", "killed at the deadline"), time.monotonic() - started)
        except (wire.WireError, OSError) as error:
            code = self._template.wait(self.pid)
            self.close()
            is_closed = isinstance(error, ConnectionError) or str(error) == "closed"
            self.lost = is_closed and code in {-signal.SIGKILL, LOST}
            self.greeting = None if code == LOST else self.greeting
            kind, message = _ENDED.get(code, ("error", f"the worker failed: {error}"))
            if code == -signal.SIGKILL and not self.lost:
                kind, message = "error", f"the worker sent what it may not send: {error}"
            return Execution(None, SqlFailure(kind, message), time.monotonic() - started)  # type: ignore[arg-type]

    def prepare(self, file: str, memory_mib: int, tables: Sequence[tuple[str, str, str]] = ()) -> str:
        """Prepare a copied file for use, or make it of tables; the worker is not used again after that.

        Args:
            file: the private copy, alone in its folder but for its own log or the tables.
            memory_mib: MiB that the engine may hold.
            tables: path, name and shown name of the files to make it of.

        Returns:
            Why it cannot be used; "" where it can.

        Raises:
            OSError: the worker was killed by somebody else, which says nothing of the file.
        """
        # Of a sparse file the blocks that it occupies count, not its length.
        blocks = sum(path.stat().st_blocks for path in Path(file).parent.iterdir())
        seconds = PREPARE_S + blocks * 512 / _PREPARED_BYTES
        try:
            wire.send(self._sock, b"P", wire.dump([self._template.engine, file, memory_mib, seconds, list(tables)]))
            kind, message = self._reader.frame(2**16, time.monotonic() + seconds)
        except wire.DeadlineError:
            return f"opening and checking it takes more than {seconds:.0f} seconds"
        except (wire.WireError, OSError) as error:
            code = self._template.wait(self.pid)
            self.close()
            why = f"opening and checking it failed: {_ENDED.get(code, ('', str(error)))[1]}"
            if code == -signal.SIGKILL:
                raise OSError(why) from None
            return why
        # It may quote names of the file.
        return " ".join(message.decode("utf-8", "replace").split())[:_REASON] if kind == b"F" else ""

    def login(self, login: ServerLogin, memory_mib: int) -> Greeting:
        """Let the worker connect to a server; the password goes through its socket and nowhere else.

        Args:
            login: where to.
            memory_mib: MiB that its results may take.

        Raises:
            LoginError: why it cannot connect, or that it ended.
        """
        try:
            wire.send(self._sock, b"L", wire.dump([memory_mib, *astuple(login)]))
            kind, body = self._reader.frame(2**16, time.monotonic() + _LOGIN_S)
            if kind != b"E":
                raise LoginError(" ".join(body.decode("utf-8", "replace").split())[:_REASON])
            backend, product, faults = wire.load(body)
        except wire.DeadlineError:
            raise LoginError(f"no answer within {_LOGIN_S:.0f} s") from None
        except (wire.WireError, OSError, TypeError, ValueError) as error:
            raise LoginError(f"the process that connects ended: {error}") from None
        self.greeting = Greeting(int(backend), str(product), tuple(map(str, faults)))
        return self.greeting

    def clear(self, backend: int, schema: str = "", numbers: Numbers = ()) -> bool:
        """Let the server end the statement of another connection; the worker is not used again after that.

        Args:
            backend: of that connection; 0 for one that the server has ended.
            schema: that it may have changed.
            numbers: of the schema before, which are set back.

        Returns:
            Whether they were.
        """
        with contextlib.suppress(wire.WireError, wire.DeadlineError, OSError):
            wire.send(self._sock, b"X", wire.dump([backend, schema, numbers]))
            seconds = CONNECT_S + (2 * RESTORE_S if numbers else 0)
            return self._reader.frame(2**16, time.monotonic() + seconds)[0] == b"E"
        return False

    def interrupt(self) -> None:
        """Stop a running query from another thread, as if the worker had died."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Kill the process."""
        if self.pid:
            self._template.kill(self.pid)
        self.close()

    def close(self) -> None:
        """Close the connection to a process that the template ends."""
        self.pid = 0
        self._sock.close()

    def _changed(self, work: EngineQuery, deadline: float) -> _Answer:
        """The answer on a statement whose time begins when the server has locked its schema."""
        kind, body = self._reader.frame(wire.FRAME_BYTES, deadline)
        if kind == b"W":
            raise ScorerError(_HELD.format(work.schema))
        if kind != b"N":
            return self._answer(work.limits, deadline, (kind, body))
        self.numbers = _numbers(wire.load(body))
        return self._answer(work.limits, time.monotonic() + work.limits.timeout_s + GRACE_S)

    def _answer(self, limits: SqlLimits, deadline: float, first: tuple[bytes, bytes] | None = None) -> _Answer:
        kind, body = first or self._reader.frame(wire.FRAME_BYTES, deadline)
        if kind == b"F":
            return _refused(wire.load(body))
        if kind != b"C":
            raise wire.WireError(f"a frame {kind!r} where columns or a failure are expected")
        head = wire.load(body)
        if type(head) is not list or len(head) != 2 or not all(map(_is_texts, head)):
            raise wire.WireError("columns of another shape")
        columns, types = head
        if len(types) not in {0, len(columns)}:
            raise wire.WireError("types of other columns")
        return self._rows(ResultTable(tuple(columns), (), tuple(types)), limits, deadline)

    def _rows(self, head: ResultTable, limits: SqlLimits, deadline: float) -> _Answer:
        """The rows; a worker that was taken over can send no more than one that keeps to the limits."""
        columns = head.columns
        rows: list[tuple[Any, ...]] = []
        bytes_left, cells = 8 * limits.max_bytes + 64 * limits.max_rows + wire.FRAME_BYTES, 0

        def frame(most: int) -> tuple[bytes, bytes]:
            nonlocal bytes_left
            kind, body = self._reader.frame(min(bytes_left, most), deadline)
            bytes_left -= len(body)
            return kind, body

        while True:
            kind, body = frame(wire.FRAME_BYTES)
            if kind == b"E":
                return replace(head, rows=rows), None, *_ended(wire.load(body))
            if kind == b"F":
                return _refused(wire.load(body))
            if kind != b"R" or not columns:
                raise wire.WireError(f"a frame {kind!r} where rows are expected")
            chunk = wire.unpack(
                body, len(columns), lambda size: _long(frame(bytes_left), size), limits.max_cells - cells
            )
            cells += count_cells(chunk, limits.max_cells - cells)
            rows += chunk
            if len(rows) > limits.max_rows or cells > limits.max_cells:
                raise wire.WireError("more rows or cells than the limit")


def _start(engine: EngineName, template_socket: socket.socket, folder: Path) -> subprocess.Popen[bytes]:
    source = str(Path(__file__).resolve().parents[3])
    # SQLite comes with Python; the others are wherever the caller finds its packages.
    paths = [source] if engine == "sqlite" else [source, *(path for path in sys.path if path and path != source)]
    command = [sys.executable, "-I", "-S", "-c", BOOT, str(template_socket.fileno()), engine, str(folder), *paths]
    try:
        return subprocess.Popen(  # noqa: S603 (our own interpreter and code, no shell)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(template_socket.fileno(),),
            env={"LANG": "C.UTF-8", "TZ": "UTC", "PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"the process that is to run SQL could not be started: {error}") from None


def _long(frame: tuple[bytes, bytes], size: int) -> bytes:
    """The body of a long cell that was announced with this size."""
    kind, body = frame
    if kind != b"B" or len(body) != size:
        raise wire.WireError("another long cell than announced")
    return body


def _is_texts(value: Any) -> bool:
    return type(value) is list and set(map(type, value)) <= {str}


def _numbers(reply: Any) -> Numbers:
    if type(reply) is not list or any(
        type(entry) is not list
        or type(entry[0] if entry else None) is not str
        or not set(map(type, entry[1:])) <= {int, type(None)}
        for entry in reply
    ):
        raise wire.WireError("numbers of another shape")
    return reply


def _ended(reply: Any) -> tuple[float, bool]:
    if type(reply) is not list or list(map(type, reply)) != [float, bool]:
        raise wire.WireError("no duration")
    return reply[0], reply[1]


def _refused(reply: Any) -> _Answer:
    if (
        type(reply) is not dict
        or type(reply.get("keeps_database")) is not bool
        or reply.get("kind") not in _KINDS
        or reply.get("part") not in _PARTS
        or type(reply.get("message")) is not str
    ):
        raise wire.WireError("a failure of another shape")
    failure = SqlFailure(reply["kind"], reply["message"], reply["part"])
    return None, failure, 0.0, reply["keeps_database"]
