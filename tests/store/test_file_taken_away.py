"""A store's file that is deleted, replaced or cut off during a run: no more is sent, and what was paid for is saved."""

import asyncio
import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter

import pytest
from tests.command_here import command_here
from tests.running_server import ledger_server, write_exam
from tests.thorough import times

from steelyard import Store
from steelyard.errors import StoreError

QUESTIONS = 900
CONCURRENCY = 8


def delete_all(path):
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink()


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"another file" * 1000)
    other.rename(path)


def overwrite(path):
    """With an older state of itself."""
    path.write_bytes(path.with_name("older.db").read_bytes())


INTACT = {
    "deleted with its log": delete_all,
    "deleted": lambda path: path.unlink(),
    "log deleted": lambda path: path.with_name(path.name + "-wal").unlink(),
    "index of the log deleted": lambda path: path.with_name(path.name + "-shm").unlink(),
    "moved": lambda path: path.rename(path.with_name("moved.db")),
    "replaced": replace,
    "folder deleted": lambda path: shutil.rmtree(path.parent),
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("moved")),
}
DAMAGED = {
    "emptied": lambda path: os.truncate(path, 0),
    "cut off": lambda path: os.truncate(path, 3 * 4096),
    "log cut off": lambda path: os.truncate(path.with_name(path.name + "-wal"), 5 * 4096),
    "overwritten": overwrite,
}
ALL = INTACT | DAMAGED


def key(n):
    return n.to_bytes(10, "big")


def body(n):
    return json.dumps([n, random.Random(n).randbytes(2000).hex()]).encode()


def replies(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT count(*) FROM reply").fetchone()[0]


def into_file(path):
    """Have SQLite write what is in the log into the file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


async def write_and(path, act, n=400):
    """A store with `n` replies to whose file `act` is done while some replies are in flight."""
    with Store(path, create_missing=True) as store:
        journal = store.journal(store.begin_evaluation([])[0])
        await asyncio.gather(*(journal.commit(key(i), body(i)) for i in range(n // 2)))
        into_file(path)
        shutil.copyfile(path, path.with_name("older.db"))
        await asyncio.gather(*(journal.commit(key(i), body(i)) for i in range(n // 2, n - 50)))
        into_file(path)
        for i in range(n - 50, n):
            await journal.commit(key(i), body(i))
        assert journal.store_error() is None
        act(path)
        kept = await asyncio.gather(*(journal.commit(key(n + i), body(n + i)) for i in range(CONCURRENCY)))
        assert kept == [body(n + i) for i in range(CONCURRENCY)]
        return str(journal.store_error())


def saved_in(message):
    return message.rpartition("`steelyard resume --store ")[2].removesuffix("`")


@pytest.mark.parametrize("what", INTACT)
def test_what_was_stored_and_what_is_in_flight_is_saved_to_a_new_file(tmp_path, what):
    folder = tmp_path / "store"
    folder.mkdir()
    message = asyncio.run(write_and(folder / "s.db", INTACT[what]))
    assert message.startswith("the store cannot be written: s.db")
    saved = tmp_path / ("s.saved.db" if what.startswith("folder") else "store/s.saved.db")
    assert saved_in(message) == str(saved)
    assert replies(saved) == 400 + CONCURRENCY
    assert saved.stat().st_mode & 0o777 == 0o600
    if what == "replaced":  # its log would be applied to the other file
        assert not (folder / "s.db-wal").exists()
        assert (folder / "s.db").read_bytes().startswith(b"another file")


@pytest.mark.parametrize("what", DAMAGED)
def test_of_a_file_that_was_damaged_what_can_be_read_is_saved(tmp_path, what):
    message = asyncio.run(write_and(tmp_path / "s.db", DAMAGED[what]))
    assert "was cut off or overwritten" in message
    assert saved_in(message) == str(tmp_path / "s.saved.db")
    kept = replies(tmp_path / "s.saved.db")
    assert CONCURRENCY < kept <= 400 + CONCURRENCY
    assert kept == 400 + CONCURRENCY or "could still be read" in message


def test_an_idle_writer_notices_it_too(tmp_path):
    async def run():
        with Store(tmp_path / "s.db", create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            (tmp_path / "s.db").unlink()
            async with asyncio.timeout(30):
                while journal.store_error() is None:  # noqa: ASYNC110  # a thread finds it
                    await asyncio.sleep(0.01)
            return str(journal.store_error())

    assert "s.db was deleted" in asyncio.run(run())


def test_a_name_that_is_taken_is_not_written_over(tmp_path):
    (tmp_path / "s.saved.db").write_text("mine")
    message = asyncio.run(write_and(tmp_path / "s.db", delete_all))
    assert saved_in(message) == str(tmp_path / "s.saved-2.db")
    assert (tmp_path / "s.saved.db").read_text() == "mine"


def test_without_room_beside_it_it_is_saved_elsewhere_and_that_is_said(tmp_path, monkeypatch):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")

    def delete_and_fill(path):
        delete_all(path)
        (small / "older.db").unlink()
        with contextlib.suppress(OSError), (small / "ballast").open("wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096:
                pass

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    try:
        message = asyncio.run(write_and(small / "s.db", delete_and_fill, n=1000))
        assert saved_in(message) == str(tmp_path / "here/s.saved.db")
        assert replies(tmp_path / "here/s.saved.db") == 1000 + CONCURRENCY
        monkeypatch.chdir(small)
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        (small / "ballast").unlink()
        with pytest.raises(StoreError, match=r"could not be saved to another file \(.*small: "):
            asyncio.run(write_and(small / "t.db", delete_and_fill, n=1000))
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_label_on_a_store_that_is_gone_is_refused_and_nothing_is_saved(tmp_path):
    with Store(tmp_path / "s.db", create_missing=True) as store:
        store.writer.change(lambda batch: None)
        replace(tmp_path / "s.db")
        with pytest.raises(StoreError, match=r"s\.db was replaced by another file"):
            store.writer.change(lambda batch: None)
        store.renew_writer()
        with pytest.raises(StoreError, match=r"malformed|not a database"):
            store.writer.change(lambda batch: None)
        with pytest.raises(StoreError, match=r"malformed|not a database"):
            store.runs()
    assert not list(tmp_path.glob("*saved*"))


def test_a_store_that_others_compact_and_write_meanwhile_is_as_it_was(tmp_path):
    path = tmp_path / "s.db"
    modes = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
    others = ["DELETE FROM reply WHERE num % 2 = 0", "VACUUM", *(f"PRAGMA wal_checkpoint({mode})" for mode in modes)]

    async def run():
        with Store(path, create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            for i in range(300):
                await journal.commit(key(i), body(i))
                if i % 20 == 0:
                    with contextlib.closing(sqlite3.connect(path)) as connection:
                        connection.execute(others[i // 20 % len(others)])
                        connection.commit()
            return journal.store_error()

    assert asyncio.run(run()) is None


def run_and(folder, server, act, after):
    """(exit code, output, when `act` was done to the store of a run) once `after` requests have come."""
    command = [sys.executable, "-c", "from steelyard.cli import main; main()", "run", "exam.json", "--quiet"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    try:
        while server.ledger.read_text(encoding="utf-8").count("\n") < after:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.005)
        shutil.copyfile(folder / ".steelyard/steelyard.db", folder / ".steelyard/older.db")
        done = time.time()
        act(folder / ".steelyard/steelyard.db")
        output = process.communicate(timeout=60)[0]
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, done


@pytest.mark.slow
@pytest.mark.parametrize("n", range(times(1, 20)))
@pytest.mark.parametrize("what", times(["deleted with its log", "emptied"], list(ALL)))
def test_taken_away_at_any_moment_the_run_ends_within_a_second_and_goes_on_from_what_was_saved(tmp_path, what, n):
    moment = random.Random(f"{what} {n}").randrange(20, QUESTIONS - 100)
    with ledger_server(tmp_path, "--latency-ms", "30") as server:
        write_exam(tmp_path, server.url, QUESTIONS, text="Question {}? " + "more words " * 20)
        code, output, done = run_and(tmp_path, server, ALL[what], moment)
        assert code == 4, output
        assert "Traceback" not in output
        sent = server.requests()
        assert max(request["came"] for request in sent) < done + 1
        saved = saved_in(" ".join(output.split()))
        kept = replies(saved)
        assert kept == len(sent) or what in DAMAGED
        command_here(tmp_path, "resume", "--store", saved, "--quiet")
        paid = Counter(request["prompt"] for request in server.answered())
        assert len(paid) == QUESTIONS
        assert sum(paid.values()) - QUESTIONS == len(sent) - kept
