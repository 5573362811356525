"""Reads one row of a table as a question with what it is worth, and collects the row's defects."""

# Why it is so, and what was rejected: docs/decisions/analysis-points.md

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.data.columns import ColumnLayout
from steelyard.data.headers import Role
from steelyard.data.parquet import ClassName
from steelyard.data.rows import OpenTable, cluster_of, joined_cells, open_table, with_merged
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import (
    Column,
    Defect,
    Row,
    Table,
    cell_at,
    column_letter,
    is_blank,
    is_blank_cell,
    render,
    titled_passages,
)
from steelyard.data.unread import UnusedColumns
from steelyard.normal_form import nfkc
from steelyard.prompts.conversation import flaw_in, messages_in, transcript_of
from steelyard.prompts.sample_values import with_passage
from steelyard.scorers.choice import DEDUCTION, POINTS
from steelyard.suites.choice.keys import (
    LETTERS,
    MAX_OPTIONS,
    DoubtfulKeyError,
    KeyForm,
    cut_labels,
    judged_key,
    judged_options,
    key_of_class,
    key_of_label,
    options_of_judged,
    read_key,
    says_several,
)
from steelyard.suites.choice.options import OptionRows, OptionTexts, cut_question, holds_key, options_of
from steelyard.types import Message, Sample

_NUMBER: Final = re.compile(
    r"(?P<sign>[-+\u2212]?)(?P<number>\d{1,9}(?:\.\d{1,9})?)(?:/(?P<parts>[1-9]\d{0,5}))?"
    r"(?: ?(?:分|点|점|points?|pts?|marks?)\.?)?",
    re.IGNORECASE,
)
ROLES_OF_POINTS: Final = (POINTS, DEDUCTION)


def points_in(value: Any, role: str) -> float:
    """The number of points in a cell: `5`, `2.5`, `1/3`, `5分`, `5 points`; a blank deduction is 0.

    Args:
        value: the cell.
        role: `points` or `deduction`.

    Raises:
        ValueError: it is blank, no number, or negative; the message says what to write.

    >>> points_in("５分", "points"), points_in("1/4", "deduction"), points_in(None, "deduction")
    (5.0, 0.25, 0.0)
    """
    text = nfkc(render(value)).strip()
    if not text and role == DEDUCTION:
        return 0.0
    match = _NUMBER.fullmatch(text)
    if match is None:
        problem = f"{text!r:.60} is not a number of points" if text else "it is blank"
        raise ValueError(f"{problem}; write a number such as 5, 2.5 or 1/3, and 0 for none")
    number = float(Fraction(match["number"]) / int(match["parts"] or 1))
    if match["sign"] in {"-", "\u2212"} and number:
        raise ValueError(
            f"{text} is negative; write {number:g}: a wrong answer is deducted that much"
            if role == DEDUCTION
            else f"{text} is negative; write 0 or more, and what a wrong answer costs in a column for the deduction"
        )
    return number


def _key_likeness(text: str) -> float:
    stripped = text.strip("()（）[]【】.。、 ").upper()
    if 0 < len(stripped) <= 4 and all(letter in LETTERS for letter in stripped):
        return 1.0
    return 0.5 if stripped.isascii() and stripped.isdigit() and 1 <= int(stripped[:9]) <= MAX_OPTIONS else 0.0


ROLES: Final = (
    Role("question", joins=True),
    Role("options", several=True, unless="kind"),
    Role("answer", likeness=_key_likeness, among="options"),
    Role("passage", required=False, by_position=False, joins=True),
    Role("kind", required=False, by_position=False),
    Role("group", required=False),
    Role("cluster", required=False, by_position=False),
    *(Role(name, required=False, by_position=False) for name in ROLES_OF_POINTS),
    Role("id", required=False, by_position=False),
)


ROLES_WITHOUT_OPTIONS: Final = tuple(
    replace(role, required=False, by_position=False) if role.name == "options" else role for role in ROLES
)
"""Roles of a table whose questions hold their options, or whose keys say true or false."""
DOUBTFUL_KEY: Final = "doubtful key"
"""Kind of the defect of a key that the other keys of its table may decide."""
NO_OPTIONS: Final = "bad options"
"""Kind of the defect of a row whose options cannot be found."""
_OWN_CELLS: Final = ("options", "answer", "id")
_NONE: Final = OptionTexts(())


class Copy(NamedTuple):
    """What is special about a question that occurs more than once, or whose id does."""

    id: str = ""
    cluster: str = ""


NOT_COPIED: Final = Copy()


class ChoiceQuestion(NamedTuple):
    """A question read from a row; `key` is sorted letters or alternatives.

    `apart` says that its options are not those of the columns: they are in its question, or true and false.

    `turns` are the messages of a conversation, whose transcript `text` is; `passage` is what the question is about.
    `worth` are its points and deduction, as far as the table says them.
    """

    text: str
    options: tuple[str, ...]
    key: str
    apart: bool = False
    turns: tuple[Message, ...] = ()
    passage: str = ""
    worth: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ChoiceTable(OpenTable):
    """A table of questions; its column of options is missing where only the kind of a question says which it has.

    Args:
        count_from: the number that means A where keys are numbers; None: nothing tells.
        copies: of kept duplicates, by the row's number, the id (empty: its own) and the cluster of the copy.
        joined: whether the table gives one option a row, and these rows were joined.
        form: how the keys name their options, where all do so in one way that is not letters.
        several: whether a question may have several right options where it does not say.
    """

    count_from: int | None = 1
    copies: Mapping[int, Copy] = field(default_factory=dict)
    joined: bool = False
    form: KeyForm | None = None
    several: bool = False

    @property
    def options(self) -> tuple[Column, ...]:
        """The columns of options."""
        return self.layout.columns.get("options", ())

    @property
    def answer(self) -> Column:
        """The column of the key."""
        return self.layout.columns["answer"][0]

    def rows(self) -> Iterator[Row]:
        """Rows below the header that are not left out."""
        return (row for row in OpenTable.rows(self) if not self.leaves_out(row))

    def name_of(self, row: Row) -> str:
        """The id of a row: its own, else one made from its place."""
        return self.text(row, "id") or self.prefix + self.table.row_id(row.number)

    def sample(self, row: Row, question: ChoiceQuestion) -> Sample:
        """The sample of a sound row."""
        copy = self.copies.get(row.number, NOT_COPIED)
        said = self.says_several(row, question)
        # How a reply is read follows from the exam and not from this question's key, which would give it away.
        several = {"several": True} if (self.several if said is None else said) else {}
        sample = Sample(
            copy.id or self.name_of(row),
            list(question.turns) or question.text,
            question.key,
            question.options,
            group=self._group_of(row),
            cluster=cluster_of(row, self.layout) or copy.cluster,
            metadata={**self.unused.values(row), **self.table.origin, **several, **question.worth},
        )
        return with_passage(sample, question.passage) if question.passage else sample

    def says_several(self, row: Row, question: ChoiceQuestion) -> bool | None:
        """Whether the question, its kind or its group says that several options may be right; None if none says."""
        return says_several(self.text(row, "kind"), self._group_of(row), question.text, self.table.title)

    def _group_of(self, row: Row) -> str:
        """The group; the kind of the question in a table without groups."""
        is_grouped = self.levels is not None or self.layout.columns.get("group")
        return self.text(row, "group" if is_grouped else "kind")


def open_reading(
    table: Table, layout: ColumnLayout, prefix: str, dataset: tuple[SampleFiles, UnusedColumns]
) -> ChoiceTable:
    """Bind a layout to its table, check the columns that it names, and fill merged cells."""
    columns = layout.columns
    options, asked = columns.get("options", ()), columns["question"]
    opened = open_table(table, layout, prefix, dataset, options=options)
    own = {*(asked if len(asked) < 2 else ())}.union(*(columns.get(role, ()) for role in _OWN_CELLS))
    joined = opened.table
    if len(options) == 1:
        joined = OptionRows(asked[0], options[0], columns["answer"][0], layout.header_row or 0).joined(joined)
    return ChoiceTable(
        with_merged(joined, own),
        layout,
        prefix,
        opened.unused,
        opened.keeps_duplicates,
        opened.levels,
        joined=joined is not opened.table,
    )


def read_row(reading: ChoiceTable, row: Row, defects: list[Defect]) -> ChoiceQuestion | None:
    """The question of a row; None where it is blank or has defects, which are appended to `defects`."""
    if faults := reading.faults(row):
        defects.extend(faults)
        return None
    asked = joined_cells(row, reading.layout.columns["question"])
    turns = messages_in(asked) or ()
    text = transcript_of(turns) if turns else _text(asked)
    if not text and is_blank(row):
        return None
    if torn := _torn(reading, row):
        defects.append(torn)
        return None
    before = len(defects)
    if flaw := flaw_in(turns) if turns else "" if text else "the question is blank, or is not text":
        defects.append(reading.defect("blank question", row, "question", flaw))
    options = row_options(reading, row, defects)
    key = _key(reading, row, (options.options, options.raw), defects) if options.options else ""
    worth, passage = _worth(reading, row, defects), _passage(reading, row, defects)
    if len(defects) > before:
        return None
    return ChoiceQuestion(
        options.stem or text, tuple(options.options), key, options.apart, tuple(turns), passage, worth
    )


def _passage(reading: ChoiceTable, row: Row, defects: list[Defect]) -> str:
    """The passage of a row; a list of texts is joined with blank lines between."""
    columns = reading.layout.columns.get("passage", ())
    value = titled_passages(joined_cells(row, columns))
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return "\n\n".join(filter(None, map(str.strip, value)))
    if isinstance(value, list | dict):
        message = "the passage is neither a text nor a list of texts"
        defects.append(reading.defect("bad passage", row, "passage", message))
    return _text(value)


def _worth(reading: ChoiceTable, row: Row, defects: list[Defect]) -> Mapping[str, float]:
    """The points and the deduction of a row, as far as its table has columns for them."""
    worth: dict[str, float] = {}
    for role in ROLES_OF_POINTS:
        if (column := reading.layout.column(role)) is not None:
            try:
                worth[role] = points_in(cell_at(row.cells, column), role)
            except ValueError as error:
                defects.append(reading.defect(f"bad {role}", row, role, str(error)))
    if worth.get("points") == 0 and worth.get("deduction"):
        message = "a question of 0 points has a deduction; write its points, or 0 for the deduction"
        defects.append(reading.defect("bad points", row, "points", message))
    return worth


class RowOptions(NamedTuple):
    """The options of a row.

    Args:
        options: their texts; empty where they have a defect.
        raw: the same with their own letters or labels.
        stem: the question without its options, where they were in its cell.
        apart: whether they are not those of the columns, or are the two of a true-or-false question.
    """

    options: Sequence[str]
    raw: OptionTexts
    stem: str = ""
    apart: bool = False


def row_options(reading: ChoiceTable, row: Row, defects: list[Defect]) -> RowOptions:
    """The options of a row: those it writes, else those of its kind, in its question, or that its key implies."""
    kind = judged_options(reading.text(row, "kind"))
    if _has_options(reading, row):
        options, raw = _options(reading, row, defects)
        return RowOptions(options, raw, apart=len(kind) == len(options))
    question = _text(joined_cells(row, reading.layout.columns["question"]))
    key = _text(cell_at(row.cells, reading.answer))
    stem, texts = cut_question(question)
    implied = kind or options_of_judged(key, question, taken=LETTERS[: len(reading.options)])
    if implied and not (texts and judged_key(key, texts)):
        return RowOptions(implied, OptionTexts(implied), apart=True)
    if stem and texts:
        raw = OptionTexts(texts)
        if any(map(holds_key, texts)):
            message = "the question's cell also gives the answer, so a model would be shown it"
            defects.append(reading.defect("answer in question", row, "question", message))
            return RowOptions((), _NONE)
        flawed = len(defects)
        _name_flaws(reading, row, texts, defects)
        return RowOptions(() if len(defects) > flawed else texts, raw, stem, apart=True)
    options, raw = _options(reading, row, defects)
    return RowOptions(options, raw)


def _has_options(reading: ChoiceTable, row: Row) -> bool:
    return any(_is_filled(cell_at(row.cells, column)) for column in reading.options)


def _is_filled(value: Any) -> bool:
    return bool(value) if isinstance(value, list | dict) else bool(render(value))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if isinstance(value, list | dict) else render(value)


def _torn(reading: ChoiceTable, row: Row) -> Defect | None:
    """The defect of a row that ends before its key; None for other rows."""
    answer = reading.answer
    if isinstance(row.cells, Mapping):
        return None
    second_option = answer if len(reading.options) < 2 else reading.options[1]
    needed = max(int(answer), int(second_option))
    if len(row.cells) > needed and row.cells[int(answer)] and row.cells[int(second_option)]:
        return None
    if not _has_options(reading, row):  # they may be in its question, or implied by its key
        needed = int(answer)
    last_filled = max((index for index, cell in enumerate(row.cells) if render(cell)), default=0)
    if last_filled >= needed:
        return None
    message = f"short row: it ends in column {column_letter(last_filled)}, column {column_letter(needed)} is needed"
    return reading.defect("short row", row, "", message)


def _options(reading: ChoiceTable, row: Row, defects: list[Defect]) -> tuple[Sequence[str], OptionTexts]:
    """The options, and the same with their own letters or labels; empty where they have a defect."""
    try:
        raw = _raw_options(row, reading.options)
    except ValueError as error:
        defects.append(reading.defect(NO_OPTIONS, row, _role_of_options(reading), str(error)))
        return (), _NONE
    options = raw.texts if raw.labels else cut_labels(raw.texts)
    # Empty cells at the end may be intended (true or false among four columns): `OptionCounts` decides that by the
    # whole table. A blank before a filled cell is a defect.
    filled = len(options)
    while filled and not options[filled - 1]:
        filled -= 1
    options, before = options[:filled], len(defects)
    if "" in options:
        defects.extend(
            _option_defect("blank option", reading, row, at, "is blank")
            for at, option in enumerate(options[:MAX_OPTIONS])
            if not option
        )
    _name_flaws(reading, row, options, defects)
    if len(defects) > before:
        return (), _NONE
    return options, OptionTexts(raw.texts[:filled], raw.labels[:filled])


def _raw_options(row: Row, columns: Sequence[Column]) -> OptionTexts:
    if len(columns) > 1:
        cells = row.cells
        try:
            return OptionTexts([_text(cells[column]) for column in columns])  # type: ignore[index]
        except (IndexError, KeyError):
            return OptionTexts([_text(cell_at(cells, column)) for column in columns])
    if not columns:
        raise ValueError(
            "there is no column of options, none are in the question's cell, and neither kind nor key is that of a "
            "true-or-false question"
        )
    value = cell_at(row.cells, columns[0])
    if value is None or value == "":
        return OptionTexts(())
    return options_of(value)


def _name_flaws(reading: ChoiceTable, row: Row, options: Sequence[str], defects: list[Defect]) -> None:
    """Add the defects of options that are too few, too many, or the same."""
    first_at: dict[str, int] = {}
    if not 2 <= len(options) <= MAX_OPTIONS:
        message = f"{len(options)} option{'s' if len(options) != 1 else ''}; a question has 2 to {MAX_OPTIONS}"
        kind = "too few options" if len(options) < 2 else "too many options"
        defects.append(reading.defect(kind, row, _role_of_options(reading), message))
        return
    for at, option in enumerate(options):
        earlier = first_at.setdefault(option, at)
        if option and earlier != at:
            message = f"is the same as option {LETTERS[earlier]}: {option[:40]!r}"
            defects.append(_option_defect("identical options", reading, row, at, message))


def _role_of_options(reading: ChoiceTable) -> str:
    return "options" if reading.options else "question"


def _option_defect(kind: str, reading: ChoiceTable, row: Row, at: int, message: str) -> Defect:
    """A defect of one option, in its own cell where it has one."""
    columns = reading.options or reading.layout.columns["question"]
    column = columns[at] if len(reading.options) > 1 else columns[0]
    return Defect(kind, reading.table.location(row.number, column), f"option {LETTERS[at]} {message}")


def _key(reading: ChoiceTable, row: Row, options: tuple[Sequence[str], OptionTexts], defects: list[Defect]) -> str:
    value = cell_at(row.cells, reading.answer)
    if reading.answer in reading.options and not is_blank_cell(value):
        return LETTERS[reading.options.index(reading.answer)]
    try:
        if isinstance(value, list) and value:
            return "".join(sorted({letter for part in value for letter in _letters(reading, part, *options)}))
        return _letters(reading, value, *options)
    except ValueError as error:
        kind = DOUBTFUL_KEY if isinstance(error, DoubtfulKeyError) else "bad key"
        defects.append(reading.defect(kind, row, "answer", str(error)))
        return ""


def _letters(reading: ChoiceTable, value: Any, options: Sequence[str], raw: OptionTexts) -> str:
    """The letters of one key.

    Raises:
        ValueError: it names no option, or may name two.
    """
    if isinstance(value, ClassName):
        return key_of_class(value, options, raw.texts)
    text = _text(value)
    if raw.labels and "".join(raw.labels).upper() != LETTERS[: len(options)]:
        return key_of_label(text, options, raw.labels)
    # Without a kind, options that are letters (x, y) are what they are, and not "no" and "yes".
    are_letters = any(len(option) == 1 and option.isascii() for option in options)
    if (reading.layout.columns.get("kind") or not are_letters) and (letter := judged_key(text, options)):
        return letter
    return read_key(text, options, raw.texts, count_from=reading.count_from, form=reading.form)
