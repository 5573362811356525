"""Credit beyond right and wrong for generated SQL, by the definitions of BIRD mini_dev and of Defog."""

import asyncio
import math

import pytest

from steelyard.scorers.judges.of_sql import reading_as
from steelyard.scorers.sql import SqlResult
from steelyard.scorers.sql_credit import SqlCredit, SqlSpeed
from steelyard.sql.accuracy import is_subset, soft_f1
from steelyard.sql.results import ResultTable
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample

SCHEMA = (
    "CREATE TABLE t (id INT, name TEXT, team INT); CREATE TABLE teams (id INT, title TEXT); "
    "INSERT INTO t VALUES (1, 'Ann', 1), (2, 'Bo', 1), (3, 'Cy', 2); INSERT INTO teams VALUES (1, 'A'), (2, 'B')"
)


@pytest.fixture(scope="module")
def box():
    with Sandbox(workers=1) as sandbox:
        yield sandbox


def _credit(box, reference, sql, engine="sqlite"):
    sample = Sample("a", "q", reference, metadata={"schema": SCHEMA})
    return {score.name: score for score in asyncio.run(SqlCredit(engine=engine)(sample, Output(sql), box))}


@pytest.mark.parametrize(
    ("predicted", "expected", "score"),
    [
        ([(1,), (2,), (3,)], [(1,), (2,), (3,)], 1.0),
        ([(3,), (2,), (1,)], [(1,), (2,), (3,)], 1 / 3),
        ([(1, 1, 1)], [(1,)], 1.0),
        ([], [], 1.0),
        ([], [(1,)], 0.0),
        ([("Apple", 325), ("Orange",), ("Banana", 119)], [("Apple", 325), ("Orange", 191), ("Banana", 119)], 10 / 11),
    ],
)
def test_soft_f1_is_that_of_mini_dev(predicted, expected, score):
    tables = [ResultTable(("c",) * 2, rows) for rows in (expected, predicted)]
    assert soft_f1(*tables) == pytest.approx(score)


def test_more_rows_and_columns_are_a_superset_and_fewer_are_not(box):
    gold = "SELECT name FROM t WHERE team = 1"
    assert _credit(box, gold, "SELECT id, name FROM t")["subset"].value == 1.0
    assert _credit(box, gold, "SELECT name FROM t WHERE id = 1")["subset"].value == 0.0
    assert _credit(box, "SELECT name FROM t WHERE id > 9", "SELECT name FROM t")["subset"].value == 0.0


@pytest.mark.parametrize(
    ("expected", "returned", "holds"),
    [  # as trying every choice of columns finds
        ([(None, 3, "", "x"), (3, None, "A", "y")], [("", "x", 3, None), ("A", "y", None, 3)], True),
        ([(True, 1e-9, 0, 3)], [(0, 0.3, True, None), (0, 10.0, 0, 1), (0, 1e-9, True, 3)], True),
        ([(1, 2), (2, 1)], [(1, 1, 2), (2, 2, 1)], True),
        ([(1, 2), (2, 1)], [(1, 1), (2, 2), (1, 2)], False),
        ([(1,), (1,)], [(1,), (2,)], False),
    ],
)
def test_a_subset_is_found_in_any_columns(expected, returned, holds):
    tables = [ResultTable(tuple("abcd")[: len(rows[0])], rows) for rows in (expected, returned)]
    assert is_subset(*tables) is holds


def test_schema_linking_counts_tables_and_columns_behind_aliases_and_stars(box):
    gold = "SELECT p.name, g.title FROM t AS p JOIN teams AS g ON g.id = p.team"
    scores = _credit(box, gold, "SELECT name FROM t")
    assert [scores[name].value for name in ("table_precision", "table_recall")] == [1.0, 0.5]
    assert [scores[name].value for name in ("column_precision", "column_recall")] == [1.0, 0.25]
    scores = _credit(box, "SELECT id, name, team FROM t", "SELECT * FROM t")
    assert scores["column_recall"].value == scores["column_precision"].value == 1.0


@pytest.mark.parametrize(
    ("sql", "precision"),
    [
        ("SELECT name, salary FROM t", 1 / 2),
        ("SELECT p.name, p.salary FROM t AS p", 1 / 2),
        ("SELECT name FROM t ORDER BY salary", 1 / 2),
        ('SELECT name FROM t WHERE name = "Ann"', 1.0),
        ("SELECT name AS n FROM t UNION SELECT name FROM t ORDER BY n", 1.0),
        ("SELECT t.name FROM t, json_each('[1]') AS j WHERE j.value = 1 AND value > 0", 1.0),
    ],
)
def test_a_column_that_does_not_exist_is_named_in_vain(box, sql, precision):
    scores = _credit(box, "SELECT name FROM t", sql)
    assert (scores["column_precision"].value, scores["column_recall"].value) == (precision, 1.0)
    assert (scores["table_precision"].value, scores["table_recall"].value) == (1.0, 1.0)


def test_statement_that_fails_has_no_credit_but_for_what_it_names(box):
    scores = _credit(box, "SELECT name FROM t", "SELECT nothing(name) FROM t")
    assert (scores["subset"].value, scores["soft_f1"].value, scores["table_recall"].value) == (0.0, 0.0, 1.0)
    assert "nothing" in scores["soft_f1"].reason


def test_reference_that_fails_is_not_applicable(box):
    assert {score.outcome for score in _credit(box, "SELECT x FROM t", "SELECT 1").values()} == {"not_applicable"}


@pytest.mark.parametrize(("reply", "subset"), [("SUMMARIZE t", 1.0), ("SELECT nothing", 0.0), ("no idea", 0.0)])
def test_names_of_a_reference_that_cannot_be_parsed_are_not_applicable(box, reply, subset):
    scores = _credit(box, "SUMMARIZE t", reply, "duckdb")
    assert scores["subset"].value == subset
    names = [scores[f"{kind}_{rate}"] for kind in ("table", "column") for rate in ("precision", "recall")]
    assert {(score.outcome, score.reason) for score in names} == {("not_applicable", "the reference cannot be parsed")}


def test_speed_is_a_reward_with_its_interval(box):
    sample = Sample("a", "q", "SELECT count(*) FROM t", metadata={"schema": SCHEMA})
    slow = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT 3 + 0 * max(i) FROM n"
    )
    score = asyncio.run(SqlSpeed(runs=3)(sample, Output(slow), box))
    assert score.value == pytest.approx(math.sqrt(0.25))
    low, high = score.detail["interval"]
    assert low <= score.detail["ratio"] <= high < 0.25
    assert asyncio.run(SqlSpeed(runs=3)(sample, Output("SELECT 7"), box)).value == 0.0


def test_suite_gives_its_scoring_to_the_scorers():
    scoring = SqlResult(form="sql_json", engine="duckdb")
    assert reading_as(SqlCredit(), scoring) == SqlCredit(form="sql_json", engine="duckdb")
    assert reading_as(SqlSpeed(runs=5), scoring) == SqlSpeed(runs=5, form="sql_json", engine="duckdb")
