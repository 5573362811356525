"""What the sandbox costs beside the same statement in process: wall and CPU time, paired in one run.

python benchmarks/sandbox.py
"""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steelyard.sql.results import Database, EngineName
from steelyard.sql.sandbox import Sandbox

SCRIPT = "CREATE TABLE emp(id INTEGER PRIMARY KEY, name TEXT, pay REAL);" + "".join(
    f"INSERT INTO emp VALUES ({number}, 'name {number}', {number * 1.5});" for number in range(20)
)
Statements = Callable[[int], tuple[Database, str]]
"""Number of a round -> what is run."""
SMALL = "SELECT name, pay FROM emp WHERE pay > 5 ORDER BY pay DESC"
LARGE = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
    "SELECT i, i * 1.5, 'name ' || i, i % 7, 'group ' || (i % 13) FROM n"
)


@dataclass(frozen=True)
class Pair:
    """Medians in milliseconds: in process, in the sandbox, and CPU of all processes in the sandbox."""

    name: str
    inside_ms: float
    sandbox_ms: float
    cpu_ms: float

    def line(self) -> str:
        """A line of the table."""
        extra = self.sandbox_ms - self.inside_ms
        return f"| {self.name} | {self.inside_ms:.2f} | {self.sandbox_ms:.2f} | {extra:.2f} | {self.cpu_ms:.2f} |"


def in_process(query: str) -> Callable[[], object]:
    def run() -> object:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(SCRIPT)
            with contextlib.suppress(sqlite3.Error):
                return connection.execute(query).fetchall()
            return None

    return run


def in_duckdb(file: Path, query: str) -> Callable[[], object]:
    """The query on a connection that stays open, as a program of one's own would do it."""
    import duckdb

    connection = duckdb.connect(str(file), read_only=True, config={"threads": 1})
    return lambda: connection.execute(query).fetchall()


def new_in_duckdb() -> object:
    """The script and the query in an instance that is opened for them."""
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(SCRIPT)
        return connection.execute(SMALL).fetchall()


def duckdb_file(folder: str) -> Path:
    """A database of DuckDB with the table of SCRIPT."""
    import duckdb

    file = Path(folder) / "emp.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCRIPT)
    return file


def cpu_s(sandbox: Sandbox, engine: EngineName) -> float:
    """Seconds of this process and of the template with all workers that it has waited for or has."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    template = sandbox._pool._templates[engine]._process.pid  # noqa: SLF001 (nobody else needs the process id)
    workers = Path(f"/proc/{template}/task/{template}/children").read_text(encoding="ascii").split()
    for pid in (template, *workers):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        total += sum(map(int, fields[11:15] if pid == template else fields[11:13])) / 100
    return total


def paired(name: str, rounds: int, sandbox: Sandbox, here: Callable[[], object], statements: Statements) -> Pair:
    database, query = statements(0)
    sandbox.run(database, query)
    inside, outside = [], []
    used = 0.0
    for _ in range(rounds):
        started = time.perf_counter()
        here()
        inside.append(time.perf_counter() - started)
    before = cpu_s(sandbox, database.engine)
    for number in range(rounds):
        database, query = statements(number)
        started = time.perf_counter()
        sandbox.run(database, query)
        outside.append(time.perf_counter() - started)
    used = cpu_s(sandbox, database.engine) - before
    return Pair(name, 1000 * statistics.median(inside), 1000 * statistics.median(outside), 1000 * used / rounds)


def with_own_script(number: int) -> tuple[Database, str]:
    """A scratch database that is in no worker yet, and a query on it."""
    return Database("duckdb", script=f"{SCRIPT} CREATE TABLE own_{number}(a INTEGER)"), SMALL


def measure() -> list[str]:
    """The table's lines, measured now."""
    scratch, wrong = Database(script=SCRIPT), "SELECT nothing FROM emp"
    with tempfile.TemporaryDirectory() as folder, Sandbox(workers=1) as sandbox:
        started = time.perf_counter()
        sandbox.check("sqlite")
        start = 1000 * (time.perf_counter() - started)
        file = duckdb_file(folder)
        copied, own = Database("duckdb", file), in_duckdb(file, SMALL)
        pairs = [
            paired("20 inserts and a select, warm", 190, sandbox, in_process(SMALL), lambda _: (scratch, SMALL)),
            paired("the same with a wrong column", 100, sandbox, in_process(wrong), lambda _: (scratch, wrong)),
            paired("100,000 rows x 5 columns", 7, sandbox, in_process(LARGE), lambda _: (scratch, LARGE)),
            paired("DuckDB: a select on a file, warm", 150, sandbox, own, lambda _: (copied, SMALL)),
            paired("DuckDB: wrong columns on a file", 150, sandbox, own, lambda _: (copied, wrong)),
            paired("DuckDB: a script of its own and a select", 50, sandbox, new_in_duckdb, with_own_script),
        ]
    return [
        "| statement | in process ms | in the sandbox ms | more ms | CPU ms, all processes |",
        "|---|---|---|---|---|",
        *(pair.line() for pair in pairs),
        f"| start of the first worker | | {start:.0f} | | |",
    ]


if __name__ == "__main__":
    print("\n".join(measure()))
