"""How much text the cells of an .xlsx hold once each has its own copy.

A cell may name a text that stands once in the file: a text of a megabyte that a hundred thousand cells name is a
hundred gigabytes in the reader, out of a file of a few kilobytes. The reader also sets aside room for as many texts as
the file says it has. Both are held to a limit here, in the one pass that unpacks every part. Its figures are bounds:
an exact count is made only where the longest text, if every cell named it, would be too much.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steelyard.data.workbook_parts import Walk, walk_part
from steelyard.errors import DataError

MAX_TEXT_BYTES: Final = 100_000_000
"""Bytes of text in all cells of a workbook together, counted in UTF-8."""

_TABLE: Final = re.compile(rb"<(?:[\w.-]+:)?sst(?=[\s>/])([^>]*)")
_CLAIM: Final = re.compile(rb"""[Cc]ount\s*=\s*["'](\d+)""")
_END: Final = b"si>"


@dataclass(slots=True)
class SharedTexts:
    """The shared texts of a workbook, and how often cells name one.

    Args:
        what: the file's name.
    """

    what: str
    _table: str = ""
    _longest: int = 0
    _named: int = 0
    _sheets: list[str] = field(default_factory=list)

    def watch(self, part: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """A part's bytes as they are; what it says of texts is noted on the way.

        Raises:
            DataError: it claims more texts than it can hold.
        """
        size = length = claims = 0
        is_table = False
        for chunk in chunks:
            if not size and (match := _TABLE.search(chunk, 0, 4096)):
                is_table, claims = True, max((int(one[:18]) for one in _CLAIM.findall(match[1])), default=0)
            size += len(chunk)
            if is_table:
                length = self._measure(chunk, length)
            yield chunk
        if claims > size:
            raise DataError(f"{self.what} is no sound workbook: it claims {claims:,} texts in {size:,} bytes")
        if is_table:
            self._table = part

    def count(self, part: str, text: bytes) -> None:
        """Count cells that name a text, in a piece of a part from which blanks were taken."""
        named = text.count(b't="s"') + text.count(b"t='s'")
        self._named += named
        if named and part not in self._sheets:
            self._sheets.append(part)

    def _measure(self, chunk: bytes, before: int) -> int:
        """Note the longest text; returns the length of the one that goes on behind the chunk."""
        first, *others = map(len, chunk.split(_END))
        self._longest = max(self._longest, before + first, *others)
        return others[-1] if others else before + first

    def refuse_if_too_large(self, archive: zipfile.ZipFile) -> None:
        """Hold the limit.

        Raises:
            DataError: the cells hold more text.
        """
        if self._longest * self._named > MAX_TEXT_BYTES and self._exactly(archive) > MAX_TEXT_BYTES:
            raise DataError(
                f"{self.what}: its cells hold more than {MAX_TEXT_BYTES:,} bytes of text, because many name the same "
                "long text; save the rows as CSV"
            )

    def _exactly(self, archive: zipfile.ZipFile) -> int:
        counts = _Counts()
        walk_part(archive, self._table, Walk(counts.start_text, counts.end_text, counts.text))
        for part in self._sheets:
            walk_part(archive, part, Walk(counts.start_cell, counts.end_cell, counts.text))
        return counts.total


class _Counts:
    """Lengths of the shared texts, then the sum of those that cells name."""

    def __init__(self) -> None:
        self.total = 0
        self._lengths: list[int] = []
        self._length = 0
        self._pieces: list[str] = []
        self._shared = self._reading = False

    def start_text(self, tag: str, _about: Mapping[str, Any]) -> None:
        if tag == "si":
            self._length, self._pieces = 0, []

    def end_text(self, tag: str) -> None:
        self._length += sum(len(piece.encode()) for piece in self._pieces)
        self._pieces = []
        if tag == "si":
            self._lengths.append(self._length)

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def start_cell(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag == "c":
            self._shared = about.get("t") == "s"
        self._pieces = []

    def end_cell(self, tag: str) -> None:
        if tag == "v" and self._shared:
            number = "".join(self._pieces).strip()
            place = int(number) if number.isdigit() and len(number) < 10 else len(self._lengths)
            self.total += self._lengths[place] if place < len(self._lengths) else 0
        self._pieces = []
