"""Keys of cells: when two values of two results count as equal, decided once and by hash.

Two cells are equal when they are equal by type:

    NULL            equals NULL and nothing else
    truth values    a type of their own: true is not 1
    numbers         one type (int, float, Decimal, numpy's): 1 equals 1.0. Whole numbers (int, and Decimal without a
                    fraction) compare exactly with each other, however long; all else compares at 9 significant
                    digits, as in f"{x:.8e}". NaN equals NaN, -0.0 equals 0, infinities equal themselves
    texts           character by character: no case, blank or Unicode folding; "1" is not 1
    bytes, dates, times, datetimes, intervals, UUIDs    by type and value: a date is not a datetime
    lists, dicts    by their parts; a dict's order does not count, a tuple is a list

"9 digits when a float takes part" is no equivalence: two ids of ten digits differ, and one float can equal both. So the
keys of several tables are made together: whole numbers of more than 9 digits share a key only where a float that equals
both of them does occur in one of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

_WHOLE: Final = 10**9
"""Whole numbers below it have at most 9 digits, so their 9 digits are the number itself."""

_LARGE: Final = 999_999_999.0
"""A float must be above it to round to 1e9 or more."""

_MOST_DIGITS: Final = 1000
"""Whole Decimals of more digits are compared at 9 of them: 1E+999999 is not written out."""

_NINE_DIGITS: Final = Context(prec=9, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])
_PLAIN: Final[frozenset[type]] = frozenset({str, int, type(None), bytes})
"""Cells of these types are their own keys, long whole numbers apart: Python's equality is ours."""
_FLOATS_APART: Final[frozenset[type]] = frozenset({float, str, type(None), bytes})
"""Types beside which floats can be looked up by Python's equality: neither int, which equals float, nor bool."""

_ONE_NUMBER: Final[frozenset[type]] = frozenset({float, *_PLAIN})
"""Types whose cells, NaN apart, are their own keys where numbers are equal only when they are the same."""

_NAN: Final = ("nan",)
_DATED: Final = (datetime, date, time, timedelta, UUID)
"""A datetime is a date to Python, so it stands first."""


def intern_tables(*tables: Sequence[Sequence[Any]], exact: bool = False) -> list[list[tuple[int, ...]]]:
    """Rows of small numbers, one for each cell, such that two cells are equal where their numbers are.

    The tables share one vocabulary. Rows may be of different widths. Linear in cells: two
    tables of 100,000 rows and 5 columns take about half a second.

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
    large = frozenset() if exact else _large_floats(columns for columns, _ in blocks)
    lexicon = _Lexicon(large, exact=exact)
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
        if self._large and type(key) is int and not -_WHOLE < key < _WHOLE:
            rounded = _rounded(key)
            if rounded in self._large:
                number = self[key] = self[rounded]
                return number
        number = self[key] = len(self)
        return number


class _Floats(dict[Any, int]):
    """Cell -> number of its key, for cells of which no two are equal in Python unless their keys are."""

    def __init__(self, lexicon: _Lexicon, vocabulary: _Vocabulary, *, exact: bool) -> None:
        super().__init__()
        self._lexicon, self._vocabulary, self._exact = lexicon, vocabulary, exact

    def __missing__(self, cell: Any) -> int:
        if type(cell) is not float or cell != cell or self._exact:  # noqa: PLR0124 - NaN is unequal to itself
            number = self._lexicon.number(cell)
        else:
            number = self._vocabulary[float(f"{cell:.8e}")]
        self[cell] = number
        return number


class _Lexicon:
    """Numbers the cells of several tables.

    Args:
        large: roundings of the floats of 1e9 and more that occur in any of the tables.
        exact: numbers are equal only when they are the same number.
    """

    def __init__(self, large: frozenset[float | Decimal], *, exact: bool) -> None:
        self._exact = exact
        self._vocabulary = _Vocabulary(large)
        self._floats = _Floats(self, self._vocabulary, exact=exact)

    def numbers(self, column: Sequence[Any]) -> list[int]:
        """The number of each cell."""
        kinds = set(map(type, column))
        if kinds <= _PLAIN:
            return list(map(self._vocabulary.__getitem__, column))
        if self._exact and kinds <= _ONE_NUMBER and not (float in kinds and any(cell != cell for cell in column)):  # noqa: PLR0124
            return list(map(self._vocabulary.__getitem__, column))
        if kinds <= _FLOATS_APART:
            return list(map(self._floats.__getitem__, column))
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
        if isinstance(number, Decimal) and number.adjusted() < _MOST_DIGITS and _is_whole(number):
            number = int(number)
        return number if isinstance(number, int) else _rounded(number)

    def _parts(self, cell: Any) -> Iterator[Hashable]:
        """A nested cell as one flat run of keys; a stack of our own, since nesting may be deeper than Python's."""
        waiting = [cell]
        while waiting:
            part = plain_cell(waiting.pop())
            if isinstance(part, Mapping):
                entries = sorted(((self.number(key), value) for key, value in part.items()), key=itemgetter(0))
                yield ("dict", tuple(number for number, _ in entries))
                waiting.extend(value for _, value in reversed(entries))
            elif isinstance(part, list | tuple):
                yield ("list", len(part))
                waiting.extend(reversed(part))
            elif isinstance(part, set | frozenset):
                yield ("set", frozenset(map(self.number, part)))
            else:
                yield self.number(part)


def plain_cell(cell: Any) -> Any:
    """The value in Python's own types: numpy's scalars and arrays, missing values of pandas, and subclasses opened."""
    kind = type(cell)
    if kind.__name__ in {"NAType", "NaTType"}:
        return None
    if kind.__module__ == "numpy":
        return _of_numpy(cell)
    if isinstance(cell, bytearray | memoryview):
        return bytes(cell)
    return str.__str__(cell) if isinstance(cell, str) else cell


def _of_numpy(cell: Any) -> Any:
    if hasattr(cell, "dtype") and cell.dtype.kind == "M":
        cell = cell.astype("datetime64[us]")
    plain = cell.tolist()
    # An extended float gives itself back.
    return float(plain) if type(plain).__module__ == "numpy" else plain


def _foreign(cell: Any) -> Hashable:
    """The key of a value of a type that no engine of ours returns."""
    try:
        hash(cell)
    except TypeError:
        return (type(cell).__qualname__, repr(cell))
    return (type(cell), cell)


def _rounded(number: float | Decimal) -> float | Decimal:
    """The number at 9 significant digits as a float, which holds them all; a Decimal where no float is so large."""
    if isinstance(number, float):
        return float(f"{number:.8e}")
    nine = _NINE_DIGITS.create_decimal(number)
    as_float = float(nine)
    return as_float if math.isfinite(as_float) or not nine.is_finite() else nine


def _large_floats(blocks: Iterable[_Columns]) -> frozenset[float | Decimal]:
    """The roundings of what is no whole number of an exact type, as far as they are 1e9 or more."""
    found: set[float | Decimal] = set()
    for column in chain.from_iterable(blocks):
        kinds = set(map(type, column))
        if kinds <= _PLAIN:
            continue
        floats = [cell for cell in column if type(cell) is float] if kinds <= _FLOATS_APART else _inexact(column)
        found.update(cell for cell in floats if not -_LARGE < cell < _LARGE)
    return frozenset(_rounded(number) for number in found if number == number)  # noqa: PLR0124 - NaN is unequal to itself


def _inexact(column: Sequence[Any]) -> Iterator[float | Decimal]:
    """Floats and fractions in a column, those within nested cells too."""
    waiting = [cell for cell in column if type(cell) not in _PLAIN]
    while waiting:
        cell = plain_cell(waiting.pop())
        if isinstance(cell, Mapping):
            waiting.extend(chain(cell.keys(), cell.values()))
        elif isinstance(cell, list | tuple | set | frozenset):
            waiting.extend(cell)
        elif isinstance(cell, float) or (isinstance(cell, Decimal) and not cell.is_nan() and not _is_whole(cell)):
            yield cell


def _is_whole(number: Decimal) -> bool:
    return number.is_finite() and number == number.to_integral_value()
