"""Keeps private copies of database files, so that statements never reach the original or its folder.

A folder of tables (`table_files`) becomes a database of DuckDB, made of copies of its files.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from steelyard.errors import ConfigError
from steelyard.sql.results import LocalEngine, table_files

_BESIDE: Final[dict[LocalEngine, tuple[str, ...]]] = {"sqlite": ("-wal", "-journal"), "duckdb": (".wal",)}
_MAGIC: Final[dict[LocalEngine, tuple[int, bytes]]] = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
"""Offset and first bytes of the file format; DuckDB's begins with 8 bytes of checksum."""
_NAMES: Final[dict[LocalEngine, str]] = {"sqlite": "SQLite", "duckdb": "DuckDB"}
KEPT_BYTES: Final = 8 * 2**30
"""Bytes of copies that are kept on the disk; the ones not used for longest go first."""

_BLOCK_BYTES: Final = 2**20
_TRIES: Final = 5
"""Limit of attempts to copy a file that changes meanwhile; then it is refused."""

Stamp = tuple[tuple[str, int, int, int, int], ...]
Tables = tuple[tuple[str, str, str], ...]
"""The path of each copied table, its name, and the name of the file that was copied."""
Prepare = Callable[[LocalEngine, str, int, Tables], str]


@dataclass(slots=True, eq=False)
class _Copy:
    """A copy, once it is ready; `users` are the queries that run on it.

    One that cannot be prepared is `refused` and stays, without its files: the next query would fail after as long.
    """

    folder: Path
    stamp: Stamp
    size: int
    memory_mib: int
    refused: bool = False
    users: int = 0
    why: str = ""
    ready: threading.Event = field(default_factory=threading.Event)


class Copies:
    """The copies of one sandbox, in a folder that only this user can enter.

    Args:
        prepare: prepares a copied file for use, or makes it of tables, in a process of its own with so many MiB of
            memory; returns why it cannot be used, or "".
    """

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._lock = threading.Lock()
        self._copies: dict[tuple[LocalEngine, str], _Copy] = {}
        self._serial = 0
        self.folder = Path(tempfile.mkdtemp(prefix="steelyard-sql-"))

    @contextmanager
    def lease(self, engine: LocalEngine, file: Path, memory_mib: int) -> Iterator[str]:
        """The path of a copy of `file` as it is now, which stays as long as the lease.

        Raises:
            ConfigError: it does not exist, is not a file or a folder of tables, or is not a database of this engine.
        """
        stamp = _stamp(engine, file)
        copy = self._claim(engine, file, stamp, memory_mib)
        try:
            if copy.why:
                what = "has a table" if file.is_dir() else f"is not a {_NAMES[engine]} database"
                raise ConfigError(f"{file} {what} that {'cannot' if file.is_dir() else 'can'} be read: {copy.why}")
            yield str(copy.folder / _name(engine, file))
        finally:
            with self._lock:
                copy.users -= 1
                if not copy.users and copy not in self._copies.values():
                    shutil.rmtree(copy.folder, ignore_errors=True)

    def close(self) -> None:
        """Delete all copies."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _claim(self, engine: LocalEngine, file: Path, stamp: Stamp, memory_mib: int) -> _Copy:
        key = (engine, os.path.abspath(file))  # noqa: PTH100 (resolving links would follow one that is replaced)
        with self._lock:
            copy = self._copies.get(key)
            is_new = copy is None or copy.stamp != stamp or (copy.refused and copy.memory_mib != memory_mib)
            if copy is None or is_new:
                self._serial += 1
                copy = _Copy(self.folder / str(self._serial), stamp, sum(part[2] for part in stamp), memory_mib)
                self._retire(key, copy.size)
            else:
                # The order of the dictionary is that of use.
                del self._copies[key]
            copy.users += 1
            self._copies[key] = copy
        if is_new:
            self._make(engine, file, copy)
        copy.ready.wait()
        return copy

    def _make(self, engine: LocalEngine, file: Path, copy: _Copy) -> None:
        copy.why = "it could not be copied"
        try:
            copy.why, tables = _copy(engine, file, copy.folder)
            if not copy.why:
                path = copy.folder / _name(engine, file)
                copy.why = self._prepare(engine, str(path), copy.memory_mib, tables)
                copy.refused = bool(copy.why)
                for table, *_ in tables:
                    Path(table).unlink()
                copy.size = copy.size if copy.why else path.stat().st_size
        except OSError as error:
            copy.why = str(error)
        finally:
            if copy.why:
                shutil.rmtree(copy.folder, ignore_errors=True)
                copy.size = 0
            if copy.why and not copy.refused:
                with self._lock:
                    self._copies = {key: other for key, other in self._copies.items() if other is not copy}
            copy.ready.set()

    def _retire(self, key: tuple[LocalEngine, str], coming: int) -> None:
        """Forget the former state of a file, and delete what is too much and not in use."""
        gone = [self._copies.pop(key)] if key in self._copies else []
        total_bytes = coming + sum(copy.size for copy in self._copies.values())
        for other, copy in tuple(self._copies.items()):
            if total_bytes <= KEPT_BYTES:
                break
            if not copy.users:
                gone.append(self._copies.pop(other))
                total_bytes -= copy.size
        for copy in gone:
            # A process that has the file open keeps it; a query that has not opened it yet holds a lease.
            if not copy.users:
                shutil.rmtree(copy.folder, ignore_errors=True)


def _stamp(engine: LocalEngine, file: Path) -> Stamp:
    """Inode, size and times of the file and of its logs, or of the tables of a folder."""
    try:
        status = file.stat()
    except (OSError, ValueError) as error:
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise ConfigError(f"database file {file} {why}") from None
    if stat.S_ISDIR(status.st_mode) and engine == "duckdb" and (tables := table_files(file)):
        return tuple(_entry(path.name, path.stat()) for path in tables.values())
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ConfigError(f"database file {file} is {kind}; a {_NAMES[engine]} database file is expected")
    parts = [_entry("", status)]
    for end in _BESIDE[engine]:
        log = _part(file, end)
        try:
            other = log.lstat()
        except OSError:
            continue
        if not stat.S_ISREG(other.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(other.st_mode) else "not a regular file"
            raise ConfigError(
                f"the log {log} of a database is {kind}; no engine makes one: remove it, or copy its file"
            )
        parts.append(_entry(end, other))
    return tuple(parts)


def _entry(name: str, status: os.stat_result) -> tuple[str, int, int, int, int]:
    return name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _part(file: Path, end: str) -> Path:
    """The file itself or its log, which is beside the file that a link leads to."""
    return Path(os.path.realpath(file) + end) if end else file


def _name(engine: LocalEngine, file: Path) -> str:
    """The file name of a copy: DuckDB names a database after its file, and statements may use that name.

    What follows a `?` is options to DuckDB, and it would look for the log under another name.
    """
    name = f"{file.name}.duckdb" if file.is_dir() else file.name
    return name if engine == "duckdb" and name.isprintable() and "?" not in name else "database"


def _copy(engine: LocalEngine, file: Path, folder: Path) -> tuple[str, Tables]:
    """Copy the file and its logs, or the tables of a folder, again when another process wrote to them meanwhile.

    Returns:
        Why it is not a database, or "", and the copied tables.
    """
    if why := "" if file.is_dir() else _flaw_in_head(engine, file):
        return why, ()
    for _ in range(_TRIES):
        before = _stamp(engine, file)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        tables: Tables = ()
        if file.is_dir():
            # Numbers, as DuckDB reads a `*` in a path as any text.
            tables = tuple(
                (str(folder / f"{number}{path.suffix.lower()}"), name, path.name)
                for number, (name, path) in enumerate(table_files(file).items())
            )
            for copied, _, name in tables:
                _copy_data(file / name, Path(copied))
        else:
            for end, *_rest in before:
                _copy_data(_part(file, end), folder / f"{_name(engine, file)}{end}")
        if _stamp(engine, file) == before:
            return "", tables
    return "another process writes to it all the time", ()


def _flaw_in_head(engine: LocalEngine, file: Path) -> str:
    """Why a file is not a database, by its first bytes; "" where it may be one."""
    at, magic = _MAGIC[engine]
    with file.open("rb") as opened:
        head = opened.read(at + len(magic))
    # An empty file is an empty SQLite database.
    if head[at:] != magic and not (engine == "sqlite" and not head):
        return "it does not begin as one does"
    return ""


def _copy_data(source: Path, to: Path) -> None:
    """Copy a file and keep its holes: a sparse file would fill the disk."""
    with source.open("rb") as reader, to.open("xb") as writer:
        about = os.fstat(reader.fileno())
        if about.st_blocks * 512 >= about.st_size:
            shutil.copyfileobj(reader, writer, _BLOCK_BYTES)
            return
        for start, end in _data_ranges(reader.fileno(), about.st_size):
            writer.seek(reader.seek(start))
            for position in range(start, end, _BLOCK_BYTES):
                writer.write(reader.read(min(_BLOCK_BYTES, end - position)))
        writer.truncate(about.st_size)


def _data_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Start and end of each part of a sparse file that is not a hole."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end
