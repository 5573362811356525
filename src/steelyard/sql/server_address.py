"""Addresses of database servers; a password stays a reference `${NAME}` until a worker connects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from steelyard.errors import ConfigError, did_you_mean

ServerEngine = Literal["postgres", "mysql"]

_SCHEMES: Final[Mapping[str, ServerEngine]] = MappingProxyType(
    {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
)
_PORTS: Final[Mapping[ServerEngine, int]] = MappingProxyType({"postgres": 5432, "mysql": 3306})
_OPTIONS: Final[Mapping[ServerEngine, tuple[str, ...]]] = MappingProxyType(
    {"postgres": ("sslmode", "sslrootcert"), "mysql": ("ssl_ca",)}
)
"""Parameters of an address; all others could change what the session promises, or name a file with a password."""
_EXAMPLE: Final = 'such as "postgresql://reader:${PASSWORD}@host:5432/shop"'


def is_address(text: object) -> bool:
    """Whether a text is the address of a server that SQL can be run on.

    >>> is_address("mysql://me@host/shop"), is_address("databases/shop")
    (True, False)
    """
    return isinstance(text, str) and text.partition("://")[0].lower() in _SCHEMES and "://" in text


@dataclass(frozen=True, slots=True)
class Server:
    """A database on a PostgreSQL, MySQL or MariaDB server.

    Args:
        url: `postgresql://user:${PASSWORD}@host:port/database`, or `mysql://` or `mariadb://` likewise; what is
            secret is a reference. `?sslmode=` and `sslrootcert=` are PostgreSQL's, `?ssl_ca=` is MySQL's.
        schema: where names without one are looked up: a schema of PostgreSQL, a database of MySQL; empty is what the
            address and the role say.
        writes: whether the role may change the data of `schema`, which is made for that, for `statements: any`:
            each statement is rolled back.
    """

    url: str
    schema: str = ""
    writes: bool = False

    @property
    def engine(self) -> ServerEngine:
        """Which kind of server it is."""
        return _SCHEMES[self.url.partition("://")[0].lower()]

    @property
    def title(self) -> str:
        """Host, database and schema, as messages name it; nothing secret."""
        parts = urlsplit(self.url)
        place = f"{parts.hostname}{parts.path.rstrip('/')}"
        return f"{place} (schema {self.schema})" if self.schema else place

    @property
    def database(self) -> str:
        """The database that the address names; "" for none."""
        return unquote(urlsplit(self.url).path).strip("/")

    def check(self) -> None:  # noqa: C901  # one rule after another
        """Check the form of the address; nothing is connected.

        Raises:
            ConfigError: what is wrong with it; a password in it is never shown.
        """
        if not is_address(self.url):
            raise ConfigError(f"url: expected the address of a PostgreSQL or MySQL server, {_EXAMPLE}")
        parts = urlsplit(self.url)
        if not _has_port(parts):
            raise ConfigError("url: the port is not a number from 1 to 65535")
        named = {"host": parts.hostname, "user": parts.username, "database": self.database or self.engine == "mysql"}
        for what, value in named.items():
            if not value:
                raise ConfigError(f"url: the address names no {what}, {_EXAMPLE}")
        if parts.password and "${" not in parts.password:
            raise ConfigError('url: a password is not written out, as it would be stored: write "${PASSWORD}"')
        for name, _ in parse_qsl(parts.query, keep_blank_values=True):
            if name not in _OPTIONS[self.engine]:
                raise ConfigError(f"url: there is no parameter {name!r}{did_you_mean(name, _OPTIONS[self.engine])}")
        if "\0" in self.schema:
            raise ConfigError("schema: the name holds a NUL character")
        if self.writes and not self.schema:
            raise ConfigError("writes: name the schema that was made for it, schema: ...")

    def login(self, resolve: Callable[[str], str]) -> ServerLogin:
        """What a worker connects with.

        Args:
            resolve: replaces the references in a text by their values.

        Raises:
            ConfigError: the address is malformed, or a reference has no value.
        """
        self.check()
        parts = urlsplit(self.url)
        user, password = (resolve(unquote(text or "")) for text in (parts.username, parts.password))
        if "${" in password:
            raise ConfigError(f"{self.title}: {password} has no value: set it in the environment or put it into .env")
        options = tuple(parse_qsl(parts.query, keep_blank_values=True))
        port = parts.port or _PORTS[self.engine]
        return ServerLogin(
            self.engine, parts.hostname or "", port, user, self.database, options, password, self.schema * self.writes
        )


def _has_port(parts: SplitResult) -> bool:
    """Whether the port of an address, if it names one, is a number in the range of ports."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """An address whose references are resolved; its repr hides the password.

    `writes_to` is the schema that the role may change; "" for a role that only reads.
    """

    engine: ServerEngine
    host: str
    port: int
    user: str
    database: str
    options: tuple[tuple[str, str], ...] = ()
    password: str = field(default="", repr=False)
    writes_to: str = ""

    def without_password(self, text: str) -> str:
        """A message of a server or driver, in which the password would be shown as stars."""
        return text.replace(self.password, "***") if self.password else text
