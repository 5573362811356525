"""Connections to a store: where it is, how SQLite is set up, and whether this version can read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, select
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from steelyard.errors import ConfigError, StoreError
from steelyard.store import schema

DEFAULT: Final = Path(".steelyard/steelyard.db")
_BUSY_S: Final = 30.0
"""How long a writer waits for another process's transaction, which takes milliseconds."""

Durability = Literal["normal", "full"]


def locate(where: str | Path | None) -> URL:
    """The address of a store: a file's path, a database URL, or None for `.steelyard/steelyard.db` here.

    Raises:
        ConfigError: a URL of a database that is not supported.
    """
    text = str(where or DEFAULT)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise ConfigError(f"{text!r} is no address of a store") from error
    if url.get_backend_name() != "sqlite":
        raise ConfigError(f"a store is a SQLite file, not {url.get_backend_name()!r}")
    return url


def file_of(url: URL) -> Path:
    """The database file."""
    return Path(url.database or "")


def connect(url: URL, *, durability: Durability = "normal") -> Engine:
    """An engine whose transactions begin as `begin` among the execution options says (deferred by default)."""
    path = file_of(url)
    written = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    sealed = path.is_file() and not written and not path.with_name(f"{path.name}-wal").exists()
    options: dict[str, Any] = {"timeout": _BUSY_S, "check_same_thread": False}
    if sealed:
        # We cannot write it and nobody else has it open (a log would stand beside it), so nobody has to be waited for;
        # without this SQLite wants to make files beside it.
        url = url.set(database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})
    engine = create_engine(url, poolclass=NullPool, connect_args=options)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None
        for pragma in (
            *(() if sealed else ("journal_mode=WAL",)),
            f"synchronous={'FULL' if durability == 'full' else 'NORMAL'}",
            "journal_size_limit=8388608",
            "trusted_schema=OFF",
            "temp_store=MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('begin', 'DEFERRED')}")

    return engine


def create(engine: Engine) -> None:
    """Make the tables of an empty store; leave a filled one alone.

    Raises:
        StoreError: it is a store of another version, or no store at all.
    """
    with engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
        if not _tables(connection):
            schema.metadata.create_all(connection, checkfirst=False)
            connection.execute(schema.about.insert(), {"name": "schema", "value": str(schema.VERSION)})


def complete(engine: Engine) -> None:
    """Give a store of an earlier version the tables that came later; an earlier version still reads it."""
    later = [schema.stage, schema.stopping, schema.note, schema.label]
    with engine.connect() as connection:
        known = _tables(connection)
    missing = [table for table in later if table.name not in known]
    if not missing:
        return
    with engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
        schema.metadata.create_all(connection, tables=missing)


def check(engine: Engine) -> None:
    """Refuse what this version cannot read.

    Raises:
        StoreError: with both version numbers.
        ConfigError: it has no tables: whoever was making a store of it was killed before they were there.
    """
    path = engine.url.database
    try:
        with engine.connect() as connection:
            tables = _tables(connection)
            if not tables:
                raise ConfigError(f"there is no store at {path} yet, the file is empty: run something first")
            if "about" not in tables:
                raise StoreError(f"{path} is a database, but not a store of ours")
            version = connection.execute(select(schema.about.c.value).where(schema.about.c.name == "schema")).scalar()
    except SQLAlchemyError as error:
        raise StoreError(f"{path} cannot be opened: {getattr(error, 'orig', error)}") from error
    if version != str(schema.VERSION):
        raise StoreError(f"{path} has schema {version}, this version reads {schema.VERSION}")


def _tables(connection: Connection) -> set[str]:
    rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {str(name) for (name,) in rows}
