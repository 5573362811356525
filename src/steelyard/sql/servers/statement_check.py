"""Which statements a server is sent: one that reads, and that calls no function which does more than read.

The server refuses most of this by itself, in a read-only transaction of a role that may not write. What neither stops
is refused here, by the tokens of the text as the server reads them: locks, sleep, signals, settings, files.
"""

# Why it is so, and what was rejected: docs/decisions/sql-servers.md

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from steelyard.sql.engines.engine import SqlStop, check_text, expect_one
from steelyard.sql.layout import QueryToken, scan
from steelyard.sql.server_address import ServerEngine

_MOST_CHARACTERS: Final = 1_000_000
_READS_ROWS: Final = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})
_SHOWS: Final = MappingProxyType(
    {"postgres": frozenset({"SHOW", "EXPLAIN"}), "mysql": frozenset({"SHOW", "EXPLAIN", "DESCRIBE", "DESC"})}
)
_LOCKS: Final = frozenset({"UPDATE", "SHARE", "NO", "KEY"})
"""What follows FOR where rows are locked."""
_NESTED: Final = re.compile(r"/\*(?:[^*]|\*(?!/))*?/\*", re.DOTALL)
_EXECUTED: Final = re.compile(r"/\*M?!")
"""A comment that MySQL or MariaDB runs."""
_SETS: Final = re.compile(r"\b(?:SET_VAR|MAX_EXECUTION_TIME|RESOURCE_GROUP)\b|[`'\"]", re.IGNORECASE)
"""Hints of the optimizer that change a limit of the session, and those with quotes, in which a comment does not end."""
_NAMES_A_TABLE: Final = frozenset({"WITH", "RECURSIVE", "INTO"})
"""Behind these a name and a bracket are a table and its columns, and no call."""
_MYSQL_PAIRS: Final = MappingProxyType(
    {
        ("LOCK", "IN"): " SHARE MODE, which locks rows",
        ("PROCEDURE", "ANALYSE"): "",
        ("NEXT", "VALUE"): "",
        ("SHOW", "GRANTS"): ", which shows the digest of a password",
        ("CREATE", "USER"): ", which shows the digest of a password",
    }
)
"""Two words that do more than read, and why."""
_CUTS_TEXT: Final = frozenset({"SUBSTRING", "OVERLAY"})
"""What takes `FOR length` in its brackets."""


def check_reader(text: str, engine: ServerEngine, functions: Collection[str]) -> tuple[str, bool]:
    """Check that a text is one statement that reads; return it without its `;`, and whether it returns rows of tables.

    Args:
        text: what the model or the dataset wrote.
        engine: whose SQL it is.
        functions: names in small letters that may not be called; `.name` of those that may not follow a value either.

    Raises:
        SqlStop: `denied`, with what was found; `error` for a text that cannot be sent.

    >>> check_reader("SELECT 1; ", "postgres", ())
    ('SELECT 1', True)
    """
    tokens = _one_statement(text, engine)
    first = next((token.word for token in tokens if token.text != "("), "(")
    if first not in _READS_ROWS and first not in _SHOWS[engine]:
        raise SqlStop("denied", f"denied: {first[:20] or tokens[0].text[:20]}; a statement that reads is expected")
    if found := _forbidden(tokens, engine, functions):
        raise SqlStop("denied", f"denied: {found}")
    if any(token.word == "INTO" for token in tokens):
        raise SqlStop("denied", "denied: INTO, which writes")
    return text[tokens[0].start : tokens[-1].end], first in _READS_ROWS


def _one_statement(text: str, engine: ServerEngine) -> list[QueryToken]:
    """The tokens of the only statement of a text, without the `;` at its end.

    Raises:
        SqlStop: as of `check_reader`.
    """
    check_text(text, most=_MOST_CHARACTERS)
    tokens = list(scan(text, engine))
    if "/*" in text:
        _check_comments(text, tokens, engine)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    expect_one(1 + sum(token.text == ";" for token in tokens) if tokens else 0)
    return tokens


_CHANGES: Final = MappingProxyType(
    {
        "postgres": frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "WITH", "SELECT", "VALUES"}),
        # What defines something commits by itself here.
        "mysql": frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "SELECT", "VALUES"}),
    }
)
_DEFINES: Final = frozenset({"CREATE", "ALTER", "DROP"})
_DEFINED: Final = frozenset({"TABLE", "VIEW", "INDEX"})
_ADJECTIVES: Final = frozenset({"OR", "REPLACE", "UNIQUE"})
_FILES: Final = frozenset({"OUTFILE", "DUMPFILE"})


def check_change(text: str, engine: ServerEngine, functions: Collection[str]) -> str:
    """Check that a text is one statement that may run in a transaction which is rolled back; return it without its `;`.

    Args:
        text: what the model or the dataset wrote.
        engine: whose SQL it is.
        functions: as of `check_reader`.

    Raises:
        SqlStop: as of `check_reader`.

    >>> check_change("DELETE FROM t;", "mysql", ())
    'DELETE FROM t'
    """
    tokens = _one_statement(text, engine)
    words = [token.word for token in tokens if token.text != "("]
    kind = next((word for word in words[1:] if word not in _ADJECTIVES), "")
    defines = engine == "postgres" and words[0] in _DEFINES and kind in _DEFINED
    if words[0] not in _CHANGES[engine] and not defines:
        named = " ".join(words[:2])[:30] if words[0] in _DEFINES else words[0][:20] or tokens[0].text[:20]
        raise SqlStop("denied", f"denied: {named}; one statement that reads or changes data is expected")
    if found := _forbidden(tokens, engine, functions) or _reaching(tokens):
        raise SqlStop("denied", f"denied: {found}")
    return text[tokens[0].start : tokens[-1].end]


def _reaching(tokens: Sequence[QueryToken]) -> str:
    """INTO with a file or a variable behind it; "" where there is none."""
    for token, following in pairwise(tokens):
        if token.word == "INTO" and (following.word in _FILES or following.text == "@"):
            return f"INTO {following.text}, which writes"
    return ""


def _check_comments(text: str, tokens: Sequence[QueryToken], engine: ServerEngine) -> None:
    """Refuse comments that the scanner and the server would read differently, and those that the server runs.

    Both read alike what is before the first of them, which is therefore between two tokens and never in one.
    """
    starts = [0, *(token.end for token in tokens)]
    for start, end in zip(starts, [*(token.start for token in tokens), len(text)], strict=True):
        between = text[start:end]
        if "/*" not in between:
            continue
        if engine == "postgres" and _NESTED.search(between):
            raise SqlStop("denied", "denied: a comment inside a comment")
        if engine == "mysql" and _EXECUTED.search(between):
            raise SqlStop("denied", "denied: a comment that the server runs (/*! ... */)")
        if engine == "mysql" and "/*+" in between and _SETS.search(between):
            raise SqlStop("denied", "denied: a hint that changes a limit of the session, or holds quotes")


def _forbidden(tokens: Sequence[QueryToken], engine: ServerEngine, functions: Collection[str]) -> str:
    """What of a statement does more than read; "" for nothing."""
    before, parts = "", _parts_of_with(tokens)
    for token, following in pairwise(tokens):
        # `(9).pg_sleep` calls the function as well; a column may be named like one that takes more.
        if token.text == "." and (name := "." + _name(following)) in functions:
            return f"the function {name[1:]}"
        is_called = following.text == "(" and following.kind == "mark" and before not in _NAMES_A_TABLE
        if is_called and token.start not in parts and (name := _name(token)) in functions:
            return f"the function {name}"
        if engine == "mysql" and (token.word, following.word) in _MYSQL_PAIRS:
            return f"{token.word} {following.word}{_MYSQL_PAIRS[token.word, following.word]}"
        before = token.word
    return _locking(tokens) or (_escaped(tokens) if engine == "postgres" else "")


def _parts_of_with(tokens: Sequence[QueryToken]) -> set[int]:
    """Where the names of a WITH begin that have a list of columns, as `b` in `WITH a AS (...), b(x) AS (...)`.

    Only of a WITH that begins the statement or a bracket: others, as in WITH ORDINALITY, have calls behind a comma.
    """
    texts = [token.word or token.text for token in tokens]
    closing: dict[int, int] = {}
    opened: list[int] = []
    for at, text in enumerate(texts):
        if text == "(":
            opened.append(at)
        elif text == ")" and opened:
            closing[opened.pop()] = at
    starts: set[int] = set()
    for at, text in enumerate(texts):
        if text != "WITH" or texts[at - 1 : at] not in ([], ["("]):
            continue
        name = at + 1 + (texts[at + 1 : at + 2] == ["RECURSIVE"])
        while name < len(tokens):
            after = closing.get(name + 1, name) + 1  # the list of columns
            begins = re.match(r"AS (?:(?:NOT )?MATERIALIZED )?\(", " ".join(texts[after : after + 4]))
            if begins is None:
                break
            starts.add(tokens[name].start)
            end = closing.get(after + begins.group().count(" "), len(tokens))
            name = end + 2 if texts[end + 1 : end + 2] == [","] else len(tokens)
    return starts


def _locking(tokens: Sequence[QueryToken]) -> str:
    """FOR where it locks rows; "" where there is none, or only that of `substring(x FOR y)`."""
    cuts: dict[int, bool] = {}  # by the depth inside brackets: whether these are of such a call
    for token, following in pairwise(tokens):
        if following.kind == "mark" and following.text in {"(", "[", "{"}:
            cuts[following.depth + 1] = following.text == "(" and token.word in _CUTS_TEXT
        elif token.text == "(" and following.word in _READS_ROWS:
            cuts[following.depth] = False
        if token.word == "FOR" and following.word in _LOCKS and not cuts.get(token.depth):
            return f"FOR {following.word}, which locks rows"
    return ""


def _escaped(tokens: Sequence[QueryToken]) -> str:
    """A text in parts or an escaped name that PostgreSQL reads otherwise than the scanner; "" where there is none."""
    for at, (token, following) in enumerate(pairwise(tokens)):
        # E'a' and a text on a further line are one text, with escapes in both.
        if token.kind == following.kind == "quoted" and token.text[:1] in "eE" and following.text[:1] == "'":
            return "a text in parts (E'...' '...')"
        if token.word == "U" and following.text == "&" and token.end == following.start:
            quoted = next(iter(tokens[at + 2 : at + 3]), None)
            if quoted and quoted.start == following.end and quoted.text[0] == '"':
                return "an escaped name (U&...)"
    return ""


def _name(token: QueryToken) -> str:
    """A bare or quoted name in small letters; a text in quotes is no name, which its mark shows."""
    if token.kind == "quoted" and token.text[:1] in {'"', "`"}:
        mark = token.text[0]
        return token.text[1:-1].replace(mark * 2, mark).lower()
    return token.text.lower() if token.kind == "word" else ""
