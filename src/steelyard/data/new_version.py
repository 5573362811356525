"""Writes a new version of a dataset's file next to the old one, under the next free name; no file is overwritten.

The new file has the same format, columns and ids. It is written under a hidden name, read back, and only then renamed,
so that a file with the final name is always complete. Cells are written unchanged, even those that begin with `=`: the
loaders that read the file do not evaluate formulas.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from errno import EEXIST
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import Any, Final

from steelyard.data.dataset_file import DatasetFile, DatasetRow, digest_of_file
from steelyard.data.encoding import examine_rows
from steelyard.data.paths import base_name
from steelyard.data.table import MISSING
from steelyard.data.text_tables import QUESTION_SET, delimiter_of
from steelyard.errors import ConfigError, DataError, install_command
from steelyard.escaping import quoted_cell
from steelyard.files import open_private

_ID: Final = "id"
_MOST_NAMES: Final = 1_000
"""Maximum number of names that are tried; other people may save at the same time."""
_LONGEST_CELL: Final = 32_767
"""Maximum characters of a cell of a workbook."""


@dataclass(frozen=True, slots=True)
class RowEdit:
    """The change of a draft to one row.

    Args:
        kind: `changed`, `added` or `retired`.
        cells: column -> its new value; for an added row, all cells that are not empty.
    """

    kind: str
    cells: Mapping[str, Any] = field(default_factory=dict)


def unwritable(path: Path) -> str:
    """The reason why no new version of a file can be written; "" if it can.

    >>> unwritable(Path("a.csv")), unwritable(Path("a.parquet"))[:38]
    ('', 'a new version of a .parquet file canno')
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        return (
            f"a new version of a {suffix or 'such'} file cannot be written; "
            f"{', '.join(sorted(_WRITERS))} can: convert the file, and run it once"
        )
    if suffix == ".xlsx":
        try:
            import openpyxl  # noqa: F401  # only checks whether it is installed
        except ImportError:
            return f"writing .xlsx needs openpyxl: {install_command('xlsx')}"
    return ""


def edited_rows(file: DatasetFile, edits: Mapping[str, RowEdit]) -> tuple[DatasetRow, ...]:
    """The rows of a file with a draft applied: changed rows in place, added ones at the end, without retired ones."""
    column_index = {name: position for position, name in enumerate(file.columns)}
    rows: list[DatasetRow] = []
    for row in file.rows:
        edit = edits.get(row.id)
        if edit is None:
            rows.append(row)
        elif edit.kind != "retired":
            rows.append(DatasetRow(row.id, _with(row.cells, column_index, edit.cells)))
    empty: tuple[Any, ...] = (None,) * len(file.columns)
    for ident, edit in edits.items():
        if edit.kind == "added":
            rows.append(DatasetRow(ident, _with(empty, column_index, edit.cells)))
    return tuple(rows)


def _with(cells: tuple[Any, ...], column_index: Mapping[str, int], new_values: Mapping[str, Any]) -> tuple[Any, ...]:
    changed = list(cells)
    for name, value in new_values.items():
        if name in column_index:
            changed[column_index[name]] = value
    return tuple(changed)


def write_new_version(
    file: DatasetFile, rows: Sequence[DatasetRow], check: Callable[[Path], DatasetFile]
) -> tuple[Path, str]:
    """Write rows next to the file they come from, under the next free name.

    Args:
        file: the file of which the rows are a new version; it has just been read.
        rows: all rows of the new file.
        check: reads the new file as the suite would, and raises an error if it is not valid.

    Returns:
        The new file and the hash of its content.

    Raises:
        ConfigError: there is nothing to write, the format cannot be written, the folder is not writable, or reading
            the new file does not give the same rows.
    """
    if reason := unwritable(file.path):
        raise ConfigError(reason)
    if not rows:
        raise ConfigError("every row is retired: a dataset has at least one")
    whole = _with_ids(file, rows)
    folder, suffix = file.path.parent, file.path.suffix
    unfinished = folder / f".{base_name(file.path.name)[0][:100]}.{token_hex(8)}.new{suffix}"
    try:
        try:
            _write_new(unfinished, _WRITERS[suffix.lower()](whole))
            _compare(whole, check(unfinished))
            digest = digest_of_file(unfinished)
            return _renamed(unfinished, file.path), digest
        except OSError as error:
            raise ConfigError(f"{folder} cannot be written to: {error.strerror}") from error
        except DataError as error:  # the loader's message names the hidden file
            raise DataError(str(error).replace(unfinished.name, "the new file")) from error
        except UnicodeEncodeError as error:
            raise ConfigError(f"a text has a character that the file's encoding lacks: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _with_ids(file: DatasetFile, rows: Sequence[DatasetRow]) -> DatasetFile:
    """The file with its ids in a column: ids from the positions of rows would change when a row is left out."""
    columns, places, roles, head = file.columns, file.places, file.roles, file.head
    if not file.id_column:
        if not file.keyed and not head:
            raise ConfigError(
                f"{file.path.name} has neither ids nor a header, so that rows would change their ids; write a header "
                "with a column id into it, and run it once"
            )
        columns, roles = (*columns, _ID), {**roles, "id": (_ID,)}
        places = (*places, _ID if file.keyed else len(places))
        width = len(columns)
        head = tuple((*line, *([MISSING] * (width - 1 - len(line))), MISSING) for line in head)
        head = (*head[:-1], (*head[-1][:-1], _ID)) if head else ()
        rows = [DatasetRow(row.id, (*row.cells, row.id)) for row in rows]
    id_index = columns.index(roles["id"][0])
    rows_with_ids = tuple(
        row
        if row.cells[id_index] not in (None, "")
        else DatasetRow(row.id, (*row.cells[:id_index], row.id, *row.cells[id_index + 1 :]))
        for row in rows
    )
    return replace(file, columns=columns, places=places, roles=roles, head=head, rows=rows_with_ids)


def _compare(intended: DatasetFile, read: DatasetFile) -> None:
    """Reject a written file that is read back with other rows, for example because its format cannot hold a cell."""
    if [row.id for row in read.rows] != [row.id for row in intended.rows]:
        raise ConfigError("the new file would not have the same ids when it is read; nothing was saved")
    column_index = {name: position for position, name in enumerate(read.columns)}
    for row, read_row in zip(intended.rows, read.rows, strict=True):
        for name, value in zip(intended.columns, row.cells, strict=True):
            read_value = read_row.cells[column_index[name]] if name in column_index else None
            if value != read_value and intended.shown(value) != read.shown(read_value):
                raise ConfigError(
                    f"row {row.id}: the cell {name} would be read as another text from a {intended.path.suffix} file: "
                    f"{intended.shown(value)[:80]!r} as {read.shown(read_value)[:80]!r}; nothing was saved"
                )


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that does not exist yet; it is removed if it cannot be written completely."""
    with open_private(path, "xb") as stream:
        try:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _renamed(unfinished: Path, parent: Path) -> Path:
    """Give a complete file the next free name; if somebody else takes that name first, the one after it is used."""
    stem, _ = base_name(parent.name)
    taken = [base_name(path.name)[1] for path in parent.parent.iterdir() if base_name(path.name)[0] == stem]
    number = max([1, *taken]) + 1
    for version in range(number, number + _MOST_NAMES):
        path = parent.with_name(f"{stem}.v{version}{parent.suffix}")
        try:
            os.link(unfinished, path)
        except OSError as error:
            if error.errno == EEXIST:
                continue
            try:  # a file system without links
                _write_new(path, unfinished.read_bytes())
            except FileExistsError:
                continue
        return path
    raise ConfigError(f"{parent.parent} has too many versions of {stem}")


def _csv(file: DatasetFile) -> bytes:
    text = examine_rows(file.path)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter_of(text), lineterminator="\n")
    writer.writerows(file.head)
    shown = (lambda cell: quoted_cell(file.shown(cell))) if file.columns == QUESTION_SET else file.shown
    writer.writerows(map(shown, row.cells) for row in file.rows)
    return buffer.getvalue().encode(text.encoding)


def _objects(file: DatasetFile) -> Iterator[dict[str, Any]]:
    """Each row as an object; keys without a value are left out."""
    for row in file.rows:
        yield {name: value for name, value in zip(file.columns, row.cells, strict=True) if value is not None}


def _json_lines(file: DatasetFile) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in _objects(file)).encode()


def _json_list(file: DatasetFile) -> bytes:
    """The list of objects; if it is in an object with other keys, they are kept."""
    original = json.loads(file.path.read_text(examine_rows(file.path).encoding))
    entries: Any = list(_objects(file))
    if isinstance(original, dict):
        key = next(
            key for key, value in original.items() if isinstance(value, list) and value and isinstance(value[0], dict)
        )
        entries = {**original, key: entries}
    return (json.dumps(entries, ensure_ascii=False, indent=2) + "\n").encode()


def _workbook(file: DatasetFile) -> bytes:
    """One sheet with every text as a text; other sheets, merged cells and colours are not kept."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(file.sheet or "Sheet1")
    for cells in (*file.head, *(row.cells for row in file.rows)):
        line: list[Any] = []
        for value in cells:
            if isinstance(value, int | float) or value is None or value == "":
                line.append(value if value != "" else None)
                continue
            text = file.shown(value)
            if len(text) > _LONGEST_CELL:
                sheet.close()
                raise DataError(f"a cell of a workbook has at most {_LONGEST_CELL:,} characters, not {len(text):,}")
            cell = WriteOnlyCell(sheet, "")
            # Set directly, because openpyxl would turn a text that begins with "=" into a formula.
            cell._value, cell.data_type = text, "s"  # noqa: SLF001
            line.append(cell)
        sheet.append(line)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


_WRITERS: Final[Mapping[str, Callable[[DatasetFile], bytes]]] = MappingProxyType(
    {".csv": _csv, ".tsv": _csv, ".jsonl": _json_lines, ".json": _json_list, ".xlsx": _workbook}
)
