"""A store in a SQLite file: how its connections are set up, and the reserve of disk space."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Final, Self, cast
from urllib.parse import quote

from steelyard.errors import StoreError
from steelyard.files import make_private_folder, open_private
from steelyard.store.database.backend import Durability, Purpose, Transact
from steelyard.store.database.connection import NO_VALUES, Connection, DatabaseError, Rows, Values
from steelyard.store.database.file_watch import FileWatch, Recover, save
from steelyard.store.database.schema import TYPES, Dialect, StoredTable, insert_into
from steelyard.store.database.sqlite_locks import OpenedFile, ReserveFile, RunLock, is_locked, open_file
from steelyard.store.database.sqlite_objects import OBJECTS, acting_objects, altered_objects

_BUSY_S: Final = 30.0
"""How long a writer waits for another process's transaction, which takes milliseconds."""
_OPENING_S: Final = 1.0
"""How long another process may have the file open without a log beside it: while it opens or closes it."""
_POLL_S: Final = 0.02
_LOG_BYTES: Final = 8 << 20
"""Size that the log is cut to. SQLite copies it into the file at 1000 pages of 4 KiB, so it usually has half of it."""
_STEPS_OF_PAGE: Final = 50_000
"""Steps of SQLite's machine that reading may take for each page: a page has some 13 records, a check of the whole store
takes 500 steps for each of them."""
_STEPS_TOGETHER: Final = 100_000
_LEAST_PORTIONS: Final = 50
"""Portions of steps that reading may take in an empty file."""
_LIST: Final = re.compile(r"\bIN :(\w+)")
"""A list of values in a statement."""


class SqliteFile:
    """The file of a store.

    Args:
        where: the file.
        durability: `full` flushes each transaction to the disk.
        recover: what saves the readable rows of a damaged file; it knows what the rows hold, unlike this room.
    """

    shared: ClassVar[bool] = False

    def __init__(self, where: Path, durability: Durability, recover: Recover) -> None:
        self.where = where
        self._recover = recover
        self._durability = durability
        self._watch: FileWatch | None = None

    def connect(self, purpose: Purpose) -> SqliteConnection:
        """Open the file; connections that read may be open in any number."""
        connection = SqliteConnection(self.where, self._durability, writes=purpose == "writing")
        if purpose == "snapshot":  # the others are for single rows, for hours
            connection.limit_steps()
        return connection

    def close(self) -> None:
        """Do nothing: SQLite removes its log with the last connection, so none is kept open for the next use."""

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.where.exists()

    def create_empty(self) -> None:
        """Create the file and its folder: connections open what is there, and create nothing."""
        try:
            make_private_folder(self.where.parent)
            open_private(self.where, "ab").close()
        except OSError as error:
            raise StoreError(f"{error.filename or self.where} cannot be created: {error.strerror}") from error

    def check(self, connection: Connection) -> None:
        """Do nothing: the SQLite of every supported Python can do what is needed."""

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: a transaction that writes excludes all others."""

    def acting_objects(self, connection: Connection) -> list[str]:
        """Views, triggers and the like, see `sqlite_objects`."""
        return acting_objects(connection.execute(OBJECTS).tuples())

    def altered_objects(self, connection: Connection) -> list[str]:
        """Tables that are not as this version makes them, see `sqlite_objects`."""
        return altered_objects(connection.execute(OBJECTS).tuples())

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables."""
        return set(map(str, connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").scalars()))

    def reserve(self) -> ReserveFile:
        """Reserve space in a file beside the store.

        Raises:
            StoreError: there is none; or the store has several names, see `_refuse_another_name`.
        """
        try:
            names = self.where.stat().st_nlink
        except OSError as error:
            raise StoreError(f"{self.where}: the file is not there any more: {error.strerror}") from error
        if names > 1:
            raise StoreError(
                f"{self.where} cannot be written: the file has {names} names (hard links), and SQLite would keep a log "
                "for each. Remove the other names, or write to a copy of the file"
            )
        return ReserveFile(self.where)

    def warm_up(self, connection: Connection) -> None:
        """Write something that changes nothing: SQLite syncs a new log's header with the first commit to it.

        Measured: on a busy disk that sync made the first replies of a resumed run wait for more than 50 ms before they
        were in the journal; now it is done before the first call is sent.
        """
        with connection.begin():
            version = connection.execute("PRAGMA user_version").scalar()
            connection.execute(f"PRAGMA user_version = {int(version)}")
        try:
            self._watch = FileWatch(self.where, connection, _ours(connection).file.descriptor)  # now there is a log
        except OSError as error:
            raise DatabaseError(f"the file is not there any more: {error.strerror}") from error

    def gather_statistics(self, connection: Connection) -> None:
        """Do nothing: the order in which a query goes through the tables is written in it."""

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database."""
        return int(connection.execute("PRAGMA data_version").scalar())

    def check_pages(self, connection: Connection, *, notes: list[str]) -> list[str]:
        """SQLite's integrity_check, which compares the indexes with their tables too."""
        mode = stat.S_IMODE(self.where.stat().st_mode)
        if mode & 0o077:
            notes.append(
                f"other users of this computer may open the file (mode {mode:04o}): chmod 600 it, unless you share it"
            )
        lines = connection.execute("PRAGMA integrity_check").scalars()
        return [f"SQLite says: {line}" for line in lines if line != "ok"]

    def is_transient(self, error: DatabaseError) -> bool:  # noqa: ARG002  # as the protocol has it
        """Never: SQLite runs one writer at a time."""
        return False

    def is_lost(self, connection: Connection) -> str:  # noqa: ARG002  # both are to one file
        """What was done to the file, or to its log, since this process began to write; see `FileWatch`."""
        return "" if self._watch is None else self._watch.fault()

    def save(self, connection: Connection) -> str:
        """Save all that can be read to a new file beside this one, which takes its place."""
        self.where, sentence = save(_ours(connection).back_up, self.where, self._recover)
        if self._watch is not None:
            self._watch.remove_log()
            self._watch = None
        return sentence

    def lock(self, run: str, transact: Transact, *, beside_workers: bool = False) -> RunLock:  # noqa: ARG002  # as the protocol has it
        """A lock of the file itself, see `sqlite_locks`."""
        return RunLock(self.where, run)

    def share(self, run: str, transact: Transact) -> None:  # noqa: ARG002  # as the protocol has it
        """A file has one writer.

        Raises:
            StoreError: always.
        """
        raise StoreError(f"run {run} is in a file, which one process writes at a time")

    def limit_pauses(self, seconds: float, transact: Transact) -> None:
        """Do nothing: nobody else writes a file meanwhile."""

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes the run."""
        return is_locked(self.where, run)


class SqliteConnection:
    """A connection of the standard library's driver.

    Args:
        path: the file.
        durability: `full` flushes each transaction to the disk.
        writes: whether it may write; its transactions then take the lock of those who write as they begin.

    Raises:
        DatabaseError: the file cannot be opened.
    """

    dialect: ClassVar[Dialect] = "sqlite"

    def __init__(self, path: Path, durability: Durability, *, writes: bool) -> None:
        # A transaction that begins by reading cannot wait for the lock later: once another process has committed
        # meanwhile, its first write fails at once, whatever the timeout.
        self._begin = "BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED"
        try:
            self.file = open_file(path)
        except FileNotFoundError as error:
            raise DatabaseError("the file is not there any more: it was moved or deleted") from error
        except OSError as error:
            raise DatabaseError(f"unable to open database file: {error.strerror}") from error
        self._closing = contextlib.ExitStack()
        self._closing.callback(self.file.release)  # after the driver's connection, see `sqlite_locks`
        with contextlib.ExitStack() as failing:
            failing.callback(self.close)
            _refuse_another_name(path, self.file)
            writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
            # We cannot write it and nobody else has it open (there would be a log beside it), so no locking is needed;
            # without this SQLite wants to create files beside it.
            immutable = not writable and not _log_of(path).exists()
            self._driver = _connected(path, immutable=immutable)
            self._closing.callback(self._driver.close)
            self._set_up(durability, immutable=immutable, writes=writes)
            failing.pop_all()

    def _set_up(self, durability: Durability, *, immutable: bool, writes: bool) -> None:
        for pragma in (
            *(() if immutable else ("journal_mode=WAL",)),
            # NORMAL flushes the log to the disk at checkpoints only: safe against a kill, not against a power cut.
            f"synchronous={'FULL' if durability == 'full' else 'NORMAL'}",
            # SQLite never shrinks the log by itself: one long read while 36 MB were written left 39 MiB.
            f"journal_size_limit={_LOG_BYTES}",
            # A store may come from somebody else: what its schema calls must have no side effects, until it is looked
            # at (`foreign_objects`), and a page is checked as it is read.
            "trusted_schema=OFF",
            "cell_size_check=ON",
            # Otherwise a large sort writes a file in /var/tmp, which may be full.
            "temp_store=MEMORY",
            # Last, as changing the journal's mode writes.
            *(() if writes else ("query_only=ON",)),
        ):
            self.execute(f"PRAGMA {pragma}")

    def limit_steps(self) -> None:
        """End a query that takes more steps than any of ours does in a file of this size.

        Pages of a hostile file may name the same page again and again: three of them make a table of 64 million rows.
        """
        try:
            pages = int(self.execute("PRAGMA page_count").scalar())
        except BaseException:
            self.close()
            raise
        left = iter(range(pages * _STEPS_OF_PAGE // _STEPS_TOGETHER + _LEAST_PORTIONS))
        self._driver.set_progress_handler(lambda: next(left, None) is None, _STEPS_TOGETHER)

    def execute(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """Execute one statement."""
        if names := _lists_of(statement):
            statement, values = _expanded(statement, names, values)
        try:
            return Rows(self._driver.execute(statement, values), sqlite3.Error, TYPES)
        except sqlite3.Error as error:
            raise DatabaseError.of(error) from error

    def stream(self, statement: str, values: Values = NO_VALUES) -> Rows:
        """The same: SQLite computes each row as it is read."""
        return self.execute(statement, values)

    def insert_rows(self, statement: str, rows: Sequence[Values]) -> None:
        """Execute a statement once for each row of values."""
        try:
            self._driver.executemany(statement, rows)
        except sqlite3.Error as error:
            raise DatabaseError.of(error) from error

    def insert(self, table: StoredTable, row: Values) -> int:
        """Insert a row into a table whose key SQLite numbers; its number."""
        try:
            return int(self._driver.execute(insert_into(table, tuple(row)), row).lastrowid or 0)
        except sqlite3.Error as error:
            raise DatabaseError.of(error) from error

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """A transaction."""
        self.execute(self._begin)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # Of some errors, such as a full disk, SQLite itself has rolled back.
            if self._driver.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._driver.execute("ROLLBACK")
            raise

    def has_table(self, name: str) -> bool:
        """Whether the store has a table."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
        return self.execute(query, {"name": name}).scalar() is not None

    def back_up(self, target: sqlite3.Connection) -> None:
        """Copy all pages as they are now; of a file that was deleted too, as long as it is open."""
        self._driver.backup(target)

    def close(self) -> None:
        """Close it."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _connected(path: Path, *, immutable: bool) -> sqlite3.Connection:
    # Opened by its plain name, a file that was moved away under an open store would be replaced by an empty one, which
    # viewing a page must not do.
    file = f"file:{'//' if path.is_absolute() else ''}{quote(os.fsencode(path))}"
    database = f"{file}?{'immutable=1' if immutable else 'mode=rw'}"
    try:
        # Connections are made by whoever opens the store and used by the writer's thread, one thread at a time.
        # Without an isolation level the driver begins no transactions by itself.
        return sqlite3.connect(database, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=True)
    except sqlite3.Error as error:
        raise DatabaseError.of(error) from error


def _refuse_another_name(path: Path, file: OpenedFile) -> None:
    """Refuse a file that another process has open by another name: SQLite names the log by the path.

    With two logs each process misses what the other writes, and in the end the file is damaged.
    """
    until = time.monotonic() + _OPENING_S
    while file.has_log and not _log_of(path).exists() and (user := file.user()) is not None:
        if time.monotonic() > until:
            raise DatabaseError(
                f"another process (pid {user or 'unknown'}) has it open, but its log {_log_of(path).name} is not "
                "beside it. The file has another name, such as a hard link or a mount: open it by that name, or wait "
                "for the end of that process. Or the log was deleted"
            )
        time.sleep(_POLL_S)


def _ours(connection: Connection) -> SqliteConnection:
    return cast("SqliteConnection", connection)


@lru_cache(maxsize=512)
def _lists_of(statement: str) -> tuple[str, ...]:
    """Names of the values behind IN."""
    return tuple(_LIST.findall(statement))


def _expanded(statement: str, names: Sequence[str], values: Values) -> tuple[str, Values]:
    """The statement with a parameter for each value of its lists, and these values.

    SQLite has no parameter that is a list. The last value is repeated up to the next power of two, so that there are a
    dozen statements to be prepared and kept, and not one for each length.
    """
    flat = {name: value for name, value in values.items() if name not in names}
    sizes = []
    for name in names:
        listed = list(values[name])
        size = 1 << (len(listed) - 1).bit_length() if listed else 0
        listed += listed[-1:] * (size - len(listed))
        flat |= {f"{name}_{number}": value for number, value in enumerate(listed)}
        sizes.append(size)
    return _with_lists(statement, tuple(sizes)), flat


@lru_cache(maxsize=512)
def _with_lists(statement: str, sizes: tuple[int, ...]) -> str:
    remaining = iter(sizes)
    return _LIST.sub(
        lambda match: f"IN ({', '.join(f':{match[1]}_{number}' for number in range(next(remaining)))})", statement
    )
