"""How long it takes to find which column is which, and to judge a large result beside fetching it.

python -m benchmarks.column_matching
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import time
from collections.abc import Callable
from itertools import combinations

from steelyard.sql.columns import match_columns
from steelyard.sql.order import ordering_of
from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import judge

Rows = list[tuple[int, ...]]
ROUNDS = 50
LARGE = 100_000


def shuffled(rows: Rows, draw: random.Random, *, scramble: bool = False) -> Rows:
    """Rows and columns in another order; `scramble` shuffles each column for itself, so that rows fall apart."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    draw.shuffle(columns)
    if scramble:
        for column in columns:
            draw.shuffle(column)
    rows = list(zip(*columns, strict=True))
    draw.shuffle(rows)
    return rows


def anyhow(draw: random.Random, rows: int = 60, columns: int = 8, values: int = 2) -> Rows:
    return [tuple(draw.randrange(values) for _ in range(columns)) for _ in range(rows)]


def balanced(draw: random.Random) -> Rows:
    """Every column half ones: fingerprints tell nothing."""
    return list(zip(*(draw.sample([0, 1] * 30, 60) for _ in range(8)), strict=True))


def regular(draw: random.Random) -> Rows:
    """Every column and every row half ones: a first round of refinement tells nothing either."""
    chosen = [set(draw.sample(range(8), 4)) for _ in range(30)]
    halves = [tuple(int(place in some) for place in range(8)) for some in chosen]
    return [row for half in halves for row in (half, tuple(1 - cell for cell in half))]


def subsets(_: random.Random) -> Rows:
    """All ways to choose four of eight: all columns alike."""
    return [tuple(int(place in some) for place in range(8)) for some in combinations(range(8), 4)]


def wide(draw: random.Random) -> Rows:
    return anyhow(draw, 1000, 100, 3)


CASES: dict[str, tuple[Callable[[random.Random], Rows], str]] = {
    "8 x 60 random, permuted": (anyhow, "permuted"),
    "8 x 60 random, scrambled": (anyhow, "scrambled"),
    "8 x 60 balanced, permuted": (balanced, "permuted"),
    "8 x 60 balanced, scrambled": (balanced, "scrambled"),
    "8 x 60 regular, permuted": (regular, "permuted"),
    "8 x 60 regular, against another": (regular, "other"),
    "8 x 70 all alike, permuted": (subsets, "permuted"),
    "100 x 1,000, permuted": (wide, "permuted"),
}


def measure() -> list[tuple[str, float, float, float]]:
    """Rows of (what, minimum, median, maximum), in milliseconds; the last ones in multiples of fetching."""
    draw = random.Random(8)
    match_columns([(1, 2)], [(2, 1)])  # numpy is loaded once
    rows = [(name, *_spread([_matched(make, how, draw) for _ in range(ROUNDS)])) for name, (make, how) in CASES.items()]
    return rows + _large(draw)


def _matched(make: Callable[[random.Random], Rows], how: str, draw: random.Random) -> float:
    reference = make(draw)
    prediction = shuffled(make(draw) if how == "other" else reference, draw, scramble=how == "scrambled")
    started = time.perf_counter()
    found = match_columns(reference, prediction)
    seconds = time.perf_counter() - started
    if (found.columns is not None) != (how == "permuted"):
        raise SystemExit(f"{how}: {found}")
    return seconds * 1000


def _large(draw: random.Random, rounds: int = 5) -> list[tuple[str, float, float, float]]:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (id INTEGER, name TEXT, price REAL, rank INTEGER, kind TEXT)")
    base.executemany(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
        (
            (
                row,
                f"name {row % 5000}",
                draw.random() * 1000 if row % 10 else None,
                draw.choice([None, 1, 2]),
                "ab"[row % 2],
            )
            for row in range(LARGE)
        ),
    )
    base.execute("CREATE TABLE u AS SELECT * FROM t ORDER BY random()")
    columns = "id, name, price, rank, kind"
    queries = {
        "the same": f"SELECT {columns} FROM t",
        "rows shuffled": f"SELECT {columns} FROM u",
        "columns permuted": "SELECT kind, price, name, id, rank FROM u",
        "one row less": f"SELECT {columns} FROM u WHERE id > 0",
    }
    found = []
    for name, query in queries.items():
        ratios = [_beside_fetching(base, queries["the same"], query, ordered=False) for _ in range(rounds)]
        found.append((f"5 x 100,000, {name}: times fetching both", *_spread(ratios)))
    by_kind = f"SELECT {columns} FROM t ORDER BY kind"
    ratios = [
        _beside_fetching(base, by_kind, f"SELECT {columns} FROM u ORDER BY kind", ordered=True) for _ in range(rounds)
    ]
    found.append(("5 x 100,000, in order up to ties: times fetching both", *_spread(ratios)))
    base.close()
    return found


def _beside_fetching(base: sqlite3.Connection, first: str, second: str, *, ordered: bool) -> float:
    started = time.perf_counter()
    cursors = [base.execute(query) for query in (first, second)]
    tables = [ResultTable(tuple(part[0] for part in cursor.description), cursor.fetchall()) for cursor in cursors]
    fetched = time.perf_counter()
    judge(tables[0], tables[1], ordering=ordering_of(first) if ordered else None)
    return (time.perf_counter() - fetched) / (fetched - started)


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


if __name__ == "__main__":
    for name, least, middle, most in measure():
        print(f"{name:55} {least:8.2f} {middle:8.2f} {most:8.2f}")
