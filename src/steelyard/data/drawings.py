"""Pictures, shapes and formula objects over the cells of an .xlsx sheet: what they are, and the cell of their corner.

Source: ECMA-376 part 1, 20.5 (spreadsheet drawings), 18.3.1.59 (oleObject); part 2, 9.3 (relationships).
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Mapping
from typing import Any, Final

from steelyard.data.archive import Walk, walk_part
from steelyard.data.table import UnreadCells

_ANCHORS: Final = frozenset({"oneCellAnchor", "twoCellAnchor", "absoluteAnchor"})
_THINGS: Final = frozenset({"pic", "graphicFrame", "sp", "grpSp", "cxnSp", "contentPart"})
_EQUATIONS: Final = frozenset({"m", "oMath", "oMathPara"})
_PLACES: Final = frozenset({"col", "row"})
_MOST_DIGITS: Final = 7


class CornerReader:
    """Reads the `col` and `row` of an anchor's `from`, both counted from 0."""

    def __init__(self) -> None:
        self._inside = False
        self._name = ""
        self._pieces: list[str] = []
        self.numbers: dict[str, int] = {}

    def start(self, tag: str) -> None:
        """Take the start of an element."""
        if tag == "from":
            self._inside = True
        elif self._inside and tag in _PLACES:
            self._name, self._pieces = tag, []

    def text(self, data: str) -> None:
        """Take a piece of text."""
        if self._name and len(self._pieces) < _MOST_DIGITS:
            self._pieces.append(data)

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if tag == "from":
            self._inside = False
        elif tag == self._name:
            digits = "".join(self._pieces).strip()
            if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
                self.numbers.setdefault(tag, int(digits))
            self._name = ""

    def cell(self) -> tuple[int, int]:
        """The 1-based row and 0-based column; row 0 if the drawing is tied to no cell."""
        if self.numbers.keys() < _PLACES:
            return 0, 0
        return self.numbers["row"] + 1, self.numbers["col"]


def read_drawings(archive: zipfile.ZipFile, sheet: str, unread: UnreadCells) -> None:
    """Add the cells of the pictures, shapes and formulas of a sheet's drawings.

    Args:
        archive: the workbook.
        sheet: the name of the sheet's part.
        unread: what is added to.

    Raises:
        DataError: a drawing is damaged, or there are too many.
    """
    for part in _drawings_of(archive, sheet):
        walker = _Drawing(unread)
        walk_part(archive, part, Walk(walker.start, walker.end, walker.text))


def _drawings_of(archive: zipfile.ZipFile, sheet: str) -> list[str]:
    folder, name = posixpath.split(sheet)
    relations, names = f"{folder}/_rels/{name}.rels", set(archive.namelist())
    if relations not in names:
        return []
    parts: dict[str, None] = {}

    def start(tag: str, about: Mapping[str, Any]) -> None:
        if tag == "Relationship" and about.get("Type", "").endswith("/drawing"):
            target = about.get("Target", "")
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")
            if part in names:
                parts[part] = None

    walk_part(archive, relations, Walk(start))
    return list(parts)


class _Drawing:
    """Follows the anchors of a drawing; a formula comes with a picture of it, for programs that do not know it."""

    def __init__(self, unread: UnreadCells) -> None:
        self._unread = unread
        self._corner = CornerReader()
        self._kind = ""

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if tag in _ANCHORS:
            self._corner, self._kind = CornerReader(), ""
        elif tag in _THINGS:
            self._kind = self._kind or "pictures"
        elif tag in _EQUATIONS:
            self._kind = "equations"
        elif tag == "cNvPr" and about.get("hidden") in {"1", "true"}:
            self._kind = "hidden"  # stands for an object that the sheet itself lists
        self._corner.start(tag)

    def text(self, data: str) -> None:
        self._corner.text(data)

    def end(self, tag: str) -> None:
        self._corner.end(tag)
        if tag in _ANCHORS and self._kind and self._kind != "hidden":
            self._unread.add(self._kind, *self._corner.cell())
