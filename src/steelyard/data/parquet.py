"""Reads Parquet files with pyarrow (extra `parquet`); class labels and columns of bytes as in other Arrow data.

A process of its own decodes a file (`parquet_process`) and counts what it unpacks to; here its batches of rows become
Python values. A dataset with class labels stores the number 2, and its schema says that class 2 is called "C".
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from steelyard.data.encoding import stamp_of
from steelyard.data.limited_process import command_for, start
from steelyard.data.parquet_process import COLUMNS, LEFT_OUT, first_line, with_short_floats
from steelyard.data.paths import require_file
from steelyard.data.table import Table, keyed_table, refuse_doubles
from steelyard.errors import ConfigError, DataError, install_command

_MEMORY_BYTES: Final = 2 << 30
_CPU_S: Final = 60
_BYTES_PER_S: Final = 10_000_000
"""Of a file's size, for which the process gets a second more; pyarrow reads ten times as many."""
_END_S: Final = 10.0
"""Seconds for the process to end after its stream has ended."""
_INVALID: Final = "is not a valid Parquet file"
_WHY: Final = {"invalid": _INVALID, "damaged": "is damaged", "large": "is too large to be read"}


def read_parquet(path: Path) -> Table:
    """Read a .parquet file; lists and structs keep their structure, columns of bytes (images) are left out.

    Raises:
        ConfigError: there is no such file, or pyarrow is not installed.
        DataError: it is damaged or exceeds a limit; also raised while iterating.
    """
    require_file(path)
    try:
        import pyarrow  # noqa: F401, ICN001
    except ImportError as error:
        raise ConfigError(f"{path.name}: reading .parquet needs pyarrow: {install_command('parquet')}") from error
    stamp = stamp_of(path)
    with _batches(path) as (schema, _):
        names, left_out = (json.loads(schema.metadata[key]) for key in (COLUMNS, LEFT_OUT))
        classes = classes_in(schema.metadata)
    refuse_doubles(path.name, names)

    def rows() -> Iterator[Mapping[str, Any]]:
        if stamp_of(path) != stamp:
            raise DataError(f"{path.name} changed while it was being read; start again")
        with _batches(path) as (_, batches):
            for batch in batches:
                yield from (named(cells, classes) for cells in with_short_floats(batch).to_pylist())

    return keyed_table(path.name, rows, about_bytes(path.name, left_out))


@contextmanager
def _batches(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches of rows that a process of its own reads; it ends with the block.

    Raises:
        DataError: why the file is not read; also while iterating.
    """
    import pyarrow as pa

    cpu_s = _CPU_S + path.stat().st_size // _BYTES_PER_S
    process = start(command_for("steelyard.data.parquet_process", path, _MEMORY_BYTES, cpu_s))
    try:
        with pa.ipc.open_stream(process.stdout) as stream:
            yield stream.schema, _all_of(stream, process, path.name)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _reason_of_end(process, path.name) or DataError(f"{path.name} is damaged: {first_line(error)}") from error
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _all_of(stream: Any, process: subprocess.Popen[bytes], name: str) -> Iterator[Any]:
    yield from stream
    # A process that was killed ends the stream like one that is done.
    if (error := _reason_of_end(process, name)) is not None:
        raise error


def _reason_of_end(process: subprocess.Popen[bytes], name: str) -> DataError | None:
    """Why the process ended early; None if it has read the whole file or is still reading."""
    try:
        code = process.wait(timeout=_END_S)
    except subprocess.TimeoutExpired:
        return None
    assert process.stderr is not None  # noqa: S101  # it is a pipe
    last_line = process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    if code == 0:
        return None
    if last_line.startswith("["):
        kind, message = json.loads(last_line)
        return DataError(f"{name} {_WHY[kind]}: {message}")
    if code == -getattr(signal, "SIGXCPU", 0):
        return DataError(f"{name} {_WHY['large']}: reading it takes too long")
    return DataError(f"{name} {_INVALID}: the reader ended with {code} {last_line[:200]}".rstrip())


def about_bytes(name: str, left_out: list[str]) -> tuple[str, ...]:
    """The note on columns of bytes that were left out; empty if there are none."""
    return (f"{name}: {', '.join(left_out)} left out, as bytes are not text",) if left_out else ()


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
