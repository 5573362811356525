"""A store may come from a stranger: what its schema would compute or change is refused before anything else is read."""

import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.outside import connection_to, execute

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.errors import StoreError
from steelyard.store.reading.search import delete_index, index_run, search_run
from steelyard.store.repair import salvage, verify
from steelyard.store.run import Run

PAGE = 4096
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i"
BESIDE = {
    "a view in the place of a table": ["DROP TABLE event", f"CREATE VIEW event AS {ENDLESS} num FROM n"],
    "a view of another name": [f"CREATE VIEW other AS {ENDLESS} FROM n"],
    "a trigger": ["CREATE TRIGGER other AFTER INSERT ON run BEGIN DELETE FROM reply; END"],
    "a virtual table": ["CREATE VIRTUAL TABLE other USING fts5(words)"],
    "a virtual table in the place of a table": ["DROP TABLE event", "CREATE VIRTUAL TABLE event USING fts5(num, run)"],
    "an index on an expression": ["CREATE INDEX other ON run (hex(zeroblob(num * 1000000)))"],
    "a partial index": ["CREATE INDEX other ON run (num) WHERE num > 5"],
    "a unique index": ["CREATE UNIQUE INDEX other ON run (suite)"],
    "an index with a collation": ["CREATE INDEX other ON run (id COLLATE NOCASE)"],
    "an unknown table with a check": ["CREATE TABLE other (a TEXT CHECK (length(a) > 2))"],
    "an unknown table that is computed": [
        "CREATE TABLE other AS SELECT 1 AS a",
        "ALTER TABLE other ADD COLUMN b AS (a)",
    ],
    "a table of our name in capitals": ["DROP TABLE event", "CREATE TABLE EVENT (num INTEGER PRIMARY KEY)"],
    "a generated column": ["ALTER TABLE event ADD COLUMN extra AS (zeroblob(1000000000))"],
    "a column with a check": ["ALTER TABLE event ADD COLUMN extra TEXT CHECK (extra IS NULL)"],
    "a column with a default that is computed": ["ALTER TABLE event ADD COLUMN extra TEXT DEFAULT (hex(1))"],
    "a further column": ["ALTER TABLE event ADD COLUMN extra TEXT"],
    "a table without its key": ["DROP TABLE event", 'CREATE TABLE event (num, run, created, author, "text")'],
    "a table without its index": ["DROP INDEX reply_key"],
}
ON_SERVER = {
    "a view in the place of a table": ["DROP TABLE event", "CREATE VIEW event AS SELECT 1 AS num"],
    "a materialized view": ["DROP TABLE event", "CREATE MATERIALIZED VIEW event AS SELECT 1 AS num"],
    "a rule": ["CREATE RULE other AS ON INSERT TO event DO INSTEAD NOTHING"],
    "a trigger": [
        "CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER other BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION act()",
    ],
    "an index on an expression": ["CREATE INDEX other ON event (lower(author))"],
    "a constraint": ["ALTER TABLE event ADD CONSTRAINT other CHECK (length(author) > 0)"],
    "a generated column": ["ALTER TABLE event ADD COLUMN other TEXT GENERATED ALWAYS AS (author) STORED"],
    "a default that is computed": ["ALTER TABLE event ADD COLUMN other TEXT DEFAULT lower('A')"],
    "row security": ["ALTER TABLE event ENABLE ROW LEVEL SECURITY"],
    "a table that inherits": ["CREATE TABLE other () INHERITS (event)"],
    "a type of its own": [
        "CREATE DOMAIN kind_of_text AS TEXT CHECK (length(VALUE) > 0)",
        "ALTER TABLE event ADD COLUMN other kind_of_text",
    ],
}
IN_THE_PLACE_OF_THE_SERVERS = {
    "an operator": ["CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = {schema}.equal)"],
    "a function": ["ALTER FUNCTION {schema}.equal RENAME TO lower"],
}


def fill(where):
    evaluate(lambda sample: "A", [Sample(f"{n}", "q", "A") for n in range(3)], [ExactMatch()], store=where)


@pytest.fixture(scope="module")
def sound_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "s.db"
    fill(path)
    return path


@pytest.fixture
def copied(sound_store, tmp_path):
    return shutil.copyfile(sound_store, tmp_path / "s.db")


def change(where, statements):
    with connection_to(where) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("statements", BESIDE.values(), ids=BESIDE)
def test_a_store_with_an_object_that_computes_is_refused_by_its_name(copied, statements):
    change(copied, statements)
    name = next(name for name in ("other", "reply_key", "EVENT", "event") if name in statements[-1])
    before = copied.read_bytes()
    for create_missing in (False, True):
        with pytest.raises(StoreError, match=rf"s\.db is refused, nothing of it was read: its schema holds {name}\b"):
            Store(copied, create_missing=create_missing)
    assert copied.read_bytes() == before


@pytest.mark.parametrize("statements", ON_SERVER.values(), ids=ON_SERVER)
def test_a_schema_of_a_server_with_an_object_that_acts_is_refused_too(on_server, server, statements):
    Store(on_server, create_missing=True).close()
    change(on_server, statements)
    with pytest.raises(StoreError, match=r"is refused, nothing of it was read: its schema holds (other|event)\b"):
        Store(on_server)


@pytest.mark.parametrize("statements", IN_THE_PLACE_OF_THE_SERVERS.values(), ids=IN_THE_PLACE_OF_THE_SERVERS)
def test_what_another_role_puts_in_the_place_of_the_servers_is_refused(on_server, server, statements):
    """PostgreSQL takes the operator that is nearest in its types, and ran it with the rights of who listed the runs."""
    Store(on_server, create_missing=True).close()
    name = on_server.rpartition("schema=")[2]
    equal = "(varchar, varchar) RETURNS bool LANGUAGE sql AS 'SELECT $1::text OPERATOR(pg_catalog.=) $2::text'"
    role = f"other_of_{name}"
    change(on_server, [f"CREATE ROLE {role}", f"GRANT ALL ON SCHEMA {name} TO {role}"])
    try:
        change(on_server, [f"SET ROLE {role}", f"CREATE FUNCTION {name}.equal{equal}"])
        Store(on_server).close()  # nothing of ours is called so
        change(on_server, [f"SET ROLE {role}", *(statement.format(schema=name) for statement in statements)])
        with pytest.raises(StoreError, match=r"its schema holds (=|lower)\."):
            Store(on_server)
    finally:
        change(on_server, [f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}"])


def test_a_function_of_another_role_is_not_called_by_verify(on_server, server):
    """By its name alone it was taken for the one of the extension amcheck, and ran with the rights of who verified."""
    fill(on_server)
    name = on_server.rpartition("schema=")[2]
    role, home = f"other_of_{name}", f"home_of_{name}"
    act = "RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''it ran''; END'"
    change(on_server, [f"CREATE ROLE {role}", f"CREATE SCHEMA {home} AUTHORIZATION {role}"])
    try:
        change(on_server, [f"SET ROLE {role}", f"CREATE FUNCTION {home}.bt_index_check(integer, boolean) {act}"])
        with Store(on_server) as store:
            assert verify(store).damages == []
    finally:
        change(on_server, [f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}"])


def test_many_objects_and_long_names_make_a_short_message(copied):
    change(copied, [f'CREATE VIEW "{"v" * 500}\x1b[2J{n}" AS SELECT 1' for n in range(300)])
    with pytest.raises(StoreError, match="and 295 more") as refused:
        Store(copied)
    assert len(str(refused.value)) < 1000
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    "statements",
    [
        ["ANALYZE"],
        ["CREATE INDEX mine ON run (suite, target)"],
        ["CREATE TABLE mine (a INTEGER, b TEXT NOT NULL, c VARCHAR(8) DEFAULT '0', PRIMARY KEY (a, b)) WITHOUT ROWID"],
        ["VACUUM"],
    ],
    ids=["statistics", "an index", "a table", "vacuum"],
)
def test_what_a_user_adds_without_an_expression_is_let_be(copied, statements):
    change(copied, statements)
    with Store(copied) as store:
        assert verify(store).damages == []
    fill(copied)


def test_a_store_whose_runs_never_end_is_refused_by_all_commands_and_salvaged(copied, tmp_path):
    """The lists of `runs`, `show` and `verify` did not end, and took 1.3 GB in 15 s."""
    names = [f"i AS {name}" for (_, name, *_) in execute(copied, "PRAGMA table_info(run)")]
    change(copied, ["DROP TABLE run", f"CREATE VIEW run AS {ENDLESS}, {', '.join(names)} FROM n"])
    with pytest.raises(StoreError, match="its schema holds run"):
        Store(copied)
    (tmp_path / "saved").mkdir()
    saved = salvage(copied, tmp_path / "saved")
    assert len(saved.store.runs()) == 1, "named by its records, as its row is lost"
    assert "which no store has" in " ".join(saved.rows.notes)
    saved.store.close()


def test_what_stands_beside_a_strangers_view_is_salvaged_whole(copied, tmp_path):
    change(
        copied, [f"CREATE VIEW other AS {ENDLESS} FROM n", "CREATE TRIGGER act AFTER INSERT ON run BEGIN SELECT 1; END"]
    )
    (tmp_path / "saved").mkdir()
    saved = salvage(copied, tmp_path / "saved")
    (run,) = saved.store.runs()
    assert [record.scores[0].value for record in saved.records(run)] == [1.0] * 3
    assert saved.is_unchanged(run)
    assert any("other, act" in note or "act, other" in note for note in saved.rows.notes)
    saved.store.close()


def test_a_strangers_view_is_not_read_behind_any_number_of_others(copied, tmp_path):
    first = [f"CREATE TABLE other{n} (a)" for n in range(1001)]
    change(copied, [*first, "DROP TABLE event", f"CREATE VIEW event AS {ENDLESS} num FROM n"])
    (tmp_path / "saved").mkdir()
    saved = salvage(copied, tmp_path / "saved")
    (run,) = saved.store.runs()
    assert len(list(saved.records(run))) == 3
    assert "which no store has" in " ".join(saved.rows.notes)
    saved.store.close()


def test_a_view_in_a_damaged_schema_does_not_keep_salvage_from_its_end(copied, tmp_path):
    view = f"CREATE VIEW event AS {ENDLESS} num FROM n"
    change(copied, [f"CREATE TABLE other{n} (a)" for n in range(60)])  # the page that is lost has only such tables
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = ? WHERE name = 'event' AND type = 'table'",
            [view],
        )
        connection.commit()
    data = bytearray(copied.read_bytes())
    last_child = int.from_bytes(data[108:112], "big")  # of the schema's tree, whose root is the first page
    data[(last_child - 1) * PAGE : last_child * PAGE] = bytes(PAGE)
    copied.write_bytes(data)
    (tmp_path / "saved").mkdir()
    saved = salvage(copied, tmp_path / "saved")
    assert len(list(saved.records(saved.store.runs()[0]))) == 3
    saved.store.close()


@pytest.fixture
def indexed(copied, monkeypatch) -> tuple[Run, Path]:
    """A run with an index, beside which nothing is scanned."""
    monkeypatch.setattr("steelyard.store.reading.search._LEAST_INDEXED", 0)
    monkeypatch.setattr("steelyard.store.reading.search._MOST_SCANNED", 0)
    (run,) = Store(copied).runs()
    index_run(run)
    assert len(search_run(run, "q").places) == 3
    return run, copied.with_name("s.db-search") / "1.db"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE record", f"CREATE VIEW record AS {ENDLESS} AS words FROM n"],
        ["DROP TABLE indexed", f"CREATE VIEW indexed AS {ENDLESS} AS run, i AS scoring_version, i AS done FROM n"],
        ["CREATE TRIGGER act BEFORE DELETE ON indexed BEGIN SELECT RAISE(IGNORE); END"],
        ["CREATE TABLE more (a CHECK (a > 1))"],
        ["DROP TABLE record", "CREATE VIRTUAL TABLE record USING fts5(words, content='indexed')"],
    ],
    ids=["a view of records", "a view of runs", "a trigger", "a check", "words of another table"],
)
def test_an_index_of_a_stranger_is_not_read_and_made_again(indexed, statements):
    run, index = indexed
    change(index, statements)
    assert len(search_run(run, "q").places) == 0
    index_run(run)
    assert len(search_run(run, "q").places) == 3


def test_an_index_that_is_a_link_is_not_written(indexed, tmp_path):
    run, index = indexed
    index.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    index.symlink_to(elsewhere)
    index_run(run)
    assert elsewhere.read_bytes() == b"mine"
    assert len(search_run(run, "q").places) == 3
    index.unlink()
    folder = index.parent.rename(tmp_path / "folder")
    (folder / "1.db").write_bytes(b"mine")
    index.parent.symlink_to(folder)
    index_run(run)
    delete_index(run.store.path, [1])
    assert (folder / "1.db").read_bytes() == b"mine"


def page_of_pages(child):
    """An inner page of a table that names one page 401 times, see https://www.sqlite.org/fileformat2.html."""
    cells = [struct.pack(">IB", child, min(n + 1, 127)) for n in range(400)]
    places = [PAGE - 5 * (n + 1) for n in range(400)]
    head = struct.pack(">BHHHBI", 5, 0, len(cells), places[-1], 0, child) + struct.pack(">400H", *places)
    return head + bytes(places[-1] - len(head)) + b"".join(reversed(cells))


@pytest.fixture
def circled(copied):
    """Three pages that name the same page again and again make a table of 64 million runs."""
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'run'").fetchone()
    data = bytearray(copied.read_bytes())
    n = len(data) // PAGE
    data += data[(root - 1) * PAGE : root * PAGE] + page_of_pages(n + 1) + page_of_pages(n + 2)
    data[(root - 1) * PAGE : root * PAGE] = page_of_pages(n + 3)
    data[28:32] = struct.pack(">I", n + 3)
    copied.write_bytes(data)
    return copied


def test_a_query_over_pages_that_name_each_other_ends_with_what_to_do(circled):
    with (
        Store(circled) as store,
        pytest.raises(StoreError, match=r"malformed: a query took more steps .*\n.*\n.*verify") as refused,
        store.reading() as connection,
    ):
        for _ in connection.execute("SELECT target FROM run").tuples():
            pass
    assert "export --salvage" in str(refused.value)


def test_salvage_reads_each_row_of_pages_that_name_each_other_once(circled, tmp_path):
    (tmp_path / "saved").mkdir()
    saved = salvage(circled, tmp_path / "saved")
    (run,) = saved.store.runs()
    assert len(list(saved.records(run))) == 3
    saved.store.close()
