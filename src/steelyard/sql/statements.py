"""Splits SQL into statements and finds the kind of each, by SQLite's tokens, in linear time.

What counts as one statement decides what may be run, so strings, quoted names, comments and the bodies of triggers are
told apart from the text between them; nothing is guessed from a search for words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# One alternative per token. An unclosed string or comment runs to the end, as SQLite reads it; a doubled quote is two
# strings side by side, which splits the same way.
_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<quoted>'[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | `[^`]*(?:`|\Z) | \[[^\]]*(?:\]|\Z))
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*)
      | (?P<number>\d[\w.]*)
      | (?P<end>;)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
# After a statement's first words only its end is searched for; the text between is taken in long pieces.
_PIECE: Final = re.compile(
    r"""[^;'"`\[/-]*
      (?:--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)|[/-]|(?P<end>;)|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: Final = 4
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text without the closing `;`, and its first words in capitals (at most four)."""

    text: str
    words: tuple[str, ...]

    @property
    def verb(self) -> str:
        """The first word, or "" where the statement begins with something else."""
        return self.words[0] if self.words else ""


def split(script: str) -> list[Statement]:
    r"""Split a script into statements; blanks, comments and lone `;` are skipped.

    >>> [statement.text for statement in split("SELECT ';' /* ; */; -- end\n SELECT 2;;")]
    ["SELECT ';' /* ; */", 'SELECT 2']
    """
    return list(_statements(script.lstrip(_BOM)))


def _statements(script: str) -> Iterator[Statement]:
    at = 0
    while at < len(script):
        start, end, words, at = _next(script, at)
        if start >= 0:
            yield Statement(script[start:end].strip(), words)


def _next(script: str, at: int) -> tuple[int, int, tuple[str, ...], int]:
    """Where the next statement begins (-1: nowhere) and ends, its first words, and where to go on."""
    start = -1
    words: list[str] = []
    body = _Body()
    while at < len(script):
        if len(words) == _WORDS and body.none:
            end = _end(script, at)
            return start, end, tuple(words), end + 1
        token = _TOKEN.match(script, at)
        assert token  # noqa: S101 (one alternative takes any character)
        begin, at = token.span()
        kind = token.lastgroup
        if kind == "end" and not body.inside:
            if start >= 0:
                return start, begin, tuple(words), at
        elif kind != "blank":
            start = begin if start < 0 else start
            word = token.group().upper() if kind == "word" else ""
            if len(words) < _WORDS:
                words.append(word)
            body.see(word, ended=kind == "end")
    return start, at, tuple(words), at


def _end(script: str, at: int) -> int:
    """Where the `;` of a statement is, or the script's end."""
    for piece in _PIECE.finditer(script, at):
        if piece.lastgroup:
            return piece.end() - 1
    return len(script)


class _Body:
    """Whether a trigger's body is open: from the first BEGIN of CREATE [TEMP] TRIGGER to the END after a `;`.

    CASE ... END occurs inside statements, so an END that closes the body is the one directly after a `;`, as in
    SQLite's own sqlite3_complete().
    """

    def __init__(self) -> None:
        self.inside = False
        self._words: list[str] = []
        self._trigger: bool | None = None
        self._after_end = False

    @property
    def none(self) -> bool:
        """Whether it is certain that no body comes any more."""
        return self._trigger is False

    def see(self, word: str, *, ended: bool) -> None:
        if self._trigger is None:
            self._words.append(word)
            self._trigger = self._is_trigger()
        if not self._trigger:
            return
        if not self.inside:
            self.inside = word == "BEGIN"
        elif self._after_end and word == "END":
            self.inside, self._trigger = False, False
        self._after_end = ended

    def _is_trigger(self) -> bool | None:
        words = [word for word in self._words if word not in {"EXPLAIN", "QUERY", "PLAN"}]
        if words[:1] not in ([], ["CREATE"]):
            return False
        following = [word for word in words[1:] if word not in {"TEMP", "TEMPORARY"}]
        return None if not following else following[0] == "TRIGGER"


def main_verb(text: str) -> str:
    """Return the main verb of a statement, behind EXPLAIN [QUERY PLAN] and the parts of WITH.

    `replace` and other keywords may name a part of WITH, so the verb is the word that follows the closing bracket of
    a part directly.

    >>> main_verb("EXPLAIN WITH a(x) AS (SELECT 1), b AS MATERIALIZED (SELECT 2) DELETE FROM t")
    'DELETE'
    """
    depth = 0
    with_parts = False
    closed = False
    for token in _TOKEN.finditer(text.lstrip(_BOM)):
        kind, mark = token.lastgroup, token.group()
        if kind == "blank":
            continue
        word = mark.upper() if kind == "word" else ""
        if not with_parts:
            if word == "WITH":
                with_parts = True
            elif word not in {"EXPLAIN", "QUERY", "PLAN"}:
                return word
        elif depth == 0 and closed and word not in {"AS", ""}:
            return word
        depth += {"(": 1, ")": -1}.get(mark, 0)
        closed = mark == ")" and depth == 0
    return ""
