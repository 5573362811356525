"""Records as a Parquet file; needs pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.escaping import cell_text, writable
from steelyard.report.export_table import ExportTable, Kind
from steelyard.report.stored import StoredRun

_ROWS: Final = 5_000
"""Of one row group: so much is held in memory at once."""


def write_parquet(run: StoredRun, path: Path) -> None:
    """Write a run's records to a Parquet file, row group by row group: memory stays flat.

    Scores are doubles (null where there is no value), counts are 64-bit integers, everything else is text.

    Args:
        run: what is exported.
        path: the file; whatever was there is replaced once the new one is whole.

    Raises:
        ConfigError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ConfigError('writing .parquet needs pyarrow: pip install "steelyard[parquet]"') from error
    table = ExportTable.of(run)
    kinds = [kind for _, kind in table.columns]
    types = {"text": pa.string(), "number": pa.float64(), "count": pa.int64()}
    schema = pa.schema(list(zip(_unique(table.names), (types[kind] for kind in kinds), strict=True)))
    part = path.with_name(f"{path.name}.part")
    try:
        with ParquetWriter(part, schema, compression="zstd") as writer:
            rows = table.rows()
            while block := list(islice(rows, _ROWS)):
                columns = [_typed(column, kind) for column, kind in zip(zip(*block, strict=True), kinds, strict=True)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _typed(cells: Sequence[Any], kind: Kind) -> list[Any]:
    if kind == "text":
        return [None if one is None else writable(cell_text(one)) for one in cells]
    return list(cells)


def _unique(names: Sequence[str]) -> Iterator[str]:
    """The names, numbered from the second time one occurs.

    >>> list(_unique(["id", "output", "id"]))
    ['id', 'output', 'id_2']
    """
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}_{seen[name]}"
