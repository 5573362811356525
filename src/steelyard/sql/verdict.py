"""Decides whether a predicted result equals the reference's, with a reason.

Cells are equal as `steelyard.sql.equality` says, columns are found by value, rows are a bag unless the reference orders
them. Several findings may hold at once. The verdict is then the first that holds of

    right   both_empty, within_tolerance, equal_by_rule, columns_permuted, same_up_to_ties, same
    wrong   columns_missing, columns_extra, same_but_order, duplicates_differ, rows_missing, rows_extra, rows_differ

and what else holds is listed in the flags. Names of columns never decide anything; they are shown.
"""

# Why it is so, and what was rejected: docs/decisions/sql-verdict.md

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, get_args
from uuid import UUID

from steelyard.escaping import printable
from steelyard.sql.cells import NumberedTables, rows_match
from steelyard.sql.columns import ColumnAlignment, Rows, align, match_columns, project
from steelyard.sql.equality import EXACT, CellEquality, RuleName
from steelyard.sql.extent import ComparisonStop, Effort, count_cells
from steelyard.sql.order import Ordering
from steelyard.sql.results import ResultTable, SqlFailure, SqlLimits
from steelyard.sql.ties import TieGroups, any_rows, choose_columns, match_in_order, window_of
from steelyard.sql.wording import Wording

VerdictKind = Literal[
    "same",
    "same_up_to_ties",
    "columns_permuted",
    "within_tolerance",
    "equal_by_rule",
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
    "constraint",
    "engine_error",
]

TITLES: Final[Mapping[VerdictKind, str]] = {
    **{kind: kind.replace("_", " ") for kind in get_args(VerdictKind)},
    "equal_by_rule": "equal by type rule",
    "columns_extra": "extra columns",
    "timeout": "time-out",
    "memory": "out of memory",
    "too_large": "result too large",
    "constraint": "constraint violated",
}
"""Every kind of verdict, as people read it."""

RIGHT: Final[frozenset[VerdictKind]] = frozenset(
    {"same", "same_up_to_ties", "columns_permuted", "within_tolerance", "equal_by_rule", "both_empty"}
)
"""The kinds that count as right."""

_COMPARED_BY_PYTHON: Final[frozenset[type]] = frozenset({str, int, float, type(None), bytes})
_RULED: Final[tuple[tuple[RuleName, tuple[type, ...]], ...]] = (
    ("tolerance", (float, Decimal)),
    ("boolean_as_number", (bool,)),
    ("date_as_timestamp", (date,)),
    ("date_as_text", (date, time)),
    ("uuid_as_text", (UUID,)),
)
"""Types without which a rule changes nothing; a datetime is a date to Python."""
_UNRULED: Final[frozenset[type]] = frozenset({str, int, bytes, type(None)})
"""Types whose cells are equal only when they are identical, as long as there are no others."""
_FLAT: Final = (str, bytes, int, float, Decimal, date, time, timedelta, UUID, type(None))


@dataclass(frozen=True, slots=True)
class ResultVerdict:
    """The result of comparing two results.

    Args:
        kind: stable, for programs.
        right: whether the prediction counts as right.
        title: the kind, for people.
        reason: one sentence with the first difference by row, column and value.
        flags: what else holds: other kinds in the precedence's order, the rules of `CellEquality` without which the
            results would not be equal (`boolean_as_number` ...), `order_unchecked` (rows differ, so order was not
            looked at), `keys_unknown` (ties could not be told, order was compared strictly), `limit_unchecked` (the
            LIMIT may cut a tie; what it left out is not known), `limit_tie` (another choice at the LIMIT),
            `widths_differ`, `columns_undecided` (the search for columns ended at its budget); of scorers that run the
            reference also `reference_not_unique`, and the `order_doubts` of a wrong verdict.
        differences: plain JSON: `missing` and `extra`, up to 5 rows each with their 1-based numbers, `missing_rows` and
            `extra_rows`, how many there are, and `columns`, for each column of the reference the 1-based one of the
            prediction, or None.
        alignment: the columns and all rows that differ, by position; None where the results agree or there is none.
    """

    kind: VerdictKind
    right: bool
    title: str
    reason: str
    flags: tuple[str, ...] = ()
    differences: Mapping[str, Any] = field(default_factory=dict)
    alignment: ColumnAlignment | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """A way in which two results agree.

    Args:
        columns: the prediction's column for each of the reference's; the other way round where it has fewer.
        order: how the order agrees.
        rules: those of `CellEquality` without which the results do not agree.
    """

    columns: tuple[int, ...]
    order: Literal["in_place", "ties", "limit_tie", "wrong"]
    rules: tuple[RuleName, ...] = ()


def judge(  # noqa: PLR0913  # two results, what tells the reference's order, and two settings
    reference: ResultTable,
    prediction: ResultTable,
    *,
    ordering: Ordering | None = None,
    keyed: ResultTable | None = None,
    unlimited: ResultTable | None = None,
    limits: SqlLimits = SqlLimits(),
    equality: CellEquality = CellEquality(),
) -> ResultVerdict:
    """Compare what a prediction returned with what the reference returned, within limits.

    A prediction of more cells than `limits` allows is wrong, `too_large`.

    Args:
        reference: the reference's result.
        prediction: the prediction's.
        ordering: as for `compare_results`.
        keyed: likewise.
        unlimited: likewise.
        limits: `max_cells` of each result, and `compare_timeout_s` unless the caller spends an `Effort` already.
        equality: which cells are equal without being identical.

    Raises:
        ComparisonStop: the reference is too large, or comparing took too long: there is no verdict on the prediction.

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
        return compare_results(
            reference, prediction, ordering=ordering, keyed=keyed, unlimited=unlimited, equality=equality
        )


def compare_results(
    reference: ResultTable,
    prediction: ResultTable,
    *,
    ordering: Ordering | None = None,
    keyed: ResultTable | None = None,
    unlimited: ResultTable | None = None,
    equality: CellEquality = CellEquality(),
) -> ResultVerdict:
    """Compare what a prediction returned with what the reference returned.

    Args:
        reference: the reference's result.
        prediction: the prediction's.
        ordering: how the reference orders its rows (`ordering_of`); None: it does not.
        keyed: the result of `ordering.keyed_query`.
        unlimited: the result of `ordering.unlimited_query`; without an ordering, of the reference without its LIMIT,
            which may return any of these rows.
        equality: which cells are equal without being identical.

    >>> compare_results(ResultTable(("a",), [(True,)]), ResultTable(("a",), [(1,)])).kind
    'equal_by_rule'
    """
    if not reference.rows and not prediction.rows:
        return _both_empty(reference, prediction)
    pair = _ResultPair(reference, prediction, equality)
    if _plainly_same(reference, prediction, ordered=ordering is not None):
        return _agreeing(pair, _Agreement(tuple(range(len(reference.columns))), "in_place"), ())
    window = None if unlimited is None else any_rows(reference, unlimited)
    if ordering is not None:
        window = window_of(reference, ordering, keyed, unlimited, equality=equality)
    flags = window.flags if window is not None else ()
    agreement = _agreement(pair, window)
    if agreement is not None:
        return _agreeing(pair, agreement, flags)
    return _differing(pair, (*flags, *(("order_unchecked",) if ordering is not None else ())))


@dataclass(frozen=True)
class _ResultPair:
    """The two results and which of their cells are equal."""

    reference: ResultTable
    prediction: ResultTable
    equality: CellEquality

    @cached_property
    def tables(self) -> NumberedTables:
        """Both as numbers, equal numbers for equal cells."""
        return NumberedTables(self.reference.rows, self.prediction.rows, equality=self.equality)

    @property
    def numbered(self) -> list[list[tuple[int, ...]]]:
        """The rows of both as numbers."""
        return self.tables.rows

    @property
    def widths(self) -> tuple[int, int]:
        return len(self.reference.columns), len(self.prediction.columns)


def verdict_of_failure(failure: SqlFailure) -> ResultVerdict:
    """Return the verdict on a prediction whose query failed.

    >>> verdict_of_failure(SqlFailure("error", "no such table: t")).kind
    'engine_error'
    """
    kind: VerdictKind = "engine_error" if failure.kind == "error" else failure.kind
    part = "" if failure.part == "query" else f" in the {failure.part}"
    message = printable(failure.message[:300]).removeprefix("denied: ")
    return ResultVerdict(kind, right=False, title=TITLES[kind], reason=f"{TITLES[kind]}{part}: {message}")


def _both_empty(reference: ResultTable, prediction: ResultTable) -> ResultVerdict:
    same = len(reference.columns) == len(prediction.columns)
    reason = "neither returned a row, which proves little"
    flags = ("both_empty",) if same else ("both_empty", "widths_differ")
    return ResultVerdict("both_empty", right=True, title=TITLES["both_empty"], reason=reason, flags=flags)


def _plainly_same(reference: ResultTable, prediction: ResultTable, *, ordered: bool) -> bool:
    """Whether Python's own equality, which is quick, sees the same rows and sees what ours does."""
    reference_rows, prediction_rows = list(reference.rows), list(prediction.rows)
    if len(reference_rows) != len(prediction_rows) or len(reference.columns) != len(prediction.columns):
        return False
    if not (_simple(reference_rows) and _simple(prediction_rows)):
        return False
    # Adding up hashes costs half of counting, and tells nearly always.
    return reference_rows == prediction_rows or (
        not ordered
        and sum(map(hash, reference_rows)) == sum(map(hash, prediction_rows))
        and Counter(reference_rows) == Counter(prediction_rows)
    )


def _simple(rows: Sequence[Sequence[Any]]) -> bool:
    return set(map(type, chain.from_iterable(rows))) <= _COMPARED_BY_PYTHON


def _agreement(pair: _ResultPair, window: TieGroups | None) -> _Agreement | None:
    """The best way in which the results agree: exactly before by a rule, in order before out of it."""
    if len(pair.reference.rows) != len(pair.prediction.rows):
        return None
    exact = _agreement_by(replace(pair, equality=EXACT), window)
    rules = _rules_in_question(pair)
    if not rules or (exact is not None and exact.order != "wrong"):
        return exact
    by_rules = _agreement_by(pair, window)
    if by_rules is None or (exact is not None and by_rules.order == "wrong"):
        return exact
    return replace(by_rules, rules=_needed(pair, window, by_rules, rules))


def _rules_in_question(pair: _ResultPair) -> tuple[RuleName, ...]:
    """The rules that are switched on and may make two cells of these types equal."""
    kinds = set(map(type, chain.from_iterable(chain(pair.reference.rows, pair.prediction.rows))))
    if kinds <= _UNRULED:
        return ()
    # What is nested, or of a type of numpy's or the user's, may stand for any.
    unknown = any(not issubclass(kind, _FLAT) for kind in kinds)
    present = {name for name, types in _RULED if unknown or any(issubclass(kind, types) for kind in kinds)}
    return tuple(name for name in pair.equality.rules() if name in present)


def _needed(
    pair: _ResultPair, window: TieGroups | None, agreement: _Agreement, rules: Sequence[RuleName]
) -> tuple[RuleName, ...]:
    """The rules without which the results would not agree as well; all of them where each alone can be left out."""
    if len(rules) == 1:
        return tuple(rules)

    def fails_without(rule: RuleName) -> bool:
        off: dict[str, Any] = {rule: 0.0 if rule == "tolerance" else False}
        without = _agreement_by(replace(pair, equality=replace(pair.equality, **off)), window)
        return without is None or (without.order == "wrong" and agreement.order != "wrong")

    return tuple(rule for rule in rules if fails_without(rule)) or tuple(rules)


def _agreement_by(pair: _ResultPair, window: TieGroups | None) -> _Agreement | None:
    """How the results agree by keys that hold equal cells only, else by keys of chains, if the cells confirm it."""
    source = window.source if window is not None else {}
    tables = pair.tables
    if source:
        tables = NumberedTables(pair.reference.rows, pair.prediction.rows, *source.values(), equality=pair.equality)
    agreement = _agreement_of(tables.rows, window, pair.widths)
    if agreement is not None and agreement.order != "wrong":
        return agreement
    chained = tables.chained()
    if chained is None:
        return agreement
    # A choice at the LIMIT is not looked for by chains: it has no pairs of rows to be compared.
    candidates = _candidates(chained[0], chained[1], window, swapped=pair.widths[0] > pair.widths[1])
    return next((candidate for candidate in candidates if _borne_out(pair, chained, candidate, window)), agreement)


def _agreement_of(
    tables: Sequence[Sequence[tuple[int, ...]]], window: TieGroups | None, widths: tuple[int, int]
) -> _Agreement | None:
    reference_rows, prediction_rows, *further = tables
    swapped = widths[0] > widths[1]
    first, second = (prediction_rows, reference_rows) if swapped else (reference_rows, prediction_rows)
    if window is not None:
        columns, order = match_in_order(first, second, window)
        if columns is not None:
            return _Agreement(columns, "ties" if order == "ties" else "in_place")
        source = window.source
        chosen = (
            choose_columns(prediction_rows, window, dict(zip(source, further, strict=True)), reference_rows)
            if source
            else None
        )
        if chosen is not None:
            return _Agreement(tuple(chosen), "limit_tie")
    columns = match_columns(first, second).columns
    return _Agreement(columns, "in_place" if window is None else "wrong") if columns is not None else None


def _candidates(reference: Rows, prediction: Rows, window: TieGroups | None, *, swapped: bool) -> Iterator[_Agreement]:
    """The ways in which the results may agree, the best first."""
    first, second = (prediction, reference) if swapped else (reference, prediction)
    ways: list[tuple[Literal["in_place", "ties", "wrong"], Sequence[int] | None]] = [("in_place", None)]
    if window is not None:
        ways = [("in_place", range(len(reference))), ("ties", window.groups), ("wrong", None)]
    for order, groups in ways:
        columns = match_columns(first, second, groups=groups).columns
        if columns is not None:
            yield _Agreement(columns, order)


def _borne_out(pair: _ResultPair, chained: Sequence[Rows], agreement: _Agreement, window: TieGroups | None) -> bool:
    """Whether the rows of both, which agree by chains, can be paired so that each two cells are equal by the rule."""
    groups: Sequence[int] = [0] * len(chained[0])
    if window is not None and agreement.order != "wrong":
        groups = window.groups if agreement.order == "ties" else range(len(chained[0]))
    pairs = _pairs(agreement, swapped=pair.widths[0] > pair.widths[1])
    sides = []
    for side, rows, keys in ((0, pair.reference.rows, chained[0]), (1, pair.prediction.rows, chained[1])):
        columns = [column_pair[side] for column_pair in pairs]
        cells = [tuple(row[column] for column in columns) for row in rows]
        sides.append((cells, list(zip(groups, project(keys, columns), strict=True))))
    return rows_match(sides[0], sides[1], pair.equality)


def _agreeing(pair: _ResultPair, agreement: _Agreement, flags: tuple[str, ...]) -> ResultVerdict:
    """The verdict where the same rows are there, perhaps with more or fewer columns, or in a wrong order."""
    narrow, wide = pair.widths
    holding = _holding(agreement, missing=narrow > wide, extra=wide > narrow)
    kind = holding[0]
    words = Wording(
        pair.reference, pair.prediction, _pairs(agreement, swapped=narrow > wide), pair.equality, agreement.rules
    )
    differences: dict[str, Any] = {"columns": words.columns()}
    if kind == "same_but_order":
        differences |= words.moved_rows()
    # The tolerance is a kind of its own.
    rules = [rule for rule in agreement.rules if rule != "tolerance"]
    all_flags = (*holding[1:], *rules, *(("limit_tie",) if agreement.order == "limit_tie" else ()), *flags)
    reason = words.agreeing(kind, order=agreement.order)
    right = kind in RIGHT
    return ResultVerdict(
        kind, right, TITLES[kind], reason, all_flags, differences, None if right else words.alignment()
    )


def _holding(agreement: _Agreement, *, missing: bool, extra: bool) -> list[VerdictKind]:
    """The kinds that hold, in their precedence."""
    permuted = list(agreement.columns) != sorted(agreement.columns)
    kinds: list[tuple[bool, VerdictKind]] = [
        (missing, "columns_missing"),
        (extra, "columns_extra"),
        (agreement.order == "wrong", "same_but_order"),
        ("tolerance" in agreement.rules, "within_tolerance"),
        (any(rule != "tolerance" for rule in agreement.rules), "equal_by_rule"),
        (permuted, "columns_permuted"),
        (agreement.order in {"ties", "limit_tie"}, "same_up_to_ties"),
    ]
    return [kind for holds, kind in kinds if holds] or ["same"]


def _pairs(agreement: _Agreement, *, swapped: bool) -> tuple[tuple[int, int], ...]:
    pairs = enumerate(agreement.columns)
    return tuple(sorted((right, left) for left, right in pairs)) if swapped else tuple(pairs)


def _differing(pair: _ResultPair, flags: tuple[str, ...]) -> ResultVerdict:
    """The verdict where rows differ however the columns are aligned."""
    reference_rows: Rows
    reference_rows, prediction_rows = pair.numbered
    widths = pair.widths
    aligned = align(reference_rows, prediction_rows, widths)
    kind = _kind_of(aligned)
    notes = [
        (widths[0] != widths[1], "widths_differ"),
        (widths[0] > widths[1], "columns_missing"),
        (widths[0] < widths[1], "columns_extra"),
        (any(left != right for left, right in aligned.columns), "columns_permuted"),
        (
            not match_columns(*(pair.numbered[::-1] if widths[0] > widths[1] else pair.numbered)).decided,
            "columns_undecided",
        ),
    ]
    words = Wording(pair.reference, pair.prediction, aligned.columns, pair.equality)
    differences = {"columns": words.columns(), **words.differing_rows(aligned)}
    all_flags = (*(note for holds, note in notes if holds), *flags)
    return ResultVerdict(
        kind,
        right=False,
        title=TITLES[kind],
        reason=words.differing(kind, aligned, (reference_rows, prediction_rows)),
        flags=all_flags,
        differences=differences,
        alignment=aligned,
    )


def _kind_of(aligned: ColumnAlignment) -> VerdictKind:
    if aligned.same_sets and (aligned.missing or aligned.extra):
        return "duplicates_differ"
    if not aligned.extra and aligned.missing:
        return "rows_missing"
    return "rows_extra" if not aligned.missing and aligned.extra else "rows_differ"
