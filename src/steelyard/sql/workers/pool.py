"""The open resources of a sandbox: a template process per engine, idle workers, private copies and threads.

A worker of a server holds a connection, and is used again only for the same login.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, cast, get_args

from steelyard.constraints import check_options
from steelyard.errors import ConfigError, ScorerError, install_command
from steelyard.sql.clock import may_read_clock, without_schemas
from steelyard.sql.engines.engine import EngineQuery
from steelyard.sql.results import Database, EngineName, Execution, LocalEngine, SqlFailure, SqlLimits
from steelyard.sql.scratch_scripts import ScratchScripts, changes_meaning, may_translate
from steelyard.sql.server_address import Server, ServerLogin
from steelyard.sql.servers.session import LoginError, Numbers
from steelyard.sql.workers.copies import Copies, Tables
from steelyard.sql.workers.processes import Template, Worker

SERVED: Final = 200
"""Queries after which a worker is replaced, so that a memory leak in an engine ends; a new worker takes 1-2 ms."""

_PACKAGES: Final[Mapping[EngineName, str]] = MappingProxyType(
    {"sqlite": "sqlite3", "duckdb": "duckdb", "postgres": "psycopg", "mysql": "PyMySQL"}
)
_HARMLESS: Final = frozenset({"denied", "error"})

_AT_ONCE_S: Final = 0.25
"""A worker that is killed within so many seconds is assumed to have been killed before its query began."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What decides which queries a worker can run: address space and heap can be lowered in it, never raised.

    Args:
        engine: which.
        memory_mib: its limit; 0 for a worker that prepares a file.
        login: the server that it is connected to.
    """

    engine: EngineName
    memory_mib: int = 0
    login: ServerLogin | None = None


class ClosedError(ConfigError):
    """Raised where the pool was closed while a query waited."""


class Call:
    """One query, which another thread may cancel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self.cancelled = False

    def take(self, worker: Worker | None) -> None:
        """Register the worker that runs the query; None after it has finished."""
        with self._lock:
            self._worker = worker

    def cancel(self) -> None:
        """Cancel the query: a running one returns a failure, a waiting one does not start."""
        with self._lock:
            self.cancelled = True
            if self._worker is not None:
                self._worker.interrupt()


class Pool:
    """The processes and files of a sandbox, open until `close`.

    Args:
        workers: at most so many queries at once.
        unsafe: also use engines that cannot be confined, and roles of servers that may do more than read.
        resolve: replaces the references in a server's address by their values.
    """

    def __init__(self, workers: int, *, unsafe: bool, resolve: Callable[[str], str]) -> None:
        self.owner = os.getpid()
        self.executor = ThreadPoolExecutor(workers, "steelyard-sql")
        self._slots = threading.BoundedSemaphore(workers)
        self._unsafe = unsafe
        self._resolve = resolve
        # `_lock` guards the collections for an instant. `_starting` is held while a process starts, which takes 60 ms
        # and more, and is always the outer one of the two: `template` takes `_lock` inside it.
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._templates: dict[EngineName, Template] = {}
        self._idle: dict[_Kind, list[Worker]] = {}
        self._products: dict[_Kind, str] = {}
        self._calls: set[Call] = set()
        # Held while a statement changes a schema of a server; it waits here, where no clock of its own runs yet.
        self._schemas: defaultdict[tuple[ServerLogin | None, str], threading.Lock] = defaultdict(threading.Lock)
        self._moved: dict[tuple[ServerLogin | None, str], Numbers] = {}
        self._closed = False
        self._began = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        self._copies = Copies(self._prepare)
        self._scripts = ScratchScripts()

    def template(self, engine: EngineName) -> Template:
        """The template of an engine, started where there is none.

        Raises:
            ConfigError: there is no such engine, it is not installed, or it cannot be confined here.
        """
        if engine not in get_args(EngineName):
            raise ConfigError(f"there is no engine {engine!r}; known: {', '.join(sorted(get_args(EngineName)))}")
        if os.name != "posix":
            raise ConfigError("SQL is run only on Linux and macOS; this system cannot limit a process")
        with self._starting:
            if self._closed:
                raise ClosedError("the sandbox was closed")
            current = self._templates.get(engine)
            if current is None or not current.lives:
                if current is not None:
                    self._drop(engine)
                    current.close()
                current = Template(engine, self._copies.folder)
                self._templates[engine] = current
        if current.missing:
            raise ConfigError(f"{_PACKAGES[engine]} is not installed ({current.missing}): {install_command(engine)}")
        if current.refusal and not self._unsafe:
            raise ConfigError(
                f"{engine} cannot be confined here: {current.refusal}. Statements would run unprotected; "
                "--unsafe-sql allows that"
            )
        return current

    def check_server(self, server: Server) -> str:
        """Connect to a server and look at its role; the connection waits for the first query. Returns its product.

        Raises:
            ConfigError: it cannot be reached, it does not let the role in, or the role may do more than read.
        """
        kind = _Kind(server.engine, SqlLimits().memory_mib, server.login(self._resolve))
        if kind not in self._products:
            try:
                worker = self._fork(kind)
            except ScorerError as error:
                raise ConfigError(f"databases: {error}") from None
            self._products[kind] = worker.greeting.product if worker.greeting else ""
            self._give_back(worker, kind, good=True)
        return self._products[kind]

    def new_call(self) -> Call:
        """A call for `run`, which may be cancelled by it."""
        return Call()

    def run(self, database: Database, query: str, create: str, limits: SqlLimits, call: Call) -> Execution:
        """Run a query when there is a free worker; see `Sandbox.run`. Closed meanwhile, it comes back as a failure."""
        check_options(limits)
        if database.file is not None and database.script:
            raise ConfigError("a database is a file or made by a script, not both")
        server = database.server
        if server is not None and database.now and server.engine == "postgres":
            raise ConfigError("now: the clock of PostgreSQL cannot be pinned: leave it out for this database")
        kind = _Kind(database.engine, limits.memory_mib, None if server is None else server.login(self._resolve))
        with self._alone(kind, database), self._slots:
            if call.cancelled:
                return _cancelled()
            try:
                self.template(database.engine)
                # A script that is run for each query, in any worker, builds the same each time.
                now = database.now or (self._began if may_read_clock(database.script) else "")
                if now and database.engine == "duckdb":
                    query = without_schemas(query)
                with self._file(database, limits.memory_mib) as file:
                    work = EngineQuery(
                        database.engine,
                        file,
                        database.script,
                        create,
                        query,
                        limits,
                        now=now,
                        schema=server.schema if server else "",
                        changes=database.changes,
                    )
                    return self._work_on_script(work, kind, call) if work.script else self._work(work, kind, call)
            except ClosedError:
                return _cancelled()

    def close(self) -> None:
        """End all processes; running queries return failures. Does nothing in a fork of the caller's process."""
        if self.owner != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            calls, idle = tuple(self._calls), [worker for workers in self._idle.values() for worker in workers]
            self._idle.clear()
        for call in calls:
            call.cancel()
        for worker in idle:
            worker.close()
        with self._starting:
            for template in self._templates.values():
                template.close()
            self._templates.clear()
        self.executor.shutdown(wait=False)
        self._copies.close()

    def _alone(self, kind: _Kind, database: Database) -> AbstractContextManager[object]:
        """Held while a statement runs: one at a time may change a schema of a server."""
        if not database.changes or database.server is None:
            return nullcontext()
        with self._lock:
            return self._schemas[kind.login, database.server.schema]

    def _file(self, database: Database, memory_mib: int) -> AbstractContextManager[str]:
        """The path of the copy that a query runs on; "" for a scratch database."""
        if database.file is None:
            return nullcontext("")
        return self._copies.lease(cast("LocalEngine", database.engine), database.file, memory_mib)

    def left_out(self, database: Database) -> Mapping[str, str]:
        """The tables of a script that its engine could not build, by name, with the reason; as far as it was run."""
        built = self._scripts.known(cast("LocalEngine", database.engine), database.script)
        return built.left_out if built else {}

    def _work_on_script(self, work: EngineQuery, kind: _Kind, call: Call) -> Execution:
        """Run a query on the database of a script, or of what the engine can build of it."""
        engine = cast("LocalEngine", work.engine)
        built = self._scripts.known(engine, work.script)
        if built is None:
            execution = None if changes_meaning(work.script) else self._work(work, kind, call)
            if execution is not None and (call.cancelled or not may_translate(execution.failure, work.script)):
                return execution
            trial = replace(work, create="", query="SELECT 1")
            built = self._scripts.build(
                engine,
                work.script,
                lambda text: self._work(replace(trial, script=text), kind, call).failure,
                work.limits.timeout_s,
            )
        # Nothing of it can be built: the script as it is says why.
        script = built.text or work.script
        return built.explained(self._work(replace(work, script=script), kind, call))

    def _work(self, work: EngineQuery, kind: _Kind, call: Call) -> Execution:
        worker = self._take(work, kind)
        done = self._work_in(worker, work, kind, call)
        is_early = done.seconds < _AT_ONCE_S or kind.login is not None
        if worker.lost and is_early and not (call.cancelled or self._closed):
            # Killed from outside, most likely while nothing ran in it, or cut off by a server that was started anew: a
            # query, which only reads, can be run again.
            done = self._work_in(self._fork(kind), work, kind, call)
        return done

    def _work_in(self, worker: Worker, work: EngineQuery, kind: _Kind, call: Call) -> Execution:
        good = False
        try:
            with self._lock:
                self._calls.add(call)
            call.take(worker)
            if work.changes:
                self._set_back(kind, work.schema)
            done = _cancelled() if call.cancelled or self._closed else worker.run(work)
            if call.cancelled:
                done = _cancelled()
            good = _can_go_on(worker, work, done)
        finally:
            call.take(None)
            with self._lock:
                self._calls.discard(call)
            self._give_back(worker, kind, good=good, schema=work.schema)
        return done

    def _take(self, work: EngineQuery, kind: _Kind) -> Worker:
        while True:
            with self._lock:
                idle = self._idle.get(kind)
                worker = _best(idle, work) if idle else None
            if worker is None:
                return self._fork(kind)
            # An idle worker may have been killed from outside; a query must not fail for that.
            if worker.waits and not _better_new(worker, work):
                return worker
            worker.end()

    def _fork(self, kind: _Kind) -> Worker:
        """A new worker, connected to the server of its kind."""
        try:
            worker = self.template(kind.engine).fork()
        except OSError:
            # It died since it was last looked at: once more with a new one.
            try:
                worker = self.template(kind.engine).fork()
            except OSError as error:
                raise ConfigError(f"no process to run SQL in could be started: {error}") from None
        if kind.login is not None:
            self._log_in(worker, kind.login, kind.memory_mib)
        return worker

    def _log_in(self, worker: Worker, login: ServerLogin, memory_mib: int) -> None:
        where = f"{login.user} at {login.host}:{login.port}"
        try:
            greeting = worker.login(login, memory_mib)
        except LoginError as error:
            worker.end()
            raise ScorerError(f"no connection as {where}: {error}") from None
        if greeting.faults and not self._unsafe:
            worker.end()
            raise ConfigError(
                f"databases: the role {where} may do more than read: {'; '.join(greeting.faults)}. Use a role with "
                "SELECT alone (docs/how-to/text2sql-servers.md says how to make one); --unsafe-sql allows this one"
            )

    def _give_back(self, worker: Worker, kind: _Kind, *, good: bool, schema: str = "") -> None:
        with self._lock:
            if good and worker.served < SERVED and not self._closed:
                self._idle.setdefault(kind, []).append(worker)
                return
        worker.end()
        backend = worker.greeting.backend if worker.greeting is not None else 0
        if not good and (backend or worker.numbers):
            # A server does not notice at once that nobody waits for a result any more.
            is_set_back = self._clear(kind, backend, schema, worker.numbers or ())
            if worker.numbers and not is_set_back:
                self._moved[kind.login, schema] = worker.numbers

    def _clear(self, kind: _Kind, backend: int, schema: str, numbers: Numbers) -> bool:
        """End a statement on the server by another worker, and set the schema's numbers back; whether that was done."""
        with suppress(ConfigError, ScorerError):
            other = self._fork(kind)
            try:
                return other.clear(backend, schema, numbers)
            finally:
                other.end()
        return False

    def _set_back(self, kind: _Kind, schema: str) -> None:
        """Set the numbers back that a killed statement moved, where that could not be done at once."""
        moved = self._moved.get((kind.login, schema))
        if moved is None:
            return
        if not self._clear(kind, 0, schema, moved):
            raise ScorerError(
                f"a statement that was ended has moved the numbers of {schema} (sequences, AUTO_INCREMENT), and they "
                "could not be set back"
            )
        del self._moved[kind.login, schema]

    def _drop(self, engine: EngineName) -> None:
        """Forget the idle workers of a template that died; they died with it."""
        with self._lock:
            kinds = [kind for kind in self._idle if kind.engine == engine]
            dropped = [worker for kind in kinds for worker in self._idle.pop(kind)]
        for worker in dropped:
            worker.close()

    def _prepare(self, engine: LocalEngine, file: str, memory_mib: int, tables: Tables) -> str:
        worker = self._fork(_Kind(engine))
        try:
            return worker.prepare(file, memory_mib, tables)
        finally:
            worker.end()


def _best(idle: list[Worker], work: EngineQuery) -> Worker:
    """Take the worker that has the database open; else one that has none open, or else the one not used for longest."""
    for database in ((work.file, work.script), None):
        for index in range(len(idle) - 1, -1, -1):
            if idle[index].keeps == database:
                return idle.pop(index)
    return idle.pop(0)


def _better_new(worker: Worker, work: EngineQuery) -> bool:
    """Whether a new worker costs less: it inherits an empty database, which this one would have to open."""
    return work.engine == "duckdb" and not work.file and worker.keeps != (work.file, work.script)


def _can_go_on(worker: Worker, work: EngineQuery, done: Execution) -> bool:
    """Whether a worker may run another query: after a result, and after failures that leave it as it was."""
    if worker.greeting is not None:
        return worker.keeps is not None
    # Where a query failed and the database is kept, nothing of it was run.
    if done.table is not None or worker.keeps is not None:
        return True
    # A connection of SQLite ends with its query, and what it may set for the whole process is denied. One that ran out
    # of memory or time is replaced; a new worker takes 5 ms of CPU. `pid` is 0 where the process ended.
    return work.engine == "sqlite" and worker.pid != 0 and done.failure is not None and done.failure.kind in _HARMLESS


def _cancelled() -> Execution:
    why = "ended before it was done: the sandbox was closed or the call cancelled"
    return Execution(None, SqlFailure("error", why))
