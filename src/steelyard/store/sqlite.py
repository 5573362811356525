"""A store in a SQLite file: how its connections are set up, the lock of a run, and the reserve of disk space."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from steelyard.errors import StoreError
from steelyard.store.backend import Durability, Transact

_BUSY_S: Final = 30.0
"""How long a writer waits for another process's transaction, which takes milliseconds."""
_LOCK_ATTEMPTS: Final = 25
_LOCK_PAUSE_S: Final = 0.02
"""Whoever lists runs holds a lock for an instant (`is_locked`), on a busy machine for several: that is no writer."""
_LOG_BYTES: Final = 8 << 20
"""Size that the log is cut to. SQLite copies it into the file at 1000 pages of 4 KiB, so it usually has half of it."""
_RESERVE_BYTES: Final = 1 << 20
"""1 MiB: the replies of some hundred calls in flight and the pages they touch."""


class SqliteFile:
    """The file of a store.

    Args:
        where: the file.
        durability: `full` flushes each transaction to the disk.
    """

    shared: ClassVar[bool] = False
    snapshot: ClassVar[Mapping[str, Any]] = {}
    latest: ClassVar[Mapping[str, Any]] = {}
    writing: ClassVar[Mapping[str, Any]] = {"writes": True}

    def __init__(self, where: Path, durability: Durability) -> None:
        self.where = where
        self.engine = _engine(where, durability)

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.where.exists()

    def create_folder(self) -> None:
        """Create the folder of the file."""
        try:
            self.where.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.where.parent} cannot be created: {error.strerror}") from error

    def check(self, connection: Connection) -> None:
        """Accept: the SQLite of every supported Python can do what is needed."""

    def lock_schema(self, connection: Connection) -> None:
        """Do nothing: a transaction that writes excludes all others."""

    def exclude_writers(self, connection: Connection) -> None:
        """Do nothing: a transaction that writes excludes all others."""

    def copy(self, connection: Connection) -> Path:  # noqa: ARG002  # read by another one, before anything is changed
        """`NAME.before-upgrade.db` beside the file, made by SQLite's backup, with what is in its log."""
        target = self.where.with_name(f"{self.where.stem}.before-upgrade{self.where.suffix}")
        numbers = count(2)
        while target.exists():
            target = target.with_stem(f"{self.where.stem}.before-upgrade-{next(numbers)}")
        # Under its name stands a whole copy or none. What a killed process left may be overwritten: we alone write.
        partial = target.with_name(f"{target.name}.partial")
        try:
            partial.unlink(missing_ok=True)
            with (
                contextlib.closing(sqlite3.connect(self.where)) as source,
                contextlib.closing(sqlite3.connect(partial)) as copy,
            ):
                source.backup(copy)
            shutil.copymode(self.where, partial)
            os.link(partial, target)  # fails where somebody has taken the name meanwhile
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise StoreError(f"{self.where} cannot be copied to {target}: {reason}") from error
        finally:
            partial.unlink(missing_ok=True)
        return target

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables."""
        rows = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {str(name) for (name,) in rows}

    def reserve(self) -> ReserveFile:
        """Reserve space in a file beside the store."""
        return ReserveFile(self.where)

    def warm_up(self, connection: Connection) -> None:
        """Write something that changes nothing: SQLite syncs a new log's header with the first commit to it.

        Measured: on a busy disk that sync made the first replies of a resumed run wait for more than 50 ms before they
        were in the journal; now it is done before the first call is sent.
        """
        with connection.begin():
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            connection.exec_driver_sql(f"PRAGMA user_version = {int(version)}")

    def changes(self, connection: Connection) -> int | None:
        """A number that changes when another connection has changed the database."""
        return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())

    def undo(self, connection: Connection) -> None:
        """Roll back: SQLAlchemy considers a transaction over whose commit failed; SQLite may not."""
        connection.connection.rollback()

    def check_pages(self, connection: Connection, *, deep: bool, notes: list[str]) -> list[str]:
        """SQLite's quick_check; with `deep` its integrity_check, which compares the indexes with their tables."""
        if not deep:
            notes.append("indexes were not compared with their tables: --deep does that")
        rows = connection.exec_driver_sql(f"PRAGMA {'integrity_check' if deep else 'quick_check'}")
        return [f"SQLite says: {line}" for (line,) in rows if line != "ok"]

    def is_transient(self, error: SQLAlchemyError) -> bool:  # noqa: ARG002  # as the protocol has it
        """Never: SQLite runs one writer at a time."""
        return False

    def is_lost(self, connection: Connection) -> str:  # noqa: ARG002  # as the protocol has it
        """Never: there is no server."""
        return ""

    def lock(self, run: str, transact: Transact) -> RunLock:  # noqa: ARG002  # as the protocol has it
        """A lock file in the folder `locks` beside the store."""
        return RunLock(self.where, run)

    def is_locked(self, run: str) -> bool:
        """Whether a living process writes the run."""
        return is_locked(self.where, run)


def _engine(path: Path, durability: Durability) -> Engine:
    url = URL.create("sqlite", database=str(path))
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    immutable = path.is_file() and not writable and not path.with_name(f"{path.name}-wal").exists()
    # Connections are made by whoever opens the store and used by the writer's thread, one thread at a time.
    options: dict[str, Any] = {"timeout": _BUSY_S, "check_same_thread": False}
    if immutable:
        # We cannot write it and nobody else has it open (there would be a log beside it), so no locking is needed;
        # without this SQLite wants to create files beside it.
        url = url.set(database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"})
    # No pool: SQLite removes its log with the last connection, and a pool would keep connections open.
    engine = create_engine(url, poolclass=NullPool, connect_args=options)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions by itself; `begin` below does
        for pragma in (
            *(() if immutable else ("journal_mode=WAL",)),
            # NORMAL flushes the log to the disk at checkpoints only: safe against a kill, not against a power cut.
            f"synchronous={'FULL' if durability == 'full' else 'NORMAL'}",
            # SQLite never shrinks the log by itself: one long read while 36 MB were written left 39 MiB.
            f"journal_size_limit={_LOG_BYTES}",
            # A store may come from somebody else: its views and triggers must not call functions with side effects.
            "trusted_schema=OFF",
            # Otherwise a large sort writes a file in /var/tmp, which may be full.
            "temp_store=MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that begins by reading cannot wait for the lock later: once another process has committed
        # meanwhile, its first write fails at once, whatever the timeout.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")

    return engine


class RunLock:
    """The lock file of a run; the operating system releases it when its process dies, however it dies.

    Args:
        store: the database file; locks are files in the folder `locks` beside it.
        run: the run's id.

    Raises:
        StoreError: another process writes this run, or the folder cannot be written.
    """

    def __init__(self, store: Path, run: str) -> None:
        self.run = run
        self._path = store.parent / "locks" / run
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._handle = self._locked(run)
        except OSError as error:
            raise StoreError(f"run {run} cannot be locked: {error.strerror} ({self._path})") from error

    def _locked(self, run: str) -> int:
        holder = ""
        for _ in range(_LOCK_ATTEMPTS):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(self._path, handle):
                    os.truncate(handle, 0)
                    os.write(handle, str(os.getpid()).encode())
                    return handle
                os.close(handle)  # its last holder removed the file after we had opened it
            except BlockingIOError:
                holder = os.read(handle, 32).decode("ascii", "replace").strip()
                os.close(handle)
                time.sleep(_LOCK_PAUSE_S)
            except OSError:
                os.close(handle)
                raise
        raise StoreError(f"run {run} is being written by another process (pid {holder or 'unknown'})")

    def release(self) -> None:
        """Release the lock."""
        if self._handle >= 0:
            # Removed while it is locked. In the other order another process could lock the file in between, and a third
            # one, finding no file, would create and lock a new one: two writers.
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is the one that has the name `path` now."""
    try:
        named, opened = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def is_locked(store: Path, run: str) -> bool:
    """Whether a living process writes this run."""
    try:
        handle = os.open(store.parent / "locks" / run, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


class ReserveFile:
    """A file of 1 MiB beside the store, locked by its process; files that killed processes left are removed.

    Args:
        store: the database file.

    Raises:
        StoreError: there is no room for it, so there is none for replies either.
    """

    def __init__(self, store: Path) -> None:
        for left in store.parent.glob(f"{store.name}-reserve-*"):
            _remove_unlocked(left)
        self._path = store.parent / f"{store.name}-reserve-{os.getpid()}-{token_hex(4)}"
        self._handle = -1
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Noise, since a file system that compresses keeps no space for zeros.
            rest = memoryview(os.urandom(_RESERVE_BYTES))
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self.release()
            raise StoreError(f"no room for the store: {error.strerror} ({self._path.parent})") from error

    def release(self) -> bool:
        """Free the space; False if it was freed before."""
        if self._handle < 0:
            return False
        self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1
        return True


def _remove_unlocked(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:
        return
    finally:
        os.close(handle)
