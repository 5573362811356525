"""Sheets that people fill in with a spreadsheet program, and files of labels; written as CSV, read from any table.

A file of labels has a row for every label of a run, oldest first, including replaced and withdrawn ones, and nothing is
lost between writing and reading it. In CSV a value that is not plain text, or that a spreadsheet might change, is
written as JSON. `json_line` writes the same rows as JSON lines.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Final, cast, get_args

from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import render
from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.escaping import csv_cell, csv_text, json_line
from steelyard.plain_json import parsed_or
from steelyard.store import Run
from steelyard.types import Label, LabelKind

_LONGEST_NUMBER: Final = 15
COLUMNS: Final = ("run", "sample", "repeat", "name", "kind", "scale", "value", "author", "at")
REQUIRED: Final = ("sample", "name", "value", "author")
_SCALE: Final = re.compile(r"'?(-?[\d.e]+)-(-?[\d.e]+)")
_NOT_FINITE: Final = re.compile(r"\s*'?[+-]?(?:nan|inf|infinity)\s*", re.IGNORECASE)
_EXPECTED: Final = "sample, name, value and author of an export of labels"


def sheet_text(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file without formulas; it begins with a byte order mark, which Excel needs."""
    buffer = io.StringIO(newline="")
    lines = writer(buffer)
    for cells in (columns, *rows):
        lines.writerow([csv_cell(cell) for cell in cells])
    return "\ufeff" + buffer.getvalue()


def filled_rows(path: Path, required: Sequence[str], expected: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a sheet as (its position for a message, column name -> text); see `table_rows`."""
    for number, cells in table_rows(path, required, expected):
        yield f"{path.name} row {number}: ", {name: render(value).strip() for name, value in cells.items()}


def row_number(texts: Mapping[str, str], column: str, location: str) -> int:
    """The whole number in a column.

    Raises:
        DataError: it is none.
    """
    text = texts[column]
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise DataError(f"{location}{column} is {text[:20]!r}; expected a number from 0, as the sheet had it")
    return int(text)


def table_rows(path: Path, required: Sequence[str], expected: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(row number, column name -> cell) of each row below the header of a CSV, XLSX, JSON or JSON lines file.

    Args:
        path: of the file.
        required: columns that it must have.
        expected: their description for the message.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing.
    """
    tables, _ = read_tables(SampleFiles(file=path))
    for table in tables:
        names: list[str] = []
        for number, cells in table:
            if isinstance(cells, Mapping):
                row = {str(name).strip().casefold(): value for name, value in cells.items()}
            elif not names:
                names = [str(cell or "").strip().casefold() for cell in cells]
                _check_columns(names, path, (required, expected))
                continue
            else:
                row = dict(zip(names, cells, strict=False))
            _check_columns(list(row), path, (required, expected))
            yield number, row


def _check_columns(names: Sequence[str], path: Path, required_as: tuple[Sequence[str], str]) -> None:
    required, expected = required_as
    if not set(required) <= set(names):
        present = ", ".join(name for name in names if name)[:120]
        raise DataError(f"{path.name}: expected the columns {expected}; it has {present}")


def sample_id(typed: str, positions: Mapping[str, int], run: Run) -> str:
    """The id of the typed sample, or of the cell that a CSV file has for it.

    Raises:
        ConfigError: the run has no such sample.
    """
    for name in (typed, csv_text(typed)):
        if name in positions:
            return name
    near = did_you_mean(typed, positions)
    raise ConfigError(f"run {run.id} has no sample {typed!r}{near if near.startswith(':') else ''}")


def labels_jsonl(run: Run, labels: Iterable[Label]) -> Iterator[str]:
    """One line of JSON per label, line end included."""
    for label in labels:
        yield json_line(_plain(run, label)) + "\n"


def labels_csv(run: Run, labels: Iterable[Label]) -> str:
    """A CSV file with a header and a row for each label."""

    def cells(label: Label) -> Iterable[Any]:
        row = _plain(run, label)
        row["scale"] = f"{row['scale'][0]:g}-{row['scale'][1]:g}" if row["scale"] else ""
        row["value"] = _encoded(label.value)
        return row.values()

    return sheet_text(COLUMNS, map(cells, labels))


def _plain(run: Run, label: Label) -> dict[str, Any]:
    scale = list(label.scale) if label.scale else None
    head = {"run": run.id, "sample": label.sample, "repeat": label.repeat, "name": label.name, "kind": label.kind}
    return {**head, "scale": scale, "value": label.value, "author": label.author, "at": label.at.isoformat()}


def _encoded(value: Any) -> str:
    """A text unchanged if reading the cell gives it back; any other text or value as JSON.

    >>> _encoded("pass"), _encoded(4.0), _encoded("4"), _encoded("=1+1"), _encoded(None)
    ('pass', '4.0', '"4"', '"=1+1"', 'null')
    """
    if isinstance(value, str) and value == value.strip() and _decoded(value) == value and csv_cell(value) == value:
        return value if not value.startswith("'") else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=True).replace(";", r"\u003b")  # behind which `csv_cell` may add a sign


def _decoded(cell: Any) -> Any:
    """The value in a cell: parsed JSON, or else the text itself."""
    return parsed_or(cell, cell) if isinstance(cell, str) else cell


def read_labels(run: Run, path: Path) -> list[Label]:
    """The labels of a file that `labels_csv` or `labels_jsonl` wrote, or of one with the same columns.

    Args:
        run: that the labels are about.
        path: a CSV, XLSX, JSON or JSON lines file. `repeat` is 0, `kind` blank and `at` now where the column is absent.

    Raises:
        ConfigError: a sample that the run does not have, or a format that cannot be read.
        DataError: a column is missing, a row is of another run, or a cell cannot be read.
    """
    positions = run.places()
    is_json = path.suffix.lower() in {".json", ".jsonl", ".ndjson"}
    labels = []
    for number, cells in table_rows(path, REQUIRED, _EXPECTED):
        location = f"{path.name} row {number}: "
        try:
            row = {name: "" if cell is None and name != "value" else cell for name, cell in cells.items()}
            _check_run(row, run)
            value = row["value"] if is_json else _decoded("" if row["value"] is None else row["value"])
            _refuse_infinite(value, is_text=row.get("kind") == "text")
            name = sample_id(str(row["sample"]), positions, run)
            labels.append(Label(name, str(row["name"]), value, csv_text(str(row["author"])), *_about(row)))
        except (ConfigError, DataError) as error:
            raise type(error)(f"{location}{error}") from error
    if not labels:
        raise DataError(f"{path.name} contains no labels")
    return labels


def _refuse_infinite(value: Any, *, is_text: bool) -> None:
    """Refuses NaN and infinity: NaN would be stored as no value, which withdraws a label, and `nan` as a text.

    Raises:
        DataError: the value is NaN or infinite in any spelling; a remark may consist of such a word.
    """
    is_number = isinstance(value, float) and not isfinite(value)
    if is_number or (isinstance(value, str) and not is_text and _NOT_FINITE.fullmatch(value)):
        raise DataError(f"value is {value}; expected a finite number, a text or another plain value")


def _check_run(row: Mapping[str, Any], run: Run) -> None:
    if str(row.get("run") or run.id) != run.id:
        raise DataError(f"the row is of run {row['run']}, but {run.id} was given")


def _about(row: Mapping[str, Any]) -> tuple[datetime, int, LabelKind, tuple[float, float] | None]:
    """Time, repeat, kind and scale of a row."""
    try:
        at = datetime.fromisoformat(str(row["at"])) if row.get("at") else datetime.now(UTC)
        repeat = int(row.get("repeat") or 0)
        low, high = _ends(row["scale"]) if row.get("scale") else (0.0, 0.0)
    except ValueError as error:
        raise DataError(f"{error}; expected repeat as a number, at as ISO 8601, scale as 1-5") from error
    if not (isfinite(low) and isfinite(high)):
        raise DataError(f"scale goes from {low} to {high}; expected two finite numbers")
    kind = str(row.get("kind") or "")
    if kind not in get_args(LabelKind):
        raise DataError(f"kind is {kind!r}; expected {', '.join(filter(None, get_args(LabelKind)))}")
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at, repeat, cast("LabelKind", kind), (low, high) if row.get("scale") else None


def _ends(scale: Any) -> tuple[float, float]:
    if isinstance(scale, list | tuple) and len(scale) == 2:
        return float(scale[0]), float(scale[1])
    match = _SCALE.fullmatch(str(scale))
    if match is None:
        raise ValueError(f"scale is {str(scale)[:20]!r}")
    return float(match[1]), float(match[2])
