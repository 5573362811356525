"""Lines of SQL: the statement, and the database behind its last tab."""

import pytest

from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.text_tables import split_line
from steelyard.errors import DataError


def rows(path):
    (table,), _ = read_tables(SampleFiles(path))
    return [(row.number, row.cells["sql"], row.cells["db_id"]) for row in table]


@pytest.mark.parametrize("name", ["gold.sql", "gold.txt"])
def test_a_line_is_a_statement_and_its_database(tmp_path, name):
    path = tmp_path / name
    path.write_bytes("SELECT count(*) FROM singer\tconcert_singer\r\n\r\nSELECT '名'\tcar_1".encode())
    assert rows(path) == [
        (1, "SELECT count(*) FROM singer", "concert_singer"),
        (2, "", ""),
        (3, "SELECT '名'", "car_1"),
    ]


@pytest.mark.parametrize(
    ("line", "sql", "db_id"),
    [
        ("SELECT 1", "SELECT 1", ""),
        ("SELECT 1\t", "SELECT 1", ""),
        ("\tconcert_singer", "", "concert_singer"),
        ("SELECT a\tFROM t", "SELECT a\tFROM t", ""),
        ("SELECT a FROM t ORDER BY a\tDESC", "SELECT a FROM t ORDER BY a\tDESC", ""),
        ("SELECT a FROM t LIMIT\t1", "SELECT a FROM t LIMIT\t1", ""),
        ("SELECT 'a\tb' FROM t\tdb-1.x", "SELECT 'a\tb' FROM t", "db-1.x"),
        ("SELECT 1\t----- bird -----\tfinancial", "SELECT 1", "financial"),
        ("\t----- bird -----\tfinancial", "", "financial"),
        ("", "", ""),
    ],
)
def test_only_a_name_behind_the_last_tab_is_a_database(line, sql, db_id):
    assert split_line(line) == (sql, db_id)


def test_bytes_that_are_no_text_are_told(tmp_path):
    (tmp_path / "gold.sql").write_bytes(b"SELECT 1\x00\n")
    with pytest.raises(DataError, match=r"gold\.sql:1: a NUL character"):
        rows(tmp_path / "gold.sql")
