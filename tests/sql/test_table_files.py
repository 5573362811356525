"""Folders of CSV, JSON lines and Parquet as databases: what they hold afterwards, and files that attack the reader."""

from __future__ import annotations

import datetime as dt
import os
import random

import pytest

from steelyard.config.load import load
from steelyard.errors import ConfigError, DataError
from steelyard.scorers.sql_runs import digest_of_databases
from steelyard.sql.catalog import ddl_of
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.workers import processes
from steelyard.tables.databases import database_ids, databases_in, find_database

CSV = "id,zip,day,price\n1,01234,03/04/2024,1.5\n2,99999,05/06/2024,\n"


@pytest.fixture
def shop(tmp_path):
    """A folder of databases with one, to which files are added."""
    folder = tmp_path / "databases" / "shop"
    folder.mkdir(parents=True)
    return folder


def rows(sandbox, folder, query):
    done = sandbox.run(find_database(folder.parent, folder.name), query)
    return done.failure or done.table.rows


def refusal(sandbox, folder, **limits):
    with pytest.raises(ConfigError) as raised:
        sandbox.run(find_database(folder.parent, folder.name), "SELECT 1", limits=SqlLimits(**limits))
    return str(raised.value)


def test_each_file_is_a_table_of_one_database(sandbox, shop):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (shop / "customers.csv").write_text(CSV)
    (shop / "notes.TSV").write_text("id\tnote\n1\ta, b\n")
    (shop / "events.jsonl").write_text('{"id": 1, "at": "2024-01-02", "tags": ["a"]}\n{"id": 2, "more": "007"}\n')
    pq.write_table(pa.table({"id": [1], "photo": [b"\0"]}), shop / 'odd "name" *.parquet')
    (shop / "README.md").write_text("not a table")
    assert database_ids(shop.parent) == ["shop"]
    assert ddl_of(sandbox, databases_in(shop.parent, sandbox)["shop"]).splitlines() == [
        'CREATE TABLE customers(id BIGINT, zip VARCHAR, "day" VARCHAR, price DOUBLE);',
        'CREATE TABLE events(id BIGINT, "at" DATE, tags VARCHAR[], more VARCHAR);',
        "CREATE TABLE notes(id BIGINT, note VARCHAR);",
        'CREATE TABLE "odd ""name"" *"(id BIGINT, photo BLOB);',
    ]
    assert rows(sandbox, shop, "SELECT zip, day, price FROM shop.customers") == [
        ("01234", "03/04/2024", 1.5),
        ("99999", "05/06/2024", None),
    ]
    assert rows(sandbox, shop, 'SELECT "at", more FROM events ORDER BY id') == [
        (dt.date(2024, 1, 2), None),
        (None, "007"),
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (b'id;name\n1;"a;b\n\nc"\n', [(1, "a;b\n\nc")]),
        (b"paid,code,took,n\nyes,0x1f,1:30,1\n", [("yes", "0x1f", "1:30", 1)]),
        (b"paid,took\ntrue,01:30\n", [(True, dt.time(1, 30))]),
        ("id,name\n1,é\n".encode("utf-16"), [(1, "é")]),
        (b"\xef\xbb\xbfid,name\r\n#1,12345678901234567890\r\n", [("#1", 12345678901234567890)]),
        (b"id|name\n1|x,y\n", [(1, "x,y")]),
        (b"id,name\n", []),
        (b'id,name\n,"NULL"\n', [(None, "NULL")]),
    ],
)
def test_a_csv_is_read_as_it_is_written(sandbox, shop, text, first):
    (shop / "t.csv").write_bytes(text)
    assert rows(sandbox, shop, "FROM t") == first


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("t.csv", b"id,name\n1,a\n2,b,c\n", "t.csv: line 3: 3 values, where the header names 2 columns"),
        ("t.csv", b"Prices of 2024\nid,name\n1,a\n", "t.csv: line 2: 2 values, where the header names 1 columns"),
        ("t.csv", b'id,name\n1,"a\n2,b\n', "t.csv: line 2: a quotation mark that is not closed"),
        ("t.csv", "id,name\n1,é\n".encode("latin-1"), "t.csv: line 2: it is neither UTF-8 nor UTF-16"),
        ("t.csv", b"\xfe\xff" + "id,name\n1,a\n".encode("utf-16-be"), "t.csv: it is big-endian UTF-16"),
        ("t.csv", b"", "t.csv: its first line is blank"),
        ("t.jsonl", b'{"a": 1}\n{"a":\n', "t.jsonl: Invalid Input Error: Malformed JSON"),
        ("t.jsonl", b'{"a":' * 100_000, "t.jsonl: Invalid Input Error"),
        ("t.parquet", b"PAR1" + bytes(50) + b"PAR1", "t.parquet: Footer length error in file 't.parquet'"),
        ("t.parquet", b"", "t.parquet: "),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(sandbox, shop, name, text, why):
    (shop / "a.csv").write_text("id\n1\n")
    (shop / name).write_bytes(text)
    said = refusal(sandbox, shop)
    assert said.startswith(f"{shop} has a table that cannot be read: {why}")
    assert "steelyard-sql" not in said


def test_json_of_several_types_is_text_as_it_is_written(sandbox, shop):
    (shop / "t.jsonl").write_text('{"id": 1, "none": null}\n{"id": "3x"}\n{"id": [1]}\n')
    assert rows(sandbox, shop, "SELECT id, none, typeof(none) FROM t") == [
        ("1", None, "VARCHAR"),
        ("3x", None, "VARCHAR"),
        ("[1]", None, "VARCHAR"),
    ]


def test_statements_reach_neither_the_files_nor_any_other(sandbox, shop):
    (shop / "t.csv").write_text("id\n1\n")
    for query in (
        "FROM read_csv('0.csv')",
        f"FROM read_csv('{shop / 't.csv'}')",
        f"FROM '{shop / 't.csv'}'",
        "FROM read_json('/etc/passwd')",
        "FROM read_parquet('*')",
        "FROM glob('/*')",
        "SELECT content FROM read_text('/etc/passwd')",
        "FROM read_csv('http://127.0.0.1:1/x.csv')",
    ):
        assert rows(sandbox, shop, query).kind == "denied", query
    for query in ("COPY t TO 'out.csv'", "INSERT INTO t VALUES (2)", "ATTACH 'x.duckdb'", "INSTALL httpfs"):
        assert rows(sandbox, shop, query).kind == "denied", query
    assert rows(sandbox, shop, "SELECT * FROM t") == [(1,)]
    assert sorted(path.name for path in shop.iterdir()) == ["t.csv"]


def test_a_changed_file_is_loaded_again_and_changes_the_digest(sandbox, shop):
    (shop / "t.csv").write_text("id\n1\n")
    before = digest_of_databases(shop.parent)
    assert rows(sandbox, shop, "SELECT * FROM t") == [(1,)]
    (shop / "t.csv").write_text("id\n22\n")
    assert rows(sandbox, shop, "SELECT * FROM t") == [(22,)]
    assert digest_of_databases(shop.parent) != before


def test_two_files_of_one_table_are_refused(sandbox, shop):
    (shop / "Orders.csv").write_text("id\n1\n")
    (shop / "orders.jsonl").write_text('{"id": 1}\n')
    assert "Orders.csv and orders.jsonl would both be the table orders" in refusal(sandbox, shop)


def test_a_link_out_of_the_folder_is_refused(sandbox, shop, tmp_path):
    (tmp_path / "secret.csv").write_text("id\n1\n")
    (shop / "t.csv").symlink_to(tmp_path / "secret.csv")
    assert "leads out of the folder" in refusal(sandbox, shop)


def test_a_pipe_in_the_folder_is_no_table(sandbox, shop):
    (shop / "t.csv").write_text("id\n1\n")
    os.mkfifo(shop / "pipe.csv")
    assert rows(sandbox, shop, "SELECT * FROM t") == [(1,)]


def test_a_database_file_is_preferred_to_tables_beside_it(shop):
    (shop / "shop.sqlite").write_bytes(b"")
    (shop / "t.csv").write_text("id\n1\n")
    assert find_database(shop.parent, "shop") == Database(file=shop / "shop.sqlite")


def test_tables_that_lie_in_the_folder_of_databases_itself_get_a_hint(shop, sandbox):
    (shop / "t.csv").write_text("id\n1\n")
    with pytest.raises(ConfigError, match=r"put those of each database into a folder of its own, <id>/\*\.csv"):
        databases_in(shop, sandbox)


def test_a_small_file_that_unpacks_to_much_ends_at_the_limit_of_memory(sandbox, shop):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"t": ["x" * 30_000_000] * 10}), shop / "t.parquet", compression="zstd")
    assert (shop / "t.parquet").stat().st_size < 1_000_000
    assert "takes more than 64 MiB of memory" in refusal(sandbox, shop, memory_mib=64)


def test_a_file_that_takes_too_long_ends_at_the_deadline(sandbox, shop, monkeypatch):
    (shop / "t.csv").write_text("a,b,c,d\n" + "1,2,3,x\n" * 2_000_000)
    monkeypatch.setattr(processes, "PREPARE_S", 0.05)
    monkeypatch.setattr(processes, "_PREPARED_BYTES", 10**12)
    assert "opening and checking it takes more than 0 seconds" in refusal(sandbox, shop)


def test_damaged_files_never_end_the_caller(sandbox, shop):
    """Flipped bytes: a file is loaded or refused, and the next one is read."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": list(range(300)), "b": [f"n{at}" for at in range(300)]}), shop / "t.parquet")
    sound = {"t.parquet": (shop / "t.parquet").read_bytes()}
    sound["t.csv"] = CSV.encode() * 20
    sound["t.jsonl"] = b'{"a": 1, "b": {"c": [1, 2]}}\n' * 20
    (shop / "t.parquet").unlink()
    draw = random.Random(7)
    for name, content in sound.items():
        for _ in range(8):
            damaged = bytearray(content)
            for _ in range(draw.randint(1, 40)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            (shop / name).write_bytes(damaged)
            try:
                done = sandbox.run(find_database(shop.parent, "shop"), "SELECT count(*) FROM t")
                assert done.table or done.failure
            except ConfigError as error:
                assert f"{shop} has a table that cannot be read" in str(error)  # noqa: PT017 (either is right)
        (shop / name).unlink()
    (shop / "t.csv").write_text("id\n1\n")
    assert rows(sandbox, shop, "SELECT * FROM t") == [(1,)]


SUITE = """
suite: text2sql
samples: {file: questions.jsonl}
databases: databases
targets: {right: {replay: right.sql}}
"""


def test_a_suite_shows_the_schema_of_tables_to_the_prompt(shop, tmp_path):
    (shop / "t.csv").write_text("id\n1\n")
    (tmp_path / "questions.jsonl").write_text('{"question": "How many?", "sql": "SELECT 1", "db_id": "shop"}\n')
    (tmp_path / "right.sql").write_text("SELECT count(id) FROM t\n")
    (tmp_path / "run.yaml").write_text(SUITE)
    [sample] = load(tmp_path / "run.yaml", environ={}).suite.samples
    assert sample.metadata["schema"] == "CREATE TABLE t(id BIGINT);"
    assert sample.metadata["dialect"] == "DuckDB"


def test_a_suite_names_the_file_that_cannot_be_read_before_the_run(shop, tmp_path):
    (shop / "t.csv").write_text("id,a\n1\n")
    (tmp_path / "questions.jsonl").write_text('{"question": "How many?", "sql": "SELECT 1", "db_id": "shop"}\n')
    (tmp_path / "right.sql").write_text("SELECT 1\n")
    (tmp_path / "run.yaml").write_text(SUITE)
    with pytest.raises(DataError, match=r"t\.csv: line 2: 1 values, where the header names 2 columns"):
        load(tmp_path / "run.yaml", environ={})
