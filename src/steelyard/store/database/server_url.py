"""The parts of a PostgreSQL server's address: parsed from a URL, written as one, and as the settings of libpq.

A parser of our own, because libpq's refuses keys that are ours (`schema`), the standard library's takes a password with
`#` or `?` for something else, and SQLAlchemy's would be an import of 0.2 s of CPU in every worker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote

_URL: Final = re.compile(
    r"""[\w+]+://
    (?: (?P<username> [^:/]* ) (?: : (?P<password> [^@]* ) )? @ )?
    (?: \[ (?P<ipv6> [^/?]+ ) \] | (?P<host> [^/:?]+ ) )?
    (?: : (?P<port> [0-9]* ) )?
    (?: / (?P<database> [^?]* ) )?
    (?: \? (?P<query> .* ) )?""",
    re.VERBOSE,
)


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
        >>> ServerUrl.parse("postgresql://me@/evals?host=a:1&host=b:2").query
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
    """The settings of a query; several hosts, each with its port, become two lists as libpq takes them.

    Raises:
        ValueError: another setting is given twice.
    """
    pairs = parse_qsl(query)
    settings = dict(pairs)
    hosts = [value for key, value in pairs if key == "host"]
    if len(settings) + max(0, len(hosts) - 1) != len(pairs):
        raise ValueError("a setting is given twice")
    if len(hosts) > 1:
        parts = [host.rpartition(":") if ":" in host else (host, "", "") for host in hosts]
        settings["host"] = ",".join(host for host, _, _ in parts)
        if any(port for _, _, port in parts):
            settings["port"] = ",".join(port for _, _, port in parts)
    return settings
