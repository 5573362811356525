"""The process that workers are forked from: it has imported what they need, runs no SQL, and has no threads.

It is started once for each engine, by `python -I -S -c BOOT ...` with an empty environment, so that a worker inherits
neither a secret nor an open file of the caller's. Forking from here takes 1-2 ms, where a new Python takes 60 and more,
and forking from the caller's process would copy its threads' locks, its sockets and its memory.

It alone waits for workers, so that the id of one that it kills cannot have been given to another process. When the
caller is gone, however it went, it kills all workers, deletes the private copies and ends.
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
from typing import Final, NoReturn, cast

from steelyard.sql.engines.engine import Engine
from steelyard.sql.results import EngineName
from steelyard.sql.workers import wire, worker
from steelyard.sql.workers.wire import COMMAND

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
        engine = worker.engine_of(cast("EngineName", engine_name))
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
            worker.main(socket.socket(fileno=fd), self._engine, self._folder)
        finally:
            # Nothing of the template's own end may run in a worker.
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
