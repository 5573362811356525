"""Runs generated SQL in a sandbox and compares what it returns with the reference's result.

results      databases, limits, result tables, failures
sandbox      runs untrusted SQL; nothing else does
workers      its processes
engines      SQLite and DuckDB inside them
servers      PostgreSQL and MySQL inside them
statements   splits a script into statements
schema       tables, columns and keys, read from CREATE statements
catalog      the CREATE statements of a database
equality     when two cells are equal (cells, near_numbers: the same by hash)
verdict      whether two results are equal, and if not, why: columns, order (syntax, layout), ties, and the words for it
             (wording)
accuracy     execution accuracy as published evaluators compute it, and credit between wrong and right
"""

from __future__ import annotations

from steelyard.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
