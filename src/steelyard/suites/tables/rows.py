"""Files -> samples of the `tables` suite; every defect is named in one pass, before anything is asked or run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from steelyard.data.defects import Defect
from steelyard.data.files import SampleFiles
from steelyard.data.opened import OpenTable, about_selection, open_tables, sound_samples
from steelyard.data.roles import Role
from steelyard.data.table import Column, cell_at
from steelyard.errors import ConfigError, did_you_mean
from steelyard.suites.tables.predicted import PREDICTIONS
from steelyard.suites.tables.wanted import Wanted, wanted
from steelyard.tables.locate import database_ids
from steelyard.types import Sample

ROLES: Final = (
    Role("target", by_position=False),
    Role("db_id", required=False, by_position=False),
    Role("question", required=False, by_position=False),
    Role("group", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


@dataclass(frozen=True, slots=True)
class TablesData:
    """A dataset of wanted tables, and what was found out about it.

    Args:
        samples: in order; `reference` is rows or SQL, `metadata` has `db_id`, what the row predicts, and `position`:
            the row's, counted from 0 over all files whatever is left out.
        defects: of the rows that are left out; empty unless `skip_bad`.
        mapping: role -> column of the first table, as a person names it.
        notes: rows left out, hidden sheets, an unusual encoding, fewer samples than asked for.
    """

    samples: tuple[Sample, ...]
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    notes: tuple[str, ...]


def load_tables(
    files: SampleFiles, *, task: str, databases: Path | None, predictions: Sequence[str] = ()
) -> TablesData:
    """Read and check a dataset whole.

    Args:
        files: which rows of which files.
        task: `QA` or `SP`, where every target is SQL.
        databases: the folder that SQL is run on.
        predictions: columns of the same files that hold predictions.

    Raises:
        ConfigError: a file, sheet, column or folder does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    ids = None if databases is None else frozenset(database_ids(databases))
    tables, notes = open_tables(files, ROLES)
    reader = _Reader(task, ids, {}, [], count())
    found: list[Sample] = []
    for table in tables:
        found.extend(reader.samples(table, {name: _column_of(table, name) for name in predictions}))
    samples = sound_samples(files, found, reader.defects)
    about = (*notes, *about_selection(files, len(samples), len(reader.defects)))
    return TablesData(samples, tuple(reader.defects), tables[0].layout.describe(), about)


def _column_of(opened: OpenTable, name: str) -> Column:
    """The column of predictions that is headed `name`."""
    headers = opened.layout.headers
    found = next((column for column, text in headers.items() if text == name), None)
    if found is None:
        known = [text for text in headers.values() if text]
        raise ConfigError(f"predictions: {opened.table.title} has no column {name!r}{did_you_mean(name, known)}")
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """One pass over all tables: `seen` is id -> where it stands, `defects` are in order, `positions` count rows."""

    task: str
    ids: frozenset[str] | None
    seen: dict[str, str]
    defects: list[Defect]
    positions: Iterator[int]

    def samples(self, place: OpenTable, predictions: Mapping[str, Column]) -> Iterator[Sample]:
        for row, position in zip(place.rows(), self.positions, strict=False):
            before = len(self.defects)
            self.defects.extend(place.faults(row))
            target = wanted(place.cell(row, "target"), self.task)
            if target.problem:
                self.defects.append(place.defect("bad target", row, "target", target.problem))
            db_id = place.text(row, "db_id")
            problem = self._about_database(target, db_id)
            if problem:
                self.defects.append(place.defect("bad database", row, "db_id", problem))
            name = place.id_of(row, self.seen, self.defects)
            if len(self.defects) == before:
                metadata: dict[str, Any] = {"position": position} | ({"db_id": db_id} if db_id else {})
                if predictions:
                    metadata[PREDICTIONS] = {one: cell_at(row.cells, column) for one, column in predictions.items()}
                question, group = place.text(row, "question"), place.text(row, "group")
                yield Sample(name, question, target.reference, group=group, metadata=metadata)

    def _about_database(self, target: Wanted, db_id: str) -> str:
        """Why the SQL of a row cannot be run; "" where it can, or where there is none."""
        if not target.is_query:
            return ""
        if self.ids is None:
            return "the target is SQL: name the folder of its databases (databases: ...)"
        if not db_id:
            return "the target is SQL: a column db_id has to name its database"
        return "" if db_id in self.ids else f"there is no database {db_id!r}{did_you_mean(db_id, self.ids)}"
