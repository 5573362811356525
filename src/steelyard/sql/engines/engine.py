"""What an engine is to the worker that runs it. An engine's module is imported in workers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steelyard.sql.results import EngineName, FailureKind, Part, ResultTable, SqlLimits


@dataclass(frozen=True, slots=True)
class Work:
    """One query with all that it needs.

    Args:
        engine: which.
        file: path of the private copy; "" is a scratch database in memory.
        script: builds the scratch database; any number of statements, of a dataset.
        create: one CREATE statement of the model's that is run before the query; "" is none.
        query: one reading statement.
        limits: of each statement.
    """

    engine: EngineName
    file: str
    script: str
    create: str
    query: str
    limits: SqlLimits


class SqlStop(Exception):
    """Raised by an engine: why there is no result; it becomes a SqlFailure."""

    def __init__(self, kind: FailureKind, message: str, part: Part = "query") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.part = part


class Engine(Protocol):
    """An engine inside a worker process."""

    def refusal(self) -> str:
        """Why this build cannot be held to the limits; "" where it can."""

    def execute(self, work: Work) -> ResultTable:
        """Build the database, run `create` and the query, and fetch the result within the limits.

        Nothing is left open. The caller has set the limits of the operating system, and kills the process after the
        deadline.

        Raises:
            SqlStop: there is no result.
        """
