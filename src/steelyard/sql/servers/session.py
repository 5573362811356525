"""What the engines of servers share: a login, what a worker learns from it, and how it ends without a connection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.sql.engines.engine import EngineQuery, SqlStop
from steelyard.sql.results import ResultTable
from steelyard.sql.server_address import ServerEngine, ServerLogin
from steelyard.sql.servers.statement_check import check_change, check_reader

FIRST_ROWS: Final = 64
"""Rows of the first step in which a result is fetched."""
MOST_FAULTS: Final = 4
"""Reasons that are given at most why a role is not one that only reads."""
MOST_MESSAGE: Final = 500
"""Characters of a server's message."""
CONNECT_S: Final = 10
"""Seconds in which a server must take a connection."""
IDLE_S: Final = 600
"""Seconds after which a server may end a connection that nothing was asked on."""
LOST: Final = 3
"""Exit code of a worker whose connection was lost."""


LOCK_SHARE: Final = 10
"""How many times its own limit a changing statement waits for another process to leave the schema."""
RESTORE_S: Final = 60
"""Seconds in which a server must have rolled back a statement that was killed."""

Numbers = Sequence[Sequence[Any]]
"""What a rollback does not set back: a name with what the server has drawn, of each sequence or AUTO_INCREMENT."""


class SchemaHeld(Exception):
    """Another process changes the schema; this says nothing about a statement."""


class ConnectionLost(Exception):
    """The server has ended the connection: the worker ends as well, and another one connects anew."""


class LoginError(Exception):
    """A connection was refused; its message never holds the password."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a worker learned when it connected.

    Args:
        backend: the number of the connection on the server, by which another one can end its statement.
        product: PostgreSQL, MySQL or MariaDB.
        faults: why the role is not one that only reads; none where it is.
    """

    backend: int
    product: str
    faults: tuple[str, ...] = ()


class ServerSession(ABC):
    """An engine whose database is on a server, by one connection; what those of all servers share.

    Attributes:
        keeps_database: whether the connection is as it was before the last statement.
        tell: called with the numbers as they are, after the schema was locked and before a statement may change it.
    """

    def __init__(self) -> None:
        self._connection: Any = None
        self._writes_to = ""
        self.keeps_database = False
        self.tell: Callable[[Numbers], None] = lambda _: None

    def refusal(self) -> str:
        """Nothing: what is enforced depends on the role, which `login` looks at."""
        return ""

    def warm(self) -> None:  # noqa: B027  # an engine has it, and here there is nothing to do
        """Nothing: the driver is imported, and a connection cannot be inherited."""

    @abstractmethod
    def login(self, login: ServerLogin) -> Greeting:
        """Connect, and look at what the role may do.

        Raises:
            LoginError: why the server cannot be reached or does not let this role in.
        """

    @abstractmethod
    def execute(self, work: EngineQuery) -> ResultTable:
        """Run the query in a transaction of its own, then reset the session; see the protocol `Engine`."""

    @abstractmethod
    def cancel(self, backend: int) -> None:
        """End the statement of another connection of the same role."""

    @abstractmethod
    def restore(self, schema: str, numbers: Numbers) -> None:
        """Set the numbers of a schema back, as soon as nothing changes it any more.

        Raises:
            SchemaHeld: something still does after `RESTORE_S`.
            SqlStop: the role may not.
        """

    def _checked(self, work: EngineQuery, engine: ServerEngine, functions: Collection[str]) -> tuple[str, bool]:
        """The statement that is sent, and whether it returns rows of tables."""
        if work.create.strip():
            raise SqlStop("denied", "denied: CREATE; a database on a server is only read", "create")
        if not work.changes:
            return check_reader(work.query, engine, functions)
        if not self._writes_to or self._writes_to != work.schema:
            raise SqlStop("denied", "denied: writing; data are changed only in a schema made for that (`writes: true`)")
        return check_change(work.query, engine, functions), False
