"""A fault at the first statement, the second, the third ... of the writer, until a run passes without meeting it.

The method is SQLite's own (https://www.sqlite.org/testing.html, section 3): after each fault the store must be
consistent and a resume must complete the run without asking for what was kept.
"""

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from tests.loopback import MemoryJournal, peer, said
from tests.running_server import ledger_server
from tests.thorough import times

from steelyard import ExactMatch, OpenAICompatible, Options, Prompt, Sample, Score, Store, Suite
from steelyard.errors import StoreError
from steelyard.evaluation import RunConfig, aevaluate_suite
from steelyard.store import open_store, writer
from steelyard.store.database.connection import DatabaseError
from steelyard.store.open_store import open_backend

N = 30
SAMPLES = [Sample(f"q{n}", f"question {n}", "A" if n % 2 else "B") for n in range(N)]


def length(sample, output):
    return Score("length", float(len(output.value)), reason=sample.id)


class Faults:
    """Fails the k-th statement of the writer's connection, and the next `more` ones."""

    def __init__(self, at, more):
        self.at, self.more, self.seen, self.fired = at, more, 0, 0

    def backend(self, where, **options):
        backend = open_backend(where, **options)
        connect = backend.connect
        backend.connect = lambda purpose: Counting(connect(purpose), self) if purpose == "writing" else connect(purpose)
        return backend

    def count(self):
        self.seen += 1
        if self.at <= self.seen <= self.at + self.more:
            self.fired += 1
            raise DatabaseError("database or disk is full")


class Counting:
    """A connection that tells of each statement, and of each commit, before it is sent."""

    def __init__(self, connection, faults):
        self._connection, self._faults = connection, faults

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def execute(self, *statement):
        self._faults.count()
        return self._connection.execute(*statement)

    def insert_rows(self, statement, rows):
        if rows:
            self._faults.count()
        self._connection.insert_rows(statement, rows)

    def insert(self, *row):
        self._faults.count()
        return self._connection.insert(*row)

    @contextlib.contextmanager
    def begin(self):
        with self._connection.begin():
            yield
            self._faults.count()


async def run_once(url, **how):
    model = OpenAICompatible("m", url)
    options = Options(concurrency=8)
    suite = Suite("s", "custom", SAMPLES, {"t": Prompt(model)}, (ExactMatch(), length), options)
    return (await aevaluate_suite(suite, how=RunConfig(store="s.db", **how)))[0]


def consistent():
    """The store as it is: what its own checks say, and its counters against its rows."""
    with contextlib.closing(sqlite3.connect("s.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            return 0, []  # the tables themselves could not be made
        rows = connection.execute("SELECT done, errors, num FROM run").fetchall()
        for done, errors, num in rows:
            counts = connection.execute("SELECT count(*), sum(failed) FROM record WHERE run = ?", [num]).fetchone()
            assert counts in {(done, errors), (0, None)}
            assert connection.execute("SELECT count(*) FROM score WHERE run = ?", [num]).fetchone() == (2 * done,)
        kept = connection.execute("SELECT count(*) FROM reply").fetchone()[0]
    with Store("s.db") as store:
        for run in store.runs():
            assert len(list(run.records())) == run.done
            assert run.state != "running"
    return kept, rows


def fault_run(monkeypatch, at, more):
    """A run with the fault, and a resume without it; whether the fault fired."""
    faults = Faults(at, more)

    async def both():
        async with peer(lambda n, asked: said("A")) as server:
            monkeypatch.setattr(open_store, "open_backend", faults.backend)
            failed = None
            try:
                await asyncio.wait_for(run_once(server.url), 30)
            except StoreError as error:
                failed = error
            monkeypatch.setattr(open_store, "open_backend", open_backend)
            if not faults.fired:
                return failed, 0, len(server.asked)
            kept, rows = consistent()
            assert len(server.asked) <= kept + 8, "asked for more than could be kept"
            before = len(server.asked)
            ids = [run.id for run in Store("s.db").runs() if run.state != "finished"] if rows else []
            run = await run_once(server.url, **({"resume": ids[0]} if ids else {}))
            assert (run.state, run.done, run.errors) == ("finished", N, 0)
            assert len(server.asked) - before == (N - kept if ids or not rows else 0)
            return failed, faults.fired, len(server.asked)

    return asyncio.run(both())


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 10**6], ids=["once", "from then on"])
def test_a_fault_at_any_statement_leaves_a_consistent_store_that_a_resume_completes(monkeypatch, tmp_path, more):
    at, told = 1, set()
    while True:
        folder = tmp_path / f"{at}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        failed, fired, asked = fault_run(monkeypatch, at, more)
        if not fired:
            assert failed is None
            assert asked == N
            break
        if failed is not None:
            told.add(str(failed).replace(str(folder), "here"))
        assert N <= asked <= N + 8
        at += 1 if at < 12 else times(16, 4)  # every statement of the first transactions, then some of the many alike
    assert at > 30
    assert all("database or disk is full" in text for text in told)


def test_a_fault_of_the_writer_itself_is_told_to_everybody_who_waits():
    async def run():
        with Store("s.db", create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            answers = await asyncio.gather(
                *(journal.commit(bytes([n]) * 10, body) for n, body in enumerate([b"[]", None, b"{}"])),
                return_exceptions=True,
            )
            with pytest.raises(StoreError, match="the store's writer failed"):
                await journal.commit(b"x" * 10, b"[]")
            return answers, journal.store_error()

    answers, error = asyncio.run(run())
    assert {type(record) for record in answers} == {StoreError}
    assert "the store's writer failed: TypeError" in str(error)


class Clock:
    """The module `time`, one of whose functions fails in the writer's thread, from a moment on that a test chooses."""

    def __init__(self):
        self.broken = ""

    def __getattr__(self, name):
        if name == self.broken and threading.current_thread().name == WRITER:
            raise OSError(22, "Invalid argument")
        return getattr(time, name)


@pytest.mark.parametrize("broken", ["monotonic", "sleep"])
def test_a_writer_that_ends_by_surprise_tells_everybody_who_waits_and_who_comes_later(monkeypatch, broken):
    clock = Clock()
    monkeypatch.setattr(writer, "time", clock)

    async def run():
        with Store("s.db", create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            clock.broken = broken
            ends = [journal.commit(bytes([n]) * 10, b"[]") for n in range(20)]
            answers = await asyncio.wait_for(asyncio.gather(*ends, return_exceptions=True), 30)
            while journal.store_error() is None:
                answers += await asyncio.gather(journal.commit(b"b" * 10, b"[]"), return_exceptions=True)
            with pytest.raises(StoreError, match="the store's writer failed"):
                await journal.commit(b"c" * 10, b"[]")
            with pytest.raises(StoreError, match="the store's writer failed"):
                store.writer.change(lambda batch: None)
            return [error for error in answers if isinstance(error, Exception)], journal.store_error()

    answers, error = asyncio.run(run())
    assert {type(record) for record in answers} <= {StoreError}
    assert "the store's writer failed: OSError: [Errno 22] Invalid argument" in str(error)


WRITER = "steelyard-store"
"""Name of the thread; the others use the same clock, how often depends on how busy the machine is."""
BROKEN_CLOCK = f"""
import threading, time
from types import SimpleNamespace
from steelyard.cli import main
from steelyard.store import writer

left = 200

def monotonic():
    global left
    left -= threading.current_thread().name == "{WRITER}"
    if left < 0 and threading.current_thread().name == "{WRITER}":
        raise OSError(22, "Invalid argument")
    return time.monotonic()

writer.time = SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
main()
"""


@pytest.mark.slow
def test_a_writer_that_ends_by_surprise_ends_the_run_with_its_error(tmp_path):
    with ledger_server(tmp_path, "--latency-ms", "20") as server:
        rows = ["id,question,A,B,C,D,answer", *(f"q{n},Question {n}?,one,two,three,four,A" for n in range(2000))]
        (tmp_path / "exam.csv").write_text("\n".join(rows), encoding="utf-8")
        model = {"openai_compatible": {"name": "ledger", "base_url": server.url}}
        target = {"prompt": {"template": "{{question}}", "model": model}}
        config = {"suite": "choice", "samples": {"file": "exam.csv"}, "targets": {"one": target}}
        (tmp_path / "exam.json").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-c", BROKEN_CLOCK, "run", "exam.json", "--quiet"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 4, done.stdout + done.stderr
        assert "the store's writer failed: OSError: [Errno 22] Invalid argument" in done.stderr
        assert len(server.requests()) < 2000


def test_the_reserve_is_given_back_for_what_is_in_flight_and_then_nothing_more_is_sent(monkeypatch):
    faults = Faults(10**9, 0)
    monkeypatch.setattr(open_store, "open_backend", faults.backend)

    async def run():
        with Store("s.db", create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            assert journal.store_error() is None
            faults.at, faults.seen = 1, 0
            assert await journal.find(b"b" * 10) is None
            kept = await journal.commit(b"b" * 10, b"[2]")
            assert "database or disk is full" in str(journal.store_error())
            return kept, await journal.find(b"b" * 10), await journal.commit(b"c" * 10, b"[3]")

    assert asyncio.run(run()) == (b"[2]", b"[2]", b"[3]")


def test_a_commit_that_fails_is_tried_again_in_a_transaction_of_its_own(monkeypatch):
    faults = Faults(10**9, 0)
    monkeypatch.setattr(open_store, "open_backend", faults.backend)

    async def run():
        with Store("s.db", create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            statements = faults.seen
            await journal.commit(b"b" * 10, b"[2]")
            faults.at, faults.seen = faults.seen - statements, 0  # the last of those statements is the commit
            kept = await journal.commit(b"c" * 10, b"[3]")
            return faults.fired, kept, journal.store_error() is not None

    assert asyncio.run(run()) == (1, b"[3]", True)
    assert consistent()[0] == 3


def test_the_memory_journal_of_the_tests_keeps_what_the_real_one_keeps():
    async def talk(journal):
        unknown = await journal.find(b"k" * 10)
        first = await journal.commit(b"k" * 10, b"[1]")
        return unknown, first, await journal.find(b"k" * 10), await journal.find(b"n" * 10)

    async def both():
        with Store("s.db", create_missing=True) as store:
            real = await talk(store.journal(store.begin_evaluation([])[0]))
        return real, await talk(MemoryJournal())

    real, memory = asyncio.run(both())
    assert real == memory == (None, b"[1]", b"[1]", None)


def test_two_journals_of_one_store_know_of_each_other():
    async def run():
        with Store("s.db", create_missing=True) as store:
            first, second = (store.journal(store.begin_evaluation([])[0]) for _ in range(2))
            assert await first.find(b"k" * 10) is None
            await first.commit(b"k" * 10, b"[1]")
            return await second.find(b"k" * 10)

    assert asyncio.run(run()) == b"[1]"


def test_the_first_of_two_processes_that_keep_a_reply_wins_and_the_other_is_told():
    async def run():
        with Store("s.db", create_missing=True) as mine, Store("s.db") as other:
            journals = [store.journal(store.begin_evaluation([])[0]) for store in (mine, other)]
            bodies = [await journal.find(b"k" * 10) for journal in journals]
            kept = [
                await journal.commit(b"k" * 10, body) for journal, body in zip(journals, (b"[1]", b"[2]"), strict=True)
            ]
            return bodies, kept, [await journal.find(b"k" * 10) for journal in journals]

    assert asyncio.run(run()) == ([None, None], [b"[1]", b"[1]"], [b"[1]", b"[1]"])


def test_a_damaged_reply_is_asked_again_and_written_over():
    async def damage_and_run():
        async with peer(lambda n, asked: said("A")) as server:
            await run_once(server.url)
            with contextlib.closing(sqlite3.connect("s.db")) as connection, connection:
                connection.execute("UPDATE reply SET body = x'01ffffff' WHERE num % 10 = 0")
            with Store("s.db") as store:
                failures = [record.failure for record in store.runs()[0].records() if record.failure]
            assert [failure.kind for failure in failures] == ["damaged"] * 3
            assert "sample q" in failures[0].message
            again = await run_once(server.url)
            return again, len(server.asked)

    again, asked = asyncio.run(damage_and_run())
    assert asked == N + 3
    assert (again.errors, again.from_journal) == (0, N - 3)
    with Store("s.db") as store:
        assert [len(list(run.records())) for run in store.runs()] == [N, N]
