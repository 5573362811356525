"""Dictionaries of compressed bodies, as they are stored."""

from __future__ import annotations

from sqlalchemy import Connection, select

from steelyard.errors import StoreError
from steelyard.store import schema


def save_dictionary(connection: Connection, kind: str, data: bytes) -> int:
    """Store a dictionary in the open transaction; its number."""
    saved = connection.execute(schema.dictionary.insert(), {"kind": kind, "data": data})
    return int(saved.inserted_primary_key[0])  # type: ignore[index]  # one row was inserted, so it has a key


def load_dictionary(connection: Connection, number: int) -> bytes:
    """The dictionary of that number.

    Raises:
        StoreError: it is not there: the store is damaged.
    """
    table = schema.dictionary
    data = connection.execute(select(table.c.data).where(table.c.num == number)).scalar()
    if data is None:
        raise StoreError(f"the store is damaged: dictionary {number} is missing")
    return bytes(data)
