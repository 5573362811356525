"""Differences between two versions of a dataset: rows that were added, changed and retired, by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.data.dataset_file import DatasetFile
from steelyard.data.packed_rows import DatasetRow


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that differs, as texts; "" if a version does not have it."""

    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that both versions have, and its cells that differ."""

    id: str
    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class DatasetDifference:
    """The rows in which two versions differ.

    Args:
        added: rows only in the later version, each with its cells as texts by column.
        changed: rows in both versions, in the order of the later one.
        retired: rows only in the earlier version, as `added`.
        same: number of equal rows.
    """

    added: tuple[RowDifference, ...]
    changed: tuple[RowDifference, ...]
    retired: tuple[RowDifference, ...]
    same: int

    @property
    def counts(self) -> dict[str, int]:
        """The number of added, changed and retired rows."""
        return {"added": len(self.added), "changed": len(self.changed), "retired": len(self.retired)}

    def json_fields(self) -> dict[str, Any]:
        """Cells by column, each as [before, after]."""
        return {
            name: [
                {"id": row.id, "cells": {cell.column: (cell.before, cell.after) for cell in row.cells}} for row in rows
            ]
            for name, rows in (("added", self.added), ("changed", self.changed), ("retired", self.retired))
        } | {"same": self.same}


def dataset_difference(before: DatasetFile, after: DatasetFile) -> DatasetDifference:
    """Compare rows by id and cells by column name; an empty and a missing cell are equal."""
    positions = {ident: position for position, ident in enumerate(before.ids)}
    shared = [positions[ident] for ident in after.ids if ident in positions]
    # Rows of a large file are packed in blocks: in another order, reading each row would unpack a whole block.
    earlier = before.rows if shared == sorted(shared) else tuple(before.rows)
    columns = [name for name in dict.fromkeys((*before.columns, *after.columns)) if name not in _ids(before, after)]
    column_indexes = [{name: position for position, name in enumerate(file.columns)} for file in (before, after)]
    added, changed = [], []
    for row in after.rows:
        if row.id not in positions:
            added.append(_whole(after, row, added=True))
            continue
        old = earlier[positions[row.id]]
        if before.columns == after.columns and old.cells == row.cells:
            continue
        cells = tuple(
            CellChange(name, *texts)
            for name in columns
            if (texts := (_text(before, old, column_indexes[0], name), _text(after, row, column_indexes[1], name)))[0]
            != texts[1]
        )
        if cells:
            changed.append(RowDifference(row.id, cells))
    later_ids = set(after.ids)
    retired = tuple(
        _whole(before, before.rows[position], added=False)
        for ident, position in positions.items()
        if ident not in later_ids
    )
    return DatasetDifference(tuple(added), tuple(changed), retired, len(shared) - len(changed))


def _ids(*files: DatasetFile) -> set[str]:
    return {file.id_column for file in files if file.id_column}


def _text(file: DatasetFile, row: DatasetRow, column_index: Mapping[str, int], name: str) -> str:
    return file.shown(row.cells[column_index[name]]) if name in column_index else ""


def _whole(file: DatasetFile, row: DatasetRow, *, added: bool) -> RowDifference:
    texts = ((name, file.shown(value)) for name, value in zip(file.columns, row.cells, strict=True))
    cells = ((name, text) for name, text in texts if text and name != file.id_column)
    return RowDifference(
        row.id, tuple(CellChange(name, *(("", text) if added else (text, ""))) for name, text in cells)
    )
