"""One file of a dataset as rows with ids: what an editor shows, and what a new version of the file is written from.

A run names its file by a hash of the content. A file is opened only where it still has that content, so that nothing
is shown or changed but what a run has really used; whoever can write a store but does not know a file can thus not
have it shown either.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

from steelyard.data.columns import ColumnLayout
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, open_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, cell_at, column_letter, render
from steelyard.errors import ConfigError, DataError

MOST_BYTES: Final = 100_000_000
MOST_ROWS: Final = 250_000
_CHUNK: Final = 1 << 20
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row: the id of its sample, and a cell for each column of the file; None where it has none."""

    id: str
    cells: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """The rows of a file that holds one table.

    Args:
        path: the file.
        digest: hash of its content, as manifests have it.
        columns: a name for each column, all different.
        places: where each column is: its index in a grid, its key in an object.
        roles: role -> the names of its columns, as the suite reads them.
        rows: in the order of the file.
        head: of a grid, the rows down to the header.
        keyed: whether rows are objects (JSON) and not cells of a grid.
        sheet: the sheet's name; "" where the format has none.
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
        """The name of the column with the ids; "" where ids come from the rows' places."""
        return next(iter(self.roles.get("id", ())), "")

    def shown(self, value: Any) -> str:
        """A cell as a person edits it: a text as it is, anything else of an object as JSON.

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
        """The cell that a person's text stands for.

        Args:
            text: as a form sends it; line ends may be those of the browser.
            column: its name, for messages.
            before: the cell as it was; returned as it is where the text says the same.
            like: a cell of the same column, for a row that is new.

        Raises:
            ConfigError: the column holds JSON, and the text is none.
        """
        written = text.replace("\r\n", "\n").replace("\r", "\n")
        if written == self.shown(before).replace("\r\n", "\n").replace("\r", "\n"):
            return before
        kind = like if before is None else before
        if isinstance(kind, str) or kind is None or not written.strip():
            return written
        return _parsed(written, column) if self.keyed else _number(written)


def _parsed(text: str, column: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{column}: this cell holds JSON, such as a list in brackets or a number, and the text is none: {error}"
        ) from error


def _number(text: str) -> Any:
    """The number of a sheet's cell; a text that is none stays one."""
    try:
        return int(text) if text.strip().lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


def digest_of_file(path: Path) -> str:
    """The hash of a regular file's content, as manifests have it.

    Raises:
        ConfigError: it is gone, no regular file (a symbolic link is none), too large, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError as error:
        raise ConfigError(f"{path.name} is not in {path.parent} any more, or never was on this machine") from error
    except OSError as error:
        what = "it is a symbolic link" if path.is_symlink() else str(error.strerror)
        raise ConfigError(f"{path.name} cannot be opened: {what}") from error
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path.name} is no regular file")
    with os.fdopen(descriptor, "rb") as stream:
        if about.st_size > MOST_BYTES:
            raise ConfigError(f"{path.name} has {about.st_size:,} bytes; at most {MOST_BYTES:,} are shown and edited")
        digest = blake2b(digest_size=16)
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_dataset_file(files: SampleFiles, roles: Sequence[Role], digest: str) -> DatasetFile:
    """Read every row of a file whose content is known.

    Args:
        files: the one file, and how its columns are found.
        roles: what the suite looks for.
        digest: hash of the content; "" takes the file as it is.

    Raises:
        ConfigError: the file is gone or has another content, holds several tables, or is too large.
        DataError: it cannot be read, or two rows have one id.
    """
    path = files.paths[0]
    now = digest_of_file(path)
    if digest and now != digest:
        raise ConfigError(
            f"{path.name} was changed on disk: its content has the hash {now[:8]}, and the run's dataset had "
            f"{digest[:8]}. Put the file back as it was, or run it again as it is now"
        )
    tables, _ = open_tables(files, roles)
    if len(tables) != 1:
        raise ConfigError(f"{path.name} holds {len(tables)} sheets with rows; a file with one can be edited")
    (opened,) = tables
    table = opened.table
    if not table.keyed:  # cells as their sheet shows them, of all columns: the suite's alone were looked at so far
        table = table.refined(range(_width(opened)))
        opened = OpenTable(table, opened.layout, opened.prefix)
    lines = list(islice(opened.rows(), MOST_ROWS + 1))
    if len(lines) > MOST_ROWS:
        raise ConfigError(f"{table.name} has more than {MOST_ROWS:,} rows, which are too many to be edited here")
    names, places = _columns(opened, lines)
    rows = tuple(_rows(opened, places, lines))
    by_place = dict(zip(places, names, strict=True))
    found = {role: tuple(by_place[at] for at in columns) for role, columns in opened.layout.columns.items()}
    head = () if table.keyed else tuple(_head(table, opened.layout))
    return DatasetFile(path, now, names, places, found, rows, head, table.keyed, table.sheet)


def _head(table: Table, layout: ColumnLayout) -> Iterator[tuple[Any, ...]]:
    for row in table:
        if not layout.header_row or row.number > layout.header_row:
            return
        yield tuple(row.cells)


def _width(opened: OpenTable) -> int:
    return max([opened.layout.width, *(len(row.cells) for row in opened.rows())])


def _columns(opened: OpenTable, lines: Sequence[Row]) -> tuple[tuple[str, ...], tuple[Column, ...]]:
    """Names and places of all columns: of a grid by its header, else by letter; of objects by key."""
    if opened.table.keyed:
        keys = tuple(dict.fromkeys(str(key) for row in lines for key in row.cells))
        return keys, keys
    headers = opened.layout.headers
    width = max([opened.layout.width, *(len(row.cells) for row in lines)])
    names: list[str] = []
    for place in range(width):
        name = headers.get(place, "")
        names.append(name if name and name not in names else f"{name} ({column_letter(place)})".strip())
    return tuple(names), tuple(range(width))


def _rows(opened: OpenTable, places: Sequence[Column], lines: Sequence[Row]) -> Iterator[DatasetRow]:
    table = opened.table
    filled = _merged_cells(table)
    numbers: dict[str, int] = {}
    for row in lines:
        ident = opened.text(row, "id") or opened.prefix + table.row_id(row.number)
        if (before := numbers.setdefault(ident, row.number)) != row.number:
            other = table.location(before)
            raise DataError(f"{table.location(row.number)}: the same id as {other}: {ident[:40]!r}")
        yield DatasetRow(ident, tuple(_cell(row, place, filled) for place in places))


def _cell(row: Row, place: Column, filled: Mapping[tuple[int, Column], Any]) -> Any:
    value = cell_at(row.cells, place)
    if not filled:
        return value
    return filled.get((row.number, place), value) if value in (None, "") else value


def _merged_cells(table: Table) -> dict[tuple[int, Column], Any]:
    """(row, column) inside a merged area of one column -> the value in its first cell."""
    first = {(merge.first_row, merge.first_column): merge for merge in table.merged}
    if not first:
        return {}
    filled: dict[tuple[int, Column], Any] = {}
    for row in table:
        for (top, left), merge in first.items():
            if top == row.number and merge.last_column == left:
                value = cell_at(row.cells, left)
                filled |= {(number, left): value for number in range(top + 1, merge.last_row + 1)}
    return filled
