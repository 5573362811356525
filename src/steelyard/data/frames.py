"""Rows that are in memory already: data frames of any library, datasets of `datasets`, lists of mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, Final

from steelyard.data.table import Row, Table
from steelyard.errors import ConfigError, DataError

_KINDS: Final = "a pandas, polars or pyarrow frame, a dataset of `datasets`, or a list of mappings"
_MOST_BITS: Final = 14_000
"""Of a whole number: Python writes none of more than 4,300 digits as a text."""
_MISSING: Final = frozenset({"NAType", "NaTType"})
"""The types of pandas' two marks for a cell without a value."""


class HeldFrame:
    """A frame under a name; no configuration can hold one.

    Args:
        frame: what `_KINDS` says.
        name: for addresses.

    Raises:
        ConfigError: it is none of these.
    """

    __slots__ = ("_table", "name", "what")

    def __init__(self, frame: Any, name: str) -> None:
        self.name = name
        self._table, self.what = _opened(frame, name)

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"

    def table(self) -> Table:
        """Its rows, numbered from 1, with cells by key."""
        return self._table


def _opened(frame: Any, name: str) -> tuple[Table, str]:
    """The table, and what it was made of, for the manifest."""
    if type(frame).__module__.partition(".")[0] == "datasets":
        from steelyard.data.hugging_face import dataset_table

        return dataset_table(frame, name), f"a {type(frame).__name__}"
    if isinstance(frame, str | bytes | Mapping):
        raise ConfigError(f"samples: expected {_KINDS}, but got a {type(frame).__name__}")
    if isinstance(frame, Sequence):
        wrong = next((number for number, row in enumerate(frame, start=1) if not isinstance(row, Mapping)), 0)
        if wrong:
            raise ConfigError(f"samples: {name} entry {wrong}: expected a mapping, but got {frame[wrong - 1]!r:.60}")
        return keyed_table(name, lambda: iter(frame)), f"a list of {len(frame)} rows"
    return _narwhals_table(frame, name)


def _narwhals_table(frame: Any, name: str) -> tuple[Table, str]:
    import narwhals as nw

    try:
        known = nw.from_native(frame)
        held = known.collect() if isinstance(known, nw.LazyFrame) else known
        refuse_doubles(name, held.columns)
    except TypeError as error:
        raise ConfigError(f"samples: expected {_KINDS}, but got a {type(frame).__name__}") from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{name}: two columns have one name: {' '.join(str(error).split())[:200]}") from error
    what = f"a frame of {held.implementation.name.lower()}, {held.shape[0]} rows, {held.shape[1]} columns"
    return keyed_table(name, lambda: held.iter_rows(named=True)), what


def keyed_table(name: str, rows: Callable[[], Iterable[Mapping[Any, Any]]], notes: tuple[str, ...] = ()) -> Table:
    """A table of mappings; texts that no file may hold are refused while it is read.

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
            # Libraries turn whole blocks of rows into Python's values, so nobody knows which row it was.
            raise DataError(f"{name}: a value that Python cannot hold, such as a date: {error!s:.200}") from error

    return Table(name, source, "entry", keyed=True, notes=notes)


def refuse_doubles(name: str, columns: Sequence[str]) -> None:
    """Refuse rows of which one key would stand for two columns.

    Raises:
        DataError: two columns have one name.
    """
    doubled = next((one for place, one in enumerate(columns) if one in columns[:place]), None)
    if doubled is not None:
        raise DataError(f"{name}: two columns are called {doubled!r:.80}; rename one")


def plain_cell(value: Any) -> Any:
    """A cell as Python itself would hold it: what is missing is None, an array is a list.

    Raises:
        ValueError: a text with a NUL character or half a character, or a whole number that cannot be written.

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
        return {str(key): plain_cell(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_cell(one) for one in value]
    return _foreign(value)


def _foreign(value: Any) -> Any:
    """A cell of a library's own type."""
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
