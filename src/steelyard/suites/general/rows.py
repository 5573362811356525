"""Reads any table of inputs into samples of the `general` suite; all defects are reported in one pass.

Every column without a role is a value of its row: prompts and scorers may name it, and it is kept with the sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from steelyard.building.row_values import values_of_row
from steelyard.data.rows import OpenTable, RowDataset, cluster_of, open_tables, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, is_blank_cell, list_in, render
from steelyard.data.unused_columns import UnusedColumns
from steelyard.errors import ConfigError
from steelyard.prompts.conversation import flaw_in, messages_in
from steelyard.scorers.combined import CHECKS
from steelyard.suites.general.checks import checks_in, defects_of
from steelyard.suites.general.images import with_images
from steelyard.suites.general.roles import ROLES, Roles, places
from steelyard.types import Sample

_OWN_KEYS: Final = frozenset({"position", "source", "sheet", "passage", "sources", "predictions", "order", "several"})
"""Keys of metadata that mean something to other parts; a column of that name is kept as `NAME column`."""


@dataclass(frozen=True, slots=True)
class GeneralRows:
    """A table of inputs, completely read and checked.

    Args:
        data: the samples, notes and defects.
        places: header -> where a sample has the value of that column: `question`, `metadata.channel` ...
        names: header -> the name that scorers know the column by, where that is another.
    """

    data: RowDataset
    places: Mapping[str, str]
    names: Mapping[str, str]


class ValueColumns(UnusedColumns):
    """Columns without a role, which are values for prompts and scorers."""

    def about_names(self, n: int, listed: str, example: str) -> str:
        """The note that lists them."""
        many = n > 1
        return (
            f"{f'{n} columns are values' if many else '1 column is a value'} of each row: {listed}; "
            f"a prompt or a scorer may use {'them' if many else 'it'}, as {{{{{example}}}}}"
        )


def load_general(files: SampleFiles, *, named: tuple[str, ...] = ()) -> GeneralRows:
    """Read and check a whole table of inputs.

    Of a sample, `input` is a text, a list of messages or any other JSON value; `reference` the expected output: a text,
    a list of texts where several are right, an object, or None. `metadata` has the value of every other column.

    Args:
        files: which rows of which files.
        named: the placeholders of all prompts: they decide which column is the input where headers do not.

    Raises:
        ConfigError: a file, sheet or column does not exist, no column is the input, or two may be.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    opened = open_tables(files, ROLES, layout_of=Roles(named).layout_of, unused=ValueColumns(_OWN_KEYS))
    reader = _Reader({}, {path.name: path.parent for path in files.paths})
    data = read_rows(files, ROLES, reader, opened=opened)
    found = dict(place for table in opened[0] for place in places(table.layout, table.unused.kept))
    notes = (*data.notes, *_notes_on(data.samples))
    return GeneralRows(replace(data, notes=notes, places=reader.ids), found, scorer_names(opened[0]))


def scorer_names(tables: Iterable[OpenTable]) -> dict[str, str]:
    """Header -> the name that scorers know the column by, where that is another: `{"source": "input"}`."""
    known = values_of_row(Sample("", ""))
    headers = (
        (table.layout.headers.get(column, ""), role)
        for table in tables
        for role, columns in table.layout.columns.items()
        for column in columns
        if role != CHECKS
    )
    return {header: role for header, role in headers if header and header not in known}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes samples of rows: `ids` is id -> its place, `folders` table -> the folder of its file."""

    ids: dict[str, str]
    folders: Mapping[str, Path]

    def __call__(
        self, table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]
    ) -> Sample | None:
        """The sample of a row; None where the row has defects, which are collected."""
        return _sample(table, row, position, (self, noted[1]))

    def asked(self, table: OpenTable, row: Row, defects: list[Defect]) -> Any:
        """The input of a row: messages with their images, a text, or any other JSON value as it is."""
        value = table.cell(row, "input")
        if (messages := messages_in(value)) is not None:
            try:
                messages = with_images(messages, self.folders.get(table.table.name))
            except ConfigError as error:
                defects.append(table.defect("bad image", row, "input", error.message))
            if flaw := flaw_in(messages):
                defects.append(table.defect("blank input", row, "input", flaw))
            return messages
        if is_blank_cell(value):
            defects.append(table.defect("blank input", row, "input", "the input is blank"))
        return value if isinstance(value, list | dict) else render(value)


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[_Reader, list[Defect]]) -> Sample | None:
    """The sample of a row; None where the row has defects, which are collected."""
    reader, defects = noted
    earlier_defects = len(defects)
    asked = reader.asked(table, row, defects)
    texts = _texts(table.cell(row, "contexts"))
    if texts is None:
        defects.append(table.defect("bad contexts", row, "contexts", "contexts is neither a text nor a list of texts"))
    name = table.id_of(row, reader.ids, defects)
    metadata: dict[str, Any] = {"position": position}
    if cluster := cluster_of(row, table.layout):
        metadata[table.layout.headers[table.layout.columns["cluster"][0]]] = cluster
    reference = expected_in(table.cell(row, "expected"))
    group = table.text(row, "group")
    sample = Sample(name, asked, reference, contexts=texts or (), group=group, cluster=cluster, metadata=metadata)
    checked = _with_checks(table, row, sample, defects)
    return None if len(defects) > earlier_defects else checked


def _with_checks(table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
    """The sample with the checks of its row, which are tried on it."""
    place = table.location(row, CHECKS)
    try:
        checks = checks_in(table.cell(row, CHECKS), place, scorer_names([table]))
    except ConfigError as error:
        defects.append(Defect("bad checks", place, error.message))
        return sample
    if checks is None:
        return sample
    with_checks = replace(sample, metadata={**sample.metadata, CHECKS: checks})
    # Options may name any column of the row.
    values = {**table.unused.values(row), **with_checks.metadata}
    defects.extend(defects_of(replace(with_checks, metadata=values), place))
    return with_checks


def expected_in(cell: Any) -> Any:
    """The expected output in a cell: a text, several right texts, an object or list of JSON, or None where it is blank.

    >>> expected_in(" Rome "), expected_in('["Rome", "Roma"]'), expected_in('{"city": "Rome"}'), expected_in("")
    ('Rome', ['Rome', 'Roma'], {'city': 'Rome'}, None)
    >>> expected_in(True), expected_in([1, 2])
    ('true', ['1', '2'])
    """
    if is_blank_cell(cell):
        return None
    if isinstance(cell, str):
        value = list_in(cell) if cell.lstrip().startswith("[") else _object_in(cell)
        return cell.strip() if value is None else expected_in(value)
    if isinstance(cell, list) and not any(isinstance(part, list | dict) or part is None for part in cell):
        return [_scalar(part) for part in cell]
    return cell if isinstance(cell, list | dict) else _scalar(cell)


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else render(value)


def _object_in(cell: str) -> Any:
    """The object in a cell that holds JSON; None for any other text."""
    if not cell.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _texts(cell: Any) -> tuple[str, ...] | None:
    """The passages in a cell; None where they are no texts."""
    value = list_in(cell) if isinstance(cell, str) else cell
    if isinstance(value, list):
        return tuple(value) if all(isinstance(text, str) for text in value) else None
    return () if is_blank_cell(cell) else None if isinstance(cell, dict) else (render(cell),)


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    missing = sum(sample.reference is None for sample in samples)
    if 0 < missing < len(samples):
        yield f"{missing} of {len(samples)} rows have no expected output"
