"""Reads files into samples of the `choice` suite; all defects are reported in one pass, before any call."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from operator import itemgetter
from sys import intern

from steelyard.data.columns import find_layout
from steelyard.data.load import id_prefixes, read_tables
from steelyard.data.rows import about_selection
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import MAX_DEFECTS, Column, Defect, Row, Table, refuse, refuse_many
from steelyard.errors import ConfigError, DataError
from steelyard.suites.choice.key_checks import OptionCounts, SeveralKeys, counts_from_zero
from steelyard.suites.choice.keys import MAX_OPTIONS
from steelyard.suites.choice.reading import ROLES, ChoiceQuestion, ChoiceTable, open_reading, read_row
from steelyard.types import Sample


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
        skipped: rows left out for a defect; `load_choice` gives data with such rows only with `skip_bad`.
        defects: every defect found, in order.
        mapping: role -> column of the first table, as a person names it.
        key_histogram: how often each key occurs among the samples.
        notes: hidden sheets left out, the header row used, an unusual encoding, questions with fewer options than
            columns, fewer samples than asked for.
        readings: each table with its layout; `reading.layout.describe()` is its mapping.
    """

    samples: ChoiceSamples
    skipped: int
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    key_histogram: Mapping[str, int]
    notes: tuple[str, ...]
    readings: tuple[ChoiceTable, ...]

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.samples)


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
    """Read and check the whole dataset and return its defects; of streamed files only hashes are held in memory.

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
    readings = tuple(map(_reading, tables, repeat(files), id_prefixes(files, tables)))
    check = _check(readings, several_answers=several_answers)
    if not check.keys and not check.defects:
        raise DataError(f"{readings[0].table.title}: there is no question below its header")
    readings = tuple(
        replace(reading, several=several) for reading, several in zip(readings, check.several(), strict=True)
    )
    selected = files.selected(len(check.keys))
    keys = [key for position, key in enumerate(check.keys) if position in selected]
    return ChoiceData(
        ChoiceSamples(readings, frozenset(check.bad), selected, len(keys)),
        len(check.bad),
        tuple(check.defects),
        readings[0].layout.describe(),
        dict(sorted(Counter(keys).items())),
        (
            *notes,
            *_notes_on_layouts(readings),
            *check.notes(),
            *about_selection(files, len(keys), len(check.bad) if files.skip_bad else 0),
        ),
        readings,
    )


def _reading(table: Table, files: SampleFiles, prefix: str) -> ChoiceTable:
    layout = find_layout(table, ROLES, files)
    options = len(layout.columns.get("options", ()))
    if options > MAX_OPTIONS:
        raise ConfigError(f"columns: {table.title}: options have 1 to {MAX_OPTIONS} columns, not {options}")
    reading = open_reading(table, layout, prefix)
    return replace(reading, count_from=0) if counts_from_zero(reading) else reading


def _notes_on_layouts(readings: Sequence[ChoiceTable]) -> Iterator[str]:
    for reading in readings:
        if reading.count_from == 0:
            yield f"{reading.table.title}: the numbers of the keys count from 0, so 0 is A"
        if (reading.layout.header_row or 0) > 1:
            yield f"{reading.table.title}: the headers are in {reading.table.unit} {reading.layout.header_row}"
        elif not reading.layout.header_row and not reading.table.keyed:
            yield f"{reading.table.title}: no header row, columns by position or letter"


def _check(readings: Sequence[ChoiceTable], *, several_answers: bool) -> _ChoiceCheck:
    """Check all rows with 16 bytes of memory a row: what occurs twice is found by hashes of 8 bytes.

    Only where something does, a second pass finds the places; a mapping from hash to place would take 300 bytes a row.
    """
    first_pass = _ChoiceCheck(readings, frozenset(), several_answers=several_answers)
    repeated = first_pass.repeated()
    return _ChoiceCheck(readings, repeated, several_answers=several_answers) if repeated else first_pass


class _ChoiceCheck:
    """One pass over all rows: what is bad, the keys of what is sound, and hashes of questions and ids."""

    def __init__(self, readings: Sequence[ChoiceTable], repeated: frozenset[int], *, several_answers: bool) -> None:
        self.bad: set[tuple[int, int]] = set()
        self.keys: list[str] = []
        self._marks = array("q")
        self._repeated = repeated
        self._places: dict[int, str] = {}
        self._found: list[tuple[int, int, Defect]] = []
        self._counts = [OptionCounts(reading) for reading in readings]
        self._several = [SeveralKeys(reading, meant=several_answers) for reading in readings]
        for index, reading in enumerate(readings):
            for row in reading.rows():
                self._add(index, reading, row)
                if len(self._found) > MAX_DEFECTS:
                    refuse_many([defect for *_, defect in self._found])
        self._drop_lost()
        self._found.sort(key=itemgetter(0, 1))
        self.defects = [defect for *_, defect in self._found]

    def notes(self) -> list[str]:
        """Notes on the tables that are not defects."""
        notes = [*(count.note() for count in self._counts), *(keys.note() for keys in self._several)]
        return [note for note in notes if note]

    def several(self) -> Iterator[bool]:
        """For each table, whether a question that does not say may have several right options."""
        return (keys.are_meant() for keys in self._several)

    def _drop_lost(self) -> None:
        """Drop rows that only the whole table shows to be bad: an option was lost, or a key has a letter too many."""
        lost_positions: set[int] = set()
        for index, (counts, several) in enumerate(zip(self._counts, self._several, strict=True)):
            for number, position, defect in (*counts.lost(), *several.slips()):
                lost_positions.add(position)
                self.bad.add((index, number))
                self._found.append((index, number, defect))
        self.keys = (
            [key for position, key in enumerate(self.keys) if position not in lost_positions]
            if lost_positions
            else self.keys
        )

    def repeated(self) -> frozenset[int]:
        """Hashes that occur more than once."""
        return frozenset(mark for mark, following in pairwise(sorted(self._marks)) if mark == following)

    def _add(self, index: int, reading: ChoiceTable, row: Row) -> None:
        defects: list[Defect] = []
        question = read_row(reading, row, defects)
        if question is None and not defects:
            return
        if question:
            # Options as a set: a repeated question in another order of options is still a repeated question.
            mark = hash(("".join(question.text.split()), frozenset(question.options)))
            if earlier := self._place_before(mark, reading, row, reading.question):
                message = f"the same question as {earlier}"
                defects.append(reading.defect("duplicate question", row, reading.question, message))
        own_id = reading.own_id(row)
        if own_id and (earlier := self._place_before(hash((own_id,)), reading, row, reading.id)):
            defects.append(
                reading.defect("duplicate id", row, reading.id, f"the same id as {earlier}: {own_id[:40]!r}")
            )
        if question and not defects:
            if not question.judged:
                self._counts[index].add(row.number, len(self.keys), len(question.options))
            self._several[index].add(row, len(self.keys), question)
            # Interned, as 100,000 questions have a few dozen different keys.
            self.keys.append(intern(question.key))
        else:
            self._found.extend((index, row.number, defect) for defect in defects)
            self.bad.add((index, row.number))

    def _place_before(self, mark: int, reading: ChoiceTable, row: Row, column: Column | None) -> str:
        """Location of the first row with this hash; "" for that row itself, and during the whole first pass."""
        self._marks.append(mark)
        if mark not in self._repeated:
            return ""
        location = reading.table.location(row.number, column)
        before = self._places.setdefault(mark, location)
        return before if before != location else ""
