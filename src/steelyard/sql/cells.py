"""Numbers the cells of several tables, so that cells that are equal by `steelyard.sql.equality` get equal numbers.

Comparing tables cell by cell takes as many comparisons as there are pairs of rows; with a number for each cell, a row
is a tuple of small numbers that can be hashed, counted and sorted. The rule is not an equivalence: one text can be
equal to a date, a float to two others that differ. So the tables are numbered together. Numbers of one key are all
equal to each other, but two that are equal may have two keys, where a third is near them; `NumberedTables.chained`
joins these, for callers that compare the cells themselves afterwards.

Keys that join a chain of equal numbers find candidates: 1, 1 + e and 1 + 2e have one key, but 1 differs from 1 + 2e.
`rows_match` pairs rows of one key so that each two cells are equal by the rule itself, as a matching in a bipartite
graph (H. W. Kuhn's augmenting paths), after two quick checks: sorted rows side by side, which nearly always are a
pairing; and each column sorted alone: where these differ, there is no pairing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import chain, count, islice
from operator import itemgetter, ne
from typing import Any, Final
from uuid import UUID

from steelyard.sql.equality import CellEquality, Number, key_of_text, numbers_equal, plain_number, typed_key
from steelyard.sql.extent import check_time
from steelyard.sql.near_numbers import near_numbers, split_chains
from steelyard.sql.results import plain_cell

_NAN: Final = ("nan",)
_TYPED: Final = (date, time, UUID)
"""Types that may equal a text; a datetime is a date to Python."""

_PLAIN: Final[frozenset[type]] = frozenset({str, int, type(None), bytes})
"""Cells of these types are their own keys: Python's equality is ours, unless a number or a typed cell is near them."""
_ONE_NUMBER: Final[frozenset[type]] = frozenset({float, *_PLAIN})
"""Types whose cells, NaN apart, are equal in Python only when their keys are: not bool, of which True equals 1."""
_TEXTS: Final[frozenset[type]] = frozenset({str, bytes, type(None)})
_NUMBERS: Final[frozenset[type]] = frozenset({int, float, bool, Decimal})
_TYPED_KINDS: Final[frozenset[type]] = frozenset({*_TYPED, datetime})
_KNOWN: Final[frozenset[type]] = frozenset({*_TEXTS, *_NUMBERS, *_TYPED_KINDS, timedelta})
"""Types whose cells hold no further cells."""
_SEEN: Final[frozenset[type]] = frozenset({*_TEXTS, bool, *_TYPED, datetime, timedelta})
"""Types of which two cells that are equal in Python are equal here too, so that each key is made once."""


def intern_tables(
    *tables: Sequence[Sequence[Any]], equality: CellEquality = CellEquality()
) -> list[list[tuple[int, ...]]]:
    """Return rows of small numbers, one for each cell, such that two cells are equal where their numbers are.

    The tables share one vocabulary. Rows may be of different widths. Linear in cells, sorting distinct floats
    apart: two tables of 100,000 rows and 5 columns take about half a second, of distinct floats alone one second.

    Args:
        tables: rows of cells, of one or more tables.
        equality: which cells are equal without being identical.

    >>> intern_tables([(1, "a", None)], [(1.0, "A", None), (True, "b", float("nan"))])
    [[(0, 1, 2)], [(0, 3, 2), (0, 4, 5)]]
    >>> from steelyard.sql.equality import EXACT
    >>> intern_tables([(0.3,)], [(0.1 + 0.2,)]), intern_tables([(0.3,)], [(0.1 + 0.2,)], equality=EXACT)
    ([[(0,)], [(0,)]], [[(0,)], [(1,)]])
    >>> intern_tables([(12345678901,), (12345678902,)], [(12345678901.0,), (12345678901.5,)])
    [[(0,), (1,)], [(0,), (2,)]]
    """
    return NumberedTables(*tables, equality=equality).rows


def cells_equal(first: Any, second: Any, equality: CellEquality = CellEquality()) -> bool:
    """Whether two cells are equal by the rule, without regard to other cells.

    >>> cells_equal(True, 1), cells_equal(True, 1, CellEquality(boolean_as_number=False)), cells_equal(None, "")
    (True, False, False)
    """
    [[(left,), (right,)]] = intern_tables([(first,), (second,)], equality=equality)
    return left == right


class NumberedTables:
    """Tables in small numbers, see `intern_tables`.

    Attributes:
        rows: the rows of each table; cells of one number are equal.

    Args:
        tables: rows of cells, of one or more tables.
        equality: which cells are equal without being identical.
    """

    def __init__(self, *tables: Sequence[Sequence[Any]], equality: CellEquality) -> None:
        self._blocks = [_block_of(rows) for rows in tables]
        check_time()
        self._lexicon = _Lexicon([column for columns, _ in self._blocks for column in columns], equality)
        self.rows = self._numbered(self._lexicon)

    def chained(self) -> list[list[tuple[int, ...]]] | None:
        """The rows with one number for all that a chain of equal cells joins; None where that changes nothing."""
        lexicon = self._lexicon.chained()
        return None if lexicon is None else self._numbered(lexicon)

    def _numbered(self, lexicon: _Lexicon) -> list[list[tuple[int, ...]]]:
        return [rebuild([lexicon.numbers(column) for column in columns]) for columns, rebuild in self._blocks]


_Columns = Sequence[Sequence[Any]]
_Rebuild = Callable[[Sequence[Sequence[int]]], list[tuple[int, ...]]]


def _block_of(rows: Sequence[Sequence[Any]]) -> tuple[_Columns, _Rebuild]:
    """The columns of a table and the way back to its rows; ragged rows are one long column."""
    widths = [len(row) for row in rows]
    if len(set(widths)) == 1 and widths[0]:
        return list(zip(*rows, strict=True)), lambda columns: list(zip(*columns, strict=True))

    def rows_again(columns: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        cells = iter(columns[0])
        return [tuple(islice(cells, width)) for width in widths]

    return [list(chain.from_iterable(rows))], rows_again


class _Lexicon:
    """Numbers the cells of several tables.

    Args:
        columns: all that are to be numbered.
        equality: which cells are equal without being identical.
    """

    def __init__(self, columns: _Columns, equality: CellEquality) -> None:
        self._equality = equality
        leaves = _Leaves(columns, equality)
        self._typed = leaves.typed_keys()
        self._chains, aliases = leaves.near_numbers()
        self._begin(aliases)

    def _begin(self, aliases: Mapping[Number, Number]) -> None:
        self._aliases = aliases
        self._integers_join = any(isinstance(number, int) for number in aliases)
        self._vocabulary: dict[Hashable, int] = defaultdict(count().__next__)
        self._seen = cache(self.number)

    def chained(self) -> _Lexicon | None:
        """A lexicon of chains, or None where each chain's numbers are all equal to each other."""
        if self._chains == self._aliases:
            return None
        lexicon = copy(self)
        lexicon._begin(self._chains)  # noqa: SLF001 - its own class
        return lexicon

    def numbers(self, column: Sequence[Any]) -> list[int]:
        """Return the number of each cell."""
        check_time()
        kinds = set(map(type, column))
        joined = (str in kinds and self._typed) or (int in kinds and self._integers_join)
        if kinds <= _PLAIN and not joined:
            return list(map(self._vocabulary.__getitem__, column))
        if kinds <= _ONE_NUMBER and not (str in kinds and self._typed):
            if not (float in kinds and any(map(ne, column, column))):
                keys = map(self._aliases.get, column, column) if self._aliases else column
                return list(map(self._vocabulary.__getitem__, keys))
        elif kinds <= _SEEN:
            return list(map(self._seen, column))
        return list(map(self.number, column))

    def number(self, cell: Any) -> int:
        """Return the number of one cell of any type."""
        return self._vocabulary[self._key(cell)]

    def _key(self, cell: Any) -> Hashable:
        """A key of the cell: a text, bytes, None or number itself, a tuple for every other type."""
        cell = plain_cell(cell)
        if cell is None or isinstance(cell, bytes):
            return cell
        if isinstance(cell, str):
            return self._text_key(cell) if self._typed else cell
        if isinstance(cell, bool) and not self._equality.boolean_as_number:
            return ("truth", cell)
        if isinstance(cell, int | float | Decimal):
            return self._number_key(int(cell) if isinstance(cell, bool) else cell)
        return self._key_of_other(cell)

    def _key_of_other(self, cell: Any) -> Hashable:
        if isinstance(cell, list | tuple | Mapping | set | frozenset):
            return ("nested", *self._parts(cell))
        if isinstance(cell, _TYPED):
            return typed_key(cell, self._equality)
        return ("timedelta", cell) if isinstance(cell, timedelta) else _foreign(cell)

    def _text_key(self, text: str) -> Hashable:
        """The key of a date, time or UUID that occurs in one of the tables; else the text itself."""
        key = key_of_text(text, self._equality)
        return key if key in self._typed else text

    def _number_key(self, number: Number) -> Hashable:
        number = plain_number(number)
        if number != number:  # noqa: PLR0124 - NaN is unequal to itself
            return _NAN
        return self._aliases.get(number, number)

    def _parts(self, cell: Any) -> Iterator[Hashable]:
        """A nested cell as one flat run of keys; a stack of our own, since nesting may be deeper than Python's."""
        waiting = [cell]
        while waiting:
            check_time()
            part = plain_cell(waiting.pop())
            if isinstance(part, Mapping):
                entries = sorted(((self.number(key), value) for key, value in part.items()), key=itemgetter(0))
                yield ("dict", tuple(number for number, _ in entries))
                waiting.extend(value for _, value in reversed(entries))
            elif isinstance(part, list | tuple):
                yield ("list", len(part))
                if not self._typed and not self._aliases and _PLAIN.issuperset(map(type, part)):
                    yield from map(self._vocabulary.__getitem__, part)
                else:
                    waiting.extend(reversed(part))
            elif isinstance(part, set | frozenset):
                yield ("set", frozenset(map(self.number, part)))
            else:
                yield self.number(part)


def _foreign(cell: Any) -> Hashable:
    """The key of a value of a type that no engine of ours returns."""
    try:
        hash(cell)
    except TypeError:
        return (type(cell).__qualname__, repr(cell))
    return (type(cell), cell)


class _Leaves:
    """The numbers, dates, times and UUIDs that other cells may equal, those within nested cells too.

    Integers are equal to integers or not, and a text equals a date only where there is one; so in most tables no cell
    needs to be examined.
    """

    def __init__(self, columns: _Columns, equality: CellEquality) -> None:
        self._equality = equality
        kinds = [frozenset(map(type, column)) for column in columns]
        present = frozenset().union(*kinds)
        nested = not present <= _KNOWN
        inexact = equality.tolerance > 0 and (nested or float in present or Decimal in present)
        texts = (equality.date_as_text or equality.uuid_as_text) and (nested or str in present)
        relevant = (_NUMBERS if inexact else frozenset()) | (_TYPED_KINDS if texts else frozenset())
        self._numbers: list[Any] = []
        self._typed: set[Any] = set()
        for column, column_types in zip(columns, kinds, strict=True):
            if not column_types <= _KNOWN:
                self._add_nested(column)
            elif not relevant.isdisjoint(column_types):
                self._numbers += (
                    column if column_types <= _NUMBERS else [cell for cell in column if type(cell) in _NUMBERS]
                )
                self._typed.update(() if column_types <= _NUMBERS else (c for c in column if type(c) in _TYPED_KINDS))

    def _add_nested(self, column: Sequence[Any]) -> None:
        waiting = [cell for cell in column if type(cell) not in _TEXTS]
        while waiting:
            cell = plain_cell(waiting.pop())
            if isinstance(cell, Mapping):
                waiting.extend(part for part in chain(cell.keys(), cell.values()) if type(part) not in _TEXTS)
            elif isinstance(cell, list | tuple | set | frozenset):
                check_time()
                waiting.extend(part for part in cell if type(part) not in _TEXTS)
            elif isinstance(cell, int | float | Decimal):
                self._numbers.append(cell)
            elif isinstance(cell, _TYPED):
                self._typed.add(cell)

    def typed_keys(self) -> frozenset[Hashable]:
        """Keys of the dates, times and UUIDs that a text may equal."""
        if not (self._equality.date_as_text or self._equality.uuid_as_text):
            return frozenset()
        return frozenset(typed_key(cell, self._equality) for cell in self._typed)

    def near_numbers(self) -> tuple[dict[Number, Number], dict[Number, Number]]:
        """Number -> its representative, for all numbers that equal another one: by chains, and with these split."""
        if not self._equality.tolerance:
            return {}, {}
        numbers = [
            cell if type(cell) is float else plain_number(cell)
            for cell in self._numbers
            if isinstance(cell, float | Decimal)
        ]
        inexact = [number for number in numbers if not isinstance(number, int) and number == number]  # noqa: PLR0124
        if not inexact:
            return {}, {}

        def integers() -> Iterator[int]:
            yield from (int(cell) for cell in self._numbers if self._is_integer(cell))
            yield from (number for number in numbers if isinstance(number, int))

        chains = near_numbers(inexact, integers, self._equality.tolerance)
        return chains, split_chains(chains, integers, self._equality.tolerance)

    def _is_integer(self, cell: Any) -> bool:
        return isinstance(cell, int) and (self._equality.boolean_as_number or not isinstance(cell, bool))


_MOST_PAIRS: Final = 300_000
"""Limit of pairs of rows that are compared; beyond it the rows count as different."""

Side = tuple[Sequence[tuple[Any, ...]], Sequence[Hashable]]
"""Rows of cells, columns aligned, and a key for each."""
_Row = tuple[Any, ...]


def rows_match(reference: Side, prediction: Side, equality: CellEquality) -> bool:
    """Whether each row has a partner of its own, of the same key, with each cell equal by the rule.

    Args:
        reference: its rows and their keys.
        prediction: likewise, the same keys equally often.
        equality: which cells are equal.

    >>> near, far = [(1.0,), (1.005,), (1.012,)], [(1.005,), (1.012,), (1.02,)]
    >>> rows_match((near, [0, 0, 0]), (far, [0, 0, 0]), CellEquality(tolerance=0.01))
    True
    >>> rows_match((near, [0, 0, 0]), ([(1.0,)] * 3, [0, 0, 0]), CellEquality(tolerance=0.01))
    False
    """
    left, right = _by_key(reference), _by_key(prediction)
    budget = [_MOST_PAIRS]
    return all(_paired(rows, right.get(key, []), equality, budget) for key, rows in left.items())


def _by_key(side: Side) -> dict[Hashable, list[_Row]]:
    groups: dict[Hashable, list[_Row]] = {}
    for cells, key in zip(*side, strict=True):
        groups.setdefault(key, []).append(tuple(map(_plain, cells)))
    return groups


def _plain(cell: Any) -> Any:
    cell = plain_cell(cell)
    if isinstance(cell, bool):
        return int(cell)
    return plain_number(cell) if isinstance(cell, int | float | Decimal) else cell


def _paired(left: Sequence[_Row], right: Sequence[_Row], equality: CellEquality, budget: list[int]) -> bool:
    check_time()
    if len(left) != len(right):
        return False
    numeric = [column for column in range(len(left[0])) if _comparable(left, column) and _comparable(right, column)]

    def in_order(row: _Row) -> list[Any]:
        return [row[column] for column in numeric]

    left, right = sorted(left, key=in_order), sorted(right, key=in_order)
    if all(_rows_equal(row, other, equality) for row, other in zip(left, right, strict=True)):
        return True
    if len(left) == 1 or not all(_may_agree(left, right, column, equality.tolerance) for column in numeric):
        return False
    return _Matching(left, right, equality, budget).complete()


def _comparable(rows: Sequence[_Row], column: int) -> bool:
    return all(isinstance(row[column], int | float | Decimal) and row[column] == row[column] for row in rows)


def _may_agree(left: Sequence[_Row], right: Sequence[_Row], column: int, tolerance: float) -> bool:
    """Whether the column alone can be paired by the tolerance: then its sorted numbers are such pairs."""
    pairs = zip(sorted(row[column] for row in left), sorted(row[column] for row in right), strict=True)
    return all(
        first == second
        or abs(Fraction(first) - Fraction(second))
        <= Fraction(tolerance) * Fraction(10001, 10000) * max(abs(Fraction(first)), abs(Fraction(second)))
        for first, second in pairs
    )


def _rows_equal(row: _Row, other: _Row, equality: CellEquality) -> bool:
    return all(_equal(first, second, equality) for first, second in zip(row, other, strict=True))


def _equal(first: Any, second: Any, equality: CellEquality) -> bool:
    if first is second:
        return True
    numbers = (int, float, Decimal)
    if isinstance(first, numbers) and isinstance(second, numbers) and first == first and second == second:  # noqa: PLR0124
        return numbers_equal(first, second, equality.tolerance)
    return cells_equal(first, second, equality)


class _Matching:
    """Rows of the right matched to rows of the left, one more at a time."""

    def __init__(self, left: Sequence[_Row], right: Sequence[_Row], equality: CellEquality, budget: list[int]) -> None:
        self._left, self._right, self._equality, self._budget = left, right, equality, budget
        self._edges: dict[int, list[int]] = {}
        self._partners: dict[int, int] = {}
        """Position on the right -> the one on the left."""

    def complete(self) -> bool:
        """Whether all rows find a partner."""
        return all(self._place(start) for start in range(len(self._left)))

    def _place(self, start: int) -> bool:
        """Find the row a partner by an augmenting path, breadth first."""
        check_time()
        came_from: dict[int, int] = {}
        waiting = [start]
        for row in waiting:
            for other in self._candidates(row):
                if other in came_from:
                    continue
                came_from[other] = row
                if other not in self._partners:
                    self._turn(other, came_from, start)
                    return True
                waiting.append(self._partners[other])
        return False

    def _turn(self, other: int, came_from: dict[int, int], start: int) -> None:
        position_of = {row: position for position, row in self._partners.items()} if came_from[other] != start else {}
        while True:
            row = came_from[other]
            self._partners[other] = row
            if row == start:
                return
            other = position_of[row]

    def _candidates(self, row: int) -> list[int]:
        if row not in self._edges:
            self._budget[0] -= len(self._right)
            self._edges[row] = [
                position
                for position, other in enumerate(self._right)
                if self._budget[0] >= 0 and _rows_equal(self._left[row], other, self._equality)
            ]
        return self._edges[row]
