"""One writer per run, however many try and however the last one died."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from steelyard import StoreError
from steelyard.store import sqlite as lock_module
from steelyard.store.sqlite import RunLock, is_locked

HOLD = """
import sys
from pathlib import Path
from steelyard.store.sqlite import RunLock
lock = RunLock(Path(sys.argv[1]), "abc")
print("held", flush=True)
sys.stdin.read()
"""


def holder(store):
    process = subprocess.Popen([sys.executable, "-c", HOLD, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


def ended(process):
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_a_second_writer_is_refused_and_told_who_is_the_first(tmp_path):
    process = holder(tmp_path / "s.db")
    with pytest.raises(StoreError, match=rf"run abc is being written by another process \(pid {process.pid}\)"):
        RunLock(tmp_path / "s.db", "abc")
    assert is_locked(tmp_path / "s.db", "abc")
    RunLock(tmp_path / "s.db", "another").release()
    ended(process)
    assert not is_locked(tmp_path / "s.db", "abc")


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    process = holder(tmp_path / "s.db")
    os.kill(process.pid, signal.SIGKILL)
    ended(process)
    assert (tmp_path / "locks/abc").exists()
    assert not is_locked(tmp_path / "s.db", "abc")
    lock = RunLock(tmp_path / "s.db", "abc")
    assert (tmp_path / "locks/abc").read_text() == str(os.getpid())
    lock.release()
    lock.release()
    assert not (tmp_path / "locks/abc").exists()


def test_whoever_only_looks_does_not_keep_a_writer_out(tmp_path):
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/abc").write_text("1")  # left by a killed process
    over = threading.Event()

    def look():
        while not over.is_set():
            is_locked(tmp_path / "s.db", "abc")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(100):
            RunLock(tmp_path / "s.db", "abc").release()
            (tmp_path / "locks/abc").write_text("1")
    finally:
        over.set()
        thread.join()


def test_of_many_who_try_at_once_one_at_a_time_gets_it(tmp_path):
    inside, most, got = [], [], []

    def work():
        for _ in range(60):
            try:
                lock = RunLock(tmp_path / "s.db", "abc")
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


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_none(tmp_path, monkeypatch):
    first = RunLock(tmp_path / "s.db", "abc")
    flock = lock_module.fcntl.flock

    def release_first(handle, how):
        first.release()  # between the second one's open and its flock
        flock(handle, how)

    monkeypatch.setattr(lock_module.fcntl, "flock", release_first)
    second = RunLock(tmp_path / "s.db", "abc")
    monkeypatch.setattr(lock_module.fcntl, "flock", flock)
    with pytest.raises(StoreError, match="is being written"):
        RunLock(tmp_path / "s.db", "abc")
    second.release()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "locks").write_text("a file in the way")
    with pytest.raises(StoreError, match="run abc cannot be locked"):
        RunLock(tmp_path / "s.db", "abc")
