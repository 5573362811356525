"""Reads files into samples of the `choice` suite; all defects are reported in one pass, before any call.

A column is no passage if it repeats the questions; a row may leave its passage to the row above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice, repeat
from operator import itemgetter
from typing import Final

from steelyard.analysis.numbers import count_text
from steelyard.data.columns import HEAD_ROWS, ColumnLayout, find_layout
from steelyard.data.load import id_prefixes, read_tables
from steelyard.data.rows import about_selection, joined_cells
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import MAX_DEFECTS, Column, Defect, Row, Table, cell_at, is_blank, refuse, refuse_many, render
from steelyard.data.unread import OWN_KEYS, UnusedColumns, named_cells
from steelyard.errors import ConfigError, DataError
from steelyard.suites.choice.key_checks import (
    OptionCounts,
    SeveralKeys,
    first_number,
    form_of_keys,
    notes_on_rivals,
)
from steelyard.suites.choice.keys import LETTERS, MAX_OPTIONS
from steelyard.suites.choice.reading import (
    DOUBTFUL_KEY,
    NO_OPTIONS,
    NOT_COPIED,
    ROLES,
    ROLES_OF_POINTS,
    ROLES_WITHOUT_OPTIONS,
    ChoiceQuestion,
    ChoiceTable,
    Copy,
    open_reading,
    read_row,
    row_options,
)
from steelyard.types import Sample

_LEAST_LENGTH: Final = 6
"""Characters from which a question that stands in a text is there for itself, and not by chance."""


def without_repeated_question(table: Table, layout: ColumnLayout, files: SampleFiles) -> ColumnLayout:
    """The layout without a passage column whose texts contain the questions.

    Files for training have a column `text` with the whole prompt, often with the answer. A column that the user names
    is kept.
    """
    if "passage" in files.columns or "passage" not in layout.columns:
        return layout
    repeats = list(_repeats(table, layout))
    if not repeats or 2 * sum(repeats) < len(repeats):
        return layout
    columns = {role: places for role, places in layout.columns.items() if role != "passage"}
    header = layout.describe()["passage"]
    note = f"{table.title}: column {header:.40} contains the questions, so it is not read as their passage"
    return replace(layout, columns=columns, notes=(*layout.notes, note))


def _repeats(table: Table, layout: ColumnLayout) -> Iterator[bool]:
    """Whether the passage contains the question, for the first rows that have both."""
    for row in islice(layout.rows(table), HEAD_ROWS):
        question, passage = (render(joined_cells(row, layout.columns[role])) for role in ("question", "passage"))
        if passage and len(question) >= _LEAST_LENGTH:
            yield question in passage


@dataclass(slots=True)
class BlankPassages:
    """Questions whose passage is blank below one that has it: it may be written once for several.

    A merged cell says so, and is filled; a blank of a CSV file does not. The parts of a joined question count too.

    Args:
        reading: the table.
    """

    reading: ChoiceTable
    _total: int = 0
    _blank: dict[Column, list[int]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count a sound row."""
        self._total += 1
        columns = self.reading.layout.columns
        joined = columns["question"] if len(columns["question"]) > 1 else ()
        for column in (*columns.get("passage", ()), *joined):
            if render(cell_at(row.cells, column)):
                self._blank.setdefault(column, [])
            elif column in self._blank:
                self._blank[column].append(row.number)

    def notes(self) -> Iterator[str]:
        """A note for each column with such cells."""
        table = self.reading.table
        for column, rows in self._blank.items():
            if rows:
                cells = named_cells(table, [(number, column) for number in rows])
                yield (
                    f"{table.title}: {self.reading.layout.name_of(column)} is blank in {len(rows)} of {self._total} "
                    f"questions, which are asked without it: {cells}; where the text above holds for them too, repeat "
                    "it in each row, or merge its cells in a spreadsheet"
                )


_HEAD: Final = 50
"""Rows that tell whether questions hold their options."""


@dataclass(frozen=True, slots=True)
class ChoiceSamples:
    """Samples in the order of the dataset; each iteration reads the rows again, none is held.

    Args:
        readings: the tables.
        bad: (position of the table, number of the row) of rows that are left out.
        selected: positions among the sound rows.
        count: how many are selected.
    """

    readings: Sequence[ChoiceTable]
    bad: Container[tuple[int, int]]
    selected: Container[int]
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Sample]:
        return (reading.sample(row, question) for reading, row, question in self.rows())

    def rows(self) -> Iterator[tuple[ChoiceTable, Row, ChoiceQuestion]]:
        """Yield each sample's table, row and question, for messages that name its location."""
        position = yielded = 0
        for index, reading in enumerate(self.readings):
            for row in reading.rows():
                question = None if (index, row.number) in self.bad else read_row(reading, row, [])
                if question is None:
                    continue
                # Positions count sound rows only, as the draw was made among these.
                if position in self.selected:
                    yielded += 1
                    yield reading, row, question
                    if yielded == self.count:
                        return
                position += 1


@dataclass(frozen=True, slots=True)
class ChoiceData:
    """A dataset of multiple-choice questions with its counts and notes.

    Args:
        samples: re-iterable; memory stays flat for files that stream.
        defects: every defect found, in order.
        mapping: role -> column of the first table, as a person names it.
        key_histogram: how often each key occurs among the samples.
        notes: hidden sheets left out, the header row used, an unusual encoding, questions with fewer options than
            columns, fewer samples than asked for.
        readings: each table with its layout; `reading.layout.describe()` is its mapping.
        columns: keys of the samples' metadata that are columns without a role.
    """

    samples: ChoiceSamples
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    key_histogram: Mapping[str, int]
    notes: tuple[str, ...]
    readings: tuple[ChoiceTable, ...]
    columns: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.samples)

    @property
    def has_points(self) -> bool:
        """Whether a table says what its questions are worth, or what a wrong answer costs."""
        return any(role in reading.layout.columns for reading in self.readings for role in ROLES_OF_POINTS)


def load_choice(files: SampleFiles, *, several_answers: bool = False) -> ChoiceData:
    """Read and check the whole dataset as `examine_choice` does, and refuse one with defects.

    Args:
        files: the dataset.
        several_answers: whether some questions have several right options, however few they are.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read; rows have defects and `skip_bad` is off (the message lists up to 20); or
            no sound row is left.
    """
    data = examine_choice(files, several_answers=several_answers)
    if not data.n or (data.defects and not files.skip_bad):
        refuse(data.defects)
    return data


def examine_choice(files: SampleFiles, *, several_answers: bool = False) -> ChoiceData:
    """Read and check the whole dataset and return its defects; the questions are not held in memory.

    A duplicate is the same question with the same options in any order: exams repeat a stem ("which is right?")
    with other options. Blank rows are not a defect. Blank options at the end of a row are a defect unless the sheet
    shows that they are intended: see `OptionCounts`; so is a key of several letters among keys of one letter: see
    `SeveralKeys`.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, or there is no question in any.
    """
    tables, notes = read_tables(files)
    if not tables:
        raise DataError(f"{files.names}: no sheet with a filled cell")
    unused = UnusedColumns(OWN_KEYS.union(ROLES_OF_POINTS))
    readings = tuple(map(_reading, tables, repeat(files), id_prefixes(files, tables), repeat(unused)))
    keeps = files.duplicates == "keep"
    check = _ChoiceCheck(readings, several_answers=several_answers, keeps=keeps)
    if check.doubtful:
        # Only then the keys of the whole table are compared, which takes as long as reading it.
        readings = tuple(
            replace(reading, form=form_of_keys(reading)) if index in check.doubtful else reading
            for index, reading in enumerate(readings)
        )
        check = _ChoiceCheck(readings, several_answers=several_answers, keeps=keeps)
    if not check.keys and not check.defects:
        raise DataError(f"{readings[0].table.title}: there is no question below its header")
    _refuse_worthless(readings, check)
    readings = tuple(
        replace(reading, copies=copies, several=several)
        for reading, copies, several in zip(readings, check.copies, check.several(), strict=True)
    )
    selected = files.selected(len(check.keys))
    keys = [key for position, key in enumerate(check.keys) if position in selected]
    return ChoiceData(
        ChoiceSamples(readings, frozenset(check.bad), selected, len(keys)),
        tuple(check.defects),
        readings[0].layout.describe(),
        dict(sorted(Counter(keys).items())),
        (
            *notes,
            *_notes_on_layouts(readings),
            *(note for reading in readings for note in notes_on_rivals(reading, files)),
            *unused.notes(),
            *_notes_on_points(readings),
            *check.notes(),
            *about_selection(files, len(keys), len(check.bad) if files.skip_bad else 0),
        ),
        readings,
        tuple(unused.names),
    )


def _reading(table: Table, files: SampleFiles, prefix: str, unused: UnusedColumns) -> ChoiceTable:
    try:
        layout = find_layout(table, ROLES, files)
    except ConfigError:
        # Options may be in the question's cell, or implied by the keys of true-or-false questions.
        try:
            layout = find_layout(table, ROLES_WITHOUT_OPTIONS, files)
        except ConfigError:
            layout = ColumnLayout({})
        has_header = layout.header_row is not None or table.keyed or files.columns
        if not layout.columns or not has_header or not _has_questions(_tried(table, layout, files)):
            raise
    layout = without_repeated_question(table, layout, files)
    options = len(layout.columns.get("options", ()))
    if options > MAX_OPTIONS:
        raise ConfigError(f"columns: {table.title}: options have 1 to {MAX_OPTIONS} columns, not {options}")
    reading = open_reading(table, layout, prefix, (files, unused))
    first, note = first_number(reading)
    notes = (*layout.notes, f"{table.title}: {note}") if note else layout.notes
    return replace(reading, count_from=first, layout=replace(layout, notes=notes))


def _tried(table: Table, layout: ColumnLayout, files: SampleFiles) -> ChoiceTable:
    return open_reading(table, layout, "", (files, UnusedColumns()))


def _has_questions(reading: ChoiceTable) -> bool:
    """Whether half of the first rows of a table without a column of options have options all the same."""
    defects: list[Defect] = []
    head = [row for row in islice(reading.rows(), _HEAD) if not is_blank(row)]
    with_options = sum(bool(row_options(reading, row, defects).options) for row in head)
    with_options += sum(defect.kind != NO_OPTIONS for defect in defects)
    return 2 * with_options >= max(len(head), 1)


def _notes_on_layouts(readings: Sequence[ChoiceTable]) -> Iterator[str]:
    for reading in readings:
        yield from reading.layout.notes
        if reading.count_from == 0:
            yield f"{reading.table.title}: the numbers of the keys count from 0, so 0 is A"
        if reading.joined:
            yield f"{reading.table.title}: one option a row; the rows of each question are joined"
        if not reading.options:
            yield f"{reading.table.title}: no column of options; they are in the questions' cells, or true and false"
        if (reading.layout.header_row or 0) > 1:
            yield f"{reading.table.title}: the headers are in {reading.table.unit} {reading.layout.header_row}"
        elif not reading.layout.header_row and not reading.table.keyed:
            yield f"{reading.table.title}: no header row, columns by position or letter"


def _refuse_worthless(readings: Sequence[ChoiceTable], check: _ChoiceCheck) -> None:
    """Refuse an exam none of whose questions is worth a point.

    Raises:
        DataError: the column, and what to do.
    """
    columns = [
        f"{reading.table.title} column {reading.layout.describe()['points']}"
        for reading in readings
        if "points" in reading.layout.columns
    ]
    if len(columns) == len(readings) and check.keys and not check.points:
        bad = len(check.bad)
        counted = f" without a defect, of {len(check.keys) + bad:,}," if bad else ""
        first = f". The first defect of the {bad:,} others: {check.defects[0]}" if check.defects else ""
        raise DataError(
            f"the points of all {len(check.keys):,} questions{counted} sum to 0 ({', '.join(columns)}); give questions "
            f"their points, or name another column: columns: {{points: NAME}}{first}"
        )


def _notes_on_points(readings: Sequence[ChoiceTable]) -> Iterator[str]:
    """A note for each table without points where others have them: its questions count 1 point each."""
    if any("points" in reading.layout.columns for reading in readings):
        for reading in readings:
            if "points" not in reading.layout.columns:
                yield f"{reading.table.title}: no column of points, so each of its questions is worth 1 point"


class _ChoiceCheck:
    """One pass over all rows: what is bad, the keys of what is sound, and what occurs more than once.

    Args:
        readings: the tables.
        several_answers: whether some questions have several right options, however few they are.
        keeps: whether repeated questions and ids are kept.
    """

    def __init__(self, readings: Sequence[ChoiceTable], *, several_answers: bool, keeps: bool) -> None:
        self.bad: set[tuple[int, int]] = set()
        self.doubtful: set[int] = set()
        self.keys: list[str] = []
        self.points = 0.0
        self._readings = readings
        self._keeps = keeps
        self._firsts: dict[int, tuple[int, int]] = {}
        self._by_id: dict[str, list[tuple[int, int]]] = {}
        self._by_question: dict[int, list[tuple[int, int, str]]] = {}
        self._found: list[tuple[int, int, Defect]] = []
        self._counts = [OptionCounts(reading) for reading in readings]
        self._several = [SeveralKeys(reading, meant=several_answers) for reading in readings]
        self._blank = [BlankPassages(reading) for reading in readings]
        for index, reading in enumerate(readings):
            for row in reading.rows():
                reading.unused.see(row)
                self._add(index, reading, row)
                if len(self._found) > MAX_DEFECTS:
                    refuse_many([defect for *_, defect in self._found])
        self.copies = self._named_copies()
        self._drop_lost()
        self._found.sort(key=itemgetter(0, 1))
        self.defects = [defect for *_, defect in self._found]

    def notes(self) -> list[str]:
        """Notes on the tables that are not defects."""
        notes = [*(count.note() for count in self._counts), *(keys.note() for keys in self._several)]
        renamed = sum(bool(copy.id) for copies in self.copies for copy in copies.values())
        clusters = Counter(copy.cluster for copies in self.copies for copy in copies.values() if copy.cluster)
        parts = []
        if clusters:
            copies = clusters.total() - len(clusters)
            parts.append(
                f"questions that occur more than once are kept: {len(clusters)}, with {count_text(copies, 'copy')}; "
                "a question and its copies count as one in every interval"
            )
        if renamed:
            parts.append(f"repeated ids that got a number, as in id#2: {renamed}")
        notes += ["; ".join(parts), *(note for blank in self._blank for note in blank.notes())]
        return [note for note in notes if note]

    def several(self) -> Iterator[bool]:
        """For each table, whether a question that does not say may have several right options."""
        return (keys.are_meant() for keys in self._several)

    def _named_copies(self) -> list[dict[int, Copy]]:
        """The ids of rows whose id occurred before, and the clusters of questions that occur more than once."""
        copies: list[dict[int, Copy]] = [{} for _ in self._readings]
        for own_id, places in self._by_id.items():
            names = (name for no in count(2) if (name := f"{own_id}#{no}") not in self._by_id)
            for (index, number), name in zip(places[1:], names, strict=False):
                copies[index][number] = Copy(name)
        for rows in self._by_question.values():
            first, first_number, name = rows[0]
            cluster = copies[first].get(first_number, NOT_COPIED).id or name
            for index, number, _ in rows if len(rows) > 1 else ():
                copies[index][number] = copies[index].get(number, NOT_COPIED)._replace(cluster=cluster)
        return copies

    def _drop_lost(self) -> None:
        """Drop rows that only the whole table shows to be bad: an option was lost, or a key has a letter too many."""
        lost_positions: set[int] = set()
        for index, (counts, several) in enumerate(zip(self._counts, self._several, strict=True)):
            for number, position, defect in (*counts.lost(), *several.slips()):
                lost_positions.add(position)
                self.bad.add((index, number))
                self._found.append((index, number, defect))
        self.keys = [key for position, key in enumerate(self.keys) if position not in lost_positions]

    def _add(self, index: int, reading: ChoiceTable, row: Row) -> None:
        defects: list[Defect] = []
        question = read_row(reading, row, defects)
        if question is None and not defects:
            return
        mark = self._find_repeated(index, row, question, defects)
        if question and not defects:
            # Whether the letter of the key is the text of another option: B of the blood groups.
            key, options = question.key, question.options
            if len(key) == 1 and key in options and options[LETTERS.index(key)] != key:
                self.doubtful.add(index)
            if not question.apart:
                self._counts[index].add(row.number, len(self.keys), len(question.options))
            self._several[index].add(row, len(self.keys), question)
            self._blank[index].add(row)
            if self._keeps:
                name = reading.name_of(row)
                self._by_id.setdefault(name, []).append((index, row.number))
                self._by_question.setdefault(mark, []).append((index, row.number, name))
            self.points += question.worth.get("points", 1.0)
            self.keys.append(question.key)
        else:
            if any(defect.kind == DOUBTFUL_KEY for defect in defects):
                self.doubtful.add(index)
            self._found.extend((index, row.number, defect) for defect in defects)
            self.bad.add((index, row.number))

    def _find_repeated(self, index: int, row: Row, question: ChoiceQuestion | None, defects: list[Defect]) -> int:
        """Add the defects of a repeated question and id, unless duplicates are kept; returns the question's hash."""
        mark, repeats = 0, list[Defect]()
        reading = self._readings[index]
        if question:
            # Options as a set: a repeated question in another order of options is still a repeated question.
            mark = hash(("".join(question.text.split()), question.passage, frozenset(question.options)))
            if earlier := self._place_before(mark, index, row, "question"):
                message = f"the same question as {earlier}"
                repeats.append(reading.defect("duplicate question", row, "question", message))
        own_id = reading.text(row, "id")
        if own_id and (earlier := self._place_before(hash((own_id,)), index, row, "id")):
            message = f"the same id as {earlier}: {own_id[:40]!r}"
            repeats.append(reading.defect("duplicate id", row, "id", message))
        defects += [] if self._keeps else repeats
        return mark

    def _place_before(self, mark: int, index: int, row: Row, role: str) -> str:
        """Location of the first row with this hash, of which 8 bytes are held and not the text; "" for the first."""
        first = self._firsts.setdefault(mark, (index, row.number))
        reading = self._readings[first[0]]
        is_first = first == (index, row.number)
        return "" if is_first else reading.table.location(first[1], reading.layout.column(role))
