"""Servers that others wrote, each in a process of its own, until its health page answers."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class ForeignServer:
    """A server that is running; its access log has a line for each request."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process, self.log = process, log
        self.address = f"http://127.0.0.1:{port}"
        self.url = f"{self.address}/v1"

    def requests(self) -> int:
        """Requests to the API so far."""
        return self.log.read_text().count("POST /v1/")

    def _wait(self, health: str) -> None:
        pause = threading.Event()
        for _ in range(900):
            assert self.process.poll() is None, self.log.read_text()
            try:
                urllib.request.urlopen(self.address + health, timeout=5).close()
            except (urllib.error.URLError, OSError):
                pause.wait(0.2)  # another process has no event to wait for
            else:
                return
        raise AssertionError(f"the server did not start: {self.log.read_text()}")


@contextmanager
def served(
    command: Sequence[str | Path], log: Path, *, health: str, environment: Mapping[str, str]
) -> Iterator[ForeignServer]:
    """Run `command` with `--host` and `--port` behind it while the block runs; `health` is the path that is polled."""
    port = _free_port()
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    server = ForeignServer(process, port, log)
    try:
        server._wait(health)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    """A port of loopback that nobody listens on; another process may take it in the meantime, so use it at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
