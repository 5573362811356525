"""A line to a server that a test cuts, or holds up: a proxy on loopback."""

from __future__ import annotations

import contextlib
import socket
import threading


class Line:
    """Passes on what comes to a port of its own, each connection in two threads.

    Attributes:
        port: where it listens.
    """

    def __init__(self, host, port):
        self._server = host, port
        self._flows = threading.Event()
        self._flows.set()
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._flows.set()
        self._listener.close()
        self.cut()

    @property
    def used(self):
        """Connections so far."""
        return len(self._sockets) // 2

    def cut(self):
        """End all connections; new ones may be made."""
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def held_up(self):
        """Let nothing through; nobody is told, and all of it arrives later."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def _listen(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
