"""Escapes untrusted text for terminals, CSV, Markdown and scripts in HTML.

The functions do not interpret a text; they only keep it from acting on the program that displays it. HTML needs no
function here: the HTML templates escape everything.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from steelyard.plain_json import described

HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: ESC and CSI drive a terminal
    "\xad\u061c\u180e"  # soft hyphen, Arabic letter mark, Mongolian vowel separator
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, direction, line and paragraph separators
    "\ufeff\ufff9-\ufffb"  # byte order mark, interlinear annotation
    "\ud800-\udfff"  # lone surrogates, which no encoding takes
    "\U000e0000-\U000e007f"  # tags: a whole ASCII text that nobody sees
)
"""Invisible characters and those that move visible ones, as the inside of a character class; HTML pages use it too."""

_HIDDEN: Final = re.compile(f"[{HIDDEN}]")
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_FORMULA: Final = "=+\\-@＝＋－＠"
_AT_START: Final = re.compile(rf"\s*[\t\r\n{_FORMULA}]")
_SEPARATED: Final = re.compile(rf"[{_FORMULA}](?<=[;\s\"].)")
"""What may begin a formula, behind what may stand between a separator and it: the separators, spaces and quotation
marks, as one of those may be what encloses a cell."""
_BETWEEN: Final = ';"' + "".join(filter(str.isspace, map(chr, range(0x3001))))
_TAB: Final = re.compile(r"(?<=[;\r\n])\t")
_APOSTROPHE: Final = re.compile(r"(?:^|(?<=[;\t\r\n]))'")
_MARKDOWN: Final = re.compile(r"[\\`*_\[\]|~$<>&]|://|www\.|@|#(?=\d)", re.IGNORECASE)
_LEADING: Final = re.compile(r"^(\d+)([.)])|^[-+#=:]")
_BREAK: Final = "&#8203;"
"""A zero-width space: it splits what a renderer would otherwise take for a mention, an issue or a link."""
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def visible(text: str, *, keep: str = "\n\t") -> str:
    r"""`text` with hidden and control characters replaced by their escapes, for terminals and logs.

    Args:
        text: any text; an escape already in it is left as it is, so the result cannot be converted back.
        keep: characters left alone; "" gives a single line. Where "\n" is kept, "\r\n" counts as "\n".

    >>> visible("\x1b[31mred\u202e\ud800")
    '\\x1b[31mred\\u202e\\ud800'
    >>> visible("two\nlines", keep="")
    'two\\x0alines'
    """
    if "\n" in keep:
        text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str) -> str:
    r"""`text` on one line, with every character that has no shape of its own as its escape in Python.

    >>> printable("a\nb\x1b[1m\u202e易")
    'a\\nb\\x1b[1m\\u202e易'
    """
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in text)


def writable(text: str) -> str:
    r"""`text` for a UTF-8 file: control characters (except tab and line ends) and lone surrogates become escapes.

    >>> writable("a\x00b\n")
    'a\\x00b\n'
    """
    return _UNWRITABLE.sub(lambda match: _escape(match[0]), text)


def csv_cell(value: Any) -> str:
    r"""A CSV cell that no spreadsheet evaluates: an apostrophe is prepended to what looks like a formula.

    Where the list separator is a semicolon or a tab (German, French, Dutch and others), a spreadsheet splits the cell
    there and at its line ends, so an apostrophe is inserted behind these too. `csv_text` is the way back.

    Args:
        value: a text; None is the empty cell; numbers, and texts that are a number, stay as they are; anything else
            is written as JSON.

    >>> [csv_cell(value) for value in ("=1+1", "-2.5", -2.5, "plain", None, ["@x"], "a;=1\n- b")]
    ["'=1+1", '-2.5', '-2.5', 'plain', '', '["@x"]', "a;'=1\n'- b"]
    """
    # Most cells of a large export have these types; without this shortcut they take four times as long.
    if value is None:
        return ""
    if type(value) is int:
        return str(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    text = writable(value if type(value) is str else cell_text(value))
    text = _with_apostrophes(_TAB.sub("'\t", text))
    return f"'{text}" if _AT_START.match(text) and not _NUMBER.fullmatch(text) else text


def _with_apostrophes(text: str) -> str:
    """`text` with an apostrophe behind the last separator before each character that may begin a formula."""
    pieces, end = [], 0
    for match in _SEPARATED.finditer(text):
        piece = text[end : match.start()]
        between = len(piece.rstrip(_BETWEEN))
        # A program that splits at tabs sees another cell begin than one that splits at semicolons.
        places = {max(piece.rfind(sign, between) for sign in signs) + 1 for signs in ("\t\r\n", ";\r\n")}
        for place in sorted(places - {0}, reverse=True):
            piece = f"{piece[:place]}'{piece[place:]}"
        pieces.append(piece)
        end = match.start()
    return "".join([*pieces, text[end:]]) if pieces else text


def csv_text(cell: str) -> str:
    r"""The text of which `csv_cell` made a cell; any other cell as it is.

    A text that had all of these apostrophes already comes back without them.

    >>> csv_text("a;'=1"), csv_text("'=1"), csv_text("'tis")
    ('a;=1', '=1', "'tis")
    """
    text = _APOSTROPHE.sub("", cell)
    return text if csv_cell(text) == cell else cell


def quoted_cell(text: str) -> str:
    r"""A CSV cell that no spreadsheet evaluates and that `unquoted_cell` reads exactly: as JSON where it would change.

    >>> [quoted_cell(text) for text in ("plain", "=1+1", "a;=1")]
    ['plain', '"=1+1"', '"a\\u003b=1"']
    """
    if csv_cell(text) == text and not text.startswith('"'):
        return text
    return json.dumps(text, ensure_ascii=False).replace(";", r"\u003b")  # behind which a cell may begin


def unquoted_cell(cell: str) -> str:
    """The text of which `quoted_cell` made a cell; any other cell as it is."""
    try:
        text = json.loads(cell) if cell.startswith('"') else cell
    except ValueError:
        return cell
    return text if isinstance(text, str) else cell


_JSON_TYPES: Final = frozenset({str, int, bool, type(None)})
"""Types whose every value is JSON; values of their subclasses are checked one by one."""


def cell_text(value: Any) -> str:
    """A value as cell text: text unchanged, None empty, anything else as JSON.

    >>> cell_text(True), cell_text(0.5), cell_text({"易": 1})
    ('true', '0.5', '{"易": 1}')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else _dumped(value)


def markdown_cell(text: str) -> str:
    r"""A text escaped for a Markdown cell or list entry, so that it is rendered as plain text on one line.

    Line ends become spaces, hidden characters become escapes, and a zero-width space splits what a renderer would turn
    into a link.

    >>> markdown_cell("a|b <img>\n[x](http://y) @team")
    'a\\|b &lt;img&gt; \\[x\\](http:&#8203;//y) @&#8203;team'
    """
    return _LEADING.sub(_escape_leading, markdown_inline(text))


def markdown_inline(text: str) -> str:
    r"""As `markdown_cell`, but not for the start of a line: in a table a leading sign or "1." needs no escape.

    >>> markdown_inline("-7.4"), markdown_cell("-7.4")
    ('-7.4', '\\-7.4')
    """
    return _MARKDOWN.sub(_escape_markdown, " ".join(visible(text).split()))


def _escape_markdown(match: re.Match[str]) -> str:
    text = match[0]
    if text in _ENTITIES:
        return _ENTITIES[text]
    if text == "://":
        return f":{_BREAK}//"
    if text.lower() == "www.":
        return f"{text[:3]}{_BREAK}."
    if text in {"@", "#"}:
        return text + _BREAK
    return f"\\{text}"


def _escape_leading(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[0]}"


def json_line(value: Any) -> str:
    r"""Compact JSON on one line, with hidden and control characters as JSON escapes.

    Parsing it gives the value back, except NaN and infinity, which JSON does not have: they become "nan" and "inf".

    >>> json_line({"易": "\x1b[1m\u202e<b>"})
    '{"易":"\\u001b[1m\\u202e<b>"}'
    """
    text = _dumped(value, (",", ":"))
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def json_in_html(value: Any) -> str:
    r"""As `json_line`, for inside a `<script>` of a page: it cannot end the script.

    >>> json_in_html(["</script>", 0.5, "易"])
    '["\\u003c/script\\u003e",0.5,"易"]'
    """
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", json_line(value))


def _dumped(value: Any, separators: tuple[str, str] = (", ", ": ")) -> str:
    """JSON of a value; as few values contain NaN or infinity, they are converted only if encoding fails."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators, default=described)
    except (ValueError, TypeError):
        return json.dumps(_finite(value), ensure_ascii=False, separators=separators, default=described)


def _finite(value: Any) -> Any:
    """`value` with NaN and infinity as texts; objects of other types are left to the encoder."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        # Plain elements are checked here, without a call for each: a page of 100,000 records has millions of them.
        return [element if type(element) in _JSON_TYPES else _finite(element) for element in value]
    return value
