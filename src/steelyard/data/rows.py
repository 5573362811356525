"""Reads rows of tables whose columns are known: the cell of a role, its address, and the samples of a whole dataset.

The group of a row may be its file, its sheet, or several columns as levels (`samples: {group_by: ...}`). The levels of
a group are joined by " / ", as in `STEM / physics`, the coarsest first. Averages by level need nothing else: a run
stores the group of each sample, and the names of the levels once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePosixPath
from typing import Any, Final

from steelyard.data.columns import ColumnLayout, find_layout
from steelyard.data.headers import Role, find_named, rival_note, rivals
from steelyard.data.load import id_prefixes, read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import (
    Column,
    Defect,
    Row,
    Table,
    answers_in,
    cell_at,
    faults_of,
    is_blank,
    list_in,
    plain_cell,
    refuse,
    refuse_many,
    render,
)
from steelyard.data.unread import TableColumns, UnusedColumns, notes_on_unread, with_unread
from steelyard.errors import ConfigError, DataError
from steelyard.plain_json import mapping_or_empty
from steelyard.prompts.conversation import answer_of, flaw_in, messages_in, printed_value
from steelyard.types import BETWEEN_LEVELS, Sample

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
            columns_by_name = find_named(table, named, layout.headers, layout.width, header_row=layout.header_row)
        except ConfigError as error:
            raise ConfigError(f"group_by: {error.message.removeprefix('columns: ')}") from error
        if several := next((name for name, columns in columns_by_name.items() if len(columns) != 1), ""):
            raise ConfigError(f"group_by: {several!r} is several columns; write each as an entry of its own")
        return cls(
            tuple(
                (name, columns_by_name[name][0] if name in columns_by_name else None, texts.get(name, ""))
                for name in files.group_levels
            )
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


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table with its column layout.

    Args:
        table: the table.
        layout: the columns of each role.
        prefix: starts generated ids; empty for a single file.
        unused: the columns without a role.
        keeps_duplicates: a repeated id gets a number and is no defect.
        levels: how groups are made; None where they are in the column of the role `group`.
    """

    table: Table
    layout: ColumnLayout
    prefix: str
    unused: TableColumns
    keeps_duplicates: bool = False
    levels: GroupLevels | None = None

    def rows(self) -> Iterator[Row]:
        """Rows below the header, without blank rows of a sheet; an object never counts as blank."""
        if self.table.keyed:
            return iter(self.table)
        return (row for row in self.layout.rows(self.table) if row.number in self.table.faults or not is_blank(row))

    def leaves_out(self, row: Row) -> bool:
        """Whether a row is no sample, by `skip_rows_with`."""
        return row.number in self.table.left_out

    def cell(self, row: Row, role: str) -> Any:
        """The cell in the column of a role, or the joined texts of several; None if the role has no column."""
        if role == "group" and self.levels is not None:
            return self.levels.group_of(row)
        return joined_cells(row, self.layout.columns.get(role, ()))

    def text(self, row: Row, role: str) -> str:
        """The cell as stripped text."""
        return render(self.cell(row, role))

    def question(self, row: Row, defects: list[Defect]) -> Any:
        """The question of a row: a text, or a list of messages; "" and a defect if it is neither.

        A sheet holds messages as the JSON text of a list.
        """
        cell = self.cell(row, "question")
        value = self.example(cell, "question")
        if (messages := messages_in(value)) is not None:
            if flaw := flaw_in(messages):
                defects.append(self.defect("blank question", row, "question", flaw))
            return messages
        if isinstance(value, list | dict):
            message = "the question is neither a text nor a list of messages, each with its role"
            defects.append(self.defect("bad question", row, "question", message))
            return ""
        return self.text(row, "question") if value is cell else value

    def required_question(self, row: Row, defects: list[Defect]) -> Any:
        """The question of a row as `question` gives it; a blank one is a defect too."""
        before = len(defects)
        question = self.question(row, defects)
        if not question and len(defects) == before:
            defects.append(self.defect("blank question", row, "question", "the question is blank"))
        return question

    def answers(self, row: Row, role: str, defects: list[Defect]) -> str | list[str] | None:
        """A text, a list of texts if several answers are right, or None for a blank cell; of messages the last answer.

        In a sheet a list is written as a text; if it contains anything but texts, the cell is taken as one text. In
        JSON anything but a text or a list of texts is a defect.
        """
        cell = self.cell(row, role)
        value = self.example(cell, role)
        if (answer := answer_of(messages_in(value))) is not None:
            return answer or None
        if isinstance(value, dict) and (listed := answers_in(value)) is not None:
            value = listed or None
        texts = list_in(value) if isinstance(value, str) else value
        if texts and isinstance(texts, list) and all(isinstance(text, str) and text.strip() for text in texts):
            references = [text.strip() for text in texts]
            return (
                last_of_turns(self.cell(row, "question"), references)
                if self.header("question") == TURNS
                else references
            )
        if isinstance(value, list | dict):
            message = f"the {role} is neither a text nor a list of texts"
            defects.append(self.defect(f"bad {role}", row, role, message))
            return None
        answer = (self.text(row, role) if value is cell else value) or None
        return self.with_aliases(answer, row, role) if answer else None

    def with_aliases(self, answer: str, row: Row, role: str) -> str | list[str]:
        """The answer with the other right ones under `answer_aliases` beside `answer`, as MuSiQue has them."""
        if self.header(role) != "answer":
            return answer
        # By the exact header: comparing headers without regard to case, for each row, took a fifth of the reading time.
        columns = (column for column, header in self.layout.headers.items() if header == _ALIASES)
        cells = (cell_at(row.cells, column) for column in columns)
        lists = ((list_in(cell) or [cell]) if isinstance(cell, str) else cell for cell in cells)
        aliases = [text for texts in lists for text in texts or () if isinstance(text, str) and text.strip()]
        return [answer, *aliases] if aliases else answer

    def example(self, cell: Any, role: str) -> Any:
        """The value of an example of LangSmith, whose `inputs` are `{"question": "Why?"}`; any other cell unchanged.

        That is its only text, message or list of messages; an object where there are several values. A CSV has it as
        JSON. Of the `expectations` of MLflow it is the expected response; the texts in `turns`, as in MT-bench and
        Arena-Hard, are what a user says one after the other.
        """
        header = self.header(role)
        if header == TURNS and isinstance(cell, list):
            texts = [turn["content"] if mapping_or_empty(turn).keys() == {"content"} else turn for turn in cell]
            is_said = all(isinstance(text, str) for text in texts)
            return [{"role": "user", "content": text} for text in texts] if is_said else cell
        if header not in {"inputs", "outputs", EXPECTATIONS}:
            return cell
        if header == EXPECTATIONS:
            value = object_as_printed(cell)
            return value.get(EXPECTED_RESPONSE, "") if isinstance(value, Mapping) else cell
        return only_value(cell)

    def header(self, role: str) -> str:
        """The header of a role's first column; "" where it has none."""
        column = self.layout.column(role)
        return "" if column is None else str(self.layout.headers.get(column, column))

    def faults(self, row: Row) -> list[Defect]:
        """Errors that the spreadsheet itself shows in the cells that are read, and cells after the last column."""
        columns = (column for role_columns in self.layout.columns.values() for column in role_columns)
        overlong = long_row(self.table, self.layout, row)
        return [*faults_of(self.table, row.number, columns), *filter(None, [overlong])]

    def location(self, row: Row, role: str = "") -> str:
        """Location of a row, or of its cell under a role, for messages."""
        return self.table.location(row.number, self.layout.column(role) if role else None)

    def defect(self, kind: str, row: Row, role: str, message: str) -> Defect:
        """A defect in the cell of a role, or in the row if the role has no column."""
        return Defect(kind, self.location(row, role), message)

    def id_of(self, row: Row, seen: dict[str, str], defects: list[Defect]) -> str:
        """The row's id, else one generated from its position; a duplicate id is a defect.

        Args:
            row: a row of this table.
            seen: id -> its address; the row's id is added. If duplicates are kept, a repeated one gets `#2`, `#3` ...
            defects: a duplicate id is added as a defect.
        """
        own = self.text(row, "id")
        name = own or self.prefix + self.table.row_id(row.number)
        here = self.location(row, "id" if own else "")
        if self.keeps_duplicates and name in seen:
            name = next(copy for no in count(2) if (copy := f"{name}#{no}") not in seen)
        before = seen.setdefault(name, here)
        if before != here:
            defects.append(self.defect("duplicate id", row, "id", f"the same id as {before}: {name[:40]!r}"))
        return name

    def bare_sample(self, row: Row, position: int, seen: dict[str, str], defects: list[Defect]) -> Sample:
        """The sample of a row as far as it is the same in all datasets: with id, group, cluster and position."""
        name, group = self.id_of(row, seen, defects), self.text(row, "group")
        return Sample(name, "", group=group, cluster=cluster_of(row, self.layout), metadata={"position": position})


def last_of_turns(asked: Any, reference: Any) -> Any:
    """The last of as many references as the user has turns, as an output is the reply to the last; others unchanged.

    >>> last_of_turns(["2 + 2?", "Twice that?"], ["4", "8"]), last_of_turns(["2 + 2?"], ["4"])
    ('8', ['4'])
    """
    if not isinstance(asked, list) or not isinstance(reference, list):
        return reference
    turns = sum(isinstance(turn, str) or mapping_or_empty(turn).get("role") == "user" for turn in asked)
    return reference[-1] if turns == len(reference) > 1 else reference


def joined_cells(row: Row, columns: Sequence[Column]) -> Any:
    r"""The cell in a column; the texts in several, in their order with blank lines between, blank cells skipped.

    A list or an object cannot be joined, so it is returned alone: the reader of the role accepts or refuses it.

    >>> joined_cells(Row(2, ["It rains.", "", "Why?"]), (0, 1, 2)), joined_cells(Row(2, ["a"]), ())
    ('It rains.\n\nWhy?', None)
    """
    if len(columns) < 2:
        return cell_at(row.cells, columns[0]) if columns else None
    cells = [cell_at(row.cells, column) for column in columns]
    structure = next((cell for cell in cells if isinstance(cell, list | dict) and cell), None)
    return "\n\n".join(filter(None, map(render, cells))) if structure is None else structure


def long_row(table: Table, layout: ColumnLayout, row: Row) -> Defect | None:
    """The defect of a row with filled cells after the last column; usually a comma is not in quotes."""
    width = layout.width
    if isinstance(row.cells, Mapping) or len(row.cells) <= width or not any(map(render, row.cells[width:])):
        return None
    message = f"{len(row.cells)} cells where {width} were expected; is a cell with a comma not in quotes?"
    return Defect("long row", table.location(row.number), message)


def cluster_of(row: Row, layout: ColumnLayout) -> str:
    """The cluster of a row; "" if the table has no column for it.

    A blank cell stands for the row's own id: a column that names the question which a row paraphrases is blank for that
    question itself, and so holds it together with its paraphrases. Only an id that the row states counts: one made from
    its position could be equal to a cluster's name by chance.
    """
    column, own_id = layout.column("cluster"), layout.column("id")
    if column is None:
        return ""
    return render(cell_at(row.cells, column)) or ("" if own_id is None else render(cell_at(row.cells, own_id)))


OpenTables = tuple[tuple[OpenTable, ...], tuple[str, ...]]
"""Tables with their columns, and notes for people."""
LayoutOf = Callable[[Table, Sequence[Role], SampleFiles], ColumnLayout]
"""Finds the columns of a table, as `find_layout` does."""


def open_tables(
    files: SampleFiles,
    roles: Sequence[Role],
    *,
    layout_of: LayoutOf = find_layout,
    unused: UnusedColumns | None = None,
) -> OpenTables:
    """Every table of every file with its columns, and notes for people.

    Args:
        files: the files.
        roles: what a column may be.
        layout_of: finds the columns of each table.
        unused: collects the columns without a role; by default a new one.

    Raises:
        ConfigError: a file, sheet or column does not exist, or a file is named twice.
        DataError: a file cannot be read.
    """
    tables, notes = read_tables(files)
    if not tables:
        raise DataError(f"{files.names}: no sheet with a filled cell")
    unused = unused or UnusedColumns()
    opened = tuple(
        open_table(table, layout_of(table, roles, files), prefix, (files, unused))
        for table, prefix in zip(tables, id_prefixes(files, tables), strict=True)
    )
    opened = tuple(replace(each, table=with_merged(each.table, each.layout.columns.get("id", ()))) for each in opened)
    return opened, (*notes, *(note for table in opened for note in _on_rivals(table, roles, files)))


def _on_rivals(opened: OpenTable, roles: Sequence[Role], files: SampleFiles) -> Iterator[str]:
    """A note for each second column that may have a required role."""
    layout = opened.layout
    for role, columns in rivals(layout.headers, layout.columns, roles, files.columns).items():
        used = layout.column(role)
        if used is not None:
            yield rival_note(opened.table.title, role, layout.headers[used], layout.headers[columns[0]])


def open_table(
    table: Table,
    layout: ColumnLayout,
    prefix: str,
    dataset: tuple[SampleFiles, UnusedColumns],
    *,
    options: Collection[Column] = (),
) -> OpenTable:
    """Bind a table to its layout; its cells are then read as their sheet shows them.

    Args:
        table: as it was read.
        layout: its columns.
        prefix: starts generated ids.
        dataset: which rows are read, and what collects the columns without a role.
        options: the columns of options, in which dates are suspicious.
    """
    files, unused = dataset
    refined = with_unread(table, layout, options, files.unread_kinds)
    unused.unread.extend(notes_on_unread(refined, files.unread_kinds))
    levels, columns_left = GroupLevels.of(files, table, layout), TableColumns(unused, table, layout)
    if levels is not None:
        columns_left.expect(levels.columns)
    return OpenTable(refined, layout, prefix, columns_left, files.duplicates == "keep", levels)


def with_merged(table: Table, own: Collection[Column]) -> Table:
    """The table with the text of a merged cell in each of its rows; other blank cells are never filled.

    Args:
        table: as it was read.
        own: the columns that every row fills itself.
    """
    spans = [span for span in table.merged if span.first_column == span.last_column and span.first_column not in own]
    if not spans:
        return table
    firsts = {(span.first_row, span.first_column) for span in spans}
    texts = {(row.number, at): cell for row in table for at, cell in enumerate(row.cells) if (row.number, at) in firsts}
    filled: dict[int, dict[int, Any]] = {}
    for span in spans:
        for number in range(span.first_row + 1, span.last_row + 1):
            filled.setdefault(number, {})[span.first_column] = texts.get((span.first_row, span.first_column))
    return replace(table, source=lambda: (_filled(row, filled.get(row.number, {})) for row in table))


def _filled(row: Row, cells: Mapping[int, Any]) -> Row:
    if not cells or is_blank(row):
        return row
    width = max(len(row.cells), *(column + 1 for column in cells))
    padded = [*row.cells, *[None] * (width - len(row.cells))]
    return Row(row.number, [cells.get(at) if render(cell) == "" else cell for at, cell in enumerate(padded)])


@dataclass(frozen=True, slots=True)
class RowDataset:
    """A dataset in which each row is a sample, completely read and checked.

    Args:
        samples: the selected valid rows, in order. `metadata` has `position`: the row's position, counted from 0 over
            all files, including rows that are left out.
        defects: of the rows that are left out; empty unless `skip_bad`.
        mapping: role -> column of the first table, as shown to people.
        notes: rows left out, hidden sheets, an unusual encoding, columns without a role, fewer samples than requested.
        columns: keys of the samples' metadata that are columns without a role.
        places: id -> the place of its row: file, sheet and line.
    """

    samples: tuple[Sample, ...]
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    places: Mapping[str, str]

    def located(self) -> Iterator[tuple[str, Sample]]:
        """Yield each sample with the place of its row, "" where that is not known."""
        return ((self.places.get(sample.id, ""), sample) for sample in self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __len__(self) -> int:
        return len(self.samples)


def object_as_printed(cell: Any) -> Any:
    """The object in a text, in JSON or as pandas writes it to a CSV file; None of any other text.

    What is no text is returned unchanged.
    """
    if not isinstance(cell, str):
        return cell
    value = printed_value(cell.strip()) if cell.lstrip().startswith("{") else None
    try:
        return plain_cell(value) if isinstance(value, dict) else None
    except ValueError:  # a text that no file may hold
        return None


def only_value(cell: Any) -> Any:
    """The only text, message or list of messages in an object; the object where it holds several values.

    >>> only_value({"answer": "Paris"}), only_value('{"sum": 4, "of": 2}'), only_value("Paris")
    ('Paris', {'sum': 4, 'of': 2}, 'Paris')
    """
    value = object_as_printed(cell)
    parts = list(value.values()) if isinstance(value, Mapping) else ()
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, str):
        return only.strip()
    messages = messages_in([only] if isinstance(only, Mapping) else only)
    return value or cell if messages is None else messages


TURNS: Final = "turns"
_ALIASES: Final = "answer_aliases"
EXPECTATIONS: Final = "expectations"
EXPECTED_RESPONSE: Final = "expected_response"
"""The key of the expected output in the `expectations` of MLflow's datasets."""
LEFT_OUT: Final = "left out (skip_bad)"
"""The end of the note on rows that were left out for a defect."""

SampleOf = Callable[[OpenTable, Row, Sample, list[Defect]], Sample]
"""Fills in the sample of a row, which has its id, group, cluster and position, and collects the row's defects.

A sample with defects is not used."""


def read_rows(
    files: SampleFiles, roles: Sequence[Role], sample_of: SampleOf, *, opened: OpenTables | None = None
) -> RowDataset:
    """Read and check a complete dataset in which each row is a sample.

    Args:
        files: which rows of which files.
        roles: what a column may be.
        sample_of: makes a sample from a row.
        opened: the tables and notes, where they were opened before.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no valid row is left.
    """
    tables, notes = opened or open_tables(files, roles)
    defects: list[Defect] = []
    ids: dict[str, str] = {}
    places: dict[str, str] = {}
    positions = count()
    valid: list[Sample] = []
    left_out = 0
    for table in tables:
        for row, position in zip(table.rows(), positions, strict=False):
            if table.leaves_out(row):
                continue
            table.unused.see(row)
            refuse_many(defects)
            before = len(defects)
            faults = table.faults(row)
            defects.extend(faults)
            sample = table.bare_sample(row, position, ids, defects)
            sample = sample if faults else sample_of(table, row, sample, defects)
            if len(defects) > before:
                left_out += 1
                continue
            metadata = {**table.unused.values(row), **sample.metadata, **table.table.origin}
            valid.append(replace(sample, metadata=metadata))
            places[sample.id] = table.location(row)
    if defects and not files.skip_bad:
        refuse(defects)
    if not valid:
        # `skip_bad` is on, so the usual list of defects, which recommends it, would be misleading.
        first = f"; the first defect: {defects[0]}" if defects else ""
        raise DataError(f"{files.names}: there is no valid row{first}")
    chosen = files.selected(len(valid))
    unused = tables[0].unused.dataset
    # A column that only later rows fill is blank in the earlier ones.
    blank = dict.fromkeys(unused.names, "")
    samples = tuple(
        sample if blank.keys() <= sample.metadata.keys() else replace(sample, metadata={**blank, **sample.metadata})
        for index, sample in enumerate(valid)
        if index in chosen
    )
    about = (*notes, *notes_on_columns(tables), *about_selection(files, len(samples), left_out))
    return RowDataset(samples, tuple(defects), tables[0].layout.describe(), about, tuple(unused.names), places)


def notes_on_columns(tables: Sequence[OpenTable]) -> Iterator[str]:
    """Notes on columns that were passed over, on those without a role, and on cells that hold more than text."""
    for table in tables:
        yield from table.layout.notes
    yield from tables[0].unused.dataset.notes()


def about_selection(files: SampleFiles, chosen: int, left_out: int) -> Iterator[str]:
    """Notes on fewer samples than were requested, and on rows left out for a defect.

    >>> from pathlib import Path
    >>> list(about_selection(SampleFiles(Path("a.csv"), first=3), 2, 1))
    ['3 samples were requested, but there are only 2', '1 row with a defect was left out (skip_bad)']
    """
    requested = files.first or files.last or files.random or 0
    if requested > chosen:
        yield f"{requested} samples were requested, but there are only {chosen}"
    if left_out:
        yield f"{left_out} row{' with a defect was' if left_out == 1 else 's with a defect were'} {LEFT_OUT}"
