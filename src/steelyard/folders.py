"""One rule for symbolic links: a file that somebody names may be one, a file found in a folder may not lead out of it.

Whoever names a file or a folder decides what it leads to. What is in a folder came with it, from whoever made the
dataset, and git keeps links: one to a private file would be sent to a model like the rest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["require_within"]


def require_within(folder: Path, path: Path) -> None:
    """Refuse a path found in a folder that a symbolic link leads out of it; the folder itself may be a link.

    Whoever can change the folder between this and the reading is not kept out.

    Args:
        folder: as it was named.
        path: below it; it need not exist.

    Raises:
        ConfigError: the link, its destination, and what to do.
    """
    root, destination = os.path.realpath(folder), os.path.realpath(path)
    if os.path.commonpath([root, destination]) != root:
        raise ConfigError(
            f"{path} leads out of the folder {folder}, over a symbolic link or '..', to {destination}; only what is in "
            "the folder is read. Put a copy of the file there, or name that file itself or a folder that holds both"
        )
