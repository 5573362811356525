"""Many databases of one folder, addressed by id; every query runs in the sandbox, on a copy, read-only.

The names are those of QATCH's `database_reader`, so that code written for it runs. What it did differently: a query
could write (a DROP in a prediction stayed), the last opened database was the first to be closed, `in` looked for a
part of the name of an open one, and asking for an unknown id made a folder of that name.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from steelyard.errors import expect_number
from steelyard.sql.results import Execution, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables.locate import check_folder, database_ids
from steelyard.tables.single_database import SingleDatabase, own_sandbox

MOST_OPEN: Final = 15
"""Databases that are kept open."""


class MultipleDatabases:
    """The databases of a folder, opened when they are asked for.

    Args:
        db_path: the folder, with `<id>/<id>.sqlite` or `<id>.sqlite` (.sqlite3, .db, .duckdb) for each.
        _max_db_in_memory: at most so many are kept open; the least recently used is closed first.
        sandbox: where queries run; None makes one, which is closed with this object, or when nothing refers to it.
        limits: of each query.

    Attributes:
        db_path: the folder.
        db_ids2db: id -> SingleDatabase of those that are open, the most recently used last.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(
        self,
        db_path: str | Path,
        _max_db_in_memory: int = MOST_OPEN,
        *,
        sandbox: Sandbox | None = None,
        limits: SqlLimits = SqlLimits(),
    ) -> None:
        expect_number("_max_db_in_memory", _max_db_in_memory, 1, whole=True)
        limits.check()
        check_folder(Path(db_path))
        self.db_path = db_path
        self.db_ids2db: OrderedDict[str, SingleDatabase] = OrderedDict()
        self._max_db_in_memory = _max_db_in_memory
        self._sandbox = sandbox or own_sandbox(self)
        self._owned = sandbox is None
        self._limits = limits
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, other: object) -> bool:
        return isinstance(other, str) and other in self.get_db_names()

    def __getitem__(self, key: str) -> SingleDatabase:
        """The database `key`, opened if it is not.

        Raises:
            ConfigError: there is none; the message suggests one.
        """
        with self._lock:
            found = self.db_ids2db.get(key)
            if found is None:
                found = SingleDatabase(self.db_path, key, sandbox=self._sandbox, limits=self._limits)
                while len(self.db_ids2db) >= self._max_db_in_memory:
                    self.db_ids2db.popitem(last=False)[1].close_connection()
                self.db_ids2db[key] = found
            self.db_ids2db.move_to_end(key)
            return found

    def get_db_names(self) -> list[str]:
        """The ids of all databases in the folder, sorted."""
        return database_ids(Path(self.db_path))

    def open_db(self, db_id: str) -> None:
        """Open a database before it is asked for.

        Raises:
            ConfigError: there is none of that id.
        """
        self[db_id]

    def execute(self, db_id: str, query: Any) -> Execution:
        """Run one reading statement; whatever goes wrong with it is in the Execution.

        Raises:
            ConfigError: there is no such database.
        """
        return self[db_id].execute(query)

    def run_query(self, db_id: str, query: str) -> list[list[Any]]:
        """The rows that a query returns.

        Raises:
            ConfigError: there is no such database.
            QueryFailed: the query has no result.
        """
        return self[db_id].run_query(query)

    def run_multiple_queries(self, db_id: str, queries: Sequence[str]) -> list[list[list[Any]]]:
        """The rows of each query, in order.

        Raises:
            ConfigError: there is no such database.
            QueryFailed: the first query that has no result.
        """
        database = self[db_id]
        return [database.run_query(query) for query in queries]

    def get_table(self, db_id: str, tbl_name: str) -> Any:
        """A whole table as a data frame.

        Raises:
            ConfigError: there is no such database or table.
        """
        return self[db_id].get_table_given(tbl_name)

    def get_schema(self, db_id: str, tbl_name: str) -> Any:
        """The columns of a table as a data frame.

        Raises:
            ConfigError: there is no such database or table.
        """
        return self[db_id].get_schema_given(tbl_name)

    def get_all_table_schema_given(self, db_id: str) -> Mapping[str, Any]:
        """Table -> data frame of its columns.

        Raises:
            ConfigError: there is no such database.
        """
        return self[db_id].table_schemas

    def close(self) -> None:
        """Close all of them and end the workers; asking again opens anew."""
        with self._lock:
            for database in self.db_ids2db.values():
                database.close_connection()
            self.db_ids2db.clear()
        if self._owned:
            self._sandbox.close()
