"""Generated SQL: run where it can hurt nothing, and compare what it returns.

results      databases, limits, result tables, failures
sandbox      the only way in which SQL of others is run
workers      its processes
engines      SQLite and DuckDB inside them
statements   a text cut into statements
schema       tables, columns and keys, read from CREATE statements (definitions, ddl_tokens)
verdict      is one result what the other is, and if not, why: cells, columns (fingerprints), order (order_keys,
             layout), ties, alignment, in words (wording, showing)
accuracy     the same after published evaluators
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.sql.order import ordering_of
    from steelyard.sql.results import Database, ResultTable, SqlFailure, SqlLimits
    from steelyard.sql.sandbox import Sandbox
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.sql.results:Database",
        "steelyard.sql.results:ResultTable",
        "steelyard.sql.sandbox:Sandbox",
        "steelyard.sql.results:SqlFailure",
        "steelyard.sql.results:SqlLimits",
        "steelyard.sql.order:ordering_of",
    )

__all__ = [
    "Database",
    "ResultTable",
    "Sandbox",
    "SqlFailure",
    "SqlLimits",
    "ordering_of",
]
