"""Stores of every older version, on both databases: read as they are, written, upgraded, and whole after a kill.

Each is made of `tests/cli/older_versions/0.1.0`, the store of the first release: versions before it had fewer of the
tables that came one by one, so those are dropped.
"""

import gzip
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.store.outside import as_older, execute
from tests.store.test_store import new
from tests.thorough import times

from steelyard import ConfigError, ExactMatch, Sample, Store, StoreError, evaluate
from steelyard.store import migrations
from steelyard.store import schema as tables
from steelyard.store.address import Address, locate
from steelyard.store.checksums import HEAD, ROWS, read_checksums
from steelyard.store.labels import add_note
from steelyard.store.migrations import LATER_TABLES, MIGRATIONS, Migration
from steelyard.store.open_store import open_backend
from steelyard.store.verify import verify

WRITTEN = Path(__file__).parent.parent / "cli" / "older_versions" / "0.1.0" / "store.db.gz"
AT = datetime(2026, 3, 1, tzinfo=UTC)
AGES = range(len(LATER_TABLES))[:: times(3, 1)]
"""How many of the later tables a version knew; 0.1.0 knew all but the last."""


@pytest.fixture(scope="module")
def first_release(tmp_path_factory):
    path = tmp_path_factory.mktemp("0.1.0") / "store.db"
    path.write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    return path


@pytest.fixture(params=AGES)
def older(request, filled, first_release):
    """The address of a store that a version with so many of the later tables has written."""
    return filled(store_of_age, request.param, first_release)


@pytest.fixture
def oldest(filled, first_release):
    return filled(store_of_age, 0, first_release)


def store_of_age(where, age, first_release):
    if isinstance(locate(where), Path):
        where.parent.mkdir(exist_ok=True)
        shutil.copyfile(first_release, where)
    else:
        copy_to_server(first_release, where)
    as_older(where, *(table.name for table in LATER_TABLES[age:]))
    return where


def copy_to_server(path, where):
    Store(where, create_missing=True).close()
    source, target = open_backend(path), open_backend(where)
    with source.connect("latest") as old, target.connect("writing") as fresh, fresh.begin():
        for table in tables.TABLES:
            if old.has_table(table.name) and table is not tables.about:
                rows = list(old.execute(f"SELECT * FROM {table.name}").mappings())
                fresh.insert_rows(tables.insert_into(table), rows)
        for table in ("evaluation", "run", "sample", "word", "reply", "dictionary", "note", "label"):
            newest = f"SELECT coalesce(max(num), 0) + 1 FROM {table}"
            fresh.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'num'), ({newest}), false)")
    target.close()


def contents(store):
    """Every run with its records and what they were scored."""
    return {
        run.id: [
            (record.sample.id, record.repeat, record.output, [(score.name, score.value) for score in record.scores])
            for record in run.records()
        ]
        for run in store.runs()
    }


@pytest.fixture(scope="module")
def expected(first_release, tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "s.db"
    shutil.copyfile(first_release, path)
    with Store(path) as store:
        return contents(store)


def columns(where):
    """Table -> column -> whether it may be NULL."""
    if isinstance(locate(where), Path):
        rows = execute(
            where,
            """SELECT m.name, c.name, NOT c."notnull" FROM sqlite_master m, pragma_table_info(m.name) c
            WHERE m.type = 'table'""",
        )
    else:
        rows = execute(
            where,
            """SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
            WHERE table_schema = ?""",
            [locate(where).schema],
        )
    found = {}
    for table, column, nullable in rows:
        found.setdefault(table, {})[column] = nullable
    return found


def test_an_older_store_is_read_as_it_is_and_left_as_it_is(older, expected):
    before = older.read_bytes() if isinstance(older, Path) else columns(older)
    with Store(older) as store:
        assert contents(store) == expected
        assert verify(store).damages == []
        assert [run.summary().scores for run in store.runs()]
    assert (older.read_bytes() if isinstance(older, Path) else columns(older)) == before


def test_an_older_store_is_written_without_being_upgraded_by_hand(older, expected):
    run = evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=older)
    with Store(older) as store:
        add_note(store, store.run(run.id), "begun by this version", author="ann", at=AT)
        assert {known: records for known, records in contents(store).items() if known != run.id} == expected
        assert verify(store).damages == []
    names = {name for (name,) in execute(older, "SELECT name FROM about")}
    additive = {f"migration {migration.number}" for migration in MIGRATIONS if migration.kind == "additive"}
    assert names == {"schema", *additive}, "what may take long is left to the upgrade"
    assert execute(older, "SELECT value FROM about WHERE name = 'schema'") == [("1",)], "older versions go on"


def test_an_upgrade_brings_an_older_store_to_what_a_new_one_is(older, expected, tmp_path):
    with Store(older) as store:
        done = store.upgrade()
        assert [migration.number for migration in done.applied] == [migration.number for migration in MIGRATIONS]
        assert contents(store) == expected
        assert verify(store).damages == []
        assert (
            verify(store).counts["runs without a checksum"]
            == execute(older, "SELECT count(*) FROM run WHERE num NOT IN (SELECT run FROM seal)")[0][0]
        )
        again = store.upgrade()
        assert (again.applied, again.copy) == ((), None)
    Store(tmp_path / "fresh.db", create_missing=True).close()
    if isinstance(older, Path):
        assert columns(older) == columns(tmp_path / "fresh.db")
    assert columns(older).keys() == columns(tmp_path / "fresh.db").keys()
    with Store(done.copy) as copy:
        assert contents(copy) == expected
        assert execute(done.copy, "SELECT name FROM about") == [("schema",)]
        add_note(copy, copy.runs()[0], "the copy is a store of its own", author="ann", at=AT)


def test_an_upgraded_run_has_checksums_that_find_a_changed_number(oldest):
    with Store(oldest) as store:
        store.upgrade(copy=False)
        with store.reading() as connection:
            kept = {run.id: read_checksums(connection, run.num) for run in store.runs()}
        assert all({HEAD, ROWS} <= parts.keys() for run, parts in kept.items() if run != "qmk4uw")
        assert kept["qmk4uw"] == {}, "an interrupted run may be resumed by a version that does not know checksums"
    execute(oldest, "UPDATE record SET millis = millis + 1 WHERE run = 12 AND no = 3")
    with Store(oldest) as store:
        assert {damage.run for damage in verify(store).damages} == {"zzysa9"}


def test_a_copy_stays_when_the_store_goes(on_server, first_release, server, schema):
    store_of_age(on_server, 0, first_release)
    with Store(on_server) as store:
        copied = store.upgrade().copy
    assert copied.schema == f"{schema}_before_upgrade"
    server.execute(f'DROP SCHEMA "{schema}" CASCADE')
    run = evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=copied)
    with Store(copied) as store:
        assert len(store.runs()) == 14
        assert len(list(store.run(run.id).records())) == 1


def test_a_copy_overwrites_nothing(tmp_path, first_release):
    path = store_of_age(tmp_path / "here" / "s.db", 0, first_release)
    beside = path.with_name("s.before-upgrade.db")
    beside.write_text("mine", encoding="utf-8")
    with Store(path) as store:
        assert store.upgrade().copy == path.with_name("s.before-upgrade-2.db")
    assert beside.read_text(encoding="utf-8") == "mine"
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "s.before-upgrade-2.db",
        "s.before-upgrade.db",
        "s.db",
    ]


def test_whoever_may_not_copy_is_told_what_to_do(on_server, first_release, server, schema):
    store_of_age(on_server, 0, first_release)
    writer = f"writer_{schema}"
    server.execute(f"CREATE ROLE {writer} LOGIN PASSWORD 'geheim'")
    try:
        server.execute(
            f"GRANT ALL ON SCHEMA {schema} TO {writer}; GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {writer}"
        )
        url = locate(on_server).url
        query = {**url.query, "schema": schema}
        where = replace(url, username=writer, password="geheim", query=query).complete
        with Store(where) as store:
            with pytest.raises(ConfigError, match=rf"pg_dump --schema={schema}, then upgrade it with --no-copy"):
                store.upgrade()
            assert store.upgrade(copy=False).copy is None
    finally:
        server.execute(f"DROP OWNED BY {writer}; DROP ROLE {writer}")


def test_no_store_is_upgraded_while_a_run_is_written(oldest):
    with Store(oldest) as store, Store(oldest) as other:
        _, (writer,) = store.begin_evaluation([new()])
        with pytest.raises(ConfigError, match=f"run {writer.run.id} is being written: upgrade .* when it has ended"):
            other.upgrade()
        writer.abandon()
        assert [migration.number for migration in other.upgrade(copy=False).applied] == [3]


KILLED = """
import os, signal, sys
from dataclasses import replace
from steelyard import Store
from steelyard.store import migrations

last = migrations.MIGRATIONS[-1]

def killed(connection):
    last.apply(connection)
    os.kill(os.getpid(), signal.SIGKILL)

migrations.MIGRATIONS = (*migrations.MIGRATIONS[:-1], replace(last, apply=killed))
with Store(sys.argv[1]) as store:
    store.upgrade()
"""


@pytest.mark.slow
def test_an_upgrade_that_is_killed_midway_leaves_the_old_store_whole(oldest, expected):
    before = columns(oldest)
    address = str(oldest) if isinstance(oldest, Path) else oldest
    ended = subprocess.run([sys.executable, "-c", KILLED, address], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert columns(oldest) == before
    assert execute(oldest, "SELECT name FROM about") == [("schema",)]
    with Store(oldest) as store:
        assert contents(store) == expected
        assert verify(store).damages == []
        done = store.upgrade()
        assert [migration.number for migration in done.applied] == [migration.number for migration in MIGRATIONS]
        assert verify(store).damages == []
    with Store(done.copy) as copy:
        assert contents(copy) == expected
    if isinstance(done.copy, Address):
        assert done.copy.schema.endswith("_before_upgrade"), "the copy of the upgrade that was killed went with it"


def add_column(connection):
    connection.execute("ALTER TABLE note ADD COLUMN mood TEXT")


BREAKING = Migration(len(MIGRATIONS) + 2, "breaking", "add a mood to notes", add_column)


def test_a_breaking_migration_is_asked_for_before_the_first_write_and_closes_the_store_to_older_versions(
    where, first_release, monkeypatch
):
    store_of_age(where, 0, first_release)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, BREAKING))
    with Store(where) as store:
        assert len(store.runs()) == 13, "it is read as it is"
        with pytest.raises(
            ConfigError, match=r"written after an upgrade:\n  steelyard store upgrade --store \S+here|test_"
        ):
            store.begin_evaluation([new()])
        assert not isinstance(where, Path) or list(where.parent.glob("*reserve*")) == []
        assert [migration.number for migration in store.upgrade(copy=False).applied] == [
            *(migration.number for migration in MIGRATIONS),
            BREAKING.number,
        ]
    assert "mood" in columns(where)["note"]
    with Store(where) as store:
        store.begin_evaluation([new()])[1][0].abandon()
    monkeypatch.undo()
    with pytest.raises(StoreError, match=f"has schema {BREAKING.number}, this version reads 1"):
        Store(where)


def test_an_additive_migration_of_a_newer_version_does_not_close_the_store(where, first_release, monkeypatch):
    store_of_age(where, 0, first_release)
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, replace(BREAKING, kind="additive")))
        with Store(where) as store:
            store.begin_evaluation([new()])[1][0].abandon()
    assert "mood" in columns(where)["note"]
    with Store(where) as store:
        add_note(store, store.runs()[0], "from the older version", author="ann", at=AT)
        assert verify(store).damages == []


def test_a_new_store_begins_its_tables_where_the_first_release_did(first_release, tmp_path):
    """A file that lost its first page is read by the pages of a new store: the length of these texts decides them."""
    Store(tmp_path / "s.db", create_missing=True).close()
    query = "SELECT name, rootpage, sql FROM sqlite_master ORDER BY rootpage"
    older, fresh = (execute(where, query) for where in (first_release, tmp_path / "s.db"))
    assert {(name, sql) for name, _, sql in older} <= {(name, sql) for name, _, sql in fresh}
    added = min(page for name, page, _ in fresh if name not in {name for name, _, _ in older})
    assert [row for row in fresh if row[1] < added] == [row for row in older if row[1] < added]
    assert added > 20


def test_numbers_of_migrations_are_in_order_and_a_new_store_has_them_all(where):
    assert [migration.number for migration in MIGRATIONS] == list(range(2, len(MIGRATIONS) + 2))
    with Store(where, create_missing=True) as store:
        assert store.upgrade().applied == ()
