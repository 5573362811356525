"""Outputs that are there already: answers of another tool, or of an earlier run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.types import Output, Sample


@dataclass(frozen=True, slots=True)
class Replay:
    """Gives each sample the output that a file holds for its id.

    Args:
        file: JSON lines or CSV with one output a row.
        id: the key or column of the sample's id.
        output: the key or column of the output.
    """

    inline: ClassVar[bool] = True
    file: Path
    id: str = "id"
    output: str = "output"

    def check(self) -> None:
        """Read the file before anything is run.

        Raises:
            ConfigError: it lacks a column.
            DataError: it cannot be read.
        """
        self._outputs()

    def __call__(self, sample: Sample) -> Output:
        """The stored output.

        Raises:
            LookupError: the file has none for this sample.
        """
        outputs = self._outputs()
        if sample.id not in outputs:
            raise LookupError(f"{Path(self.file).name} holds no output for sample {sample.id!r}")
        return Output(outputs[sample.id])

    def _outputs(self) -> Mapping[str, Any]:
        file = Path(self.file)
        with boundary("data", f"{file.name} cannot be read"):
            stat = file.stat()
        return _read(file, self.id, self.output, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=16)
def _read(file: Path, ident: str, output: str, _version: tuple[int, int]) -> Mapping[str, Any]:
    """Outputs by id; cached by the file's version, so a target stays without state."""
    outputs: dict[str, Any] = {}
    for line, row in _rows(file):
        for name in (ident, output):
            if name not in row:
                raise ConfigError(f"{file.name} line {line} has no {name!r}{did_you_mean(name, row)}")
        if str(row[ident]) in outputs:
            raise DataError(f"{file.name} line {line}: a second output for sample {row[ident]!r}")
        outputs[str(row[ident])] = row[output]
    return MappingProxyType(outputs)


def _rows(file: Path) -> Sequence[tuple[int, Mapping[str, Any]]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        return _csv_rows(text) if file.suffix.lower() == ".csv" else _json_rows(text)
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise DataError(f"{file.name} cannot be read: {error}") from error


def _json_rows(text: str) -> Sequence[tuple[int, Mapping[str, Any]]]:
    # Not splitlines(): a line separator of Unicode may stand inside a JSON text.
    rows = [(line, json.loads(one)) for line, one in enumerate(text.split("\n"), start=1) if one.strip()]
    for line, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"line {line}: expected an object, got {type(row).__name__}")  # noqa: TRY004  # of a file
    return rows


def _csv_rows(text: str) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """(line that a row ends on, row); a row is as wide as the header.

    Raises:
        ValueError: one is not.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = [(reader.line_num, row) for row in reader]
    for line, row in rows:
        if None in row or None in row.values():
            raise ValueError(f"line {line} is not as wide as the header")
    return rows
