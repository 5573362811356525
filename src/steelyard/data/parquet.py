"""Reads Parquet files with pyarrow (extra `parquet`); class labels and columns of bytes as in other Arrow data.

Rows are read in batches, so that no row group is in memory as Python objects as a whole. A dataset with class labels
stores the number 2, and its schema says that class 2 is called "C".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.data.encoding import stamp_of
from steelyard.data.mappings import keyed_table, refuse_doubles
from steelyard.data.paths import require_file
from steelyard.data.table import Table
from steelyard.errors import ConfigError, DataError

MAX_ROWS: Final = 20_000_000
MAX_GROUP_BYTES: Final = 1_000_000_000
"""Maximum unpacked size of the columns that are read in one row group, which the reader may keep in memory."""

_BATCH_ROWS: Final = 1_024


def read_parquet(path: Path) -> Table:
    """Read a .parquet file; lists and structs keep their structure, columns of bytes (images) are left out.

    Raises:
        ConfigError: there is no such file, or pyarrow is not installed.
        DataError: it is damaged or exceeds a limit; also raised while iterating.
    """
    require_file(path)
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError(f'{path.name}: reading .parquet needs pyarrow: pip install "steelyard[parquet]"') from error
    stamp = stamp_of(path)
    try:
        with parquet.ParquetFile(path) as opened:
            schema, about = opened.schema_arrow, opened.metadata
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is not a valid Parquet file: {_first_line(error)}") from error
    try:
        columns = [field.name for field in schema if not holds_bytes(field.type)]
    except RecursionError as error:
        raise DataError(f"{path.name}: its columns are nested too deeply") from error
    refuse_doubles(path.name, schema.names)
    _refuse_large(path, about, {name for name in schema.names if name not in columns})
    classes = classes_in(schema.metadata)

    def rows() -> Iterator[Mapping[str, Any]]:
        if stamp_of(path) != stamp:
            raise DataError(f"{path.name} changed while it was being read; start again")
        try:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                    yield from (named(cells, classes) for cells in batch.to_pylist())
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path.name} is damaged: {_first_line(error)}") from error

    left_out = [name for name in schema.names if name not in columns]
    return keyed_table(path.name, rows, about_bytes(path.name, left_out))


def holds_bytes(kind: Any) -> bool:
    """Whether an Arrow type is bytes, or a struct or list that contains bytes, as for images and sounds."""
    from pyarrow import types

    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return True
    return any(holds_bytes(kind.field(index).type) for index in range(kind.num_fields))


def about_bytes(name: str, left_out: list[str]) -> tuple[str, ...]:
    """The note on columns of bytes that were left out; empty if there are none."""
    return (f"{name}: {', '.join(left_out)} left out, as bytes are not text",) if left_out else ()


def _refuse_large(path: Path, about: Any, left_out: set[str]) -> None:
    if about.num_rows > MAX_ROWS:
        raise DataError(f"{path.name} claims to have {about.num_rows:,} rows; at most {MAX_ROWS:,} are read")
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = (group.column(number) for number in range(group.num_columns))
        size = sum(
            column.total_uncompressed_size
            for column in columns
            if column.path_in_schema.partition(".")[0] not in left_out
        )
        if size > MAX_GROUP_BYTES:
            raise DataError(
                f"{path.name}: row group {number + 1} unpacks to {size:,} bytes; at most {MAX_GROUP_BYTES:,} are read. "
                "Write it again with smaller row groups"
            )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]


class ClassName(str):
    """The name of a class as a text, with its 0-based `number` as an attribute.

    >>> ClassName.of(2, ["A", "B", "C"]), ClassName.of(2, ["A", "B", "C"]).number
    ('C', 2)
    """

    __slots__ = ("number",)
    number: int

    @classmethod
    def of(cls, value: Any, names: Sequence[str]) -> Any:
        """The name of class `value`; None for a number without a class, such as -1, which marks a missing label.

        A value that is not a number is returned unchanged.
        """
        if not isinstance(value, int):
            return value
        if not 0 <= value < len(names):
            return None
        label = cls(names[value])
        label.number = value
        return label


def named(cells: Mapping[str, Any], classes: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """The cells with the names of classes instead of their numbers."""
    if not classes:
        return cells
    return {key: ClassName.of(value, classes[key]) if key in classes else value for key, value in cells.items()}


def classes_in(metadata: Mapping[bytes, bytes] | None) -> dict[str, tuple[str, ...]]:
    """Column -> names of its classes, from the metadata that `datasets` adds to an Arrow or Parquet schema."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        labels = {name: feature["names"] for name, feature in features.items() if feature.get("_type") == "ClassLabel"}
        return {name: tuple(map(str, names)) for name, names in labels.items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}  # files of other programs have no such metadata, or other content under its key
