"""The goals for the cost of a run: one table, each row compared with a bare loop of the same measurement.

    python -m benchmarks.run --only goals           # the whole table
    python -m benchmarks.run --quick                # the first row alone, once; fails far above its goal

A ratio says more about another machine, or a busy one, than an absolute time: the two programs of it take turns. They
do not lose alike to what else runs, so that small differences mean little. Whole processes are measured, start and end
included.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.clients import ROOT, Measured, with_server

HEAD = ("what", "bare loop", "steelyard", "goal", "measured", "reached")
MOST_QUICK = 4.0
"""CPU a sample beside the bare loop's that `--quick` lets pass: far above the goal, as machines of others are busy."""
ROUNDS = 3
_COMMAND = "import sys; sys.argv[0] = 'steelyard'; from steelyard.cli import main; main()"


def measure() -> list[Sequence[str]]:
    """The rows of the table."""
    with _keeping_compiled_modules():
        return [*_running(), *_reading(), *_starting()]


@contextmanager
def _keeping_compiled_modules() -> Iterator[None]:
    """As for a user, whose Python keeps what it compiled: without that, a fifth of a start is compiling."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _running() -> list[Sequence[str]]:
    """What samples cost and leave behind."""
    _beside(1, 0, 1)  # leaves what it compiled
    rows = []
    long, short, slow = (_beside(count, latency_ms) for count, latency_ms in ((20_000, 0), (2_000, 0), (2_000, 50)))
    for name, pair, goal in (("20,000", long, 2.4), ("2,000", short, 2.6)):
        bare, ours = (_median(each, lambda one: 1000 * one.cpu_s / one.samples) for each in pair)
        what = f"CPU ms a sample, {name} samples"
        rows.append(_row(what, f"{bare:.3f}", f"{ours:.3f}", f"at most {goal:g} x", ours / bare, ours / bare <= goal))
    for name, pair, goal in (("0 ms, 20,000 samples", long, 0.42), ("50 ms, 2,000 samples", slow, 0.80)):
        bare, ours = (_median(each, lambda one: one.samples / one.seconds) for each in pair)
        what = f"samples/s at {name}"
        rows.append(
            _row(what, f"{bare:,.0f}", f"{ours:,.0f}", f"at least {goal:g} x", ours / bare, ours / bare >= goal)
        )
    single = _beside(1, 0)
    rows.append(_limit("CPU s of one sample, start to exit", single, lambda one: one.cpu_s, 0.7, "{:.2f}"))
    rows.append(_limit("peak MiB, 2,000 samples", short, lambda one: one.memory_mib, 60, "{:.0f}"))
    rows.append(_limit("peak MiB, 100,000 samples", _beside(100_000, 0, 1), lambda one: one.memory_mib, 100, "{:.0f}"))
    for name, pair in (("2,000", short), ("20,000", long)):
        rows.append(
            _limit(f"stored bytes a sample, {name}", pair, lambda one: one.stored_bytes / one.samples, 400, "{:.0f}")
        )
    return rows


def _beside(count: int, latency_ms: float, rounds: int = ROUNDS) -> tuple[list[Measured], list[Measured]]:
    """The bare loop and Steelyard, in turn against one server."""
    measured = with_server(latency_ms, count, ("aiohttp", "steelyard"), rounds)
    return measured["aiohttp"], measured["steelyard"]


def _median(rounds: Sequence[Measured], figure: Callable[[Measured], float]) -> float:
    return statistics.median(map(figure, rounds))


def _row(what: str, bare: str, ours: str, goal: str, ratio: float | None, reached: object) -> Sequence[str]:
    return (what, bare, ours, goal, "" if ratio is None else f"{ratio:.2f} x", "yes" if reached else "no")


def _limit(
    what: str, pair: tuple[list[Measured], list[Measured]], figure: Callable[[Measured], float], most: float, form: str
) -> Sequence[str]:
    bare, ours = (_median(each, figure) for each in pair)
    return _row(what, form.format(bare), form.format(ours), f"at most {most:g}", None, ours <= most)


def _reading() -> list[Sequence[str]]:
    """`show` of a run of 100,000 samples and `compare` of two."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "large.db"
        make = [sys.executable, "-m", "benchmarks.large_runs", "make_large", store]
        subprocess.run(make, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return [
            _process("CPU s of show, 100,000 samples", ["-c", _COMMAND, "show", "one", "--store", str(store)], 1.5),
            _process(
                "CPU s of compare, 2 x 100,000 samples",
                ["-c", _COMMAND, "compare", "one", "two", "--store", str(store)],
                2.5,
            ),
        ]


def _starting() -> list[Sequence[str]]:
    return [
        _process("CPU s of import steelyard, interpreter included", ["-c", "import steelyard"], 0.1),
        _process("CPU s of steelyard --help, interpreter included", ["-c", _COMMAND, "--help"], 0.2),
    ]


def _process(what: str, arguments: Sequence[str], most: float) -> Sequence[str]:
    """The least CPU of several processes: other work on the machine can only add to it."""
    bare = min(_cpu_s(["-c", ""]) for _ in range(5))
    _cpu_s(arguments)  # leaves what it compiled
    least = min(_cpu_s(arguments) for _ in range(5))
    return _row(what, f"{bare:.3f}", f"{least:.3f}", f"at most {most:g}", None, least <= most)


def _cpu_s(arguments: Sequence[str]) -> float:
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def guard() -> None:
    """`--quick`: end with an error where a sample's CPU has left the goal far behind."""
    bare, ours = (_median(each, lambda one: one.cpu_s / one.samples) for each in _beside(20_000, 0, 1))
    print(f"CPU ms a sample, 20,000 samples: {1000 * ours:.3f} beside {1000 * bare:.3f} of a bare loop", end=": ")
    print(f"{ours / bare:.2f} x (goal 2.4, limit {MOST_QUICK:g})")
    if ours / bare > MOST_QUICK:
        sys.exit(f"a sample costs more than {MOST_QUICK:g} times the CPU of a bare loop")
