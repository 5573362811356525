"""Reads the SQL in a model's reply: a JSON object, a fenced block, or the bare statement.

A reply is read or it is not; nothing is repaired and nothing is guessed. Where a reply holds two different statements
it is not said which is meant, so it is not read. How many statements a text holds, and whether they may run, is for
the sandbox to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from steelyard.text.sql_fences import readable
from steelyard.text.sql_json import objects_in
from steelyard.text.sql_reading import Form, Found, Problem, SqlReading, Wanted
from steelyard.text.sql_text import blocks_in, inline_in, statements_in

__all__ = ["Form", "SqlReading", "Wanted", "read_sql"]

_NOTHING: Final = MappingProxyType(
    {
        "auto": "no SQL in it: neither a JSON object with sql or select, nor a fenced block, nor a statement",
        "create_select": 'no JSON object in it; expected {"create": "...", "select": "..."}',
        "sql_json": 'no JSON object in it; expected {"sql": "..."}',
        "block": "no fenced block with SQL in it; expected ```sql",
    }
)


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
    found: list[Found] = []
    problems: list[Problem] = []
    for together in _FINDERS[form]:
        for one in (one for find in together for one in find(text, start, end, form)):
            if isinstance(one, Problem):
                problems.append(one)
            else:
                found.append(one)
        if found or problems:
            break
    return _reading(found, problems, form)


def _reading(found: Sequence[Found], problems: Sequence[Problem], form: Wanted) -> SqlReading:
    different = {(_plain(one.create), _plain(one.query)): one for one in reversed(found)}
    if len(different) > 1:
        message = f"{len(different)} different statements; which one is meant is not said"
        return SqlReading("incorrect", message=message, span=found[0].span)
    if problems and not found:
        return SqlReading("incorrect", message=problems[0].message, span=problems[0].span)
    if not found:
        return SqlReading("incorrect", message=_NOTHING[form])
    (one,) = different.values()
    return SqlReading("read", one.create, one.query, one.form, span=one.span, broken_off=one.broken_off)


def _plain(sql: str) -> str:
    return " ".join(sql.split()).rstrip("; ")


_Finder = Callable[[str, int, int, Wanted], Iterable[Found | Problem]]
_FINDERS: Final[Mapping[Wanted, tuple[tuple[_Finder, ...], ...]]] = MappingProxyType(
    {
        "auto": ((objects_in, blocks_in), (statements_in,), (inline_in,)),
        "create_select": ((objects_in,),),
        "sql_json": ((objects_in,),),
        "block": ((blocks_in,),),
    }
)
"""What is tried, in order; the first group that finds something holds."""
