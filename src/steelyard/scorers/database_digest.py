"""A digest of a folder of databases, for the manifest: a run that goes on with other data is another run."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from steelyard.tables.locate import database_ids, find_database

_WHOLE: Final = 64 * 2**20
_PIECE: Final = 2**20


def about_databases(folder: Path | None) -> dict[str, Any]:
    """What a manifest says of a scorer's folder of databases; nothing where it has none."""
    return {} if folder is None else {"databases": {"folder": folder.name, "digest": digest_of_databases(folder)}}


def digest_of_databases(folder: Path) -> str:
    """32 hexadecimal digits over the names and contents of all databases in `folder`; "" where there is no folder.

    Of a file of more than 64 MiB its size, its first and its last MiB count: reading 30 GB before each run is worse
    than missing a change in their midst.
    """
    if not folder.is_dir():
        return ""
    whole = blake2b(digest_size=16)
    for name in database_ids(folder):
        file = find_database(folder, name).file
        if file is not None:
            stat = file.stat()
            whole.update(f"{name}\0{file.name}\0".encode("utf-8", "surrogatepass"))
            whole.update(_digest(file, stat.st_size, stat.st_mtime_ns))
    return whole.hexdigest()


@lru_cache(maxsize=1024)
def _digest(file: Path, size: int, _mtime_ns: int) -> bytes:
    """Cached by what `stat` says: a manifest is made for each target."""
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
