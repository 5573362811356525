"""What the parts of an .xlsx say beside its cells: where each sheet is, and the number format of each style.

Parts are parsed as a stream, and a document type ends it: nothing is ever expanded or fetched.

Source: ECMA-376 part 1, 18.2.20 (sheets), 18.8.10 (cellXfs), 18.8.31 (numFmts); part 2, 9.3 (relationships).
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from steelyard.data.sheet_format import BUILT_IN, is_plain
from steelyard.errors import DataError

_CHUNK: Final = 1 << 18
_BOOK: Final = "xl/workbook.xml"
_TRUE: Final = frozenset({"1", "true"})

Start = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class Walk:
    """What is called for the elements of a part; their names come without a prefix.

    Args:
        start: takes a name and attributes.
        end: takes a name.
        text: takes a piece of text.
    """

    start: Start
    end: Callable[[str], None] | None = None
    text: Callable[[str], None] | None = None


def part_of(archive: zipfile.ZipFile) -> str:
    """The name of an archive's file, for messages."""
    return posixpath.basename(archive.filename or "")


def walk_part(archive: zipfile.ZipFile, name: str, walk: Walk) -> None:
    """Parse one part piece by piece.

    Raises:
        DataError: it is damaged, or declares a document type.
        KeyError: there is no such part.
    """
    from xml.parsers import expat

    what = f"{part_of(archive)}: the part {name}"
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, about: walk.start(tag.rpartition(":")[2], about)
    if walk.end:
        end = walk.end
        parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    if walk.text:
        parser.CharacterDataHandler = walk.text
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(what)
    try:
        with archive.open(name) as stream:
            while chunk := stream.read(_CHUNK):
                parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{what} is damaged: {error}") from error


def _refuse(what: str) -> NoReturn:
    raise DataError(f"{what} declares a document type; that is not read")


@dataclass(slots=True)
class BookParts:
    """Where the sheets of a workbook are, and how its numbers are shown.

    Args:
        sheets: name of a sheet -> name of its part.
        formats: number of a style -> code of its number format, where a number is shown otherwise than it is stored.
        recalculates: whether the workbook asks to be computed when it is opened: a program wrote it that computes
            nothing, and the zeros beside its formulas are no results.
    """

    sheets: dict[str, str] = field(default_factory=dict)
    formats: dict[int, str] = field(default_factory=dict)
    recalculates: bool = False


def read_parts(archive: zipfile.ZipFile) -> BookParts:
    """Look at the workbook, its relationships and its styles.

    Raises:
        DataError: one of them is damaged.
    """
    book = BookParts()
    targets = _targets(archive)
    names = set(archive.namelist())

    def start(tag: str, about: Mapping[str, Any]) -> None:
        if tag == "sheet":
            key = next((value for name, value in about.items() if name.rpartition(":")[2] == "id"), "")
            if targets.get(key) in names:
                book.sheets.setdefault(about.get("name", ""), targets[key])
        elif tag == "calcPr":
            book.recalculates = about.get("fullCalcOnLoad") in _TRUE

    if _BOOK in names:
        walk_part(archive, _BOOK, Walk(start))
    if "xl/styles.xml" in names:
        book.formats = _formats(archive)
    return book


def refuse_shared_sheets(archive: zipfile.ZipFile) -> None:
    """Refuse a workbook of which two sheets are one part: a small file would be read as often as it has sheets.

    Raises:
        DataError: it is such a workbook, or its list of sheets is damaged.
    """
    targets = list(_targets(archive, "worksheet").values())
    if len(set(targets)) < len(targets):
        raise DataError(f"{part_of(archive)} is no sound workbook: two of its sheets are the same part")


def _targets(archive: zipfile.ZipFile, kind: str = "") -> dict[str, str]:
    """Relationship -> part, of those that stay inside the file and whose type ends with `kind`."""
    found: dict[str, str] = {}

    def start(tag: str, about: Mapping[str, Any]) -> None:
        inside = tag == "Relationship" and about.get("TargetMode") != "External"
        if inside and about.get("Type", "").endswith(kind):
            target = about.get("Target", "")
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
            found[about.get("Id", "")] = part

    name = "xl/_rels/workbook.xml.rels"
    if name in archive.namelist():
        walk_part(archive, name, Walk(start))
    return found


def _formats(archive: zipfile.ZipFile) -> dict[int, str]:
    codes: dict[str, str] = {str(number): code for number, code in BUILT_IN.items()}
    styles: list[str] = []
    inside: list[str] = []

    def start(tag: str, about: Mapping[str, Any]) -> None:
        inside.append(tag)
        if tag == "numFmt" and inside[-2:-1] == ["numFmts"]:
            codes[about.get("numFmtId", "")] = about.get("formatCode", "")
        elif tag == "xf" and inside[-2:-1] == ["cellXfs"]:
            styles.append(about.get("numFmtId", "0"))

    walk_part(archive, "xl/styles.xml", Walk(start, lambda _: (inside.pop(), None)[1]))
    plain = {number: is_plain(code) for number, code in codes.items()}
    return {place: codes[number] for place, number in enumerate(styles) if not plain.get(number, True)}
