"""Finds references whose result is not unique on their data, and accepts each result that they may return.

`steelyard.sql.uniqueness` finds the parts of a query that may leave its result open; here both results that such a part
allows are computed, and a prediction that returns one of them is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from steelyard.scorers.sql_runs import Bench
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import Database, ResultTable
from steelyard.sql.shown_rows import shown_results
from steelyard.sql.uniqueness import OpenPart, differ, open_parts
from steelyard.sql.verdict import TITLES, ResultVerdict, judge

NOT_UNIQUE: Final = "reference_not_unique"
"""The flag of a verdict on a reference whose result is not unique."""
NOT_UNIQUE_DETAIL: Final = "not unique"
"""The value of `Score.detail["reference"]` for such a reference; summaries count it."""


async def decided_parts(
    bench: Bench, database: Database, query: str, columns: Sequence[str]
) -> list[tuple[OpenPart, Sequence[ResultTable]]]:
    """Find the parts of a reference query that leave its result open on its data, each with two results it allows.

    Args:
        bench: runs the queries; two for each part that may be open, none for most queries.
        database: the sample's.
        query: the reference.
        columns: of its result.
    """
    parts: list[tuple[OpenPart, Sequence[ResultTable]]] = []
    for part in open_parts(query, database.engine, columns):
        tables = [table for variant in part.variants if (table := await bench.table(database, variant)) is not None]
        if len(tables) == len(part.variants) and await bench.compare(tables[0], tables[1], partial(differ, *tables)):
            parts.append((part, tables))
    return parts


async def judge_open(
    bench: Bench, database: Database, queries: tuple[str, str], results: tuple[ResultTable, ResultTable]
) -> tuple[ResultVerdict, tuple[str, ...]]:
    """Judge two results; also return the parts of the reference that leave its result open, as texts.

    Args:
        bench: runs the queries that the verdict needs.
        database: the sample's.
        queries: the reference and the prediction; "" for a prediction that is a table.
        results: of both.

    Raises:
        ComparisonStop: comparing them took too long.
    """
    reference, predicted = results
    verdict = await bench.verdict(database, queries, reference, predicted)
    parts = await decided_parts(bench, database, queries[0], reference.columns)
    if not verdict.right:
        for part, tables in parts:
            other = None if part.random else await _as_other_choice(bench, (database, queries), (part, tables), results)
            if other is not None:
                verdict = other
                break
    texts = tuple(part.text for part, _ in parts)
    return (replace(verdict, flags=(*verdict.flags, NOT_UNIQUE)) if texts else verdict), texts


async def _as_other_choice(
    bench: Bench,
    source: tuple[Database, tuple[str, str]],
    choice: tuple[OpenPart, Sequence[ResultTable]],
    results: tuple[ResultTable, ResultTable],
) -> ResultVerdict | None:
    """The verdict on a prediction that is another possible result of the reference; None where it is not."""
    database, queries = source
    part, tables = choice
    reference, predicted = results
    rows = await bench.table(database, part.unlimited) if part.unlimited else None
    if rows is not None:
        comparison = partial(judge, reference, predicted, unlimited=rows, limits=bench.limits, equality=bench.equality)
        verdicts = [await bench.compare(reference, predicted, comparison)]
    else:
        verdicts = [await bench.verdict(database, queries, table, predicted) for table in tables]
    for verdict in verdicts:
        if verdict.right:
            reason = f"another result that the reference may return ({part.text}); {verdict.reason}"
            return replace(verdict, kind="same_up_to_ties", title=TITLES["same_up_to_ties"], reason=reason)
    return None


def about_results(
    results: tuple[ResultTable, ResultTable | None],
    verdict: ResultVerdict,
    parts: Sequence[str],
    equality: CellEquality,
) -> dict[str, Any]:
    """Build a score's detail of two results: their first rows, and why the reference's is not unique.

    Args:
        results: the reference's and the prediction's; None where that failed.
        verdict: on them.
        parts: of the reference, which leave its result open.
        equality: which cells are equal.
    """
    shown = shown_results(*results, verdict.alignment, equality)
    return {"results": shown, **({"reference": NOT_UNIQUE_DETAIL, "open_parts": list(parts)} if parts else {})}
