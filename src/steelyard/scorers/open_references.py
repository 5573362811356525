"""Finds references whose result is not unique on their data, and accepts each result that they may return.

`steelyard.sql.uniqueness` finds the parts of a query that may leave its result open; here both results that such a part
allows are computed, and a prediction that returns one of them is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from steelyard.scorers.sql_runs import Bench
from steelyard.sql.bare_columns import bare_columns, bare_elsewhere, nearest_choice
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import Database, ResultTable
from steelyard.sql.uniqueness import OpenPart, differ, may_have_bare_columns, open_parts, with_parts_as
from steelyard.sql.verdict import TITLES, ResultVerdict, judge
from steelyard.sql.wording import shown_results

NOT_UNIQUE: Final = "reference_not_unique"
"""The flag of a verdict on a reference whose result is not unique."""
NOT_UNIQUE_DETAIL: Final = "not unique"
"""The value of `Score.detail["reference"]` for such a reference; summaries count it."""


@dataclass(frozen=True, slots=True)
class DecidedPart:
    """A part of a reference that leaves its result open on the data, and what is known of the other results.

    Args:
        text: what it is and where, for a person.
        part: as `open_parts` found it; None for columns outside GROUP BY.
        results: other results of the reference.
        choices: for each row of the reference's result the rows that may stand in its place.
    """

    text: str
    part: OpenPart | None = None
    results: Sequence[ResultTable] = ()
    choices: Sequence[Sequence[tuple[Any, ...]]] = ()


async def decided_parts(bench: Bench, database: Database, query: str, reference: ResultTable) -> list[DecidedPart]:
    """Find the parts of a reference query that leave its result open on its data; one that draws is always open.

    Args:
        bench: runs the queries; one or two for each part that may be open, none for most queries.
        database: the sample's.
        query: the reference.
        reference: its result.
    """
    parts = list(open_parts(query, database.engine, reference.columns))
    found: list[DecidedPart] = []
    if may_have_bare_columns(query, database.engine):
        bare = bare_columns(query, database.engine, reference.columns)
        candidates = await bench.table(database, bare.query) if bare is not None else None
        if bare is not None and candidates is not None:
            choices = await bench.compare(reference, candidates, partial(bare.choices, reference, candidates))
            if choices is not None and any(len(rows) > 1 for rows in choices):
                found.append(DecidedPart(bare.text, choices=choices))
        parts += [part] if (part := bare_elsewhere(query, database.engine)) is not None else []
    for part in parts:
        if part.random:
            return [DecidedPart(part.text, part)]
        tables = [table for variant in part.variants if (table := await bench.table(database, variant)) is not None]
        if len(tables) == len(part.variants) and await _any_differs(bench, tables):
            found.append(DecidedPart(part.text, part, () if part.probes else tables))
    return found


async def _any_differs(bench: Bench, tables: Sequence[ResultTable]) -> bool:
    first, *others = tables
    for other in others:
        if await bench.compare(first, other, partial(differ, first, other)):
            return True
    return False


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
    parts = await decided_parts(bench, database, queries[0], reference)
    if not verdict.right:
        for part in parts:
            other = await _as_other_choice(bench, (database, queries), part, results, verdict)
            if other is not None:
                verdict = other
                break
    texts = tuple(part.text for part in parts)
    return (replace(verdict, flags=(*verdict.flags, NOT_UNIQUE)) if texts else verdict), texts


async def _as_other_choice(
    bench: Bench,
    source: tuple[Database, tuple[str, str]],
    decided: DecidedPart,
    results: tuple[ResultTable, ResultTable],
    before: ResultVerdict,
) -> ResultVerdict | None:
    """The verdict on a prediction that is another possible result of the reference; None where it is not."""
    database, queries = source
    part = decided.part
    reference, predicted = results
    rows = await bench.table(database, part.unlimited) if part is not None and part.unlimited else None
    if rows is not None:
        comparison = partial(judge, reference, predicted, unlimited=rows, limits=bench.limits, equality=bench.equality)
        verdicts = [await bench.compare(reference, predicted, comparison)]
    else:
        pairs = [(table, predicted) for table in decided.results]
        if decided.choices:
            pairs.append((_chosen(decided.choices, results, before), predicted))
        if part is not None and part.gathered is not None:
            pairs.append((reference, with_parts_as(reference, predicted, *part.gathered)))
        verdicts = [await bench.verdict(database, queries, *pair) for pair in pairs]
    for verdict in verdicts:
        if verdict.right:
            reason = f"another result that the reference may return ({decided.text}); {verdict.reason}"
            return replace(verdict, kind="same_up_to_ties", title=TITLES["same_up_to_ties"], reason=reason)
    return None


def _chosen(
    choices: Sequence[Sequence[tuple[Any, ...]]], results: tuple[ResultTable, ResultTable], before: ResultVerdict
) -> ResultTable:
    """The result that the reference may return which has most rows of the prediction."""
    reference, predicted = results
    rows: Sequence[tuple[Any, ...]] = predicted.rows
    partners = before.differences.get("columns") or []
    if len(partners) == len(reference.columns) and all(partners):
        # The columns may be in another order.
        rows = [tuple(row[partner - 1] for partner in partners) for row in rows]
    return replace(reference, rows=nearest_choice(choices, rows))


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
