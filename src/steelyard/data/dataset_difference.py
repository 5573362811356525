"""Differences between two versions of a dataset: rows that were added, changed and retired, by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.data.dataset_file import DatasetFile
from steelyard.data.packed_rows import DatasetRow


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that differs, as texts; "" where a side has none."""

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
    """The rows that two versions do not have alike.

    Args:
        added: only in the later one, each with its cells as texts by column.
        changed: in both, in the order of the later one.
        retired: only in the earlier one, as `added`.
        same: rows that are alike.
    """

    added: tuple[RowDifference, ...]
    changed: tuple[RowDifference, ...]
    retired: tuple[RowDifference, ...]
    same: int

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {"added": len(self.added), "changed": len(self.changed), "retired": len(self.retired)}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            **{
                name: [
                    {"id": row.id, "cells": {cell.column: [cell.before, cell.after] for cell in row.cells}}
                    for row in rows
                ]
                for name, rows in (("added", self.added), ("changed", self.changed), ("retired", self.retired))
            },
            "same": self.same,
        }


def dataset_difference(before: DatasetFile, after: DatasetFile) -> DatasetDifference:
    """Compare two versions by ids, and their cells by the names of the columns; blank and missing are the same."""
    places = {ident: place for place, ident in enumerate(before.ids)}
    shared = [places[ident] for ident in after.ids if ident in places]
    # Rows of a large file are unpacked block by block: in another order than theirs, each would take a block.
    earlier = before.rows if shared == sorted(shared) else tuple(before.rows)
    columns = [name for name in dict.fromkeys((*before.columns, *after.columns)) if name not in _ids(before, after)]
    at = [{name: place for place, name in enumerate(file.columns)} for file in (before, after)]
    added, changed = [], []
    for row in after.rows:
        if row.id not in places:
            added.append(_whole(after, row, added=True))
            continue
        old = earlier[places[row.id]]
        if before.columns == after.columns and old.cells == row.cells:
            continue
        cells = tuple(
            CellChange(name, *texts)
            for name in columns
            if (texts := (_text(before, old, at[0], name), _text(after, row, at[1], name)))[0] != texts[1]
        )
        if cells:
            changed.append(RowDifference(row.id, cells))
    left = set(after.ids)
    retired = tuple(
        _whole(before, before.rows[place], added=False) for ident, place in places.items() if ident not in left
    )
    return DatasetDifference(tuple(added), tuple(changed), retired, len(shared) - len(changed))


def _ids(*files: DatasetFile) -> set[str]:
    return {file.id_column for file in files if file.id_column}


def _text(file: DatasetFile, row: DatasetRow, at: Mapping[str, int], name: str) -> str:
    return file.shown(row.cells[at[name]]) if name in at else ""


def _whole(file: DatasetFile, row: DatasetRow, *, added: bool) -> RowDifference:
    texts = ((name, file.shown(value)) for name, value in zip(file.columns, row.cells, strict=True))
    cells = ((name, text) for name, text in texts if text and name != file.id_column)
    return RowDifference(
        row.id, tuple(CellChange(name, *(("", text) if added else (text, ""))) for name, text in cells)
    )
