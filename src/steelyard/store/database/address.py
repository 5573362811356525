"""The address of a store: a file, or a schema of a PostgreSQL database, parsed and shown without its password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.session.key_search import KeySearch
from steelyard.session.secrets import Secrets, references
from steelyard.store.database.server_url import ServerUrl

DEFAULT: Final = Path(".steelyard/steelyard.db")
SCHEMA: Final = "steelyard"
"""The schema of a database that holds the tables, where the address names no other."""

_SERVERS: Final = ("postgresql", "postgres")
_SECRET_KEYS: Final = frozenset({"password", "sslpassword"})
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


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
        return _real_path(text)
    scheme = text.partition("://")[0]
    kind, _, driver = scheme.partition("+")
    if kind == "sqlite":
        return _file_of(text)
    if not kind:
        raise ConfigError(f"{text!r} is not an address of a store")
    if kind not in _SERVERS:
        raise ConfigError(
            f"a store is a SQLite file or a PostgreSQL database, not {kind!r}{did_you_mean(kind, _SERVERS)}"
        )
    if driver not in {"", "psycopg"}:
        raise ConfigError(f"a store in PostgreSQL is written with psycopg, not {driver!r}: postgresql://user@host/db")
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


def _file_of(text: str) -> Path:
    """The file of `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    host, slash, path = text.partition("://")[2].partition("?")[0].partition("/")
    if host or not slash:
        raise ConfigError(f"{text!r} is not an address of a store")
    return _real_path(path)


def _real_path(path: str) -> Path:
    """Without links: SQLite names its log by this path too, and what lies beside the store must lie beside the log."""
    return Path(os.path.realpath(path))


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
