"""Cells side by side, a line a row, for lists that have something between their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len

from steelyard.cli.tables import shortened
from steelyard.text.inert import visible

_GAP: Final = 2
_NARROWEST: Final = 12


def aligned(rows: Sequence[Sequence[str]], width: int, *, right: Sequence[int], elastic: int) -> list[str]:
    """A line per row; no number is ever cut.

    Args:
        rows: texts, the head first.
        width: columns of the terminal.
        right: the columns that are numbers.
        elastic: the column whose texts are cut in the middle where the lines are too long.

    >>> aligned([["run", "n"], ["b", "10"]], 80, right=(1,), elastic=0)
    ['run   n', 'b    10']
    """
    cells = [[visible(cell, keep="") for cell in row] for row in rows]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(cells[0]))]
    room = max(_NARROWEST, width - sum(widths) + widths[elastic] - _GAP * (len(widths) - 1))
    widths[elastic] = min(widths[elastic], room)
    lines = []
    for row in cells:
        parts = []
        for at, cell in enumerate(row):
            text = shortened(cell, room) if at == elastic else cell
            blanks = " " * (widths[at] - cell_len(text))
            parts.append(blanks + text if at in right else text + blanks)
        lines.append((" " * _GAP).join(parts).rstrip())
    return lines
