"""Files of datasets as rows with ids, for showing, editing and writing new versions; what two versions differ in.

A run names its file by a hash of the content. A file is opened only if it still has that content, so that only data
that a run has really used is shown or changed; somebody who can write to the store cannot make it show other files.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

from steelyard.data.columns import ColumnLayout
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, open_tables, with_merged
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, cell_at, column_letter, plain_cell, render
from steelyard.errors import ConfigError, DataError

MOST_BYTES: Final = 100_000_000
MOST_ROWS: Final = 250_000
_CHUNK: Final = 1 << 20
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row: the id of its sample, and a cell for each column of the file; None for a missing cell."""

    id: str
    cells: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """The rows of a file that holds one table.

    Args:
        path: the file.
        digest: hash of its content, as in manifests.
        columns: a name for each column, all different.
        places: the position of each column: its index in a grid, or its key in an object.
        roles: role -> the names of its columns, as the suite reads them.
        rows: in the order of the file.
        head: for a grid, the rows down to the header.
        keyed: whether rows are objects (JSON) and not cells of a grid.
        sheet: the sheet's name; "" if the format has no sheets.
    """

    path: Path
    digest: str
    columns: tuple[str, ...]
    places: tuple[Column, ...]
    roles: Mapping[str, tuple[str, ...]]
    rows: tuple[DatasetRow, ...]
    head: tuple[tuple[Any, ...], ...] = ()
    keyed: bool = True
    sheet: str = ""

    @property
    def id_column(self) -> str:
        """The name of the column with the ids; "" if ids come from the positions of rows."""
        return next(iter(self.roles.get("id", ())), "")

    @property
    def ids(self) -> Sequence[str]:
        """The ids of the rows, in order."""
        return [row.id for row in self.rows]

    def shown(self, value: Any) -> str:
        """A cell as text for editing: a text unchanged, any other value of an object as JSON.

        >>> file = DatasetFile(Path("a.jsonl"), "", (), (), {}, ())
        >>> file.shown("a b"), file.shown(["a"]), file.shown(None)
        ('a b', '["a"]', '')
        """
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        return json.dumps(value, ensure_ascii=False) if self.keyed else render(value)

    def typed(self, text: str, column: str, before: Any, like: Any = None) -> Any:
        """Convert an edited text back to a cell.

        Args:
            text: as a form sends it; line ends may be those of the browser.
            column: its name, for messages.
            before: the cell before the edit; it is returned unchanged if the text is equal.
            like: a cell of the same column, which gives the type for a new row.

        Raises:
            ConfigError: the column holds JSON and the text is not JSON, or no dataset file can hold the value.
        """
        return _storable(self._typed(text, column, before, like), column)

    def _typed(self, text: str, column: str, before: Any, like: Any) -> Any:
        written = text.replace("\r\n", "\n").replace("\r", "\n")
        if written == self.shown(before).replace("\r\n", "\n").replace("\r", "\n"):
            return before
        kind = like if before is None else before
        if isinstance(kind, str) or kind is None or not written.strip():
            return written
        return _parsed(written, column) if self.keyed else _number(written)


def _storable(cell: Any, column: str) -> Any:
    """Return `cell` if a file can hold it; checked at once and not only when the draft is saved, maybe days later.

    Raises:
        ConfigError: a text in it has a NUL character or half a surrogate pair, or a number has too many digits.
    """
    try:
        plain_cell(cell)
    except ValueError as error:
        raise ConfigError(f"{column}: {error}, which a dataset cannot hold") from error
    return cell


def _parsed(text: str, column: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{column}: this cell holds JSON, such as a list in brackets or a number, and the text is not JSON: {error}"
        ) from error


def _number(text: str) -> Any:
    """The text as a number, for a cell of a sheet; any other text is returned unchanged."""
    try:
        return int(text) if text.strip().lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


def digest_of_file(path: Path) -> str:
    """The hash of a regular file's content, as in manifests.

    Raises:
        ConfigError: it does not exist, is not a regular file (or is a symbolic link), is too large, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError as error:
        raise ConfigError(f"{path.name} is no longer in {path.parent}, or never was on this machine") from error
    except OSError as error:
        what = "it is a symbolic link" if path.is_symlink() else str(error.strerror)
        raise ConfigError(f"{path.name} cannot be opened: {what}") from error
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path.name} is not a regular file")
    with os.fdopen(descriptor, "rb") as stream:
        if about.st_size > MOST_BYTES:
            raise ConfigError(f"{path.name} has {about.st_size:,} bytes; at most {MOST_BYTES:,} are shown and edited")
        digest = blake2b(digest_size=16)
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_dataset_file(files: SampleFiles, roles: Sequence[Role], digest: str) -> DatasetFile:
    """Read every row of a file, if it still has the content that a run used.

    Args:
        files: the file, and how its columns are found.
        roles: the roles that the suite needs.
        digest: expected hash of the content; "" accepts any content.

    Raises:
        ConfigError: the file does not exist, has other content, holds several tables, or is too large.
        DataError: it cannot be read, or two rows have the same id.
    """
    path = files.paths[0]
    actual = digest_of_file(path)
    if digest and actual != digest:
        raise ConfigError(
            f"{path.name} was changed on disk: its content has the hash {actual[:8]}, and the run's dataset had "
            f"{digest[:8]}. Put the file back as it was, or run it again as it is now"
        )
    tables, _ = open_tables(files, roles)
    if len(tables) != 1:
        raise ConfigError(f"{path.name} holds {len(tables)} sheets with rows; a file with one can be edited")
    (opened,) = tables
    if not opened.table.keyed:  # read all columns as the sheet shows them; so far only those of the suite were read
        opened = replace(opened, table=opened.table.refined(range(_width(opened, opened.rows()))))
    table, layout = opened.table, opened.layout
    opened = replace(opened, table=with_merged(table, layout.columns.get("id", ())))
    read = list(islice(opened.rows(), MOST_ROWS + 1))
    if len(read) > MOST_ROWS:
        raise ConfigError(f"{table.name} has more than {MOST_ROWS:,} rows, too many for editing")
    keys = dict.fromkeys(str(key) for row in read for key in row.cells) if table.keyed else ()
    places: tuple[Column, ...] = tuple(keys) if table.keyed else tuple(range(_width(opened, read)))
    names = _names(places, layout.headers)
    name_at = dict(zip(places, names, strict=True))
    role_names = {role: tuple(name_at[column] for column in columns) for role, columns in layout.columns.items()}
    head = () if table.keyed else tuple(_head(table, layout))
    rows = tuple(_rows(opened, read, places))
    return DatasetFile(path, actual, names, places, role_names, rows, head, table.keyed, table.sheet)


def _head(table: Table, layout: ColumnLayout) -> Iterator[tuple[Any, ...]]:
    for row in table:
        if not layout.header_row or row.number > layout.header_row:
            return
        yield tuple(row.cells)


def _width(opened: OpenTable, rows: Iterable[Row]) -> int:
    return max([opened.layout.width, *(len(row.cells) for row in rows)])


def _names(places: Sequence[Column], headers: Mapping[Column, str]) -> tuple[str, ...]:
    """A name for each column: its key, its header or its letter."""
    names: list[str] = []
    for place in places:
        if isinstance(place, str):
            names.append(place)
            continue
        header = headers.get(place, "")
        names.append(header if header and header not in names else f"{header} ({column_letter(place)})".strip())
    return tuple(names)


def _rows(opened: OpenTable, rows: Sequence[Row], places: Sequence[Column]) -> Iterator[DatasetRow]:
    table = opened.table
    numbers: dict[str, int] = {}
    for row in rows:
        ident = opened.text(row, "id") or opened.prefix + table.row_id(row.number)
        if (before := numbers.setdefault(ident, row.number)) != row.number:
            other = table.location(before)
            raise DataError(f"{table.location(row.number)}: the same id as {other}: {ident[:40]!r}")
        yield DatasetRow(ident, tuple(cell_at(row.cells, place) for place in places))


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that differs, as texts; "" if a version does not have it."""

    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that both versions have, and its cells that differ."""

    id: str
    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class DatasetDifference:
    """The rows in which two versions differ.

    Args:
        added: rows only in the later version, each with its cells as texts by column.
        changed: rows in both versions, in the order of the later one.
        retired: rows only in the earlier version, as `added`.
        same: number of equal rows.
    """

    added: tuple[RowDifference, ...]
    changed: tuple[RowDifference, ...]
    retired: tuple[RowDifference, ...]
    same: int

    @property
    def counts(self) -> dict[str, int]:
        """The number of added, changed and retired rows."""
        return {"added": len(self.added), "changed": len(self.changed), "retired": len(self.retired)}

    def json_fields(self) -> dict[str, Any]:
        """Cells by column, each as [before, after]."""
        return {
            name: [
                {"id": row.id, "cells": {cell.column: (cell.before, cell.after) for cell in row.cells}} for row in rows
            ]
            for name, rows in (("added", self.added), ("changed", self.changed), ("retired", self.retired))
        } | {"same": self.same}


def dataset_difference(before: DatasetFile, after: DatasetFile) -> DatasetDifference:
    """Compare rows by id and cells by column name; an empty and a missing cell are equal."""
    id_columns = {before.id_column, after.id_column}
    columns = [name for name in dict.fromkeys((*before.columns, *after.columns)) if name not in id_columns]
    old_rows, new_rows = ({row.id: row for row in file.rows} for file in (before, after))

    def difference(old: DatasetRow | None, new: DatasetRow | None, ident: str) -> RowDifference:
        texts, new_texts = _texts(before, old), _texts(after, new)
        pairs = ((name, texts.get(name, ""), new_texts.get(name, "")) for name in columns)
        return RowDifference(ident, tuple(CellChange(*pair) for pair in pairs if pair[1] != pair[2]))

    added = tuple(difference(None, row, row.id) for row in after.rows if row.id not in old_rows)
    retired = tuple(difference(row, None, row.id) for row in before.rows if row.id not in new_rows)
    both = [(old_rows[row.id], row) for row in after.rows if row.id in old_rows]
    is_same_form = before.columns == after.columns  # most rows are equal then, which takes no texts
    unlike = [pair for pair in both if not is_same_form or pair[0].cells != pair[1].cells]
    changed = tuple(row for old, new in unlike if (row := difference(old, new, new.id)).cells)
    return DatasetDifference(added, changed, retired, len(both) - len(changed))


def _texts(file: DatasetFile, row: DatasetRow | None) -> dict[str, str]:
    """The cells of a row as texts, by column; none for no row."""
    return {} if row is None else dict(zip(file.columns, map(file.shown, row.cells), strict=True))
