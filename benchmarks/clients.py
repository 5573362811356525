"""Runs whole client processes against a fast server of their own and counts what each took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONCURRENCY = 64


@dataclass(frozen=True)
class Measured:
    """One run of one client."""

    samples: int
    seconds: float
    cpu_s: float
    memory_mib: float
    stored_bytes: int


def measure(program: str, url: str, count: int) -> Measured:
    """Run a client to its end and count what it took."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", f"benchmarks.client_{program}", url, str(count), str(CONCURRENCY), folder]
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            sys.exit(f"{program} failed")
        stored = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return Measured(count, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, stored)


def with_server(latency_ms: float, count: int, programs: tuple[str, ...], rounds: int) -> dict[str, list[Measured]]:
    """Measure the programs in turn, several rounds, against one server."""
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        server = subprocess.Popen(
            [sys.executable, ROOT / "benchmarks/fast_server.py", "--port-file", port, "--latency-ms", str(latency_ms)]
        )
        try:
            while not port.exists() or not port.read_text():
                time.sleep(0.02)
            url = f"http://127.0.0.1:{port.read_text()}/v1"
            found: dict[str, list[Measured]] = {name: [] for name in programs}
            for _ in range(rounds):
                for name in programs:
                    found[name].append(measure(name, url, count))
        finally:
            server.kill()
            server.wait()
    return found
