"""The sandbox itself: its processes, its copies, and what it makes of workers that lie or die."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ConfigError
from steelyard.sql.results import Database, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.workers import wire
from steelyard.sql.workers.pool import SERVED, Call, Pool

ENDLESS = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a"
LOOP = "SELECT instr(zeroblob(19000000), zeroblob(9000000) || x'01')"
SCRATCH = Database(script="CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=2) as opened:
        yield opened


def database(path, *, journal="delete"):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE t(a)")
        connection.execute("INSERT INTO t VALUES (7)")
        connection.commit()
    return path


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=10.0):
    end = time.monotonic() + seconds
    while any(map(lives, pids)) and time.monotonic() < end:
        os.sched_yield()
    return not any(map(lives, pids))


def template_pid(sandbox, engine="sqlite"):
    return sandbox._pool._templates[engine]._process.pid


def worker_pids(sandbox):
    return [worker.pid for workers in sandbox._pool._idle.values() for worker in workers]


class TestProcesses:
    def test_a_worker_is_used_again(self, sandbox):
        sandbox.run(SCRATCH, "SELECT 1")
        before = worker_pids(sandbox)
        sandbox.run(SCRATCH, "SELECT 1")
        assert worker_pids(sandbox) == before

    def test_a_worker_goes_on_after_a_wrong_or_denied_query_and_is_replaced_after_other_failures(self):
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            (before,) = worker_pids(own)
            for query in ("SELECT nothing", "SELEC 1", "DROP TABLE emp", "SELECT abs(-9223372036854775808)"):
                assert own.run(SCRATCH, query).failure.kind in {"error", "denied"}
                assert worker_pids(own) == [before]
            too_much = {
                "too_large": ("SELECT zeroblob(1001)", SqlLimits(max_bytes=1000)),
                "timeout": (ENDLESS, SqlLimits(timeout_s=0.05)),
            }
            for kind, (query, limits) in too_much.items():
                assert own.run(SCRATCH, query, limits=limits).failure.kind == kind
                own.run(SCRATCH, "SELECT 1")
                (after,) = worker_pids(own)
                assert before != after
                assert gone([before])
                before = after

    def test_a_worker_is_replaced_after_many_queries(self):
        with Sandbox(workers=1) as own:
            used = set()
            for _ in range(SERVED + 1):
                assert own.run(Database(), "SELECT 1").table.rows == [(1,)]
                used |= set(worker_pids(own))
            assert len(used) == 2

    def test_a_worker_that_loops_in_c_is_killed(self, sandbox):
        done = sandbox.run(SCRATCH, LOOP, limits=SqlLimits(timeout_s=0.1))
        assert done.failure.kind == "timeout"

    def test_a_worker_that_dies_is_a_failure_and_the_next_query_is_right(self):
        with Sandbox(workers=1) as own, ThreadPoolExecutor(1) as thread:
            own.run(SCRATCH, "SELECT 1")
            (pid,) = worker_pids(own)
            running = thread.submit(own.run, SCRATCH, ENDLESS, limits=SqlLimits(timeout_s=20))
            while worker_pids(own):
                os.sched_yield()
            os.kill(pid, signal.SIGSEGV)
            failure = running.result(5).failure
            assert (failure.kind, "crashed" in failure.message) == ("error", True)
            assert worker_pids(own) == []
            assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]

    def test_a_template_that_dies_is_started_anew(self):
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            pid, idle = template_pid(own), worker_pids(own)
            os.kill(pid, signal.SIGKILL)
            assert gone([pid, *idle])
            assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]
            assert template_pid(own) != pid

    @pytest.mark.parametrize("whose", ["worker", "template"])
    def test_a_process_that_is_killed_while_idle_costs_no_query(self, whose):
        with Sandbox(workers=1) as own:
            for _ in range(5):
                own.run(SCRATCH, "SELECT 1")
                os.kill(worker_pids(own)[0] if whose == "worker" else template_pid(own), signal.SIGKILL)
                assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]

    def test_a_worker_that_spoke_unasked_is_not_used(self):
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            ((worker,),) = own._pool._idle.values()
            ours, theirs = socket.socketpair()
            wire.send(theirs, b"C", b"[[], []]")
            before, worker._sock = worker._sock, ours
            assert not worker.waits
            assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]
            before.close()
            theirs.close()

    def test_a_system_without_further_processes_fails_with_a_reason_and_ends_no_worker(self):
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            before = worker_pids(own)
            # A template without a file to spare cannot take the new worker's socket.
            soft, hard = resource.prlimit(template_pid(own), resource.RLIMIT_NOFILE)
            resource.prlimit(template_pid(own), resource.RLIMIT_NOFILE, (3, hard))
            with pytest.raises(ConfigError, match="no process to run SQL in could be started"):
                own.run(SCRATCH, "SELECT 1", limits=SqlLimits(memory_mib=100))
            resource.prlimit(template_pid(own), resource.RLIMIT_NOFILE, (soft, hard))
            assert all(map(lives, before))
            assert own.run(SCRATCH, "SELECT 1", limits=SqlLimits(memory_mib=100)).table.rows == [(1,)]

    def test_close_does_not_wait_for_queries_that_are_on_their_way(self):
        for _ in range(5):
            pool = Pool(2, unsafe=False, resolve=str)
            with ThreadPoolExecutor(4) as threads:
                running = [
                    threads.submit(pool.run, SCRATCH, ENDLESS, "", SqlLimits(timeout_s=60), Call()) for _ in range(4)
                ]
                while not pool._templates:
                    os.sched_yield()
                pool.close()
                assert {one.result().failure.kind for one in running} == {"error"}  # "timeout" had it waited
            assert not pool._templates

    def test_close_ends_all_processes_and_deletes_the_copies(self, tmp_path):
        own = Sandbox(workers=1)
        own.run(Database(file=database(tmp_path / "a.db")), "SELECT * FROM t")
        pids, folder = [template_pid(own), *worker_pids(own)], own._pool._copies.folder
        assert folder.stat().st_mode & 0o777 == 0o700
        own.close()
        assert gone(pids)
        assert not folder.exists()

    def test_a_closed_sandbox_starts_anew(self):
        own = Sandbox(workers=1)
        for _ in range(2):
            assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]
            own.close()

    def test_close_ends_a_query_that_runs(self):
        own = Sandbox(workers=1)
        own.check("sqlite")
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(own.run, SCRATCH, ENDLESS, limits=SqlLimits(timeout_s=30))
            while not own._pool._calls:
                os.sched_yield()
            own.close()
            assert running.result(5).failure.kind == "error"

    def test_a_sandbox_that_is_dropped_ends_its_processes(self):
        own = Sandbox(workers=1)
        own.run(SCRATCH, "SELECT 1")
        pids = [template_pid(own), *worker_pids(own)]
        del own
        gc.collect()
        assert gone(pids)

    def test_no_process_survives_a_killed_caller(self, tmp_path):
        program = textwrap.dedent("""
            import sys, threading
            from steelyard.sql.results import Database, SqlLimits
            from steelyard.sql.sandbox import Sandbox
            own = Sandbox(workers=2)
            own.run(Database(), "SELECT 1")
            names = (Database(), sys.argv[1]), {"limits": SqlLimits(timeout_s=600)}
            threading.Thread(target=own.run, args=names[0], kwargs=names[1]).start()
            while not own._pool._calls:
                pass
            print(own._pool._templates["sqlite"]._process.pid, own._pool._copies.folder, flush=True)
            threading.Event().wait()
        """)
        caller = subprocess.Popen([sys.executable, "-c", program, ENDLESS], stdout=subprocess.PIPE, text=True)
        template, folder = caller.stdout.readline().split()
        children = Path(f"/proc/{template}/task/{template}/children")
        workers = [int(pid) for pid in children.read_text().split()]
        assert workers
        caller.kill()
        caller.wait()
        caller.stdout.close()
        assert gone([int(template), *workers])
        assert not Path(folder).exists()

    def test_processes_know_no_environment_and_no_terminal(self, monkeypatch):
        monkeypatch.setenv("STEELYARD_TEST_SECRET", "hidden")
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            for pid in (template_pid(own), *worker_pids(own)):
                assert b"hidden" not in Path(f"/proc/{pid}/environ").read_bytes()
                assert b"hidden" not in Path(f"/proc/{pid}/cmdline").read_bytes()
                assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")

    def test_a_worker_has_few_files_open_and_none_of_the_callers(self, tmp_path):
        with (tmp_path / "mine").open("w") as mine, Sandbox(workers=1) as own:
            os.set_inheritable(mine.fileno(), True)
            own.run(SCRATCH, "SELECT 1")
            (pid,) = worker_pids(own)
            held = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
            assert not [one for one in held if "mine" in one]
            assert len(held) <= 5

    def test_a_fork_of_the_caller_has_workers_of_its_own(self):
        with Sandbox(workers=1) as own:
            own.run(SCRATCH, "SELECT 1")
            child = os.fork()
            if child == 0:
                code = 1
                with contextlib.suppress(BaseException):
                    code = 0 if own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)] else 1
                    own.close()
                os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert own.run(SCRATCH, "SELECT count(*) FROM t").table.rows == [(2,)]


def allowed_by_this_kernel():
    """What a worker may still do: less with each line of defence that this kernel has."""
    program = textwrap.dedent("""
        import json, sys
        from steelyard.sql.workers import confine, seccomp
        confine.leave_the_parent()
        print(json.dumps([confine.restrict_files(["/"]), seccomp.install()]))
    """)
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    has_landlock, has_filter = json.loads(told.stdout)
    left = {"read the copy"}
    if not has_landlock:
        left |= {"read", "delete"}
    if not has_filter:
        left |= {"connect", "fork", "execute", "signal"}
    return left


class TestConfinement:
    def test_a_worker_that_is_taken_over_reaches_nothing(self, tmp_path):
        (tmp_path / "in").mkdir()
        (tmp_path / "in/copy").write_text("copy", encoding="utf-8")
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        program = textwrap.dedent("""
            import json, os, socket, sys
            from steelyard.sql.workers import confine
            folder = sys.argv[1]
            confine.leave_the_parent()
            confine.hold("sqlite", 64, folder + "/in")
            wanted = {
                "read the copy": lambda: open(folder + "/in/copy").read(),
                "read": lambda: open(folder + "/secret").read(),
                "write the copy": lambda: open(folder + "/in/copy", "a").write("x"),
                "write": lambda: open(folder + "/new", "w").write("x"),
                "delete": lambda: os.unlink(folder + "/in/copy"),
                "connect": lambda: socket.socket(),
                "fork": lambda: os.fork() or os._exit(0),
                "execute": lambda: os.execv("/bin/true", ["true"]),
                "signal": lambda: os.kill(os.getppid(), 0),
                "fill memory": lambda: bytearray(400 * 2**20),
            }
            done = []
            for name, act in wanted.items():
                try:
                    act()
                    done.append(name)
                except (OSError, MemoryError):
                    pass
            print(json.dumps(done), file=sys.stderr)
        """)
        told = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
        done = set(json.loads(told.stderr))
        assert "read the copy" in done
        assert done <= allowed_by_this_kernel()

    def test_an_unknown_engine_is_refused(self, sandbox):
        with pytest.raises(ConfigError, match="no engine 'oracle'; known: duckdb, mysql, postgres, sqlite"):
            sandbox.check("oracle")

    def test_sqlite_can_be_held_here(self, sandbox):
        assert sandbox._pool.template("sqlite").refusal == ""

    def test_an_engine_that_cannot_be_held_is_refused_unless_unsafe(self):
        for unsafe in (False, True):
            with Sandbox(workers=1, unsafe=unsafe) as own:
                own.check("sqlite")
                own._pool._templates["sqlite"].refusal = "no authorizer"
                if unsafe:
                    assert own.run(Database(), "SELECT 1").table.rows == [(1,)]
                else:
                    with pytest.raises(ConfigError, match=r"no authorizer.*--unsafe-sql"):
                        own.run(Database(), "SELECT 1")

    def test_an_engine_that_is_not_installed_names_the_extra(self, sandbox):
        with Sandbox(workers=1) as own:
            own.check("duckdb")
            own._pool._templates["duckdb"].missing = "No module named 'duckdb'"
            with pytest.raises(ConfigError, match=r"pip install 'duckdb>="):
                own.check("duckdb")

    def test_limits_that_cannot_be_meant_are_refused(self, sandbox):
        with pytest.raises(ConfigError, match="timeout_s"):
            sandbox.run(SCRATCH, "SELECT 1", limits=SqlLimits(timeout_s=0))

    def test_a_file_and_a_script_together_are_refused(self, sandbox, tmp_path):
        with pytest.raises(ConfigError, match="not both"):
            sandbox.run(Database(file=database(tmp_path / "a.db"), script="SELECT 1"), "SELECT 1")


class TestThreads:
    def test_several_threads_get_their_own_results(self, sandbox):
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda n: sandbox.run(Database(), f"SELECT {n}").table.rows, range(60)))
        assert found == [[(n,)] for n in range(60)]

    def test_an_event_loop_is_not_blocked(self, sandbox):
        async def both():
            slow = asyncio.create_task(sandbox.arun(SCRATCH, ENDLESS, limits=SqlLimits(timeout_s=0.3)))
            quick = await sandbox.arun(SCRATCH, "SELECT 1")
            return quick, slow.done(), await slow

        quick, slow_was_done, slow = asyncio.run(both())
        assert (quick.table.rows, slow_was_done, slow.failure.kind) == ([(1,)], False, "timeout")

    def test_a_cancelled_call_ends_its_worker(self):
        with Sandbox(workers=1) as own:

            async def cancelled():
                task = asyncio.create_task(own.arun(SCRATCH, ENDLESS, limits=SqlLimits(timeout_s=600)))
                while own._pool is None or not own._pool._calls:  # noqa: ASYNC110 (the pool knows no loop)
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                async with asyncio.timeout(300):  # a worker that went on would be busy twice as long
                    return await own.arun(SCRATCH, "SELECT count(*) FROM t")

            assert asyncio.run(cancelled()).table.rows == [(2,)]


class TestCopies:
    def test_a_write_ahead_log_is_read_and_nothing_appears_beside_the_file(self, sandbox, tmp_path):
        folder = tmp_path / "log"
        folder.mkdir()
        file = folder / "a.db"
        writer = sqlite3.connect(file)
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("CREATE TABLE t(a)")
        writer.execute("INSERT INTO t VALUES (1)")
        writer.commit()
        before = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
        assert "a.db-wal" in before
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(1,)]
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(1,), (2,)]
        writer.close()

    def test_a_closed_file_in_wal_mode_gets_no_company(self, sandbox, tmp_path):
        file = database(tmp_path / "a.db", journal="wal")
        before = sorted(tmp_path.iterdir()), file.read_bytes()
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(7,)]
        assert (sorted(tmp_path.iterdir()), file.read_bytes()) == before

    @pytest.mark.parametrize("name", ["a b.db", "a?b.db", "a#b.db", "a%41.db", "数据库.db", "a'.db", "a&mode=rwc.db"])
    def test_any_name_is_opened(self, sandbox, tmp_path, name):
        assert sandbox.run(Database(file=database(tmp_path / name)), "SELECT a FROM t").table.rows == [(7,)]

    def test_a_file_that_changed_is_copied_anew(self, sandbox, tmp_path):
        file = database(tmp_path / "a.db")
        assert sandbox.run(Database(file=file), "SELECT count(*) FROM t").table.rows == [(1,)]
        with contextlib.closing(sqlite3.connect(file)) as writer:
            writer.execute("INSERT INTO t VALUES (8)")
            writer.commit()
        assert sandbox.run(Database(file=file), "SELECT count(*) FROM t").table.rows == [(2,)]

    def test_a_file_that_was_changed_with_its_old_size_and_time_is_copied_anew(self, sandbox, tmp_path):
        file = database(tmp_path / "a.db")
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(7,)]
        before, held = file.stat(), file.read_bytes()
        at = held.rindex(b"\x07")
        file.write_bytes(held[:at] + b"\x08" + held[at + 1 :])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(8,)]

    def test_a_file_is_copied_once_for_many_threads(self, tmp_path):
        file = database(tmp_path / "a.db")
        with Sandbox(workers=4) as own, ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: own.run(Database(file=file), "SELECT a FROM t").table.rows, range(20)))
            assert found == [[(7,)]] * 20
            assert len(list(own._pool._copies.folder.iterdir())) == 1

    def test_an_empty_file_is_an_empty_database(self, sandbox, tmp_path):
        (tmp_path / "empty.db").touch()
        done = sandbox.run(Database(file=tmp_path / "empty.db"), "SELECT count(*) FROM sqlite_master")
        assert done.table.rows == [(0,)]

    def test_values_that_a_later_declaration_does_not_allow_are_read(self, sandbox, tmp_path):
        with contextlib.closing(sqlite3.connect(tmp_path / "altered.db")) as connection:
            connection.executescript(
                """CREATE TABLE t(a, b); INSERT INTO t VALUES (NULL, 7); PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a NOT NULL, b TEXT)'"""
            )
        done = sandbox.run(Database(file=tmp_path / "altered.db"), "SELECT * FROM t")
        assert done.table.rows == [(None, 7)]

    def test_what_is_no_database_is_refused_by_name(self, sandbox, tmp_path):
        (tmp_path / "text.db").write_text("not a database at all", encoding="utf-8")
        os.mkfifo(tmp_path / "pipe.db")
        whole = database(tmp_path / "whole.db").read_bytes()
        (tmp_path / "short.db").write_bytes(whole[:1500])
        (tmp_path / "broken.db").write_bytes(whole[:100] + bytes(200) + whole[300:])
        wanted = {
            "text.db": "does not begin as one does",
            "missing.db": "does not exist",
            "pipe.db": "not a regular file",
            "": "is a folder",
            "short.db": "is not a SQLite database that can be read",
            "broken.db": "is not a SQLite database that can be read",
        }
        for name, why in wanted.items():
            with pytest.raises(ConfigError, match=why):
                sandbox.run(Database(file=tmp_path / name), "SELECT 1")

    def test_a_refused_file_is_looked_at_again(self, sandbox, tmp_path):
        file = tmp_path / "a.db"
        file.write_text("nothing yet", encoding="utf-8")
        with pytest.raises(ConfigError):
            sandbox.run(Database(file=file), "SELECT 1")
        file.unlink()
        database(file)
        assert sandbox.run(Database(file=file), "SELECT a FROM t").table.rows == [(7,)]


CELLS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary(max_size=3000)
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
    | st.times().map(lambda moment: moment.replace(fold=0))
    | st.timedeltas()
    | st.uuids(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


class TestWire:
    @given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
    def test_cells_come_through_as_they_were(self, rows):
        sent = list(wire.frames(rows, 2))
        bodies = iter(sent)
        found = []
        for kind, body in bodies:
            assert kind == b"R"
            found += wire.unpack(body, 2, lambda _: next(bodies)[1])
        assert repr(found) == repr(rows)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{}",
            b"[1]",
            b"[[1]]",
            b"[[1,2,3]]",
            b'[[1,{"z":1}]]',
            b'[[1,{"b":"zz"}]]',
            b'[[1,{"d":"x"}]]',
            b'[[1,{"l":5}]]',
            b'[[1,{"a":1}]]',
            b'[[1,{"i":[1]}]]',
            b"[[1,{}]]",
            b"[[1,[2]]]",
            b'[[1,{"a":"2020-01-01","b":"00"}]]',
            b"[" * 100_000,
            b"[[1," + b"9" * 10_000 + b"]]",
            b"\xff\xfe",
        ],
        ids=lambda body: repr(body[:24]),
    )
    def test_what_is_no_row_is_refused(self, body):
        with pytest.raises(wire.WireError):
            wire.unpack(body, 2, lambda _: b"")

    def test_a_frame_that_is_too_long_is_refused_before_it_is_read(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(wire.HEAD.pack(b"R", 2**31))
            with pytest.raises(wire.WireError, match="2147483648 bytes"):
                wire.FrameReader(ours).frame(1000)

    def test_silence_ends_at_the_deadline(self):
        ours, theirs = socket.socketpair()
        with ours, theirs, pytest.raises(wire.DeadlineError):
            wire.FrameReader(ours).frame(1000, time.monotonic() + 0.05)

    @pytest.mark.parametrize(
        "frames",
        [
            [(b"X", b"")],
            [(b"F", b"{}")],
            [(b"F", b'{"kind":"joy","message":"","part":"query"}')],
            [(b"C", b"5")],
            [(b"C", b"[[1], []]")],
            [(b"C", b'[["a"], []]'), (b"R", b"[[1,2]]")],
            [(b"C", b'[["a"], []]'), (b"R", b"[[1],[2],[3],[4]]")],
            [(b"C", b'[["a"], []]'), (b"E", b'"x"')],
            [(b"C", b'[["a"], []]'), (b"R", b'[[{"B":5}]]'), (b"B", b"1")],
            [(b"C", b'[["a"], []]'), (b"C", b'[["a"], []]')],
            [(b"C", b'[["a"], ["INT", "INT"]]')],
            [(b"C", b'["a"]')],
        ],
    )
    def test_a_worker_that_lies_is_a_failure(self, sandbox, frames):
        ours, theirs = socket.socketpair()

        def lie():
            with theirs:
                theirs.recv(2**16)
                for kind, body in frames:
                    wire.send(theirs, kind, body)

        from steelyard.sql.engines.engine import EngineQuery
        from steelyard.sql.workers.processes import Worker

        sandbox.check("sqlite")
        worker = Worker(sandbox._pool._templates["sqlite"], 0, ours)
        thread = threading.Thread(target=lie)
        thread.start()
        done = worker.run(EngineQuery("sqlite", "", "", "", "SELECT 1", SqlLimits(max_rows=3)))
        thread.join()
        assert (done.table, done.failure.kind) == (None, "error")
