"""Converts HTML to text: headings become `# ` lines, list entries `- ` lines, and a table row one line.

It has its own tokenizer because only the text is needed, in one pass and bounded memory. The parser of the standard
library takes quadratic time for some malformed pages in versions of Python that we support (CVE-2025-6069), and
libraries that build a tree need many times the page's size and do not limit the nesting of a hostile page. It follows
the tokenizer of the HTML standard (WHATWG, "Parsing HTML documents") as far as the text depends on it: comments, quoted
attributes, character references, and elements whose content is not markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from steelyard.errors import DataError

MAX_TAGS: Final = 2_000_000
"""The HTML standard on one page, a very large page, has half a million tags; this many take about five seconds."""

_TAG: Final = re.compile(r"<(?:(/?)([a-zA-Z][^\s/>]{0,40})|[!?/])")
_REST: Final = re.compile(r"""[^"'>]*+(?:"[^"]*+"[^"'>]*+|'[^']*+'[^"'>]*+)*+>""")
_DROPPED: Final = frozenset(
    ("script", "style", "title", "template", "noscript", "svg", "iframe", "object", "noembed", "noframes", "select")
)
_PARAGRAPHS: Final = frozenset({
    "p", "blockquote", "pre", "table", "ul", "ol", "dl", "figure", "section", "article", "header", "footer", "main",
    "nav", "aside", "form", "fieldset", "details", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "body",
})  # fmt: skip
_LINES: Final = frozenset({
    "div", "br", "li", "tr", "dt", "dd", "caption", "figcaption", "thead", "tbody", "tfoot", "summary", "address",
    "legend", "option", "center",
})  # fmt: skip
_MARKS: Final[Mapping[str, str]] = MappingProxyType(
    {"li": "- "} | {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
)
_CELLS: Final = frozenset(("td", "th"))
_CELL: Final = "\x1d"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]+")
_LONGEST_ROW: Final = 2_000
"""Maximum characters of a table row; in a longer one the table is a page layout, and its columns are not cells."""
_LONG_NUMBER: Final = re.compile(r"&#(?:[0-9]{8}|[xX][0-9a-fA-F]{7})[0-9a-fA-F]*;?")
_BLANKS: Final = re.compile(r"[ \t\n\f\r\xa0]+")
_TRAILING: Final = re.compile(r"[ \t]+\n")
_GAPS: Final = re.compile(r"\n{3,}")


def html_text(page: str, name: str = "the page") -> str:
    r"""The text of an HTML page.

    Args:
        page: the whole page, or a part of one.
        name: for the message.

    Raises:
        DataError: more than `MAX_TAGS` tags.

    >>> html_text("<title>t</title><h2>Rain &amp; hail</h2><ul><li>one<li>two</ul><table><tr><td>1<td>2</table>")
    '## Rain & hail\n\n- one\n- two\n\n1 | 2'
    """
    writer = _Writer()
    for tags, (tag, text) in enumerate(_tokens(page)):
        if tags > MAX_TAGS:
            raise DataError(f"{name} has more than {MAX_TAGS:,} tags, which is too large for a page")
        if tag:
            writer.tag(tag)
        else:
            # Decode character references; a number that is too large for any character becomes U+FFFD.
            plain = html.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
            writer.text(_CONTROL.sub("", plain))
    return writer.joined()


def _tokens(page: str) -> Iterator[tuple[str, str]]:
    """Tags as ("h1", "") and ("/h1", ""), texts as ("", text); dropped elements are skipped whole."""
    position = 0
    quotes = True
    while (match := _TAG.search(page, position)) is not None:
        if match.start() > position:
            yield "", page[position : match.start()]
        name = (match[2] or "").lower()
        if not name:
            position = _behind_declaration(page, match.start())
            continue
        attributes = _REST.match(page, match.end()) if quotes else None
        if attributes is None:
            # An unclosed quote: quotes are ignored from here on, so that its end is searched for only once.
            quotes = False
        position = attributes.end() if attributes else _behind(page, ">", match.end())
        if match[1]:
            yield f"/{name}", ""
        elif name in _DROPPED and page[position - 2 : position] != "/>":
            position = _behind_element(page, name, position)
        else:
            yield name, ""
    yield "", page[position:]


def _behind(page: str, mark: str, start: int) -> int:
    end = page.find(mark, start)
    return len(page) if end < 0 else end + len(mark)


def _behind_declaration(page: str, start: int) -> int:
    """The offset after a comment or declaration; the end of the page if it is not closed."""
    if page.startswith("<!--", start):
        return start + 5 if page.startswith("<!-->", start) else _behind(page, "-->", start + 4)
    return _behind(page, "]]>" if page.startswith("<![CDATA[", start) else ">", start + 2)


def _behind_element(page: str, name: str, start: int) -> int:
    """The offset after the closing tag of an element; the end of the page if there is none."""
    closing = re.compile(rf"</{re.escape(name)}(?=[\s/>])", re.IGNORECASE).search(page, start)
    return _behind(page, ">", closing.end()) if closing else len(page)


class _Writer:
    """Joins pieces of text; breaks are delayed until text follows, and a row until it ends."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._blank = False
        self._mark = ""
        self._in_pre = False
        self._row: int | None = None

    def tag(self, tag: str) -> None:
        """Begin or end a paragraph, line, row or cell, depending on the element."""
        name = tag.removeprefix("/")
        opens = name is tag
        if name in {"table", "tr"}:
            self._end_row(begins=opens and name == "tr")
        elif name in _CELLS:
            self._begin_cell(opens=opens)
        if name in _PARAGRAPHS:
            self._break(2)
        elif name in _LINES:
            self._break(1)
        if name == "pre":
            self._in_pre = opens
        elif name in _MARKS:
            self._mark = _MARKS[name] if opens else ""

    def text(self, text: str) -> None:
        """Add text; outside of `pre`, runs of white space become one space."""
        if self._in_pre:
            self._add(text)
            return
        folded = _BLANKS.sub(" ", text)
        words = folded.strip(" ")
        self._blank = self._blank or folded[:1] == " "
        if words:
            self._add(words)
            self._blank = folded[-1] == " "

    def joined(self) -> str:
        """The collected text."""
        self._end_row(begins=False)
        return _GAPS.sub("\n\n", _TRAILING.sub("\n", "".join(self._parts))).strip()

    def _add(self, text: str) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        elif self._blank and self._parts:
            self._parts.append(" ")
        self._parts += (self._mark, text)
        self._breaks, self._blank, self._mark = 0, False, ""

    def _break(self, lines: int) -> None:
        self._breaks = max(self._breaks, lines)
        self._blank = False

    def _begin_cell(self, *, opens: bool) -> None:
        if opens and self._row is not None:
            if len(self._parts) > self._row:
                self._parts.append(_CELL)
            else:
                self._add(_CELL)
        self._breaks, self._blank = 0, False

    def _end_row(self, *, begins: bool) -> None:
        if self._row is not None and len(self._parts) > self._row:
            row = "".join(self._parts[self._row :])
            del self._parts[self._row :]
            self._parts.append(_laid_out(row))
        if begins:
            self._break(1)
        self._row = len(self._parts) if begins else None


def _laid_out(row: str) -> str:
    """A table row as one line, or its cells as paragraphs if the table is the layout of a page."""
    before, _, content = row.partition(_CELL)
    cells = [cell.strip() for cell in content.split(_CELL)]
    if len(cells) == 1 or len(row) > _LONGEST_ROW or any(cell.count("\n\n") > 1 for cell in cells):
        return before + "\n\n".join(cell for cell in cells if cell)
    return before + " | ".join(" ".join(cell.split()) for cell in cells) if any(cells) else before
