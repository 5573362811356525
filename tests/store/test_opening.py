"""What a store is opened on, and what is refused in one sentence."""

import contextlib
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from steelyard import ConfigError, ExactMatch, Sample, Store, evaluate
from steelyard.errors import StoreError
from steelyard.store import NewRun

STORE = Path("here/s.db")
MANIFEST = {"stages": ["target"], "scores": [], "over": {}, "primary": "", "tags": {}, "draw": ""}


def new(target="t"):
    return NewRun("suite", "custom", target, 3, MANIFEST)


def begun(store, run=None):
    """The writer of a run that is alone in its evaluation."""
    _, (writer,) = store.begin_evaluation([run or new()])
    return writer


def opened():
    return Store(STORE, create_missing=True)


def test_there_is_no_store_until_something_is_run():
    with pytest.raises(ConfigError, match=r"there is no store at .*here/s\.db: run something first"):
        Store(STORE)
    with opened():
        assert Store(STORE).runs() == []


def test_looking_makes_no_file_where_the_store_was_moved_away(tmp_path):
    with opened() as store:
        begun(store).abandon()
    with Store(STORE) as store:
        moved = STORE.rename(tmp_path / "moved.db")
        with pytest.raises(StoreError, match=r"s\.db: the file is not there any more: it was moved or deleted"):
            store.runs()
        with pytest.raises(StoreError, match="the file is not there any more"):
            begun(store)
        assert [path.name for path in STORE.parent.iterdir() if path.suffix == ".db"] == []
        moved.rename(STORE)
        assert len(store.runs()) == 1


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "100%.db", "%41.db", "易 é.db", "a&mode=memory.db"])
def test_a_store_may_have_any_name(tmp_path, name):
    for where in (tmp_path / "absolute" / name, Path(name)):
        with Store(where, create_missing=True) as store:
            begun(store).abandon()
        assert len(Store(where).runs()) == 1
        assert where.stat().st_size > 0


@pytest.mark.parametrize(
    ("where", "said_so"),
    [
        ("mysql://h/db", "a store is the path of a SQLite file or the address of a PostgreSQL database, not mysql://"),
        ("://", "a store is the path of a SQLite file or the address of a PostgreSQL database, not ://"),
        ("nothing://x", "PostgreSQL database, not nothing://"),
    ],
)
def test_an_address_that_is_no_file_is_refused(where, said_so):
    with pytest.raises(ConfigError, match=said_so):
        Store(where, create_missing=True)


def garbage(path):
    path.write_bytes(b"not a database, but long enough to be looked at as one" * 100)


def empty(path):
    path.write_bytes(b"")


def killed_while_made(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def of_another(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE about_cats (name)")


def truncated(path):
    with opened() as store:
        for n in range(30):
            begun(store, new(f"target {n}" * 100)).abandon()
    path.write_bytes(path.read_bytes()[:6000])


def folder(path):
    path.mkdir()


def of_version(version):
    def write(path):
        opened().close()
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE about SET value = ?", [version])

    return write


@pytest.mark.parametrize(
    ("make_store", "said_so"),
    [
        (garbage, "file is not a database"),
        (of_another, "is a database, but not a Steelyard store"),
        (truncated, "malformed|not a database"),
        (folder, "unable to open database file"),
        (of_version("99"), "has tables of version 99, this release reads version 1"),
        (of_version("-"), "made by a development release"),
    ],
)
def test_what_is_no_readable_store_is_refused_in_one_sentence(make_store, said_so):
    STORE.parent.mkdir()
    make_store(STORE)
    with pytest.raises(StoreError, match=said_so) as caught:
        Store(STORE).runs()
    assert str(STORE) in str(caught.value)
    with pytest.raises(StoreError, match=said_so):
        Store(STORE, create_missing=True).runs()


@pytest.mark.parametrize("make_store", [empty, killed_while_made])
def test_a_file_without_tables_is_no_store_yet_and_is_made_one_by_the_next_run(make_store):
    STORE.parent.mkdir()
    make_store(STORE)
    with pytest.raises(ConfigError, match=r"there is no store at .*here/s\.db yet, the file is empty: run something"):
        Store(STORE)
    opened().close()
    assert Store(STORE).runs() == []


def test_a_damaged_page_is_told_where_a_run_is_read_and_never_as_a_traceback():
    run = evaluate(
        lambda sample: "A", [Sample(f"{n}", "q" * 300, "A") for n in range(300)], [ExactMatch()], store=STORE
    )
    data = bytearray(STORE.read_bytes())
    for at in range(len(data) // 2, len(data), 700):
        data[at] ^= 0xFF
    STORE.write_bytes(data)
    with pytest.raises(StoreError):
        list(Store(STORE).run(run.id).records())


def test_the_folder_of_a_store_that_cannot_be_made_is_told():
    Path("here").write_text("a file")
    with pytest.raises(StoreError, match="here cannot be created"):
        Store(STORE, create_missing=True)


@pytest.fixture
def read_only():
    """A store on a file system that nobody may write, the superuser neither."""
    with opened() as store:
        begun(store).finish("finished", "", 1)
    mounted = subprocess.run(["mount", "--bind", "here", "here"], capture_output=True, check=False)
    if mounted.returncode:
        if os.geteuid() == 0:
            pytest.skip("mounting is not permitted here")
        Path("here").chmod(0o500)
        STORE.chmod(0o400)
        yield
        Path("here").chmod(0o700)
        return
    subprocess.run(["mount", "-o", "remount,ro,bind", "here"], check=True)
    yield
    subprocess.run(["umount", "here"], check=True)


@pytest.mark.slow
@pytest.mark.usefixtures("read_only")
def test_a_read_only_store_is_read_but_not_run_into():
    assert [run.state for run in Store(STORE).runs()] == ["finished"]
    with pytest.raises(StoreError, match="here"):
        evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=STORE)


def test_the_log_is_begun_before_anything_is_asked():
    """A new log is synced with its first commit: not with the first reply, which a busy disk would hold up."""
    log = STORE.with_name("s.db-wal")
    with opened() as store:
        begun(store).abandon()
    assert not log.exists(), "the last one to close a store folds its log into it"
    with Store(STORE) as store:
        assert store.writer.store_error() is None
        assert log.stat().st_size > 0
        with contextlib.closing(sqlite3.connect(STORE)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
