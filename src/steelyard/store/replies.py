"""One reply of the journal by its key, for those who only read."""

from __future__ import annotations

from sqlalchemy import select

from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.reading import unpacker_of
from steelyard.store.store import Store
from steelyard.types import Reply


def find_reply(store: Store, key: bytes) -> Reply | None:
    """The reply kept under `key`, or None.

    Raises:
        StoreError: it is damaged.
    """
    with store.reading() as connection:
        body = connection.scalar(select(schema.reply.c.body).where(schema.reply.c.key == key))
        return None if body is None else unpack_reply(key.hex(), unpacker_of(connection).unpack(bytes(body)))
