"""Compares two results by what their columns are declared as, where their values alone do not agree.

    single_precision    numbers agree to 7 digits where either side's column is a 4-byte float, or is computed from one
    char_padding        texts agree without blanks at the end where either side's column is declared CHAR(n)

A 4-byte float is 1.10000002384185791 once a client holds it in 8 bytes, and the sum of such values is a DOUBLE: whether
a query computes with them is read from the types of its result, from its casts, and from the columns it names. Each
value of the prediction is replaced by the reference's value that it equals so, and the results are judged once more.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.sql.equality import RULE_TEXTS
from steelyard.sql.layout import scan
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.verdict import RIGHT, TITLES, ResultVerdict
from steelyard.sql.wording import show_cell, show_column

DeclaredRule = Literal["single_precision", "char_padding"]

DECLARED: Final = MappingProxyType(
    {
        ("single_precision", "duckdb"): "SELECT DISTINCT lower(column_name) FROM duckdb_columns() "
        "WHERE data_type = 'FLOAT'",
        ("single_precision", "postgres"): "SELECT DISTINCT lower(column_name) FROM information_schema.columns "
        "WHERE data_type = 'real'",
        ("single_precision", "mysql"): "SELECT DISTINCT lower(column_name) FROM information_schema.columns "
        "WHERE data_type = 'float' AND table_schema = DATABASE()",
        ("char_padding", "sqlite"): "SELECT DISTINCT lower(c.name) FROM sqlite_master AS m, pragma_table_info(m.name) "
        "AS c WHERE m.type = 'table' AND (upper(c.type) GLOB 'CHAR(*' OR upper(c.type) GLOB 'CHAR (*' "
        "OR upper(c.type) GLOB 'NCHAR*(*' OR upper(c.type) GLOB 'CHARACTER(*' OR upper(c.type) GLOB 'CHARACTER (*')",
    }
)
"""Rule and engine -> a query for the names of the columns that are declared so. SQLite's REAL has 8 bytes, DuckDB's
CHAR(n) is a text of any length, and servers give theirs without padding, which the rules do not concern."""

_RELATIVE: Final = 1e-6
"""Half a unit in the last place of a 4-byte float is 6e-8; sums and quotients of such values are a few times less
exact."""
_FLOATS: Final = frozenset({"FLOAT", "REAL", "FLOAT4"})
_DOUBLES: Final = frozenset({"DOUBLE", "FLOAT8"})

Pairs = Sequence[tuple[int, int]]


def rules_in_question(engine: EngineName, reference: ResultTable, prediction: ResultTable) -> tuple[DeclaredRule, ...]:
    """The rules that may make two results of an engine agree: of the right types, and of equal size."""
    if len(reference.rows) != len(prediction.rows) or len(reference.columns) != len(prediction.columns):
        return ()
    if engine != "sqlite":
        floats = {*reference.types, *prediction.types} & (_FLOATS | _DOUBLES)
        return ("single_precision",) if floats else ()
    padded = any(
        type(cell) is str and cell.endswith(" ")
        for table in (reference, prediction)
        for row in table.rows
        for cell in row
    )
    return ("char_padding",) if padded else ()


def declared_columns(
    rule: DeclaredRule, query: str, engine: EngineName, result: ResultTable, declared: AbstractSet[str]
) -> frozenset[int]:
    """The columns of a query's result that are declared as the rule says, or computed from such columns.

    Args:
        rule: which.
        query: that returned the result; "" where it is not known.
        engine: that ran it.
        result: what it returned.
        declared: names of the tables' columns that are declared so, in small letters.
    """
    tokens = [token.text.strip('"`[]').casefold() for token in scan(query, engine)]
    computes = not declared.isdisjoint(tokens)
    if rule == "char_padding":
        return frozenset(at for at, name in enumerate(result.columns) if computes or name.casefold() in declared)
    computes = computes or any(
        token.upper() in _FLOATS and before.upper() in {"AS", ":"} for before, token in pairwise(tokens)
    )
    return frozenset(at for at, kind in enumerate(result.types) if kind in _FLOATS or (computes and kind in _DOUBLES))


def judge_declared(
    rule: DeclaredRule,
    results: tuple[ResultTable, ResultTable],
    declared: tuple[Collection[int], Collection[int]],
    judge: Callable[[ResultTable], ResultVerdict],
) -> ResultVerdict | None:
    """The verdict where the results agree by the rule; None where they do not.

    Args:
        rule: which.
        results: the reference's and the prediction's.
        declared: the columns of each that are declared so; others have to agree without the rule.
        judge: of a prediction, against the reference.
    """
    reference, prediction = results
    if not any(declared):
        return None
    columns = list(zip(*reference.rows, strict=True))
    everything = _nearest_in([cell for column in columns for cell in column], rule)
    aligned = judge(_with(prediction, dict.fromkeys(range(len(prediction.columns)), everything)))
    partners = aligned.differences.get("columns", [])
    if not aligned.right or not all(partners):
        return None
    pairs = [(left, right - 1) for left, right in enumerate(partners)]
    loose = [(left, right) for left, right in pairs if left in declared[0] or right in declared[1]]
    changed = _with(prediction, {right: _nearest_in(columns[left], rule) for left, right in loose})
    verdict = judge(changed)
    if not verdict.right:
        return None
    kind: Literal["equal_by_rule"] = "equal_by_rule"
    # What else holds follows, and the kind that was the verdict's before is one of it.
    others = [verdict.kind] if verdict.kind in RIGHT - {"same", kind, "within_tolerance"} else []
    count = len(reference.rows)
    agree = f"{count} rows agree" if count != 1 else "1 row agrees"
    reason = f"{agree} by {rule} ({RULE_TEXTS[rule]}){_first(reference, prediction, loose)}"
    return replace(verdict, kind=kind, title=TITLES[kind], reason=reason, flags=(rule, *others, *verdict.flags))


def _with(table: ResultTable, changes: dict[int, Callable[[Any], Any]]) -> ResultTable:
    """The table with some columns changed cell by cell."""
    rows = [tuple(changes[at](cell) if at in changes else cell for at, cell in enumerate(row)) for row in table.rows]
    return replace(table, rows=rows)


def _nearest_in(cells: Sequence[Any], rule: DeclaredRule) -> Callable[[Any], Any]:
    """A function that returns the cell which a cell equals by the rule, or the cell itself."""
    return _same_text(cells) if rule == "char_padding" else _near_number(cells)


def _same_text(cells: Sequence[Any]) -> Callable[[Any], Any]:
    texts = {cell for cell in cells if type(cell) is str}
    by_text = {text.rstrip(" "): text for text in sorted(texts)}

    def changed(cell: Any) -> Any:
        return by_text.get(cell.rstrip(" "), cell) if type(cell) is str and cell not in texts else cell

    return changed


def _near_number(cells: Sequence[Any]) -> Callable[[Any], Any]:
    numbers = sorted({cell for cell in cells if _is_number(cell)}, key=float)
    floats = [float(number) for number in numbers]

    def changed(cell: Any) -> Any:
        if not _is_number(cell):
            return cell
        value = float(cell)
        at = bisect_left(floats, value)
        near = min(range(max(0, at - 1), min(len(floats), at + 1)), key=lambda i: abs(floats[i] - value), default=None)
        if near is None or abs(floats[near] - value) > _RELATIVE * max(abs(floats[near]), abs(value)):
            return cell
        return numbers[near]

    return changed


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) and _finite(cell)


def _finite(cell: float | Decimal) -> bool:
    try:
        return math.isfinite(float(cell))
    except OverflowError:
        return False


def _first(reference: ResultTable, prediction: ResultTable, pairs: Pairs) -> str:
    """The first two cells in the same row that differ by more than their type."""
    for number, (row, other) in enumerate(zip(reference.rows, prediction.rows, strict=True), start=1):
        for left, right in pairs:
            if row[left] != other[right]:
                cells = f"{show_cell(row[left])} expected, {show_cell(other[right])} returned"
                return f": row {number}, {show_column(left, reference.columns)}: {cells}"
    return ""
