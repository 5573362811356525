"""An open store: which database holds it, connections that read, the one writer of this process, and locks of runs.

Opening creates the tables where that is asked for, and refuses a store that this version cannot read. Code that reads
runs or writes about them takes an `OpenStore`; `Store` adds what finds and begins runs.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from steelyard.errors import ConfigError, SteelyardError, StoreError, boundary, install_command
from steelyard.store.database.address import Address, locate
from steelyard.store.database.backend import (
    REPAIR_HINT,
    ROWS,
    Backend,
    Durability,
    Lock,
    cause_of,
    check_version,
    create_tables,
    repair_commands,
    repair_hint,
)
from steelyard.store.database.connection import Connection, DatabaseError
from steelyard.store.database.sqlite import SqliteConnection, SqliteFile
from steelyard.store.database.sqlite_locks import ReserveFile
from steelyard.store.database.sqlite_objects import listed_names
from steelyard.store.row_recovery import recover_rows
from steelyard.store.writer import Writer


def exists(where: str | Path | None) -> bool:
    """Whether there is a store that could be opened, complete or not."""
    return open_backend(where).exists()


class OpenStore:
    """The connections of an open store, its writer and its locks; arguments and errors are those of `Store`."""

    def __init__(
        self, where: str | Path | None = None, *, create_missing: bool = False, durability: Durability = "normal"
    ) -> None:
        self._backend = open_backend(where, durability=durability)
        self.path: Path | Address = self._backend.where
        # A store that is never closed must not keep connections to a server open.
        weakref.finalize(self, self._backend.close)
        self._writer: Writer | None = None
        self._starting = threading.Lock()
        self._reserve: ReserveFile | None = None
        if not self._backend.exists():
            if not create_missing:
                raise ConfigError(f"there is no store at {self.path}: run something first, or name one with --store")
            self._backend.create_empty()
        if create_missing:
            with _as_store_error(self.path):
                _create(self._backend)
        _check(self._backend)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is queued, then close the connections and files."""
        self._close_writer()
        self._backend.close()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._reserve is not None:
            self._reserve.release()
            self._reserve = None

    def renew_writer(self) -> None:
        """Close the writer if it has failed, so that the next write starts another.

        A run never goes on after a failed write, as replies may be lost; a process that only marks runs and takes notes
        may try again when the cause is removed.
        """
        with self._starting:
            if self._writer is not None and self._writer.store_error() is not None:
                self._close_writer()

    def is_at(self, where: str | Path | None) -> bool:
        """Whether `where` means this store."""
        return locate(where) == self.path

    def is_written(self, run: str) -> bool:
        """Whether a living process writes the run of that id."""
        return self._backend.is_locked(run)

    def tables(self, connection: Connection) -> set[str]:
        """Names of the tables that are there."""
        return self._backend.tables(connection)

    def check_pages(self, connection: Connection, *, notes: list[str]) -> list[str]:
        """Problems that the database's own check finds in its pages and indexes; see `Backend`."""
        return self._backend.check_pages(connection, notes=notes)

    @contextlib.contextmanager
    def reading(self, run: str = "") -> Iterator[Connection]:
        """A connection that reads one consistent snapshot.

        Args:
            run: id of the run whose rows are read, for the error where a row is not what was written.
        """
        damaged = boundary("store", f"{f'run {run}' if run else 'the store'} is damaged ({REPAIR_HINT})")
        with damaged, _as_store_error(self.path), self._backend.connect("snapshot") as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def changing(self) -> Iterator[Connection]:
        """A transaction beside the writer's: for what may take long, and may fail without ending all writing."""
        with _as_store_error(self.path), self._backend.connect("writing") as connection, connection.begin():
            yield connection

    def gather_statistics(self) -> None:
        """Tell the database how large the tables have become, for plans of the queries that follow.

        Raises:
            StoreError: this user may not write, or the connection broke.
        """
        with self.changing() as connection:
            self._backend.gather_statistics(connection)

    @property
    def writer(self) -> Writer:
        """The one writer of this process, started on first use."""
        with self._starting:  # threads of the viewer may be the first to write at the same moment
            if self._writer is None:
                # First, so that a disk which is full already is noticed before anything is paid for.
                self._reserve = self._backend.reserve()
                try:
                    with _as_store_error(self.path):
                        self._writer = Writer(self._backend, self._reserve)
                except SteelyardError:
                    if self._reserve is not None:
                        self._reserve.release()
                    raise
            return self._writer

    def lock(self, run: str, *, beside_workers: bool = False) -> Lock:
        """Take the lock that the writer of a run holds.

        Args:
            run: the run's id.
            beside_workers: take it even while workers hold it: their leases are void, or this is one of them.

        Raises:
            StoreError: another process writes it.
        """
        return self._backend.lock(run, self._transact, beside_workers=beside_workers)

    def share(self, run: str) -> None:
        """Hold a run as one of its workers, until this store is closed or its process ends.

        Raises:
            StoreError: the store is a file, which has one writer.
        """
        self._backend.share(run, self._transact)

    def limit_pauses(self, seconds: float) -> None:
        """Let the server end the connection that writes if this process pauses for longer within a transaction.

        A process that is frozen there, or cut off from the server, keeps its locks, which others wait for.

        Args:
            seconds: from one statement to the next.
        """
        self._backend.limit_pauses(seconds, self._transact)

    def _transact(self, act: Callable[[Connection], Any]) -> Any:
        """What `act` returns, on the writing connection."""
        return self.writer.change(lambda batch: act(batch.connection))


@contextlib.contextmanager
def _as_store_error(where: Path | Address) -> Iterator[None]:
    try:
        yield
    except (DatabaseError, UnicodeDecodeError) as error:  # what SQLite says of a damaged file may quote it
        raise StoreError(f"{where}: {cause_of(error, where)}{repair_hint(error, where)}") from error


def open_backend(where: str | Path | None, *, durability: Durability = "normal") -> Backend:
    """The database of a store; no connection is made yet.

    Raises:
        ConfigError: an address that is not valid, or a driver that is not installed.
    """
    location = locate(where)
    if isinstance(location, Address):
        try:
            from steelyard.store.database.postgres import PostgresSchema  # with it psycopg
        except ImportError as error:
            message = f"a store in PostgreSQL needs psycopg ({error}): {install_command('postgres')}"
            raise ConfigError(message) from error
        return PostgresSchema(location, durability)
    return SqliteFile(location, durability, _recover)


def _create(backend: Backend) -> None:
    """Create the tables of an empty store; leave a filled one alone.

    Raises:
        StoreError: the database cannot hold a store.
    """
    with backend.connect("writing") as connection, connection.begin():
        backend.check(connection)
        if backend.tables(connection):  # it was made before, and `_check` looks at it
            return
        backend.lock_schema(connection)
        if not backend.tables(connection):
            create_tables(connection)


def _check(backend: Backend) -> None:
    """Refuse what this version cannot read.

    Raises:
        StoreError: with both version numbers.
        ConfigError: it has no tables: the process that was creating the store was killed before they existed.
    """
    where = backend.where
    try:
        with backend.connect("latest") as connection:
            tables = backend.tables(connection)
            if not tables:
                kind = "file" if isinstance(where, Path) else "schema"
                raise ConfigError(f"there is no store at {where} yet, the {kind} is empty: run something first")
            if "about" not in tables:
                raise StoreError(f"{where} is a database, but not a Steelyard store")
            # Before anything of it is read, what acts when it is; then its version, by which its tables are known.
            _refuse(where, backend.acting_objects(connection))
            about = dict(connection.execute(ROWS).tuples())
            if about:
                check_version(where, about)
            _refuse(where, backend.altered_objects(connection))
    # SQLite's message about a damaged file may quote bytes of it that are not text.
    except (DatabaseError, UnicodeDecodeError) as error:
        raise StoreError(f"{where} cannot be opened: {cause_of(error, where)}{repair_hint(error, where)}") from error
    if not about:
        raise StoreError(f"{where} is damaged: it does not say which version made it{repair_commands(where)}")


def _refuse(where: Path | Address, objects: Sequence[str]) -> None:
    if objects:
        raise StoreError(
            f"{where} is refused, nothing of it was read: its schema holds {listed_names(objects)}. A store has no "
            "views, triggers, virtual tables, functions or expressions, and lacks no index. If you made these, drop "
            "them; if the store came from somebody else, ask for another copy"
        )


def _recover(source: Path, folder: Path, new: Path) -> None:
    new.touch(0o600)
    with SqliteConnection(new, "normal", writes=True) as empty, empty.begin():
        create_tables(empty)
    recover_rows(source, folder, new)
