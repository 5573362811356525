"""Hostile SQLite statements that want files, functions of the operating system, or the network."""

from __future__ import annotations

from tests.sql.hostile_ground import ground, kinds

__all__ = ["ground"]


def refused(found):
    return {one: kind for one, kind in kinds(found).items() if kind not in {"denied", "error"}}


def test_no_statement_writes_a_file(ground):
    assert refused(ground.let_loose("file_write")) == {}


def test_no_statement_reads_a_file(ground):
    found = ground.let_loose("file_read")
    assert refused(found) == {}
    assert not [done for *_, done in found if "TOP-SECRET" in str(done)]


def test_no_function_reaches_outside(ground):
    # An index or a CHECK over a refused function fails where it is made.
    assert refused(ground.let_loose("functions")) == {}


def test_an_attach_is_denied_by_name(ground):
    for part in ({"query": "ATTACH 'x' AS y"}, {"query": "SELECT 1", "create": "ATTACH 'x' AS y"}):
        done = ground.sandbox.run(ground.scratch, **part)
        assert done.failure.kind == "denied"
        assert "ATTACH" in done.failure.message


def test_a_function_is_denied_by_name(ground):
    done = ground.sandbox.run(ground.scratch, "SELECT load_extension('x')")
    assert (done.failure.kind, done.failure.message) == ("denied", "denied: the function load_extension")


def test_an_attach_in_a_script_is_denied(ground):
    from steelyard.sql.results import Database

    done = ground.sandbox.run(Database(script="CREATE TABLE t(a); ATTACH 'x' AS y"), "SELECT 1")
    assert (done.failure.kind, done.failure.part) == ("denied", "script")
    assert "statement 2" in done.failure.message
