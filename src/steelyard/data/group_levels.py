"""The group of a sample by `samples: {group_by: ...}`: its file, its sheet, or several columns as levels.

The levels of a group are joined by " / ", as in `STEM / physics`, the coarsest first. Averages by level need nothing
else: a run stores the group of each sample, and the names of the levels once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from steelyard.data.columns import ColumnLayout
from steelyard.data.headers import find_named
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Row, Table, cell_at, render
from steelyard.errors import ConfigError
from steelyard.types import BETWEEN_LEVELS

_FILE: Final = "file"
_SHEET: Final = "sheet"


@dataclass(frozen=True, slots=True)
class GroupLevels:
    """How the group of a row of one table is made.

    Args:
        parts: per level its name, and the column that has it, or the text that it is in every row of the table.
    """

    parts: tuple[tuple[str, Column | None, str], ...]

    @classmethod
    def of(cls, files: SampleFiles, table: Table, layout: ColumnLayout) -> GroupLevels | None:
        """The levels of a table; None where samples are grouped by the column of the role `group`.

        Raises:
            ConfigError: the table has no such column, or no sheets.
        """
        if not files.group_levels:
            return None
        if _SHEET in files.group_levels and not table.sheet:
            raise ConfigError(
                f"group_by: sheet: {table.name} has no sheets; write group_by: file, or a list of columns"
            )
        texts = {_FILE: PurePosixPath(table.name).with_suffix("").as_posix(), _SHEET: table.sheet}
        named = {name: name for name in files.group_levels if name not in texts}
        try:
            found = find_named(table, named, layout.headers, layout.width, header_row=layout.header_row)
        except ConfigError as error:
            raise ConfigError(f"group_by: {error.message.removeprefix('columns: ')}") from error
        if several := next((name for name, columns in found.items() if len(columns) != 1), ""):
            raise ConfigError(f"group_by: {several!r} is several columns; write each as an entry of its own")
        return cls(
            tuple((name, found[name][0] if name in found else None, texts.get(name, "")) for name in files.group_levels)
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the levels."""
        return tuple(column for _, column, _ in self.parts if column is not None)

    def group_of(self, row: Row) -> str:
        """The group of a row; "" where no level has a value."""
        texts = [text if column is None else render(cell_at(row.cells, column)) for _, column, text in self.parts]
        if not any(texts):
            return ""
        names = (name for name, *_ in self.parts)
        # A level that itself holds the separator would count as two.
        return BETWEEN_LEVELS.join(
            text.replace(BETWEEN_LEVELS, "/") if text else f"(no {name})"
            for name, text in zip(names, texts, strict=True)
        )
