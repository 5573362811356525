"""Decides whether a predicted result equals the reference's, with a reason.

Cells are equal as `steelyard.sql.cells` says, columns are found by value, rows are a bag unless the reference orders
them. Several findings may hold at once. The verdict is then the first that holds of

    right   both_empty, within_tolerance, columns_permuted, same_up_to_ties, same
    wrong   columns_missing, columns_extra, same_but_order, duplicates_differ, rows_missing, rows_extra, rows_differ

and what else holds stands in the flags. Names of columns never decide anything; they are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from itertools import chain
from typing import Any, Final, Literal
from uuid import UUID

from steelyard.sql.alignment import ColumnAlignment, align
from steelyard.sql.cells import intern_tables
from steelyard.sql.columns import match_columns
from steelyard.sql.extent import ComparisonStop, Effort, count_cells
from steelyard.sql.fingerprints import Rows
from steelyard.sql.order import Ordering
from steelyard.sql.results import FailureKind, ResultTable, SqlFailure, SqlLimits
from steelyard.sql.ties import TieGroups, choose_columns, match_in_order, window_of
from steelyard.sql.wording import Wording, one_line

VerdictKind = Literal[
    "same",
    "same_up_to_ties",
    "columns_permuted",
    "within_tolerance",
    "both_empty",
    "same_but_order",
    "columns_extra",
    "columns_missing",
    "duplicates_differ",
    "rows_missing",
    "rows_extra",
    "rows_differ",
    "timeout",
    "denied",
    "memory",
    "too_large",
    "engine_error",
]

TITLES: Final[Mapping[VerdictKind, str]] = {
    "same": "same",
    "same_up_to_ties": "same up to ties",
    "columns_permuted": "columns permuted",
    "within_tolerance": "within tolerance",
    "both_empty": "both empty",
    "same_but_order": "same but order",
    "columns_extra": "extra columns",
    "columns_missing": "columns missing",
    "duplicates_differ": "duplicates differ",
    "rows_missing": "rows missing",
    "rows_extra": "rows extra",
    "rows_differ": "rows differ",
    "timeout": "time-out",
    "denied": "denied",
    "memory": "out of memory",
    "too_large": "result too large",
    "engine_error": "engine error",
}
"""Every kind of verdict, as people read it."""

RIGHT: Final[frozenset[VerdictKind]] = frozenset(
    {"same", "same_up_to_ties", "columns_permuted", "within_tolerance", "both_empty"}
)
"""The kinds that count as right."""

_OF_FAILURE: Final[Mapping[FailureKind, VerdictKind]] = {
    "denied": "denied",
    "timeout": "timeout",
    "memory": "memory",
    "too_large": "too_large",
    "error": "engine_error",
}
_COMPARED_BY_PYTHON: Final[frozenset[type]] = frozenset({str, int, float, type(None), bytes})
_EXACT: Final = (str, int, bytes, date, time, timedelta, UUID, type(None))
_Behind = tuple[ResultTable | None, ResultTable | None]


@dataclass(frozen=True, slots=True)
class ResultVerdict:
    """The result of comparing two results.

    Args:
        kind: stable, for programs.
        right: whether the prediction counts as right.
        title: the kind, for people.
        reason: one sentence with the first difference by row, column and value.
        flags: what else holds: other kinds in the precedence's order, `order_unchecked` (rows differ, so order was not
            looked at), `keys_unknown` (ties could not be told, order was compared strictly), `limit_unchecked` (the
            LIMIT may cut a tie; what it left out is not known), `limit_tie` (another choice at the LIMIT),
            `widths_differ`, `columns_undecided` (the search for columns ended at its budget).
        differences: plain JSON: `missing` and `extra`, up to 5 rows each with their 1-based numbers, `missing_rows` and
            `extra_rows`, how many there are, and `columns`, for each column of the reference the 1-based one of the
            prediction, or None.
    """

    kind: VerdictKind
    right: bool
    title: str
    reason: str
    flags: tuple[str, ...] = ()
    differences: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Found:
    """A way in which the results agree: the prediction's column for each of the reference's, and how the order does."""

    columns: tuple[int, ...]
    order: Literal["in_place", "ties", "limit_tie", "wrong"]
    exact: bool


def judge(
    reference: ResultTable,
    prediction: ResultTable,
    *,
    ordering: Ordering | None = None,
    keyed: ResultTable | None = None,
    unlimited: ResultTable | None = None,
    limits: SqlLimits = SqlLimits(),
) -> ResultVerdict:
    """Compare what a prediction returned with what the reference returned.

    A prediction of more cells than `limits` allows is wrong, `too_large`.

    Args:
        reference: the reference's result.
        prediction: the prediction's.
        ordering: how the reference orders its rows (`ordering_of`); None: it does not.
        keyed: the result of `ordering.keyed_query`.
        unlimited: the result of `ordering.unlimited_query`.
        limits: `max_cells` of each result, and `compare_timeout_s` unless the caller spends an `Effort` already.

    Raises:
        ComparisonStop: the reference is too large, or comparing took too long: nothing is said of the prediction.

    >>> judge(ResultTable(("a", "b"), [(1, 2.5)]), ResultTable(("b", "a"), [(2.5, 1)])).kind
    'columns_permuted'
    >>> judge(ResultTable(("name", "total"), [("Ann", 12)]), ResultTable(("n", "t"), [("Ann", 11)])).reason
    'row 1, column total: 12 expected, 11 returned'
    """
    most = limits.max_cells
    if count_cells(reference.rows, most) > most:
        raise ComparisonStop("too_large", f"the reference's result has more than {most:,} cells")
    if count_cells(prediction.rows, most) > most:
        return verdict_of_failure(SqlFailure("too_large", f"more than {most:,} cells"))
    with Effort(limits.compare_timeout_s).spend():
        return _judged(reference, prediction, ordering, (keyed, unlimited))


def _judged(
    reference: ResultTable, prediction: ResultTable, ordering: Ordering | None, behind: _Behind
) -> ResultVerdict:
    if not reference.rows and not prediction.rows:
        return _both_empty(reference, prediction)
    if _plainly_same(reference, prediction, ordered=ordering is not None):
        in_place = _Found(tuple(range(len(reference.columns))), "in_place", exact=True)
        return _agreeing(reference, prediction, in_place, ())
    window = None if ordering is None else window_of(reference, ordering, *behind)
    flags = window.flags if window is not None else ()
    agreement = _agreement(reference, prediction, window)
    if agreement is not None:
        return _agreeing(reference, prediction, agreement, flags)
    return _differing(reference, prediction, (*flags, *(("order_unchecked",) if ordering is not None else ())))


def verdict_of_failure(failure: SqlFailure) -> ResultVerdict:
    """Return the verdict on a prediction whose query failed.

    >>> verdict_of_failure(SqlFailure("error", "no such table: t")).kind
    'engine_error'
    """
    kind = _OF_FAILURE[failure.kind]
    part = "" if failure.part == "query" else f" in the {failure.part}"
    message = one_line(failure.message[:300]).removeprefix("denied: ")
    return ResultVerdict(kind, right=False, title=TITLES[kind], reason=f"{TITLES[kind]}{part}: {message}")


def _both_empty(reference: ResultTable, prediction: ResultTable) -> ResultVerdict:
    same = len(reference.columns) == len(prediction.columns)
    reason = "neither returned a row, so that little is shown"
    flags = ("both_empty",) if same else ("both_empty", "widths_differ")
    return ResultVerdict("both_empty", right=True, title=TITLES["both_empty"], reason=reason, flags=flags)


def _plainly_same(reference: ResultTable, prediction: ResultTable, *, ordered: bool) -> bool:
    """Whether Python's own equality, which is quick, sees the same rows and sees what ours does."""
    mine, other = list(reference.rows), list(prediction.rows)
    if len(mine) != len(other) or len(reference.columns) != len(prediction.columns):
        return False
    if not (_simple(mine) and _simple(other)):
        return False
    # Adding up hashes costs half of counting, and tells nearly always.
    return mine == other or (
        not ordered and sum(map(hash, mine)) == sum(map(hash, other)) and Counter(mine) == Counter(other)
    )


def _simple(rows: Sequence[Sequence[Any]]) -> bool:
    return set(map(type, chain.from_iterable(rows))) <= _COMPARED_BY_PYTHON


def _agreement(reference: ResultTable, prediction: ResultTable, window: TieGroups | None) -> _Found | None:
    """The best way in which the results agree: exactly before within tolerance, in order before out of it."""
    agreements: list[_Found] = []
    if len(reference.rows) != len(prediction.rows):
        return None
    for exact in (True, False):
        agreement = _way(reference, prediction, window, exact=exact)
        if agreement is not None and agreement.order != "wrong":
            return agreement
        agreements += [agreement] if agreement is not None else []
        if exact and not (_inexact(reference) and _inexact(prediction)):
            break
    return agreements[0] if agreements else None


def _inexact(table: ResultTable) -> bool:
    """Whether a table has cells of which two may be equal without being the same."""
    kinds = set(map(type, chain.from_iterable(table.rows)))
    return not all(issubclass(kind, _EXACT) for kind in kinds)


def _way(reference: ResultTable, prediction: ResultTable, window: TieGroups | None, *, exact: bool) -> _Found | None:
    source = window.source if window is not None else {}
    mine, other, *further = intern_tables(reference.rows, prediction.rows, *source.values(), exact=exact)
    swapped = len(reference.columns) > len(prediction.columns)
    first, second = (other, mine) if swapped else (mine, other)
    if window is not None:
        columns, order = match_in_order(first, second, window)
        if columns is not None:
            return _Found(columns, "ties" if order == "ties" else "in_place", exact)
        chosen = choose_columns(other, window, dict(zip(source, further, strict=True)), mine) if source else None
        if chosen is not None:
            return _Found(tuple(chosen), "limit_tie", exact)
    columns = match_columns(first, second).columns
    return _Found(columns, "in_place" if window is None else "wrong", exact) if columns is not None else None


def _agreeing(
    reference: ResultTable, prediction: ResultTable, agreement: _Found, flags: tuple[str, ...]
) -> ResultVerdict:
    """The verdict where the same rows are there, perhaps with more or fewer columns, or in a wrong order."""
    wide, narrow = len(prediction.columns), len(reference.columns)
    holding = _holding(agreement, missing=narrow > wide, extra=wide > narrow)
    kind = holding[0]
    words = Wording(reference, prediction, _pairs(agreement, swapped=narrow > wide))
    differences: dict[str, Any] = {"columns": words.columns()}
    if kind == "same_but_order":
        differences |= words.moved_rows()
    rest = (*holding[1:], *(("limit_tie",) if agreement.order == "limit_tie" else ()), *flags)
    reason = words.agreeing(kind, order=agreement.order)
    return ResultVerdict(kind, kind in RIGHT, TITLES[kind], reason, rest, differences)


def _holding(agreement: _Found, *, missing: bool, extra: bool) -> list[VerdictKind]:
    """The kinds that hold, in their precedence."""
    permuted = list(agreement.columns) != sorted(agreement.columns)
    kinds: list[tuple[bool, VerdictKind]] = [
        (missing, "columns_missing"),
        (extra, "columns_extra"),
        (agreement.order == "wrong", "same_but_order"),
        (not agreement.exact, "within_tolerance"),
        (permuted, "columns_permuted"),
        (agreement.order in {"ties", "limit_tie"}, "same_up_to_ties"),
    ]
    return [kind for holds, kind in kinds if holds] or ["same"]


def _pairs(agreement: _Found, *, swapped: bool) -> tuple[tuple[int, int], ...]:
    pairs = enumerate(agreement.columns)
    return tuple(sorted((other, mine) for mine, other in pairs)) if swapped else tuple(pairs)


def _differing(reference: ResultTable, prediction: ResultTable, flags: tuple[str, ...]) -> ResultVerdict:
    """The verdict where rows differ however the columns are laid."""
    mine: Rows
    mine, other = intern_tables(reference.rows, prediction.rows)
    widths = len(reference.columns), len(prediction.columns)
    laid = align(mine, other, widths)
    kind = _kind_of(laid)
    notes = [
        (widths[0] != widths[1], "widths_differ"),
        (widths[0] > widths[1], "columns_missing"),
        (widths[0] < widths[1], "columns_extra"),
        (any(one != two for one, two in laid.columns), "columns_permuted"),
        (not _decided(mine, other, swapped=widths[0] > widths[1]), "columns_undecided"),
    ]
    words = Wording(reference, prediction, laid.columns)
    differences = {"columns": words.columns(), **words.differing_rows(laid)}
    rest = (*(note for holds, note in notes if holds), *flags)
    return ResultVerdict(
        kind,
        right=False,
        title=TITLES[kind],
        reason=words.differing(kind, laid, (mine, other)),
        flags=rest,
        differences=differences,
    )


def _decided(mine: Rows, other: Rows, *, swapped: bool) -> bool:
    return match_columns(*((other, mine) if swapped else (mine, other))).decided


def _kind_of(laid: ColumnAlignment) -> VerdictKind:
    if laid.same_sets and (laid.missing or laid.extra):
        return "duplicates_differ"
    if not laid.extra and laid.missing:
        return "rows_missing"
    return "rows_extra" if not laid.missing and laid.extra else "rows_differ"
