"""The only way in which SQL of others is run: worker processes that are held by engine and operating system."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, Self

from steelyard.errors import ConfigError
from steelyard.sql.copies import Copies
from steelyard.sql.engine import Work
from steelyard.sql.processes import Template, Worker
from steelyard.sql.results import Database, EngineName, Execution, SqlFailure, SqlLimits

SERVED: Final = 200
"""Queries after which a worker is replaced: whatever leaks, leaks no further."""


class Sandbox:
    """A pool of warm workers; one query at a time in each, on a database of its own.

    Several threads and event loops may use one sandbox.

    Args:
        workers: at most so many at once; 0 is one per core, at least two.
        unsafe: run engines that cannot be held here although they cannot.
    """

    def __init__(self, *, workers: int = 0, unsafe: bool = False) -> None:
        if workers < 0:
            raise ConfigError(f"workers must be 0 or more, not {workers}")
        self._workers = workers or max(2, os.cpu_count() or 1)
        self._unsafe = unsafe
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._workers)
        self._pool: _Pool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self, engine: EngineName) -> None:
        """Refuse an engine that is not installed, or that cannot be held here unless `unsafe`.

        Raises:
            ConfigError: which, why and what to do.
        """
        self._opened().template(engine)

    def run(self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()) -> Execution:
        """Run one reading statement; blocks. Whatever the statement does is in the Execution, nothing is raised for it.

        Args:
            database: what it runs on.
            query: exactly one statement that reads.
            create: one CREATE statement to run before it, on the scratch database.
            limits: for all of it together: script, create and query share `timeout_s`.

        Raises:
            ConfigError: the file does not exist or is no database, or the engine is refused.
        """
        return self._run(database, query, create, limits, _Call())

    async def arun(
        self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()
    ) -> Execution:
        """The same as `run`, without blocking the event loop. Cancelled, it ends the query's worker."""
        call = _Call()
        loop = asyncio.get_running_loop()
        executor = self._opened().executor
        try:
            return await loop.run_in_executor(executor, self._run, database, query, create, limits, call)
        except asyncio.CancelledError:
            call.cancel()
            raise

    def close(self) -> None:
        """End the workers and delete the copies; the sandbox can be used again and starts anew."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _run(self, database: Database, query: str, create: str, limits: SqlLimits, call: _Call) -> Execution:
        limits.check()
        if database.file is not None and database.script:
            raise ConfigError("a database is a file or the work of a script, not both")
        pool = self._opened()
        pool.template(database.engine)
        with self._slots, pool.file(database) as file:
            work = Work(database.engine, file, database.script, create, query, limits)
            return pool.run(work, call)

    def _opened(self) -> _Pool:
        with self._lock:
            # After a fork of the caller's process the workers are its parent's, which goes on using them.
            if self._pool is None or self._pool.owner != os.getpid():
                self._pool = _Pool(self._workers, unsafe=self._unsafe)
            return self._pool


class _Call:
    """One run, which another thread may cancel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self.cancelled = False

    def take(self, worker: Worker | None) -> None:
        with self._lock:
            self._worker = worker

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._worker is not None:
                self._worker.interrupt()


class _Pool:
    """What is open: a template for each engine, idle workers, copies, and threads for `arun`."""

    def __init__(self, workers: int, *, unsafe: bool) -> None:
        self.owner = os.getpid()
        self.executor = ThreadPoolExecutor(workers, "steelyard-sql")
        self._unsafe = unsafe
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._templates: dict[EngineName, Template] = {}
        self._idle: dict[tuple[EngineName, int], list[Worker]] = {}
        self._calls: set[_Call] = set()
        self._closed = False
        self._copies = Copies(self._prepare)

    def template(self, engine: EngineName) -> Template:
        """The template of an engine, started where there is none."""
        with self._starting:
            known = self._templates.get(engine)
            if known is None or not known.lives:
                if known is not None:
                    known.close()
                    self._drop(engine)
                known = Template(engine, self._copies.folder)
                self._templates[engine] = known
        if known.missing:
            raise ConfigError(f'{engine} is not installed ({known.missing}): pip install "steelyard[{engine}]"')
        if known.refusal and not self._unsafe:
            raise ConfigError(
                f"{engine} cannot be held to its limits here: {known.refusal}. Statements would run unprotected; "
                "--unsafe-sql allows that"
            )
        return known

    @contextmanager
    def file(self, database: Database) -> Iterator[str]:
        """The path of the copy that a query runs on; "" for a scratch database."""
        if database.file is None:
            yield ""
        else:
            with self._copies.lease(database.engine, database.file) as path:
                yield path

    def run(self, work: Work, call: _Call) -> Execution:
        worker = self._take(work)
        call.take(worker)
        with self._lock:
            self._calls.add(call)
        try:
            done = Execution(None, SqlFailure("error", "cancelled")) if call.cancelled else worker.run(work)
        finally:
            call.take(None)
            with self._lock:
                self._calls.discard(call)
        self._give_back(worker, work, good=done.table is not None and not call.cancelled)
        return done

    def close(self) -> None:
        with self._lock:
            self._closed = True
            calls, idle = tuple(self._calls), [worker for workers in self._idle.values() for worker in workers]
            self._idle.clear()
        for call in calls:
            call.cancel()
        for worker in idle:
            worker.end()
        with self._starting:
            for template in self._templates.values():
                template.close()
            self._templates.clear()
        self.executor.shutdown(wait=False)
        self._copies.close()

    def _take(self, work: Work) -> Worker:
        key = (work.engine, work.limits.memory_mib)
        with self._lock:
            idle = self._idle.get(key)
            if idle:
                return idle.pop()
        try:
            return self.template(work.engine).fork()
        except OSError:
            # It died since it was last looked at: once more with a new one.
            return self.template(work.engine).fork()

    def _give_back(self, worker: Worker, work: Work, *, good: bool) -> None:
        with self._lock:
            if good and worker.served < SERVED and not self._closed:
                self._idle.setdefault((work.engine, work.limits.memory_mib), []).append(worker)
                return
        worker.end()

    def _drop(self, engine: EngineName) -> None:
        """Forget the idle workers of a template that died; they died with it."""
        with self._lock:
            keys = [key for key in self._idle if key[0] == engine]
            dropped = [worker for key in keys for worker in self._idle.pop(key)]
        for worker in dropped:
            worker.pid = 0
            worker.end()

    def _prepare(self, engine: EngineName, file: str) -> str:
        if engine != "sqlite":
            return ""
        worker = self.template(engine).fork()
        try:
            return worker.prepare(file)
        finally:
            worker.end()
