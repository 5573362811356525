"""Decides when two cells of two results are equal.

Two cells are equal when they are equal by type:

    NULL            equals NULL and nothing else
    truth values    a type of their own: true is not 1
    numbers         one type (int, float, Decimal, numpy's): 1 equals 1.0. Whole numbers (int, and Decimal without a
                    fraction) compare exactly with each other, however long; all else compares at 9 significant
                    digits, as in f"{x:.8e}", of what they are at 15: two ways to add up 12345678.95 differ in the
                    last bit, and would else be rounded apart. NaN equals NaN, -0.0 equals 0, infinities themselves
    texts           character by character: no case, blank or Unicode folding; "1" is not 1
    bytes, dates, times, datetimes, intervals, UUIDs    by type and value: a date is not a datetime
    lists, dicts    by their parts; a dict's order does not count, a tuple is a list

"9 digits when a float takes part" is no equivalence: two ids of ten digits differ, and one float can equal both. So the
keys of several tables are made together: whole numbers of more than 9 digits share a key only where a float that equals
both of them does occur in one of the tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import chain, count, islice
from operator import itemgetter, ne
from typing import Any, Final
from uuid import UUID

from steelyard.sql.extent import check_time
from steelyard.sql.results import plain_cell

_WHOLE: Final = 10**9
"""Whole numbers below it have at most 9 digits, so their 9 digits are the number itself."""

_LARGE: Final = 999_999_999.0
"""A float must be above it to round to 1e9 or more."""

_MOST_DIGITS: Final = 1000
"""Whole Decimals of more digits are compared at 9 of them: 1E+999999 is not written out."""

_NINE_DIGITS: Final = Context(prec=9, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])
_PLAIN: Final[frozenset[type]] = frozenset({str, int, type(None), bytes})
"""Cells of these types are their own keys, long whole numbers apart: Python's equality is ours."""
_ONE_NUMBER: Final[frozenset[type]] = frozenset({float, *_PLAIN})
"""Types whose cells, NaN apart, are equal in Python only when their keys are: not bool, of which True equals 1."""

_NAN: Final = ("nan",)
_DATED: Final = (datetime, date, time, timedelta, UUID)
"""A datetime is a date to Python, so it stands first."""

_INEXACT_APART: Final[frozenset[type]] = frozenset({*_PLAIN, bool, *_DATED})
"""Types that hold no number but whole ones."""
_SIMPLE: Final[frozenset[type]] = frozenset({float, *_INEXACT_APART})
"""Types that hold no number within."""

_FEW_FLOATS: Final = 200
"""Writing so many out takes as long as finding out which need it."""
_NEAR: Final = 2e-8
"""Twice the largest relative distance of two floats with the same 9 digits, for what rounding adds."""
_HUGE: Final = 1e300
_TINY: Final = 1e-290


def intern_tables(*tables: Sequence[Sequence[Any]], exact: bool = False) -> list[list[tuple[int, ...]]]:
    """Rows of small numbers, one for each cell, such that two cells are equal where their numbers are.

    The tables share one vocabulary. Rows may be of different widths. Linear in cells, sorting distinct floats
    apart: two tables of 100,000 rows and 5 columns take about half a second, of distinct floats alone one second.

    Args:
        tables: rows of cells, of one or more tables.
        exact: floats are equal only when they are the same number, and so are all other numbers: 0.1 + 0.2 is not 0.3.

    >>> intern_tables([(1, "a", None)], [(1.0, "A", None), (True, "a", float("nan"))])
    [[(0, 1, 2)], [(0, 4, 2), (3, 1, 5)]]
    >>> intern_tables([(0.3,)], [(0.1 + 0.2,)]), intern_tables([(0.3,)], [(0.1 + 0.2,)], exact=True)
    ([[(0,)], [(0,)]], [[(0,)], [(1,)]])
    >>> intern_tables([(12345678901,), (12345678902,)])
    [[(0,), (1,)]]
    >>> intern_tables([(12345678901,), (12345678902,)], [(1.23456789e10,)])
    [[(0,), (0,)], [(0,)]]
    """
    blocks = [_block_of(rows) for rows in tables]
    check_time()
    lexicon = _Lexicon([column for columns, _ in blocks for column in columns], exact=exact)
    return [rebuild([lexicon.numbers(column) for column in columns]) for columns, rebuild in blocks]


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


class _Vocabulary(dict[Hashable, int]):
    """Key -> number, in the order in which keys are first asked for; a cell of a plain type is its own key."""

    def __init__(self, large: frozenset[float | Decimal]) -> None:
        super().__init__()
        self._large = large

    def __missing__(self, key: Hashable) -> int:
        if type(key) is int and not -_WHOLE < key < _WHOLE:
            rounded = _rounded(key)
            if rounded in self._large:
                number = self[key] = self[rounded]
                return number
        number = self[key] = len(self)
        return number


class _Seen(dict[Any, int]):
    """Cell -> number of its key, for cells of which no two are equal in Python unless their keys are."""

    def __init__(self, number: Callable[[Any], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, cell: Any) -> int:
        number = self[cell] = self._number(cell)
        return number


class _Lexicon:
    """Numbers the cells of several tables.

    Args:
        columns: all that are to be numbered.
        exact: numbers are equal only when they are the same number.
    """

    def __init__(self, columns: _Columns, *, exact: bool) -> None:
        self._exact = exact
        kinds = [frozenset(map(type, column)) for column in columns]
        inexact = [pair for pair in zip(columns, kinds, strict=True) if not pair[1] <= _INEXACT_APART]
        self._simple = all(own <= _SIMPLE for own in kinds)
        self._roundings = {} if exact or not inexact else _roundings(columns, kinds, simple=self._simple)
        large = frozenset() if exact else frozenset(_large(self._roundings.values(), inexact))
        self._vocabulary: dict[Hashable, int] = _Vocabulary(large) if large else defaultdict(count().__next__)
        self._seen = _Seen(self.number)

    def numbers(self, column: Sequence[Any]) -> list[int]:
        """The number of each cell."""
        check_time()
        kinds = set(map(type, column))
        if kinds <= _PLAIN:
            return list(map(self._vocabulary.__getitem__, column))
        if kinds <= _ONE_NUMBER and not (float in kinds and any(map(ne, column, column))):
            keys = map(self._roundings.get, column, column) if self._roundings else column
            return list(map(self._vocabulary.__getitem__, keys))
        if kinds <= _INEXACT_APART and int not in kinds:
            return list(map(self._seen.__getitem__, column))
        return [self._vocabulary[cell] if type(cell) in _PLAIN else self.number(cell) for cell in column]

    def number(self, cell: Any) -> int:
        """The number of one cell of any type."""
        key = self._number_key(cell) if type(cell) is float else self._key(cell)
        return self._vocabulary[key]

    def _key(self, cell: Any) -> Hashable:
        """What stands for the cell: a text, bytes, None or number itself, a tuple for every other type."""
        cell = plain_cell(cell)
        if cell is None or isinstance(cell, str | bytes):
            return cell
        if isinstance(cell, bool):
            return ("truth", cell)
        if isinstance(cell, int | float | Decimal):
            return self._number_key(cell)
        if isinstance(cell, list | tuple | Mapping | set | frozenset):
            return ("nested", *self._parts(cell))
        return next(((kind.__name__, cell) for kind in _DATED if isinstance(cell, kind)), None) or _foreign(cell)

    def _number_key(self, number: float | Decimal) -> Hashable:
        if number.is_nan() if isinstance(number, Decimal) else number != number:  # noqa: PLR0124
            return _NAN
        if self._exact:
            return number
        if self._simple and type(number) is float:
            return self._roundings.get(number, number)
        if isinstance(number, Decimal) and number.adjusted() < _MOST_DIGITS and _is_whole(number):
            number = int(number)
        return number if isinstance(number, int) else _rounded(number)

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
                if _PLAIN.issuperset(map(type, part)):
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


def _rounded(number: float | Decimal) -> float | Decimal:
    """The number at 9 significant digits as a float, which holds them all; a Decimal where no float is so large."""
    try:
        as_float = float(number)
    except OverflowError:  # a long whole number
        return _NINE_DIGITS.create_decimal(number)
    if math.isinf(as_float) and not (isinstance(number, float) or number.is_infinite()):
        return _NINE_DIGITS.create_decimal(number)
    return _float_rounded(as_float)


def _float_rounded(number: float) -> float:
    fifteen = float(f"{number:.14e}")
    # The largest floats are no number any more at 15 digits.
    return float(f"{fifteen if math.isfinite(fifteen) else number:.8e}")


def _roundings(columns: _Columns, kinds: Sequence[frozenset[type]], *, simple: bool) -> dict[float, float]:
    """Float -> the same at 9 digits, for all floats that may equal another number without being the same.

    A float that stands alone is its own key, which saves writing it out: distinct floats are far apart nearly always.
    Unless the columns are `simple`, what they hold is not known well enough, and all floats are rounded.
    """
    floats = [
        cell
        for column, own in zip(columns, kinds, strict=True)
        if float in own
        for cell in (column if len(own) == 1 else [value for value in column if type(value) is float])
    ]
    if len(floats) < _FEW_FLOATS or not simple:
        return {cell: _float_rounded(cell) for cell in set(floats) if cell == cell}  # noqa: PLR0124 - NaN differs
    with_integers = any(int in own for own in kinds)
    return {cell: _float_rounded(cell) for cell in _close(floats, with_integers=with_integers)}


def _close(floats: Sequence[float], *, with_integers: bool) -> list[float]:
    """Which of the floats may be equal to another one, or `with_integers` to an integer, at 9 digits."""
    import numpy as np

    distinct = np.unique(np.array(floats))
    distinct = distinct[np.isfinite(distinct)]
    size = np.abs(distinct)
    # Neighbours of 9 digits are at most 1e-8 of their size apart, and what rounds to one of them lies between.
    near = np.diff(distinct) <= _NEAR * np.maximum(size[:-1], size[1:])
    # Near the ends of the range the bound itself would overflow or vanish.
    close = (size > _HUGE) | (size < _TINY)
    close[:-1] |= near
    close[1:] |= near
    if with_integers:
        nearest = np.rint(distinct)
        close |= (np.abs(distinct - nearest) <= _NEAR * size) & ((distinct != nearest) | (size >= _WHOLE))
    candidates: list[float] = distinct[close].tolist()
    return candidates


def _large(
    roundings: Iterable[float], inexact: Iterable[tuple[Sequence[Any], frozenset[type]]]
) -> Iterator[float | Decimal]:
    """The roundings of what is no whole number of an exact type, as far as they are 1e9 or more."""
    yield from (number for number in roundings if not -_WHOLE < number < _WHOLE)
    for column, kinds in inexact:
        if not kinds <= _SIMPLE:
            numbers = (cell for cell in _inexact(column) if cell == cell)  # noqa: PLR0124 - NaN is unequal to itself
            yield from (_rounded(cell) for cell in numbers if not -_LARGE < cell < _LARGE)


def _inexact(column: Sequence[Any]) -> Iterator[float | Decimal]:
    """Floats and fractions in a column, those within nested cells too."""
    waiting = [cell for cell in column if type(cell) not in _PLAIN]
    while waiting:
        cell = plain_cell(waiting.pop())
        if isinstance(cell, Mapping):
            waiting.extend(part for part in chain(cell.keys(), cell.values()) if type(part) not in _PLAIN)
        elif isinstance(cell, list | tuple | set | frozenset):
            check_time()
            waiting.extend(part for part in cell if type(part) not in _PLAIN)
        elif isinstance(cell, float) or (isinstance(cell, Decimal) and not cell.is_nan() and not _is_whole(cell)):
            yield cell


def _is_whole(number: Decimal) -> bool:
    return number.is_finite() and number == number.to_integral_value()
