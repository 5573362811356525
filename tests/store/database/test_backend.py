"""One number says whether a store is read; every other store is refused in one sentence and left as it is."""

from pathlib import Path

import pytest
from tests.store.outside import execute

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.errors import StoreError
from steelyard.store.database import schema
from steelyard.store.database.address import locate
from steelyard.store.database.backend import VERSION
from steelyard.store.repair import salvage


def fill(where):
    evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=where)


def of_a_development_release(where):
    execute(where, "DELETE FROM about")
    execute(where, "INSERT INTO about VALUES ('schema', '1'), ('migration 2', 'create tables')")
    for table in ("computed", "stage"):
        execute(where, f"DROP TABLE {table}")
    execute(where, "CREATE TABLE stage (run INTEGER NOT NULL, stage INTEGER NOT NULL, PRIMARY KEY (run, stage))")
    execute(where, "CREATE TABLE stage_money (run INTEGER NOT NULL, money BIGINT NOT NULL)")


def state(where):
    return where.read_bytes() if isinstance(where, Path) else execute(where, "SELECT * FROM about ORDER BY name")


def test_a_new_store_has_all_tables_and_the_number_of_their_version(where):
    with Store(where, create_missing=True) as store, store.reading() as connection:
        assert store.tables(connection) == {table.name for table in schema.tables_of(connection.dialect)}
    assert execute(where, "SELECT name, value FROM about") == [("tables", f"{VERSION}")]


def test_a_store_of_a_development_release_is_refused_with_what_to_do_and_left_as_it_is(where):
    fill(where)
    of_a_development_release(where)
    before = state(where)
    for create_missing in (False, True):
        with pytest.raises(StoreError, match=r"made by a development release.*keep that release to read it, or run a"):
            Store(where, create_missing=create_missing)
    assert state(where) == before


@pytest.mark.parametrize(("number", "message"), [("99", "use the release that wrote it"), ("-", "keep that")])
def test_a_store_of_another_version_is_refused_and_left_as_it_is(where, number, message):
    fill(where)
    execute(where, "UPDATE about SET value = ?", [number])
    before = state(where)
    with pytest.raises(StoreError, match=message):
        Store(where)
    assert state(where) == before


def test_nothing_is_salvaged_of_another_version(tmp_path):
    fill(tmp_path / "s.db")
    of_a_development_release(locate(tmp_path / "s.db"))
    (tmp_path / "saved").mkdir()
    with pytest.raises(StoreError, match="development release"):
        salvage(tmp_path / "s.db", tmp_path / "saved")
