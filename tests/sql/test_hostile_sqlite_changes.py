"""Hostile SQLite statements that want to change a database, another statement's result, or the process."""

from __future__ import annotations

import pytest
from tests.sql.hostile_ground import CHECK, RIGHT, ground, kinds

from steelyard.sql.results import SqlLimits

__all__ = ["ground"]


@pytest.fixture(scope="module")
def victimised(ground):
    return kinds(ground.let_loose("victim"))


def test_no_statement_changes_a_database(victimised):
    assert {statement: kind for statement, kind in victimised.items() if kind not in {"denied", "error"}} == {}


def test_a_statement_that_writes_is_denied_not_an_error(victimised):
    wrong = {
        statement: kind
        for statement, kind in victimised.items()
        if kind != "denied"
        and statement[1].split()[0] in {"DELETE", "UPDATE", "INSERT", "DROP", "PRAGMA", "WITH", "ALTER"}
    }
    assert wrong == {}


def test_no_second_statement_is_run(ground):
    by_statement = kinds(ground.let_loose("stacked"))
    assert {statement: kind for statement, kind in by_statement.items() if kind not in {"denied", "error"}} == {}


def test_no_disguise_lets_a_statement_write_or_set(ground):
    by_statement = kinds(ground.let_loose("disguised"))
    assert {statement: kind for statement, kind in by_statement.items() if kind not in {"denied", "error"}} == {}


def test_no_statement_changes_the_next_ones_result(ground):
    # Each is followed by a query that has to come out right: that is in let_loose.
    by_statement = kinds(ground.let_loose("state"))
    assert {kind for statement, kind in by_statement.items() if "PRAGMA" in statement[1] and "=" in statement[1]} == {
        "denied"
    }


def test_a_temporary_table_is_gone_with_its_query(ground):
    create = "CREATE TEMP TABLE emp(id, name, pay)"
    done = ground.sandbox.run(ground.scratch, "SELECT count(*) FROM emp", create=create)
    assert done.table.rows == [(0,)]
    assert ground.sandbox.run(ground.scratch, CHECK).table.rows == RIGHT


@pytest.mark.parametrize("query", ["", "   ", ";", "-- nothing", "/* nothing */ ;;", "\ufeff"])
def test_no_statement_at_all_is_denied(ground, query):
    done = ground.sandbox.run(ground.scratch, query)
    assert done.failure.kind == "denied"
    assert "one statement is expected" in done.failure.message


def test_a_nul_is_refused_with_a_message(ground):
    done = ground.sandbox.run(ground.scratch, "SELECT 1\0; DROP TABLE emp")
    assert (done.failure.kind, "NUL" in done.failure.message) == ("denied", True)


def test_half_a_character_is_an_error(ground):
    done = ground.sandbox.run(ground.scratch, "SELECT '\ud800'")
    assert (done.failure.kind, "surrogate" in done.failure.message) == ("error", True)


def test_a_create_on_a_database_file_is_denied(ground):
    done = ground.sandbox.run(ground.file, "SELECT 1", create="CREATE TABLE t(a)")
    assert (done.failure.kind, done.failure.part) == ("denied", "create")


def test_a_heap_limit_of_one_byte_hurts_no_later_statement(ground):
    limits = SqlLimits(memory_mib=64)
    for query in ("PRAGMA hard_heap_limit = 1", "SELECT * FROM pragma_hard_heap_limit(1)", CHECK):
        done = ground.sandbox.run(ground.scratch, query, limits=limits)
    assert done.table.rows == RIGHT
