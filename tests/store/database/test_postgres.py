"""What only a server has: addresses with passwords, locks that go with a connection, other processes, lost lines."""

import asyncio
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.command_here import command_here
from tests.running_server import ledger_server, started, write_exam
from tests.store.conftest import SERVER
from tests.store.outside import connection_to, execute
from tests.store.test_store import new, record
from tests.thorough import times

from steelyard import ConfigError, ExactMatch, Sample, Score, Store, evaluate
from steelyard.errors import StoreError
from steelyard.store.database import schema
from steelyard.store.database.address import has_password, locate
from steelyard.store.database.postgres_connection import escape, unescape
from steelyard.store.repair import verify

NASTY = ["\0", "a\0b", "\x1a", "\x1a0\x1aD800", "易\0", "\u202e", "'; DROP TABLE run; --", "é" * 300]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("postgresql://me:geheim@h:5/db?schema=x&sslmode=require", "postgresql://me@h:5/db?schema=x"),
        ("postgres://me@h/db", "postgresql://me@h/db"),
        ("postgresql:///db?password=geheim", "postgresql:///db"),
        ("postgresql://me:${PGSECRET}@h/db", "postgresql://me@h/db"),
        ("postgresql:///db?host=/tmp&sslpassword=geheim", "postgresql:///db?host=%2Ftmp"),
    ],
)
def test_an_address_is_shown_without_its_password(typed, shown, monkeypatch):
    monkeypatch.setenv("PGSECRET", "p@ss/w:rd")
    address = locate(typed)
    assert str(address) == repr(address)[1:-1] == shown
    assert locate(address) is address, "it can be handed on"
    assert address.url.password in {None, "geheim", "p@ss/w:rd"}
    assert has_password(typed) == ("geheim" in typed)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("postgresql+asyncpg://h/db", r"PostgreSQL database, not postgresql\+asyncpg://"),
        ("postgresql://me@h:port/db", "the address of the store is not that of a PostgreSQL database"),
        ("postgresql://me:${STEELYARD_NOT_SET}@h/db", r"\$\{STEELYARD_NOT_SET\} has no value: set the environment"),
        ("postgresql://h/db?schema=A-b", "schema='A-b': the name of a schema"),
        ("postgresql://h/db?schema=a;drop", "schema='a;drop'"),
        ("mariadb://h/db", "address of a PostgreSQL database, not mariadb://"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(typed, said):
    with pytest.raises(ConfigError, match=said):
        locate(typed)


def test_without_psycopg_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for module in ("postgres", "postgres_connection"):  # which a test before this one may have loaded
        monkeypatch.delitem(sys.modules, f"steelyard.store.database.{module}", raising=False)
    with pytest.raises(ConfigError, match=r"needs psycopg .*pip install 'psycopg\[binary\]>="):
        Store("postgresql://h/db")


def test_no_message_of_the_server_quotes_the_password(server):
    wrong = "postgresql://nobody_of_this_name:geheim@127.0.0.1:1/db"
    with pytest.raises(StoreError) as caught:
        Store(wrong)
    assert "geheim" not in str(caught.value) + repr(caught.value.__cause__)
    assert "postgresql://nobody_of_this_name@127.0.0.1:1/db: " in str(caught.value)


def test_there_is_no_store_until_something_is_run(on_server, schema, server):
    with pytest.raises(ConfigError, match=rf"there is no store at .*schema={schema}: run something first"):
        Store(on_server)
    server.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.cats (name text)")
    with pytest.raises(StoreError, match="but not a Steelyard store"):
        Store(on_server)
    with pytest.raises(StoreError, match="but not a Steelyard store"):
        Store(on_server, create_missing=True)
    server.execute(f"DROP TABLE {schema}.cats")
    Store(on_server, create_missing=True).close()
    execute(on_server, "UPDATE about SET value = '99'")
    with pytest.raises(StoreError, match="has tables of version 99, this release reads version 1"):
        Store(on_server)


def test_a_database_that_does_not_hold_every_text_is_refused(server, schema):
    try:
        server.execute(f"CREATE DATABASE {schema} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    except psycopg.Error as error:
        pytest.skip(f"no database may be made here: {error}")
    try:
        with pytest.raises(StoreError, match="keeps texts as SQL_ASCII"):
            Store(replace(locate(SERVER).url, database=schema).complete, create_missing=True)
    finally:
        server.execute(f"DROP DATABASE {schema} WITH (FORCE)")


@pytest.mark.parametrize("text", [*NASTY, "\ud800", "\udfff\ud800x", ""])
def test_escaping_takes_any_text_back_and_leaves_ordinary_ones_alone(text):
    assert unescape(escape(text)) == text
    assert "\0" not in escape(text)
    escape(text).encode()
    assert escape("a 易 \n\t") == "a 易 \n\t"


def test_texts_that_the_server_refuses_come_back_as_they_were(on_server):
    samples = [Sample(f"{n}{text}", text, text, group=text, cluster=text) for n, text in enumerate(NASTY)]

    def scorer(sample, output):
        return [Score(f"s\0{sample.id[:1]}", 1.0, reason="half a pair \ud800", detail={"\0": "\udfff"})]

    run = evaluate(lambda sample: f"\0\ud800{sample.input}", samples, [scorer], store=on_server, name="t\0itle")
    listed = list(run.records())
    assert [record.sample for record in listed] == samples
    assert [record.output.value for record in listed] == [f"\0\ud800{text}" for text in NASTY]
    assert listed[0].scores[0].name == "s\x000"
    assert listed[0].scores[0].reason == "half a pair \ud800"
    assert run.suite == "t\0itle"
    assert sorted(score.name for score in run.summary().scores) == [f"s\0{n}" for n in range(len(NASTY))]
    with Store(on_server) as store:
        assert verify(store).damages == []


def test_a_store_can_be_opened_on_the_address_of_another(on_server):
    with Store(on_server, create_missing=True) as store:
        run = evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=store.path)
        assert store.run(run.id).done == 1
        assert store.is_at(on_server)
        assert not store.is_at("s.db")


def test_a_look_up_does_not_read_the_whole_of_a_table_that_was_small_at_first(on_server):
    keys = [hashlib.sha256(str(n).encode()).digest()[:10] for n in range(20_000)]

    async def look_up_before_and_after_it_grew(store):
        journal = store.journal(1)
        for begin in range(0, 640, 32):
            new = keys[begin : begin + 32]
            assert set(await asyncio.gather(*map(journal.find, new))) == {None}
            await asyncio.gather(*(journal.commit(key, b"[]") for key in new))
        await asyncio.gather(*(journal.commit(key, b"[]") for key in keys[640:]))
        for _ in range(20):
            assert set(await asyncio.gather(*map(journal.find, keys[:32]))) == {b"[]"}

    with Store(on_server, create_missing=True) as store:
        asyncio.run(look_up_before_and_after_it_grew(store))
    counts = "SELECT idx_scan, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = ? AND relname = 'reply'"
    read = lambda: execute(on_server, counts, [locate(on_server).schema])[0]  # noqa: E731
    until(lambda: read()[0] > 20)

    assert read()[1] < 20_000


def test_several_processes_that_find_no_store_make_one(on_server, server):
    collected, failed = [], []

    def make():
        try:
            Store(on_server, create_missing=True).close()
            collected.append(1)
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(collected), failed) == (6, [])


HOLD = """
import sys
from steelyard.store import NewRun, Store
with Store(sys.argv[1], create_missing=True) as store:
    _, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", 3, {"stages": ["target"], "draw": ""})])
    print(writer.run.id, flush=True)
    sys.stdin.read()
"""


def holder(where):
    process = subprocess.Popen([sys.executable, "-c", HOLD, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return process, process.stdout.readline().decode().strip()


def test_a_second_writer_is_refused_and_told_who_is_the_first_until_that_is_killed(on_server, server):
    process, ident = holder(on_server)
    with Store(on_server) as store:
        run = store.run(ident)
        assert run.state == "running"
        with pytest.raises(StoreError, match=rf"is being written by another process \(pid {process.pid} on "):
            store.reopen_run(run, manifest=run.manifest, planned=3)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        writer = store.reopen_run(run, manifest=run.manifest, planned=3)
        assert run.refresh().state == "running"
        with pytest.raises(StoreError, match="is being written"):
            store.reopen_run(run, manifest=run.manifest, planned=3)
        writer.abandon()
        assert run.refresh().state == "interrupted"
    assert server.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = ANY("
        "SELECT pid FROM pg_stat_activity WHERE application_name LIKE %s)", [f"steelyard pid {os.getpid()} %"]
    ).fetchone() == (0,)  # fmt: skip


def ended(server, pid):
    """End the connections of one process."""
    return server.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE %s",
        [f"steelyard pid {pid} on %"],
    ).fetchone()[0]


def until(condition, seconds=10):
    """Wait for another thread or process; fail where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_whoever_lost_the_line_cannot_write_though_it_comes_back(on_server, server):
    with Store(on_server, create_missing=True) as store, Store(on_server) as other:
        writer = store.begin_evaluation([new()])[1][0]
        writer.insert(0, record(0))
        store.writer.change(lambda batch: None)
        assert ended(server, os.getpid()) >= 2
        until(lambda: store.writer.store_error() is not None)
        assert "Replies that came before are kept" in str(store.writer.store_error())
        taken = other.reopen_run(other.run(writer.run.id), manifest=writer.run.manifest, planned=3)
        writer.insert(1, record(1))
        with pytest.raises(StoreError, match="the store cannot be written"):
            writer.finish("finished", "", 1)
        taken.insert(1, record(1, 0.5))
        taken.finish("interrupted", "", 1)
        run = other.run(writer.run.id)
        assert [(record.sample.id, record.scores[0].value) for record in run.records()] == [("q0", 1.0), ("q1", 0.5)]
        assert verify(other).damages == []


def test_replies_on_their_way_are_kept_after_the_line_was_lost_and_nothing_more_is_sent(on_server, server):
    async def run():
        with Store(on_server, create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            ended(server, os.getpid())
            kept = await journal.commit(b"b" * 10, b"[2]")
            assert journal.store_error() is not None
            with pytest.raises(StoreError):
                await journal.book(1, 1)
            found = await journal.find(b"a" * 10)
            ended(server, os.getpid())
            return kept, found, await journal.commit(b"c" * 10, b"[3]")

    assert asyncio.run(run()) == (b"[2]", b"[1]", b"[3]")
    with Store(on_server) as store:
        assert store.stored_keys([b"a" * 10, b"b" * 10, b"c" * 10]) == {b"a" * 10, b"b" * 10, b"c" * 10}


def test_a_batch_that_ends_each_connection_is_given_up(on_server, server, monkeypatch):
    monkeypatch.setattr("steelyard.store.writer._RECONNECT_S", 1.0)

    async def run():
        with Store(on_server, create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            # As a server does that limits the time of a transaction, or the memory of a process.
            schema = locate(on_server).schema
            server.execute(
                f"""CREATE FUNCTION "{schema}".leave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"""
            )
            server.execute(
                f'CREATE TRIGGER leave BEFORE INSERT ON "{schema}".reply EXECUTE FUNCTION "{schema}".leave()'
            )
            with pytest.raises(StoreError, match="the store cannot be written"):
                await asyncio.wait_for(journal.commit(b"b" * 10, b"[2]"), 15)

    asyncio.run(run())


def test_a_connection_that_is_read_with_as_the_store_is_closed_is_closed_too(on_server):
    store = Store(on_server, create_missing=True)
    with store.reading() as connection:
        store.close()
        assert connection.execute("SELECT 1").scalar() == 1
    assert connection.driver.closed


@pytest.mark.parametrize("which", range(2))
def test_a_reply_is_kept_where_only_one_of_the_connections_was_ended(which, on_server, server):
    # A server that stops ends one after the other; `which` counts them in the order in which they were opened.
    async def run():
        with Store(on_server, create_missing=True) as store:
            journal = store.journal(store.begin_evaluation([])[0])
            await journal.commit(b"a" * 10, b"[1]")
            pids = server.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name LIKE %s ORDER BY backend_start",
                [f"steelyard pid {os.getpid()} on %"],
            ).fetchall()
            server.execute("SELECT pg_terminate_backend(%s, 5000)", pids[which])
            return await asyncio.gather(journal.find(b"a" * 10), journal.commit(b"b" * 10, b"[2]"))

    assert asyncio.run(run()) == [b"[1]", b"[2]"]
    with Store(on_server) as store:
        assert store.stored_keys([b"a" * 10, b"b" * 10]) == {b"a" * 10, b"b" * 10}


def test_of_two_transactions_that_wait_for_each_other_both_are_done_in_the_end(on_server, server):
    meet = threading.Barrier(2)
    tries = Counter()

    def change(name, order):
        def both(batch):
            tries[name] += 1
            for place, num in enumerate(order):
                batch.connection.execute(f"UPDATE evaluation SET calls = calls + 1 WHERE num = {num}")
                if place == 0 and tries[name] == 1:
                    meet.wait(60)

        return both

    with Store(on_server, create_missing=True) as first, Store(on_server) as second:
        for _ in range(2):
            first.begin_evaluation([])
        threads = [
            threading.Thread(target=first.writer.change, args=[change("one", (1, 2))]),
            threading.Thread(target=second.writer.change, args=[change("two", (2, 1))]),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # How often is the server's affair: it may wake the other one late, and both then wait once more.
        assert max(tries.values()) > 1, "the server ended one of them, which was done again"
        assert [first.spending(num).calls for num in (1, 2)] == [2, 2]
        assert (first.writer.store_error(), second.writer.store_error()) == (None, None)


def test_two_stores_that_add_the_same_samples_and_names_share_them(on_server, server):
    def work(store, order):
        writer = store.begin_evaluation([new(planned=200)])[1][0]
        for n in order:
            writer.insert(n, record(n))
        writer.finish("finished", "", 1)

    with Store(on_server, create_missing=True) as first, Store(on_server) as second:
        threads = [
            threading.Thread(target=work, args=[first, range(200)]),
            threading.Thread(target=work, args=[second, range(199, -1, -1)]),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(run.state, run.done) for run in first.runs()] == [("finished", 200)] * 2
        assert execute(on_server, "SELECT count(*) FROM sample") == [(200,)]
        assert execute(on_server, "SELECT count(*) FROM word") == [(1,)]
        assert verify(second).damages == []


def test_who_may_only_read_reads_and_is_told_where_something_would_be_written(on_server, server, schema):
    run = evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=on_server)
    reader = f"reader_{schema}"
    try:
        server.execute(f"CREATE ROLE {reader} LOGIN PASSWORD 'geheim'")
    except psycopg.Error as error:
        pytest.skip(f"no role may be made here: {error}")
    try:
        server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {reader}")
        server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")
        url = locate(on_server).url
        query = {**url.query, "schema": schema}
        where = replace(url, username=reader, password="geheim", query=query).complete
        with Store(where) as store:
            assert [run.id for run in store.runs()] == [run.id]
            assert store.run(run.id).summary().scores[0].answered.value == 1.0
            assert store.run(run.id).state == "finished"
            assert verify(store).is_sound
        with pytest.raises(StoreError, match="permission denied") as caught:
            evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], store=where)
        assert "geheim" not in str(caught.value)
    finally:
        server.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}")


QUESTIONS = 120
CONCURRENCY = 8


def journalled(where):
    with connection_to(where) as connection:
        if connection.execute("SELECT to_regclass('reply')").fetchone() == (None,):
            return 0
        return connection.execute("SELECT count(*) FROM reply").fetchone()[0]


@pytest.mark.slow
def test_a_lost_line_ends_the_run_with_4_and_no_reply_is_paid_twice(tmp_path, on_server, server):
    with ledger_server(tmp_path, "--latency-ms", "150") as ledger:
        write_exam(tmp_path, ledger.url, QUESTIONS, template="{{question}}\n{{options}}")
        for more in (20, 40):
            begun = journalled(on_server)
            process = started(
                tmp_path, *(("resume",) if begun else ("run", "exam.json")), "--store", on_server, "--quiet"
            )
            until(lambda begun=begun, more=more: journalled(on_server) >= begun + more, 60)
            assert ended(server, process.pid) >= 2
            out, err = process.communicate(timeout=60)
            assert process.returncode == 4, (out, err)
            assert "the store cannot be written" in err
            assert "Traceback" not in err
            assert journalled(on_server) == len(ledger.answered())
        command_here(tmp_path, "resume", "--store", on_server, "--quiet")
        paid = Counter(call["prompt"] for call in ledger.answered())
    assert set(paid.values()) == {1}
    assert len(paid) == QUESTIONS
    with Store(on_server) as store:
        assert [(run.state, run.done) for run in store.runs()] == [("finished", QUESTIONS)]
        assert verify(store).damages == []


@pytest.mark.slow
def test_killed_at_random_moments_a_run_pays_only_for_what_was_in_flight(tmp_path, on_server, server):
    kills = times(3, 6)
    with ledger_server(tmp_path, "--latency-ms", "120") as ledger:
        write_exam(tmp_path, ledger.url, QUESTIONS, template="{{question}}\n{{options}}")
        for kill in range(kills):
            begun = journalled(on_server)
            process = started(
                tmp_path, *(("resume",) if begun else ("run", "exam.json")), "--store", on_server, "--quiet"
            )
            until(lambda begun=begun, kill=kill: journalled(on_server) >= begun + 5 + 3 * kill, 60)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        command_here(tmp_path, "resume", "--store", on_server, "--quiet")
        paid = Counter(call["prompt"] for call in ledger.answered())
    assert len(paid) == QUESTIONS
    assert sum(paid.values()) - QUESTIONS <= kills * CONCURRENCY
    with Store(on_server) as store:
        assert [(run.state, run.done) for run in store.runs()] == [("finished", QUESTIONS)]
        assert len({record.sample.id for record in store.runs()[0].records()}) == QUESTIONS
        assert verify(store).damages == []


def test_a_writer_that_pauses_within_a_transaction_for_too_long_does_not_keep_others_waiting(on_server):
    with Store(on_server, create_missing=True) as paused, Store(on_server) as other:
        evaluation, _ = paused.begin_evaluation([new()])
        paused.limit_pauses(1.0)
        locked, written = threading.Event(), threading.Event()
        adding = schema.insert_or_add(schema.retry, ("evaluation", "model", "fault"), ("n",))
        rows = [{"evaluation": evaluation, "model": model, "fault": "429", "n": 1} for model in ("a", "b")]

        def write(batch):
            batch.connection.insert_rows(adding, rows)

        def write_and_pause(batch):
            write(batch)
            locked.set()
            assert written.wait(60), "the other still waits for the row"
            write(batch)

        with ThreadPoolExecutor() as pool:
            pausing = pool.submit(paused.writer.change, write_and_pause)
            assert locked.wait(60)
            other.writer.change(write)
            written.set()
            with pytest.raises(StoreError, match="timeout"):
                pausing.result()
        assert other.consumption(evaluation).retries == {("a", "429"): 1, ("b", "429"): 1}


@pytest.fixture
def own_server():
    """A server of the test's own, which it may stop; (address, stop, start)."""
    largest = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if largest is None or shutil.which("su") is None or os.geteuid() != 0:
        pytest.skip("no server of one's own can be started here")
    # Not below pytest's own folder, which is closed to other users: the server does not run as root.
    home = Path(tempfile.mkdtemp(prefix="steelyard-", dir="/tmp"))
    data = home / "data"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    shutil.chown(home, "postgres")

    def call(line):
        done = subprocess.run(["su", "postgres", "-c", line], cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout

    call(f"{largest}/initdb -D {data} -E UTF8 -A trust --no-sync")
    options = f"-o '-p {port} -k /tmp -c listen_addresses=127.0.0.1'"

    def start():
        call(f"{largest}/pg_ctl -D {data} -w {options} -l {data}/log start")

    def stop(how):
        call(f"{largest}/pg_ctl -D {data} -w -m {how} stop")

    start()
    yield f"postgresql://postgres@127.0.0.1:{port}/postgres", stop, start
    stop("immediate")
    shutil.rmtree(home)


@pytest.mark.slow
def test_a_server_that_is_started_anew_in_the_middle_costs_no_reply(tmp_path, own_server):
    where, stop, start = own_server
    with ledger_server(tmp_path, "--latency-ms", "200") as ledger:
        write_exam(tmp_path, ledger.url, QUESTIONS, template="{{question}}\n{{options}}")
        process = started(tmp_path, "run", "exam.json", "--store", where, "--quiet")
        until(lambda: ledger.ledger.exists() and len(ledger.answered()) >= 40, 60)
        stop("fast")
        start()
        out, err = process.communicate(timeout=90)
        assert process.returncode == 4, (out, err)
        assert "resume" in err
        command_here(tmp_path, "resume", "--store", where, "--quiet")
        paid = Counter(call["prompt"] for call in ledger.answered())
    assert set(paid.values()) == {1}
    assert len(paid) == QUESTIONS
