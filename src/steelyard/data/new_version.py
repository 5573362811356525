"""Writes a new version of a dataset's file beside the old one, under a name that is made here, and never over a file.

The new file has the same format, columns and ids. It is written under a hidden name, read back, and only then given its
own: who finds it finds it whole. Cells are written exactly as they are, also those that begin with `=`: loaders, which
read the file, know no formulas.
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

from steelyard.data.dataset_file import DatasetFile, digest_of_file
from steelyard.data.encoding import examine_rows
from steelyard.data.packed_rows import DatasetRow, EditedRows, PackedRows
from steelyard.data.paths import base_name
from steelyard.data.table import MISSING
from steelyard.data.text_tables import delimiter_of
from steelyard.errors import ConfigError, DataError

_ID: Final = "id"
_MOST_NAMES: Final = 1_000
"""Names that are tried; others may save at the same time."""
_LONGEST_CELL: Final = 32_767
"""Characters of a cell of a workbook."""


@dataclass(frozen=True, slots=True)
class RowEdit:
    """The change of a draft to one row.

    Args:
        kind: `changed`, `added` or `retired`.
        cells: column -> its new value; of a row that is added, all that are not empty.
    """

    kind: str
    cells: Mapping[str, Any] = field(default_factory=dict)


def unwritable(path: Path) -> str:
    """Why no new version of a file can be written, whatever is changed in it; "" where one can.

    >>> unwritable(Path("a.csv")), unwritable(Path("a.parquet"))[:38]
    ('', 'a new version of a .parquet file canno')
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        return (
            f"a new version of a {suffix or 'such'} file cannot be written here; "
            f"{', '.join(sorted(_WRITERS))} can: convert the file, and run it once"
        )
    if suffix == ".xlsx":
        try:
            import openpyxl  # noqa: F401  # only whether it is there
        except ImportError:
            return 'writing .xlsx needs openpyxl: pip install "steelyard[xlsx]"'
    return ""


def edited_rows(file: DatasetFile, edits: Mapping[str, RowEdit]) -> Sequence[DatasetRow]:
    """The rows of a file after a draft: changed in their place, added ones at the end, retired ones left out."""
    at = {name: place for place, name in enumerate(file.columns)}
    changed: dict[int, DatasetRow | None] = {}
    for place, ident in enumerate(file.ids):
        if (edit := edits.get(ident)) is not None:
            cells = None if edit.kind == "retired" else _with(file.rows[place].cells, at, edit.cells)
            changed[place] = None if cells is None else DatasetRow(ident, cells)
    empty: tuple[Any, ...] = (None,) * len(file.columns)
    added = [DatasetRow(ident, _with(empty, at, edit.cells)) for ident, edit in edits.items() if edit.kind == "added"]
    rows = EditedRows(file.rows, changed, added)
    return rows if isinstance(file.rows, PackedRows) else tuple(rows)


def _with(cells: tuple[Any, ...], at: Mapping[str, int], new: Mapping[str, Any]) -> tuple[Any, ...]:
    changed = list(cells)
    for name, value in new.items():
        if name in at:
            changed[at[name]] = value
    return tuple(changed)


def write_new_version(
    file: DatasetFile, rows: Sequence[DatasetRow], check: Callable[[Path], DatasetFile]
) -> tuple[Path, str]:
    """Write rows beside the file they come from, under the next free name.

    Args:
        file: what the rows are a version of; it has just been read.
        rows: all rows of the new file.
        check: reads the new file as the suite would, and refuses it by an error.

    Returns:
        The new file and the hash of its content.

    Raises:
        ConfigError: there is nothing to write, the format cannot be written, the folder cannot be written to, or what
            would be read back is not what was meant.
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
            return _named(unfinished, file.path), digest
        except OSError as error:
            raise ConfigError(f"{folder} cannot be written to: {error.strerror}") from error
        except DataError as error:  # what the loader says of a file whose name nobody knows
            raise DataError(str(error).replace(unfinished.name, "the new file")) from error
        except UnicodeEncodeError as error:
            raise ConfigError(f"a text holds a character that the file's encoding lacks: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _with_ids(file: DatasetFile, rows: Sequence[DatasetRow]) -> DatasetFile:
    """The rows with their ids in a column: ids from the places of rows would be others when a row is left out."""
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
    at = columns.index(roles["id"][0])
    named = tuple(
        row if row.cells[at] not in (None, "") else DatasetRow(row.id, (*row.cells[:at], row.id, *row.cells[at + 1 :]))
        for row in rows
    )
    return replace(file, columns=columns, places=places, roles=roles, head=head, rows=named)


def _compare(meant: DatasetFile, read: DatasetFile) -> None:
    """Refuse a file that does not say what was meant, such as a cell that its format cannot hold."""
    if [row.id for row in read.rows] != [row.id for row in meant.rows]:
        raise ConfigError("the new file would not have the same ids when it is read; nothing was saved")
    at = {name: place for place, name in enumerate(read.columns)}
    for row, again in zip(meant.rows, read.rows, strict=True):
        for name, value in zip(meant.columns, row.cells, strict=True):
            found = again.cells[at[name]] if name in at else None
            if value != found and meant.shown(value) != read.shown(found):
                raise ConfigError(
                    f"row {row.id}: the cell {name} would be read as another text from a {meant.path.suffix} file: "
                    f"{meant.shown(value)[:80]!r} as {read.shown(found)[:80]!r}; nothing was saved"
                )


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; one that could not be written whole is removed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as stream:
        try:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _named(unfinished: Path, parent: Path) -> Path:
    """Give a whole file the next free name; a name that somebody else takes meanwhile is left to them."""
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
    raise ConfigError(f"{parent.parent} holds too many versions of {stem}")


def _csv(file: DatasetFile) -> bytes:
    text = examine_rows(file.path)
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter_of(text), lineterminator="\n")
    writer.writerows(file.head)
    writer.writerows([file.shown(cell) for cell in row.cells] for row in file.rows)
    return written.getvalue().encode(text.encoding)


def _objects(file: DatasetFile) -> Iterator[dict[str, Any]]:
    """Each row as an object; keys that it does not have are left out."""
    for row in file.rows:
        yield {name: value for name, value in zip(file.columns, row.cells, strict=True) if value is not None}


def _json_lines(file: DatasetFile) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in _objects(file)).encode()


def _json_list(file: DatasetFile) -> bytes:
    """The list of objects; where it stands in an object with other keys, they stay."""
    held = json.loads(file.path.read_text(examine_rows(file.path).encoding))
    entries: Any = list(_objects(file))
    if isinstance(held, dict):
        key = next(
            key for key, value in held.items() if isinstance(value, list) and value and isinstance(value[0], dict)
        )
        entries = {**held, key: entries}
    return (json.dumps(entries, ensure_ascii=False, indent=2) + "\n").encode()


def _workbook(file: DatasetFile) -> bytes:
    """One sheet with every text as a text; its other sheets, merged cells and colours are not kept."""
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
            # Set past the cell's own guess: a text that begins with "=" would become a formula.
            cell._value, cell.data_type = text, "s"  # noqa: SLF001
            line.append(cell)
        sheet.append(line)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


_WRITERS: Final[Mapping[str, Callable[[DatasetFile], bytes]]] = MappingProxyType(
    {".csv": _csv, ".tsv": _csv, ".jsonl": _json_lines, ".json": _json_list, ".xlsx": _workbook}
)
