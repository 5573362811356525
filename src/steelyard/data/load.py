"""Reads the tables that the keys under `samples:` name, and chooses the reader for each file, folder or dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from steelyard.data.hugging_face import is_saved, read_hub, read_saved
from steelyard.data.parquet import read_parquet
from steelyard.data.paths import distinct_names, files_in, is_folder, require_file
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import SHEET, SOURCE, Table
from steelyard.data.text_tables import (
    is_beir,
    read_beir,
    read_delimited,
    read_json_lines,
    read_json_list,
    read_sql_lines,
)
from steelyard.data.workbook import read_workbook
from steelyard.errors import ConfigError

_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls", ".ods")
_READERS: Final[Mapping[str, Callable[[Path], Table]]] = MappingProxyType(
    {".csv": read_delimited, ".tsv": read_delimited, ".jsonl": read_json_lines, ".json": read_json_list}
    | {".parquet": read_parquet, ".sql": read_sql_lines, ".txt": read_sql_lines}
)
_IN_FOLDERS: Final = frozenset({*_WORKBOOKS, ".csv", ".tsv", ".jsonl", ".json", ".parquet"})
_ABOUT: Final = frozenset({"dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"})
"""Files that describe a dataset, next to its data."""

TablesAndNotes = tuple[tuple[Table, ...], tuple[str, ...]]


def read_tables(files: SampleFiles) -> TablesAndNotes:
    """Read every table of every source in order, with notes for people (hidden sheets, an encoding other than UTF-8).

    Raises:
        ConfigError: a source, sheet or split does not exist, has an unknown format, needs a package that is not
            installed, or has the same name as another.
        DataError: a source cannot be read.
    """
    tables: list[Table] = []
    notes: list[str] = []
    names: set[str] = set()
    for source_tables, source_notes in _sources(files):
        tables.extend(source_tables)
        notes.extend([*source_notes, *(note for table in source_tables for note in table.notes)])
        source_names = {table.name for table in source_tables}
        if names & source_names:
            raise ConfigError(f"samples: {min(names & source_names)} is named twice")
        names |= source_names
    return _with_origins(tables), tuple(notes)


def _with_origins(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The tables; if there are several, their samples get the file and the sheet as metadata."""
    files = {table.name for table in tables}
    if len(tables) < 2:
        return tuple(tables)
    has_sheets = len(files) < len(tables)
    return tuple(
        replace(
            table,
            origin=({SOURCE: table.name} if len(files) > 1 else {})
            # Two files may each have a sheet with the same name.
            | ({SHEET: table.title if len(files) > 1 else table.sheet} if has_sheets and table.sheet else {}),
        )
        for table in tables
    )


def id_prefixes(files: SampleFiles, tables: Sequence[Table]) -> list[str]:
    """The prefix of generated ids for each table: its name if there are several files, else empty."""
    several = len(files.paths) > 1 or len({table.name for table in tables}) > 1
    return [f"{table.name} " if several else "" for table in tables]


def _sources(files: SampleFiles) -> Iterator[TablesAndNotes]:
    if files.frame is not None:
        yield (files.frame.table(),), ()
    elif files.is_on_hub:
        hub = read_hub(str(files.dataset), subset=files.subset, split=files.split, revision=files.revision)
        yield (hub,), ()
    paths = files.paths or ((Path(files.dataset),) if files.dataset and not files.is_on_hub else ())
    for path, name in zip(paths, distinct_names(paths), strict=True):
        if is_folder(path):
            yield from _folder(path, files)
        elif files.split or files.subset:
            require_file(path)
            raise ConfigError(f"samples: split and subset belong to a dataset or a folder, and {path.name} is a file")
        else:
            tables, notes = _read(path, files)
            yield (tables if name == path.name else tuple(replace(table, name=name) for table in tables)), notes


def _folder(folder: Path, files: SampleFiles) -> Iterator[TablesAndNotes]:
    if is_beir(folder):
        yield (read_beir(folder, files.split),), ()
        return
    saved = folder / files.subset if files.subset else folder
    if is_saved(saved):
        yield (read_saved(saved, files.split),), ()
        return
    for path in files_in(folder, _IN_FOLDERS, split=files.split, subset=files.subset):
        if path.name not in _ABOUT:
            tables, notes = _read(path, files)
            yield tuple(replace(table, name=path.relative_to(folder).as_posix()) for table in tables), notes


def _read(path: Path, files: SampleFiles) -> TablesAndNotes:
    suffix = path.suffix.lower()
    if suffix in _WORKBOOKS:
        return read_workbook(path, files.named_sheets)
    if suffix in _READERS:
        if files.named_sheets:
            raise ConfigError(f"sheets: {path.name} has no sheets")
        return (_READERS[suffix](path),), ()
    require_file(path)
    raise ConfigError(f"{path.name}: a file of samples ends in {', '.join([*_WORKBOOKS, *_READERS])}")
