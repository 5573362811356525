"""Legitimate SQLite statements: none is refused, each returns what SQLite returns in process."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from tests.sql.corpus_reader import CORPUS, read_corpus

from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.statements import main_verb, split

SCRIPT = (CORPUS / "legitimate_sqlite.script.sql").read_text(encoding="utf-8")
STATEMENTS = read_corpus("legitimate_sqlite")
PRIVATE = ("random", "total_changes")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("legitimate") / "a b?#%41 中.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return path


def in_process(create, query, start):
    """What plain sqlite3 makes of it: rows, or the message of its error."""
    with contextlib.closing(start()) as connection:
        try:
            if create:
                connection.execute(create)
            cursor = connection.execute(query.lstrip("\ufeff").rstrip("; "))
            return tuple(column[0] for column in cursor.description), cursor.fetchall()
        except sqlite3.Error as error:
            return str(error)


def scratch():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCRIPT)
    return connection


def outcome(done):
    return done.failure.message if done.failure else (done.table.columns, list(done.table.rows))


@pytest.mark.parametrize(
    ("create", "query"), STATEMENTS, ids=[" | ".join(statement).strip(" |")[:60] for statement in STATEMENTS]
)
def test_a_legitimate_statement_returns_what_sqlite_returns(sandbox, create, query):
    done = sandbox.run(Database(script=SCRIPT), query, create=create)
    wanted = in_process(create, query, scratch)
    assert done.failure is None or done.failure.kind == "error"
    assert outcome(done) == wanted


def test_legitimate_statements_return_the_same_from_a_file(sandbox, file):
    wrong = []
    for create, query in STATEMENTS:
        if create or "page_size" in query:
            continue
        wanted = in_process(
            "",
            query,
            lambda: sqlite3.connect(
                f"file:{file.as_posix().replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True
            ),
        )
        if outcome(sandbox.run(Database(file=file), query)) != wanted:
            wrong.append(query)
    assert wrong == []


def long_queries():
    yield "SELECT count(*) FROM emp WHERE id IN (" + ",".join(map(str, range(2000))) + ")"
    yield "SELECT count(*) FROM emp WHERE id IN (VALUES " + ",".join(f"({n})" for n in range(2000)) + ")"
    yield "SELECT " + "(" * 40 + "1" + ")" * 40
    yield "SELECT " + "+".join(["1"] * 900)
    yield "SELECT * FROM " + "(SELECT * FROM " * 15 + "emp" + ")" * 15
    yield (
        "SELECT count(*) FROM "
        + " JOIN ".join(f"dept d{n}" for n in range(1))
        + "".join(f" JOIN dept d{n} ON d{n}.id = d{n - 1}.id" for n in range(1, 50))
    )
    yield "SELECT " + ", ".join(f"{n} AS c{n}" for n in range(1500))
    yield " UNION ALL ".join(f"SELECT {n}" for n in range(400))
    yield "WITH " + ", ".join(f"a{n} AS (SELECT {n} AS x)" for n in range(200)) + " SELECT x FROM a199"
    yield "SELECT CASE " + " ".join(f"WHEN 5 = {n} THEN {n}" for n in range(900)) + " END"
    yield "SELECT '" + "长" * 200_000 + "' AS x"
    yield "SELECT 1 /* " + "comment; " * 50_000 + "*/"
    yield "SELECT * FROM emp WHERE " + " OR ".join(f"id = {n}" for n in range(900))
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    yield numbers + "SELECT i, i * 0.1, 'n' || i FROM n"


@pytest.mark.parametrize("query", tuple(long_queries()), ids=lambda query: query[:30])
def test_a_long_legitimate_statement_is_not_refused(sandbox, query):
    done = sandbox.run(Database(script=SCRIPT), query)
    assert outcome(done) == in_process("", query, scratch)
    assert done.failure is None


def test_text_that_is_no_utf8_comes_through(sandbox):
    done = sandbox.run(Database(), "SELECT CAST(x'ff41' AS TEXT), 'é', x'ff'")
    assert done.table.rows == [("\udcffA", "é", b"\xff")]


def test_values_keep_their_kind_across_the_processes(sandbox):
    query = "SELECT 1, 1.0, 9223372036854775807, 1e999, -1e999, NULL, '', x'', 'é\ud83d\ude00'"
    done = sandbox.run(Database(), query.encode("utf-16", "surrogatepass").decode("utf-16"))
    assert repr(done.table.rows) == repr([(1, 1.0, 2**63 - 1, float("inf"), float("-inf"), None, "", b"", "é😀")])


def test_a_long_text_and_a_long_blob_come_through(sandbox):
    done = sandbox.run(Database(), "SELECT 1, hex(zeroblob(2000000)), zeroblob(3000000), 'x'")
    assert done.table.rows == [(1, "0" * 4_000_000, bytes(3_000_000), "x")]


def test_columns_of_one_name_stay_apart(sandbox):
    assert sandbox.run(Database(), "SELECT 1 AS a, 2 AS a").table.columns == ("a", "a")


def test_an_error_names_what_is_missing(sandbox):
    done = sandbox.run(Database(), "SELECT * FROM nowhere")
    assert (done.failure.kind, done.failure.message, done.failure.part) == ("error", "no such table: nowhere", "query")


def test_an_error_in_a_script_names_the_statement(sandbox):
    done = sandbox.run(Database(script="CREATE TABLE a(b);\nINSERT INTO nowhere VALUES (1)"), "SELECT 1")
    assert done.failure.message == "statement 2: no such table: nowhere"
    assert done.failure.part == "script"


def test_the_deadline_covers_script_create_and_query_together(sandbox):
    busy = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 30000000) SELECT count(*) AS n FROM a"
    limits = SqlLimits(timeout_s=0.2)
    done = sandbox.run(
        Database(script="CREATE TABLE a(b)"), "SELECT * FROM t", create=f"CREATE TABLE t AS {busy}", limits=limits
    )
    assert (done.failure.kind, done.failure.part) == ("timeout", "create")


def test_a_trigger_is_one_statement():
    script = "CREATE TEMP TRIGGER a AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; SELECT ';'; END; SELECT 2"
    assert [statement.verb for statement in split(script)] == ["CREATE", "SELECT"]


def test_a_transaction_is_no_trigger():
    assert len(split("BEGIN; INSERT INTO t VALUES (1); END; SELECT 1")) == 4


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("WITH a AS (SELECT 1) SELECT 1", "SELECT"),
        ("WITH replace(a) AS (SELECT 1) DELETE FROM t", "DELETE"),
        ("WITH [x)] AS (SELECT ')') UPDATE t SET a = 1", "UPDATE"),
        ("EXPLAIN QUERY PLAN DROP TABLE t", "DROP"),
        ("/* WITH */ select 1", "SELECT"),
        ("(SELECT 1)", ""),
        ("WITH", ""),
    ],
)
def test_the_verb_is_found_behind_the_parts_of_with(text, verb):
    assert main_verb(text) == verb
