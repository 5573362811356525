"""Rows of the database straight into arrays: from the driver's own cursor, some thousand at a time.

A Python object per row, and SQLAlchemy's own row around it, take several times as long, which is seconds for a run of
100,000 samples; a list of all rows takes memory that an array does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Connection, Select
from sqlalchemy.exc import DBAPIError

from steelyard.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[Any]

_CHUNK: Final = 20_000


def tables(connection: Connection, query: Select[Any], columns: Sequence[tuple[str, str]]) -> Iterator[Table]:
    """The rows of a query in arrays with a field per column.

    Args:
        connection: to the store.
        query: gives numbers, texts and bytes as the database keeps them: types of SQLAlchemy's own are not applied.
        columns: name of the field and numpy's type, in the order of the query's columns; a NULL is NaN in a float.

    Raises:
        StoreError: a value is of another type than its column: the store is damaged.
    """
    import numpy as np

    driver = connection.dialect.loaded_dbapi
    # Without `stream_results`, with which SQLAlchemy takes the first row for itself. SQLite streams all the same; what
    # a server sends is held by its driver until it is read, some 60 bytes a row.
    result = connection.execute(query)
    try:
        rows = iter(cast("Iterable[Any]", result.cursor))
        while len(found := np.fromiter(islice(rows, _CHUNK), dtype=list(columns))):
            yield found
    except driver.Error as error:
        # In the words of SQLAlchemy, as whoever reads a store expects it of a damaged one.
        raise DBAPIError(str(query), None, error) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"a row of the store is damaged: {error}") from error
    finally:
        result.close()


def column_arrays(
    chunks: Iterable[Table | Mapping[str, Table]], columns: Sequence[tuple[str, str]]
) -> dict[str, Table]:
    """Field -> all its values in one array, of these fields, which hold numbers; others are left behind."""
    import numpy as np

    parts = {name: [np.zeros(0, dtype=kind)] for name, kind in columns}
    for chunk in chunks:
        for (name, kind), several in zip(columns, parts.values(), strict=True):
            several.append(chunk[name].astype(kind))  # a copy, so that the whole chunk can go
    return {name: np.concatenate(several) for name, several in parts.items()}
