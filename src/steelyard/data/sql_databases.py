"""A folder of databases by name, as the public text-to-SQL sets are laid out: `<db_id>/<db_id>.sqlite` or flat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

from steelyard.errors import ConfigError, did_you_mean

SUFFIXES: Final = (".sqlite", ".sqlite3", ".db", ".duckdb")
_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = (b"DUCK", 8)
_WHOLE: Final = 64 * 2**20
_PIECE: Final = 2**20


def databases_in(folder: Path) -> Mapping[str, Path]:
    """Name -> file of every database in `folder`: `<name>/<name>.sqlite`, or `<name>.sqlite`; .db, .duckdb likewise.

    A name never leads out of the folder: names are those that stand in it. Of a folder whose files are called
    otherwise the only one is taken.

    Raises:
        ConfigError: it is no folder, or holds no database.
    """
    if not folder.is_dir():
        raise ConfigError(f"databases: {folder} is {'not a folder' if folder.exists() else 'not there'}")
    found: dict[str, Path] = {}
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            if file := _inside(entry):
                found[entry.name] = file
        elif entry.suffix.lower() in SUFFIXES and entry.is_file():
            found.setdefault(entry.stem, entry)
    if not found:
        raise ConfigError(f"databases: {folder} holds no <name>/<name>.sqlite and no <name>.sqlite (.db, .duckdb)")
    return found


def database_file(folder: Path, name: str) -> Path:
    """The file of the database called `name`.

    Raises:
        ConfigError: there is none; the nearest name is suggested.
    """
    if name and Path(name).name == name and "\0" not in name:  # not listed for every sample: BIRD and Spider have 200
        for place in (folder / name, folder):
            for suffix in SUFFIXES:
                if (file := place / f"{name}{suffix}").is_file():
                    return file
    known = databases_in(folder)
    if name in known:
        return known[name]
    near = did_you_mean(name, known)
    raise ConfigError(f"there is no database {name[:60]!r} in {folder.name}{near if near[:1] == ':' else ''}")


def engine_of(file: Path) -> Literal["sqlite", "duckdb"]:
    """Which engine reads a database file: by its first bytes, else by its name.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with file.open("rb") as opened:
            head = opened.read(16)
    except OSError as error:
        raise ConfigError(f"database {file} cannot be read: {error.strerror or error}") from error
    if head == _SQLITE:
        return "sqlite"
    magic, at = _DUCKDB
    if head[at : at + len(magic)] == magic:
        return "duckdb"
    return "duckdb" if file.suffix.lower() == ".duckdb" else "sqlite"


def digest_of_databases(folder: Path) -> str:
    """32 hexadecimal digits over the names and contents of all databases in `folder`.

    Of a file of more than 64 MiB its size, its first and its last MiB count: reading 30 GB before each run is worse
    than missing a change in their midst.
    """
    whole = blake2b(digest_size=16)
    for name, file in sorted(databases_in(folder).items()):
        stat = file.stat()
        whole.update(f"{name}\0{file.name}\0".encode("utf-8", "surrogatepass"))
        whole.update(_digest(file, stat.st_size, stat.st_mtime_ns))
    return whole.hexdigest()


@lru_cache(maxsize=1024)
def _digest(file: Path, size: int, _mtime_ns: int) -> bytes:
    found = blake2b(str(size).encode(), digest_size=16)
    with file.open("rb") as opened:
        if size <= _WHOLE:
            while piece := opened.read(_PIECE):
                found.update(piece)
        else:
            found.update(opened.read(_PIECE))
            opened.seek(-_PIECE, 2)
            found.update(opened.read(_PIECE))
    return found.digest()


def _inside(folder: Path) -> Path | None:
    files = sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())
    named = [one for one in files if one.stem == folder.name]
    return named[0] if named else files[0] if len(files) == 1 else None
