"""Files -> samples of the `tables` suite; every defect is named in one pass, before anything is asked or run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from steelyard.data.columns import find_layout
from steelyard.data.defects import Defect, refuse
from steelyard.data.files import SampleFiles
from steelyard.data.reading import read_tables
from steelyard.data.roles import Layout, Role
from steelyard.data.table import Column, Row, Table, cell_at, is_blank, render
from steelyard.errors import ConfigError, DataError, did_you_mean
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
    tables, notes = read_tables(files)
    names = [path.name for path in files.paths]
    if len(set(names)) < len(names):
        raise ConfigError("samples: two files have one name, so their rows cannot be told apart; rename one")
    reader = _Reader(task, ids, {}, [], count())
    found: list[Sample] = []
    mapping: Mapping[str, str] = {}
    for table in tables:
        layout = find_layout(table, ROLES, files)
        mapping = mapping or layout.describe()
        columns = {name: _column_of(table, layout, name) for name in predictions}
        prefix = f"{table.name} " if len(names) > 1 else ""
        found.extend(reader.samples(_Place(table, layout, columns, prefix)))
    if reader.defects and not files.skip_bad:
        refuse(reader.defects)
    if not found:
        raise DataError(f"{', '.join(names)}: there is no sound row")
    chosen = files.selected(len(found))
    samples = tuple(sample for place, sample in enumerate(found) if place in chosen)
    return TablesData(
        samples, tuple(reader.defects), mapping, (*notes, *_about(files, len(samples), len(reader.defects)))
    )


def _about(files: SampleFiles, count: int, left_out: int) -> Iterator[str]:
    asked = files.first or files.last or files.random or 0
    if asked > count:
        yield f"{asked} samples were asked for, there are {count}"
    if left_out:
        yield f"{left_out} rows with a defect were left out (skip_bad)"


def _column_of(table: Table, layout: Layout, name: str) -> Column:
    """The column of predictions that is headed `name`."""
    found = next((column for column, text in layout.headers.items() if text == name), None)
    if found is None:
        known = [text for text in layout.headers.values() if text]
        raise ConfigError(f"predictions: {table.title} has no column {name!r}{did_you_mean(name, known)}")
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """A table, its layout, its columns of predictions, and what stands in front of ids made from places."""

    table: Table
    layout: Layout
    predictions: Mapping[str, Column]
    prefix: str

    def cell(self, row: Row, role: str) -> Any:
        column = self.layout.column(role)
        return None if column is None else cell_at(row.cells, column)

    def defect(self, kind: str, row: Row, role: str, message: str) -> Defect:
        return Defect(kind, self.table.place(row.number, self.layout.column(role)), message)

    def rows(self) -> Iterator[Row]:
        """Rows below the header; blank ones of a sheet are left out, an object is never a blank row."""
        if self.table.keyed:
            return iter(self.table)
        return (row for row in self.layout.rows(self.table) if not is_blank(row))


@dataclass(frozen=True, slots=True)
class _Reader:
    """One pass over all tables: `seen` is id -> where it stands, `defects` are in order, `positions` count rows."""

    task: str
    ids: frozenset[str] | None
    seen: dict[str, str]
    defects: list[Defect]
    positions: Iterator[int]

    def samples(self, place: _Place) -> Iterator[Sample]:
        for row, position in zip(place.rows(), self.positions, strict=False):
            before = len(self.defects)
            target = wanted(place.cell(row, "target"), self.task)
            if target.problem:
                self.defects.append(place.defect("bad target", row, "target", target.problem))
            db_id = render(place.cell(row, "db_id"))
            problem = self._about_database(target, db_id)
            if problem:
                self.defects.append(place.defect("bad database", row, "db_id", problem))
            name = self._id(place, row)
            if len(self.defects) == before:
                yield _sample(place, row, name, target, {"position": position} | ({"db_id": db_id} if db_id else {}))

    def _about_database(self, target: Wanted, db_id: str) -> str:
        """Why the SQL of a row cannot be run; "" where it can, or where there is none."""
        if not target.is_query:
            return ""
        if self.ids is None:
            return "the target is SQL: name the folder of its databases (databases: ...)"
        if not db_id:
            return "the target is SQL: a column db_id has to name its database"
        return "" if db_id in self.ids else f"there is no database {db_id!r}{did_you_mean(db_id, self.ids)}"

    def _id(self, place: _Place, row: Row) -> str:
        own = render(place.cell(row, "id"))
        name = own or place.prefix + place.table.row_id(row.number)
        here = place.table.place(row.number, place.layout.column("id") if own else None)
        before = self.seen.setdefault(name, here)
        if before != here:
            self.defects.append(place.defect("duplicate id", row, "id", f"the same id as {before}: {name[:40]!r}"))
        return name


def _sample(place: _Place, row: Row, name: str, target: Wanted, metadata: dict[str, Any]) -> Sample:
    if place.predictions:
        metadata[PREDICTIONS] = {name: cell_at(row.cells, column) for name, column in place.predictions.items()}
    return Sample(
        name,
        render(place.cell(row, "question")),
        target.reference,
        group=render(place.cell(row, "group")),
        metadata=metadata,
    )
