"""Hostile statements against DuckDB, by family: nothing is harmed, and the next statement is right.

Each runs through the sandbox as any generated statement does. What is watched: the bytes of the victim's file, every
file in the folders a statement names or could fall into, a listener on loopback, the clock, the workers' memory.
"""

import contextlib
import hashlib
import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from tests.sql.memory_watch import Watch
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.workers import processes

CORPUS = Path(__file__).parent / "corpus"
HOSTILE = json.loads((CORPUS / "duckdb_hostile.json").read_text())
SCRIPT = (CORPUS / "duckdb_script.sql").read_text()
OF_SEQUENCE = ("numbered", "ids")
KEPT = "".join(line for line in SCRIPT.splitlines(True) if not any(name in line for name in OF_SEQUENCE))
"""`SCRIPT` without a default from a sequence, which is lasting: what only builds is run once for many statements."""
LIMITS = SqlLimits(timeout_s=5, max_rows=100_000, max_bytes=8 * 2**20, memory_mib=128)
SHORT = replace(LIMITS, timeout_s=times(0.1, 0.5))
SECRET = "s3cr3t-of-the-caller"
TOTAL = "SELECT sum(pay) FROM staff"

BUILT = {
    "{brackets}": "[" * 900 + "]" * 900,
    "{open}": "(" * 5000,
    "{close}": ")" * 5000,
    "{plus}": "+".join(["1"] * 100_000),
    "{nots}": "NOT " * 20_000,
    "{unions}": " UNION ALL ".join(["SELECT 1"] * 3000),
    "{cases}": "CASE WHEN 1=1 THEN " * 3000 + "1" + " END" * 3000,
}


class Listener:
    """Counts who connects."""

    def __init__(self):
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self._socket.accept()[0].close()
                self.connections += 1

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


class World:
    """What could be harmed, and what runs statements against it."""

    def __init__(self, root, sandbox):
        self.sandbox = sandbox
        self.listener = Listener()
        self.folder = root / "watched"
        self.folder.mkdir()
        self.victim = self.folder / "victim.duckdb"
        with duckdb.connect(str(self.victim)) as connection:
            connection.execute(SCRIPT)
        (self.folder / "data.csv").write_text("a,b\n1,2\n")
        (self.folder / "data.json").write_text('{"a": 1}\n')
        duckdb.sql("SELECT 1 AS a").write_parquet(str(self.folder / "data.parquet"))
        self.watched = [root, Path("/"), Path.home(), Path.home() / ".duckdb", Path.cwd(), Path("/nonexistent")]
        self.before = self.state()

    def state(self):
        files = {
            path: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.folder.rglob("*") if path.is_file()
        }
        names = {path: sorted(entry.name for entry in path.iterdir()) for path in self.watched if path.is_dir()}
        return files, names

    def filled(self, text):
        for mark, built in BUILT.items():
            text = text.replace(mark, built)
        text = text.replace("{victim}", str(self.victim)).replace("{folder}", str(self.folder))
        return text.replace("{port}", str(self.listener.port))

    def run(self, one, limits, database):
        create, query = map(self.filled, one if isinstance(one, list) else ("", one))
        if database.script and any(name in f"{create} {query}" for name in OF_SEQUENCE):
            database = replace(database, script=SCRIPT)
        done = self.sandbox.run(database, query, create=create, limits=limits)
        assert SECRET not in repr(done), one
        return one, done

    def run_all(self, family, limits, database):
        with ThreadPoolExecutor(4) as threads:
            # Each worker has the database open before the first statement, as in the middle of a run.
            list(threads.map(lambda _: self.sandbox.run(database, TOTAL, limits=limits), range(4)))
            done = list(threads.map(lambda one: self.run(one, limits, database), HOSTILE[family]))
            following = list(threads.map(lambda _: self.sandbox.run(database, TOTAL), range(4)))
        assert [(outcome.failure, str(outcome.table.rows[0][0])) for outcome in following] == [(None, "561.00")] * 4
        return done

    def databases(self):
        return {"file": Database("duckdb", file=self.victim), "scratch": Database("duckdb", script=KEPT)}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    os.environ["STEELYARD_SECRET"] = SECRET
    # A loop that hears no interrupt burns all of the grace that it is given.
    with pytest.MonkeyPatch.context() as patch, Sandbox(workers=4) as sandbox:
        patch.setattr(processes, "GRACE_S", times(0.2, processes.GRACE_S))
        sandbox.check("duckdb")
        del os.environ["STEELYARD_SECRET"]
        world = World(tmp_path_factory.mktemp("world"), sandbox)
        yield world
        world.listener.close()


@pytest.fixture(autouse=True)
def _harms_nothing(world):
    yield
    assert world.state() == world.before
    assert world.listener.connections == 0


REFUSED = sorted(set(HOSTILE) - {"endless", "memory", "size", "parser"})
NAMED = {"file_write", "settings", "logs_and_profiles", "writing"}
BUILDING = {"attach", "logs_and_profiles", "writing", "stacked"}


@pytest.mark.parametrize("family", REFUSED)
def test_it_is_refused_and_harms_nothing(world, family):
    place = "scratch" if family in BUILDING else "file"
    done = world.run_all(family, LIMITS, world.databases()[place])
    let_through = [(statement, outcome.table) for statement, outcome in done if outcome.failure is None]
    assert let_through == []
    kinds = {"denied"} if family in NAMED else {"denied", "error"}
    assert [(statement, outcome.failure) for statement, outcome in done if outcome.failure.kind not in kinds] == []


def test_the_file_is_not_written_where_a_scratch_database_would_be(world):
    done = world.run_all("writing", LIMITS, world.databases()["file"])
    assert {outcome.failure.kind for _, outcome in done if outcome.failure} <= {"denied", "error"}
    assert [statement for statement, outcome in done if outcome.table is not None] == []


def test_a_create_statement_on_a_scratch_database_reads_no_file(world):
    lists = [statement for statement in HOSTILE["file_read"] if isinstance(statement, list)]
    done = [world.run(statement, LIMITS, world.databases()["scratch"]) for statement in lists]
    assert len(lists) == 4
    assert {outcome.failure.kind for _, outcome in done} == {"denied"}


def test_what_never_ends_ends_at_the_deadline(world):
    done = world.run_all("endless", SHORT, world.databases()["file"])
    assert [(statement, outcome) for statement, outcome in done if outcome.table is not None] == []
    assert {outcome.failure.kind for _, outcome in done} <= {"timeout", "memory"}


def test_memory_ends_at_its_cap(world):
    limits = replace(LIMITS, timeout_s=times(0.25, 1), memory_mib=times(64, 128))
    with Watch(os.getpid()) as watch:
        done = world.run_all("memory", limits, world.databases()["file"])
    assert [(statement, outcome) for statement, outcome in done if outcome.table is not None] == []
    assert {outcome.failure.kind for _, outcome in done} <= {"memory", "timeout", "error", "too_large"}
    assert 20 < watch.most_mib < 500


def test_a_result_ends_at_its_size(world):
    done = world.run_all("size", replace(LIMITS, timeout_s=120), world.databases()["file"])
    assert {outcome.failure.kind for _, outcome in done if outcome.failure} <= {"too_large", "memory"}
    assert [statement for statement, outcome in done if outcome.failure is None] == []


def test_the_parser_does_not_fall_over(world):
    done = world.run_all("parser", SHORT, world.databases()["file"])
    assert [
        (statement, outcome.failure)
        for statement, outcome in done
        if outcome.failure and "crash" in outcome.failure.message
    ] == []


def test_the_original_is_open_to_others_while_it_is_read(world):
    with duckdb.connect(str(world.victim)) as connection:
        done = world.sandbox.run(Database("duckdb", file=world.victim), TOTAL)
        assert connection.execute(TOTAL).fetchone() == done.table.rows[0]


def test_rows_that_stand_only_in_the_log_beside_the_file_are_seen(world, tmp_path):
    path = tmp_path / "live.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a INT)")
        connection.execute("CHECKPOINT")
        connection.execute("INSERT INTO t VALUES (7)")
        assert (tmp_path / "live.duckdb.wal").exists()
        done = world.sandbox.run(Database("duckdb", file=path), "FROM t")
    assert done.failure is None
    assert list(done.table.rows) == [(7,)]


@pytest.mark.parametrize("name", ["a?b=c.duckdb", "a b.duckdb", "a';b.duckdb", "数据.duckdb", "temp.duckdb", "no_end"])
def test_a_file_may_have_any_name(world, tmp_path, name):
    with duckdb.connect(str(tmp_path / name)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 7 AS a")
    done = world.sandbox.run(Database("duckdb", file=tmp_path / name), "FROM t")
    assert done.failure is None
    assert list(done.table.rows) == [(7,)]


def test_memory_that_duckdb_calls_an_internal_error_is_told_as_memory(world):
    query = "SELECT reservoir_quantile(i, 0.5, 1000000000) FROM range(1000000000) t(i)"
    done = world.sandbox.run(Database("duckdb"), query, limits=replace(LIMITS, timeout_s=20))
    assert done.failure.kind == "memory"


def test_a_query_may_name_the_database_as_its_file_is_named(world):
    done = world.sandbox.run(Database("duckdb", file=world.victim), "SELECT count(*) FROM victim.main.staff")
    assert done.failure is None
    assert list(done.table.rows) == [(4,)]
