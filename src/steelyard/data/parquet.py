"""Parquet through pyarrow (extra `parquet`): rows in batches, so that no row group is held whole as Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from steelyard.data.classes import classes_in, named
from steelyard.data.files import require_file
from steelyard.data.frames import keyed_table, refuse_doubles
from steelyard.data.table import Table
from steelyard.errors import ConfigError, DataError

MAX_ROWS: Final = 20_000_000
MAX_GROUP_BYTES: Final = 1_000_000_000
"""Of one row group's columns that are read, unpacked: the largest piece that the reader may have to hold."""

_BATCH_ROWS: Final = 1_024


def read_parquet(path: Path) -> Table:
    """A .parquet file; lists and structs keep their shape, columns of bytes (images) are left out.

    Raises:
        ConfigError: there is no such file, or pyarrow is not installed.
        DataError: it is damaged or passes a limit; also while iterating.
    """
    require_file(path)
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError(f'{path.name}: reading .parquet needs pyarrow: pip install "steelyard[parquet]"') from error
    stamp = _stamp(path)
    try:
        with parquet.ParquetFile(path) as opened:
            schema, about = opened.schema_arrow, opened.metadata
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is no sound Parquet file: {_first_line(error)}") from error
    try:
        kept = [one.name for one in schema if not holds_bytes(one.type)]
    except RecursionError as error:
        raise DataError(f"{path.name}: its columns are nested too deeply") from error
    refuse_doubles(path.name, schema.names)
    _refuse_large(path, about, {name for name in schema.names if name not in kept})
    classes = classes_in(schema.metadata)

    def rows() -> Iterator[Mapping[str, Any]]:
        if _stamp(path) != stamp:
            raise DataError(f"{path.name} changed while it was being read; start again")
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=kept, use_threads=False):
                    yield from (named(cells, classes) for cells in batch.to_pylist())
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path.name} is damaged: {_first_line(error)}") from error

    return keyed_table(path.name, rows, about_bytes(path.name, [one for one in schema.names if one not in kept]))


def holds_bytes(kind: Any) -> bool:
    """Whether an Arrow type is of bytes, or a struct or list with some, as those of images and sounds are."""
    from pyarrow import types

    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return True
    return any(holds_bytes(kind.field(place).type) for place in range(kind.num_fields))


def about_bytes(name: str, left_out: list[str]) -> tuple[str, ...]:
    """The note on columns that were left out."""
    return (f"{name}: {', '.join(left_out)} left out, as bytes are no text",) if left_out else ()


def _refuse_large(path: Path, about: Any, left_out: set[str]) -> None:
    if about.num_rows > MAX_ROWS:
        raise DataError(f"{path.name} says that it has {about.num_rows:,} rows; at most {MAX_ROWS:,} are read")
    for place in range(about.num_row_groups):
        group = about.row_group(place)
        columns = (group.column(number) for number in range(group.num_columns))
        size = sum(
            one.total_uncompressed_size for one in columns if one.path_in_schema.partition(".")[0] not in left_out
        )
        if size > MAX_GROUP_BYTES:
            raise DataError(
                f"{path.name}: row group {place + 1} unpacks to {size:,} bytes; at most {MAX_GROUP_BYTES:,} are read. "
                "Write it anew with smaller row groups"
            )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
