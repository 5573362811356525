"""Doubts about the keys of an ORDER BY, which its author may not have meant: seen in their values, not in the text.

text_as_number    numbers that are stored as text are sorted as text, 10 before 9; min() and max() compare them so too
null_in_limit     NULLs, which SQLite sorts first, fill a LIMIT in place of values
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Any, Final, Literal

from steelyard.sql.layout import QueryToken, scan
from steelyard.sql.order import Ordering
from steelyard.sql.results import EngineName, ResultTable

OrderDoubt = Literal["text_as_number", "null_in_limit"]

_SETS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_BEHIND_ROWS: Final = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "WINDOW", "QUALIFY", ";"})
_NUMBER: Final = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*%?\s*")


def order_doubts(ordering: Ordering, reference: ResultTable, whole: ResultTable) -> dict[OrderDoubt, str]:
    """Find what is doubtful about the keys of a query, each with the first key that it is true of.

    Args:
        ordering: of the query.
        reference: its result.
        whole: the result of `ordering.unlimited_query` or `keyed_query`, where there is one, else the same.

    >>> from steelyard.sql.order import ordering_of
    >>> marks = ResultTable(("mark",), [("10",), ("9",), ("85",)])
    >>> order_doubts(ordering_of("SELECT mark FROM t ORDER BY mark"), marks, marks)
    {'text_as_number': 'mark'}
    """
    doubts: dict[OrderDoubt, str] = {}
    keys = list(zip(ordering.keys, _values(ordering, whole, len(reference.columns)), strict=True))
    for key, values in keys:
        if values is not None and not key.collation and _numbers_as_text(values):
            doubts.setdefault("text_as_number", key.expression)
    values = keys[0][1] if keys else None
    if ordering.limited and values is not None and len(whole.rows) > len(reference.rows):
        first, last = ordering.offset, ordering.offset + len(reference.rows)
        if None in values[first:last] and any(value is not None for value in [*values[:first], *values[last:]]):
            doubts["null_in_limit"] = keys[0][0].expression
    return doubts


def _values(ordering: Ordering, table: ResultTable, width: int) -> list[list[Any] | None]:
    """The values of each key: hidden keys stand behind the columns of the result; None where they are not there."""
    behind = iter(range(width, len(table.columns)))
    places = [key.column if key.column is not None else next(behind, None) for key in ordering.keys]
    return [
        [row[place] for row in table.rows] if place is not None and place < len(table.columns) else None
        for place in places
    ]


def extremes(query: str, engine: EngineName) -> Iterator[tuple[str, str]]:
    """Each min() and max() of a query without nested parts before its FROM, with a query for the values it compares.

    >>> list(extremes("SELECT a, MAX(price) FROM t WHERE a > 1 GROUP BY a", "sqlite"))
    [('MAX(price)', 'SELECT DISTINCT price FROM t WHERE a > 1 LIMIT 1000')]
    """
    tokens = list(scan(query, engine))
    words = [(token.text.upper(), token) for token in tokens if not token.depth]
    first = next((token.start for text, token in words if text == "FROM"), None)
    if first is None or words[0][0] != "SELECT" or any(text in _SETS for text, _ in words):
        return
    last = next((token.start for text, token in words if text in _BEHIND_ROWS and token.start > first), len(query))
    for at, token in enumerate(tokens[:-3]):
        if token.start > first or token.text.upper() not in {"MIN", "MAX"} or tokens[at + 1].text != "(":
            continue
        inside = _within(tokens[at + 2 :], token.depth)
        if inside and not any(inner.text == "," or inner.text.upper() == "SELECT" for inner in inside):
            argument = query[inside[0].start : inside[-1].end]
            shown = query[token.start : inside[-1].end] + ")"
            argument = argument if argument[:9].upper() != "DISTINCT " else argument[9:]
            yield shown, f"SELECT DISTINCT {argument} {query[first:last].strip()} LIMIT 1000"


def _within(tokens: Sequence[QueryToken], depth: int) -> list[QueryToken]:
    return list(takewhile(lambda token: token.depth > depth, tokens))


def numbers_as_text(table: ResultTable) -> bool:
    """Whether the first column holds numbers that are stored as text, and in another order as such."""
    return _numbers_as_text([row[0] for row in table.rows])


def _numbers_as_text(values: Sequence[Any]) -> bool:
    """Whether values are texts that are numbers, and in another order as such."""
    if not all(value is None or (isinstance(value, str) and _NUMBER.fullmatch(value)) for value in values):
        return False
    texts = {value for value in values if value is not None}
    numbers = [float(text.strip().rstrip("% ").replace(",", ".")) for text in sorted(texts)]
    return any(first > second for first, second in pairwise(numbers))
