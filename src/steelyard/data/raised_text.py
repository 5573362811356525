"""Raised and lowered characters of a cell as plain text: 10² and x₂, or ^{...} and _{...} where Unicode has none.

A spreadsheet keeps the position of characters in runs of rich text. Without it 10² is the number 102.

Source: ECMA-376 part 1, 18.4.4 (is), 18.4.8 (si), 18.4.6 (rPh), 22.4.2.4 (escapes `_xHHHH_`), 18.18.88
(ST_VerticalAlignRun); Unicode 16.0, "Superscripts and Subscripts" and the modifier letters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

Position = Literal["", "super", "sub"]

_SUPER: Final = str.maketrans("0123456789+-−=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_SUB: Final = str.maketrans("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


class TextRun(NamedTuple):
    """Characters in one position."""

    position: Position
    text: str


class RaisedText(NamedTuple):
    """A text with its raised and lowered characters, and whether Unicode has all of them."""

    text: str
    is_exact: bool


def raised_text(runs: Sequence[TextRun]) -> RaisedText | None:
    """The text of runs; None if none of them is raised or lowered.

    >>> raised_text([TextRun("", "10"), TextRun("super", "-2")]), raised_text([TextRun("", "x"), TextRun("sub", "总")])
    (RaisedText(text='10⁻²', is_exact=True), RaisedText(text='x_{总}', is_exact=False))
    """
    joined = list(_joined(runs))
    if not any(position and text.strip() for position, text in joined):
        return None
    pieces = [_written(run) for run in joined]
    return RaisedText("".join(piece.text for piece in pieces), all(piece.is_exact for piece in pieces))


def _joined(runs: Sequence[TextRun]) -> list[TextRun]:
    """The runs with neighbours of one position as one: programs split them at will."""
    joined: list[TextRun] = []
    for run in runs:
        if joined and joined[-1].position == run.position:
            joined[-1] = TextRun(run.position, joined[-1].text + run.text)
        elif run.text:
            joined.append(run)
    return joined


def _written(run: TextRun) -> RaisedText:
    if not run.position or not run.text.strip():
        return RaisedText(run.text, is_exact=True)
    table, mark = (_SUPER, "^") if run.position == "super" else (_SUB, "_")
    text = run.text.strip()
    before, _, after = run.text.partition(text)
    if all(ord(character) in table or character == " " for character in text):
        return RaisedText(before + text.translate(table) + after, is_exact=True)
    return RaisedText(f"{before}{mark}{{{text}}}{after}", is_exact=False)


class XlsxRuns:
    """Collects the runs of one shared or inline text from its XML elements; phonetic runs are no text of the cell."""

    def __init__(self) -> None:
        self.runs: list[TextRun] = []
        self._position: Position = ""
        self._reading = self._phonetic = False
        self._pieces: list[str] = []

    def start(self, tag: str, about: Mapping[str, Any]) -> None:
        """Take the start of an element."""
        if tag == "r":
            self._position = ""
        elif tag == "vertAlign":
            self._position = _POSITIONS.get(about.get("val", ""), "")
        elif tag == "rPh":
            self._phonetic = True
        elif tag == "t":
            self._reading, self._pieces = not self._phonetic, []

    def text(self, data: str) -> None:
        """Take a piece of text."""
        if self._reading:
            self._pieces.append(data)

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if tag == "rPh":
            self._phonetic = False
        elif tag == "t" and self._reading:
            self._reading = False
            self.runs.append(TextRun(self._position, _unescaped("".join(self._pieces))))


_POSITIONS: Final[Mapping[str, Position]] = {"superscript": "super", "subscript": "sub"}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def ods_position(value: str) -> Position:
    """The position of OpenDocument's `style:text-position`.

    >>> ods_position("super 58%"), ods_position("-33% 58%"), ods_position("0% 100%")
    ('super', 'sub', '')
    """
    first = value.partition(" ")[0].strip()
    if first in {"super", "sub"}:
        return "super" if first == "super" else "sub"
    number = first.removesuffix("%")
    try:
        height = float(number[:20])
    except ValueError:
        return ""
    return "super" if height > 0 else "sub" if height < 0 else ""
