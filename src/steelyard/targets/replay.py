"""Outputs that are there already: answers of another tool, or of an earlier run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from steelyard.errors import ConfigError, DataError
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
            raise LookupError(f"{self.file.name} holds no output for sample {sample.id!r}")
        return Output(outputs[sample.id])

    def _outputs(self) -> Mapping[str, Any]:
        stat = self.file.stat()
        return _read(self.file, self.id, self.output, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=16)
def _read(file: Path, ident: str, output: str, _version: tuple[int, int]) -> Mapping[str, Any]:
    """Outputs by id; cached by the file's version, so a target stays without state."""
    outputs: dict[str, Any] = {}
    for line, row in _rows(file):
        for name in (ident, output):
            if name not in row:
                raise ConfigError(f"{file.name} line {line} has no {name!r}; it has {', '.join(map(str, row))}")
        if str(row[ident]) in outputs:
            raise DataError(f"{file.name} line {line}: a second output for sample {row[ident]!r}")
        outputs[str(row[ident])] = row[output]
    return MappingProxyType(outputs)


def _rows(file: Path) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix.lower() == ".csv":
            return list(enumerate(csv.DictReader(io.StringIO(text, newline="")), start=2))
        rows = [(line, json.loads(one)) for line, one in enumerate(text.splitlines(), start=1) if one.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"{file.name} cannot be read: {error}") from error
    for line, row in rows:
        if not isinstance(row, dict):
            raise DataError(f"{file.name} line {line}: expected an object, got {type(row).__name__}")
    return rows
