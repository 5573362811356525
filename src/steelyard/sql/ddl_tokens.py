"""Cuts text into statements whose tokens know how deep in brackets they stand: for reading definitions of any dialect.

Unlike `statements`, which decides what may be run and so follows SQLite to the letter, this is for reading what others
wrote for other engines: a quote without its partner is a mark (in MySQL's kin it runs to the end), a second CREATE
begins a statement of its own where the `;` between them is missing. Every pattern is possessive or stops at its own
opening, so that time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_REST: Final = r"""
      | (?P<name>"[^"]*+(?:""[^"]*+)*+" | `[^`]*+(?:``[^`]*+)*+` | \[[^\[\]]*+\])
      | (?P<number>\d+\.\d+ | \.\d+)
      | (?P<word>[^\W][\w$]*+)
      | (?P<mark>.)"""
_PLAIN: Final = re.compile(
    r"""(?P<blank>[\s\ufeff]++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
      | (?P<string>'[^']*+(?:''[^']*+)*+')"""
    + _REST,
    re.VERBOSE | re.DOTALL,
)
_MYSQL: Final = re.compile(
    r"""(?P<blank>[\s\ufeff]++|--[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
      | (?P<string>'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z))"""
    + _REST,
    re.VERBOSE | re.DOTALL,
)
_BACKSLASHES: Final = frozenset({"mysql", "mariadb", "doris", "starrocks", "singlestore", "bigquery"})


MAX_TOKENS: Final = 50_000
"""Tokens of a statement that are kept; a table of 2,000 columns has about 20,000."""


class Token(NamedTuple):
    """One token of a statement.

    Args:
        text: as it stands.
        kind: `word`, `name` (quoted), `string`, `number` or `mark`.
        depth: how many brackets are open around it; a bracket itself stands outside.
        start: its offset in the whole text.
    """

    text: str
    kind: str
    depth: int
    start: int

    @property
    def word(self) -> str:
        """A bare word in capitals; "" for anything else, a quoted name too."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """What it names where a name is expected, without quotes; "" where it cannot be a name.

        >>> Token('"a ""b"', "name", 0, 0).name, Token("7th", "word", 0, 0).name, Token(",", "mark", 0, 0).name
        ('a "b', '7th', '')
        """
        if self.kind == "word":
            return self.text
        if self.kind not in {"name", "string"}:
            return ""
        mark = self.text[-1]
        return self.text[1:-1].replace(mark * 2, mark)

    def lifted(self) -> Token:
        """The same token seen from inside the bracket around it."""
        return self._replace(depth=self.depth - 1)


def statements(text: str, *, dialect: str = "sqlite") -> Iterator[list[Token]]:
    """Every statement that is not blank; of those that do not begin with CREATE the first token alone.

    Of a CREATE statement at most `MAX_TOKENS` are kept, and one more where there are more.

    Args:
        text: any text.
        dialect: `mysql` and its kin have backslashes in strings and `#` comments.

    >>> [[token.text for token in one] for one in statements("CREATE TABLE t (a); INSERT INTO t VALUES (';')")]
    [['CREATE', 'TABLE', 't', '(', 'a', ')'], ['INSERT']]
    """
    pattern = _MYSQL if dialect.lower() in _BACKSLASHES else _PLAIN
    found: list[Token] = []
    depth = 0
    for match in pattern.finditer(text):
        kind, piece = match.lastgroup or "mark", match[0]
        if kind == "blank":
            continue
        again = kind == "word" and depth == 0 and piece.upper() == "CREATE"
        if piece == ";" or again:
            if found:
                yield found
            found, depth = [], 0
            if not again:
                continue
        depth -= piece == ")" and depth > 0
        if not found or (found[0].word == "CREATE" and len(found) <= MAX_TOKENS):
            found.append(Token(piece, kind, depth, match.start()))
        depth += piece == "("
    if found:
        yield found
