"""What the API pages need to know of our code: doctests, and public names; `zensical.toml` names this file.

In Markdown the prompt `>>>` is a quotation and a list of lists is a link, so each doctest is put into a fence.
The public names of a package are the imports of its stub.
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


class StubNames(griffe.Extension):
    """Shows the names that the stub of a package imports, which `steelyard.lazy` makes public."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Export, from `pkg` and the packages in it, what their stubs import."""
        for module in (pkg, *pkg.modules.values()):
            names = [name for name, member in module.members.items() if member.is_alias and not member.runtime]
            if names:
                module.exports = sorted(names)
