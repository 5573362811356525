"""The address of a store: a file, or a schema of a PostgreSQL database, parsed and shown without its password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from steelyard.errors import ConfigError, did_you_mean
from steelyard.session.key_search import KeySearch
from steelyard.session.secrets import Secrets, references

DEFAULT: Final = Path(".steelyard/steelyard.db")
SCHEMA: Final = "steelyard"
"""The schema of a database that holds the tables, where the address names no other."""

_SERVERS: Final = ("postgresql", "postgres")
_OTHER_FORM: Final = re.compile(r"\b(?:dbname|host|hostaddr|password|user)\s*=|^postgres\w*:(?!//)")
"""An address as libpq writes it too, or one with a slash too few."""
_SECRET_KEYS: Final = frozenset({"password", "sslpassword"})
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_URL: Final = re.compile(
    r"""[\w+]+://
    (?: (?P<username> [^:/]* ) (?: : (?P<password> [^@]* ) )? @ )?
    (?: \[ (?P<ipv6> [^/?]+ ) \] | (?P<host> [^/:?]+ ) )?
    (?: : (?P<port> [0-9]* ) )?
    (?: / (?P<database> [^?]* ) )?
    (?: \? (?P<query> .* ) )?""",
    re.VERBOSE,
)


class Address(str):
    """A PostgreSQL store's address without its password, as a string; `url` holds the complete address.

    It is a text, so that it can be passed on (`evaluate(..., store=store.path)`) and printed.
    """

    __slots__ = ("schema", "url")

    url: ServerUrl
    schema: str

    @classmethod
    def of(cls, url: ServerUrl, schema: str) -> Address:
        """The address of a schema in a database."""
        query = {key: url.query[key] for key in ("host", "port") if key in url.query}
        query |= {} if schema == SCHEMA else {"schema": schema}
        address = cls(replace(url, password=None, query=query).without_password)
        address.url, address.schema = url, schema
        return address

    def without_password(self, text: str) -> str:
        """`text`, a message of the server or its driver, without the password that may be quoted in it."""
        for password in filter(None, _passwords(self.url)):
            text = text.replace(password, "[password]")
            text = KeySearch({"password": password}).mask_text(text)
        return text


def locate(where: str | Path | None) -> Path | Address:
    """Parse the address of a store.

    Args:
        where: a file's path; `postgresql://user@host:5432/database`, with `?schema=name` for a schema other than
            `steelyard` and whatever else libpq understands; None for `.steelyard/steelyard.db` here. `${NAME}` in it
            stands for the value of that environment variable.

    Raises:
        ConfigError: an address that is not valid, or a name without a value. No message quotes a password.
    """
    if isinstance(where, Address):
        return where
    text = str(where or DEFAULT)
    if "://" not in text:
        if _OTHER_FORM.search(text) and not os.path.lexists(text):
            # Not quoted: it may hold a password, which would become the name of a file.
            raise ConfigError(
                "a store is the path of a SQLite file or postgresql://user@host:5432/database, and the address given "
                "has another form"
            )
        # Without links: SQLite names its log by this path too, and what lies beside the store must lie beside the log.
        return Path(os.path.realpath(text))
    scheme = text.partition("://")[0]
    if scheme not in _SERVERS:
        raise ConfigError(
            f"a store is the path of a SQLite file or the address of a PostgreSQL database, not {scheme}://"
            f"{did_you_mean(scheme, _SERVERS)}"
        )
    return _server_of(text)


def has_password(where: str | Path | None) -> bool:
    """Whether an address holds a password in clear text: other users of the machine see it in the list of processes.

    An `Address` holds the value of each reference that it was parsed from.

    >>> has_password("postgresql://me:abc@h/db"), has_password("postgresql://me:${PW}@h/db"), has_password("a.db")
    (True, False, False)
    """
    if isinstance(where, Address):
        url = where.url
    else:
        text = str(where or "")
        if not text.startswith(_SERVERS):
            return False
        try:
            url = ServerUrl.parse(text)
        except ValueError:
            return False
    return any(password and not list(references(password)) for password in _passwords(url))


def _passwords(url: ServerUrl) -> list[str]:
    """The passwords in an address, "" for one that it does not have."""
    return [url.password or "", *(url.query.get(key, "") for key in _SECRET_KEYS)]


def _server_of(text: str) -> Address:
    try:
        parsed = ServerUrl.parse(text)
    except ValueError:
        raise ConfigError(
            "the address of the store is not that of a PostgreSQL database: postgresql://user@host:5432/database"
        ) from None
    url = _resolved(parsed)
    query = dict(url.query)
    schema = query.pop("schema", SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ConfigError(
            f"schema={schema!r}: the name of a schema has at most 63 small letters, digits and _, no digit first"
        )
    if "password" in query:
        url = replace(url, password=query.pop("password"))
    return Address.of(replace(url, query=query), schema)


def _resolved(url: ServerUrl) -> ServerUrl:
    """The address with the values of its references, filled in after it was parsed, so that a value may hold an @."""
    parts: Mapping[str, str | None] = {
        "username": url.username, "password": url.password, "host": url.host, "database": url.database
    }  # fmt: skip
    names = set(references([*filter(None, parts.values()), *url.query.values()]))
    if not names:
        return url
    try:
        secrets = Secrets(names, {})
    except ConfigError as error:
        message = error.message.replace(" or put it into .env", "")  # a configuration has one, a store has not
        raise ConfigError(f"the address of the store: {message}") from error
    resolved = {key: secrets.resolve(part) for key, part in parts.items() if part is not None}
    query = {key: secrets.resolve(value) for key, value in url.query.items()}
    return replace(url, **resolved, query=query)  # type: ignore[arg-type]  # the keys are those of the address


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The parts of an address; None for one that it does not have.

    Args:
        username: who connects.
        password: in clear text.
        host: a name or a number.
        port: of the host.
        database: its name.
        query: further settings, of libpq or ours.
    """

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    host: str | None = None
    port: int | None = None
    database: str | None = None
    query: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, text: str) -> ServerUrl:
        """Read `postgresql://user:password@host:5432/database?key=value`; every part may be left out.

        >>> ServerUrl.parse("postgresql://me@[::1]:5433/evals").host
        '::1'
        >>> ServerUrl.parse("postgresql://me@/evals?host=a,b&port=1,2").query
        {'host': 'a,b', 'port': '1,2'}

        Raises:
            ValueError: it is not valid.
        """
        match = _URL.fullmatch(text)
        if match is None:
            raise ValueError("not the address of a server")
        parts = match.groupdict()
        names = ("username", "password", "database")
        username, password, database = (None if parts[name] is None else unquote(parts[name]) for name in names)
        port = int(parts["port"]) if parts["port"] else None
        return cls(username, password, parts["ipv6"] or parts["host"], port, database, _settings(parts["query"] or ""))

    @property
    def without_password(self) -> str:
        """The address as a text that may be shown; settings of `query` may still hold secrets."""
        return self._text("")

    @property
    def complete(self) -> str:
        """The address as a text, with its password."""
        return self._text("" if self.password is None else f":{quote(self.password, safe=' +')}")

    def libpq(self) -> dict[str, str]:
        """The settings by their names in libpq, those that are not given left out."""
        parts = {
            "user": self.username, "password": self.password, "host": self.host, "port": self.port,
            "dbname": self.database,
        }  # fmt: skip
        return {name: str(value) for name, value in parts.items() if value} | dict(self.query)

    def _text(self, password: str) -> str:
        user = "" if self.username is None else f"{quote(self.username, safe=' +')}{password}@"
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host or ""
        port = "" if self.port is None else f":{self.port}"
        database = "" if self.database is None else f"/{quote(self.database, safe=' +/')}"
        query = "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in sorted(self.query.items()))
        return f"postgresql://{user}{host}{port}{database}{'?' if query else ''}{query}"


def _settings(query: str) -> dict[str, str]:
    pairs = parse_qsl(query)
    settings = dict(pairs)
    if len(settings) < len(pairs):
        raise ValueError("a setting is given twice")
    return settings
