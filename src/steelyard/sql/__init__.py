"""Runs generated SQL in a sandbox and compares what it returns with the reference's result.

results      databases, limits, result tables, failures
sandbox      runs untrusted SQL; nothing else does
workers      its processes
engines      SQLite and DuckDB inside them
statements   splits a script into statements
schema       tables, columns and keys, read from CREATE statements
equality     when two cells are equal (cells, near_numbers: the same by hash)
verdict      whether two results are equal, and if not, why: columns (fingerprints), order (order_keys, layout), ties,
             alignment, and the words for it (wording)
accuracy     execution accuracy as published evaluators compute it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.sql.equality import CellEquality
    from steelyard.sql.order import ordering_of
    from steelyard.sql.results import Database, ResultTable, SqlFailure, SqlLimits
    from steelyard.sql.sandbox import Sandbox
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.sql.equality:CellEquality",
        "steelyard.sql.results:Database",
        "steelyard.sql.results:ResultTable",
        "steelyard.sql.sandbox:Sandbox",
        "steelyard.sql.results:SqlFailure",
        "steelyard.sql.results:SqlLimits",
        "steelyard.sql.order:ordering_of",
    )

__all__ = [
    "CellEquality",
    "Database",
    "ResultTable",
    "Sandbox",
    "SqlFailure",
    "SqlLimits",
    "ordering_of",
]
