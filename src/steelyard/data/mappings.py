"""Tables of rows that are mappings of column to value, with cells converted to plain Python values.

Frames, Parquet files, datasets of Hugging Face and lists of mappings all pass through here, so that equal cells become
the same Python value from any source, and a text that no file could hold is rejected in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, Final

from steelyard.data.table import Row, Table
from steelyard.errors import DataError

_MOST_BITS: Final = 14_000
"""Maximum bits of a whole number: Python does not convert one of more than 4,300 digits to text."""
_MISSING: Final = frozenset({"NAType", "NaTType"})
"""The types of pandas' two markers of a missing value."""


def keyed_table(name: str, rows: Callable[[], Iterable[Mapping[Any, Any]]], notes: tuple[str, ...] = ()) -> Table:
    """A table of mappings; texts that no file may hold are rejected while it is read.

    Args:
        name: for addresses.
        rows: starts a new pass.
        notes: for a person.
    """

    def row(number: int, cells: Mapping[Any, Any]) -> Row:
        try:
            return Row(number, {str(key): plain_cell(value) for key, value in cells.items()})
        except ValueError as error:
            raise DataError(f"{name} entry {number}: {error}") from error
        except RecursionError as error:
            raise DataError(f"{name} entry {number}: nested too deeply") from error

    def source() -> Iterator[Row]:
        try:
            yield from starmap(row, enumerate(rows(), start=1))
        except (ValueError, OverflowError) as error:
            # Libraries convert whole blocks of rows to Python values, so the row with the error is not known.
            raise DataError(f"{name}: a value that Python cannot hold, such as a date: {error!s:.200}") from error

    return Table(name, source, "entry", keyed=True, notes=notes)


def refuse_doubles(name: str, columns: Sequence[str]) -> None:
    """Reject two columns with the same name, since the keys of a row are unique.

    Raises:
        DataError: two columns have the same name.
    """
    doubled = next((column for index, column in enumerate(columns) if column in columns[:index]), None)
    if doubled is not None:
        raise DataError(f"{name}: two columns are called {doubled!r:.80}; rename one")


def plain_cell(value: Any) -> Any:
    """A cell as a plain Python value: a missing one becomes None, an array a list.

    Raises:
        ValueError: a text with a NUL character or half a surrogate pair, or a whole number with too many digits.

    >>> plain_cell({"text": ("天", float("nan"))})
    {'text': ['天', None]}
    """
    if isinstance(value, str):
        return _sound(value)
    if value is None or isinstance(value, int):
        _refuse_endless(value or 0)
        return value
    if isinstance(value, float):
        return None if value != value else float(value)  # noqa: PLR0124 - NaN alone differs from itself
    if isinstance(value, Mapping):
        return {str(key): plain_cell(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_cell(element) for element in value]
    return _foreign(value)


def _foreign(value: Any) -> Any:
    """A cell of a type that a library defines."""
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, bytes):
        return _sound(value.decode("utf-8", "replace"))
    return plain_cell(value.tolist()) if hasattr(value, "tolist") else value


def _refuse_endless(number: int) -> None:
    if number.bit_length() > _MOST_BITS:
        raise ValueError("a whole number of more than 4,200 digits")


def _sound(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character (a lone surrogate) in {text[:40]!r}") from error
    if "\0" in text:
        raise ValueError(f"a NUL character in {text[:40]!r}")
    return text
