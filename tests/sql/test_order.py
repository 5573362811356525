"""The ORDER BY of a query, and the queries that return its keys, run on the real engines."""

from __future__ import annotations

import sqlite3

import duckdb
import pytest

from steelyard.sql.order import ordering_of

ROWS = [(1, "ann", 30, "b"), (2, "bob", 25, "a"), (3, "Cid", None, "a"), (4, "dan", 30, "b"), (5, "eve", 41, "c")]
DDL = "CREATE TABLE t (id INTEGER, name TEXT, age INTEGER, g TEXT)"

ORDERS = [
    ("SELECT name FROM t ORDER BY name", [0]),
    ("SELECT name, age FROM t ORDER BY 2 DESC, 1", [1, 0]),
    ("SELECT name, age AS years FROM t ORDER BY years", [1]),
    ("SELECT name, age FROM t ORDER BY t.age", [1]),
    ("SELECT x.name, x.age FROM t AS x ORDER BY age NULLS LAST", [1]),
    ("SELECT name, lower(name) FROM t ORDER BY LOWER(name)", [1]),
    ("SELECT g, count(*) FROM t GROUP BY g ORDER BY count(*) DESC, g", [1, 0]),
    ("SELECT name AS age, age AS name FROM t ORDER BY age", [0]),
    ("SELECT name FROM t ORDER BY age", [None]),
    ("SELECT name, age + 1 FROM t ORDER BY age", [None]),
    ("SELECT DISTINCT g FROM t ORDER BY g", [0]),
    ("SELECT g FROM t UNION SELECT name FROM t ORDER BY g", [0]),
    ("SELECT g FROM t UNION ALL SELECT name FROM t ORDER BY 1 DESC", [0]),
    ("WITH c AS (SELECT * FROM t ORDER BY id) SELECT name FROM c ORDER BY name", [0]),
    ("SELECT name, (SELECT max(id) FROM t AS u WHERE u.g = t.g ORDER BY 1) AS m FROM t ORDER BY m, name", [1, 0]),
    ("SELECT name FROM t order\n/* ORDER BY id */ by name -- ORDER BY g", [0]),
    ("SELECT (name) FROM t ORDER BY ((name)) ASC;", [0]),
    ('SELECT id AS "order by", name FROM t ORDER BY "order by"', [0]),
]
NO_ORDERS = [
    "SELECT name FROM t",
    "SELECT name, rank() OVER (ORDER BY age) FROM t",
    "SELECT name FROM (SELECT * FROM t ORDER BY age) AS x",
    "WITH c AS (SELECT * FROM t ORDER BY id) SELECT name FROM c",
    "SELECT 'x ORDER BY y' FROM t",
    'SELECT name AS "ORDER BY" FROM t',
    "SELECT name FROM t -- ORDER BY name",
    "SELECT name FROM t /* ORDER BY name */",
    "SELECT sum(age) OVER w FROM t WINDOW w AS (ORDER BY id)",
    "SELECT name FROM t WHERE id IN (SELECT id FROM t ORDER BY age LIMIT 2)",
    "SELECT group_concat(name ORDER BY age) FROM t",
    "SELECT name FROM t ORDER BY random()",
    "SELECT name FROM t LIMIT 3",
]


def run(engine, query):
    if engine == "sqlite":
        base = sqlite3.connect(":memory:")
        base.execute(DDL)
        base.executemany("INSERT INTO t VALUES (?,?,?,?)", ROWS)
        cursor = base.execute(query)
        result = [part[0] for part in cursor.description], cursor.fetchall()
    else:
        base = duckdb.connect(":memory:")
        base.execute(DDL)
        base.executemany("INSERT INTO t VALUES (?,?,?,?)", ROWS)
        cursor = base.execute(query)
        result = [part[0] for part in cursor.description], cursor.fetchall()
    base.close()
    return result


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("query", "columns"), ORDERS)
def test_keys_are_found_in_the_output(engine, query, columns):
    ordering = ordering_of(query, engine=engine)
    assert [key.column for key in ordering.keys] == columns
    assert ordering.note == ""


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("query", NO_ORDERS)
def test_words_elsewhere_order_nothing(engine, query):
    assert ordering_of(query, engine=engine) is None


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM t ORDER BY age", [2]),
        ("SELECT *, age * 2 AS twice FROM t ORDER BY twice, name", [4, 1]),
        ("SELECT t.* FROM t JOIN t AS u ON u.id = t.id ORDER BY u.age", [None]),
        ("SELECT * FROM t JOIN t AS u ON u.id = t.id ORDER BY u.age", [None]),
        ("SELECT t.*, 1 AS one FROM t ORDER BY t.age, one", [2, 4]),
        ("SELECT * FROM t LEFT JOIN (SELECT id, 1 AS w FROM t WHERE id < 3) AS u USING (id) ORDER BY u.id", [None]),
    ],
)
def test_columns_of_a_star_are_known_from_the_result(engine, query, columns):
    names, _ = run(engine, query)
    assert [key.column for key in ordering_of(query, engine=engine, columns=names).keys] == columns


KEYED = [
    "SELECT name FROM t ORDER BY age DESC, lower(name)",
    "SELECT name FROM t WHERE id > 0 ORDER BY age, id LIMIT 3",
    "SELECT g FROM t GROUP BY g ORDER BY max(age) DESC LIMIT 2 OFFSET 1",
    "SELECT name -- who\nFROM t -- where\nORDER BY age -- how\nLIMIT 2 -- few\n;",
    "SELECT name, '€ ; FROM (' AS \"FROM\" FROM t ORDER BY coalesce(age, 0), id",
    "SELECT id IS DISTINCT FROM 3 FROM t ORDER BY age",
    "SELECT CAST(strftime('2026-01-01', '%Y') AS TEXT), name FROM t ORDER BY age",
    "WITH c AS (SELECT * FROM t) SELECT name FROM c ORDER BY (SELECT max(age) FROM t AS u WHERE u.g = c.g), id",
    "SELECT name, 1 FROM t ORDER BY CASE WHEN g IN ('a', 'b') THEN 1 ELSE 0 END, id DESC NULLS LAST LIMIT 4",
]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("query", KEYED)
def test_the_keyed_query_returns_the_same_rows_with_their_keys(engine, query):
    if "strftime" in query and engine == "duckdb":
        query = query.replace("strftime('2026-01-01', '%Y')", "EXTRACT(YEAR FROM DATE '2026-01-01')")
    ordering = ordering_of(query, engine=engine)
    names, rows = run(engine, query)
    keyed_names, keyed = run(engine, ordering.keyed_query)
    more = sum(key.column is None for key in ordering.keys)
    assert more > 0
    assert keyed_names[: len(names)] == names
    assert len(keyed_names) == len(names) + more
    assert [row[: len(names)] for row in keyed] == rows


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM t ORDER BY name LIMIT 2",
        "SELECT name FROM t ORDER BY age, id LIMIT 2 OFFSET 2",
        "SELECT DISTINCT g FROM t ORDER BY g LIMIT 1;",
        "SELECT g FROM t UNION SELECT name FROM t ORDER BY 1 LIMIT 4",
        "SELECT name FROM t ORDER BY name -- first\nLIMIT 2 /* two */ ; ",
    ],
)
def test_the_unlimited_query_returns_what_the_limit_leaves_out_too(engine, query):
    ordering = ordering_of(query, engine=engine)
    names, rows = run(engine, query)
    _, every = run(engine, ordering.unlimited_query)
    assert [row[: len(names)] for row in every][ordering.offset : ordering.offset + ordering.limit] == rows
    assert len(every) > len(rows)


@pytest.mark.parametrize(
    ("query", "limit", "offset"),
    [
        ("SELECT a FROM t ORDER BY a LIMIT 2, 3", 3, 2),
        ("SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2", 3, 2),
        ("SELECT a FROM t ORDER BY a LIMIT -1 OFFSET 2", None, 2),
        ("SELECT a FROM t ORDER BY a LIMIT 3", 3, 0),
    ],
)
def test_limit_and_offset_are_read(query, limit, offset):
    ordering = ordering_of(query)
    assert (ordering.limit, ordering.offset, ordering.limited) == (limit, offset, True)


def test_a_limit_that_is_no_number_cannot_be_lifted_unsaid():
    ordering = ordering_of("SELECT a FROM t ORDER BY a LIMIT (SELECT count(*) / 2 FROM t)")
    assert (ordering.limit, ordering.limited, ordering.unlimited_query) == (None, True, None)
    assert ordering.note


@pytest.mark.parametrize(
    "query", ["SELECT DISTINCT name FROM t ORDER BY age", "SELECT DISTINCT name FROM t ORDER BY age LIMIT 2"]
)
def test_keys_are_not_added_where_they_would_change_the_rows(query):
    ordering = ordering_of(query)
    assert (ordering.keyed_query, ordering.unlimited_query) == (None, None)
    assert ordering.note


def test_a_bracketed_query_orders_as_its_inside():
    assert [key.column for key in ordering_of("(SELECT a, b FROM t ORDER BY b)", engine="duckdb").keys] == [1]
    assert [
        key.column for key in ordering_of("WITH c AS (SELECT 1) (SELECT a FROM c ORDER BY a)", engine="duckdb").keys
    ] == [0]
    assert ordering_of("(SELECT a FROM t ORDER BY a LIMIT 2) UNION ALL (SELECT 1)", engine="duckdb") is None


def test_every_column_is_a_key_of_order_by_all():
    assert [key.column for key in ordering_of("SELECT a, b FROM t ORDER BY ALL", engine="duckdb").keys] == [0, 1]
    assert ordering_of("SELECT * FROM t ORDER BY ALL", engine="duckdb").keys == ()
    ordering = ordering_of("SELECT * FROM t ORDER BY ALL", engine="duckdb", columns=["a", "b", "c"])
    assert [key.column for key in ordering.keys] == [0, 1, 2]


def test_a_collation_is_kept_with_its_key():
    assert ordering_of("SELECT name FROM t ORDER BY name COLLATE NOCASE").keys[0].collation == "NOCASE"
    assert ordering_of("SELECT name COLLATE nocase AS n FROM t ORDER BY n").keys[0].collation == "NOCASE"


def test_keys_behind_a_random_one_order_nothing():
    assert len(ordering_of("SELECT a, b FROM t ORDER BY a, random(), b").keys) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE " + "(" * 3000 + "1" + ")" * 3000 + " ORDER BY a",
        "SELECT a FROM t WHERE a = '" + "x" * 200_000 + "' ORDER BY a",
        "SELECT a FROM t WHERE " + "NOT " * 20_000 + "1 ORDER BY a",
        "SELECT a FROM t WHERE " + "-" * 1 + "+ - " * 20_000 + "1 ORDER BY a",
        "SELECT a FRM t WHRE ((]] ORDER BY a",
    ],
)
def test_what_cannot_be_parsed_is_read_by_words_and_says_so(query):
    ordering = ordering_of(query)
    assert ordering.keys == ()
    assert "could not be parsed" in ordering.note


@pytest.mark.parametrize(
    "query", ["", ";", "\x00", "'", "/*", "ORDER BY", "SELECT ORDER BY", "((((", "))))", "SELECT 1; SELECT 2"]
)
def test_text_that_is_no_query_is_no_error(query):
    for engine in ("sqlite", "duckdb"):
        ordering = ordering_of(query, engine=engine)
        assert ordering is None or ordering.keys == ()
