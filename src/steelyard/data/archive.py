"""Looks at workbooks that are zip archives before they are read, and walks through their parts.

Only what their directory says of them is looked at: kind, password, and the ratio of the unpacked parts to the file.
Whatever lies there meets the limits of the process in which a workbook is read.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NoReturn
from xml.parsers import expat

from steelyard.errors import DataError

MAX_UNPACKED_BYTES: Final = 200_000_000
MAX_RATIO: Final = 200
"""Maximum ratio of the unpacked parts to the file, once they exceed 20 MB.

Sheets of 300,000 cells written by openpyxl have 6 (numbers) to 26 (texts); Deflate reaches 1,032."""
MAX_PARTS: Final = 5_000

_PART_CHUNK: Final = 1 << 18
_KINDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "xl/workbook.bin": ("a binary workbook (.xlsb)", "save it as .xlsx"),
        "word/document.xml": ("a text document", "copy its table into a workbook"),
        "ppt/presentation.xml": ("a presentation", "copy its table into a workbook"),
        "xl/workbook.xml": ("an Excel workbook", "name it .xlsx"),
        "content.xml": ("an OpenDocument file", "name it .ods"),
    }
)


Start = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class Walk:
    """Callbacks for the XML elements of a part, whose names come without a prefix.

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
    what = f"{part_of(archive)}: the part {name}"
    parser = expat.ParserCreate()
    # Without this a text arrives in pieces, one per line and entity.
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, about: walk.start(tag.rpartition(":")[2], about)
    if walk.end:
        end = walk.end
        parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    if walk.text:
        parser.CharacterDataHandler = walk.text
    # A document type can define entities that expand without limit.
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(what)
    try:
        with archive.open(name) as stream:
            while chunk := stream.read(_PART_CHUNK):
                parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{what} is damaged: {error}") from error


def _refuse(what: str) -> NoReturn:
    raise DataError(f"{what} declares a document type, which is not allowed")


def related_parts(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Relationship's id -> (last word of its type, part) of a part, for parts inside the file."""
    parts: dict[str, tuple[str, str]] = {}
    folder, name = posixpath.split(part)

    def start(tag: str, about: Mapping[str, Any]) -> None:
        if tag == "Relationship" and about.get("TargetMode") != "External":
            kind, target = about.get("Type", "").rpartition("/")[2], about.get("Target", "")
            path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            parts[about.get("Id", "")] = kind, path

    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations in archive.namelist():
        walk_part(archive, relations, Walk(start))
    return parts


def examine_archive(path: Path) -> None:
    """Reject a workbook that is another kind of archive, encrypted, or too large when unpacked.

    Raises:
        DataError: it is, or it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise DataError(f"{path.name} is damaged or cut off: {error}") from error
    names = {part.filename for part in parts}
    if len(parts) > MAX_PARTS or len(names) < len(parts):
        raise DataError(f"{path.name} is not a valid workbook: {len(parts)} parts, or two with the same name")
    own = "content.xml" if path.suffix.lower() == ".ods" else "xl/workbook.xml"
    for part, (what, advice) in _KINDS.items():
        if part in names and own not in names:
            raise DataError(f"{path.name} is {what}; {advice}")
    if any(part.flag_bits & 1 for part in parts):
        raise DataError(f"{path.name} is encrypted; save it without a password")
    limit = min(MAX_UNPACKED_BYTES, max(20_000_000, MAX_RATIO * path.stat().st_size))
    if sum(part.file_size for part in parts) > limit:
        raise DataError(f"{path.name} unpacks to more than {limit:,} bytes, which is too large for a workbook")
