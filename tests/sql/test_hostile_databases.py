"""Database files of strangers that want time, memory or room before any query runs on them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from steelyard.errors import ConfigError
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.workers import processes
from steelyard.sql.workers.copies import Copies

LOOP = "instr(zeroblob(19000000), zeroblob(9000000) || x'01')"
"""Hours in one function that looks at no clock."""


def database(path, *statements):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("PRAGMA ignore_check_constraints = ON", "PRAGMA writable_schema = ON", *statements):
            connection.execute(statement)
    return Database(file=path)


def generated(path, expression):
    """A file with a generated column that is not NULL, which the check of its pages evaluates."""
    shown = expression.replace("'", "''")
    return database(
        path,
        "CREATE TABLE t(a, g AS (1) NOT NULL)",
        "INSERT INTO t VALUES (5)",
        f"UPDATE sqlite_master SET sql = replace(sql, '(1)', '({shown})')",
    )


def refusal(sandbox, opened, **limits):
    with pytest.raises(ConfigError) as raised:
        sandbox.run(opened, "SELECT 1", limits=SqlLimits(**limits))
    return str(raised.value)


def test_check_constraints_of_a_file_are_not_evaluated(sandbox, tmp_path):
    opened = database(tmp_path / "a.db", f"CREATE TABLE t(a, CHECK ({LOOP} = 0))", "INSERT INTO t VALUES (5)")
    assert sandbox.run(opened, "SELECT a FROM t").table.rows == [(5,)]


@pytest.mark.parametrize("place", ["generated column", "statistics"])
def test_a_file_that_evaluates_without_end_is_refused_at_the_deadline(sandbox, tmp_path, monkeypatch, place):
    if place == "generated column":
        opened = generated(tmp_path / "a.db", LOOP)
    else:
        shown = LOOP.replace("'", "''")
        table = f"CREATE TABLE sqlite_stat1(tbl, idx, other, stat AS ({shown}))"
        opened = database(
            tmp_path / "a.db",
            *("CREATE TABLE t(a)", "CREATE INDEX i ON t(a)", "INSERT INTO t VALUES (1)", "ANALYZE"),
            f"UPDATE sqlite_master SET sql = '{table}' WHERE name = 'sqlite_stat1'",
        )
    monkeypatch.setattr(processes, "PREPARE_S", 0.3)
    assert "opening and checking it takes more than" in refusal(sandbox, opened)


def test_the_next_file_is_read_after_one_that_was_refused(sandbox, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(processes, "PREPARE_S", 0.3)
        refusal(sandbox, generated(tmp_path / "a.db", LOOP))
    sound = database(tmp_path / "b.db", "CREATE TABLE t(a)", "INSERT INTO t VALUES (5)")
    assert sandbox.run(sound, "SELECT a FROM t").table.rows == [(5,)]


def test_opening_a_file_takes_no_more_memory_than_a_query(sandbox, tmp_path):
    wide = "length(max(" + ", ".join(f"hex(zeroblob({9_000_000 - number}))" for number in range(5)) + "))"
    opened = generated(tmp_path / "a.db", wide)
    assert "more than 64 MiB of memory" in refusal(sandbox, opened, memory_mib=64)
    assert sandbox.run(opened, "SELECT a FROM t", limits=SqlLimits(memory_mib=512)).table.rows == [(5,)]


def test_a_value_that_is_larger_than_a_query_may_read_is_no_damage(sandbox, tmp_path):
    opened = database(
        tmp_path / "a.db", "CREATE TABLE t(a, b NOT NULL)", "INSERT INTO t VALUES (5, zeroblob(21000000))"
    )
    assert sandbox.run(opened, "SELECT a FROM t").table.rows == [(5,)]


def test_a_log_of_duckdb_takes_no_more_memory_than_a_query(sandbox, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr(processes, "PREPARE_S", 60)
    file = tmp_path / "a.duckdb"
    with contextlib.closing(duckdb.connect(str(file))) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.execute("CHECKPOINT")
        connection.execute("SET checkpoint_threshold = '1GB'")
        connection.execute("ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT (repeat('x', 40000000))")
        assert "Out of Memory" in refusal(sandbox, Database("duckdb", file), memory_mib=64)


class TestCopies:
    def test_a_file_that_cannot_be_prepared_is_prepared_once(self, tmp_path):
        opened = database(tmp_path / "a.db", "CREATE TABLE t(a)")
        asked = []

        def prepare(engine, file, memory_mib, tables):
            asked.append(memory_mib)
            return "a reason"

        copies = Copies(prepare)
        for memory_mib in (64, 64, 512, 512):
            with pytest.raises(ConfigError, match="a reason"), copies.lease("sqlite", opened.file, memory_mib):
                pass
        assert asked == [64, 512]
        os.utime(opened.file, ns=(1, 1))
        with pytest.raises(ConfigError, match="a reason"), copies.lease("sqlite", opened.file, 512):
            pass
        assert asked == [64, 512, 512]
        copies.close()

    def test_a_file_whose_worker_was_killed_is_prepared_again(self, tmp_path):
        opened = database(tmp_path / "a.db", "CREATE TABLE t(a)")
        outcomes = iter([OSError("killed"), ""])

        def prepare(engine, file, memory_mib, tables):
            outcome = next(outcomes)
            if isinstance(outcome, OSError):
                raise outcome
            return outcome

        copies = Copies(prepare)
        with pytest.raises(ConfigError, match="killed"), copies.lease("sqlite", opened.file, 64):
            pass
        with copies.lease("sqlite", opened.file, 64) as path:
            assert Path(path).exists()
        copies.close()

    def test_holes_of_a_file_take_no_room_in_its_copy(self, tmp_path):
        opened = database(tmp_path / "a.db", "CREATE TABLE t(a)")
        before = opened.file.read_bytes()
        os.truncate(opened.file, 2**31)
        copies = Copies(lambda *_: "")
        with copies.lease("sqlite", opened.file, 64) as path:
            about = Path(path).stat()
            with Path(path).open("rb") as copied:
                assert copied.read(len(before)) == before
        copies.close()
        assert about.st_size == 2**31
        assert about.st_blocks * 512 < 2**20

    def test_a_log_that_is_a_link_is_refused(self, tmp_path):
        opened = database(tmp_path / "a.db", "CREATE TABLE t(a)")
        (tmp_path / "other").write_bytes(b"private")
        (tmp_path / "a.db-wal").symlink_to(tmp_path / "other")
        with pytest.raises(ConfigError, match=r"a\.db-wal of a database is a symbolic link"):
            Copies(lambda *_: "").lease("sqlite", opened.file, 64).__enter__()

    def test_the_log_of_a_linked_file_is_beside_the_file_itself(self, sandbox, tmp_path):
        (tmp_path / "kept").mkdir()
        with contextlib.closing(sqlite3.connect(tmp_path / "kept/a.db", isolation_level=None)) as writer:
            for statement in ("PRAGMA journal_mode = wal", "CREATE TABLE t(a)", "INSERT INTO t VALUES (5)"):
                writer.execute(statement)
            (tmp_path / "b.db").symlink_to(tmp_path / "kept/a.db")
            assert sandbox.run(Database(file=tmp_path / "b.db"), "SELECT a FROM t").table.rows == [(5,)]
