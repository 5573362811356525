"""Which of several statements a reply means: equal ones are one, and the last may be declared the corrected one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steelyard.text.sql_reading import SqlCandidate

_TOKEN: Final = re.compile(
    r"'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|(?P<skip>\s++|--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z))|\w++|."
)
_DECLARES: Final = re.compile(
    r"(?P<no>\b(?:not|no|isn't|if)\b[^.\n]{0,20}?)?\b(?:final|corrected|revised|amended|fixed)\b\W{1,4}(?:\w++\W{1,4}){0,2}?"
    r"(?:sql|quer(?:y|ies)|statement|version|answer|code|solution|one)\b|(?:最终|更正后|修正后|改正后|修改后)的?"
    r"[ \t*]*+(?:SQL|查询|语句|答案|版本|代码)",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(r"[`~]{3,}[ \t]*+[\w+.#-]*+\s*+\Z")
_NEAR: Final = 300


def meant(text: str, found: Sequence[SqlCandidate]) -> SqlCandidate | None:
    r"""The statement that a reply means; None where several differ and none of them is declared.

    Statements are the same where only blanks, comments, a closing `;` or the case of words outside quotes differ. The
    last one is meant where the line before it says so ("Here is the corrected query:", "Final SQL:").

    Args:
        text: the whole reply.
        found: at least one statement, in order.

    >>> found = [SqlCandidate("", "SELECT 1", "statement", (0, 8)), SqlCandidate("", "SELECT 2", "statement", (26, 34))]
    >>> meant("SELECT 1 corrected query: SELECT 2", found).query
    'SELECT 2'
    >>> meant("SELECT 1 or another query: SELECT 2", found) is None
    True
    """
    if different(found) == 1:
        return found[0]
    in_order = sorted(found, key=lambda one: one.span)
    before, last = in_order[-2:]
    return last if _declared(text[max(before.span[1], last.span[0] - _NEAR) : last.span[0]]) else None


def different(found: Sequence[SqlCandidate]) -> int:
    """How many different statements there are."""
    return 1 if len(found) == 1 else len({(_plain(one.create), _plain(one.query)) for one in found})


def _declared(between: str) -> bool:
    """Whether the last line of what stands between two statements calls the second the one that is meant."""
    lines = _OPENING.sub("", between).rstrip().rsplit("\n", 1)
    said = _DECLARES.search(lines[-1])
    return said is not None and said["no"] is None


def _plain(sql: str) -> str:
    """The tokens of a statement, words outside quotes in lower case, without comments and a closing `;`."""
    tokens = (found for found in _TOKEN.finditer(sql) if found["skip"] is None)
    words = (found[0] if found[0][0] in "'\"`" else found[0].lower() for found in tokens)
    return "\0".join(words).rstrip(";\0")
