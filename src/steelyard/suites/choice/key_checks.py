"""Checks that need a whole table: is a key of several letters or a blank option intended, or a mistake?

Keys of several letters among keys of one. Several right options are intended where

- the question itself says so: by its kind or group (多选题), its text ("select all that apply"), or a list as key; or
- at least 2 rows and 5 % of the table's sound rows have a key of several letters; or
- the suite says `several_answers: true`.

Otherwise the key is a defect: no reply solves a question whose key has a second letter by mistake. The limits are those
of blank options below. Where several are intended, all questions of the table may have several, but for those whose
kind, group or text says that one is right (单选题): replies are read by what was asked, and not by the question's key.

Keys that are numbers: do they count from 1, as people do, or from 0, as programs do?

They count from 1 unless the whole table says otherwise: every key that can be read is a number, none is as large as its
question's count of options, and 0 occurs at least twice and in at least one row of twenty. A table that counts from 1
has a last option that is right somewhere, so the rule cannot shift its keys. Where 0 occurs less often, and no last
number does, or 0 so often and a last number too, every number is a defect: one wrong key, or a subset with a single 0,
would else shift the keys of all other rows by one, in silence where defects are skipped. Where neither 0 nor the number
of a last option is a key, nothing tells: a note says so.

What keys name their options by: a key that is one option's text and another's letter or number (`5`, or `B` of the
blood groups) is read as the other keys of the table are, where all of these are texts, or all are numbers.

Questions with fewer options than their sheet has columns. A row that fills only the first k of n option columns is a
question of k options where

- at least 2 rows and 5 % of the sheet's sound rows fill exactly the first k (true/false among four options), or
- k is 3 or more, and this is so of two other numbers from 3 (questions of 4, 5 and 6 options), or
- at most half of the other rows fill column k + 1 (an option that few questions have).

Otherwise the blank cell is a defect: nearly all others fill it, so the text was lost, and a question that is asked with
an option missing would be another question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from steelyard.data.headers import rival_note, rivals
from steelyard.data.parquet import ClassName
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Defect, Row, cell_at, is_blank_cell, render
from steelyard.replies.answer_key import wants_several
from steelyard.suites.choice.keys import LETTERS, KeyForm, key_readings, says_several
from steelyard.suites.choice.options import options_of
from steelyard.suites.choice.reading import ROLES, ChoiceQuestion, ChoiceTable, read_row, row_options

_LEAST_ROWS: Final = 2
_LEAST_SHARE: Final = 0.05
_TRUE_OR_FALSE: Final = 2
_SHOWN: Final = 3


class SeveralKeys:
    """Counts the keys of one table that have several letters.

    Args:
        reading: the table.
        meant: whether the suite says that some questions have several right options.
    """

    def __init__(self, reading: ChoiceTable, *, meant: bool) -> None:
        self._reading = reading
        self._meant = meant or says_several(reading.table.title) is True
        self._total = 0
        self._declared = 0
        self._listed = False
        self._rows: list[tuple[int, int]] = []

    def add(self, row: Row, position: int, question: ChoiceQuestion) -> None:
        """Count a sound row; `position` is its place among all sound rows of the dataset."""
        self._total += 1
        if wants_several(question.key):
            self._listed = self._listed or self._is_list(row)
            if self._is_list(row) or self._reading.says_several(row, question):
                self._declared += 1
            else:
                self._rows.append((row.number, position))

    def slips(self) -> Iterator[tuple[int, int, Defect]]:
        """(number, position, defect) of every row whose key has more letters than intended."""
        if not self._rows or self._is_meant():
            return
        several = len(self._rows)
        single = self._total - several - self._declared
        for number, position in self._rows:
            message = (
                f"the key has several letters, and {single} of {self._total - 1} other keys have one; if several "
                "options are right, say several_answers: true in the configuration"
            )
            yield number, position, Defect("several letters", self._place(number), message)

    def note(self) -> str:
        """A note on keys of several letters, if they are few; "" if they are many or were declared."""
        several = len(self._rows)
        if not several or self._meant or not self._is_meant() or 2 * (several + self._declared) > self._total:
            return ""
        places = ", ".join(self._place(number) for number, _ in self._rows[:_SHOWN])
        more = " ..." if several > _SHOWN else ""
        return f"{several} of {self._total} keys have several letters: {places}{more}"

    def are_meant(self) -> bool:
        """Whether any question of the table may have several right options, unless it says that one is right."""
        return bool(self._total) and (self._listed or self._is_meant())

    def _is_meant(self) -> bool:
        several = len(self._rows) + self._declared
        enough = several >= _LEAST_ROWS and several >= _LEAST_SHARE * self._total
        return self._meant or enough or several == self._total

    def _place(self, number: int) -> str:
        return self._reading.table.location(number, self._reading.answer)

    def _is_list(self, row: Row) -> bool:
        return isinstance(cell_at(row.cells, self._reading.answer), list)


def first_number(reading: ChoiceTable) -> tuple[int | None, str]:
    """The number that means A in this table, 0 or 1 (None where nothing tells), and a note where 1 is assumed.

    One pass over its rows, which ends with the first key that names an option otherwise.
    """
    if reading.answer in reading.options:  # the column of the right option, whose cells are texts
        return 1, ""
    rows = zeros = lasts = 0
    for row in reading.rows():
        value = cell_at(row.cells, reading.answer)
        parts = value if isinstance(value, list) else [value]
        keys = [key for part in parts if not isinstance(part, Mapping) and (key := render(part))]
        if not keys:
            continue
        numbers, most = _numbers_in(value, keys), _most(reading, row)
        if numbers and len(keys) == most and numbers <= {0, 1}:
            return 1, ""  # a 1 for each right option and a 0 for each other are no numbers of options
        if numbers and max(numbers) <= most:
            rows, zeros, lasts = rows + 1, zeros + (0 in numbers), lasts + (most in numbers)
        elif _names_option(reading, row, value):
            return 1, ""
    return _counted_from(rows, zeros, lasts)


def _counted_from(rows: int, zeros: int, lasts: int) -> tuple[int | None, str]:
    enough = zeros >= _LEAST_ROWS and zeros >= _LEAST_SHARE * rows
    if lasts:
        return None if enough else 1, ""
    if zeros:
        return 0 if enough else None, ""
    note = (
        "the keys are numbers, read as counted from 1 (1 is A); neither 0 nor the number of a last option is among "
        "them, so where they count from 0, write letters"
    )
    return 1, note if rows else ""


def _numbers_in(value: Any, keys: Sequence[str]) -> set[int]:
    """The numbers that a key consists of; none of a class or another key."""
    are_digits = not isinstance(value, ClassName) and all(key.isascii() and key.isdigit() for key in keys)
    return {int(key[:9]) for key in keys} if are_digits else set()


def _names_option(reading: ChoiceTable, row: Row, value: Any) -> bool:
    """Whether a key that is no number of an option names one all the same; several are taken to do so."""
    if isinstance(value, ClassName | list):
        return True
    options_read = row_options(reading, row, [])
    return bool(key_readings(render(value), options_read.options, options_read.raw.texts, count_from=None))


def form_of_keys(reading: ChoiceTable) -> KeyForm | None:
    """What the keys of a table name their options by, where it is not letters; None where that is mixed or unknown.

    One pass over its rows, which ends with the first key that can only be letters.
    """
    form: KeyForm | None = None
    rows = 0
    for row in reading.rows():
        value = cell_at(row.cells, reading.answer)
        key = "" if isinstance(value, list | Mapping) else render(value)
        options_read = row_options(reading, row, []) if key else None
        if options_read is None or not options_read.options:
            continue
        if isinstance(value, ClassName) or options_read.raw.labels:
            return None
        readings = key_readings(key, options_read.options, options_read.raw.texts, count_from=reading.count_from)
        forms = {named_by for named_by, _ in readings}
        if len(forms) == 1:
            if forms == {"letters"} or (form and form not in forms):
                return None
            form, rows = forms.pop(), rows + 1
    return form if rows >= _LEAST_ROWS else None


def notes_on_rivals(reading: ChoiceTable, files: SampleFiles) -> Iterator[str]:
    """Notes on second columns for the question, options or key; none on a key that is the same in every row."""
    layout = reading.layout
    for role, columns in rivals(layout.headers, layout.columns, ROLES, files.columns).items():
        used, about = layout.column(role), ""
        if role == "answer":
            if all(is_blank_cell(cell_at(row.cells, columns[0])) for row in reading.rows()):
                continue  # a blank column is no key
            total, different, first = _compared_keys(reading, columns[0])
            if not different:
                continue
            about = f" (another key, or none, in {different} of {total} rows, first {first})"
        if used is not None:
            yield rival_note(reading.table.title, role, layout.headers[used], layout.headers[columns[0]], about)


def _compared_keys(reading: ChoiceTable, column: Column) -> tuple[int, int, str]:
    """How many sound rows there are, in how many the other column has another key, and where the first is."""
    total = different = 0
    first = ""
    layout = replace(reading.layout, columns={**reading.layout.columns, "answer": (column,)})
    other = replace(reading, layout=layout, count_from=1, form=None)
    other = replace(other, count_from=0) if first_number(other)[0] == 0 else replace(other, form=form_of_keys(other))
    for row in reading.rows():
        question = read_row(reading, row, [])
        if question is None:
            continue
        rival = read_row(other, row, [])
        total += 1
        if rival is None or rival.key != question.key:
            different += 1
            first = first or reading.table.location(row.number, column)
    return total, different, first


def _most(reading: ChoiceTable, row: Row) -> int:
    """How many options the row has; 0 where they cannot be read or have labels of their own."""
    if len(reading.options) != 1:
        return sum(bool(render(cell_at(row.cells, column))) for column in reading.options)
    try:
        options = options_of(cell_at(row.cells, reading.options[0]))
    except ValueError:
        return 0
    return 0 if options.labels else len(options.texts)


@dataclass(slots=True)
class OptionCounts:
    """Counts the options of one table's rows.

    Args:
        reading: the table.
    """

    reading: ChoiceTable
    _rows: Counter[int] = field(default_factory=Counter)
    _fewer: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, number: int, position: int, options: int) -> None:
        """Count a sound row.

        Args:
            number: of the row in its table.
            position: among all sound rows of the dataset, to find it again.
            options: how many it has.
        """
        self._rows[options] += 1
        if options < len(self.reading.options) > 1:
            self._fewer.setdefault(options, []).append((number, position))

    def lost(self) -> Iterator[tuple[int, int, Defect]]:
        """(number, position, defect) of every row with a blank where an option was lost."""
        for options, rows in self._fewer.items():
            if not self._is_meant(options):
                for number, position in rows:
                    cell = self.reading.table.location(number, self.reading.options[options])
                    message = f"option {LETTERS[options]} is blank, but filled in {self._share(options)} other rows"
                    yield number, position, Defect("blank option", cell, message)

    def note(self) -> str:
        """A note on questions with fewer options, and the first cells; empty if there is none."""
        cells = sorted(
            (number, options) for options, rows in self._fewer.items() if self._is_meant(options) for number, _ in rows
        )
        if not cells:
            return ""
        places = [self.reading.table.location(number, self.reading.options[at]) for number, at in cells[:_SHOWN]]
        subject = f"{len(cells)} questions have" if len(cells) > 1 else "1 question has"
        return f"{subject} fewer options than there are columns: blank from {', '.join(places)}" + (
            " ..." if len(cells) > _SHOWN else ""
        )

    def _is_meant(self, options: int) -> bool:
        total, rows = self._rows.total(), self._rows[options]
        # Two common counts beside those of true or false: this sheet's questions have as many options as they need.
        common = [count for count, times in self._rows.items() if times >= max(_LEAST_ROWS, _LEAST_SHARE * total)]
        if options > _TRUE_OR_FALSE and sum(count > _TRUE_OR_FALSE for count in common) > 1:
            return True
        if rows >= _LEAST_ROWS and rows >= _LEAST_SHARE * total:
            return True
        return 2 * self._longer(options) <= total - 1

    def _longer(self, options: int) -> int:
        return sum(rows for filled, rows in self._rows.items() if filled > options)

    def _share(self, options: int) -> str:
        return f"{self._longer(options)} of {self._rows.total() - 1}"
