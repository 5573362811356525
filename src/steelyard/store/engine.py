"""Opening a store: which database it is in, making its tables, and whether this version can read it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Table, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from steelyard.errors import ConfigError, StoreError
from steelyard.store import schema
from steelyard.store.address import Address, locate
from steelyard.store.backend import Backend, Durability


def open_backend(where: str | Path | None, *, durability: Durability = "normal") -> Backend:
    """The database of a store; nothing is connected to yet.

    Raises:
        ConfigError: an address that cannot be meant, or a driver that is not installed.
    """
    found = locate(where)
    if isinstance(found, Address):
        from steelyard.store.postgres import PostgresSchema

        return PostgresSchema(found, durability)
    from steelyard.store.sqlite import SqliteFile

    return SqliteFile(found, durability)


def exists(where: str | Path | None) -> bool:
    """Whether there is a store that could be opened, finished or not."""
    return open_backend(where).exists()


def create(backend: Backend) -> None:
    """Make the tables of an empty store; leave a filled one alone.

    Raises:
        StoreError: the database cannot hold one.
    """
    with writing(backend) as connection, connection.begin():
        backend.check(connection)
        if backend.tables(connection):
            return
        backend.exclude_makers(connection)
        if not backend.tables(connection):
            schema.metadata.create_all(connection, checkfirst=False)
            connection.execute(schema.about.insert(), {"name": "schema", "value": str(schema.VERSION)})


def complete(backend: Backend) -> None:
    """Give a store of an earlier version the tables that came later; an earlier version still reads it."""
    with backend.engine.connect() as connection:
        known = backend.tables(connection)
    if not _missing(known):
        return
    with writing(backend) as connection, connection.begin():
        backend.exclude_makers(connection)
        schema.metadata.create_all(connection, tables=_missing(backend.tables(connection)), checkfirst=False)


def check(backend: Backend) -> None:
    """Refuse what this version cannot read.

    Raises:
        StoreError: with both version numbers.
        ConfigError: it has no tables: whoever was making a store of it was killed before they were there.
    """
    where = backend.where
    try:
        with backend.engine.connect() as connection:
            tables = backend.tables(connection)
            if not tables:
                what = "file" if isinstance(where, Path) else "schema"
                raise ConfigError(f"there is no store at {where} yet, the {what} is empty: run something first")
            if "about" not in tables:
                raise StoreError(f"{where} is a database, but not a store of ours")
            version = connection.execute(select(schema.about.c.value).where(schema.about.c.name == "schema")).scalar()
    except (SQLAlchemyError, UnicodeDecodeError) as error:  # what SQLite says of a damaged file may quote it
        raise StoreError(f"{where} cannot be opened: {cause_of(error, where)}") from error
    if version != str(schema.VERSION):
        raise StoreError(f"{where} has schema {version}, this version reads {schema.VERSION}")


def writing(backend: Backend) -> Connection:
    """A connection that writes."""
    return backend.engine.connect().execution_options(**backend.writing)


def cause_of(error: BaseException, where: Path | Address) -> str:
    """What the database says, on one line and without a password."""
    said = str((error.orig if isinstance(error, DBAPIError) else None) or error)
    line = " ".join(said.split())
    return where.without_password(line) if isinstance(where, Address) else line


def _missing(known: set[str]) -> list[Table]:
    return [table for table in schema.LATER if table.name not in known]
