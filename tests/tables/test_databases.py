"""Databases of a folder: found by id, opened when asked for, read-only, closed in the order of their last use."""

from __future__ import annotations

import gc
import sqlite3

import numpy as np
import pandas as pd
import pytest

from steelyard.errors import ConfigError
from steelyard.sql.results import SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.databases import MultipleDatabases, QueryFailed, SingleDatabase, database_ids, find_database


def make(file, rows=((1, "Ann"), (2, "Bob"))):
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    connection.executemany("INSERT INTO people VALUES (?, ?)", rows)
    connection.execute('CREATE TABLE "odd ""name" (x)')
    connection.commit()
    connection.close()
    return file


@pytest.fixture
def folder(tmp_path):
    make(tmp_path / "town" / "town.sqlite")
    make(tmp_path / "flat.sqlite", [(3, "Cid")])
    make(tmp_path / "short.db", [(4, "Dan")])
    (tmp_path / "notes").mkdir()
    (tmp_path / "readme.txt").write_text("no database")
    return tmp_path


@pytest.fixture
def databases(folder):
    with MultipleDatabases(folder) as opened:
        yield opened


def test_databases_are_found_in_folders_and_flat(folder):
    assert database_ids(folder) == ["flat", "short", "town"]


@pytest.mark.parametrize("name", ["out.sqlite", "out/out.sqlite", "out.db"])
def test_a_link_that_leads_out_of_the_folder_is_refused(folder, tmp_path_factory, name):
    private = make(tmp_path_factory.mktemp("private") / "private.sqlite")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(private)
    with pytest.raises(ConfigError) as raised:
        find_database(folder, "out")
    assert f"{folder / name} leads out of the folder" in str(raised.value)
    assert str(private) in str(raised.value)


def test_a_folder_of_a_database_that_leads_out_is_refused(folder, tmp_path_factory):
    outside = make(tmp_path_factory.mktemp("private") / "out.sqlite").parent
    (folder / "out").symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out of the folder"):
        find_database(folder, "out")


def test_links_within_the_folder_and_to_it_are_followed(folder, tmp_path_factory):
    (folder / "again.sqlite").symlink_to("town/town.sqlite")
    named = tmp_path_factory.mktemp("named") / "databases"
    named.symlink_to(folder)
    with MultipleDatabases(named) as opened:
        assert opened.run_query("again", "SELECT name FROM people") == [["Ann"], ["Bob"]]


def test_a_query_returns_lists_of_lists(databases):
    assert databases.run_query("town", "SELECT * FROM people ORDER BY id") == [[1, "Ann"], [2, "Bob"]]
    assert databases.run_query("short", "SELECT name FROM people") == [["Dan"]]


def test_several_queries_are_run_in_order(databases):
    results = databases.run_multiple_queries("flat", ["SELECT 1", "SELECT name FROM people"])
    assert results == [[[1]], [["Cid"]]]


def test_a_folder_goes_before_a_file_of_the_same_id(folder):
    make(folder / "town.sqlite", [(9, "Zoe")])
    with MultipleDatabases(folder) as opened:
        assert opened.run_query("town", "SELECT count(*) FROM people") == [[2]]


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE people",
        "DELETE FROM people",
        "WITH x AS (SELECT 1) DELETE FROM people",
        "PRAGMA user_version = 7",
        "SELECT 1; DROP TABLE people",
        "ATTACH '/tmp/steelyard-other.sqlite' AS other",
    ],
)
def test_a_query_leaves_the_bytes_of_the_database_unchanged(databases, folder, query):
    before = (folder / "town" / "town.sqlite").read_bytes()
    with pytest.raises(QueryFailed):
        databases.run_query("town", query)
    assert (folder / "town" / "town.sqlite").read_bytes() == before
    assert databases.run_query("town", "SELECT count(*) FROM people") == [[2]]


def test_code_that_catches_errors_of_sqlite_catches_a_failed_query(databases):
    with pytest.raises(sqlite3.OperationalError, match="no such column: nam"):
        databases.run_query("town", "SELECT nam FROM people")


def test_a_failed_query_says_why(databases):
    with pytest.raises(QueryFailed) as caught:
        databases.run_query("town", "SELECT nam FROM people")
    assert (caught.value.failure.kind, caught.value.query) == ("error", "SELECT nam FROM people")


@pytest.mark.parametrize("query", [None, float("nan"), 5, ["SELECT 1"], b"SELECT 1"])
def test_a_query_that_is_no_text_has_no_result(databases, query):
    done = databases.execute("town", query)
    assert done.table is None
    assert "a query is a text" in done.failure.message


def test_limits_hold_for_each_query(folder):
    with MultipleDatabases(folder, limits=SqlLimits(max_rows=1)) as opened:
        assert opened.execute("town", "SELECT * FROM people").failure.kind == "too_large"
        assert opened.run_query("town", "SELECT count(*) FROM people") == [[2]]


def test_an_unknown_id_is_refused_with_the_nearest_and_makes_no_folder(databases, folder):
    with pytest.raises(ConfigError, match=r"there is no database 'twon' .*did you mean 'town'\?"):
        databases.run_query("twon", "SELECT 1")
    assert not (folder / "twon").exists()


@pytest.mark.parametrize("db_id", ["../flat", "town/town", "..", ".", "", "/etc/passwd", "C:town", "a\x00b", None, 3])
def test_an_id_is_never_a_path(folder, db_id):
    with pytest.raises(ConfigError, match="there is no database"):
        find_database(folder / "town", db_id)
    with pytest.raises(ConfigError, match="there is no database"):
        find_database(folder, db_id)


def test_an_id_may_be_a_whole_number(tmp_path):
    file = make(tmp_path / "7.sqlite")
    assert find_database(tmp_path, 7).file == find_database(tmp_path, np.int64(7)).file == file
    with pytest.raises(ConfigError, match="no database True"):
        find_database(tmp_path, True)


def test_a_message_lists_at_most_twenty_ids(tmp_path):
    for number in range(30):
        (tmp_path / f"base{number:02}.sqlite").write_bytes(b"")
    with pytest.raises(ConfigError, match="base19 and 10 more"):
        find_database(tmp_path, "zzz")


def test_a_missing_folder_is_refused_at_once(tmp_path):
    with pytest.raises(ConfigError, match="there is no folder"):
        MultipleDatabases(tmp_path / "nowhere")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="is not a folder"):
        MultipleDatabases(str(file))


def test_an_id_is_contained_where_its_database_exists(databases):
    assert "town" in databases
    assert "tow" not in databases
    assert 3 not in databases


def test_databases_are_opened_when_they_are_asked_for(databases):
    assert list(databases.db_ids2db) == []
    databases.open_db("flat")
    assert list(databases.db_ids2db) == ["flat"]


def test_the_least_recently_used_is_closed_first(folder):
    with MultipleDatabases(folder, 2) as opened:
        for db_id in ("town", "flat", "town", "short"):
            opened.run_query(db_id, "SELECT 1")
        assert list(opened.db_ids2db) == ["town", "short"]


def test_a_bound_below_one_is_refused(folder):
    with pytest.raises(ConfigError, match="_max_db_in_memory"):
        MultipleDatabases(folder, _max_db_in_memory=0)


def test_a_table_comes_as_a_data_frame(databases):
    table = databases.get_table("town", "people")
    pd.testing.assert_frame_equal(table, pd.DataFrame({"id": [1, 2], "name": ["Ann", "Bob"]}))


def test_a_schema_comes_as_a_data_frame(databases):
    schema = databases.get_schema("town", "people")
    assert list(schema.columns) == ["cid", "name", "type", "notnull", "dflt_value", "pk"]
    assert schema[["name", "type", "notnull", "pk"]].to_numpy().tolist() == [
        ["id", "INTEGER", 0, 1],
        ["name", "TEXT", 1, 0],
    ]


def test_names_with_quotes_are_quoted(databases):
    assert list(databases.get_all_table_schema_given("town")) == ["people", 'odd "name']
    assert list(databases.get_table("town", 'odd "name').columns) == ["x"]


def test_an_unknown_table_is_refused_with_the_nearest(databases):
    with pytest.raises(ConfigError, match=r"did you mean 'people'\?"):
        databases.get_table("town", "poeple")
    with pytest.raises(ConfigError, match="has no table"):
        databases.get_schema("town", "people; DROP TABLE people")


def test_closed_databases_open_again(databases):
    databases.run_query("town", "SELECT 1")
    databases.close()
    assert list(databases.db_ids2db) == []
    assert databases.run_query("town", "SELECT 2") == [[2]]


def test_workers_end_with_the_last_reference(folder):
    class Counting(Sandbox):
        closed = 0

        def close(self):
            type(self).closed += 1
            super().close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.tables.databases.Sandbox", Counting)
        opened = MultipleDatabases(folder)
        assert opened.run_query("town", "SELECT 1") == [[1]]
        del opened
        gc.collect()
    assert Counting.closed == 1


def test_a_sandbox_that_was_given_is_left_open(folder):
    with Sandbox() as sandbox:
        MultipleDatabases(folder, sandbox=sandbox).close()
        with MultipleDatabases(folder, sandbox=sandbox) as opened:
            assert opened.run_query("town", "SELECT 1") == [[1]]


def test_a_single_database_stands_alone(folder):
    with SingleDatabase(folder, "town") as database:
        assert database.run_query("SELECT count(*) FROM people") == [[2]]
        assert database.table_names == ["people", 'odd "name']
        assert database.db_path_sqlite == str(folder / "town" / "town.sqlite")


def test_a_duckdb_file_is_read_whatever_its_ending(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    for name in ("one.duckdb", "two.db"):
        connection = duckdb.connect(str(tmp_path / name))
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.close()
    assert [find_database(tmp_path, db_id).engine for db_id in database_ids(tmp_path)] == ["duckdb", "duckdb"]
