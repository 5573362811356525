"""A disk that is full ends the run with code 4: nothing more is sent, nothing is lost, and a resume completes."""

import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.command_here import command_here
from tests.running_server import ledger_server, write_exam

from steelyard import Store

QUESTIONS = 400
CONCURRENCY = 8
LONG = "Question {}? " + "more words " * 20


def steelyard_with_small_files(folder, *arguments):
    """(exit code, output, when it ended) of a command whose files may not grow beyond 1.3 MB."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_300_000, 1_300_000))

    command = [sys.executable, "-c", "from steelyard.cli import main; main()", *arguments, "--quiet"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, preexec_fn=limited, check=False
    )
    return done.returncode, done.stdout + done.stderr, time.time()


def journal_size(folder):
    with contextlib.closing(sqlite3.connect(folder / ".steelyard/steelyard.db")) as connection:
        return connection.execute("SELECT count(*) FROM reply").fetchone()[0]


def paid_twice(server):
    paid = Counter(request["prompt"] for request in server.answered())
    assert len(paid) == QUESTIONS
    return sum(paid.values()) - QUESTIONS


def fill(path):
    """Take all the room that is left."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)) == 4096:
            pass


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MiB at `.steelyard`; calling it makes it larger."""
    folder = tmp_path / ".steelyard"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield lambda: subprocess.run(["mount", "-o", "remount,size=60m", folder], check=True)
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path, small_disk):
    (tmp_path / ".steelyard/ballast").write_bytes(os.urandom(1_200_000))
    with ledger_server(tmp_path, "--latency-ms", "10") as server:
        write_exam(tmp_path, server.url, QUESTIONS, text=LONG)
        said_so = "".join(command_here(tmp_path, "run", "exam.json", "--quiet", code=4))
        ended = time.time()
        assert "full" in said_so
        assert str(tmp_path / ".steelyard/steelyard.db") in said_so
        assert "Traceback" not in said_so
        arrived = [request for request in server.answered() if request["sent"] < ended - 0.05]
        kept = journal_size(tmp_path)
        assert 0 < len(arrived) <= kept < QUESTIONS
        assert len(server.requests()) == kept, "sent more than could be kept"
        with Store(tmp_path / ".steelyard/steelyard.db") as store:
            (run,) = store.runs()
            assert run.state == "interrupted"
            assert len(list(run.records())) == run.done <= kept
        fill(tmp_path / ".steelyard/more")
        command_here(tmp_path, "resume", "--quiet", code=4)
        assert len(server.requests()) == kept
        small_disk()
        command_here(tmp_path, "resume", "--quiet")
        assert paid_twice(server) == 0


@pytest.mark.slow
def test_a_file_that_may_not_grow_ends_the_run_the_same_way(tmp_path):
    with ledger_server(tmp_path, "--latency-ms", "10") as server:
        write_exam(tmp_path, server.url, QUESTIONS, text=LONG)
        code, said_so, ended = steelyard_with_small_files(tmp_path, "run", "exam.json")
        assert code == 4, said_so
        assert "steelyard.db" in said_so
        assert "Traceback" not in said_so
        arrived = len([request for request in server.answered() if request["sent"] < ended - 0.05])
        kept = journal_size(tmp_path)
        assert 0 < kept < QUESTIONS
        assert arrived - kept <= CONCURRENCY
        assert len(server.requests()) - kept <= CONCURRENCY
        command_here(tmp_path, "resume", "--quiet")
        assert paid_twice(server) <= CONCURRENCY


@pytest.mark.slow
def test_without_room_for_the_reserve_nothing_is_sent_at_all(tmp_path, small_disk):
    (tmp_path / ".steelyard/ballast").write_bytes(os.urandom(2_500_000))
    with ledger_server(tmp_path) as server:
        write_exam(tmp_path, server.url, QUESTIONS, text=LONG)
        said_so = "".join(command_here(tmp_path, "run", "exam.json", "--quiet", code=4))
        assert "the store cannot be written: No space left on device" in said_so
        assert not server.requests()
        assert [path.name for path in (tmp_path / ".steelyard").iterdir() if "reserve" in path.name] == []
