"""Share of cells found in another table, as arrays of numpy 1.26 find them; the release 0.2.2 counts by it.

An array has one type. Truth values beside texts become the texts "True" and "False", NUL characters at the end of a
text are dropped, and an array of truth values alone is compared with an array of texts in one of two ways that differ:
where few cells are looked for, none is equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain

from steelyard.tables.counting import Rows, found_in
from steelyard.tables.normalise import Lexicon


def share_found(rows: Rows, known: Rows, lexicon: Lexicon) -> float:
    """Cells of `rows`, repeats and all, that occur in `known`, by all cells of `rows`; rounded as numpy does.

    NaN where `rows` has no cells.

    Raises:
        ValueError: rows of different widths, of which numpy makes no array.

    >>> lexicon = Lexicon(str)
    >>> first, second = lexicon.rows([["a", "a", "b"]]), lexicon.rows([["a", "c"]])
    >>> share_found(first, second, lexicon)
    0.667
    """
    if any(len(set(map(len, table))) > 1 for table in (rows, known)):
        raise ValueError("rows of different widths make no array")
    cells, others = list(chain.from_iterable(rows)), list(chain.from_iterable(known))
    if not cells:
        return float("nan")
    found = _array_matches(cells, others, lexicon) if _needs_texts(lexicon) else found_in(cells, others)
    # numpy scales, rounds to even and scales back, which is not Python's rounding of the decimal value.
    return round(found / len(cells) * 1000) / 1000


def _needs_texts(lexicon: Lexicon) -> bool:
    return any(isinstance(text, bool) or str(text).endswith("\0") for text in lexicon.numbers)


def _array_matches(cells: list[int], others: list[int], lexicon: Lexicon) -> int:
    texts = [text if isinstance(text, bool) else str(text).rstrip("\0") for text in lexicon.numbers]
    first, second = [texts[cell] for cell in cells], [texts[cell] for cell in others]
    truths = [all(isinstance(text, bool) for text in column) and bool(column) for column in (first, second)]
    # numpy.isin looks at one cell after the other where there are few to look for, and then a truth is no text.
    few = len(second) < 10 * len(first) ** 0.145
    if truths[0] != truths[1] and few:
        return 0
    known: set[Hashable] = {str(text) for text in second}
    return sum(str(text) in known for text in first)
