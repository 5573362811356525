"""The version of a store's tables: the one number that says whether this release reads a store.

All tables are created together with the number, and no release adds any later. The release that first changes the
tables of a published one increases `VERSION`, and here is the place of the steps from each number to the next.
"""

# Why it is so, and what was rejected: docs/decisions/store-one-sql.md

from __future__ import annotations

from pathlib import Path
from typing import Final

from steelyard.errors import StoreError
from steelyard.store.database import schema
from steelyard.store.database.address import Address
from steelyard.store.database.connection import Connection

VERSION: Final = 1
_NAME: Final = "tables"
"""The row of `about` with the number. Stores of development releases have a row `schema` or `version` in its place."""
ROWS: Final = f"SELECT name, value FROM about WHERE name IN ('{_NAME}', 'version', 'schema')"
"""What `check_version` is given."""


def create_tables(connection: Connection) -> None:
    """Create the tables of an empty store with their indexes, and note their version."""
    for table in schema.tables_of(connection.dialect):
        for statement in table.definition(connection.dialect):
            connection.execute(statement)
    connection.execute(schema.insert_into(schema.about), {"name": _NAME, "value": f"{VERSION}"})


def check_version(where: Path | Address, about: dict[str, str]) -> None:
    """Refuse a store whose tables this release does not read.

    Args:
        where: the store.
        about: the values of its rows, as `ROWS` reads them; not empty.

    Raises:
        StoreError: it is of another version; says what to do.
    """
    version = about.get(_NAME, "")
    if version == f"{VERSION}":
        return
    if version.isdecimal() and int(version) > VERSION:
        raise StoreError(
            f"{where} has tables of version {version}, this release reads version {VERSION}: use the release that "
            "wrote it, or a newer one; nothing was changed"
        )
    raise StoreError(
        f"{where} was made by a development release, whose tables this release does not read: keep that release to "
        "read it, or run again with another --store; nothing was changed"
    )
