"""Starts the ledger server for a test and reads its ledger."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

SERVER = Path(__file__).with_name("ledger_server.py")


@dataclass(frozen=True)
class Server:
    url: str
    ledger: Path

    def requests(self):
        """What the ledger holds, once the server has written down all that it has answered."""
        with contextlib.suppress(OSError):
            self.in_flight()
        return [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()]

    def in_flight(self):
        """How many requests have come and are not answered."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/ledger", timeout=20) as reply:
            return json.loads(reply.read())["in_flight"]

    def answered(self):
        return [one for one in self.requests() if not one["fault"]]


@contextlib.contextmanager
def ledger_server(folder, *options):
    folder.mkdir(parents=True, exist_ok=True)
    port, ledger = folder / "port", folder / "ledger.jsonl"
    command = [sys.executable, SERVER, "--port-file", port, "--ledger", ledger, *options]
    process = subprocess.Popen([str(part) for part in command])
    try:
        deadline = time.monotonic() + 60
        while not port.exists():
            assert process.poll() is None, "the ledger server has ended"
            assert time.monotonic() < deadline, "the ledger server did not start"
            time.sleep(0.01)
        yield Server(f"http://127.0.0.1:{port.read_text()}/v1", ledger)
    finally:
        process.kill()
        process.wait()
