"""Breaks SQL into lines by its clauses without changing a word, and finds the words in which two queries differ.

A generator of SQL would rewrite what it prints (IFNULL becomes COALESCE), and show a query that
nobody wrote. Here every word stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from steelyard.sql.layout import QueryToken, scan
from steelyard.sql.results import EngineName

_CLAUSES: Final = frozenset(
    {*("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "VALUES", "WITH"),
     *("UNION", "INTERSECT", "EXCEPT", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL")}
)  # fmt: skip
_JOINS: Final = frozenset({"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "OUTER"})
_LOGIC: Final = frozenset({"AND", "OR"})
_MOST: Final = 20_000
"""Characters of a query that are laid out; a longer one is shown as it is."""
_MOST_COMPARED: Final = 2_000
"""Words of both queries that are compared one by one: the time grows with the square."""


@dataclass(frozen=True, slots=True)
class SqlWord:
    """A word of a query with the blanks before it, and whether the other query lacks it."""

    text: str
    changed: bool = False


SqlLine = tuple[SqlWord, ...]


def sql_diff(
    expected: str, predicted: str, engine: EngineName = "sqlite"
) -> tuple[tuple[SqlLine, ...], tuple[SqlLine, ...]]:
    r"""Both queries in lines, with the words that the other one lacks marked; the case of keywords does not count.

    Lines begin with a clause, those of subqueries are indented, and comments are left out.

    >>> expected, predicted = sql_diff("SELECT a FROM t", "select b FROM t")
    >>> [word.text for line in predicted for word in line if word.changed]
    [' b']
    >>> expected, _ = sql_diff("SELECT a, b FROM t WHERE a IN (SELECT c FROM u) AND b = 'x'", "")
    >>> print("\n".join("".join(word.text for word in line) for line in expected))
    SELECT a, b
    FROM t
    WHERE a IN (
        SELECT c
        FROM u)
      AND b = 'x'
    """
    left, right = _words(expected, engine), _words(predicted, engine)
    if len(left) + len(right) > _MOST_COMPARED:
        return _lines(expected, engine, set()), _lines(predicted, engine, set())
    removed, added = set(range(len(left))), set(range(len(right)))
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        removed.difference_update(range(block.a, block.a + block.size))
        added.difference_update(range(block.b, block.b + block.size))
    return _lines(expected, engine, removed), _lines(predicted, engine, added)


def _words(query: str, engine: EngineName) -> list[str]:
    return [token.text.upper() if token.kind == "word" else token.text for token in scan(query, engine)]


def _lines(query: str, engine: EngineName, changed: set[int]) -> tuple[SqlLine, ...]:
    if len(query) > _MOST:
        return tuple((SqlWord(line),) for line in query.splitlines())
    tokens = list(scan(query, engine))
    lines: list[list[SqlWord]] = [[]]
    selects = _select_depths(tokens)
    for at, token in enumerate(tokens):
        closes_between = token.word == "AND" and _after_between(tokens, at)
        if at and _breaks(tokens, at, selects) and not closes_between:
            depth = sum(1 for opened in selects[at] if opened)
            lines.append([SqlWord("    " * depth + ("  " if token.word in _LOGIC else ""))])
        spaced = bool(lines[-1]) and bool(lines[-1][-1].text.strip()) and tokens[at - 1].end < token.start
        lines[-1].append(SqlWord((" " if spaced else "") + token.text, at in changed))
    return tuple(tuple(word for word in line if word.text) for line in lines)


def _select_depths(tokens: Sequence[QueryToken]) -> list[tuple[bool, ...]]:
    """For each token the brackets that are open around it, and whether each holds a query."""
    open_brackets: list[bool] = []
    depths = []
    for at, token in enumerate(tokens):
        if token.kind == "mark" and token.text in ")]}" and open_brackets:
            depths.append(tuple(open_brackets))
            open_brackets.pop()
            continue
        depths.append(tuple(open_brackets))
        if token.kind == "mark" and token.text in "([{":
            following = tokens[at + 1].word if at + 1 < len(tokens) else ""
            open_brackets.append(following in {"SELECT", "WITH", "VALUES"})
    return depths


def _breaks(tokens: Sequence[QueryToken], at: int, selects: Sequence[tuple[bool, ...]]) -> bool:
    """Whether a line begins here: before a clause, AND and OR, of a query and not of a function's arguments."""
    token, before = tokens[at], tokens[at - 1]
    if selects[at] and not selects[at][-1]:
        return False
    if token.word in _LOGIC:
        return True
    if token.word not in _CLAUSES or before.word in _JOINS:
        return False
    return not (token.word in {"LEFT", "RIGHT"} and at + 1 < len(tokens) and tokens[at + 1].text == "(") and not (
        token.word == "FROM" and before.word == "DISTINCT"
    )


def _after_between(tokens: Sequence[QueryToken], at: int) -> bool:
    """Whether an AND belongs to the BETWEEN before it."""
    depth = tokens[at].depth
    for token in reversed(tokens[:at]):
        if token.depth < depth or (token.depth == depth and token.word in _LOGIC | _CLAUSES):
            return False
        if token.depth == depth and token.word == "BETWEEN":
            return True
    return False
