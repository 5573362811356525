"""Datasets of many kinds, each with queries: what the sandbox returns is what the engine itself returns."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest
from tests.sql.corpus_reader import CORPUS
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox

LIMITS = SqlLimits(timeout_s=20)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=2) as opened:
        yield opened


def statements(engine):
    groups = json.loads((CORPUS / f"{engine}_scripts.json").read_text(encoding="utf-8"))
    return [
        (group["script"], *(one if isinstance(one, list) else ("", one)))
        for group in groups
        for one in group["queries"]
    ]


def sqlite_itself(script, create, query):
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(script.replace("VACUUM;", ""))
        connection.execute(create.rstrip("; ") if create.endswith("; ;") else create)
        # Python takes text as UTF-8 or not at all, and nothing but blanks behind the closing `;`.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        cursor = connection.execute(query.partition("; /* after */")[0])
        return tuple(column[0] for column in cursor.description or ()), cursor.fetchall()


def duckdb_itself(script, create, query):
    with duckdb.connect(":memory:") as connection:
        for setting in ("TimeZone = 'UTC'", "threads = 1", "python_enable_replacements = false"):
            connection.execute(f"SET {setting}")
        connection.execute(script.lstrip("\ufeff") or "SELECT 1")
        with contextlib.suppress(duckdb.TransactionException):
            connection.execute("COMMIT")
        connection.execute(create or "SELECT 1")
        connection.execute(query)
        return tuple(column[0] for column in connection.description or ()), connection.fetchall()


def plain(value):
    """Rows and arrays, which DuckDB gives as tuples, as lists."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return {str(key): plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def differing(sandbox, engine, itself):
    """Of each statement that comes out otherwise: what the engine said, and what the sandbox."""

    def one(statement):
        script, create, query = statement
        try:
            wanted = itself(*statement)
        except (sqlite3.Error, duckdb.Error):
            wanted = "error"
        done = sandbox.run(Database(engine, script=script), query, create=create, limits=LIMITS)
        found = done.failure.kind if done.failure else (done.table.columns, done.table.rows)
        return None if repr(plain(found)) == repr(plain(wanted)) else (create, query, wanted, done)

    with ThreadPoolExecutor(2) as threads:
        return [found for found in threads.map(one, statements(engine)[:: times(2, 1)]) if found]


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
