"""Finds the files of a folder that are the tables of one database: CSV, JSON lines and Parquet."""

# Why it is so, and what was rejected: docs/decisions/sql-table-files.md

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from steelyard.errors import ConfigError

TableFormat = Literal["csv", "json", "parquet"]

FORMATS: Final[Mapping[str, TableFormat]] = MappingProxyType(
    {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
)
"""Ending of a file, in small letters, and what is in it."""


def holds_tables(folder: Path) -> bool:
    """Whether a folder has a file that is a table."""
    return any(path.suffix.lower() in FORMATS and path.is_file() for path in folder.iterdir())


def table_files(folder: Path) -> dict[str, Path]:
    """The files of a folder by the names of their tables, in the order of these names.

    Raises:
        ConfigError: two files would make one table, as DuckDB does not tell capitals from small letters in names.
    """
    tables: dict[str, Path] = {}
    folded: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in FORMATS or not path.is_file():
            continue
        other = folded.setdefault(path.stem.casefold(), path)
        if other is not path:
            raise ConfigError(f"{folder}: {other.name} and {path.name} would both be the table {path.stem}")
        tables[path.stem] = path
    return tables
