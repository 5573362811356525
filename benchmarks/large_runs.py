"""What it takes to look at runs of 100,000 samples: `show`, `compare`, `report`, `runs`, and pages of records.

    python -m benchmarks.large_runs                 # makes a store of its own, which takes minutes
    python -m benchmarks.large_runs STORE           # of two such runs, the newest two, that is there already

Each command is a process of its own, several times; the least counts, as other work on the machine can only add to it.
CPU is split into imports and all else. The bare cursor is sqlite3 fetching the same rows of both runs (place, score,
outcome, value; sample, group, cluster) into lists, nothing computed: the one figure that can be carried to another
machine is how many times that a command takes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = 100_000
RUNS = 100
ROUNDS = 5
HEAD = ("command", "samples", "CPU s", "imports, CPU s", "wall s", "peak MiB", "CPU, ratio to a bare cursor", "goal")


class Taken(NamedTuple):
    """What one process took."""

    imports: float
    cpu: float
    wall: float
    mib: float


def measure(store: str = "") -> list[str]:
    """The table's lines."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(store or Path(folder) / "large.db"), Path(folder) / "small.db"
        page = Path(folder) / "page.html"
        # As it is for a user, whose Python keeps what it compiled.
        environment = {key: one for key, one in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        run = _runner(environment)
        if not store:
            run("make_large", large)
        run("make_small", small)
        bare = min(run("bare", large).cpu for _ in range(ROUNDS))
        lines = [_line(HEAD), _line(["---"] * len(HEAD))]
        for command, where, goal in (
            (["show", "one"], large, "2 s"),
            (["compare", "one", "two"], large, "2 s"),
            (["report", "one", "two", "--html", str(page)], large, "8 s, 300 MiB, 5 MB"),
            (["runs", "--last", str(RUNS)], small, "0.2 s after imports"),
            (["history", "suite"], small, ""),
        ):
            run("command", *command, "--store", where)  # leaves what it compiled
            several = [run("command", *command, "--store", where) for _ in range(ROUNDS)]
            least = min(several, key=lambda one: one.cpu)
            rows = f"{SAMPLES:,}" if where == large else f"{RUNS} runs"
            times = f"{(least.cpu - least.imports) / bare:.1f} times" if where == large else ""
            figures = (f"{least.cpu:.2f}", f"{least.imports:.2f}", f"{min(one.wall for one in several):.2f}")
            name = " ".join(command).partition(" --html")[0]
            lines.append(_line([name, rows, *figures, f"{least.mib:.0f}", times, goal]))
        size = page.stat().st_size / 1e6
        lines += ["", f"The bare cursor took {bare:.2f} s of CPU. The page of both runs has {size:.1f} MB.", ""]
        return [*lines, *_page_lines(large, environment)]


def _page_lines(store: Path, environment: dict[str, str]) -> list[str]:
    """CPU of a page of 50 records: the first one of its condition and order, and one that follows."""
    command = [sys.executable, "-m", "benchmarks.large_runs", "pages", str(store)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    rows: list[list[str]] = json.loads(done.stdout)[0]
    head = ("page of 50", "matching", "first, CPU ms", "following, CPU ms", "goal")
    return [_line(head), _line(["---"] * len(head)), *(_line([*row, "50 ms"]) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _runner(environment: dict[str, str]) -> Callable[..., Taken]:
    def run(*arguments: object) -> Taken:
        command = [sys.executable, "-m", "benchmarks.large_runs", *map(str, arguments)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        said = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{' '.join(command)} failed")
        imports, wall = json.loads(said)
        return Taken(imports, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)

    return run


def make_large(where: str, n: int = SAMPLES) -> None:
    """Two runs of an exam: scripted replies, so that no model is needed."""
    from steelyard import Choice, Options, Prompt, Sample, Suite, evaluate_suite
    from steelyard.evaluation import RunConfig
    from steelyard.models.scripted import Scripted

    samples = [
        Sample(
            f"q{no}", f"Question {no}?", "ABCD"[no * 7 % 4], ("one", "two", "three", "four"), group=f"group {no % 12}"
        )
        for no in range(n)
    ]
    targets = {
        name: Prompt(Scripted(default=reply), f"{{{{question}}}}\n{{{{options}}}}{end}")
        for name, reply, end in (("one", "The answer is B.", ""), ("two", "A", " "))
    }
    suite = Suite("exam", "choice", samples, targets, (Choice(),), Options(concurrency=64))
    evaluate_suite(suite, how=RunConfig(store=where))


def make_small(where: str) -> None:
    from steelyard import ExactMatch, Sample, evaluate

    samples = [Sample(f"q{no}", "?", "a", group=f"group {no % 3}") for no in range(40)]
    for _ in range(RUNS):
        evaluate(lambda sample: "a" if len(sample.id) > 2 else "b", samples, [ExactMatch()], name="suite", store=where)


def bare(where: str) -> None:
    """The rows of both runs as lists, from the driver."""
    with sqlite3.connect(where) as connection:
        newest = connection.execute("SELECT num, scoring_version FROM run ORDER BY num DESC LIMIT 2").fetchall()
        for run in newest:
            connection.execute(
                "SELECT no, repeat, name, outcome, value FROM score WHERE run = ? AND scoring_version = ?", run
            ).fetchall()
            connection.execute("SELECT no, repeat, sample, failed FROM record WHERE run = ?", run[:1]).fetchall()
        connection.execute("SELECT num, id, group_name, cluster FROM sample").fetchall()


PAGES = (
    {},
    {"after": "50000"},
    {"where": "wrong"},
    {"where": "unparsed"},
    {"where": 'group = "group 3"', "after": "50000"},
    {"where": 'solve_rate < 1 and group = "group 3"', "sort": "-solve_rate"},
    {"sort": "-solve_rate"},
    {"sort": "id", "after": "50000"},
    {"where": "regression"},
    {"search": "question 4711"},
)
"""Options of `Run.page`; regressions are those of the second run against the first."""


def pages(where: str) -> list[list[str]]:
    """A line per page: what was asked for, how many records match, and CPU in milliseconds, the least of several."""
    from steelyard import Store

    lines = []
    with Store(where) as store:
        second, first = store.runs()[:2]
        for options in PAGES:
            against = first if options.get("where") == "regression" else None
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(ROUNDS):
                after, total = options.get("after", ""), None
                for of_turn in times:
                    begun = time.process_time()
                    page = second.page(**{**options, "after": after}, against=against)
                    of_turn.append(1000 * (time.process_time() - begun))
                    after, total = page.after, page.total
            asked = ", ".join(f"{key} {value}" for key, value in options.items()) or "the first"
            lines.append([asked, f"{total:,}", *(f"{min(of_turn):.1f}" for of_turn in times)])
    return lines


def command(*arguments: str) -> float:
    """A command of the command line, its output thrown away; the CPU seconds of its imports."""
    import contextlib
    import io

    import steelyard.cli.app
    import steelyard.cli.outcome
    import steelyard.store.reading.columns

    if arguments[0] != "runs":
        import numpy as np  # noqa: F401  # as `runs` computes nothing, it does not load it

    app = steelyard.cli.app.build_app(arguments[0])
    imports = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        app(args=list(arguments), standalone_mode=False)
    return imports


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in {"make_large", "make_small", "bare", "command", "pages"}:
        started = time.perf_counter()
        imports = globals()[sys.argv[1]](*sys.argv[2:]) or 0.0
        print(json.dumps([imports, time.perf_counter() - started]))
    else:
        print("\n".join(measure(*sys.argv[1:])))
