"""Recovers a damaged SQLite store into a new one; the damaged file is copied and never written.

Row by row, every table is copied into an empty store. A lost row that another row refers to is replaced by a marked
placeholder, so that everything is then read in the ordinary way: a record whose sample, reply or scores are lost is a
damaged record that says so, and a record without damage is the very one that was stored. Bodies carry checksums,
samples the hash of their content, and a run the checksum of all its rows.

SQLite ends a query where it meets a damaged page. Pages hold rows in the order of their keys, so a table is read from
its first row up to the damage, then from its last row down to it. What lies between is a gap between two keys, which
tells later which rows may be missing; of several damaged pages, so are the rows between them. Of a file whose first
page is lost, SQLite reads nothing, and neither do we.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from steelyard.errors import ConfigError, StoreError
from steelyard.plain_json import from_json
from steelyard.store.codec import Unpacker
from steelyard.store.database import schema
from steelyard.store.database.backend import ROWS, check_version
from steelyard.store.database.checksums import sample_hash
from steelyard.store.database.sqlite_objects import acting_objects, altered_objects, listed_names

Key = tuple[int, ...]
Row = tuple[Any, ...]

_MOST_GAPS: Final = 100_000
_PAGE_BYTES: Final = 4096
_STEPS_TOGETHER: Final = 100_000
"""Steps of SQLite's machine that reading may take for each page of the file."""
_LEAST_PORTIONS: Final = 50


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
    copy = _copied(where, folder)
    _remove_foreign_objects(copy, salvaged.notes)
    with closing(_opened(copy)) as damaged, closing(sqlite3.connect(new_path)) as new:
        damaged.text_factory = bytes
        # A hostile view that a damaged schema keeps must end: reading takes some 1,000 steps for each page.
        portions = iter(range(_LEAST_PORTIONS + copy.stat().st_size // _PAGE_BYTES))
        damaged.set_progress_handler(lambda: next(portions, None) is None, _STEPS_TOGETHER)
        _check_version(damaged, where)
        for table in schema.TABLES:
            if table.name != schema.about.name and (gaps := _copy_rows(damaged, new, table)):
                salvaged.gaps[table.name] = gaps
        if salvaged.gaps and not new.total_changes:
            raise StoreError(f"nothing of {where} can be read: it is not a SQLite file, or its head is lost")
        _blank_altered_samples(new)
        _insert_placeholders(new, salvaged)
        new.commit()
    return salvaged


def _copied(where: Path, folder: Path) -> Path:
    """A copy of the file and its log."""
    copy = folder / "damaged.db"
    try:
        shutil.copyfile(where, copy)
        log = where.with_name(f"{where.name}-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name("damaged.db-wal"))
    except OSError as error:
        raise StoreError(f"{where} cannot be copied to {folder}: {error.strerror}") from error
    return copy


def _opened(copy: Path) -> sqlite3.Connection:
    """A connection that reads what it can of a file that was cut off, or of whose schema a part is lost."""
    connection = sqlite3.connect(copy)
    for pragma in ("writable_schema = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _remove_foreign_objects(copy: Path, notes: list[str]) -> None:
    """Give our tables their own texts in the schema of a copy, and remove all else: a view may compute for ever."""
    tables = [(table.definition("sqlite")[0], table.name) for table in schema.TABLES]
    own_texts = [text for table in schema.TABLES for text in table.definition("sqlite")]
    # Of a damaged schema, what can be read stays as it is.
    with suppress(sqlite3.DatabaseError), closing(_opened(copy)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        objects = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        foreign = list(dict.fromkeys([*acting_objects(objects), *altered_objects(objects)]))
        if not foreign:
            return
        connection.executemany("UPDATE sqlite_master SET sql = ? WHERE name = ? AND rootpage > 0", tables)
        marks = ", ".join("?" * len(own_texts))
        connection.execute(f"DELETE FROM sqlite_master WHERE sql NOT IN ({marks})", own_texts)
        connection.commit()
        notes.append(f"the schema holds {listed_names(foreign)}, which no store has: it was not read")


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
        "SELECT num, hash, id, group_name, cluster, body FROM sample"
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
    new.executemany(
        "INSERT OR IGNORE INTO sample (num, hash, id, group_name, cluster, body) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    manifest = json.dumps(
        {"stages": ["target", *(f"stage {n}" for n in range(1, schema.MOST_STAGES + 1))], "tags": {}, "scores": []}
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
        scoring_version = new.execute("SELECT max(scoring_version) FROM score WHERE run = ?", [num]).fetchone()[0]
        new.execute("UPDATE run SET scoring_version = ? WHERE num = ?", [scoring_version or 0, num])


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
        self._ended = False

    def rows(self) -> Iterator[Row]:
        """Every row that can be read and holds values of the types that its columns have."""
        last: Key | None = None
        for key, row in self._pass("ASC", None):
            last = key
            yield row
        if self._ended or self._is_exhausted():
            return
        first: Key | None = None
        for key, row in self._pass("DESC", last):
            first = key
            yield row
        if not self._ended:
            self.gaps.append(Gap(last, first))

    def _pass(self, order: Literal["ASC", "DESC"], after: Key | None) -> Iterator[tuple[Key, Row]]:
        """(key, row) above a key in one order, up to an unreadable page; `_ended` is whether there was none."""
        self._ended = False
        names = ", ".join(f'"{name}"' for name in self._keys)
        where = f"WHERE ({names}) > ({', '.join('?' * len(self._keys))})" if after is not None else ""
        ordered = ", ".join(f'"{name}" {order}' for name in self._keys)
        columns = ", ".join(f'"{column.name}"' for column in self._table.columns)
        query = f'SELECT {columns} FROM "{self._table.name}" {where} ORDER BY {ordered}'
        previous: Key | None = None
        try:
            for stored in self._connection.execute(query, after or ()):
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
