"""References that may return several results: which are told, and that each of these results is right."""

import asyncio
import json
from pathlib import Path

import pytest

from steelyard.scorers.sql import SqlResult
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample

SCRIPT = """
CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT, team INT, pts INT, city TEXT);
INSERT INTO p VALUES (1,'Ann',1,5,'Bonn'),(2,'Bo',1,5,'Bonn'),(3,'Cy',2,5,'Graz'),(4,'Di',2,4,'Graz'),
(5,'Ed',2,3,'Graz');
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=1) as opened:
        yield opened


def result(sandbox, engine, reference, reply):
    sample = Sample("1", "?", reference, metadata={"schema": SCRIPT, "db_id": ""})
    scores = asyncio.run(SqlResult(engine=engine)(sample, Output(f"```sql\n{reply}\n```"), sandbox))
    score = next(score for score in scores if score.name == "result")
    assert score.value is not None, score
    return score


BOTH, SQLITE, DUCKDB = ("sqlite", "duckdb"), ("sqlite",), ("duckdb",)
OPEN = [
    tuple(json.loads(line).values())
    for line in (Path(__file__).parent / "data" / "open_references.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Engines, reference, reply, and whether the reply returns what the reference may return."""


@pytest.mark.parametrize(("engines", "reference", "reply", "right"), OPEN)
def test_each_result_that_a_reference_may_return_is_right(sandbox, engines, reference, reply, right):
    for engine in engines:
        score = result(sandbox, engine, reference, reply)
        assert score.passed is right, (engine, score)


FLAGGED = [
    (SQLITE, "SELECT team, name FROM p GROUP BY team", "any row of its group in: name"),
    (SQLITE, "SELECT name, max(pts) FROM p", "any row of its group in: name"),
    (SQLITE, "SELECT name FROM (SELECT team, name FROM p GROUP BY team) AS q WHERE team = 1", "any row of its group"),
    (SQLITE, "SELECT team FROM p GROUP BY team HAVING name > 'B'", "any row of its group in: name"),
    (SQLITE, "SELECT team FROM p GROUP BY team ORDER BY id % 3 DESC LIMIT 1", "any row of its group in: id"),
    (SQLITE, "SELECT team FROM p GROUP BY team ORDER BY pts DESC LIMIT 1", "any row of its group in: pts"),
    (SQLITE, "SELECT pts > 3, count(*) FROM p GROUP BY team", "any row of its group in: pts > 3"),
    (SQLITE, "SELECT DISTINCT city FROM p ORDER BY id % 3 LIMIT 1", "any row of its group in: id"),
    (
        SQLITE,
        "SELECT name FROM p WHERE pts = (\n SELECT pts FROM p WHERE team = 2)",
        "the first of several rows in a comp",
    ),
    (DUCKDB, "SELECT any_value(name) FROM p", "rows in any order in: any_value(name)"),
    (DUCKDB, "SELECT list(name ORDER BY team) FROM p", "rows in any order in: list(name ORDER BY team)"),
    (DUCKDB, "SELECT first(name ORDER BY pts DESC) FROM p", "rows in any order in: first(name ORDER BY pts DESC)"),
    (DUCKDB, "SELECT arg_max(name, pts) FROM p", "rows in any order in: arg_max(name, pts)"),
    (DUCKDB, "SELECT json_group_array(name) FROM p", "rows in any order in: json_group_array(name)"),
    (DUCKDB, "SELECT json_group_object(name, id) FROM p", "rows in any order in: json_group_object(name, id)"),
    (DUCKDB, "SELECT approx_top_k(name, 2) FROM p", "rows in any order in: approx_top_k(name, 2)"),
    (DUCKDB, "SELECT mode(name) FROM p", "rows in any order in: mode(name)"),
    (DUCKDB, "SELECT DISTINCT ON (team) name FROM p", "any of the rows that are equal in: DISTINCT ON (team) name"),
    (DUCKDB, "SELECT DISTINCT ON (team) name FROM p ORDER BY team, city", "any of the rows that are equal in"),
    (DUCKDB, "FROM p ORDER BY team LIMIT 1", "ties at the LIMIT of: FROM p ORDER BY team LIMIT 1"),
    (BOTH, "SELECT group_concat(name) FROM p", "rows in any order in: group_concat(name)"),
    (BOTH, "SELECT name FROM p ORDER BY random() LIMIT 1", "random draws"),
    (BOTH, "SELECT random() > 0 FROM p", "random draws"),
]
DECIDED = [
    # The key decides the column, or the rows agree.
    (SQLITE, "SELECT name, count(*) FROM p GROUP BY id"),
    (SQLITE, "SELECT city, team, count(*) FROM p GROUP BY team"),
    (SQLITE, "SELECT p.name FROM p JOIN p AS q ON p.id = q.team GROUP BY p.id"),
    (SQLITE, "SELECT name, min(pts) FROM p"),
    (SQLITE, "SELECT team, min(pts), name FROM p WHERE team = 2 GROUP BY team"),
    (SQLITE, "SELECT name || '!', max(id), count(*) FROM p GROUP BY team"),
    (SQLITE, "SELECT city FROM (SELECT team, city FROM p GROUP BY team) AS q"),
    (SQLITE, "SELECT count(*) FROM (SELECT team, name FROM p GROUP BY team) AS q"),
    (BOTH, "SELECT team, count(*), max(name) FROM p GROUP BY team"),
    (BOTH, "SELECT upper(city), count(*) FROM p GROUP BY upper(city)"),
    (BOTH, "SELECT group_concat(DISTINCT city) FROM p WHERE team = 1"),
    (BOTH, "SELECT group_concat(name) FROM p WHERE id = 3"),
    (DUCKDB, "SELECT string_agg(name, ',' ORDER BY name), first(name ORDER BY id) FROM p"),
    (DUCKDB, "SELECT length(g) FROM (SELECT group_concat(pts || name) AS g FROM p) AS q"),
    (DUCKDB, "SELECT any_value(city) FROM p WHERE team = 2"),
    (BOTH, "SELECT id, rank() OVER (ORDER BY pts), sum(id) OVER (ORDER BY pts) FROM p"),
    (BOTH, "SELECT id, sum(id) OVER (ORDER BY id ROWS 1 PRECEDING) FROM p"),
    (BOTH, "WITH c AS (SELECT team, sum(id) AS n FROM p GROUP BY team) SELECT row_number() OVER (ORDER BY n) FROM c"),
    (BOTH, "SELECT name FROM p ORDER BY random()"),
    (SQLITE, "SELECT team, count(*) AS n FROM p GROUP BY team HAVING n > 1 AND city > 'A' ORDER BY n, city LIMIT 1"),
    (SQLITE, "SELECT id FROM p GROUP BY id HAVING name > 'B' ORDER BY pts, name LIMIT 1"),
    (SQLITE, "SELECT DISTINCT city FROM p ORDER BY team DESC LIMIT 1"),
    (SQLITE, "SELECT team FROM p GROUP BY team ORDER BY city LIMIT 1"),
    (SQLITE, "SELECT name FROM p WHERE city = (SELECT city FROM p WHERE team = 1) AND pts < (SELECT max(id) FROM p)"),
    (DUCKDB, "SELECT list(city ORDER BY team), arg_max(name, id), mode(city), arg_max(city, team) FROM p"),
    (DUCKDB, "SELECT json_group_array(name) FROM p WHERE id = 1"),
    (DUCKDB, "SELECT json_array_length(json_group_array(name)), histogram(pts) FROM p"),
    (DUCKDB, "SELECT DISTINCT ON (team) name FROM p ORDER BY team, id"),
    (DUCKDB, "SELECT DISTINCT ON (team) city FROM p"),
]  # fmt: skip


@pytest.mark.parametrize(("engines", "reference", "text"), FLAGGED)
def test_a_reference_without_a_unique_result_is_flagged_each_time(sandbox, engines, reference, text):
    for engine in engines:
        for _ in range(3):
            score = result(sandbox, engine, reference, "SELECT 'nothing of the kind'")
            assert (score.detail.get("reference") == "not unique") is bool(text), (engine, score)
            assert any(part.startswith(text) for part in score.detail.get("open_parts", [""]))


@pytest.mark.parametrize(("engines", "reference"), DECIDED)
def test_a_reference_whose_result_the_data_decide_is_not_flagged(sandbox, engines, reference):
    for engine in engines:
        score = result(sandbox, engine, reference, "SELECT 'nothing of the kind'")
        assert "open_parts" not in score.detail, (engine, score.detail["open_parts"])


@pytest.mark.parametrize(
    ("reference", "reply", "flag"),
    [
        ("SELECT name FROM m ORDER BY mark DESC LIMIT 1", "SELECT 'Bo'", "text_as_number"),
        ("SELECT mark FROM m ORDER BY mark", "SELECT mark FROM m ORDER BY CAST(mark AS INT)", "text_as_number"),
        ("SELECT name FROM m ORDER BY height LIMIT 1", "SELECT 'Bo'", "null_in_limit"),
        ("SELECT name FROM m ORDER BY height DESC LIMIT 1", "SELECT 'Cy'", ""),
        ("SELECT name FROM m ORDER BY CAST(mark AS INT) LIMIT 1", "SELECT 'Bo'", ""),
    ],
)
def test_a_wrong_verdict_by_a_doubtful_order_is_flagged(sandbox, reference, reply, flag):
    schema = "CREATE TABLE m (name TEXT, mark TEXT, height REAL); "
    schema += "INSERT INTO m VALUES ('Ann', '9', NULL), ('Bo', '10', 1.7), ('Cy', '8', 1.6)"
    sample = Sample("1", "?", reference, metadata={"schema": schema, "db_id": ""})
    scores = asyncio.run(SqlResult()(sample, Output(reply), sandbox))
    score = next(score for score in scores if score.name == "result")
    assert score.value == 0
    assert {"text_as_number", "null_in_limit"} & set(score.detail["flags"]) == ({flag} if flag else set())


def test_lists_and_maps_are_chosen_as_other_values_are(sandbox):
    reference = "SELECT team, any_value([id]) AS l FROM p GROUP BY team"
    assert result(sandbox, "duckdb", reference, "SELECT team, [max(id)] FROM p GROUP BY team").passed
    assert not result(sandbox, "duckdb", reference, "SELECT team, [max(id) + 1] FROM p GROUP BY team").passed
