"""Looks into a store, or breaks it, past the library: with the database's own driver."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from steelyard.store.database.address import Address, locate


@contextlib.contextmanager
def connection_to(where):
    """A connection of the driver, which commits each statement."""
    address = locate(where)
    if isinstance(address, Path):
        with contextlib.closing(sqlite3.connect(address, isolation_level=None, timeout=10)) as connection:
            yield connection
        return
    import psycopg

    with psycopg.connect(
        address.url.complete, autocommit=True, options=f"-c search_path={address.schema}"
    ) as connection:
        yield connection


def execute(where, statement, parameters=()):
    """The rows that a statement gives; `?` stands for a parameter."""
    if isinstance(locate(where), Address):
        statement = statement.replace("?", "%s")
    with connection_to(where) as connection:
        rows = connection.execute(statement, parameters)
        return rows.fetchall() if rows.description else []
