"""One writer per run, however many try, by whatever name of the file, and however the last one died."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from tests.thorough import times

from steelyard.errors import StoreError
from steelyard.store import Store
from steelyard.store.database import sqlite_locks
from steelyard.store.database.sqlite_locks import RunLock, is_locked

HOLD = """
import os, sys
from pathlib import Path
from steelyard.store import Store
from steelyard.store.database.sqlite_locks import RunLock
if sys.argv[2:] == ["as a run"]:
    store = Store(sys.argv[1])
    store.journal(store.begin_evaluation([])[0])
    lock = store.lock("abc")
else:
    lock = RunLock(Path(sys.argv[1]), "abc")
if sys.argv[2:] == ["with a child"]:
    ready, begun = os.pipe()
    if not os.fork():
        os.close(1)
        os.write(begun, b"1")
        sys.stdin.read()
        os._exit(0)
    os.read(ready, 1)  # a child that has not run yet has closed nothing
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "s.db"
    Store(path, create_missing=True).close()
    return path


@pytest.fixture
def holder():
    """Starts a process that holds the lock of run abc; it ends with the test, also one that fails."""
    processes = []

    def started(store, *how):
        command = [sys.executable, "-c", HOLD, store, *how]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield started
    for process in processes:
        ended(process)


def ended(process):
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_a_second_writer_is_refused_and_told_who_is_the_first(database, holder):
    process = holder(database)
    with pytest.raises(StoreError, match=rf"run abc is being written by another process \(pid {process.pid}\)"):
        RunLock(database, "abc")
    assert is_locked(database, "abc")
    RunLock(database, "another").release()
    ended(process)
    assert not is_locked(database, "abc")


def test_a_second_lock_of_the_same_process_is_refused(database):
    lock = RunLock(database, "abc")
    with pytest.raises(StoreError, match=rf"by another process \(pid {os.getpid()}\)"):
        RunLock(database, "abc")
    assert is_locked(database, "abc")
    lock.release()
    lock.release()
    RunLock(database, "abc").release()


def test_the_lock_of_a_killed_process_is_free_though_a_child_of_it_lives(database, holder):
    process = holder(database, "with a child")
    assert is_locked(database, "abc")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not is_locked(database, "abc")
    RunLock(database, "abc").release()


def test_of_many_who_try_at_once_one_at_a_time_gets_it(database):
    inside, most, got = [], [], []

    def work():
        for _ in range(60):
            try:
                lock = RunLock(database, "abc")
            except StoreError:
                continue
            inside.append(1)
            most.append(len(inside))
            got.append(1)
            inside.pop()
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(got) > 20


def mounted(source, target):
    done = subprocess.run(["mount", "--bind", source, target], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def other_name(request, database):
    """Another name of the database, made while it is written; called with which kind of name."""
    folder = database.parent / "other"
    folder.mkdir()
    name = folder / "l.db"

    def made(kind):
        if kind == "symbolic link":
            name.symlink_to("../s.db")
        elif kind == "link to the folder":
            (folder / "f").symlink_to(database.parent)
            return folder / "f/s.db"
        elif kind == "hard link":
            os.link(database, name)
        elif kind == "mounted file":
            name.touch()
            mounted(database, name)
            request.addfinalizer(lambda: subprocess.run(["umount", "-l", name], check=True))
        elif kind == "mounted folder":
            mounted(database.parent, folder)
            request.addfinalizer(lambda: subprocess.run(["umount", "-l", folder], check=True))
            return folder / "s.db"
        elif kind == "no folder of locks":
            shutil.rmtree(database.parent / "locks", ignore_errors=True)
            return database
        return name

    return made


NAMES = ["symbolic link", "link to the folder", "hard link", "mounted file", "mounted folder", "no folder of locks"]


@pytest.mark.parametrize("kind", NAMES)
def test_by_another_name_a_second_writer_is_refused_and_told_who_is_the_first(database, holder, other_name, kind):
    process = holder(database, "as a run")
    name = other_name(kind)
    for _ in range(times(1, 20)):
        with pytest.raises(StoreError, match=rf"pid {process.pid}\)"), Store(name) as store:
            store.lock("abc")


def test_a_file_with_two_names_can_be_read_and_is_not_written(database, other_name):
    name = other_name("hard link")
    with Store(name) as store:
        assert store.runs() == []
        with pytest.raises(StoreError, match=r"l\.db cannot be written: the file has 2 names \(hard links\)"):
            store.begin_evaluation([])
    database.unlink()
    with Store(name) as store:
        store.begin_evaluation([])


def test_connections_keep_their_locks_when_a_lock_of_a_run_is_released(database):
    with Store(database) as store, store.reading():
        RunLock(database, "abc").release()
        assert not is_locked(database, "abc")
        # A process that is the last one with the file open deletes the log; SQLite knows by a lock that it is not.
        command = [
            sys.executable,
            "-c",
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM run')",
        ]
        subprocess.run([*command, database], check=True)
        assert database.with_name("s.db-wal").exists()


def test_where_locks_of_open_files_are_missing_a_file_beside_the_store_is_locked(database, monkeypatch):
    monkeypatch.setattr(sqlite_locks, "_OF_DATABASE", False)
    monkeypatch.setattr(sqlite_locks, "_SET", sqlite_locks.fcntl.F_SETLK)
    monkeypatch.setattr(sqlite_locks, "_GET", sqlite_locks.fcntl.F_GETLK)
    lock = RunLock(database, "abc")
    look = f"""
import fcntl
from pathlib import Path
from steelyard.store.database import sqlite_locks
sqlite_locks._OF_DATABASE, sqlite_locks._SET, sqlite_locks._GET = False, fcntl.F_SETLK, fcntl.F_GETLK
try:
    sqlite_locks.RunLock(Path({str(database)!r}), "abc")
except Exception as error:
    print(error)
"""
    command = [sys.executable, "-c", look]
    refused = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"(pid {os.getpid()})" in refused
    lock.release()
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_a_file_that_cannot_be_locked_is_told(tmp_path):
    with pytest.raises(StoreError, match="run abc cannot be locked: No such file or directory"):
        RunLock(tmp_path / "s.db", "abc")
