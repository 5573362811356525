"""Opens the address of a viewer in a browser, without the token in the arguments of a process.

Every user of a machine can read the arguments of every process. So the browser is given a file that only this user can
read, whose page leads to the address, in a temporary folder that is deleted after a minute or with the process.
"""

from __future__ import annotations

import html
import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final

_OPEN_S: Final = 60.0
"""Seconds until the file is deleted: a browser may have to start first."""
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={0}"><title>Steelyard</title><a href="{0}">Open the viewer</a></html>\n'
)


def start_browser(address: str, failed: Callable[[], None]) -> None:
    """Open an address in the user's browser; the file that leads there is deleted after a minute, or at the end.

    Args:
        address: holds a secret.
        failed: is called where there is no browser, or no file can be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="steelyard-viewer-", dir=_parent(), ignore_cleanup_errors=True)
        page = Path(folder.name, "viewer.html")
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(html.escape(address)))
    except OSError:
        failed()
        return

    def start() -> None:
        if not webbrowser.open(page.as_uri()):
            failed()

    # Some browsers, such as those of a terminal, return only at their end.
    threading.Thread(target=start, daemon=True).start()
    expiry = threading.Timer(_OPEN_S, folder.cleanup)
    expiry.daemon = True
    expiry.start()


def _parent() -> Path | None:
    """Where the folder of the file is made; None is the temporary folder of the system.

    A browser that snap installed has another temporary folder, and sees no hidden folder of the user's.
    """
    try:
        home = Path.home()
    except RuntimeError:  # a user without one, as in containers
        return None
    return home if (home / "snap").is_dir() and os.access(home, os.W_OK) else None
