"""The only way in which SQL of others is run: worker processes that are held by engine and operating system."""

from __future__ import annotations

from typing import Self

from steelyard.sql.results import Database, EngineName, Execution, SqlLimits


class Sandbox:
    """A pool of warm workers; one query at a time in each, on a database of its own.

    Args:
        workers: at most so many at once; 0 is one per core, at least two.
        unsafe: run engines that cannot be held here although they cannot.
    """

    def __init__(self, *, workers: int = 0, unsafe: bool = False) -> None:
        self._workers = workers
        self._unsafe = unsafe

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self, engine: EngineName) -> None:
        """Refuse an engine that is not installed, or that cannot be held here unless `unsafe`.

        Raises:
            ConfigError: which, why and what to do.
        """
        raise NotImplementedError

    def run(self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()) -> Execution:
        """Run one reading statement; blocks. Whatever the statement does is in the Execution, nothing is raised for it.

        Args:
            database: what it runs on.
            query: exactly one statement that reads.
            create: one CREATE statement to run before it, on the scratch database.
            limits: for each statement.

        Raises:
            ConfigError: the file does not exist or is no database, or the engine is refused.
        """
        raise NotImplementedError

    async def arun(
        self, database: Database, query: str, *, create: str = "", limits: SqlLimits = SqlLimits()
    ) -> Execution:
        """The same as `run`, without blocking the event loop."""
        raise NotImplementedError

    def close(self) -> None:
        """End the workers and delete the copies; the sandbox can be used again and starts anew."""
