"""Shows the doctests of docstrings as code on the API pages; `zensical.toml` names this file.

In Markdown the prompt `>>>` is a quotation and a list of lists is a link, so each doctest is put into a fence.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^(?P<indent>[ ]*)>>> .*(?:\n(?![ ]*$).*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """`text` with each doctest, up to its blank line, in a fence for `pycon`."""
    return _DOCTEST.sub(lambda match: f"{match['indent']}```pycon\n{match[0]}\n{match['indent']}```", text)


class FencedDoctests(griffe.Extension):
    """Fences the doctests of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of `obj`."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
