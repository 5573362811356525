"""`make bench`: what a sample, a table metric, a sandboxed statement, a judge's reply and a query to an index cost.

And what looking at runs of 100,000 samples takes, what early stop saves, how fast and how right ratings are, and how
often intervals hold and tests are wrong.
Of samples, CPU and memory are those of the client's whole process, imports included, as the operating system counts
them; the server has a process of its own. Beside us a bare aiohttp loop, a bare openai loop, QATCH, SQLite and evalica
run.

    python -m benchmarks.run                        # every table
    python -m benchmarks.run --only sandbox         # one of them
    python -m benchmarks.run --quick                # CPU of 20,000 samples and of hostile texts; fails far above goals
    python -m benchmarks.run --write FILE           # and docs/reference/measurements.md, or a page with their marks
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.clients import CONCURRENCY, ROOT, Measured, with_server

QATCH = ROOT / ".venv" / "qatch"
PROGRAMS = ("aiohttp", "steelyard", "openai")


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
    for count in (20_000, 100_000):
        found = with_server(0.0, count, ("steelyard",), 1)
        lines.append(row("steelyard", 0.0, count, found["steelyard"]))
    return lines


def metrics() -> list[str]:
    """Our metrics beside QATCH's, which is installed into an environment of its own where it is not."""
    from benchmarks import qatch_oracle, table_metrics

    if not (QATCH / "q-1.0.36").is_dir():
        qatch_oracle.build(QATCH, ["1.0.36"])
    return markdown(table_metrics.HEAD, table_metrics.measure(QATCH))


def columns() -> list[str]:
    """Matching of columns, and verdicts on large results."""
    from benchmarks import column_matching

    rows = [[name, *(f"{value:.2f}" for value in values)] for name, *values in column_matching.measure()]
    return markdown(("what", "minimum", "median", "maximum"), rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table's lines."""
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def index() -> list[str]:
    """Building an index, and asking it."""
    from benchmarks import retrieval

    return markdown(retrieval.HEAD, retrieval.measure())


def goals() -> list[str]:
    """The goals for the cost of a run, compared with a bare loop."""
    from benchmarks import goals

    return markdown(goals.HEAD, goals.measure())


def measured_by(module: str) -> Callable[[], list[str]]:
    """The lines of a benchmark in a module of its own.

    It is imported when its turn comes: what this process holds is counted as the peak of every client that it starts.
    """

    def lines() -> list[str]:
        found: list[str] = import_module(f"benchmarks.{module}").measure()
        return found

    return lines


def main() -> None:
    sections: dict[str, Callable[[], list[str]]] = {
        "goals": goals,
        "samples": lambda: table(options.rounds),
        "metrics": metrics,
        "sandbox": measured_by("sandbox"),
        "servers": measured_by("sql_servers"),
        "columns": columns,
        "judges": measured_by("judge_replies"),
        "choices": measured_by("replies"),
        "retrieval": index,
        "ranking": measured_by("ranking"),
        "sequential": measured_by("sequential"),
        "coverage": measured_by("coverage"),
        "correction": measured_by("correction"),
        "ties": measured_by("ties"),
        "loading": measured_by("loading"),
        "large": measured_by("large_runs"),
        "viewer": measured_by("viewer"),
        "people": measured_by("people"),
    }
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="write the table between the marks of this page")
    parser.add_argument("--rounds", type=int, default=3, help="of the samples")
    parser.add_argument("--only", choices=sections, action="append", help="which tables; all by default")
    parser.add_argument(
        "--quick", action="store_true", help="CPU of 20,000 samples and of hostile texts; an error far above"
    )
    options = parser.parse_args()
    if options.quick:
        import_module("benchmarks.goals").guard()
        import_module("benchmarks.hostile_texts").guard()
        return
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}; samples: concurrency {CONCURRENCY}, medians of {options.rounds} rounds, whole processes")
    for name in options.only or sections:
        print(f"\n{name}", flush=True)
        lines = sections[name]()
        print("\n".join(lines), flush=True)
        if options.write:
            write(options.write, name, [f"Measured on {machine}.", "", *lines])


def write(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put lines between the marks of a section."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- /measured: {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    if not found or end not in rest:
        sys.exit(f"{page} has no marks for {name}")
    text = "\n".join([begin, "", *lines, "", end])
    page.write_text(before + text + rest.partition(end)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
