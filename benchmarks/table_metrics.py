"""The five table metrics beside QATCH 1.0.36 and beside SQLite's own reading, in one run.

    python -m benchmarks.table_metrics                          # without QATCH
    python -m benchmarks.table_metrics --qatch /tmp/qatch       # as `python -m benchmarks.qatch_oracle --build` made it

Five columns (whole numbers, floats, texts); the prediction is the target with its rows shuffled.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.qatch_oracle import answers

from steelyard.tables.metrics import table_metrics

SIZES = (1000, 10_000)
LARGE = 100_000
GOALS = {1000: 0.1, 10_000: 0.02}
"""At most this share of the time of QATCH 1.0.36."""
LARGE_GOAL = 8
"""At most so many times what SQLite needs to read both tables."""
HEAD = ("rows", "rules", "seconds", "compared with", "its seconds", "ratio", "goal")


def table(rows: int) -> list[list[Any]]:
    draw = random.Random(7)
    return [
        [row, draw.random() * 1000, f"name {draw.randrange(rows)}", draw.randrange(50), round(draw.random(), 2)]
        for row in range(rows)
    ]


def best(run: Callable[[], object], rounds: int) -> float:
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return min(found)


def sqlite_seconds(rows: list[list[Any]]) -> float:
    """Executing and fetching both tables."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table pair (a, b, c, d, e)")
    connection.executemany("insert into pair values (?, ?, ?, ?, ?)", rows)
    query = "select * from pair"
    return best(lambda: [connection.execute(query).fetchall() for _ in range(2)], 3)


def measure(
    qatch: Path | None = None, *, rules: tuple[str, ...] = ("steelyard", "qatch-docs", "qatch-1.0.36")
) -> list[list[Any]]:
    """Rows under `HEAD`; those beside QATCH only where its environments are."""
    found = []
    for size in (*SIZES, LARGE):
        target = table(size)
        prediction = random.Random(8).sample(target, size)
        if size == LARGE:
            other, theirs, goal = "SQLite", sqlite_seconds(target), LARGE_GOAL
        elif qatch is not None:
            theirs = min(answers(qatch, [[target, prediction]] * (5 if size == SIZES[0] else 1), "--time"))
            other, goal = "QATCH 1.0.36", GOALS[size]
        else:
            continue
        for name in rules:
            ours = best(
                lambda rows=(target, prediction), name=name: table_metrics(*rows, rules=name),
                20 if size == SIZES[0] else 3,
            )
            found.append([size, name, round(ours, 5), other, round(theirs, 5), round(ours / theirs, 4), goal])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--qatch", type=Path, metavar="FOLDER", help="where the environments are")
    print(*HEAD, sep=" | ")
    for row in measure(parser.parse_args().qatch):
        print(*row, sep=" | ")


if __name__ == "__main__":
    main()
