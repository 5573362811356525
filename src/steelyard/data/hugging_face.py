"""Reads datasets of the Hugging Face hub, and those that `datasets` saved to disk (extra `hf`).

A dataset of the hub is downloaded once into the cache of `datasets`, by that library and with its settings
(HF_HUB_OFFLINE, HF_TOKEN); nothing else here downloads anything. No code of a dataset ever runs: every version of the
library that the extra allows rejects scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.data.parquet import about_bytes, named
from steelyard.data.parquet_process import holds_bytes, with_short_floats
from steelyard.data.table import Table, keyed_table
from steelyard.errors import ConfigError, DataError, did_you_mean, install_command
from steelyard.files import require_within

_BATCH_ROWS: Final = 1_000
_SAVED: Final = ("dataset_dict.json", "state.json")


def is_saved(folder: Path) -> bool:
    """Whether `datasets` saved this folder to disk."""
    return any((folder / name).is_file() for name in _SAVED)


def read_saved(folder: Path, split: str) -> Table:
    """Read a folder that `save_to_disk` wrote; it is memory-mapped.

    Args:
        folder: the folder of a dataset, with or without splits.
        split: required if the dataset has several splits.

    Raises:
        ConfigError: `datasets` is not installed; or the split is missing or unknown; or its data is not in the folder.
        DataError: the folder is damaged.
    """
    library = _library(folder.name)
    try:
        loaded = library.load_from_disk(str(folder))
    except _failures() as error:
        raise DataError(f"{folder.name} is not a valid folder of a dataset: {_first_line(error)}") from error
    # Its own files name those with the data, by any path; nothing of them has been read yet.
    for part in loaded.values() if isinstance(loaded, Mapping) else [loaded]:
        for file in part.cache_files:
            require_within(folder, Path(file["filename"]))
    return _one_split(loaded, folder.name, split)


def read_hub(name: str, *, subset: str = "", split: str = "", revision: str = "") -> Table:
    """Read a dataset of the hub from the cache of `datasets`; it is downloaded into the cache first if missing.

    Args:
        name: `owner/name`.
        subset: its configuration; required if the dataset has several.
        split: required if the dataset has several splits.
        revision: a commit, tag or branch; empty is the newest commit of the main branch.

    Raises:
        ConfigError: `datasets` is not installed; or the subset or split is missing or unknown.
        DataError: there is no such dataset, or it cannot be loaded.
    """
    library = _library(name)
    try:
        loaded = library.load_dataset(name, subset or None, split=split or None, revision=revision or None)
    except ValueError as error:
        raise ConfigError(f"samples: the dataset {name}: {_whole_message(error)}") from error
    except _failures() as error:
        raise DataError(f"the dataset {name} cannot be loaded: {_first_line(error)}") from error
    return _one_split(loaded, name, split)


def dataset_table(dataset: Any, name: str) -> Table:
    """Convert a `datasets.Dataset` to a table; the numbers of class labels become `ClassName`s.

    Raises:
        ConfigError: it has several splits, or is a streaming dataset.
    """
    if isinstance(dataset, Mapping):
        raise ConfigError(f"samples: {name} has the splits {', '.join(dataset)}; give one of them")
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "num_rows"):
        raise ConfigError(f"samples: {name} is a {type(dataset).__name__}; expected a datasets.Dataset")
    schema = dataset.features.arrow_schema
    columns = [field.name for field in schema if not holds_bytes(field.type)]
    classes = {
        column: tuple(map(str, kind.names)) for column, kind in dataset.features.items() if hasattr(kind, "int2str")
    }

    def rows() -> Iterator[Mapping[str, Any]]:
        try:
            for batch in dataset.select_columns(columns).with_format("arrow").iter(_BATCH_ROWS):
                yield from (named(cells, classes) for cells in with_short_floats(batch).to_pylist())
        except _failures() as error:
            raise DataError(f"{name} cannot be read: {_first_line(error)}") from error

    return keyed_table(name, rows, about_bytes(name, [field.name for field in schema if field.name not in columns]))


def _one_split(loaded: Any, name: str, split: str) -> Table:
    if not isinstance(loaded, Mapping):
        return dataset_table(loaded, name)
    return dataset_table(loaded[chosen_split(name, list(loaded), split)], name)


def chosen_split(name: str, splits: Sequence[str], split: str) -> str:
    """The named split, or the only one.

    Raises:
        ConfigError: there is no such split, or there are several and no name is given.

    >>> chosen_split("exam", ["test"], "")
    'test'
    """
    if split in splits:
        return split
    if not split and len(splits) == 1:
        return splits[0]
    if split:
        suggestion = did_you_mean(split, splits)
        raise ConfigError(f"split: {name} has no split {split!r}{suggestion}")
    raise ConfigError(f"split: {name} has the splits {', '.join(splits)}; name one, as split: {splits[-1]}")


def _library(name: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ConfigError(f"samples: {name} needs the package datasets: {install_command('hf')}") from error
    return datasets


def _failures() -> tuple[type[Exception], ...]:
    """Errors of loading that are caused by the dataset or the network."""
    import pyarrow as pa
    from datasets.exceptions import DatasetsError

    return (DatasetsError, pa.ArrowException, OSError, ValueError, KeyError, TypeError, RuntimeError, OverflowError)


def _whole_message(error: Exception) -> str:
    """The library's message about a subset or split, on one line; it lists the existing ones."""
    return " ".join(str(error).split())[:600]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__
