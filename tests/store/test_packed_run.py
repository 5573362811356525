"""The packed columns of a large run say what its tables say, and are not used where they might not."""

import json
import sqlite3
import zlib

import pytest
from tests.store.exam_run import exam_runs, question
from tests.store.outside import connection_to, execute
from tests.store.test_columns import REPLIES, expected, rows_of
from tests.thorough import times

from steelyard import Store, compare
from steelyard.plain_json import json_value
from steelyard.store import packed_run
from steelyard.store.delete import delete_runs
from steelyard.store.packed_run import read_packed_run
from steelyard.suite.rescore import rescore


@pytest.fixture
def where(tmp_path):
    return tmp_path / "s.db"


@pytest.fixture
def packed(where, monkeypatch):
    """Two runs with every outcome, failures, repeats, groups and a cluster, of which the columns are stored."""
    monkeypatch.setattr(packed_run, "FROM_RECORDS", 1)
    monkeypatch.setattr(packed_run, "_CHUNK", 4)
    samples = [
        question(f"q\n{no}é", group="ab\0c"[no % 4], cluster="pair" if no < 2 else "") for no in range(len(REPLIES))
    ]
    return exam_runs(where, {"one": REPLIES, "two": REPLIES[::-1]}, samples=samples, repeats=2)


def found(store, run):
    """The packed columns that would be used."""
    with store.reading() as connection:
        return read_packed_run(connection, run.num, run.scoring_version)


def everything(where, runs):
    """What is computed from the columns of two runs, and of each what its replies and contents are."""
    with Store(where) as store:
        again = [store.run(run.id) for run in runs]
        asked = [run.columns()[1] for run in again]
        rows = [rows_of(run) for run in again]
        return rows, json_value(compare(*again)), [(one.hashes(), one.reply_keys()) for one in asked]


def test_packed_columns_say_what_the_rows_say(packed, where):
    with Store(where) as store:
        for run in packed:
            stored = store.run(run.id)
            assert found(store, stored) is not None
            assert rows_of(stored) == expected(stored)
            assert len(rows_of(stored)) == 2 * 2 * len(REPLIES)


def test_a_comparison_of_packed_runs_is_that_of_their_tables(packed, where):
    of_packed = everything(where, packed)
    execute(where, "DROP TABLE packed_run")
    assert everything(where, packed) == of_packed


def test_packed_columns_are_what_is_read(packed, where):
    execute(where, "UPDATE score SET value = 0.5 WHERE value = 1")  # nobody moved the checksums: `verify` says so
    with Store(where) as store:
        assert {row[6] for row in rows_of(store.run(packed[0].id))} == {0.0, 1.0, None}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE seal SET digest = digest - 1 WHERE part = 0",
        "UPDATE seal SET digest = digest - 1 WHERE part = -1",
        "DELETE FROM seal",
        "UPDATE run SET done = done + 1",
    ],
)
def test_columns_of_rows_that_have_changed_are_not_used(packed, where, change):
    execute(where, "UPDATE score SET value = 0.5 WHERE value = 1")
    execute(where, change)
    with Store(where) as store:
        run = store.run(packed[0].id)
        assert found(store, run) is None
        assert {row[6] for row in rows_of(run)} == {0.0, 0.5, None}


def test_scores_of_a_later_version_are_read_from_the_tables(packed, where):
    with Store(where) as store:
        after, _ = rescore(store, store.run(packed[0].id), [lambda sample, output: 0.25])
        assert found(store, after) is None
        assert {row[6] for row in rows_of(after)} == {0.25, None}


def test_damaged_columns_are_not_used(packed, where):
    (body,) = execute(where, "SELECT body FROM packed_run WHERE run = ?", (packed[0].num,))[0]
    for at in range(0, len(body), times(19, 7)):
        damaged = bytearray(body)
        damaged[at] ^= 4
        with connection_to(where) as connection:
            connection.execute("UPDATE packed_run SET body = ? WHERE run = ?", (damaged, packed[0].num))
        with Store(where) as store:
            assert found(store, store.run(packed[0].id)) is None
    with Store(where) as store:
        assert rows_of(store.run(packed[0].id)) == expected(store.run(packed[0].id))


def test_columns_that_unpack_to_more_than_the_file_could_hold_are_not_used(packed, where):
    (body,) = execute(where, "SELECT body FROM packed_run WHERE run = ?", (packed[0].num,))[0]
    line, _, streams = body[4:].partition(b"\n")
    head = json.loads(line)
    first, bomb = head["sizes"][0], zlib.compress(bytes(64 << 20))
    head["sizes"][0] = len(bomb)
    data = json.dumps(head).encode() + b"\n" + bomb + streams[first:]
    planted = zlib.crc32(data).to_bytes(4, "big") + data
    with connection_to(where) as connection:
        connection.execute("UPDATE packed_run SET body = ? WHERE run = ?", (planted, packed[0].num))
    with Store(where) as store:
        run = store.run(packed[0].id)
        assert found(store, run) is None
        assert rows_of(run) == expected(run)


def test_lists_of_replies_that_do_not_fit_are_read_from_the_tables(packed, where):
    execute(where, "UPDATE record SET replies = X'010203' WHERE no = 1")
    with Store(where) as store:
        run = store.run(packed[0].id)
        assert rows_of(run) == expected(run)


def test_a_deleted_run_leaves_no_columns(packed, where):
    with Store(where) as store:
        delete_runs(store, [store.run(packed[0].id)])
    assert execute(where, "SELECT run FROM packed_run") == [(packed[1].num,)]


def test_a_small_run_leaves_no_table(where):
    exam_runs(where, {"one": ["A"] * 3})
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        execute(where, "SELECT * FROM packed_run")


def test_an_unfinished_run_is_read_from_its_tables(where, monkeypatch):
    monkeypatch.setattr(packed_run, "FROM_RECORDS", 0)
    (run,) = exam_runs(where, {"one": ["A"] * 3})
    execute(where, "UPDATE run SET state = 'broken'")
    execute(where, "UPDATE score SET value = 0.5")
    with Store(where) as store:
        assert {row[6] for row in rows_of(store.run(run.id))} == {0.5}
