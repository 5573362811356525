"""Cells as QATCH 0.2 compares them: as text, numbers at two decimals, blanks at the ends and case ignored."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, count, islice
from typing import Any, Final

from steelyard.sql.cells import plain_cell

_FOLDED_AT_ONCE: Final[frozenset[type]] = frozenset({str, int, float, type(None)})
"""Types whose cells have one key where Python calls them equal; not bool, of which True equals 1."""

_FEW_FLOATS: Final = 50
_CLEAR: Final = 1e9
_HALF: Final = 1e-6
"""Below `_CLEAR` a product is right to 1e-7, so nothing this far from a half is rounded to the wrong side."""

_NUMBER: Final = re.compile(r"^-?\d+(?:\.\d+)?$")
"""Any script's digits; `$` lets one line feed through, as in QATCH."""


def release_text(cell: Any) -> str | bool:
    """The cell as the releases 0.2.2 to 0.2.5 make it; their exceptions included.

    NULL and NaN are "None", truth values stay, numbers and texts that look like numbers become the text of the number
    rounded to two decimals (1 is "1" and 1.0 is "1.0"), other texts lose line feeds, outer blanks and case.

    Raises:
        TypeError: bytes, dates, lists.
        OverflowError: whole numbers beyond 1e308.
        AttributeError: numbers that are neither int nor float.
        ValueError: texts of more digits than Python reads.

    >>> [release_text(cell) for cell in (None, 1, 1.0, "007", "3.14159", " Bob ", float("nan"))]
    ['None', '1', '1.0', '7', '3.14', 'bob', 'None']
    """
    if cell is None or isinstance(cell, bool):
        return "None" if cell is None else cell
    if isinstance(cell, str):
        if not _NUMBER.match(cell):
            return cell.replace("\n", "").strip().lower()
        return str(round(float(cell), 2)) if "." in cell else str(int(cell))
    if math.isnan(cell):
        return "None"
    if isinstance(cell, int | float) or type(cell).__name__ in {"int64", "float64"}:
        return str(round(cell, 2))
    raise AttributeError(f"a {type(cell).__name__} is no text to be folded")


def documented_key(cell: Any) -> Hashable:
    r"""The cell as the documentation has it: the same folding, but 1 equals 1.0, and every type has a key.

    >>> documented_key(1) == documented_key("1.00") == documented_key(Decimal("1.001"))
    True
    >>> documented_key(True) == documented_key(1), documented_key(" Bob\n") == documented_key("bob")
    (False, True)
    """
    cell = plain_cell(cell)
    if isinstance(cell, bool):
        return ("truth", cell)
    if isinstance(cell, int | float | Decimal):
        return _rounded(cell)
    if isinstance(cell, bytes):
        return cell
    text = "None" if cell is None else str(cell)
    if cell is None or not _NUMBER.match(text):
        return text if cell is None else text.replace("\n", "").strip().lower()
    return _rounded(Decimal(text.strip()))


def _rounded(number: float | Decimal) -> Hashable:
    if isinstance(number, Decimal):
        if number.is_nan() or number.is_infinite():
            return "None" if number.is_nan() else str(float(number))
        # Whole Decimals are never written out: 1E+999999 equals the int, and hashes like it.
        return number if number == number.to_integral_value() else round(float(number), 2)
    if isinstance(number, int) or math.isfinite(number):
        return number if isinstance(number, int) else round(number, 2)
    return "None" if math.isnan(number) else str(number)


def documented_rows(*tables: Sequence[Sequence[Any]]) -> list[list[tuple[int, ...]]]:
    """The tables with a number for each cell, such that two cells have one `documented_key` where they have one number.

    >>> documented_rows([["Bob", 1]], [[" bob", "1.001"], [True, None]])
    [[(0, 1)], [(0, 1), (2, 3)]]
    """
    cells = list(chain.from_iterable(chain.from_iterable(tables)))
    kinds = set(map(type, cells))
    if not kinds <= _FOLDED_AT_ONCE:
        lexicon = Lexicon(documented_key)
        return [lexicon.rows(table) for table in tables]
    keys = _documented_keys(cells, kinds)
    numbers: dict[Hashable, int] = defaultdict(count().__next__)
    seen = dict(zip(keys, map(numbers.__getitem__, keys.values()), strict=True))
    return [_rebuilt(table, map(seen.__getitem__, chain.from_iterable(table))) for table in tables]


def _rebuilt(table: Sequence[Sequence[Any]], numbers: Iterator[int]) -> list[tuple[int, ...]]:
    """The numbers in rows as wide as the table's."""
    widths = list(map(len, table))
    if widths and widths[0] and widths.count(widths[0]) == len(widths):
        return list(zip(*[numbers] * widths[0], strict=True))
    return [tuple(islice(numbers, width)) for width in widths]


def _documented_keys(cells: Sequence[Any], kinds: set[type]) -> dict[Any, Hashable]:
    """The key of each cell, in order; texts and floats all together, which takes a third of the time."""
    # Whole numbers are their own keys.
    keys: dict[Any, Hashable] = dict(zip(cells, cells, strict=True))
    texts = [cell for cell in keys if type(cell) is str] if str in kinds else []
    floats = [cell for cell in keys if type(cell) is float] if float in kinds else []
    keys.update(zip(texts, map(str.lower, map(str.strip, texts)), strict=True))
    keys.update(zip(floats, _at_two_decimals(floats), strict=True))
    odd: list[Any] = [text for text in texts if "\n" in text or _NUMBER.match(text)]
    # One that is not finite makes the sum so, and a look at the sum is a tenth of a look at each.
    odd += (cell for cell in floats if not math.isfinite(cell)) if not math.isfinite(sum(floats)) else ()
    odd += [None] if None in keys else []
    keys.update(zip(odd, map(documented_key, odd), strict=True))
    return keys


def _at_two_decimals(floats: Sequence[float]) -> Sequence[float]:
    """What `round(number, 2)` gives for each; what is not finite stays.

    Python's rounding goes by way of the decimal text. Where the number times 100 is clearly nearer to one whole number
    than to the next, a hundredth of that is the same float, in a tenth of the time.
    """
    if len(floats) < _FEW_FLOATS:
        return [round(number, 2) if math.isfinite(number) else number for number in floats]
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.array(floats) * 100
        whole = np.rint(scaled)
        clear = (np.abs(scaled) < _CLEAR) & (np.abs(np.abs(scaled - whole) - 0.5) > _HALF)
    found: list[float] = (whole / 100).tolist()
    for place in np.flatnonzero(~clear).tolist():
        number = floats[place]
        found[place] = round(number, 2) if math.isfinite(number) else number
    return found


class Lexicon:
    """Numbers cells, so that two cells are equal where their numbers are; one for both tables of a pair.

    Args:
        key: makes of a cell what it is compared by.
    """

    def __init__(self, key: Callable[[Any], Hashable]) -> None:
        self._key = key
        self.numbers: dict[Hashable, int] = {}
        self._seen: dict[type, dict[Any, int]] = {str: {}, int: {}, float: {}}

    def rows(self, table: Iterable[Iterable[Any]]) -> list[tuple[int, ...]]:
        """The table with a number for each cell; raises what `key` raises."""
        number = self._number
        return [tuple([number(cell) for cell in row]) for row in table]

    def _number(self, cell: Any) -> int:
        seen = self._seen.get(type(cell))
        # 0.0 equals -0.0 and yet may have another text.
        if seen is None or (type(cell) is float and not cell):
            return self._numbered(cell)
        found = seen.get(cell)
        if found is None:
            found = seen[cell] = self._numbered(cell)
        return found

    def _numbered(self, cell: Any) -> int:
        return self.numbers.setdefault(self._key(cell), len(self.numbers))
