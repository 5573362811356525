"""Statements that change data run on copies: what they change is the result, and nothing else is ever changed."""

import sqlite3
import time
from dataclasses import replace

import duckdb
import pytest
from tests.thorough import times

from steelyard.sql.changed_data import changes_data, judge_changes
from steelyard.sql.engines.engine import COLUMNS
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import Database, ResultTable, SqlLimits

SCRIPT = """
CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, pay DOUBLE CHECK (pay > 0));
CREATE TABLE log (what TEXT);
CREATE TABLE task (id INT, owner INT REFERENCES staff (id));
INSERT INTO staff VALUES (1, 'Ann', 100), (2, 'Bo', 90);
INSERT INTO task VALUES (1, 1);
"""
ENGINES = ["sqlite", "duckdb"]
LIMITS = SqlLimits(timeout_s=3.0, max_rows=1000)
SHORT = replace(LIMITS, timeout_s=times(0.3, 3.0))
ENDLESS = "INSERT INTO log WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
HOSTILE = [
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "BEGIN; DELETE FROM staff; COMMIT",
    "DELETE FROM staff; DELETE FROM log",
    "DELETE FROM log; ATTACH '{outside}' AS other",
    "ATTACH '{outside}' AS other",
    "DETACH main",
    "VACUUM INTO '{outside}'",
    "PRAGMA journal_mode = DELETE",
    "EXPLAIN COMMIT",
    "CREATE TEMP TABLE hidden (a INT)",
    "COPY staff TO '{outside}'",
    "EXPORT DATABASE '{outside}'",
    "INSERT INTO log SELECT * FROM read_csv('/etc/passwd')",
    "INSERT INTO log SELECT readfile('/etc/passwd')",
    "INSERT INTO log SELECT load_extension('{outside}')",
    "CREATE TABLE taken AS SELECT * FROM '/etc/passwd'",
    "CREATE VIRTUAL TABLE taken USING csv(filename = '/etc/passwd')",
    "CREATE TABLE other.taken (a INT)",
    "UPDATE sqlite_master SET sql = ''",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '9GB'",
    "DELETE FROM log\0; DROP TABLE staff",
    ENDLESS,
    "",
]


@pytest.fixture(scope="module", params=[(engine, kind) for engine in ENGINES for kind in ("script", "file")])
def database(request, tmp_path_factory):
    engine, kind = request.param
    if kind == "script":
        return Database(engine, script=SCRIPT, changes=True)
    file = tmp_path_factory.mktemp("dbs") / f"staff.{engine}"
    if engine == "sqlite":
        with sqlite3.connect(file) as opened:
            opened.executescript(SCRIPT)
        opened.close()
    else:
        with duckdb.connect(str(file)) as opened:
            opened.execute(SCRIPT)
    return Database(engine, file=file, changes=True)


def rows_of(sandbox, database, statement):
    done = sandbox.run(database, statement, limits=LIMITS)
    assert done.failure is None, done.failure
    assert done.table.columns == COLUMNS
    return [tuple(row) for row in done.table.rows]


def test_rows_that_a_statement_adds_and_removes_are_its_result(sandbox, database):
    assert rows_of(sandbox, database, "UPDATE staff SET pay = 110 WHERE id = 1") == [
        ("affected", "", [1]),
        ("removed", "staff", [1, "Ann", 100.0]),
        ("added", "staff", [1, "Ann", 110.0]),
    ]
    assert rows_of(sandbox, database, "INSERT INTO staff VALUES (3, 'Cy', 80) RETURNING id") == [
        ("affected", "", [1]),
        ("added", "staff", [3, "Cy", 80.0]),
    ]
    assert rows_of(sandbox, database, "DELETE FROM log") == [("affected", "", [0])]
    assert rows_of(sandbox, database, "SELECT * FROM staff") == [("affected", "", [0])]


def test_every_statement_begins_on_the_same_data(sandbox, database):
    first = rows_of(sandbox, database, "DELETE FROM task")
    assert (
        first == rows_of(sandbox, database, "DELETE FROM task") == [("affected", "", [1]), ("removed", "task", [1, 1])]
    )


def test_objects_of_the_schema_are_compared_too(sandbox, database):
    changed = rows_of(sandbox, database, "DROP TABLE task")
    assert ("removed", "task", [1, 1]) in changed
    assert any(change == "removed" and table == "(schema)" for change, table, _ in changed)
    assert (
        rows_of(sandbox, database, "CREATE VIEW v AS SELECT 1 AS a")
        == rows_of(sandbox, database, "create  view V as select 1 as A")
        or database.engine == "duckdb"
    )
    assert rows_of(sandbox, database, "ALTER TABLE log ADD COLUMN n INT") != [("affected", "", [0])]


@pytest.mark.parametrize("statement", ["CREATE INDEX i ON {t}(b, a)", "CREATE VIEW v AS SELECT a+1, upper(b) FROM {t}"])
def test_blanks_beside_marks_do_not_count_in_definitions(sandbox, statement):
    database = Database("sqlite", script="CREATE TABLE t (a INT, b TEXT);", changes=True)
    spaced = statement.replace("{t}(", "t (").replace("+", " + ").replace(", ", " ,").replace("(", "( ")
    assert rows_of(sandbox, database, statement.format(t="t")) == rows_of(sandbox, database, spaced.format(t="t"))


def test_default_of_null_is_none_on_sqlite(sandbox):
    database = Database("sqlite", script="CREATE TABLE t (a INT);", changes=True)
    assert rows_of(sandbox, database, "CREATE TABLE u (a INT DEFAULT NULL)") == rows_of(
        sandbox, database, "CREATE TABLE u (a INT)"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("a INTEGER UNIQUE", "a INTEGER", False),
        ("a INTEGER CHECK (a > 0)", "a INTEGER", False),
        ("a INTEGER CHECK (a > 0)", "a INTEGER CHECK (a > 1)", False),
        ("a INTEGER CHECK(a>0)", "A  INTEGER  check ( a > 0 )", True),
        ("a INTEGER, b TEXT, UNIQUE (a, b)", "a INTEGER UNIQUE, b TEXT UNIQUE", False),
        ("a INT", "a INTEGER", True),
        ("a VARCHAR(9)", "a TEXT", True),
        ("a INT", "a TEXT", False),
        ("a INT, b TEXT", "b TEXT, a INT", False),
        ("a INT DEFAULT 1", "a INT DEFAULT 2", False),
        ("a INT, b INT AS (a + 1)", "a INT, b INT", False),
        ("a INT, b INT AS (a + 1)", "a INT, b INT AS (a + 2)", False),
        ("a INT, b INT AS (a+1)", "a INT, b INT GENERATED ALWAYS AS ( A + 1 )", True),
        ("a VARCHAR COLLATE NOCASE", "a VARCHAR", False),
        ("a VARCHAR COLLATE NOCASE", "a VARCHAR collate nocase", True),
    ],
)
def test_of_a_new_table_counts_what_it_accepts(sandbox, engine, first, other, same):
    made = [
        rows_of(
            sandbox, Database(engine, script="CREATE TABLE k (a INT);", changes=True), f"CREATE TABLE u ({columns})"
        )
        for columns in (first, other)
    ]
    assert (sorted(map(repr, made[0])) == sorted(map(repr, made[1]))) is same


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("(a INTEGER PRIMARY KEY) STRICT", "(a INTEGER PRIMARY KEY)", False),
        ("(a INTEGER PRIMARY KEY) WITHOUT ROWID", "(a INTEGER PRIMARY KEY)", False),
        ("(a INT PRIMARY KEY) STRICT, WITHOUT  ROWID", "(a INT PRIMARY KEY) without rowid, strict", True),
        ("(a INT, b INT AS (a) STORED)", "(a INT, b INT AS (a) VIRTUAL)", False),
        ("(a INT REFERENCES k (a) ON UPDATE CASCADE)", "(a INT REFERENCES k (a))", False),
        ("(a TEXT COLLATE BINARY)", "(a TEXT)", True),
        ("(a TEXT, PRIMARY KEY (a COLLATE NOCASE))", "(a TEXT, PRIMARY KEY (a))", False),
    ],
)
def test_of_a_new_table_on_sqlite_its_options_count(sandbox, first, other, same):
    database = Database("sqlite", script="CREATE TABLE k (a INT UNIQUE);", changes=True)
    made = [sorted(map(repr, rows_of(sandbox, database, f"CREATE TABLE u {text}"))) for text in (first, other)]
    assert (made[0] == made[1]) is same


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO staff VALUES (3, 'Ann', 1)",
        "UPDATE staff SET pay = -1",
        "INSERT INTO task VALUES (2, 77)",
        "INSERT INTO staff VALUES (3, NULL, 1)",
    ],
)
def test_violated_constraints_are_a_kind_of_their_own(sandbox, database, statement):
    assert sandbox.run(database, statement, limits=LIMITS).failure.kind == "constraint"


def test_hostile_statements_change_no_file_and_no_later_statement(sandbox, database, tmp_path):
    before = database.file.read_bytes() if database.file else b""
    first = rows_of(sandbox, database, "DELETE FROM staff WHERE id = 2")
    for statement in HOSTILE:
        limits = SHORT if statement == ENDLESS else LIMITS
        started = time.monotonic()
        done = sandbox.run(database, statement.format(outside=tmp_path / "x"), limits=limits)
        assert done.failure is not None, statement
        assert time.monotonic() - started < limits.timeout_s + 1.5, statement
        assert rows_of(sandbox, database, "DELETE FROM staff WHERE id = 2") == first, statement
    assert not list(tmp_path.iterdir())
    assert (database.file.read_bytes() if database.file else b"") == before


def test_more_rows_than_the_limit_are_too_large_to_compare(sandbox, database):
    series = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2000) SELECT n FROM r"
    failure = sandbox.run(database, f"INSERT INTO log {series}", limits=LIMITS).failure
    assert (failure.kind, failure.part) == ("too_large", "query")


def test_reading_is_as_before_where_changes_are_not_asked_for(sandbox, database):
    reading = Database(database.engine, database.file, database.script)
    assert sandbox.run(reading, "DELETE FROM staff", limits=LIMITS).failure.kind == "denied"


def test_what_triggers_and_cascades_change_counts_on_sqlite(sandbox):
    script = """
    CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INT REFERENCES a (id) ON DELETE CASCADE);
    CREATE TABLE seen (id INT); CREATE TRIGGER t AFTER DELETE ON a BEGIN INSERT INTO seen VALUES (old.id); END;
    INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);
    """
    database = Database("sqlite", script=script, changes=True)
    changed = rows_of(sandbox, database, "DELETE FROM a")
    assert set(map(str, changed[1:])) == {"('removed', 'a', [1])", "('removed', 'b', [1])", "('added', 'seen', [1])"}
    # A foreign key to a column that is no key is malformed; SQLite's default ignores it, and so do we.
    malformed = replace(database, script="CREATE TABLE k (a INT); CREATE TABLE wrong (s INT REFERENCES k (a));")
    assert rows_of(sandbox, malformed, "INSERT INTO wrong VALUES (9)")[1:] == [("added", "wrong", [9])]


def changed(*rows, affected=1):
    return ResultTable(COLUMNS, [("affected", "", [affected]), *rows])


def verdict(reference, prediction):
    return judge_changes(reference, prediction, limits=SqlLimits(), equality=CellEquality())


def test_states_are_compared_by_value_and_never_by_columns_in_another_place():
    assert verdict(changed(("added", "t", [1, 110.00000000000001])), changed(("added", "t", [1, 110]))).right
    swapped = verdict(changed(("added", "t", [1, 2])), changed(("added", "t", [2, 1])))
    assert (swapped.right, swapped.kind) == (False, "rows_differ")
    assert swapped.differences["missing"] == [{"row": 1, "cells": ["added", "t", 1, 2]}]
    other_table = verdict(changed(("added", "t", [1])), changed(("added", "u", [1])))
    assert not other_table.right
    twice = verdict(changed(("added", "t", [1]), ("added", "t", [1]), affected=2), changed(("added", "t", [1])))
    assert twice.reason == "the reference added (1) to t, and it does not; 1 row affected, 2 by the reference"


def test_a_prediction_that_changes_nothing_is_told_so():
    assert verdict(changed(("removed", "t", [1])), changed(affected=0)).reason == (
        "it changes nothing, where the reference removed (1) from t; 0 rows affected, 1 by the reference"
    )


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("/* a */ insert into t values (1)", True),
        ("WITH a AS (SELECT 1) UPDATE t SET a = 1", True),
        ("SELECT replace(a, 'x', 'y') FROM t", False),
        ("", False),
        ("-- DELETE FROM t", False),
    ],
)
def test_a_statement_that_changes_data_is_told_by_its_verb(text, changes):
    assert changes_data(text) is changes
