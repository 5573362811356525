"""Compares what two statements changed: they are equal if they leave the same data behind.

How a statement reaches its state does not count: `UPDATE ... SET pay = pay * 1.1` and `SET pay = 110` are equal where
both leave 110 behind, and what a statement returns (RETURNING) is not looked at.

Source: GoogleCloudPlatform/evalbench compares the state of a database after changing statements likewise (issue 89).
"""

# Why it is so, and what was rejected: docs/decisions/sql-changes.md

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from steelyard.plain_json import grouped
from steelyard.sql.engines.engine import AFFECTED, COLUMNS, SCHEMA
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import ResultTable, SqlLimits
from steelyard.sql.statements import main_verb, split
from steelyard.sql.verdict import TITLES, ResultVerdict, judge
from steelyard.sql.wording import json_row, show_row

Unsteady = Mapping[tuple[str, str], frozenset[int]]
"""Kind of change and table -> positions of the cells that a statement leaves otherwise each time it is run."""
_OMITTED: Final = "(differs each time)"
_CHANGING: Final = frozenset(
    {"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "CREATE", "DROP", "ALTER", "UPSERT"}
)


def changes_data(text: str) -> bool:
    """Whether a text begins with a statement that changes data or the schema.

    >>> changes_data("WITH a AS (SELECT 1) DELETE FROM t"), changes_data("SELECT 'DELETE FROM t'")
    (True, False)
    """
    statements = split(text)
    return bool(statements) and main_verb(statements[0].text) in _CHANGING


def without_count(changes: ResultTable) -> ResultTable:
    """The changes alone, without the row that counts the affected rows."""
    return ResultTable(COLUMNS, [row for row in changes.rows if row[0] != AFFECTED])


def affected_rows(changes: ResultTable) -> int:
    """How many rows the engine says that a statement affected."""
    return next((int(row[2][0]) for row in changes.rows if row[0] == AFFECTED), 0)


def unsteady_cells(first: ResultTable, again: ResultTable) -> Unsteady | None:
    """The cells in which two runs of one statement on the same data differ; None where they change other rows.

    >>> runs = [ResultTable(COLUMNS, [("added", "t", [1, drawn])]) for drawn in ("a7", "c3")]
    >>> unsteady_cells(*runs), unsteady_cells(runs[0], ResultTable(COLUMNS, []))
    ({('added', 't'): frozenset({1})}, None)
    """
    runs = [_by_table(first), _by_table(again)]
    unsteady: dict[tuple[str, str], frozenset[int]] = {}
    for key in sorted({*runs[0], *runs[1]}):
        rows, others = (run.get(key, []) for run in runs)
        if len(rows) != len(others) or len({*map(len, rows), *map(len, others)}) != 1:
            if key[1] == SCHEMA and Counter(map(repr, rows)) == Counter(map(repr, others)):
                continue
            return None
        columns = zip(zip(*rows, strict=True), zip(*others, strict=True), strict=True)
        # Not cell by cell: rows that a table returns in the order of a drawn key come in another order each time.
        differ = {at for at, cells in enumerate(columns) if len(set(map(_counted, cells))) > 1}
        if differ:
            unsteady[key] = frozenset(differ)
    return unsteady


def _by_table(changes: ResultTable) -> dict[tuple[str, str], list[Sequence[Any]]]:
    return grouped(((change, table), cells) for change, table, cells in without_count(changes).rows)


def _counted(cells: Sequence[Any]) -> frozenset[tuple[str, int]]:
    return frozenset(Counter(map(repr, cells)).items())


def told_unsteady(unsteady: Unsteady) -> str:
    """The cells that are not compared, for a person.

    >>> told_unsteady({("added", "t"): frozenset({1})})
    'column 2 of the rows added to t'
    """
    told = []
    for (change, table), places in unsteady.items():
        columns = ", ".join(str(at + 1) for at in sorted(places))
        to = "to" if change == "added" else "from"
        told.append(f"column{'s' if len(places) > 1 else ''} {columns} of the rows {change} {to} {table}")
    return "; ".join(told)


def _compared(changes: ResultTable, unsteady: Unsteady) -> ResultTable:
    """The changes without their count and without unsteady cells; that a cell is NULL still counts."""
    rows = []
    for change, table, cells in without_count(changes).rows:
        places = unsteady.get((change, table), frozenset())
        kept = [_OMITTED if at in places and cell is not None else cell for at, cell in enumerate(cells)]
        rows.append((change, table, kept))
    return ResultTable(COLUMNS, rows)


def judge_changes(
    reference: ResultTable,
    prediction: ResultTable,
    *,
    limits: SqlLimits,
    equality: CellEquality,
    unsteady: Unsteady = MappingProxyType({}),
) -> ResultVerdict:
    """The verdict on what a prediction changed, against what the reference changed.

    Args:
        reference: of a run with `Database.changes`.
        prediction: likewise, on the same data.
        limits: as of `judge`.
        equality: which cells are equal without being identical.
        unsteady: cells that are not compared; see `unsteady_cells`.

    Raises:
        ComparisonStop: as of `judge`.

    >>> rows = [("affected", "", [1]), ("added", "t", [1, 2.5])]
    >>> other = [("affected", "", [2]), ("added", "t", [1, 2.5]), ("removed", "t", [7, None])]
    >>> tables = ResultTable(COLUMNS, rows), ResultTable(COLUMNS, other)
    >>> judge_changes(*tables, limits=SqlLimits(), equality=CellEquality()).reason
    'it also removed (7, NULL) from t; 2 rows affected, 1 by the reference'
    """
    wanted, made = _compared(reference, unsteady), _compared(prediction, unsteady)
    counts = affected_rows(prediction), affected_rows(reference)
    # A row is one cell, a list: no column of it can stand for another.
    verdict = judge(wanted, made, limits=limits, equality=equality)
    if verdict.kind == "columns_permuted":  # names of tables, for kinds of changes
        verdict = replace(verdict, kind="rows_differ", right=False, title=TITLES["rows_differ"])
    omitted = f"; not compared, as they differ each time: {told_unsteady(unsteady)}" if unsteady else ""
    if verdict.right:
        said = f"the data are as after the reference; {_rows(counts[0])} affected"
        said = f"{said}, {counts[1]} by the reference" if counts[0] != counts[1] else said
        return replace(verdict, reason=said + omitted)
    reason = f"{_difference(wanted, made, verdict)}; {_rows(counts[0])} affected, {counts[1]} by the reference{omitted}"
    return replace(verdict, reason=reason, differences=_differences(wanted, made, verdict))


def _differences(wanted: ResultTable, made: ResultTable, verdict: ResultVerdict) -> dict[str, Any]:
    """The differences of a verdict, with the cells of each row after the change and the table."""
    shown: dict[str, Any] = dict(verdict.differences)
    for side, table in (("missing", wanted), ("extra", made)):
        numbers = [row["row"] for row in shown.get(side, ())]
        shown[side] = [
            json_row(number, (*table.rows[number - 1][:2], *table.rows[number - 1][2])) for number in numbers
        ]
    return shown


def _difference(wanted: ResultTable, made: ResultTable, verdict: ResultVerdict) -> str:
    """The first change that is missing, or that should not have been made."""
    if not made.rows:
        return f"it changes nothing, where the reference {_told(wanted.rows[0])}"
    if verdict.alignment is None:
        return verdict.reason
    missing, extra = verdict.alignment.missing, verdict.alignment.extra
    lacking = f"the reference {_told(wanted.rows[missing[0]])}, and it does not" if missing else ""
    beside = f"it {'' if missing else 'also '}{_told(made.rows[extra[0]])}" if extra else ""
    return "; ".join(filter(None, (lacking, beside))) or verdict.reason


def _told(row: Sequence[Any]) -> str:
    change, table, cells = row
    if table == SCHEMA:
        return f"{change} {' '.join(str(cell) for cell in cells[:3] if cell is not None)} of the schema"
    return f"{change} {show_row(cells)} {'to' if change == 'added' else 'from'} {table}"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
