"""Hostile SQLite statements that want time, memory, or the parser's stack."""

from __future__ import annotations

import os

import pytest
from tests.sql.hostile_ground import ground, kinds
from tests.sql.memory_watch import Watch
from tests.thorough import times

from steelyard.sql.results import Database, SqlLimits

__all__ = ["ground"]

BRIEF = SqlLimits(timeout_s=times(0.05, 0.2), memory_mib=128)
STOPPED = {"timeout", "memory", "too_large", "error"}


def test_an_endless_statement_ends_at_its_deadline(ground):
    by_statement = kinds(ground.let_loose("endless", BRIEF, ["scratch"]))
    assert set(by_statement.values()) <= STOPPED
    assert list(by_statement.values()).count("timeout") > len(by_statement) / 2


def test_a_statement_of_quadratic_cost_ends_at_its_deadline(ground):
    by_statement = kinds(ground.let_loose("quadratic", BRIEF, ["scratch"]))
    assert set(by_statement.values()) <= {*STOPPED, "table"}
    assert list(by_statement.values()).count("timeout") > len(by_statement) / 2


def test_a_loop_in_c_ends_at_its_deadline(ground):
    # Which of them are over in time depends on the machine: each ends, or the sandbox would not return.
    by_statement = kinds(ground.let_loose("loops", BRIEF, ["scratch"]))
    assert by_statement[("", "SELECT instr(zeroblob(19000000), zeroblob(9000000) || x'01')")] == "timeout"


def test_no_statement_takes_more_memory_than_its_cap(ground):
    with Watch(os.getpid()) as watch:
        by_statement = ground.let_loose("memory", BRIEF, ["scratch"])
    # SQLite's printf makes NULL or nothing of a width that it will not fill.
    held = [done.table.rows for *_, done in by_statement if done.table]
    assert max(len(repr(rows)) for rows in held) < 20
    assert set(kinds(by_statement).values()) <= {*STOPPED, "table"}
    assert len(held) < 4
    # 128 MiB for the engine, 64 for the result, and what a worker starts with.
    assert 20 < watch.most_mib < 128 + 64 + 40


def test_running_out_of_memory_is_told_apart(ground):
    query = "SELECT count(*) FROM (SELECT DISTINCT hex(randomblob(4000)) || value FROM generate)"
    numbers = "WITH RECURSIVE generate(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM generate LIMIT 30000) "
    done = ground.sandbox.run(ground.scratch, numbers + query, limits=SqlLimits(memory_mib=64))
    assert (done.failure.kind, done.failure.message) == ("memory", "out of memory")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "-" * 1 + "+".join(["1"] * 200_000),
        "SELECT " + " AND ".join(["1"] * 50_000),
        "SELECT " + "NOT " * 100_000 + "1",
        "SELECT " + "CASE WHEN 1 THEN " * 3000 + "1" + " END" * 3000,
        "SELECT " + ",".join(["1"] * 5000),
        "SELECT 1" + " UNION ALL SELECT 1" * 20_000,
        "SELECT '" + "x" * 2_000_000 + "'",
        "SELECT " + "/*" * 400_000,
        "SELECT " + "'" * 900_001,
        "SELECT * FROM " + ",".join(f"emp e{number}" for number in range(200)),
        "SELECT abs(" * 2000 + "1" + ")" * 2000,
        "WITH " + ",".join(f"a{n} AS (SELECT 1)" for n in range(times(5_000, 20_000))) + " SELECT 1",
        "SELECT " + "[" * 900_000,
        "SELECT x'" + "0" * 900_001 + "'",
        ";" * times(300_000, 900_000) + "SELECT 1",
        "(" * 900_000,
        "SELECT json('" + "[" * 400_000 + "')",
    ],
    ids=lambda query: query[:24],
)
def test_a_statement_that_strains_the_parser_ends(ground, query):
    done = ground.sandbox.run(ground.scratch, query, limits=SqlLimits(timeout_s=2.0))
    assert done.failure is not None or done.table.rows
    assert ground.sandbox.run(ground.scratch, "SELECT 1").table.rows == [(1,)]


def test_a_tower_of_views_ends(ground):
    tower = "CREATE VIEW v0 AS SELECT 1 AS a;" + "".join(
        f"CREATE VIEW v{level} AS SELECT x.a FROM v{level - 1} x, v{level - 1} y;" for level in range(1, 29)
    )
    done = ground.sandbox.run(Database(script=tower), "SELECT count(*) FROM v28", limits=SqlLimits(timeout_s=0.5))
    assert done.failure.kind in STOPPED


def test_a_result_of_too_many_rows_says_so(ground):
    query = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 11) SELECT x FROM a"
    done = ground.sandbox.run(ground.scratch, query, limits=SqlLimits(max_rows=10))
    assert (done.failure.kind, done.failure.message) == ("too_large", "more than 10 rows")
    assert len(ground.sandbox.run(ground.scratch, query, limits=SqlLimits(max_rows=11)).table.rows) == 11


def test_a_result_of_too_many_bytes_says_so(ground):
    done = ground.sandbox.run(ground.scratch, "SELECT zeroblob(1001)", limits=SqlLimits(max_bytes=1000))
    assert (done.failure.kind, "1,000 bytes" in done.failure.message) == ("too_large", True)


def test_a_script_that_never_ends_is_stopped(ground):
    script = (
        "CREATE TABLE t(a); INSERT INTO t WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a) SELECT x FROM a"
    )
    done = ground.sandbox.run(Database(script=script), "SELECT 1", limits=BRIEF)
    assert (done.failure.kind in {"timeout", "memory"}, done.failure.part) == (True, "script")
