"""The table that every reader returns: rows that can be read repeatedly, cells with an address for messages.

Also the defects of rows: a dataset is read completely, and all defects are reported before any sample is sent.

Frames, Parquet files, datasets of Hugging Face and lists of mappings become tables of keys (`keyed_table`): equal cells
become the same Python value from any source, and a text that no file could hold is rejected in each of them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any, Final, Literal, NamedTuple, NoReturn

from steelyard.errors import DataError, bounded
from steelyard.plain_json import parsed_or

Column = int | str
"""A 0-based index in a grid, a key in a JSON object."""

MAX_ROWS: Final = 2_000_000
"""Rows of a table at most, with blank ones; of a workbook there are fewer."""
MAX_DEFECTS: Final = 100_000
"""Each takes half a kilobyte of memory; where there are more, the file is another than was meant."""
MISSING: Final = ""
SOURCE: Final = "source"
"""The key of a sample's metadata that names its file, if a dataset has several files."""
SHEET: Final = "sheet"
"""The key of a sample's metadata that names its sheet, if a dataset has several sheets."""
_PRINTED_TEXT: Final = r"""(?:'(?:[^'\\\n]|\\[\\'"nrtxuU])*'|"(?:[^"\\\n]|\\[\\'"nrtxuU])*")"""
_PRINTED_LIST: Final = re.compile(rf"\[{_PRINTED_TEXT}(?:(?:, |\s++){_PRINTED_TEXT})*\]")
"""A flat list of texts as Python prints it, or numpy, which writes no commas; no other Python expression matches."""
_PRINTED_NUMBERS: Final = re.compile(r"\[\s*+-?[0-9]{1,18}(?:\s++-?[0-9]{1,18})+\s*+\]")
"""Several whole numbers as numpy prints them."""
FAR_CELL: Final = "One filled cell far from the others is enough for that; Ctrl+End finds it in a spreadsheet program"
"""Advice about a workbook whose grid, from the first to the last filled cell, is too large for its reader."""


class Row(NamedTuple):
    """One row: its 1-based `number` in the sheet or file, and its cells by index or by key."""

    number: int
    cells: Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged area of a sheet: 1-based rows, 0-based columns, ends included."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


UnreadKind = Literal["pictures", "equations", "dates"]
"""What a cell may hold beside text, as named under `skip_rows_with`."""
MAX_UNREAD: Final = 100_000
"""Maximum number of pictures and other cells that hold more than text in one sheet."""


class UnreadCells:
    """Cells of a sheet with something that is no text, by its kind.

    Attributes:
        cells: kind -> row number -> 0-based columns: `pictures`, `equations`, `dates`, and `raised` for raised or
            lowered characters that Unicode lacks. Row 0 is of pictures that are tied to no cell.
    """

    def __init__(self) -> None:
        self.cells: dict[str, dict[int, list[int]]] = {}
        self._count = 0

    def add(self, kind: str, row: int, column: int) -> None:
        """Add a cell.

        Raises:
            DataError: there are more than `MAX_UNREAD`.
        """
        self._count += 1
        if self._count > MAX_UNREAD:
            raise DataError(f"a sheet has more than {MAX_UNREAD:,} {kind}, which is too many for a dataset")
        columns = self.cells.setdefault(kind, {}).setdefault(row, [])
        if not row or column not in columns[-MAX_NAMED:]:
            columns.append(column)


MAX_NAMED: Final = 10
"""Cells that a note names."""


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet, or a file of a format without sheets.

    Args:
        name: the file's name, for addresses.
        source: starts a new pass over the rows; a streamed file is read again.
        unit: what a row's number counts: a sheet's `row`, a file's `line`, a list's `entry`.
        sheet: the sheet's name; empty if the format has no sheets.
        keyed: whether cells are found by key (JSON) and not by position.
        merged: merged areas, which have their value only in the first cell.
        notes: for people, on how the table was read.
        refine: returns the table with the cells of some columns as their sheet shows them; None if the format keeps
            them. Called through `refined`.
        faults: row number -> column -> what is wrong with the cell (an error value, a formula that was never
            computed). Such a cell is empty in the rows, but does not count as blank. Known only for refined columns.
        unread: cells with something that is no text, such as a picture. Known only after `refined`.
        left_out: numbers of rows that are no samples, because of such a cell.
        origin: metadata for each sample that name its file (`source`) and sheet (`sheet`), if the dataset has several.
    """

    name: str
    source: Callable[[], Iterator[Row]]
    unit: Literal["row", "line", "entry"] = "row"
    sheet: str = ""
    keyed: bool = False
    merged: tuple[Merge, ...] = ()
    notes: tuple[str, ...] = ()
    refine: Callable[[frozenset[int]], Table] | None = None
    faults: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    unread: Mapping[str, Mapping[int, Sequence[int]]] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    origin: Mapping[str, str] = field(default_factory=dict)

    def refined(self, columns: Collection[Column]) -> Table:
        """The table with the cells of these columns as their sheet shows them ("50%", "007"), and its `faults`.

        The reader of spreadsheets returns numbers without their format, and nothing for a cell with an error. Getting
        them requires a second pass over the file, so it is made only for the columns that a suite reads.

        Raises:
            DataError: the file changed or is damaged.
        """
        if self.refine is None:
            return self
        in_grid = frozenset(column for column in columns if isinstance(column, int))
        return replace(self.refine(in_grid), name=self.name, origin=self.origin, refine=self.refine)

    def __iter__(self) -> Iterator[Row]:
        return self.source()

    @property
    def title(self) -> str:
        """`exam.xlsx 题库`, or only the file's name."""
        return f"{self.name} {self.sheet}".rstrip()

    def location(self, number: int, column: Column | None = None) -> str:
        """The address of a row or a cell.

        >>> Table("exam.xlsx", lambda: iter(()), sheet="题库").location(12, 5)
        'exam.xlsx 题库!F12'
        >>> Table("exam.csv", lambda: iter(()), "line").location(12, 5)
        'exam.csv line 12 column F'
        >>> Table("x.jsonl", lambda: iter(()), "line", keyed=True).location(3, "answer")
        'x.jsonl line 3 key answer'
        """
        if self.unit == "row":
            return f"{self.title}!{column_letter(column) if isinstance(column, int) else ''}{number}"
        head = f"{self.name} {self.unit} {number}"
        if column is None:
            return head
        return f"{head} key {column}" if isinstance(column, str) else f"{head} column {column_letter(column)}"

    def row_id(self, number: int) -> str:
        """A generated id for a row; stable while the row keeps its position.

        >>> Table("exam.xlsx", lambda: iter(()), sheet="题库").row_id(12)
        '题库!12'
        >>> Table("x.jsonl", lambda: iter(()), "line", keyed=True).row_id(12)
        'line:12'
        """
        return f"{self.sheet}!{number}" if self.unit == "row" else f"{self.unit}:{number}"


def origin_keys(named: Iterable[str]) -> tuple[str, ...]:
    """The metadata keys among `named` that name a sample's file and sheet, in order.

    >>> origin_keys({"position": 1, "sheet": "1995", "source": "a.xlsx"})
    ('source', 'sheet')
    """
    present = set(named)
    return tuple(key for key in (SOURCE, SHEET) if key in present)


def column_letter(index: int) -> str:
    """The spreadsheet letter of a 0-based column.

    >>> column_letter(0), column_letter(26), column_letter(16383)
    ('A', 'AA', 'XFD')
    """
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(65 + digit) + letters
    return letters


def column_index(letter: str) -> int:
    """The 0-based column of a spreadsheet letter, in either case.

    >>> column_index("A"), column_index("aa"), column_index("XFD")
    (0, 26, 16383)
    """
    index = 0
    for character in letter.upper():
        index = index * 26 + ord(character) - 64
    return index - 1


def cell_at(cells: Sequence[Any] | Mapping[str, Any], column: Column) -> Any:
    """The cell, or None if the row is too short or has no such key."""
    try:
        return cells[column]  # type: ignore[index]
    except (IndexError, KeyError):
        return None


def render(value: Any) -> str:
    """A cell as the sheet shows it, stripped.

    Whole numbers that were stored as floats lose their ".0", others are shown to 15 digits as spreadsheets do, booleans
    are TRUE and FALSE, dates and times are ISO 8601 with a space between them, an empty cell is "".

    >>> [render(cell) for cell in (1.0, 0.1 + 0.2, True, None, " 乾 ")]
    ['1', '0.3', 'TRUE', '', '乾']
    """
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".15g")
    return str(value).strip()


def list_in(cell: str) -> list[Any] | None:
    """The list in a cell, written as JSON or as Python or numpy prints a list of texts; None if it is not a list.

    pandas and `datasets` write the last two into CSV files, so they occur in datasets of most Python tools.

    >>> list_in('["Ann", 1]'), list_in("['Ann', 'Bob']"), list_in("['Ann' 'Bob']"), list_in("[sic] Ann")
    (['Ann', 1], ['Ann', 'Bob'], ['Ann', 'Bob'], None)
    """
    text = cell.strip()
    if not text.startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if _PRINTED_NUMBERS.fullmatch(text):
            return [int(number) for number in text[1:-1].split()]
        if not _PRINTED_LIST.fullmatch(text):
            return None
        try:
            value = ast.literal_eval(f"[{', '.join(re.findall(_PRINTED_TEXT, text))}]")
        except (ValueError, SyntaxError):  # for example an unknown escape
            return None
    return value if isinstance(value, list) else None


def titled_passages(value: Any) -> Any:
    r"""The texts of HotpotQA's passages (titles, and the sentences of each) and PubMedQA's; another value as it is.

    >>> titled_passages({"title": ["Ems", "Elz"], "sentences": [["A river.", " It is long."], ["A brook."]]})
    ['Ems\nA river. It is long.', 'Elz\nA brook.']
    >>> titled_passages([["Ems", ["A river."]]]), titled_passages({"contexts": ["a"], "labels": ["AIM"]})
    (['Ems\nA river.'], ['a'])
    >>> titled_passages({"a": 1})
    {'a': 1}
    """
    pairs: Any = value
    if isinstance(value, dict):
        titles, sentences = value.get("title"), value.get("sentences")
        if not (isinstance(titles, list) and isinstance(sentences, list) and len(titles) == len(sentences)):
            return value["contexts"] if isinstance(value.get("contexts"), list) else value
        pairs = [list(pair) for pair in zip(titles, sentences, strict=True)]
    is_titled = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], list)
        and all(isinstance(sentence, str) for sentence in pair[1])
        for pair in pairs
    )
    if not is_titled:
        return value
    # The sentences of HotpotQA begin with their blank, those of 2WikiMultihopQA do not.
    return [f"{title}\n{' '.join(filter(None, map(str.strip, sentences)))}" for title, sentences in pairs]


_SPANS: Final = frozenset({"text", "answer_start"})
"""The keys of the right answers of a question in SQuAD, where each of them begins in the passage included."""
_NAMED: Final = frozenset({"value", "normalized_value", "aliases"})
"""The keys, among others, of the answer to a question of TriviaQA and its other names."""


def answers_in(value: Mapping[str, Any]) -> Any:
    """The right answers in an object of SQuAD or TriviaQA, the one of DROP; None for any other object.

    In DROP an answer is a number, a date, or spans that are right together: they are joined with commas.

    >>> answers_in({"text": ["Rome"], "answer_start": [5]}), answers_in({"city": "Rome"})
    (['Rome'], None)
    >>> answers_in({"spans": ["Ann", "Bob"], "types": ["span", "span"]})
    'Ann, Bob'
    """
    if value.keys() == _SPANS:
        return value["text"]
    if value.keys() >= _NAMED and isinstance(value["aliases"], list):
        return [value["value"], *(alias for alias in value["aliases"] if alias != value["value"])]
    spans, number, date = value.get("spans"), value.get("number", ""), value.get("date", {})
    if not isinstance(spans, list) or not (value.keys() == {"spans", "types"} or {"number", "date"} <= value.keys()):
        return None
    of_date = (
        " ".join(str(date[key]) for key in ("day", "month", "year") if date.get(key)) if isinstance(date, dict) else ""
    )
    return str(number) if number not in ("", None) else ", ".join(dict.fromkeys(map(str, spans))) or of_date


def object_in(cell: str) -> dict[str, Any] | None:
    """The object in a cell that holds JSON; None for any other text."""
    if not cell.lstrip().startswith("{"):
        return None
    value = parsed_or(cell)
    return value if isinstance(value, dict) else None


def is_blank_cell(cell: Any) -> bool:
    """Whether a cell holds nothing: no value, white space, an empty list or object.

    >>> is_blank_cell(" "), is_blank_cell([]), is_blank_cell(0)
    (True, True, False)
    """
    if isinstance(cell, str):
        return not cell or cell.isspace()
    return cell is None or (isinstance(cell, list | dict) and not cell)


def is_blank(row: Row) -> bool:
    """Whether all cells of the row are empty or white space."""
    cells = row.cells.values() if isinstance(row.cells, Mapping) else row.cells
    return not any(cell is not None and cell != "" and render(cell) for cell in cells)


@dataclass(frozen=True, slots=True)
class Defect:
    """A mistake in a row, so that it cannot be a sample; `kind` is for programs, the other fields for people."""

    kind: str
    location: str
    message: str

    def __str__(self) -> str:
        return bounded(f"{self.location}: {self.message}")


def faults_of(table: Table, number: int, columns: Iterable[Column]) -> Iterator[Defect]:
    """Spreadsheet errors in the cells of a row: error values, formulas without a value."""
    faults = table.faults.get(number, {})
    for column in columns if faults else ():
        if isinstance(column, int) and column in faults:
            yield Defect("bad cell", table.location(number, column), faults[column])


def refuse_many(defects: Sequence[Defect]) -> None:
    """Reject a dataset while it is being read if it has more than `MAX_DEFECTS` defects, also with `skip_bad`.

    Raises:
        DataError: it has more.
    """
    if len(defects) > MAX_DEFECTS:
        raise DataError(f"more than {MAX_DEFECTS:,} defects in the dataset; is it the right file?", defects)


def refuse(defects: Sequence[Defect]) -> NoReturn:
    """Reject a dataset for its defects; the message lists the first.

    Raises:
        DataError: always.
    """
    count = f"{len(defects)} defect{'s' if len(defects) > 1 else ''}"
    raise DataError(f"{count} in the dataset; correct them, or leave such rows out with skip_bad: true", defects)


_MOST_BITS: Final = 14_000
"""Maximum bits of a whole number: Python does not convert one of more than 4,300 digits to text."""
_MISSING: Final = frozenset({"NAType", "NaTType"})
"""The types of pandas' two markers of a missing value."""


def keyed_table(name: str, rows: Callable[[], Iterable[Mapping[Any, Any]]], notes: tuple[str, ...] = ()) -> Table:
    """A table of mappings; texts that no file may hold are rejected while it is read.

    Args:
        name: for addresses.
        rows: starts a new pass.
        notes: for a person.
    """

    def row(number: int, cells: Mapping[Any, Any]) -> Row:
        try:
            return Row(number, {str(key): plain_cell(value) for key, value in cells.items()})
        except ValueError as error:
            raise DataError(f"{name} entry {number}: {error}") from error
        except RecursionError as error:
            raise DataError(f"{name} entry {number}: nested too deeply") from error

    def source() -> Iterator[Row]:
        try:
            yield from starmap(row, enumerate(rows(), start=1))
        except (ValueError, OverflowError) as error:
            # Libraries convert whole blocks of rows to Python values, so the row with the error is not known.
            raise DataError(f"{name}: a value that Python cannot hold, such as a date: {error!s:.200}") from error

    return Table(name, source, "entry", keyed=True, notes=notes)


def refuse_doubles(name: str, columns: Sequence[str]) -> None:
    """Reject two columns with the same name, since the keys of a row are unique.

    Raises:
        DataError: two columns have the same name.
    """
    doubled = next((column for index, column in enumerate(columns) if column in columns[:index]), None)
    if doubled is not None:
        raise DataError(f"{name}: two columns are called {doubled!r:.80}; rename one")


def plain_cell(value: Any) -> Any:
    """A cell as a plain Python value: a missing one becomes None, an array a list.

    Raises:
        ValueError: a text with a NUL character or half a surrogate pair, or a whole number with too many digits.

    >>> plain_cell({"text": ("天", float("nan"))})
    {'text': ['天', None]}
    """
    if isinstance(value, str):
        return _sound(value)
    if value is None or isinstance(value, int):
        _refuse_endless(value or 0)
        return value
    if isinstance(value, float):
        return None if value != value else float(value)  # noqa: PLR0124 - NaN alone differs from itself
    if isinstance(value, Mapping):
        return {str(key): plain_cell(element) for key, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_cell(element) for element in value]
    return _foreign(value)


def _foreign(value: Any) -> Any:
    """A cell of a type that a library defines."""
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, bytes):
        return _sound(value.decode("utf-8", "replace"))
    return plain_cell(value.tolist()) if hasattr(value, "tolist") else value


def _refuse_endless(number: int) -> None:
    if number.bit_length() > _MOST_BITS:
        raise ValueError("a whole number of more than 4,200 digits")


def _sound(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character (a lone surrogate) in {text[:40]!r}") from error
    if "\0" in text:
        raise ValueError(f"a NUL character in {text[:40]!r}")
    return text
