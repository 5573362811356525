"""From the keys under `samples:` to tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from steelyard.data.delimited import read_delimited
from steelyard.data.files import SampleFiles, is_folder, require_file
from steelyard.data.folders import files_in
from steelyard.data.hugging_face import is_saved, read_hub, read_saved
from steelyard.data.parquet import read_parquet
from steelyard.data.records import read_json_lines, read_json_list
from steelyard.data.sql_lines import read_sql_lines
from steelyard.data.table import Table
from steelyard.data.workbook import read_workbook
from steelyard.errors import ConfigError

_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls", ".ods")
_READERS: Final[Mapping[str, Callable[[Path], Table]]] = MappingProxyType(
    {".csv": read_delimited, ".tsv": read_delimited, ".jsonl": read_json_lines, ".json": read_json_list}
    | {".parquet": read_parquet, ".sql": read_sql_lines, ".txt": read_sql_lines}
)
_IN_FOLDERS: Final = frozenset({*_WORKBOOKS, ".csv", ".tsv", ".jsonl", ".json", ".parquet"})
_ABOUT: Final = frozenset({"dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"})
"""Files beside the data of a dataset that say what it is."""

Found = tuple[tuple[Table, ...], tuple[str, ...]]


def read_tables(files: SampleFiles) -> Found:
    """Every table of every source in order, and notes for a person (hidden sheets, an encoding other than UTF-8).

    Raises:
        ConfigError: a source, sheet or split does not exist, is of a kind that is not read, needs a package that is not
            installed, or has the name of another.
        DataError: a source cannot be read.
    """
    tables: list[Table] = []
    notes: list[str] = []
    names: set[str] = set()
    for found, about in _sources(files):
        tables.extend(found)
        notes.extend([*about, *(note for table in found for note in table.notes)])
        new = {table.name for table in found}
        if names & new:
            raise ConfigError("samples: two files have one name, so their rows cannot be told apart; rename one")
        names |= new
    return tuple(tables), tuple(notes)


def id_prefixes(files: SampleFiles, tables: Sequence[Table]) -> list[str]:
    """For each table, what stands in front of ids made from places: its name, where there are several files."""
    several = len(files.paths) > 1 or len({one.name for one in tables}) > 1
    return [f"{one.name} " if several else "" for one in tables]


def _sources(files: SampleFiles) -> Iterator[Found]:
    if files.frame is not None:
        yield (files.frame.table(),), ()
    elif files.is_on_hub:
        yield (read_hub(files),), ()
    for path in files.paths or ([Path(files.dataset)] if files.dataset and not files.is_on_hub else []):
        if is_folder(path):
            yield from _folder(path, files)
        elif files.split or files.subset:
            require_file(path)
            raise ConfigError(f"samples: split and subset belong to a dataset or a folder, and {path.name} is a file")
        else:
            yield _read(path, files)


def _folder(folder: Path, files: SampleFiles) -> Iterator[Found]:
    saved = folder / files.subset if files.subset else folder
    if is_saved(saved):
        yield (read_saved(saved, files.split),), ()
        return
    for path in files_in(folder, _IN_FOLDERS, split=files.split, subset=files.subset):
        if path.name not in _ABOUT:
            tables, notes = _read(path, files)
            yield tuple(replace(one, name=path.relative_to(folder).as_posix()) for one in tables), notes


def _read(path: Path, files: SampleFiles) -> Found:
    suffix = path.suffix.lower()
    if suffix in _WORKBOOKS:
        return read_workbook(path, files.named_sheets)
    if suffix in _READERS:
        if files.named_sheets:
            raise ConfigError(f"sheets: {path.name} has no sheets")
        return (_READERS[suffix](path),), ()
    require_file(path)
    raise ConfigError(f"{path.name}: samples are read from {', '.join([*_WORKBOOKS, *_READERS])}")
