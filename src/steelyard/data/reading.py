"""From the keys under `samples:` to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from steelyard.data.delimited import read_delimited
from steelyard.data.files import SampleFiles, require_file
from steelyard.data.records import read_json_lines, read_json_list
from steelyard.data.sql_lines import read_sql_lines
from steelyard.data.table import Table
from steelyard.data.workbook import read_workbook
from steelyard.errors import ConfigError

_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls", ".ods")
_READERS: Final[Mapping[str, Callable[[Path], Table]]] = MappingProxyType(
    {".csv": read_delimited, ".tsv": read_delimited, ".jsonl": read_json_lines, ".json": read_json_list}
    | {".sql": read_sql_lines, ".txt": read_sql_lines}
)


def read_tables(files: SampleFiles) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """Every table of every file in order, and notes for a person (hidden sheets, an encoding other than UTF-8).

    Raises:
        ConfigError: a file or sheet does not exist, or is of a kind that is not read.
        DataError: a file cannot be read.
    """
    tables: list[Table] = []
    notes: list[str] = []
    for path in files.paths:
        found, about = _read(path, files)
        tables.extend(found)
        notes.extend([*about, *(note for table in found for note in table.notes)])
    return tuple(tables), tuple(notes)


def _read(path: Path, files: SampleFiles) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    suffix = path.suffix.lower()
    if suffix in _WORKBOOKS:
        return read_workbook(path, files.sheets)
    if suffix in _READERS:
        if files.sheets:
            raise ConfigError(f"sheets: {path.name} has no sheets")
        return (_READERS[suffix](path),), ()
    require_file(path)
    raise ConfigError(f"{path.name}: samples are read from {', '.join([*_WORKBOOKS, *_READERS])}")
