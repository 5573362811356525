"""Limits of the viewer's connections: their number, and the time that a request and the reading of an answer may take.

Whoever reaches the port can open connections, without the token. Left alone, connections that never send a whole
request take every file descriptor, and then nobody is served. On loopback all users of the machine are the same peer,
so that refusing further connections would let one of them lock out the others: where there are too many, the one that
has waited longest for a request is closed, and a new one, which sends its request at once, is served. Where none waits
for a request, that is the one whose other side has left its answer unread for longest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from steelyard.posix import resource

_MOST: Final = 256
"""Connections in all; half of them of one peer, which may be a proxy with the live pages of all its users."""
_HEAD_S: Final = 10.0
"""Seconds for the head of a request, from the connection or from the answer before it."""
_BODY_S: Final = 60.0
"""Seconds for the body of a request, which has a megabyte at most."""
_READ_S: Final = 300.0
"""Seconds within which some of an answer has to be read. The system tells of megabytes that were read at a time, which
takes minutes over a slow tunnel."""
BACKLOG: Final = 64
"""Connections that are accepted at a time, before any of them is closed as too many."""
_OUT_OF_DESCRIPTORS: Final = "socket.accept() out of system resource"
"""What asyncio says then, with a traceback; it tries again after a second."""
_SILENT_S: Final = 60.0


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's server with these limits.

    Attributes:
        peer: address of the other side; not what the headers of a proxy say.
        waits_since: when it began to wait for a request, for the body of one, or for its answer to be read.
        is_dropped: whether it was closed here.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.peer = ""
        self.waits_since = self.loop.time()
        self.is_dropped = False
        self._awaited: tuple[object, float] = (self, 0.0)
        self._requesting: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    @property
    def waits_for_s(self) -> float:
        """Seconds that a part of a request may take which it waits for; 0 while a request is answered."""
        if self.cycle is None or self.cycle.response_complete:
            return _HEAD_S
        return _BODY_S if self.cycle.more_body else 0.0

    @property
    def is_unread(self) -> bool:
        """Whether an answer cannot be written on, as the other side does not read it."""
        return self.flow.write_paused

    def drop(self) -> None:
        """Close it at once."""
        self.is_dropped = True
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for a request; where there are too many connections, in the place of another one."""
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self._await_request()
        connections = [each for each in self.connections if isinstance(each, LimitedConnection) and not each.is_dropped]
        of_peer = [each for each in connections if each.peer == self.peer]
        most = _most_connections()
        if len(of_peer) > most // 2:
            _drop_one(of_peer, self)
        elif len(connections) > most:
            _drop_one(connections, self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop(self._requesting)
        self._stop(self._reading)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._await_request()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. h11 takes one response to a request: the application must not send one too."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._await_request()

    def pause_writing(self) -> None:
        """Wait for the other side to read."""
        super().pause_writing()
        self.waits_since = self.loop.time()
        self._await_reading()

    def resume_writing(self) -> None:
        """Go on, as the other side has read."""
        super().resume_writing()
        self._stop(self._reading)

    def _await_request(self) -> None:
        """Begin a time limit where another part of a request is awaited than before."""
        awaited = self.cycle, self.waits_for_s
        if self._awaited == awaited:
            return
        self._awaited = awaited
        self._stop(self._requesting)
        self.waits_since = self.loop.time()
        if self.waits_for_s:
            self._requesting = self.loop.call_later(self.waits_for_s, self._end_waiting)

    def _end_waiting(self) -> None:
        if self.transport.get_write_buffer_size():
            self._await_reading()  # the answer before is still being read
        else:
            self.drop()

    def _await_reading(self) -> None:
        self._stop(self._reading)
        unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(_READ_S, self._check_reading, unread)

    def _check_reading(self, unread_before: int) -> None:
        if self.transport.get_write_buffer_size() < unread_before:
            self._await_reading()
        else:
            self.drop()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def report_missing_descriptors(loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop say in one line, at most once a minute, that no file descriptor is left for a connection."""
    said_at = loop.time() - _SILENT_S

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal said_at
        if context.get("message") != _OUT_OF_DESCRIPTORS:
            loop.default_exception_handler(context)
        elif loop.time() - said_at >= _SILENT_S:
            said_at = loop.time()
            logging.getLogger("uvicorn.error").error(
                "no file descriptor is left for a connection: close pages, or raise the limit (ulimit -n)"
            )

    loop.set_exception_handler(handle)


def _most_connections() -> int:
    """At most a quarter of the file descriptors: stores and indexes need some, too."""
    return max(8, min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4))


def _drop_one(connections: Sequence[LimitedConnection], new: LimitedConnection) -> None:
    """Close one of those that wait for a request, else of those left unread, the longest; else the new one."""
    others = [connection for connection in connections if connection is not new]
    waiting = [connection for connection in others if connection.waits_for_s]
    waiting = waiting or [connection for connection in others if connection.is_unread]
    min(waiting, key=lambda connection: connection.waits_since, default=new).drop()
