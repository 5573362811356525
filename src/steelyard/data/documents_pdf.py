"""PDF files as text: read in a process of its own, within limits of time and memory.

pypdfium2 reads a paper of twenty pages in half a second, twenty times as fast as a reader in pure Python, and leaves
fewer broken words. What it costs is a library in C++: a file that crashes it or that never ends costs that process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.data.documents_pages import Line, join_pages
from steelyard.errors import DataError

PDF_SECONDS: Final = 300.0
"""A page takes about 20 ms, so that the largest document that is read takes a third of this."""

_MEMORY_BYTES: Final = 4 << 30
_BOOT: Final = (
    "import sys;sys.path[:0]=sys.argv[4:];"
    "from steelyard.data.documents_pdf_process import main;"
    "main(sys.argv[1],int(sys.argv[2]),int(sys.argv[3]))"
)
_WHY: Final = {
    "encrypted": "is encrypted; save it without a password",
    "damaged": "is damaged, or no PDF",
    "large": "is too large",
}


def read_pdf(path: Path, *, timeout_s: float = PDF_SECONDS) -> tuple[str, tuple[int, ...]]:
    """The text of a PDF and the offsets at which its pages begin.

    Args:
        path: of a file that is there.
        timeout_s: limit in seconds.

    Raises:
        DataError: it is encrypted, damaged, too large or too slow to read, or there is no text in it.
    """
    *pages, count = _spoken(path, timeout_s)
    if count != len(pages):
        raise DataError(f"{path.name} could not be read: {len(pages)} pages came of {count}")
    text, starts = join_pages([[Line(*line) for line in page] for page in pages])
    if not text:
        raise DataError(
            f"{path.name} has {count} page{'s' if count != 1 else ''} and no text: it holds images, as a scanner "
            "makes them; run text recognition on it first"
        )
    return text, starts


def _spoken(path: Path, timeout_s: float) -> Sequence[Any]:
    """The values that the reading process wrote.

    Raises:
        DataError: it said what is wrong, or crashed, or took too long.
    """
    paths = [str(Path(__file__).resolve().parents[2]), *(one for one in sys.path if one)]
    command = [sys.executable, "-I", "-S", "-c", _BOOT, str(path.resolve()), str(_MEMORY_BYTES)]
    try:
        done = subprocess.run(  # noqa: S603 (our own interpreter and code, no shell)
            [*command, str(int(timeout_s) + 1), *paths],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={"LANG": "C.UTF-8", "PATH": os.defpath},
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"{path.name} could not be read within {timeout_s:g} s; is it a sound PDF?") from None
    lines = done.stdout.splitlines()
    last = json.loads(lines[-1]) if lines else None
    if isinstance(last, dict):
        raise DataError(f"{path.name} {_WHY[last['error']]}: {last['message']}")
    if done.returncode or not isinstance(last, int):
        raise DataError(f"{path.name} could not be read: {_end(done)}")
    return [json.loads(line) for line in lines]


def _end(done: subprocess.CompletedProcess[bytes]) -> str:
    """How a process ended that did not come to its end."""
    if done.returncode == -signal.SIGABRT:
        return "the PDF reader gave up on it, as it does when it gets no more memory"
    if done.returncode < 0:
        return f"the PDF reader crashed on it (signal {-done.returncode})"
    said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return "it needs too much memory" if "MemoryError" in said else f"the PDF reader failed: {said[:200]}"
