"""What several worker processes on a PostgreSQL store cost and give, beside one process on the same store.

    python -m benchmarks.scale STORE                # pairs: a scorer that takes CPU, and a server at 50 ms
    python -m benchmarks.scale STORE large 1000000  # one long run with a scripted model, watched while it works

STORE is an address such as postgresql://postgres@127.0.0.1/postgres; each run has a schema of its own, dropped behind
it. CPU is that of the process and of all workers; the server's and PostgreSQL's are not in it. One process and workers
take turns, and a ratio is that of two runs that followed each other: other work on the machine then counts for both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from benchmarks.questions import questions

from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, evaluate
from steelyard.models import Scripted
from steelyard.types import Output, Score

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
ROUNDS = 3
CONCURRENCY = 64
SCORER_S = 0.01
OF_SCORER = 2_000
OF_SERVER = 20_000
LATENCY_MS = 50
LOOK_S = 2.0
WATCHED = """SELECT coalesce(sum(done), 0), pg_current_wal_lsn() - %s::pg_lsn,
    (SELECT count(*) FROM lease), (SELECT count(*) FROM lease WHERE owner <> ''),
    (SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database()),
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'),
    (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relkind = 'r') FROM run"""


@dataclass(frozen=True)
class Questions:
    """Samples that are made again for every pass, so that the memory measured is ours."""

    count: int

    def __iter__(self) -> Iterator[Sample]:
        """Each sample."""
        for ident, prompt, reference in questions(self.count):
            yield Sample(ident, prompt, reference)


def instant(sample: Sample) -> Output:
    return Output(sample.reference)


def slow_match(sample: Sample, output: Output) -> Score:
    """A scorer that takes 10 ms of CPU."""
    until = time.thread_time() + SCORER_S
    while time.thread_time() < until:
        pass
    return Score("slow_match", float(output.value == sample.reference))


def work(kind: str, count: int, workers: int, store: str) -> None:
    """Run one evaluation; in a process of its own."""
    target: Any = {"scorer": instant, "large": Prompt(Scripted(default="yes"))}.get(kind) or Prompt(
        OpenAICompatible("fast", kind)
    )
    scorer: Any = slow_match if kind == "scorer" else ExactMatch()
    chosen: dict[str, Any] = {"workers": workers} if workers else {}
    evaluate(target, Questions(count), [scorer], store=store, concurrency=CONCURRENCY, **chosen)


class Taken(NamedTuple):
    """What one run took: seconds of wall and CPU, and the most memory of one of its processes."""

    wall: float
    cpu: float
    mib: float


def measured(address: str, kind: str, count: int, workers: int) -> Taken:
    import psycopg

    schema = f"bench_{token_hex(4)}"
    store = f"{address}{'&' if '?' in address else '?'}schema={schema}"
    command = [sys.executable, "-m", "benchmarks.scale", store, "work", kind, str(count), str(workers)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    watching = _watch(address, schema, process, count) if kind == "large" else None
    _, status, usage = watching or os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if kind == "large" and not status:
        print(_shown(store))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    if status:
        sys.exit(f"{kind} with {workers} workers failed")
    return Taken(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _watch(address: str, schema: str, process: subprocess.Popen[bytes], count: int) -> Any:
    """Print a line for each tenth of the run; what `os.wait4` says at its end."""
    import psycopg

    print(
        "| records | s | leases | held | locks | waiting | WAL MB | store MB | bytes a sample | MiB of each process |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    began, shown, most = time.perf_counter(), -1, [0, 0]
    with psycopg.connect(address, autocommit=True, options=f"-c search_path={schema}") as connection:
        ((first_lsn,),) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchall()
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            time.sleep(LOOK_S)
            try:
                ((done, wal, leases, held, locks, waiting, size),) = connection.execute(WATCHED, [first_lsn]).fetchall()
            except psycopg.errors.UndefinedTable:
                continue
            most = [max(most[0], locks), max(most[1], waiting)]
            if leases and done * 10 // count > shown:
                shown = done * 10 // count
                line = (
                    f"{done:,}", f"{time.perf_counter() - began:.0f}", f"{leases:,}", held, *most,
                    f"{float(wal) / 1e6:,.0f}", f"{float(size) / 1e6:,.0f}", f"{float(size) / max(1, done):.0f}",
                    ", ".join(f"{mib:.0f}" for mib in memory_of(process.pid)),
                )  # fmt: skip
                print(f"| {' | '.join(map(str, line))} |", flush=True)
    return ended


def _shown(store: str) -> str:
    """What `steelyard show` takes of the run."""
    began = time.perf_counter()
    command = [sys.executable, "-c", "from steelyard.cli import main; main()", "show", "latest", "--store", store]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    cpu = usage.ru_utime + usage.ru_stime
    wall = time.perf_counter() - began
    return f"show: {wall:.1f} s, {cpu:.1f} s of CPU, {usage.ru_maxrss / 1024:.0f} MiB"


def memory_of(pid: int) -> Iterator[float]:
    """Resident MiB of a process, the leader, and of its workers."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    for one in (str(pid), *children):
        status = Path(f"/proc/{one}/status").read_text(encoding="ascii")
        yield from (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def pairs(address: str, kind: str, count: int) -> tuple[list[Taken], list[Taken]]:
    """Runs of one process and of workers, in turn."""
    alone, together = [], []
    for _ in range(ROUNDS):
        alone.append(measured(address, kind, count, 0))
        together.append(measured(address, kind, count, WORKERS))
    return alone, together


def report(address: str) -> list[str]:
    """The table's lines."""
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        command = [sys.executable, ROOT / "benchmarks/fast_server.py", "--port-file", port, "--latency-ms", LATENCY_MS]
        server = subprocess.Popen([str(part) for part in command])
        try:
            while not port.exists() or not port.read_text():
                time.sleep(0.02)
            url = f"http://127.0.0.1:{port.read_text()}/v1"
            of_scorer, of_server = pairs(address, "scorer", OF_SCORER), pairs(address, url, OF_SERVER)
        finally:
            server.kill()
            server.wait()
    rates = [[OF_SCORER / one.wall for one in side] for side in of_scorer]
    cpu_of_scorer = [[1000 * one.cpu / OF_SCORER for one in side] for side in of_scorer]
    cpu_of_server = [[1000 * one.cpu / OF_SERVER for one in side] for side in of_server]
    memory = [[one.mib for one in side] for side in of_server]
    head = ("what", "one process", f"{WORKERS} workers", "ratio, median of pairs", "goal")
    rows = (
        _row(f"samples/s, scorer of {SCORER_S * 1000:.0f} ms", rates, "at least 1.6"),
        _row("CPU ms a sample, that scorer", cpu_of_scorer, ""),
        _row(f"CPU ms a sample, server at {LATENCY_MS} ms", cpu_of_server, "at most 1.3"),
        _row("peak MiB of a process", memory, "at most 90 MiB"),
    )
    return [_line(row) for row in (head, ["---"] * len(head), *rows)]


def _row(what: str, sides: Sequence[Sequence[float]], goal: str) -> tuple[str, ...]:
    alone, together = sides
    ratio = statistics.median(many / one for one, many in zip(alone, together, strict=True))
    figures = (f"{statistics.median(side):,.3g}" for side in sides)
    return (what, *figures, f"{ratio:.2f}", goal)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    where, *rest = sys.argv[1:]
    if rest[:1] == ["work"]:
        # Under its module's name, so that workers can import what it defines.
        from benchmarks.scale import work as work_of_module

        work_of_module(rest[1], int(rest[2]), int(rest[3]), where)
    elif rest[:1] == ["large"]:
        print(measured(where, "large", int(rest[1]), WORKERS))
    else:
        print("\n".join(report(where)))
