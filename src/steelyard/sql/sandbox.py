"""Runs untrusted SQL in worker processes, which the engine's settings and the operating system restrict."""

# Why it is so, and what was rejected: docs/decisions/sql-sandbox.md

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from steelyard.errors import expect_number
from steelyard.sql.results import Database, EngineName, Execution, SqlLimits
from steelyard.sql.server_address import Server

if TYPE_CHECKING:
    from steelyard.sql.workers.pool import Pool

Permit = Literal["commands", "code"]


def permits_of(*, allow_commands: bool = False, unsafe_code: bool = False) -> frozenset[Permit]:
    """What two options allow.

    >>> sorted(permits_of(allow_commands=True))
    ['commands']
    """
    options: dict[Permit, bool] = {"commands": allow_commands, "code": unsafe_code}
    return frozenset(name for name, is_given in options.items() if is_given)


class Sandbox:
    """A pool of warm workers; one query at a time in each, on a database of its own.

    Several threads and event loops may use one sandbox.

    Args:
        workers: at most so many at once; 0 is one per core, at least two.
        unsafe: also run engines that cannot be confined on this machine.
        permits: what this person has allowed further: `commands` of scorers, `code` of replies that is not confined.
        resolve: replaces the references `${NAME}` in the address of a server by their values.
    """

    def __init__(
        self,
        *,
        workers: int = 0,
        unsafe: bool = False,
        permits: Collection[Permit] = (),
        resolve: Callable[[str], str] = str,
    ) -> None:
        self.permits = frozenset(permits)
        expect_number("workers", workers, 0, whole=True)
        self._workers = workers or max(2, os.cpu_count() or 1)
        self._unsafe = unsafe
        self._resolve = resolve
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._end: Callable[[], object] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self, engine: EngineName) -> None:
        """Refuse an engine that is not installed, or, unless `unsafe`, one that cannot be confined here.

        Raises:
            ConfigError: which, why and what to do.
        """
        self._opened().template(engine)

    def check_server(self, server: Server) -> str:
        """Connect to a server and look at its role; return the product, `PostgreSQL`, `MySQL` or `MariaDB`.

        Raises:
            ConfigError: it cannot be reached or does not let the role in, or, unless `unsafe`, the role may do more
                than read.
        """
        return self._opened().check_server(server)

    def run(self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()) -> Execution:
        """Run one reading statement; blocks. Whatever the statement does is in the Execution, nothing is raised for it.

        Args:
            database: what it runs on.
            query: exactly one statement that reads.
            create: one CREATE statement to run before it, on the scratch database.
            limits: for all of it together: script, create and query share `timeout_s`.

        Raises:
            ConfigError: the file does not exist or is not a database, or the engine or the role is refused.
            ScorerError: the server cannot be reached any more.
        """
        pool = self._opened()
        return pool.run(database, query, create, limits, pool.new_call())

    async def arun(
        self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()
    ) -> Execution:
        """The same as `run`, without blocking the event loop. Cancelled, it ends the query's worker."""
        pool = self._opened()
        call = pool.new_call()
        work = partial(pool.run, database, query, create, limits, call)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool.executor, work)
        except asyncio.CancelledError:
            call.cancel()
            raise

    def left_out(self, database: Database) -> Mapping[str, str]:
        """Tables and views of a script that its engine cannot build, by name, with the reason.

        Args:
            database: one on which a query was run; a query that needs one of them fails as the `script` part does.
        """
        return self._opened().left_out(database)

    def close(self) -> None:
        """End the workers and delete the copies; the next query starts new workers."""
        with self._lock:
            self._pool, end = None, self._end
        end()

    def _opened(self) -> Pool:
        # 15 ms to import, and every run has a sandbox, while few execute anything.
        from steelyard.sql.workers.pool import Pool

        with self._lock:
            # After a fork of the caller's process the workers are its parent's, which goes on using them.
            if self._pool is None or self._pool.owner != os.getpid():
                self._pool = Pool(self._workers, unsafe=self._unsafe, resolve=self._resolve)
                # Also where nobody closes it, and at the end of the program.
                self._end = weakref.finalize(self, self._pool.close)
            return self._pool
