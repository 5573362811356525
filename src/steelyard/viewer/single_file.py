"""A page of the viewer as one file: its style inside, without scripts, forms and links to a viewer that may be gone.

It is for pages that are no report: the list of runs, a sample, a moment of runs that are running.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

_FORM: Final = re.compile(r"<form\b.*?</form>", re.DOTALL)
_LINK: Final = re.compile(r'(<a\b[^>]*?) href="[^"#][^"]*"')
"""Both match markup only: text on a page is escaped, and has no `<`."""


def to_be_read(page: str) -> str:
    """A page without forms, whose links to other pages are text.

    >>> to_be_read('<p><a class="x" href="/run/1">one</a> <a href="#top">up</a></p>')
    '<p><a class="x">one</a> <a href="#top">up</a></p>'
    """
    return _LINK.sub(r"\1", _FORM.sub("", page))


def saved_as(name: str) -> dict[str, str]:
    """The header by which browsers save an answer under a name; characters unfit for file names are replaced.

    >>> saved_as("Exam v2/zh.csv")
    {'Content-Disposition': "attachment; filename*=UTF-8''Exam-v2-zh.csv"}
    """
    stem, dot, suffix = name.rpartition(".")
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in stem)[:80]
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(safe)}{dot}{suffix}"}
