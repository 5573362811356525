"""Reads the lines of a PDF in a separate process, because hostile files can crash the C++ library.

It writes one JSON value per line: `[[text, left, top, right, bottom, size, word, cells], ...]` for each page, then the
number of pages; or `{"error": kind, "message": text}`. These are the fields of `documents_pdf.Line`.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from steelyard.data.limited_process import limit

MAX_PAGES: Final = 5_000
MAX_CHARACTERS: Final = 32_000_000

_BLANK: Final = 0x20
_RETURN, _BREAK, _HYPHEN = 0x0D, 0x0A, 0x02
_WIDE_FROM: Final = 0x2E80
_GAP: Final = 1.5
"""Minimum gap between two cells, in font sizes; justified lines rarely have gaps of one."""
_MARK: Final = re.compile(r"[\W\d]{1,8}|\w[.)]")
_ENCRYPTED: Final = (4, 5)
"""FPDF_ERR_PASSWORD and FPDF_ERR_SECURITY of pdfium's fpdfview.h."""


def main(path: str, memory_bytes: int, cpu_s: int) -> None:
    """Write the lines of the PDF at `path` to standard output, within limits of memory and CPU time."""
    limit(memory_bytes, cpu_s)
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(path)
    except PdfiumError as error:
        _write({"error": "encrypted" if error.err_code in _ENCRYPTED else "damaged", "message": str(error)})
        return
    if len(document) > MAX_PAGES:
        _write({"error": "large", "message": f"{len(document):,} pages; at most {MAX_PAGES:,} are read"})
        return
    left = MAX_CHARACTERS
    for number in range(len(document)):
        try:
            lines = _read(document[number], left)
        except PdfiumError as error:
            _write({"error": "damaged", "message": f"page {number + 1}: {error}"})
            return
        if lines is None:
            _write({"error": "large", "message": f"more than {MAX_CHARACTERS:,} characters"})
            return
        left -= sum(len(line[0]) for line in lines)
        _write(lines)
    _write(len(document))


def _write(value: Any) -> None:
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _read(page: Any, most: int) -> list[list[Any]] | None:
    """The lines of a page; None if it has more than `most` characters."""
    text = page.get_textpage()
    try:
        if text.count_chars() > most:
            return None
        characters = _PageCharacters(text)
        return [line for start, end in characters.lines() if (line := characters.line(start, end)) is not None]
    finally:
        text.close()
        page.close()


class _PageCharacters:
    """The characters of a page with their boxes, fetched one by one: only a few boxes of a line are needed."""

    def __init__(self, text: Any) -> None:
        from pypdfium2 import raw

        self._raw = raw
        self._text = text
        self._codes: list[int] = [raw.FPDFText_GetUnicode(text, at) for at in range(text.count_chars())]
        self._box = [ctypes.c_double() for _ in range(4)]

    def lines(self) -> Iterator[tuple[int, int]]:
        """The start and end of each line."""
        start = 0
        for at, code in enumerate([*self._codes, _BREAK]):
            if code in {_RETURN, _BREAK} or (code == _BLANK and start < at and self._leaves_line(at)):
                if at > start:
                    yield start, at
                start = at + 1

    def _leaves_line(self, blank: int) -> bool:
        """Whether the text after a space is at another height: the library sometimes joins two lines."""
        if blank + 1 >= len(self._codes) or self._codes[blank + 1] <= _BLANK:
            return False
        size = float(self._raw.FPDFText_GetFontSize(self._text, blank + 1))
        return abs(self._origin(blank + 1)[1] - self._origin(blank - 1)[1]) > max(size, 1.0)

    def line(self, start: int, end: int) -> list[Any] | None:
        """The fields of a line, or None if it is blank."""
        inked = [at for at in range(start, end) if self._codes[at] > _BLANK]
        if not inked:
            return None
        first, last = inked[0], inked[-1]
        word = next((at - 1 for at in range(first + 1, end) if self._ends_word(at)), last)
        left, top = self._origin(first)
        _, bottom = self._origin(last)
        size = float(self._raw.FPDFText_GetFontSize(self._text, last))  # the first may be a bullet
        cells = self._cells(first, last + 1, size)
        word_width = self._right(word) - left
        return ["\t".join(cells), left, top, self._right(last), bottom, size, word_width, len(cells)]

    def _ends_word(self, at: int) -> bool:
        code = self._codes[at]
        return code <= _BLANK or code >= _WIDE_FROM

    def _cells(self, start: int, end: int, size: float) -> list[str]:
        """The texts of a line, split at gaps too wide for a space: one for prose, several for a table row."""
        cells: list[str] = []
        begin = at = start
        while at < end:
            if self._codes[at] != _BLANK:
                at += 1
                continue
            after = next(index for index in range(at, end) if self._codes[index] > _BLANK)
            if self._origin(after)[0] - self._right(at - 1) > _GAP * size and (cells or not self._is_mark(begin, at)):
                cells.append(self._words(begin, at))
                begin = after
            at = after
        return [*cells, self._words(begin, end)]

    def _is_mark(self, start: int, end: int) -> bool:
        """Whether the text is a bullet or a number, which is usually followed by a gap."""
        return _MARK.fullmatch("".join(map(chr, self._codes[start:end]))) is not None

    def _words(self, start: int, end: int) -> str:
        """The characters as text; the library returns those beyond 16 bits whole or as two surrogates."""
        text = "".join(chr(self._codes[at]) for at in range(start, end) if not self._is_spacing(at))
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _is_spacing(self, at: int) -> bool:
        """Whether a space is only the distance between two Chinese characters of a justified line."""
        if self._codes[at] != _BLANK or not 0 < at < len(self._codes) - 1:
            return False
        around = min(self._codes[at - 1], self._codes[at + 1])
        return around >= _WIDE_FROM and bool(self._raw.FPDFText_IsGenerated(self._text, at) == 1)

    def _origin(self, at: int) -> tuple[float, float]:
        x, y = self._box[:2]
        self._raw.FPDFText_GetCharOrigin(self._text, at, x, y)
        return round(x.value, 1), round(y.value, 1)

    def _right(self, at: int) -> float:
        left, right, bottom, top = self._box
        self._raw.FPDFText_GetCharBox(self._text, at, left, right, bottom, top)
        return round(right.value, 1)
