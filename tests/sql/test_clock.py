"""The clock of an engine, pinned for one query, and queries that ask for it."""

import sqlite3

import duckdb
import pytest

from steelyard.errors import ConfigError
from steelyard.sql.clock import check_now, reads_clock
from steelyard.sql.results import Database, SqlLimits

NOW = "2024-03-31T12:00:00"


def value(sandbox, database, expression):
    execution = sandbox.run(database, f"SELECT CAST({expression} AS VARCHAR)")
    assert execution.failure is None, execution
    return execution.table.rows[0][0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("date('now')", "2024-03-31"),
        ("date('NOW', 'start of month', '-1 day')", "2024-02-29"),
        ("date()", "2024-03-31"),
        ("datetime('now', '+30 minutes')", "2024-03-31 12:30:00"),
        ("time('now')", "12:00:00"),
        ("julianday('now')", "2460401.0"),
        ("unixepoch()", "1711886400"),
        ("strftime('%Y/%m')", "2024/03"),
        ("strftime('%d', 'now')", "31"),
        ("CURRENT_DATE", "2024-03-31"),
        ("CURRENT_TIME", "12:00:00"),
        ("current_timestamp", "2024-03-31 12:00:00"),
        ("date('2020-02-28', '+1 day')", "2020-02-29"),
        ("strftime('%Y', 0, 'unixepoch')", "1970"),
        ("coalesce(date(NULL), date('no date'), 'none')", "none"),
    ],
)
def test_sqlite_computes_dates_from_the_pinned_moment(sandbox, expression, expected):
    assert value(sandbox, Database(now=NOW), expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *[(name, "2024-03-31 12:00:00+00") for name in ("now()", "current_timestamp", "get_current_timestamp()")],
        ("transaction_timestamp()", "2024-03-31 12:00:00+00"),
        *[(name, "2024-03-31") for name in ("current_date", "today()")],
        *[(name, "12:00:00+00") for name in ("current_time", "get_current_time()")],
        *[(name, "12:00:00") for name in ("localtime", "current_localtime()")],
        *[(name, "2024-03-31 12:00:00") for name in ("localtimestamp", "current_localtimestamp()")],
        ("age(TIMESTAMP '2024-03-01')", "30 days"),
        ("age(DATE '2024-03-31', DATE '2024-03-30')", "1 day"),
        ("date_diff('day', DATE '2024-01-31', current_date)", "60"),
        ("pg_catalog.now()", "2024-03-31 12:00:00+00"),
        ("system . main.today()", "2024-03-31"),
        ("memory.main.get_current_timestamp()", "2024-03-31 12:00:00+00"),
        (
            """system.now()::VARCHAR || ' pg_catalog.now()' || "main"."today"()""",
            "2024-03-31 12:00:00+00 pg_catalog.now()2024-03-31",
        ),
        ("system.main.age(TIMESTAMP '2024-03-01')", "30 days"),
        ("DATE '2024-03-01'.age()", "30 days"),
    ],
)
def test_duckdb_answers_with_the_pinned_moment(sandbox, expression, expected):
    for _ in range(2):  # on a new instance and on one that was kept
        assert value(sandbox, Database("duckdb", now=NOW), expression) == expected


def test_a_pinned_clock_ends_with_its_query(sandbox):
    for engine in ("sqlite", "duckdb"):
        assert value(sandbox, Database(engine, now=NOW), "CURRENT_DATE") == "2024-03-31"
        assert value(sandbox, Database(engine), "CURRENT_DATE") > "2024-03-31"
        assert value(sandbox, Database(engine, now="2001-02-03"), "CURRENT_DATE") == "2001-02-03"


@pytest.mark.parametrize(
    ("engine", "defaults"),
    [
        ("sqlite", "(strftime('%f', 'now')), r TEXT DEFAULT (hex(randomblob(8))), n INT DEFAULT (random())"),
        ("duckdb", "now(), r UUID DEFAULT gen_random_uuid(), n DOUBLE DEFAULT random()"),
    ],
)
def test_a_script_builds_the_same_for_each_query(sandbox, engine, defaults):
    script = f"CREATE TABLE t (made TEXT DEFAULT {defaults}, a INT); INSERT INTO t (a) VALUES (1), (2)"
    columns = "made, CAST(r AS VARCHAR), n"
    first = sandbox.run(Database(engine, script=script), f"SELECT {columns} FROM t ORDER BY a")
    # Another limit, so that another process builds it.
    limits = SqlLimits(memory_mib=600)
    second = sandbox.run(Database(engine, script=script), f"SELECT {columns} FROM t ORDER BY a", limits=limits)
    assert first.table.rows == second.table.rows
    assert len({row[1] for row in first.table.rows}) == 2
    draws = {sandbox.run(Database(engine, script=script), "SELECT random() FROM t").table.rows[0] for _ in range(2)}
    assert len(draws) == 2


def test_views_defaults_and_files_ask_the_pinned_clock_too(sandbox, tmp_path):
    script = "CREATE TABLE t (a INT, made TEXT DEFAULT CURRENT_DATE); INSERT INTO t (a) VALUES (1); "
    script += "CREATE VIEW v AS SELECT CURRENT_DATE AS d, made FROM t"
    for engine in ("sqlite", "duckdb"):
        rows = sandbox.run(
            Database(engine, script=script, now=NOW), "SELECT CAST(d AS VARCHAR), made FROM v"
        ).table.rows
        assert rows == [("2024-03-31", "2024-03-31")]
    with duckdb.connect(tmp_path / "a.duckdb") as opened:
        opened.execute(script)
    database = Database("duckdb", tmp_path / "a.duckdb", now=NOW)
    assert sandbox.run(database, "SELECT CAST(d AS VARCHAR) FROM v").table.rows == [("2024-03-31",)]
    assert sandbox.run(database, "SELECT CAST(a.main.today() AS VARCHAR)").table.rows == [("2024-03-31",)]
    with sqlite3.connect(tmp_path / "a.sqlite") as opened:
        opened.executescript(script)
    opened.close()
    database = Database("sqlite", tmp_path / "a.sqlite", now=NOW)
    assert sandbox.run(database, "SELECT d FROM v").table.rows == [("2024-03-31",)]
    assert sandbox.run(database, "DELETE FROM t").failure.kind == "denied"


@pytest.mark.parametrize("now", ["soon", "31.03.2024", 5])
def test_a_moment_that_is_none_is_refused(now):
    with pytest.raises(ConfigError, match="now: expected a time stamp in UTC"):
        check_now(now)


@pytest.mark.parametrize(
    ("engine", "query", "part"),
    [
        ("sqlite", "SELECT strftime('%Y', 'now') - year FROM t", "strftime('%Y', 'now')"),
        ("sqlite", "SELECT * FROM t WHERE d < CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
        ("sqlite", "SELECT date(), 1", "date()"),
        ("sqlite", "SELECT strftime('%Y', d), date(d), 'now' FROM t", ""),
        ("sqlite", "SELECT now, today FROM t -- date('now')", ""),
        ("duckdb", "SELECT id FROM t WHERE d > today() - 30", "today()"),
        ("duckdb", "SELECT age(d), age(d, e) FROM t", "age(d)"),
        ("duckdb", 'SELECT age(d, e), t.now, "current_date" FROM t', ""),
        ("duckdb", "SELECT localtimestamp", "localtimestamp"),
        ("duckdb", "SELECT a FROM t WHERE d < pg_catalog.now()", "pg_catalog.now()"),
        ("duckdb", "SELECT system.main.age(d), a FROM t", "system.main.age(d)"),
        ("duckdb", "SELECT d.age() FROM t", "age()"),
        ("duckdb", 'SELECT "main"."today"()', '"main"."today"()'),
        ("duckdb", "SELECT system.main.age(d, e), main.now, d.age(e), main.current_date FROM main", ""),
        ("sqlite", """SELECT "date"('now')""", """"date"('now')"""),
    ],
)
def test_queries_that_ask_for_the_time_are_told(engine, query, part):
    assert reads_clock(query, engine) == part
