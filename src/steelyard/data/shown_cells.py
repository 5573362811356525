"""What a cell of a workbook shows beside its value: formatted numbers, and raised and lowered characters.

An option must be the text that its author saw on the screen, so a number is formatted with the format of its cell: 0.5
with `0%` is "50%", 7 with `000` is "007". Supported are digits (0 # ?), the decimal point, thousands and their scaling,
percent, E notation, fractions, texts in quotes or after a backslash, colours, conditions and sections by sign. Dates
are not: readers return them as dates, and ISO 8601 is the same in every language. A number with an unknown format is
shown as it is stored.

A spreadsheet keeps the position of characters in runs of rich text; without it 10² is the number 102. They become plain
text: 10² and x₂, or ^{...} and _{...} where Unicode has none.

Source: ECMA-376 part 1, 18.8.30 (numFmt), 18.8.31 (numFmts), 18.4.4 (is), 18.4.8 (si), 18.4.6 (rPh), 22.4.2.4 (escapes
`_xHHHH_`), 18.18.88 (ST_VerticalAlignRun); Unicode 16.0, "Superscripts and Subscripts" and the modifier letters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from steelyard.data.table import UnreadCells, render
from steelyard.errors import DataError

Position = Literal["", "super", "sub"]

_SUPER: Final = str.maketrans("0123456789+-−=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_SUB: Final = str.maketrans("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_POSITIONS: Final[Mapping[str, Position]] = {"superscript": "super", "subscript": "sub"}
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


MAX_RAISED: Final = 500_000
"""Maximum number of cells, and of shared texts, with raised or lowered characters."""

UNCOMPUTED: Final = (
    "a formula without a value: no program has computed it; open the file once in a spreadsheet program and save it"
)


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
    pieces = [_run_text(run) for run in joined]
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


def _run_text(run: TextRun) -> RaisedText:
    if not run.position or not run.text.strip():
        return RaisedText(run.text, is_exact=True)
    table, mark = (_SUPER, "^") if run.position == "super" else (_SUB, "_")
    text = run.text.strip()
    before, _, after = run.text.partition(text)
    if all(ord(character) in table or character == " " for character in text):
        return RaisedText(before + text.translate(table) + after, is_exact=True)
    return RaisedText(f"{before}{mark}{{{text}}}{after}", is_exact=False)


@dataclass(slots=True)
class SheetCells:
    """Cells found by the second pass over a sheet: (row number, 0-based column, the text shown or the fault).

    `texts` replace the texts of cells, which `shown` does not; `unread` are cells with more than text.
    """

    shown: list[tuple[int, int, str]] = field(default_factory=list)
    faults: list[tuple[int, int, str]] = field(default_factory=list)
    texts: list[tuple[int, int, str]] = field(default_factory=list)
    unread: UnreadCells = field(default_factory=UnreadCells)
    _raised: int = 0

    def add_raised(self, row: int, column: int, text: RaisedText) -> None:
        """Add a cell with raised or lowered characters."""
        self.texts.append((row, column, text.text))
        self._raised += 1
        if self._raised > MAX_RAISED:
            raise DataError(f"a sheet has more than {MAX_RAISED:,} cells with raised characters; save it as CSV")
        if not text.is_exact:
            self.unread.add("raised", row, column)


def error_value(text: str) -> str:
    """The message about a cell that holds an error."""
    return f"the cell holds the error {text.strip()[:20] or 'of a formula'}; correct its formula, or write the value"


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


BUILT_IN: Final[Mapping[int, str]] = MappingProxyType(
    {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??"}
    | {37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)"}
    | {48: "##0.0E+0"}
)
"""Formats that a file refers to only by number; the built-in numbers that are missing are General, text and dates."""

MAX_FORMAT: Final = 255
"""Maximum characters of a format; spreadsheet programs do not accept longer ones."""

_TOKEN: Final = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _(?P<space>.) | \*(?P<fill>.) | \[(?P<bracket>[^\]]*)\]
    | (?P<exponent>[eE][+-]0+) | (?P<general>(?i:general)) | (?P<digits>[0#?]+(?:,[0#?]+)*) | (?P<mark>[.,%/])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CONDITION: Final = re.compile(r"(<=|>=|<>|<|>|=)(-?\d{1,15}(?:\.\d{1,15})?)")
_CURRENCY: Final = re.compile(r"\$([^-]*)")
_DATE: Final = frozenset("yYmMdDhHsSgGbBaA")


class _FormatToken(NamedTuple):
    kind: str
    text: str


@lru_cache(maxsize=4096)
def shown_as(value: float, code: str) -> str:
    """The text of a number with a format code.

    >>> [shown_as(0.5, "0%"), shown_as(7, "000"), shown_as(1234567.891, "#,##0.00"), shown_as(3.5, '0.00"元"')]
    ['50%', '007', '1,234,567.89', '3.50元']
    >>> [shown_as(-2.5, "0.0;(0.0)"), shown_as(0.5, "# ?/?"), shown_as(12345, "0.00E+00"), shown_as(2, "General")]
    ['(2.5)', '1/2', '1.23E+04', '2']
    """
    if len(code) > MAX_FORMAT or not isfinite(value):
        return render(value)
    chosen = _section(value, _sections(code))
    if chosen is None:
        return render(value)
    tokens, negative = chosen
    try:
        # Spreadsheets keep 15 significant digits; the binary value of 0.1 is 0.1000000000000000055...
        text = _filled(abs(Decimal(format(value, ".15g"))), tokens)
    except ArithmeticError:
        return render(value)
    if not text:
        return render(value)
    # A number that is rounded to zero is shown without a sign.
    return f"-{text}" if negative and any(character in "123456789" for character in text) else text


def is_plain(code: str) -> bool:
    """Whether this format shows a number as it is stored, or as a date, which the reader returns as a date."""
    return len(code) > MAX_FORMAT or all(_plain_section(tokens) for tokens in _sections(code)[:3])


def _plain_section(tokens: tuple[_FormatToken, ...]) -> bool:
    kinds = {token.kind for token in tokens}
    return (
        kinds <= {"general", "bracket", "space", "fill"} or _is_date(tokens) or tokens == (_FormatToken("other", "@"),)
    )


@lru_cache(maxsize=256)
def _sections(code: str) -> tuple[tuple[_FormatToken, ...], ...]:
    sections: list[list[_FormatToken]] = [[]]
    for match in _TOKEN.finditer(code):
        token = _FormatToken(str(match.lastgroup), match[str(match.lastgroup)])
        if token == ("other", ";"):
            sections.append([])
        else:
            sections[-1].append(token)
    return tuple(map(tuple, sections))


def _section(
    value: float, sections: tuple[tuple[_FormatToken, ...], ...]
) -> tuple[tuple[_FormatToken, ...], bool] | None:
    """The section for a number, and whether to write its minus sign; None if the section does not format numbers."""
    conditions = [_condition(tokens) for tokens in sections[:3]]
    if any(conditions):
        fits = [
            section for section, condition in enumerate(conditions) if condition is None or _holds(value, condition)
        ]
        if not fits:
            return None
        tokens, negative = sections[fits[0]], value < 0
    else:
        numbers = sections[:3]
        section = 1 if value < 0 and len(numbers) > 1 else 2 if value == 0 and len(numbers) > 2 else 0
        tokens, negative = numbers[section], value < 0 and section == 0
    return None if _is_date(tokens) else (tokens, negative)


def _condition(tokens: tuple[_FormatToken, ...]) -> tuple[str, float] | None:
    for token in tokens:
        if token.kind == "bracket" and (match := _CONDITION.fullmatch(token.text)):
            return match[1], float(match[2])
    return None


def _holds(value: float, condition: tuple[str, float]) -> bool:
    sign, bound = condition
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
        "=": value == bound,
        "<>": value != bound,
    }[sign]


def _is_date(tokens: tuple[_FormatToken, ...]) -> bool:
    return any(
        (token.kind == "other" and token.text in _DATE)
        or (token.kind == "bracket" and token.text.lower().strip("hms") == "" and token.text)
        for token in tokens
    )


def _filled(number: Decimal, tokens: tuple[_FormatToken, ...]) -> str | None:
    """The text of a section with the digits filled in; None if its structure is unknown."""
    marks = [token.text for token in tokens if token.kind == "mark"]
    percents = marks.count("%")
    number *= Decimal(100) ** percents
    if not any(token.kind == "digits" for token in tokens):
        if any(token.kind == "general" for token in tokens):
            return _around(tokens, {_first(tokens, "general"): render(float(number))})
        return _around(tokens, {})
    if "/" in marks:
        return _fraction(number, tokens)
    if any(token.kind == "exponent" for token in tokens):
        return _scientific(number, tokens)
    return _decimal(number, tokens)


def _decimal(number: Decimal, tokens: tuple[_FormatToken, ...]) -> str:
    integer, part, (start, last) = _places(tokens)
    thousands = 0
    while last + 1 + thousands < len(tokens) and tokens[last + 1 + thousands] == ("mark", ","):
        thousands += 1
    number /= Decimal(1000) ** thousands
    if len(integer) > 1 and not part:
        return _around(tokens, _grouped(number, tokens, integer))
    digits = _written(number, *("".join(tokens[index].text for index in places) for places in (integer, part)))
    return _around(tokens, {start: digits}, range(start, last + 1 + thousands))


def _grouped(number: Decimal, tokens: tuple[_FormatToken, ...], places: list[int]) -> dict[int, str]:
    """Distribute the digits from the right to groups with texts between them, as in 000-0000."""
    digits = _written(number, "".join(tokens[index].text for index in places).replace(",", ""), "")
    groups = {}
    for index in reversed(places[1:]):
        size = len(tokens[index].text)
        groups[index], digits = digits[-size:], digits[:-size]
    return {**groups, places[0]: digits}


def _places(tokens: tuple[_FormatToken, ...]) -> tuple[list[int], list[int], tuple[int, int]]:
    """Indices of the digits before and after the point, and the first and last index of the number."""
    points = [index for index, token in enumerate(tokens) if token == ("mark", ".")][:1]
    point = points[0] if points else len(tokens)
    digits = [index for index, token in enumerate(tokens) if token.kind == "digits"]
    integer, part = [index for index in digits if index < point], [index for index in digits if index > point]
    return integer, part, (min(digits + points), max(digits + points))


def _written(number: Decimal, digits: str, decimals: str) -> str:
    """A number with the digits that the format requires before and after the point."""
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    front, _, back = format(rounded, "f").partition(".")
    least = digits.count("0")
    front = front.lstrip("0").rjust(least, "0")
    if "," in digits:
        front = re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", front)
    optional = len(decimals) - len(decimals.rstrip("#?"))
    while optional and back.endswith("0"):
        back, optional = back[:-1], optional - 1
    return front + (f".{back}" if decimals and back else "")


def _scientific(number: Decimal, tokens: tuple[_FormatToken, ...]) -> str:
    mark = _first(tokens, "exponent")
    integer, part, (start, _) = _places(tokens[:mark])
    digits, decimals = ("".join(tokens[index].text for index in places) for places in (integer, part))
    step = max(1, len(digits.replace(",", "")))
    power = number.adjusted() // step * step if number else 0
    mantissa = number.scaleb(-power).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    if mantissa.adjusted() >= step:
        mantissa, power = mantissa.scaleb(-step), power + step
    sign = "-" if power < 0 else "+" if "+" in tokens[mark].text else ""
    exponent = f"E{sign}{str(abs(power)).rjust(len(tokens[mark].text) - 2, '0')}"
    return _around(tokens, {start: _written(mantissa, digits or "0", decimals) + exponent}, range(start, mark + 1))


def _fraction(number: Decimal, tokens: tuple[_FormatToken, ...]) -> str | None:
    slash = next(index for index, token in enumerate(tokens) if token == ("mark", "/"))
    before = [index for index, token in enumerate(tokens[:slash]) if token.kind == "digits"]
    denominator_index = next(
        (index for index in range(slash + 1, len(tokens)) if tokens[index].kind in {"digits", "other"}), None
    )
    if not before or denominator_index is None:
        return None
    denominator = "".join(
        token.text for token in tokens[denominator_index:] if token.kind in {"digits", "other"}
    ).strip()
    mixed, integer = len(before) > 1, int(number)
    remainder = Fraction(number) - (integer if mixed else 0)
    if denominator.isdigit() and int(denominator):
        part = Fraction(round(remainder * int(denominator)), 1)
        top, bottom = int(part), int(denominator)
    else:
        nearest = remainder.limit_denominator(10 ** min(len(denominator), 4) - 1)
        top, bottom = nearest.numerator, nearest.denominator
    if mixed and top == bottom:
        integer, top = integer + 1, 0
    front = str(integer) if mixed and (integer or not top) else ""
    return f"{front} {top}/{bottom}".strip() if top or not front else front


def _first(tokens: tuple[_FormatToken, ...], kind: str) -> int:
    return next(index for index, token in enumerate(tokens) if token.kind == kind)


def _around(tokens: tuple[_FormatToken, ...], numbers: Mapping[int, str], inside: range = range(0)) -> str:
    """The texts of a section with the number in its place; tokens in the range `inside` belong to the number."""
    pieces = [
        numbers.get(index, "") if index in numbers or index in inside else _literal(token)
        for index, token in enumerate(tokens)
    ]
    return "".join(pieces).strip()


def _literal(token: _FormatToken) -> str:
    if token.kind in {"quoted", "escaped", "mark"}:
        return token.text
    if token.kind == "space":
        return " "
    if token.kind == "bracket":
        currency = _CURRENCY.match(token.text)
        return currency[1] if currency else ""
    return token.text if token.kind == "other" and token.text != "@" else ""
