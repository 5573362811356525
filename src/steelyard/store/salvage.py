"""Recovers a damaged SQLite store into a new one; the damaged file is copied and never written.

Row by row, every table is copied into an empty store. A lost row that another row refers to is replaced by a marked
placeholder, so that everything is then read in the ordinary way: a record whose sample, reply or scores are lost is a
damaged record that says so, and a record without damage is the very one that was stored. Bodies carry checksums,
samples the hash of their content, and a run the checksum of all its rows.

SQLite ends a query where it meets a damaged page. Pages hold rows in the order of their keys, so the rows behind the
page are reached by asking for larger keys: from the last key downwards, and then by halving what is left between. What
stays unreachable is a gap between two keys, which tells later which rows may be missing.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from steelyard.errors import ConfigError, StoreError
from steelyard.plain_json import from_json
from steelyard.store import schema
from steelyard.store.codec import Unpacker
from steelyard.store.records import MOST_STAGES, sample_hash
from steelyard.store.schema_version import ROWS, check_version
from steelyard.store.sqlite_objects import acting_objects, altered_objects, listed_names

# Places in a SQLite file, here and in `_give_schema`, are those of https://www.sqlite.org/fileformat2.html. Of the head
# (bytes 0-99), 24-27 count changes, 28-31 pages; 32-39 are about free pages; 92-95 repeat the count of changes. Then
# comes the root page of the schema: its type at 100, its number of cells at 103, its last child at 108, and from 112 on
# where its cells are.
_PAGE_BYTES: Final = 4096
"""SQLite's own default, with which every store is created."""
_HEAD_BYTES: Final = 100
_INTERIOR: Final = 5
"""Type of a page that holds the numbers of other pages."""

Key = tuple[int, ...]
Row = tuple[Any, ...]

_MOST_PROBES: Final = 20_000
"""Queries per table that look for rows between two damaged pages; each takes some 20 microseconds."""
_MOST_GAPS: Final = 100_000
_BELOW_ALL: Final = -2
"""Below every part of a key: the parts of checksums begin at -1, all others at 0."""
_FARTHEST: Final = 1e12
_GROWTH: Final = 1.2
"""Steps beyond a damaged last page grow by a fifth up to `_FARTHEST`: 147 queries for each part of a key, and what is
jumped over is at most a sixth of the distance. It is then searched by halving."""


class Gap(NamedTuple):
    """Keys between which rows may be missing; None is the beginning or the end of the table."""

    after: Key | None
    before: Key | None

    def may_hold(self, prefix: Key) -> bool:
        """Whether a row whose key begins with `prefix` may be missing.

        >>> Gap((1, 4), (1, 7)).may_hold((1, 5)), Gap((1, 4), None).may_hold((1, 3))
        (True, False)
        """
        n = len(prefix)
        return (self.after is None or self.after[:n] <= prefix) and (self.before is None or prefix <= self.before[:n])


@dataclass(slots=True)
class RecoveredRows:
    """What was found of a damaged store, and what was lost.

    Attributes:
        gaps: table -> the gaps in which rows may be missing.
        placeholders: numbers of runs whose manifest cannot be read.
        lost_runs: those whose whole row cannot be read; they have the id `run-NUMBER`.
        lost_names: numbers of scores' names that cannot be read.
        notes: what is wrong with the file as a whole.
    """

    gaps: dict[str, list[Gap]] = field(default_factory=dict)
    placeholders: set[int] = field(default_factory=set)
    lost_runs: set[int] = field(default_factory=set)
    lost_names: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def recover_rows(where: Path, folder: Path, new_path: Path) -> RecoveredRows:
    """Recover all readable rows of a store into a new one.

    Args:
        where: the file of the damaged store; it is only read.
        folder: an empty one, for a copy of the file.
        new_path: a new store without rows.

    Raises:
        ConfigError: there is no such file, or nothing is in it.
        StoreError: nothing of it can be read, or it is of another version.
    """
    if not where.is_file() or not where.stat().st_size:
        raise ConfigError(f"there is no store at {where}" + (": the file is empty" if where.is_file() else ""))
    salvaged = RecoveredRows()
    copy = _copied(where, folder, new_path, salvaged.notes)
    with closing(sqlite3.connect(copy)) as damaged, closing(sqlite3.connect(new_path)) as new:
        damaged.text_factory = bytes
        damaged.execute("PRAGMA cell_size_check = ON")
        _check_version(damaged, where)
        table_names = {str(name, "utf-8", "replace") for (name,) in damaged.execute("SELECT name FROM sqlite_master")}
        for table in schema.TABLES:
            copied = table.name != schema.about.name and table.name in table_names
            if copied and (gaps := _copy_rows(damaged, new, table)):
                salvaged.gaps[table.name] = gaps
        if salvaged.notes and not new.total_changes:
            raise _unreadable(where)
        _blank_altered_samples(new)
        _insert_placeholders(new, salvaged)
        new.commit()
    return salvaged


def _copied(where: Path, folder: Path, new_path: Path, notes: list[str]) -> Path:
    """A copy of the file and its log that SQLite opens."""
    copy = folder / "damaged.db"
    try:
        shutil.copyfile(where, copy)
        log = where.with_name(f"{where.name}-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name("damaged.db-wal"))
    except OSError as error:
        raise StoreError(f"{where} cannot be copied to {folder}: {error.strerror}") from error
    size = copy.stat().st_size
    with copy.open("r+b") as file:
        head = file.read(_HEAD_BYTES)
        pages = max(int.from_bytes(head[28:32], "big"), -(-size // _PAGE_BYTES))
        if pages <= 2 * size // _PAGE_BYTES + 16:  # else the number itself is damaged, and would fill the disk
            file.truncate(max(pages * _PAGE_BYTES, size))  # a page that is cut off is then one that is damaged
    _remove_foreign_objects(copy, notes)
    if not _opens(copy):
        notes.append("the pages with the schema cannot be read: those of a new store were used instead")
        _give_schema(copy, new_path)
        if not _opens(copy):
            raise _unreadable(where)
    return copy


def _unreadable(where: Path) -> StoreError:
    return StoreError(f"nothing of {where} can be read: it is not a SQLite file, or its head is lost")


def _give_schema(copy: Path, new_path: Path) -> None:
    """Write the schema's pages of a new store over those of a copy: tables are made in one order, so they begin there.

    The first page is the head and the root of the schema's tree, whose children it names.
    """
    sound = new_path.read_bytes()
    first_page = bytearray(sound[:_PAGE_BYTES])
    children = []
    if first_page[_HEAD_BYTES] == _INTERIOR:
        cells = int.from_bytes(first_page[103:105], "big")
        starts = [int.from_bytes(first_page[112 + 2 * n : 114 + 2 * n], "big") for n in range(cells)]
        children = [int.from_bytes(first_page[start : start + 4], "big") for start in (*starts, 108)]
    pages = max(copy.stat().st_size // _PAGE_BYTES, *children, 1)
    first_page[28:40] = pages.to_bytes(4, "big") + bytes(8)  # pages, and none that is free
    first_page[92:96] = first_page[24:28]  # the number of pages counts only where these are equal
    with copy.open("r+b") as file:
        file.write(first_page)
        for page in children:
            file.seek((page - 1) * _PAGE_BYTES)
            file.write(sound[(page - 1) * _PAGE_BYTES : page * _PAGE_BYTES])


def _remove_foreign_objects(copy: Path, notes: list[str]) -> None:
    """Give our tables their own texts in the schema of a copy, and remove what no store holds: views and the like."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        objects = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        foreign = list(dict.fromkeys([*acting_objects(objects), *altered_objects(objects)]))
        connection.execute("PRAGMA writable_schema = ON")
        texts = {table.name: table.definition("sqlite")[0] for table in schema.TABLES}
        for name in texts.keys() & set(foreign):
            update = "UPDATE main.sqlite_master SET sql = ? WHERE name = ? AND rootpage > 0"
            connection.execute(update, [texts[name], name])
        # In one statement, as there may be thousands of them.
        connection.execute("CREATE TEMP TABLE foreign_name (name, is_ours)")
        rows = ((name, name in texts) for name in foreign)
        connection.executemany("INSERT INTO temp.foreign_name VALUES (?, ?)", rows)
        connection.execute(
            "DELETE FROM main.sqlite_master WHERE name IN (SELECT name FROM temp.foreign_name WHERE NOT is_ours)"
            " OR (rootpage = 0 AND name IN (SELECT name FROM temp.foreign_name))"
        )
        if foreign:
            notes.append(f"the schema holds {listed_names(foreign)}, which no store has: it was not read")


def _opens(copy: Path) -> bool:
    """Whether SQLite finds our tables in it."""
    try:
        with closing(sqlite3.connect(copy)) as connection:
            connection.text_factory = bytes
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            connection.execute("SELECT count(*) FROM (SELECT 1 FROM run LIMIT 0)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        return False
    return {b"run", b"record", b"score", b"reply", b"sample"} <= names


def _check_version(damaged: sqlite3.Connection, where: Path) -> None:
    try:
        rows = damaged.execute(ROWS).fetchall()
        about = {str(name, "ascii"): str(value, "ascii") for name, value in rows}
    except (sqlite3.Error, TypeError, UnicodeDecodeError):
        return  # it cannot be read: the tables have the names and columns of this version
    if about:
        check_version(where, about)


def _copy_rows(damaged: sqlite3.Connection, new: sqlite3.Connection, table: schema.StoredTable) -> list[Gap]:
    walk = RowWalk(damaged, table)
    marks = ", ".join("?" * len(table.columns))
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    insert = f'INSERT OR IGNORE INTO "{table.name}" ({names}) VALUES ({marks})'
    for row in walk.rows():
        new.execute(insert, row)
    return walk.gaps


def _blank_altered_samples(new: sqlite3.Connection) -> None:
    """Remove the body of each sample that does not match its hash: it must not be read as the true one."""

    def dictionary(number: int) -> bytes:
        row = new.execute("SELECT data FROM dictionary WHERE num = ?", [number]).fetchone()
        if row is None:
            raise StoreError(f"dictionary {number} is missing")
        return bytes(row[0])

    unpacker = Unpacker(dictionary)
    altered = []
    for num, stored_hash, ident, group, cluster, body in new.execute(
        "SELECT num, hash, id, grp, cluster, body FROM sample"
    ):
        try:
            sound = sample_hash(ident, group, cluster, unpacker.unpack(body)) == stored_hash
        except StoreError:
            sound = False
        if not sound:
            altered.append((num,))
    new.executemany("UPDATE sample SET body = X'' WHERE num = ?", altered)


def _insert_placeholders(new: sqlite3.Connection, salvaged: RecoveredRows) -> None:
    """Replace lost rows that other rows refer to."""
    lost_words = new.execute("SELECT DISTINCT name FROM score WHERE name NOT IN (SELECT num FROM word)").fetchall()
    salvaged.lost_names = {name for (name,) in lost_words}
    new.executemany("INSERT INTO word (num, text) VALUES (?, ?)", [(name, f"score {name}") for (name,) in lost_words])
    lost_samples = new.execute(
        "SELECT DISTINCT sample FROM record WHERE sample NOT IN (SELECT num FROM sample)"
    ).fetchall()
    rows = [(num, num, f"(sample number {num})", "", "", b"") for (num,) in lost_samples]
    new.executemany("INSERT OR IGNORE INTO sample (num, hash, id, grp, cluster, body) VALUES (?, ?, ?, ?, ?, ?)", rows)
    manifest = json.dumps(
        {"stages": ["target", *(f"stage {n}" for n in range(1, MOST_STAGES + 1))], "tags": {}, "scores": []}
    )
    for num, text in new.execute("SELECT num, manifest FROM run").fetchall():
        if not _is_manifest(text):
            salvaged.placeholders.add(num)
            new.execute("UPDATE run SET manifest = ? WHERE num = ?", [manifest, num])
    runs = new.execute("SELECT DISTINCT run FROM record WHERE run NOT IN (SELECT num FROM run)").fetchall()
    for (num,) in runs:
        salvaged.lost_runs.add(num)
        values = (num, f"run-{num}", 0, "", "custom", "(unknown target)", "broken", 0.0, 0, manifest)
        new.execute(
            "INSERT INTO run (num, id, evaluation, suite, kind, target, state, created, planned, manifest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        layer = new.execute("SELECT max(layer) FROM score WHERE run = ?", [num]).fetchone()[0]
        new.execute("UPDATE run SET layer = ? WHERE num = ?", [layer or 0, num])


def _is_manifest(text: str) -> bool:
    try:
        manifest = from_json(text)
    except ValueError:
        return False
    return isinstance(manifest, dict) and isinstance(manifest.get("stages"), list)


class RowWalk:
    """Reads one table of a damaged file.

    Args:
        connection: to a copy of the file; its `text_factory` is `bytes`.
        table: one whose primary key is made of whole numbers.

    Attributes:
        gaps: in which rows may be missing; complete once `rows` has come to its end.
    """

    def __init__(self, connection: sqlite3.Connection, table: schema.StoredTable) -> None:
        self.gaps: list[Gap] = []
        self._connection = connection
        self._table = table
        self._keys = [column.name for column in table.columns if column.key]
        self._key_columns = [index for index, column in enumerate(table.columns) if column.key]
        self._checks = [_type_check(column) for column in table.columns]
        self._probes = 0
        self._ended = False

    def rows(self) -> Iterator[Row]:
        """Every row that can be read and holds values of the types that its columns have."""
        low = (_BELOW_ALL,) * len(self._keys)
        for key, row in self._pass("ASC", None, None):
            low = key
            yield row
        if self._reached_end():
            return
        high: Key | None = None
        for key, row in self._pass("DESC", low, None):
            high = key
            yield row
        if self._reached_end():
            return
        yield from self._above(low) if high is None else self._between(low, high)

    def _above(self, low: Key) -> Iterator[Row]:
        """Rows above a key where the last page of the table is damaged: larger keys are tried, in growing steps."""
        done = False
        while not done:
            start: Key | None = None
            end = low
            for candidate in _above(low):
                for key, row in self._pass("ASC", candidate, None, included=True):
                    start, end = start or key, key
                    yield row
                done = self._reached_end()
                if done or start is not None:
                    break
            if start is None:
                self.gaps.append(Gap(low, None))
                return
            yield from self._between(low, start)
            low = end

    def _between(self, after: Key, before: Key) -> Iterator[Row]:
        """Rows between two keys that are known, by halving what lies between."""
        intervals = deque([(after, before)])
        while intervals:
            low, high = intervals.popleft()
            middle = _middle(low, high)
            if middle is None or self._probes >= _MOST_PROBES or self._is_exhausted():
                self.gaps.append(Gap(low, high))
                continue
            self._probes += 1
            up = down = None
            for key, row in self._pass("ASC", middle, high, included=True):
                up = key
                yield row
            done_up = self._reached_end()
            for key, row in self._pass("DESC", low, middle):
                down = key
                yield row
            done_down = self._reached_end()
            if not done_down:
                intervals.append((low, down or middle))
            if not done_up:
                intervals.append((up or middle, high))

    def _pass(
        self, order: Literal["ASC", "DESC"], after: Key | None, before: Key | None, *, included: bool = False
    ) -> Iterator[tuple[Key, Row]]:
        """(key, row) between two keys in one order, up to an unreadable page; `_ended` is whether there was none."""
        self._ended = False
        if self._is_exhausted():
            return
        names = ", ".join(f'"{name}"' for name in self._keys)
        marks = ", ".join("?" * len(self._keys))
        bounds = [(">=" if included else ">", after), ("<", before)]
        where = " AND ".join(f"({names}) {sign} ({marks})" for sign, key in bounds if key is not None) or "1"
        ordered = ", ".join(f'"{name}" {order}' for name in self._keys)
        columns = ", ".join(f'"{column.name}"' for column in self._table.columns)
        values = [part for _, key in bounds for part in key or ()]
        query = f'SELECT {columns} FROM "{self._table.name}" WHERE {where} ORDER BY {ordered}'
        previous: Key | None = None
        try:
            for stored in self._connection.execute(query, values):
                row = self._checked(stored)
                key = None if row is None else tuple(row[index] for index in self._key_columns)
                if row is None or key is None or not _follows(previous, key, order):
                    self.gaps.append(Gap(previous, None) if order == "ASC" else Gap(None, previous))
                    self._narrow(stored)
                    if self._is_exhausted():
                        return
                    continue
                previous = key
                yield key, row
        except (sqlite3.Error, OverflowError):
            return
        self._ended = True

    def _is_exhausted(self) -> bool:
        """Whether so many rows are refused that the pages of the table name each other in a circle."""
        return len(self.gaps) >= _MOST_GAPS

    def _reached_end(self) -> bool:
        """Whether the last pass came to its end; a method, as mypy does not see that a generator changes `_ended`."""
        return self._ended

    def _narrow(self, stored: Sequence[Any]) -> None:
        """Narrow the last gap to one row that is damaged, where its key can be read."""
        key = tuple(stored[index] for index in self._key_columns)
        if all(type(part) is int for part in key):
            self.gaps[-1] = Gap(key, key)

    def _checked(self, stored: Sequence[Any]) -> Row | None:
        """The row with its texts decoded; None where a value is not of its column's type."""
        try:
            return tuple(check(value) for check, value in zip(self._checks, stored, strict=True))
        except (TypeError, UnicodeDecodeError):
            return None


def _follows(previous: Key | None, key: Key, order: str) -> bool:
    return previous is None or (key > previous if order == "ASC" else key < previous)


def _above(low: Key) -> Iterator[Key]:
    """Larger keys: near ones in the last part of the key first, then farther ones and those of earlier parts."""
    for index in reversed(range(len(low))):
        step = 1.0
        while step < _FARTHEST:
            yield (*low[:index], low[index] + int(step), *(0,) * (len(low) - index - 1))
            step = max(step + 1, step * _GROWTH)


def _middle(low: Key, high: Key) -> Key | None:
    """A key between two others; None where there is none to try.

    >>> _middle((1, 5, 0), (1, 9, 0)), _middle((1, 5, 0), (2, 3, 0)), _middle((1, 5), (1, 6))
    ((1, 7, 0), (2, 0, 0), None)
    """
    for index, (low_part, high_part) in enumerate(zip(low, high, strict=True)):
        if high_part - low_part > 1 or (high_part - low_part == 1 and index < len(low) - 1):
            middle = (*low[:index], low_part + (high_part - low_part + 1) // 2, *(0,) * (len(low) - index - 1))
            return middle if low < middle < high else None
        if high_part != low_part:
            break
    return None


def _type_check(column: schema.StoredColumn) -> Callable[[Any], Any]:
    """A function that returns a stored value of a column and refuses one of another type."""
    if column.kind in {"text", "name", "word"}:
        return lambda value: _text(value, nullable=column.nullable)
    types: dict[str, Any] = {"bytes": bytes, "float": (float, int)}
    return _typed(types.get(column.kind, int), nullable=column.nullable)


def _typed(kind: type | tuple[type, ...], *, nullable: bool) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, kind) or (value is None and nullable):
            return value
        raise TypeError

    return read


def _text(value: Any, *, nullable: bool) -> str | None:
    if isinstance(value, bytes):
        return value.decode()
    if value is None and nullable:
        return None
    raise TypeError
