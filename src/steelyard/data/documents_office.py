"""Reads Word documents and presentations (.docx, .pptx), which a process of its own unpacks.

No library: their text is in a few kinds of elements, and python-docx and python-pptx build a tree of the whole file,
read no text boxes, and bring lxml with them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from steelyard.data.limited_process import json_lines_of
from steelyard.errors import DataError

_MODULE: Final = "steelyard.data.documents_office_process"
_MEMORY_BYTES: Final = 1 << 30
_SECONDS: Final = 120.0
_WHY: Final = {"encrypted": "cannot be opened", "damaged": "is damaged", "large": "is too large"}


def read_office(path: Path, *, timeout_s: float = _SECONDS) -> tuple[str, tuple[int, ...]]:
    """The text of a document or presentation, and the offsets at which the slides begin; none of a document.

    Args:
        path: an existing file.
        timeout_s: limit in seconds.

    Raises:
        DataError: it is encrypted, damaged, too large or too slow to read.
    """
    (result,) = json_lines_of(_MODULE, path, _MEMORY_BYTES, timeout_s)[-1:] or (None,)
    if isinstance(result, dict):
        raise DataError(f"{path.name} {_WHY[result['error']]}: {result['message']}")
    if not isinstance(result, list):
        raise DataError(f"{path.name} could not be read: nothing arrived")
    if path.suffix.lower() == ".docx":
        return "\n\n".join(result), ()
    text, starts = "", []
    for page in result:
        gap = "\n\n" if text and page else ""
        starts.append(len(text) + len(gap))
        text += gap + page
    # A slide without text has the offset of the next one, as a page of a PDF has.
    for at in range(len(result) - 2, -1, -1):
        starts[at] = starts[at] if result[at] else starts[at + 1]
    return text, tuple(starts)
