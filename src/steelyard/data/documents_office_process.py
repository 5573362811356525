"""Reads the text of Word documents and presentations (.docx, .pptx) in a process of its own.

Both are zip archives of XML parts. Only text is read, that of footnotes, text boxes and speakers' notes too: pictures,
comments, headers and footers, charts, deleted text and links to other places are not. It writes one JSON value: the
`pages` (the texts, one of a document, one for each slide) and what is `unread`, such as `["headers"]`, or
`{"error": kind, "message": text}`.

Source: ECMA-376 part 1, 17.3 (paragraphs and runs), 17.4 (tables), 17.9 (numbering), 19.3 (slides), 21.1.2 (text in
DrawingML); part 2, 9.3 (relationships).
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steelyard.data.archive import Walk, related_parts, walk_part
from steelyard.data.limited_process import limit
from steelyard.errors import DataError

MAX_UNPACKED_BYTES: Final = 200_000_000
"""Of the parts that are read: a zip of some kilobytes may claim gigabytes. No part gives more than it claims."""
MAX_CHARACTERS: Final = 32_000_000
MAX_SLIDES: Final = 5_000

_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
"""First bytes of files of Office before 2007, and of an encrypted file of any version."""
_SKIPPED: Final = frozenset({"del", "moveFrom", "Fallback", "rt", "instrText", "delText", "pPrChange", "rPrChange"})
"""Elements whose text is not shown: deleted or moved away, repeated for old programs, a reading aid, a field's code."""
_BREAKS: Final[Mapping[str, str]] = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
_HEADING: Final = re.compile(r"(?:heading|título|überschrift|标题|見出し)\s?([1-9])|(title)", re.IGNORECASE)
_TITLES: Final = frozenset({"title", "ctrTitle"})
_NO_CONTENT: Final = frozenset({"sldNum", "dt", "ftr", "hdr"})
"""Placeholders of a slide for its number, date, footer and header."""
_CONTENT_NOT_READ: Final[Mapping[str, str]] = {
    "header": "headers", "footer": "footers", "comments": "comments", "chart": "charts", "diagramData": "diagrams",
    "image": "pictures", "aFChunk": "embedded files", "package": "embedded files", "oleObject": "embedded files",
}  # fmt: skip
"""Kinds of relationships to parts that are not read, and what these are called."""
_MOST_LEVEL: Final = 6
_LIST: Final = -1


def main(path: str, memory_bytes: int, cpu_s: int) -> None:
    """Write the texts of the file at `path` to standard output, within limits of memory and CPU time."""
    limit(memory_bytes, cpu_s)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = _OfficeParts(archive)
            result: Any = {"pages": list(_pages(parts)), "unread": parts.unread()}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError) as error:
        with open(path, "rb") as file:  # noqa: PTH123  # the process imports as little as it can
            is_old = file.read(4) == _OLD_OFFICE
        why = "it has a password, or is of a version before 2007; save it as .docx or .pptx" if is_old else str(error)
        result = {"error": "encrypted" if is_old else "damaged", "message": why}
    except DataError as error:
        result = {"error": "damaged", "message": str(error)}
    except _TooLargeError as error:
        result = {"error": "large", "message": str(error)}
    sys.stdout.write(json.dumps(result, separators=(",", ":")) + "\n")
    sys.stdout.flush()


class _TooLargeError(Exception):
    """The file holds more than is read."""


class _OfficeParts:
    """The parts of an archive, of which a limited number of bytes and characters is read."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise DataError("two of its parts have the same name")
        self._archive = archive
        self._names = frozenset(names)
        self._bytes = self._characters = 0
        self._unread: dict[str, str] = {}

    def walk(self, name: str, walk: Walk) -> None:
        """Walk through one part; nothing happens where there is none of that name."""
        if name not in self._names:
            return
        self._bytes += self._archive.getinfo(name).file_size
        if self._bytes > MAX_UNPACKED_BYTES:
            raise _TooLargeError(f"its text unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        walk_part(self._archive, name, walk)

    def count(self, characters: int) -> None:
        """Count characters that are kept."""
        self._characters += characters
        if self._characters > MAX_CHARACTERS:
            raise _TooLargeError(f"more than {MAX_CHARACTERS:,} characters")

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """Relationship's id -> (last word of its type, part) of a part, for parts inside the file."""
        found = related_parts(self._archive, part)
        self._unread |= {path: kind for kind, path in found.values() if kind in _CONTENT_NOT_READ}
        return found

    def unread(self) -> list[str]:
        """Kinds of content that are not read, sorted; headers and footers only where they have text."""
        return sorted(
            {
                _CONTENT_NOT_READ[kind]
                for part, kind in self._unread.items()
                if part in self._names and (kind not in {"header", "footer"} or _part_text(self, part, {}))
            }
        )


def _part_text(parts: _OfficeParts, name: str, levels: Mapping[str, int]) -> str:
    reader = _TextReader(parts, levels)
    parts.walk(name, Walk(reader.start, reader.end, reader.text))
    return reader.result()


def _pages(parts: _OfficeParts) -> Iterator[str]:
    main_part = next((part for kind, part in parts.targets("").values() if kind == "officeDocument"), "")
    if main_part.startswith("ppt/"):
        yield from _slides(parts, main_part)
    elif main_part.startswith("word/"):
        yield _word_text(parts, main_part)
    else:
        raise DataError("it is neither a Word document nor a presentation")


def _word_text(parts: _OfficeParts, main_part: str) -> str:
    levels = _heading_styles(parts, posixpath.join(posixpath.dirname(main_part), "styles.xml"))
    notes = [part for kind, part in parts.targets(main_part).values() if kind in {"footnotes", "endnotes"}]
    return "\n\n".join(filter(None, (_part_text(parts, name, levels) for name in (main_part, *notes))))


def _heading_styles(parts: _OfficeParts, name: str) -> dict[str, int]:
    """Id of a style of paragraphs -> its level as a heading, from 1; `_LIST` for entries of a list."""
    levels: dict[str, int] = {}
    style = ""

    def start(tag: str, about: Mapping[str, Any]) -> None:
        nonlocal style
        value = _value(about)
        if tag == "style":
            style = _value(about, "styleId")
        elif tag == "name" and style and (heading := _HEADING.fullmatch(value)):
            levels[style] = int(heading[1] or 1)
        elif tag == "outlineLvl" and style and value.isdecimal() and int(value[:2]) < _MOST_LEVEL:
            levels.setdefault(style, int(value[:2]) + 1)
        elif tag == "numPr" and style:
            levels.setdefault(style, _LIST)

    parts.walk(name, Walk(start))
    return levels


def _slides(parts: _OfficeParts, main_part: str) -> Iterator[str]:
    targets = parts.targets(main_part)
    order: list[str] = []

    def start(tag: str, about: Mapping[str, Any]) -> None:
        if tag == "sldId":
            ident = next(
                (value for name, value in about.items() if name.rpartition(":")[2] == "id" and ":" in name), ""
            )
            if targets.get(ident, ("",))[0] == "slide":
                order.append(targets[ident][1])

    parts.walk(main_part, Walk(start))
    if len(order) > MAX_SLIDES or len(set(order)) < len(order):
        raise _TooLargeError(f"{len(order):,} slides; at most {MAX_SLIDES:,} are read, each once")
    for slide in order:
        notes = [part for kind, part in parts.targets(slide).values() if kind == "notesSlide"]
        yield "\n\n".join(filter(None, (_part_text(parts, name, {}) for name in (slide, *notes[:1]))))


def _value(about: Mapping[str, Any], key: str = "val") -> str:
    """An attribute, whatever the prefix of its name."""
    return next((str(value) for name, value in about.items() if name.rpartition(":")[2] == key), "")


class _TextReader:
    """Follows paragraphs, runs and tables of a part, and collects them as lines.

    A paragraph is a line of its own, with an empty line around it unless it is an entry of a list; a row of a table is
    one line, with its cells parted by tabs, as in the text of a PDF.
    """

    def __init__(self, parts: _OfficeParts, levels: Mapping[str, int]) -> None:
        self._parts = parts
        self._levels = levels
        self._blocks: list[str] = []
        self._paragraphs: list[list[str]] = []
        self._marks: list[str] = []
        self._rows: list[list[list[str]]] = []
        self._skipped = 0
        self._in_text = 0
        self._placeholder = ""
        self._last = ""

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        if self._skipped or tag in _SKIPPED:
            self._skipped += 1
            return
        if tag == "p":
            self._paragraphs.append([])
            self._marks.append("# " if self._placeholder in _TITLES else "")
        elif tag == "t":
            self._in_text += 1
        elif tag in _BREAKS and self._paragraphs:
            self._paragraphs[-1].append(_BREAKS[tag])
        elif tag in {"sp", "ph"}:
            self._placeholder = _value(about, "type") if tag == "ph" else ""
        elif tag in {"tr", "tc"}:
            self._start_cells(tag)
        elif self._marks:
            self._mark(tag, about)

    def _start_cells(self, tag: str) -> None:
        if tag == "tr":
            self._rows.append([])
        elif self._rows:
            self._rows[-1].append([])

    def _mark(self, tag: str, about: Mapping[str, Any]) -> None:
        """Note how the paragraph begins, by its style, its level or its numbering."""
        value = _value(about)
        level = self._levels.get(value, 0) if tag == "pStyle" else 0
        if level == _LIST:
            self._marks[-1] = "- "
            return
        if tag == "outlineLvl" and value.isdecimal() and int(value[:2]) < _MOST_LEVEL:
            level = int(value[:2]) + 1
        if level:
            self._marks[-1] = f"{'#' * min(level, _MOST_LEVEL)} "
        elif tag == "numPr" and not self._marks[-1]:
            self._marks[-1] = "- "

    def end(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif tag == "t":
            self._in_text -= 1
        elif tag == "p" and self._paragraphs:
            self._end_paragraph("".join(self._paragraphs.pop()).strip(), self._marks.pop())
        elif tag == "tr" and self._rows:
            cells = [" ".join(" ".join(cell).split()) for cell in self._rows.pop()]
            if any(cells):
                self._add("\t".join(cells), "|")
        elif tag == "sp":
            self._placeholder = ""

    def _end_paragraph(self, text: str, mark: str) -> None:
        if not text or self._placeholder in _NO_CONTENT:
            return
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text)
        else:
            self._add(mark + text, mark)

    def _add(self, text: str, mark: str) -> None:
        """Add a line; rows and entries of lists follow each other without an empty line."""
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text)
            return
        joined = mark in {"|", "- "} and self._blocks and self._last == mark
        self._blocks += ["\n" if joined else "\n\n", text] if self._blocks else [text]
        self._last = mark

    def text(self, data: str) -> None:
        if self._in_text and not self._skipped and self._paragraphs:
            self._parts.count(len(data))
            self._paragraphs[-1].append(data)

    def result(self) -> str:
        return "".join(self._blocks)
