"""Escapes untrusted text for terminals, CSV, Markdown and scripts in HTML.

Nothing here decides what a text means; it takes from it the power to act on whoever displays it. HTML needs no
function of its own: its templates escape everything.
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
"""What is not seen or moves what is seen: the inside of a character class. Pages use the same list."""

_HIDDEN: Final = re.compile(f"[{HIDDEN}]")
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_FORMULA: Final = frozenset("=+-@\t\r\n＝＋－＠")
_LOOKED_AT: Final = _FORMULA | {" "}
_MARKDOWN: Final = re.compile(r"[\\`*_\[\]|~$<>&]|://|www\.|@|#(?=\d)", re.IGNORECASE)
_LEADING: Final = re.compile(r"^(\d+)([.)])|^[-+#=:]")
_BREAK: Final = "&#8203;"
"""A zero-width space: it parts what a renderer would otherwise take for a mention, an issue or a link."""
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def visible(text: str, *, keep: str = "\n\t") -> str:
    r"""`text` with every character that hides or acts replaced by its escape, for terminals and logs.

    Args:
        text: anything; what is already an escape in it stays as it is, so the result cannot be turned back.
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


def writable(text: str) -> str:
    r"""`text` that any file in UTF-8 takes: control characters but tab and line ends, and lone surrogates, as escapes.

    >>> writable("a\x00b\n")
    'a\\x00b\n'
    """
    return _UNWRITABLE.sub(lambda match: _escape(match[0]), text)


def csv_cell(value: Any) -> str:
    """A CSV cell that no spreadsheet evaluates: an apostrophe is prepended to what looks like a formula.

    Args:
        value: a text; None is the empty cell; numbers, and texts that are a number, stay as they are; anything else
            is written as JSON.

    >>> [csv_cell(one) for one in ("=1+1", "-2.5", -2.5, "plain", None, ["@x"])]
    ["'=1+1", '-2.5', '-2.5', 'plain', '', '["@x"]']
    """
    # Of a large export most cells are these, and looking at each as at any other takes four times as long.
    if value is None:
        return ""
    if type(value) is int:
        return str(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    text = writable(value if type(value) is str else cell_text(value))
    if text[:1] not in _LOOKED_AT:
        return text
    beginning = text.lstrip(" ")[:1]
    if beginning in _FORMULA and beginning and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})
"""Types of which every value is JSON; classes made of them are looked at more closely."""


def cell_text(value: Any) -> str:
    """A value as cell text: text unchanged, None empty, anything else as JSON.

    >>> cell_text(True), cell_text(0.5), cell_text({"易": 1})
    ('true', '0.5', '{"易": 1}')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else _dumped(value)


def markdown_cell(text: str) -> str:
    r"""A text as one cell or list entry of Markdown: no table, HTML, link, image, mention or emphasis comes of it.

    Line ends become blanks, hidden characters escapes, and a zero-width space parts what would be linked by itself.

    >>> markdown_cell("a|b <img>\n[x](http://y) @team")
    'a\\|b &lt;img&gt; \\[x\\](http:&#8203;//y) @&#8203;team'
    """
    return _LEADING.sub(_escape_leading, markdown_inline(text))


def markdown_inline(text: str) -> str:
    r"""The same for where no line begins: in a table's cell a sign or a number's point needs no escape.

    >>> markdown_inline("-7.4"), markdown_cell("-7.4")
    ('-7.4', '\\-7.4')
    """
    return _MARKDOWN.sub(_escape_markdown, " ".join(visible(text).split()))


def _escape_markdown(match: re.Match[str]) -> str:
    mark = match[0]
    if mark in _ENTITIES:
        return _ENTITIES[mark]
    if mark == "://":
        return f":{_BREAK}//"
    if mark.lower() == "www.":
        return f"{mark[:3]}{_BREAK}."
    if mark in {"@", "#"}:
        return mark + _BREAK
    return f"\\{mark}"


def _escape_leading(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[0]}"


def json_line(value: Any) -> str:
    r"""Compact JSON on one line, as readable as it is harmless: what hides or acts is a JSON escape.

    Reading it gives the value back, but for NaN and infinity, which JSON does not have: they become "nan" and "inf".

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
    """The JSON of a value. Few have a number that JSON lacks, so all are tried as they are first."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators, default=described)
    except (ValueError, TypeError):
        return json.dumps(_finite(value), ensure_ascii=False, separators=separators, default=described)


def _finite(value: Any) -> Any:
    """`value` with the floats that JSON lacks as texts; what is not plain is left to the encoder."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        # Looked at here, not in a call of their own: a page of 100,000 records has millions of them.
        return [element if type(element) in _AS_THEY_ARE else _finite(element) for element in value]
    return value
