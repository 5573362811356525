"""Fenced blocks of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

SQL_WORDS: Final = frozenset(
    {
        "sql", "sqlite", "sqlite3", "duckdb", "mysql", "mariadb", "postgres", "postgresql", "psql", "pgsql", "plsql",
        "tsql", "t-sql", "mssql", "ansi",
    }
)  # fmt: skip
JSON_WORDS: Final = frozenset({"json", "jsonc", "json5"})
_MOST_BLOCKS: Final = 100
"""A reply with more repeats itself without end."""
_KNOWN: Final = "|".join(sorted((re.escape(one) for one in SQL_WORDS | JSON_WORDS), key=len, reverse=True))
_FENCE: Final = re.compile(
    rf"(?P<mark>`{{3,}}|~{{3,}})[ \t]*+"
    rf"(?:(?P<word>{_KNOWN})(?![\w-])[ \t]*+(?:\w++=[^\n`]*+)?(?:\r?\n)?|"
    rf"(?!(?:select|with|values|from|insert|create)\b)(?P<other>[A-Za-z][\w+.#-]*+)[^\n`]*+\n|\r?\n)?",
    re.IGNORECASE,
)


class Block(NamedTuple):
    """One fenced block: its word in lower case ("" is none), where its content stands, and whether it is closed."""

    word: str
    start: int
    end: int
    closed: bool


def blocks_of(text: str, start: int, end: int) -> Iterator[Block]:
    r"""The first 100 fenced blocks between `start` and `end`; one that is not closed runs to the end.

    >>> text = "so: ```sql SELECT 1``` or\n~~~\nx"
    >>> [(one.word, text[one.start : one.end], one.closed) for one in blocks_of(text, 0, len(text))]
    [('sql', 'SELECT 1', True), ('', 'x', False)]
    """
    place = start if "```" in text or "~~~" in text else end
    for _ in range(_MOST_BLOCKS):
        if (opening := _FENCE.search(text, place, end)) is None:
            return
        closing = text.find(opening["mark"], opening.end(), end)
        stop = end if closing < 0 else closing
        word = (opening["word"] or opening["other"] or "").lower()
        yield Block(word, opening.end(), stop, closing >= 0)
        place = end if closing < 0 else closing + len(opening["mark"])


def unfenced(text: str) -> str:
    r"""The content of a text that is one fenced block and nothing else; any other text as it is.

    >>> unfenced("```sql\nSELECT 1\n```"), unfenced("SELECT '```'")
    ('SELECT 1', "SELECT '```'")
    """
    stripped = text.strip()
    if not stripped.startswith(("```", "~~~")):
        return text
    block = next(blocks_of(stripped, 0, len(stripped)))
    mark = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
    content = stripped[block.start : block.end].strip()
    return content if content and stripped[block.end :] == mark else text
