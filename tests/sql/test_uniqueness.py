"""Queries that leave their result open: what is rewritten, and that real data decide whether it matters."""

from __future__ import annotations

import pytest

from steelyard.sql.results import Database, ResultTable
from steelyard.sql.uniqueness import differ, open_parts

SCRIPT = """
CREATE TABLE staff (id INTEGER, name TEXT, age INTEGER, team INTEGER);
INSERT INTO staff VALUES (1, 'Ada', 36, 1), (2, 'Bo', 41, 1), (3, 'Cy', 41, 2), (4, 'Di', 50, 2);
CREATE TABLE team (id INTEGER, city TEXT);
INSERT INTO team VALUES (1, 'Bonn'), (2, 'Graz');
"""

OPEN = [
    ("SELECT name FROM staff LIMIT 2", "LIMIT without ORDER BY in"),
    ("SELECT name FROM staff ORDER BY age LIMIT 2", "ties at the LIMIT of"),
    ("SELECT name FROM staff ORDER BY age DESC LIMIT 1 OFFSET 1", "ties at the LIMIT of"),
    ("SELECT city FROM team WHERE id = (SELECT team FROM staff WHERE age < 50 ORDER BY age DESC LIMIT 1)", "ties"),
    ("SELECT max(name) FROM (SELECT * FROM staff ORDER BY age LIMIT 2)", "ties at the LIMIT of"),
    (
        "SELECT min(s.age) FROM (SELECT * FROM staff JOIN team ON staff.team = team.id LIMIT 2) s",
        "LIMIT without ORDER BY",
    ),
    ("WITH one AS (SELECT name FROM staff LIMIT 1) SELECT name FROM one", "LIMIT without ORDER BY in"),
    ("SELECT team, count(*) FROM staff GROUP BY team ORDER BY count(*) DESC LIMIT 1", "ties at the LIMIT of"),
    (
        "SELECT name FROM (SELECT name, row_number() OVER (ORDER BY age DESC) AS n FROM staff) WHERE n = 2",
        "rows with equal keys in",
    ),
    (
        "SELECT name, row_number() OVER (ORDER BY age) FROM staff JOIN (SELECT id i FROM team) t ON team = t.i",
        "rows with equal keys in",
    ),
    (
        "SELECT name, row_number() OVER (ORDER BY age) /* ( */ FROM (staff JOIN team ON 1 = 1)",
        "rows with equal keys in",
    ),
    ("SELECT name FROM staff ORDER BY random() LIMIT 1", "random draws"),
]
DECIDED = [
    "SELECT name FROM staff ORDER BY age DESC LIMIT 1",
    "SELECT name FROM staff ORDER BY age, name LIMIT 2",
    "SELECT name FROM staff LIMIT 10",
    "SELECT count(*) FROM staff LIMIT 1",
    "SELECT age FROM staff ORDER BY age LIMIT 2",
    "SELECT city FROM team WHERE id = (SELECT team FROM staff ORDER BY age DESC LIMIT 1)",
    "SELECT name FROM staff WHERE EXISTS (SELECT 1 FROM team LIMIT 1)",
    "SELECT name FROM staff WHERE name = 'LIMIT 1'",
    "SELECT name, row_number() OVER (ORDER BY age, name) FROM staff",
    "SELECT name, group_concat(name, '') FILTER (WHERE id > 1) OVER (ORDER BY id DESC) FROM staff",
    "SELECT name FROM staff LIMIT 0",
]


def undecided(sandbox, query, engine):
    """The parts of a query whose two variants really return different rows."""
    database = Database(engine, script=SCRIPT)
    columns = sandbox.run(database, query).table.columns
    texts = []
    for part in open_parts(query, engine, columns):
        tables = [sandbox.run(database, variant).table for variant in part.variants]
        assert None not in tables, part
        # What is drawn differs now and then only.
        if part.random or differ(*tables):
            texts.append(part.text)
    return texts


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("query", "text"), OPEN)
def test_a_result_that_the_data_leave_open_is_found(sandbox, query, text, engine):
    [found] = undecided(sandbox, query, engine)
    assert found.startswith(text)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("query", DECIDED)
def test_a_result_that_the_data_decide_is_unique(sandbox, query, engine):
    assert undecided(sandbox, query, engine) == []


def test_a_variant_adds_to_the_text_and_changes_nothing_else():
    query = "SELECT a, 'x LIMIT 1' FROM t -- LIMIT 2\nORDER BY b\nLIMIT 3;"
    [part] = open_parts(query, "sqlite")
    assert part.variants[0] == "SELECT a, 'x LIMIT 1' FROM t -- LIMIT 2\nORDER BY b\n, 1 ASC, 2 ASC LIMIT 3;"


def test_a_star_is_ordered_by_the_columns_of_its_result():
    [part] = open_parts("SELECT * FROM (SELECT 1) LIMIT 1", "sqlite", ("a", "b"))
    assert "ORDER BY 1 DESC, 2 DESC LIMIT" in part.variants[1]
    assert open_parts("SELECT * FROM (SELECT * FROM (SELECT 1) LIMIT 1)", "sqlite") == ()


def test_duckdbs_own_limits_are_seen():
    for query in (
        "SELECT a FROM t OFFSET 2",
        "SELECT a FROM t FETCH FIRST 2 ROWS ONLY",
        "SELECT a FROM t USING SAMPLE 3",
    ):
        assert len(open_parts(query, "duckdb")) == 1, query
    assert open_parts("SELECT a FROM t ORDER BY ALL LIMIT 1", "duckdb") == ()


def test_the_rows_of_a_subquery_in_an_array_are_in_any_order(sandbox):
    query = "SELECT city, ARRAY(SELECT name FROM staff WHERE team = team.id{}) AS names FROM team"
    assert undecided(sandbox, query.format(""), "duckdb") == [
        "rows in any order in: ARRAY(SELECT name FROM staff WHERE team = team.id)"
    ]
    assert [part.gathered for part in open_parts(query.format(""), "duckdb")] == [(1, "")]
    assert undecided(sandbox, query.format(" ORDER BY name"), "duckdb") == []
    assert undecided(sandbox, query.format(" AND name = 'Ada'"), "duckdb") == []
    assert open_parts("SELECT ARRAY(", "duckdb") == ()


def test_rows_differ_by_value_and_number():
    one = ResultTable(("a",), [(1,), (1,), (2,)])
    assert not differ(one, ResultTable(("a",), [(2.0,), (1,), (1,)]))
    assert differ(one, ResultTable(("a",), [(1,), (2,), (2,)]))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT row_number() OVER (ORDER BY a) FROM (",
        "SELECT row_number() OVER (ORDER BY a) FROM t GROUP",
        "SELECT row_number() OVER (ORDER BY a) FROM t AS",
        "SELECT group_concat(",
        "SELECT sum(a) OVER w FROM t ROWS",
        "SELECT group_concat(a) FILTER",
        "WITH c AS (SELECT * FROM c) SELECT lag(a) OVER (ORDER BY a) FROM c",
    ],
)
def test_half_a_query_is_no_error(query):
    for engine in ("sqlite", "duckdb"):
        assert len(open_parts(query, engine)) <= 1
