"""Reads the SQL in a model's reply: a JSON object, a fenced block, or the bare statement.

A reply is read or it is not; nothing is repaired and nothing is guessed. Where a reply holds two different statements
it is not said which is meant, so it is not read, unless it calls the last one the corrected or final one. How many
statements a text holds, and whether they may run, is for the sandbox to say.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from steelyard.replies.clean import readable
from steelyard.text.sql_json import KEYS, objects_in
from steelyard.text.sql_reading import Form, Problem, SqlCandidate, SqlReading, Wanted
from steelyard.text.sql_text import blocks_in, inline_in, statements_in

__all__ = ["Form", "SqlReading", "Wanted", "read_sql"]

_NOTHING: Final = MappingProxyType(
    {
        "auto": "no SQL in it: no JSON with sql or select, no fenced block, no statement",
        "create_select": 'no JSON object in it; expected {"create": "...", "select": "..."}',
        "sql_json": 'no JSON object in it; expected {"sql": "..."}',
        "block": "no fenced block with SQL in it; expected ```sql",
    }
)
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


def read_sql(text: str, *, form: Wanted = "auto") -> SqlReading:
    """Read the SQL that a reply gives. Never raises, whatever the text; linear in its length.

    Args:
        text: the whole reply. Reasoning (`<think>`) is left out; JSON and SQL may stand in fences or in prose.
        form: `create_select` is a JSON object of `create` and `select`, `sql_json` one of `sql`, both without further
            keys; `block` is one fenced block of SQL; whatever else comes is `incorrect` then. `auto` takes any of them
            or a bare statement, and ignores further keys.

    >>> read_sql('{"sql": "SELECT 1"}').query, read_sql("SQL: SELECT 1;").query
    ('SELECT 1', 'SELECT 1;')
    >>> read_sql('{"sql": 1}').message
    'sql: Input should be a valid string'
    >>> read_sql("SELECT 1", form="sql_json").message
    'no JSON object in it; expected {"sql": "..."}'
    """
    start, end, unfinished = readable(text)
    if not text[start:end].strip():
        message = "the reply broke off in its reasoning" if unfinished else "the reply is empty"
        return SqlReading("empty", message=message)
    found: list[SqlCandidate] = []
    problems: list[Problem] = []
    for together in _FINDERS[form]:
        told = _outside_of_values([one for find in together for one in find(text, start, end, form)])
        problems += [one for one in told if isinstance(one, Problem)]
        found += [one for one in told if isinstance(one, SqlCandidate)]
        if found or problems:
            break
    return _reading(text, found, problems, form)


def _outside_of_values(told: Sequence[SqlCandidate | Problem]) -> list[SqlCandidate | Problem]:
    """Without what stands inside a JSON value, such as a fence in one of its texts: the value speaks for itself."""
    values = sorted(one.span for one in told if (one.parsed if isinstance(one, Problem) else one.form in KEYS))

    def inside(span: tuple[int, int]) -> bool:
        before = bisect_left(values, span) - 1
        return before >= 0 and span[1] <= values[before][1]

    return [one for one in told if not inside(one.span)]


def _reading(text: str, found: Sequence[SqlCandidate], problems: Sequence[Problem], form: Wanted) -> SqlReading:
    if problems and not found:
        return SqlReading("incorrect", message=problems[0].message, span=problems[0].span)
    if not found:
        return SqlReading("incorrect", message=_NOTHING[form])
    one = _meant(text, found)
    if one is None:
        message = f"{_different(found)} different statements; which one is meant is not said"
        return SqlReading("incorrect", message=message, span=found[0].span)
    return SqlReading("read", one.create, one.query, one.form, span=one.span, broken_off=one.broken_off)


def _meant(text: str, found: Sequence[SqlCandidate]) -> SqlCandidate | None:
    r"""The statement that a reply means; None where several differ and none of them is declared.

    Statements are the same where only blanks, comments, a closing `;` or the case of words outside quotes differ. The
    last one is meant where the line before it says so ("Here is the corrected query:", "Final SQL:").

    Args:
        text: the whole reply.
        found: at least one statement, in order.

    >>> found = [SqlCandidate("", "SELECT 1", "statement", (0, 8)), SqlCandidate("", "SELECT 2", "statement", (26, 34))]
    >>> _meant("SELECT 1 corrected query: SELECT 2", found).query
    'SELECT 2'
    >>> _meant("SELECT 1 or another query: SELECT 2", found) is None
    True
    """
    if _different(found) == 1:
        return found[0]
    in_order = sorted(found, key=lambda one: one.span)
    before, last = in_order[-2:]
    return last if _declared(text[max(before.span[1], last.span[0] - _NEAR) : last.span[0]]) else None


def _different(found: Sequence[SqlCandidate]) -> int:
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


_Finder = Callable[[str, int, int, Wanted], Iterable[SqlCandidate | Problem]]
_FINDERS: Final[Mapping[Wanted, tuple[tuple[_Finder, ...], ...]]] = MappingProxyType(
    {
        "auto": ((objects_in, blocks_in), (statements_in,), (inline_in,)),
        "create_select": ((objects_in,),),
        "sql_json": ((objects_in,),),
        "block": ((blocks_in,),),
    }
)
"""What is tried, in order; the first group that finds something holds."""
