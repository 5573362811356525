"""Cells and rows as a person and a JSON reader see them: short, and with nothing hidden in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from steelyard.sql.cells import plain_cell

_TEXT: Final = 40
_JSON_TEXT: Final = 200
_CELLS: Final = 6
_JSON_CELLS: Final = 50
_BITS: Final = 256
"""Longer whole numbers are not written out; Python itself refuses from 4,300 digits on."""


def show_cell(cell: Any, most: int = _TEXT) -> str:
    r"""A cell for a sentence, as SQL would write it.

    Args:
        cell: a cell of any type.
        most: characters of it.

    >>> [show_cell(one) for one in (None, True, 1.5, "it's\x1b", b"\x00\xff", float("nan"))]
    ['NULL', 'true', '1.5', "'it''s\\x1b'", "x'00ff'", 'NaN']
    """
    cell = plain_cell(cell)
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        quoted = _short(cell, most).replace("'", "''")
        return f"'{one_line(quoted)}'"
    if isinstance(cell, bytes):
        return f"x'{_short(cell[:most].hex(), most)}'"
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else repr(cell)
    return _show_other(cell, most)


def _show_other(cell: Any, most: int) -> str:
    if isinstance(cell, int) and cell.bit_length() > _BITS:
        return f"a whole number of {cell.bit_length()} bits"
    if isinstance(cell, list | tuple | dict):
        return f"{'a struct' if isinstance(cell, dict) else 'a list'} of {len(cell)}"
    return one_line(_short(str(cell), most))


def show_row(row: Sequence[Any]) -> str:
    """The first cells of a row, in brackets.

    >>> show_row((1, "a"))
    "(1, 'a')"
    """
    rest = ", …" if len(row) > _CELLS else ""
    return f"({', '.join(show_cell(cell) for cell in row[:_CELLS])}{rest})"


def show_column(index: int, columns: Sequence[str]) -> str:
    """The name of a column, or its number where it has none to speak of.

    >>> show_column(0, ["total"]), show_column(1, ["a", ""])
    ('column total', 'column 2')
    """
    name = one_line(_short(columns[index], _TEXT)).strip() if index < len(columns) else ""
    return f"column {name}" if name else f"column {index + 1}"


def json_row(number: int, row: Sequence[Any]) -> dict[str, Any]:
    """A row as plain JSON: its 1-based number and its first cells.

    >>> json_row(3, (1, "a", float("inf")))
    {'row': 3, 'cells': [1, 'a', 'inf']}
    """
    return {"row": number, "cells": [_json_cell(cell) for cell in row[:_JSON_CELLS]]}


def _json_cell(cell: Any) -> Any:
    cell = plain_cell(cell)
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int) and cell.bit_length() <= 63:
        return int(cell)
    if isinstance(cell, float) and math.isfinite(cell):
        return float(cell)
    return one_line(_short(cell, _JSON_TEXT)) if isinstance(cell, str) else show_cell(cell, _JSON_TEXT)


def one_line(text: str) -> str:
    r"""A text with an escape for each character that is not seen, or that acts on whoever shows it.

    >>> one_line("a\nb\x1b[1m\u202e易")
    'a\\nb\\x1b[1m\\u202e易'
    """
    return text if text.isprintable() else "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
