"""A list that stands in a cell of text, as files without types hold one."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Final

_TEXT: Final = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_PRINTED: Final = re.compile(rf"\[{_TEXT}(?:, {_TEXT})*\]")
"""A flat list of texts as Python prints it, and nothing else that Python could read."""


def list_in(cell: str) -> list[Any] | None:
    """The list that a cell holds as JSON, or as Python prints a list of texts; None where it holds none.

    The second is what pandas writes into a CSV file, so the sets of most Python tools have it.

    >>> list_in('["Ann", 1]'), list_in("['Ann', 'Bob']"), list_in("[sic] Ann")
    (['Ann', 1], ['Ann', 'Bob'], None)
    """
    text = cell.strip()
    if not text.startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        if not _PRINTED.fullmatch(text):
            return None
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):  # such as an escape that there is not
            return None
    return found if isinstance(found, list) else None
