"""`make bench`: what a sample costs, beside a bare aiohttp loop and a bare openai loop, in one run.

CPU and memory are those of the client's whole process, imports included, as the operating system counts them; the
server has a process of its own.

    python benchmarks/run.py                  # the table
    python benchmarks/run.py --write FILE     # and docs/benchmarks.md, or another file
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("aiohttp", "steelyard", "openai")
CONCURRENCY = 64


@dataclass(frozen=True)
class Measured:
    """One run of one client."""

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
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, stored)


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


def row(name: str, latency_ms: float, count: int, rounds: list[Measured]) -> str:
    """A line of the table: medians over the rounds."""

    def middle(values: list[float]) -> float:
        return statistics.median(values)

    rate = count / middle([one.seconds for one in rounds])
    cpu = 1000 * middle([one.cpu_s for one in rounds]) / count
    memory = middle([one.memory_mib for one in rounds])
    stored = middle([one.stored_bytes for one in rounds]) / count
    return f"| {name} | {latency_ms:g} | {count:,} | {rate:,.0f} | {cpu:.3f} | {memory:.0f} | {stored:.0f} |"


def table(rounds: int) -> list[str]:
    """Every line, measured now."""
    lines = [
        "| client | latency ms | samples | samples/s | CPU ms/sample | peak MiB | bytes stored/sample |",
        "|---|---|---|---|---|---|---|",
    ]
    for latency_ms in (0.0, 50.0):
        found = with_server(latency_ms, 2000, PROGRAMS, rounds)
        lines += [row(name, latency_ms, 2000, found[name]) for name in PROGRAMS]
        print("\n".join(lines[-3:]), flush=True)
    for count in (20_000, 100_000):
        found = with_server(0.0, count, ("steelyard",), 1)
        lines.append(row("steelyard", 0.0, count, found["steelyard"]))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="write the table between the marks of this page")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(
        f"{machine}; concurrency {CONCURRENCY}; medians of {options.rounds} rounds; whole processes, imports included"
    )
    lines = [f"Measured on {machine}.", "", *table(options.rounds)]
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        head, _, rest = page.partition("<!-- measured -->")
        tail = rest.partition("<!-- /measured -->")[2]
        text = "\n".join(["<!-- measured -->", "", *lines, "", "<!-- /measured -->"])
        options.write.write_text(head + text + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
