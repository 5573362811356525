"""Remembers what this person gave: configurations to run, the datasets and baselines they name, and requests.

A store is data of strangers: whoever can write it chooses every path in it. A file that a store names is therefore
opened by itself only where this person gave that very path to a command before, on this machine. Each thing given is a
file in `$XDG_STATE_HOME/steelyard/given` (by default `~/.local/state/steelyard/given`), named by a hash.
"""

# Why it is so, and what was rejected: docs/decisions/config-stores-of-strangers.md

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from steelyard.files import make_private_folder

Given: TypeAlias = Path | Mapping[str, Any]
"""A file, by its absolute path as it was written, or a request, by its plain JSON.

Symbolic links are not followed: the path that was given is compared with the one that is opened.
"""


def note_given(*given: Given) -> None:
    """Remember what this person gave; where the folder cannot be written, a later command asks again."""
    with contextlib.suppress(OSError, RuntimeError):
        folder = _folder()
        make_private_folder(folder)
        for each in given:
            (folder / _hash(each)).touch(mode=0o600)


def was_given(given: Given) -> bool:
    """Whether this person gave a file or a request to a command before."""
    try:
        folder = _folder()
        about = folder.stat()
        own = about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return own and (folder / _hash(given)).exists()
    except (OSError, RuntimeError, ValueError):  # nothing was noted, there is no home, or a path holds a NUL
        return False


def _folder() -> Path:
    """The folder of this person's notes.

    Raises:
        RuntimeError: there is no home.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else Path.home() / ".local" / "state") / "steelyard" / "given"


def _hash(given: Given) -> str:
    text = str(given.absolute()) if isinstance(given, Path) else json.dumps(given, sort_keys=True)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
