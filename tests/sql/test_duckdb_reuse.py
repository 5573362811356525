"""An instance of DuckDB that is used again: what any statement did before cannot be seen in the next result.

Statements run on one worker process, one after the other, as the sandbox runs them, but that the worker stays after
failures too.
"""

import json
import re
import socket
import tempfile
from pathlib import Path

import duckdb
import pytest
from tests.sql.test_hostile_duckdb import BUILDING, BUILT, HOSTILE, KEPT, SCRIPT, TOTAL
from tests.thorough import times

from steelyard.sql.engines.engine import EngineQuery
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.workers import processes
from steelyard.sql.workers.processes import Template

LEGITIMATE = json.loads((Path(__file__).parent / "corpus/duckdb_legitimate.json").read_text())
LIMITS = SqlLimits(timeout_s=5, max_rows=1000, memory_mib=128)
SHORT = SqlLimits(timeout_s=0.05, max_rows=1000, memory_mib=128)
WATCHED = ("TimeZone", "threads", "memory_limit", "default_order", "default_null_order", "lock_configuration", "schema")
NORMAL = f"""
    SELECT ({TOTAL}), add_one(1), (SELECT count(*) FROM ops), (SELECT count(*) FROM well_paid(100)),
        (SELECT string_agg(schema_name || '.' || table_name, ' ' ORDER BY table_oid) FROM duckdb_tables()),
        (SELECT string_agg(view_name, ' ' ORDER BY view_name) FROM duckdb_views() WHERE NOT internal),
        (SELECT count(*) FROM duckdb_schemas()), (SELECT string_agg(name, ' ' ORDER BY name) FROM staff),
        current_schema(), current_database(), getvariable('x'),
        {", ".join(f"current_setting('{name}')" for name in WATCHED)}
"""
STATE = [
    "SELECT setseed(0.5)",
    'SELECT "setseed" /* a */ (0.5)',
    "SELECT seeded(0.5)",
    "SELECT * FROM seed_view",
    "SELECT write_log('x')",
    "SELECT nextval('ids')",
    "SELECT setval('ids', 90)",
    "SELECT counted()",
    "SELECT * FROM query('SELECT setseed(0.5)')",
    "SELECT * FROM query('SELECT set' || 'seed(0.5)')",
    "FROM enable_logging()",
    "FROM enable_profiling()",
    "FROM checkpoint()",
    "FROM truncate_duckdb_logs()",
    "SET VARIABLE x = 7",
    "SET threads = 3",
    "SET schema = 'other'",
    "SET default_order = 'desc'",
    "RESET lock_configuration",
    "USE other",
    "PRAGMA default_null_order = 'NULLS FIRST'",
    "CREATE TEMP TABLE staff AS SELECT 0 AS pay",
    "CREATE OR REPLACE MACRO add_one(x) AS x + 2",
    "ATTACH ':memory:' AS more",
    "PREPARE p AS SELECT 1",
    "BEGIN; UPDATE staff SET pay = 0; COMMIT",
    "WITH gone AS (DELETE FROM staff RETURNING *) SELECT * FROM gone",
    "WITH more AS (INSERT INTO staff VALUES (9, 'Zed', 'ops', 1, 1) RETURNING *) FROM more",
    "PIVOT staff ON dept USING sum(pay)",
    "EXPLAIN ANALYZE SELECT * FROM staff",
    "SELECT nothing FROM staff",
    "SELEC 1",
    "SELECT 1 FROM staff WHERE error('stop')",
    ["CREATE TEMP MACRO add_one(x) AS x + 2", "SELECT add_one(1)"],
    ["CREATE OR REPLACE MACRO add_one(x) AS x + 2", "SELECT add_one(1)"],
    ["CREATE OR REPLACE VIEW ops AS SELECT 1 AS a", "SELECT * FROM ops"],
    ["CREATE TEMP VIEW ops AS SELECT 1 AS a", "SELECT * FROM ops"],
    ["CREATE OR REPLACE TABLE staff AS SELECT 1 AS pay", "SELECT * FROM staff"],
    ["CREATE SCHEMA more", "SELECT 1"],
]
HIDDEN = SCRIPT + (
    "CREATE MACRO seeded(x) AS setseed(x); CREATE VIEW seed_view AS SELECT setseed(0.5);"
    "CREATE MACRO counted() AS nextval('ids');"
)
"""A script that does not only build, so that it is run for each query."""


class OneWorker:
    """A worker that is replaced only where its process has ended."""

    def __init__(self, folder):
        self.template = Template("duckdb", folder)
        self.worker = None

    def run(self, create, query, file="", script="", limits=LIMITS):
        if self.worker is None or not self.worker.pid or not self.worker.waits:
            self.close()
            self.worker = self.template.fork()
        done = self.worker.run(EngineQuery("duckdb", file, script, create, query, limits))
        if done.failure and done.failure.message == "killed at the deadline":
            self.worker.end()
        return done

    def close(self):
        if self.worker is not None:
            self.worker.end()


@pytest.fixture(scope="module")
def one():
    with tempfile.TemporaryDirectory(prefix="steelyard-sql-") as folder:
        with duckdb.connect(f"{folder}/victim.duckdb") as connection:
            connection.execute(HIDDEN)
        one = OneWorker(Path(folder))
        one.file = f"{folder}/victim.duckdb"
        # A loop that hears no interrupt burns all of the grace that it is given.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(processes, "GRACE_S", times(0.2, processes.GRACE_S))
            yield one
        one.close()
        one.template.close()


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def filled(text, one, port):
    for mark, built in BUILT.items():
        text = text.replace(mark, built)
    text = text.replace("{victim}", one.file).replace("{folder}", str(Path(one.file).parent))
    return text.replace("{port}", str(port))


def scripts(statements):
    """(script, statements): on a database that is kept, but for those that need what is hidden in the other."""
    hidden = [text for text in statements if re.search(r"seeded|seed_view|counted|numbered|ids", str(text))]
    kept = [text for text in statements if text not in hidden]
    return [(script, texts) for script, texts in ((HIDDEN, hidden), (KEPT, kept)) if texts]


def differing_on_scripts(one, port, statements, limits=LIMITS):
    """The same as `differing`, on scratch databases."""
    wrong, survived = [], 0
    for script, texts in scripts(statements):
        found, share = differing(one, port, texts, limits, script=script)
        wrong += found
        survived += share * len(texts) / len(statements)
    return wrong, survived


def differing(one, port, statements, limits=LIMITS, **where):
    """Of each statement after which a normal one comes out otherwise: what came; and how often the worker survived."""
    wrong, survived = [], 0
    wanted = one.run("", NORMAL, **where)
    assert wanted.failure is None
    for statement in statements:
        create, query = statement if isinstance(statement, list) else ("", statement)
        before = one.worker
        one.run(filled(create, one, port), filled(query, one, port), **where, limits=limits)
        after = one.run("", NORMAL, **where)
        survived += one.worker is before
        if (after.failure, after.table) != (None, wanted.table):
            wrong.append((statement, after))
    return wrong, survived / len(statements)


@pytest.mark.parametrize("family", HOSTILE)
def test_a_result_is_the_same_on_the_worker_that_ran_a_hostile_statement(one, port, family):
    exhausting = family in {"endless", "memory", "size", "parser"}
    limits = SHORT if exhausting else LIMITS
    statements = HOSTILE[family][:: times(3, 1)]
    if family in BUILDING:
        wrong, survived = differing_on_scripts(one, port, statements, limits)
    else:
        wrong, survived = differing(one, port, statements, limits, file=one.file)
    assert wrong == []
    assert survived > (0 if exhausting else 0.9)


def test_a_result_is_the_same_after_statements_that_would_change_an_instance(one, port):
    assert differing(one, port, STATE, file=one.file) == ([], 1)
    wrong, survived = differing_on_scripts(one, port, STATE)
    assert wrong == []
    assert survived == pytest.approx(1)


@pytest.mark.parametrize("family", LEGITIMATE)
def test_a_result_is_the_same_after_a_legitimate_statement(one, port, family):
    wrong, survived = differing(one, port, LEGITIMATE[family][:: times(3, 1)], file=one.file)
    assert wrong == []
    assert survived == 1


@pytest.mark.parametrize("seeding", ["SELECT setseed(0.5)", "SELECT seeded(0.5)", "SELECT * FROM seed_view"])
def test_a_seed_ends_with_its_statement(one, seeding):
    drawn = set()
    for _ in range(3):
        one.run("", seeding, file=one.file)
        drawn |= set(one.run("", "SELECT random() FROM staff", file=one.file).table.rows)
    assert len(drawn) == 12


def test_two_workers_draw_different_numbers(one):
    first = one.run("", "SELECT random(), uuid()").table.rows
    one.worker.end()
    assert one.run("", "SELECT random(), uuid()").table.rows != first


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT 1", "VALUES (1)", "WITH a AS (SELECT 1) FROM a", "FROM staff", "TABLE staff", "(SELECT 1)"),
        *("SELECT count(*) FROM duckdb_tables()", "SELECT random()", "SELECT 'setseed' AS version, 1 AS query"),
        *("SELECT nothing", "SELECT * FROM nowhere", "SELEC 1", "DROP TABLE staff", "SET threads = 3"),
        *("SELECT 1; SELECT 2", "", "EXPLAIN DELETE FROM staff"),
    ],
)
def test_a_plain_select_and_what_is_refused_before_it_runs_leave_the_database_open(one, query):
    one.run("", "SELECT 1", file=one.file)
    one.run("", query, file=one.file)
    assert one.worker.keeps == (one.file, "")
    one.run("", "SELECT write_log('a')", file=one.file)
    one.run("", query, file=one.file)
    assert one.worker.keeps == (one.file, "")
    assert one.run("", "SELECT count(*) FROM staff", file=one.file).table.rows == [(4,)]


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT setseed(0.5)", "SELECT SETSEED (0.5)", 'SELECT "setseed"(0.5)', "SELECT setseed--\n(0.5)"),
        *("SELECT setseed\u00a0(0.5)", "SELECT (0.5).setseed()", "FROM query('SELECT 1')", "SELECT write_log('a')"),
        *("EXPLAIN SELECT 1", "PIVOT staff ON dept USING sum(pay)", "PRAGMA table_info('staff')", "SHOW TABLES"),
        *("SELECT 1 FROM staff WHERE error('stop')", "CALL range(3)", "FROM duckdb_settings()"),
        *("FROM query('SELECT nothing')", "PIVOT staff ON nothing USING sum(pay)"),
    ],
)
def test_anything_else_gets_a_new_instance_and_leaves_none(one, query):
    one.run("", "SELECT 1", file=one.file)
    one.run("", query, file=one.file)
    assert one.worker.keeps is None


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("CREATE TABLE t(a INT); INSERT INTO t VALUES (1); UPDATE t SET a = 2", True),
        ("BEGIN; CREATE TABLE t(a INT); COMMIT", True),
        ("CREATE TABLE t(a INT); SET VARIABLE x = 7", False),
        ("CREATE SCHEMA s; USE s; CREATE TABLE t(a INT)", False),
        ("CREATE TEMP TABLE t(a INT)", False),
        ("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT 1", False),
    ],
)
def test_a_script_that_leaves_something_in_its_session_is_run_for_each_query(one, script, kept):
    found = [one.run("", "SELECT getvariable('x'), count(*) FROM t", script=script) for _ in range(3)]
    assert len({repr(done.table) for done in found}) == 1
    assert (one.worker.keeps is not None) == kept


def test_a_model_s_create_is_gone_for_the_next_query(one):
    script = "CREATE TABLE t(a INT)"
    assert one.run("CREATE TABLE u AS SELECT 1 AS a", "FROM u", script=script).table.rows == [(1,)]
    assert one.run("", "FROM u", script=script).failure.kind == "error"
    assert one.run("", "FROM t", script=script).table.rows == []


def test_what_is_written_to_a_file_between_two_queries_is_seen(tmp_path):
    path = tmp_path / "live.duckdb"
    with Sandbox(workers=1) as sandbox:
        for number in range(3):
            with duckdb.connect(str(path)) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS t (a INT)")
                connection.execute(f"INSERT INTO t VALUES ({number})")
            found = [sandbox.run(Database("duckdb", file=path), "SELECT a FROM t ORDER BY a") for _ in range(2)]
            assert [done.table.rows for done in found] == [[(n,) for n in range(number + 1)]] * 2


def test_databases_in_turn_are_not_mixed_up(tmp_path):
    for number in range(3):
        with duckdb.connect(str(tmp_path / f"{number}.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT {number} AS a")
    databases = [Database("duckdb", file=tmp_path / f"{number}.duckdb") for number in range(3)]
    databases += [Database("duckdb", script=f"CREATE TABLE t AS SELECT {number} AS a") for number in range(3, 6)]
    with Sandbox(workers=2) as sandbox:
        for _ in range(3):
            found = [sandbox.run(database, "FROM t") for database in databases]
            assert [done.table.rows[0][0] for done in found] == [0, 1, 2, 3, 4, 5]


def test_a_memory_limit_other_than_the_usual_one_holds(one):
    query = "SELECT string_agg(repeat('x', 1000)) FROM range(100_000)"
    assert one.run("", query, limits=SqlLimits(memory_mib=64)).failure.kind == "memory"
