"""Reads a Parquet file in a separate process and writes its rows to standard output as a stream of Arrow batches.

What a file of 2 kB unpacks to cannot be read from its footer: a column of equal texts is one text and a number. So rows
are decoded a few at a time, and counted as they are then. An error is one line of JSON on standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steelyard.data.limited_process import limit
from steelyard.data.table import MAX_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES: Final = 1_000_000_000
"""Limit of what the columns unpack to, or 20 times the size of a larger file."""
MAX_ROW_BYTES: Final = 64_000_000
MAX_COLUMNS: Final = 16_384
LEFT_OUT: Final = b"steelyard.left_out"
"""Key of the stream's metadata with the names of the columns of bytes, as JSON; `COLUMNS` has the names of all."""
COLUMNS: Final = b"steelyard.columns"

_TIMES_THE_FILE: Final = 20
_BATCH_ROWS: Final = 256
_PIECE_BYTES: Final = 8_000_000
_CELL_BYTES: Final = 8
_CONTAINER_BYTES: Final = 64
"""Of a list or struct in a cell, as Python makes them: 2 kB of `[[true]]`, 30 million lists, took over a minute."""


class Refusal(Exception):
    """Why a file is not read; `kind` is `invalid`, `damaged` or `large`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def main(path: str, memory_bytes: int, cpu_s: int) -> None:
    """Write the rows of the Parquet file at `path` to standard output, within limits of memory and CPU time."""
    limit(memory_bytes, cpu_s)
    sys.modules["numpy"] = None  # type: ignore[assignment]  # pyarrow would import it, for half of the time it takes
    import pyarrow as pa

    try:
        _write(Path(path))
    except Refusal as refusal:
        sys.exit(json.dumps([refusal.kind, str(refusal)]))
    except (MemoryError, pa.ArrowMemoryError):
        sys.exit(json.dumps(["large", f"reading it needs more than {memory_bytes >> 20:,} MiB of memory"]))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        sys.exit(json.dumps(["damaged", first_line(error)]))


def first_line(error: BaseException) -> str:
    """The first line of an error of pyarrow, whose others are places in its source."""
    return str(error).partition("\n")[0][:300]


def _write(path: Path) -> None:
    import pyarrow as pa

    file, schema = _opened(path)
    most = max(MAX_BYTES, _TIMES_THE_FILE * path.stat().st_size)
    rows = size = 0
    with pa.ipc.new_stream(pa.PythonFile(sys.stdout.buffer, mode="w"), schema) as stream:
        for batch in _batches(file, schema):
            plain = batch.cast(schema)
            rows, size = rows + len(batch), size + _decoded(plain)
            if rows > MAX_ROWS:
                raise Refusal("large", f"more than {MAX_ROWS:,} rows")
            if size > most:
                raise Refusal("large", f"it unpacks to more than {most:,} bytes")
            for piece in _pieces(plain):
                if _decoded(piece) > MAX_ROW_BYTES:
                    raise Refusal("large", f"one of {rows:,} rows unpacks to more than {MAX_ROW_BYTES:,} bytes")
                stream.write_batch(piece)


def _batches(file: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of a file; none over two groups of rows where nested columns hold dictionaries.

    Each group has a dictionary of its own, and pyarrow cannot join them inside of a struct or list.
    """
    from pyarrow import types

    nested = any(
        types.is_nested(field.type) and field.type != file.schema_arrow.field(field.name).type for field in schema
    )
    groups = range(file.num_row_groups)
    for some in [[group] for group in groups] if nested else [[*groups]]:
        yield from file.iter_batches(_BATCH_ROWS, row_groups=some, columns=schema.names, use_threads=False)


def _opened(path: Path) -> tuple[Any, pa.Schema]:
    """The file, and the schema of the stream: of the columns that are read, with what is known of the others.

    Raises:
        Refusal: it is not a Parquet file, or has too many columns or rows.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, pre_buffer=False)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise Refusal("invalid", first_line(error)) from error
    if len(schema) > MAX_COLUMNS:
        raise Refusal("large", f"{len(schema):,} columns; at most {MAX_COLUMNS:,} are read")
    if file.metadata.num_rows > MAX_ROWS:
        raise Refusal("large", f"{file.metadata.num_rows:,} rows; at most {MAX_ROWS:,} are read")
    try:
        left_out = [field.name for field in schema if holds_bytes(field.type)]
        kept = [pa.field(field.name, _plain(field.type)) for field in schema if field.name not in left_out]
    except RecursionError as error:
        raise Refusal("large", "its columns are nested too deeply") from error
    about = {LEFT_OUT: json.dumps(left_out).encode(), COLUMNS: json.dumps(schema.names).encode()}
    return file, pa.schema(kept, {**(schema.metadata or {}), **about})


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Parts of a batch that are small enough to be in memory as Python values, unless a row is not."""
    rows = max(1, len(batch) * _PIECE_BYTES // max(_decoded(batch), _PIECE_BYTES))
    return (batch.slice(at, rows) for at in range(0, len(batch), rows))


def holds_bytes(kind: Any) -> bool:
    """Whether an Arrow type is bytes, or a struct or list that contains bytes, as for images and sounds."""
    from pyarrow import types

    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return True
    if types.is_dictionary(kind):
        return holds_bytes(kind.value_type)
    return any(holds_bytes(kind.field(index).type) for index in range(kind.num_fields))


def with_short_floats(batch: Any) -> Any:
    """A batch or table with the numbers of its columns of 32 bits as they are written: 2.4, not 2.4000000953674316."""
    import pyarrow as pa

    for at, field in enumerate(batch.schema):
        if field.type == pa.float32():
            numbers = batch.column(at).cast(pa.string()).cast(pa.float64())
            batch = batch.set_column(at, pa.field(field.name, pa.float64()), numbers)
    return batch


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without dictionaries and views, whose equal values share their memory until Python reads them."""
    import pyarrow as pa
    from pyarrow import types

    plain = kind
    if types.is_dictionary(kind):
        plain = _plain(kind.value_type)
    elif types.is_string_view(kind):
        plain = pa.large_string()
    elif types.is_list(kind):
        plain = pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    elif types.is_large_list(kind):
        plain = pa.large_list(kind.value_field.with_type(_plain(kind.value_type)))
    elif types.is_fixed_size_list(kind):
        plain = pa.list_(kind.value_field.with_type(_plain(kind.value_type)), kind.list_size)
    elif types.is_struct(kind):
        plain = pa.struct([field.with_type(_plain(field.type)) for field in kind])
    elif types.is_map(kind):
        plain = pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return plain


def _decoded(batch: pa.RecordBatch) -> int:
    """Bytes of the values, and some for each cell, which Python makes an object of."""
    from pyarrow import types

    return sum(int(array.nbytes) + _object_bytes(array, types) for array in batch.columns)


def _object_bytes(array: Any, types: Any) -> int:
    if types.is_list(array.type) or types.is_large_list(array.type) or types.is_fixed_size_list(array.type):
        return _CONTAINER_BYTES * len(array) + _object_bytes(array.flatten(), types)
    if types.is_map(array.type):
        parts = (array.keys, array.items)
    elif types.is_struct(array.type):
        parts = tuple(array.field(index) for index in range(array.type.num_fields))
    else:
        return _CELL_BYTES * len(array)
    return _CONTAINER_BYTES * len(array) + sum(_object_bytes(part, types) for part in parts)
