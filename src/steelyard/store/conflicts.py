"""`INSERT ... ON CONFLICT`, which both databases write alike and SQLAlchemy has once for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Table


@cache
def add_or_leave(dialect: str, table: Table) -> Any:
    """Insert rows; what is in the way of one stays."""
    return _insert(dialect, table).on_conflict_do_nothing()


@cache
def add_or_set(dialect: str, table: Table, keys: Sequence[str], columns: Sequence[str]) -> Any:
    """Insert rows; of one that is in the way, set `columns` to the new values."""
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=keys, set_={name: statement.excluded[name] for name in columns}
    )


@cache
def add_or_move(dialect: str, table: Table, keys: Sequence[str], columns: Sequence[str]) -> Any:
    """Insert rows; of one that is in the way, move `columns` by the new values."""
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=keys, set_={name: table.c[name] + statement.excluded[name] for name in columns}
    )


def _insert(dialect: str, table: Table) -> Any:
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
