"""Datasets of many kinds, each with queries: what the sandbox returns is what the engine itself returns."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest
from tests.sql.corpus_reader import CORPUS
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits

LIMITS = SqlLimits(timeout_s=20)


def scripts(engine):
    """(script, its (create, query) pairs), of which every second is tried."""
    groups = json.loads((CORPUS / f"{engine}_scripts.json").read_text(encoding="utf-8"))
    taken = itertools.cycle([True, times(False, True)])
    return [
        (
            group["script"],
            [tuple(query) if isinstance(query, list) else ("", query) for query in group["queries"] if next(taken)],
        )
        for group in groups
    ]


@contextlib.contextmanager
def sqlite_itself(script):
    def run(create, query):
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(script.replace("VACUUM;", ""))
            connection.execute(create.rstrip("; ") if create.endswith("; ;") else create)
            # Python takes text as UTF-8 or not at all, and nothing but blanks behind the closing `;`.
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            cursor = connection.execute(query.partition("; /* after */")[0])
            return tuple(column[0] for column in cursor.description or ()), cursor.fetchall()

    yield run


@contextlib.contextmanager
def duckdb_of(script):
    with duckdb.connect(":memory:") as connection:
        for setting in ("TimeZone = 'UTC'", "threads = 1", "python_enable_replacements = false"):
            connection.execute(f"SET {setting}")
        connection.execute(script.lstrip("\ufeff") or "SELECT 1")
        with contextlib.suppress(duckdb.TransactionException):
            connection.execute("COMMIT")
        yield connection


@contextlib.contextmanager
def duckdb_itself(script):
    """Opening DuckDB is dear: one instance for all plain queries of a script; others could leave something in it."""

    def result(connection, query):
        connection.execute(query)
        return tuple(column[0] for column in connection.description or ()), connection.fetchall()

    with duckdb_of(script) as shared:

        def run(create, query):
            if not create and query.upper().startswith(("SELECT", "WITH", "FROM", "VALUES")):
                return result(shared, query)
            with duckdb_of(script) as own:
                own.execute(create or "SELECT 1")
                return result(own, query)

        yield run


def plain(value):
    """Rows and arrays, which DuckDB gives as tuples, as lists."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return {str(key): plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def differing(sandbox, engine, itself):
    """Of each statement that comes out otherwise: what the engine said, and what the sandbox."""

    def one(run, script, create, query):
        try:
            wanted = run(create, query)
        except (sqlite3.Error, duckdb.Error):
            wanted = "error"
        done = sandbox.run(Database(engine, script=script), query, create=create, limits=LIMITS)
        found = done.failure.kind if done.failure else (done.table.columns, done.table.rows)
        return None if repr(plain(found)) == repr(plain(wanted)) else (create, query, wanted, done)

    def of_script(group):
        script, queries = group
        with itself(script) as run:
            return [one(run, script, *query) for query in queries]

    with ThreadPoolExecutor(2) as threads:
        return [wrong for found in threads.map(of_script, scripts(engine)) for wrong in found if wrong]


def test_sqlite_runs_every_script_and_query_of_the_corpus_as_it_does_itself(sandbox):
    assert differing(sandbox, "sqlite", sqlite_itself) == []


def test_duckdb_runs_every_script_and_query_of_the_corpus_as_it_does_itself(sandbox):
    assert differing(sandbox, "duckdb", duckdb_itself) == []


def test_a_dump_as_python_writes_it_is_a_script(sandbox):
    with contextlib.closing(sqlite3.connect(":memory:")) as source:
        source.executescript("""
            CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT DEFAULT 'x;y'); CREATE INDEX i ON a(b);
            INSERT INTO a(b) VALUES ('it''s; fine'), ('line' || char(10) || 'two'), (NULL); ANALYZE;
            CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET b = CASE WHEN b THEN 1 ELSE 2 END WHERE 0; END;
            CREATE VIEW v AS SELECT count(*) AS n FROM a;
        """)
        script = "\n".join(source.iterdump())
        wanted = source.execute("SELECT * FROM a, v").fetchall()
    done = sandbox.run(Database(script=script), "SELECT * FROM a, v")
    assert done.table.rows == wanted


def test_a_script_of_ten_thousand_inserts_is_run_whole(sandbox):
    inserts = "\n".join(f"INSERT INTO a VALUES ({number}, 'it''s; {number}');" for number in range(10_000))
    done = sandbox.run(Database(script=f"CREATE TABLE a(x, y);\n{inserts}"), "SELECT count(*), max(y), sum(x) FROM a")
    assert done.table.rows == [(10_000, "it's; 9999", 49_995_000)]


def test_a_script_that_fails_late_names_its_statement_and_was_run_once(sandbox):
    script = "CREATE TABLE a(x); INSERT INTO a VALUES (1); VACUUM; INSERT INTO nowhere VALUES (2)"
    done = sandbox.run(Database(script=script), "SELECT 1")
    assert (done.failure.part, done.failure.message) == ("script", "statement 4: no such table: nowhere")
    done = sandbox.run(Database(script=script.rpartition(";")[0]), "SELECT * FROM a")
    assert done.table.rows == [(1,)]


@pytest.mark.parametrize("statement", ["VACUUM INTO 'x'", "VACUUM main INTO 'x'", "PRAGMA writable_schema = ON"])
def test_what_reaches_outside_in_a_script_is_denied(sandbox, statement):
    done = sandbox.run(Database(script=f"CREATE TABLE a(x); {statement}"), "SELECT 1")
    assert (done.failure.kind, done.failure.part) == ("denied", "script")
    assert done.failure.message.startswith("statement 2: denied")


@pytest.mark.parametrize("name", ["csv", "zipfile", "fsdir", "vsv"])
def test_a_table_may_have_the_name_of_a_module_that_is_not_there(sandbox, name):
    done = sandbox.run(
        Database(script=f"CREATE TABLE {name}(a); INSERT INTO {name} VALUES (1)"), f"SELECT a FROM {name}"
    )
    assert done.table.rows == [(1,)]
