"""What the engines of servers share: a login, what a worker learns from it, and how it ends without a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from steelyard.sql.engines.engine import Engine
from steelyard.sql.server_address import ServerLogin

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


class ServerSession(Engine, Protocol):
    """An engine whose database is on a server.

    Attributes:
        tell: called with the numbers as they are, after the schema was locked and before a statement may change it.
    """

    tell: Callable[[Numbers], None]

    def login(self, login: ServerLogin) -> Greeting:
        """Connect, and look at what the role may do.

        Raises:
            LoginError: why the server cannot be reached or does not let this role in.
        """

    def cancel(self, backend: int) -> None:
        """End the statement of another connection of the same role."""

    def restore(self, schema: str, numbers: Numbers) -> None:
        """Set the numbers of a schema back, as soon as nothing changes it any more.

        Raises:
            SchemaHeld: something still does after `RESTORE_S`.
            SqlStop: the role may not.
        """
