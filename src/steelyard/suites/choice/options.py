"""Reads the options of a question that are not in a column each: one cell holds them all, or one row each.

The cell holds a list, an object, or an unambiguous text; it may be the question's own, in which the options follow the
question. Where a table gives one option a row, the rows are joined, so that each question is one row again: the first
row has its text; the others leave it blank (merged cells, or blanks of a CSV) or repeat it. The key is in one of the
rows, the same in each, or a mark (√, TRUE) in the row of each right option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from steelyard.data.table import Column, Row, Table, cell_at, is_blank, list_in, render
from steelyard.errors import ConfigError
from steelyard.normal_form import nfkc
from steelyard.prompts.conversation import printed_value
from steelyard.suites.choice.keys import LABEL_BEGINS, LABEL_ENDS, LETTERS, says_yes

_TEXTS: Final = ("text", "texts", "choices", "options", "content", "value", "option")
_LABELS: Final = ("label", "labels", "key", "letter", "id")
_LETTERED: Final = re.compile(rf"(?:(?<=[\s;；,，、|。.)）？?：:\u4e00-\u9fff])|^){LABEL_BEGINS}[{LABEL_ENDS}]")
_CIRCLED: Final = re.compile(r"([\u2460-\u2473])[.．:：、]?")
_ON_LINES: Final = (
    re.compile(r"^[ \t\u3000]*[(（【\[]?([A-ZＡ-Ｚ])[ \t]*[)）】\].．:：、]", re.MULTILINE),
    re.compile(r"^[ \t\u3000]*[(（【\[]?([a-zａ-ｚ])[ \t]*[)）】\].．:：、]", re.MULTILINE),
    re.compile(r"^[ \t\u3000]*([A-ZＡ-Ｚ])(?=[ \t\u3000]+\S)", re.MULTILINE),
    re.compile(r"^[ \t\u3000]*[(（【\[]?([0-9０-９]{1,2})[ \t]*(?:[)）】\]：、]|[.．:](?!\d))", re.MULTILINE),
)
"""Marks at the beginning of lines; the third, a letter without punctuation, needs three options."""
_BARE_ON_LINES: Final = 2
_DIGITS_ON_LINES: Final = 3
_LEAST_BARE: Final = 3
_HOLDS_KEY: Final = re.compile(
    r"(?:正确|参考|标准)?答案\s*[:：】]|【解析】|解析\s*[:：]|\b(?:correct\s+)?answer\s*[:：]|\brespuesta(?:\s+correcta)?\s*:",
    re.IGNORECASE,
)
_AROUND: Final = " \t\r\n\u3000;；,，、|"
_FORMS: Final = (
    'a list of texts, an object from letters to texts, "A. ... B. ... C. ...", or one option a line or between |'
)


class OptionTexts(NamedTuple):
    """The texts of the options and their labels in the dataset ("1", "A"), if it has labels."""

    texts: Sequence[str]
    labels: Sequence[str] = ()


def options_of(value: Any) -> OptionTexts:
    """Read the options in one cell.

    Args:
        value: a list of texts or of `{label, text}`; an object from letters to texts, or with the two lists `text` and
            `label`; or a text: one of these as JSON, options that carry their letters in order, one option a line, or
            options between bars.

    Raises:
        ValueError: it is none of these.

    >>> options_of(["A:天", "B:地"]).texts, options_of({"B": "地", "A": "天"}).texts
    (['A:天', 'B:地'], ['天', '地'])
    >>> options_of({"text": ["天", "地"], "label": ["1", "2"]})
    OptionTexts(texts=['天', '地'], labels=['1', '2'])
    >>> options_of("A.天 B.地 C.雷").texts, options_of("天|地").texts
    (['天', '地', '雷'], ['天', '地'])
    """
    if isinstance(value, str):
        return _in_text(value.strip())
    if isinstance(value, Mapping):
        return _of_object(value)
    if isinstance(value, list):
        return _of_list(value)
    raise ValueError(f"options are not a list of texts; expected {_FORMS}")


def _of_list(value: Sequence[Any]) -> OptionTexts:
    if value and all(isinstance(entry, Mapping) for entry in value):
        texts = [_first(entry, _TEXTS) for entry in value]
        labels = [_first(entry, _LABELS) for entry in value]
        if None in texts or None in labels:
            raise ValueError("an option is an object without a text and a label")
        return OptionTexts([render(text) for text in texts], [render(label) for label in labels])
    if any(isinstance(entry, list | Mapping) for entry in value):
        raise ValueError("an option is a list or an object, not a text")
    return OptionTexts([render(entry) for entry in value])


def _of_object(value: Mapping[Any, Any]) -> OptionTexts:
    texts, labels = _first(value, _TEXTS), _first(value, _LABELS)
    if isinstance(texts, list):
        options = _of_list(texts)
        if labels is None:
            return options
        if not isinstance(labels, list) or len(labels) != len(texts):
            raise ValueError(f"there are {len(texts)} texts of options, and not as many labels")
        return OptionTexts(options.texts, [render(label) for label in labels])
    # A table of objects fills in the keys of its other rows with None.
    filled = {str(key): text for key, text in value.items() if text is not None}
    letters = sorted(filled)
    if "".join(letters).upper() != LETTERS[: len(letters)]:
        raise ValueError(f"options have the keys {', '.join(letters)[:80]}; expected A, B, C ...")
    return _of_list([filled[letter] for letter in letters])


def _first(value: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _in_text(text: str) -> OptionTexts:
    listed = list_in(text)
    if listed is not None:
        return _of_list(listed)
    if text.startswith("{"):
        parsed = printed_value(text)
        if not isinstance(parsed, Mapping):
            raise ValueError(f"the options {text[:40]!r} begin like an object, but are not JSON; write them as JSON")
        return _of_object(parsed)
    if labelled := _labelled(text):
        return OptionTexts(labelled)
    for mark in ("\n", "|", "｜"):
        parts = [part.strip() for part in text.split(mark)]
        parts = [part for part in parts if part] if mark == "\n" else parts
        if len(parts) > 1 and not any(map(_LETTERED.match, parts)):
            return OptionTexts(parts)
    raise ValueError(f"the options {text[:40]!r} cannot be separated; expected {_FORMS}")


def _labelled(text: str) -> list[str]:
    """Texts after the marks A, B, C ... or ①, ② ..., each once and in order from the very start; else empty."""
    stem, texts = cut_question(text)
    return [] if stem else texts


def cut_question(text: str) -> tuple[str, list[str]]:
    r"""Cut a text into what stands before its options, and these; no options where that is ambiguous.

    Marks at the beginning of lines are preferred to marks within them. They are in order, each once, from A or 1 to the
    end: a later mark that repeats or continues the sequence is ambiguous ("A. 维生素 B. 是什么").

    >>> cut_question("哪个是行星？\nA. 太阳\nB. 火星"), cut_question("Which? ①Sun ②Mars")
    (('哪个是行星？', ['太阳', '火星']), ('Which?', ['Sun', 'Mars']))
    """
    for at, pattern in enumerate((*_ON_LINES, _LETTERED, _CIRCLED)):
        marks = _sequence(list(pattern.finditer(text)))
        if len(marks) < (_LEAST_BARE if at == _BARE_ON_LINES else 2):
            continue
        ends = [*(match.start() for match in marks[1:]), len(text)]
        texts = [text[match.end() : end].strip(_AROUND) for match, end in zip(marks, ends, strict=True)]
        # A sequence within one of several lines is not all there is: "A. x B. y" and below "C. z D. w".
        if all(texts) and not (at < _DIGITS_ON_LINES and _continues(texts)):
            return text[: marks[0].start()].rstrip(), texts
    return text, []


def _sequence(marks: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """The marks from the last first one on, if they are in order to the end; else none."""
    numbers = [_number(match[1]) for match in marks]
    if 1 not in numbers:
        return ()
    start = len(numbers) - 1 - numbers[::-1].index(1)
    return marks[start:] if numbers[start:] == list(range(1, len(numbers) - start + 1)) else ()


def _number(mark: str) -> int:
    plain = nfkc(mark).upper()
    return int(plain) if plain.isdigit() else ord(plain) - ord("A") + 1


def _continues(texts: Sequence[str]) -> bool:
    """Whether the text of an option holds the letter that would follow the last one."""
    return any(_number(match[1]) == len(texts) + 1 for option in texts for match in _LETTERED.finditer(option))


def holds_key(option: str) -> bool:
    r"""Whether the text of an option also gives the answer: "月球 答案：B".

    >>> holds_key("月球\n答案：B"), holds_key("the answer")
    (True, False)
    """
    return _HOLDS_KEY.search(option) is not None


_HEAD: Final = 60
"""Rows that tell whether a table has one option a row."""
_CONFLICT: Final = " and also "
"""Between two different keys of one question, which no key holds."""


@dataclass(frozen=True, slots=True)
class OptionRows:
    """The columns of a table that may have one option a row.

    Args:
        question: the column of the question.
        options: the only column of options.
        answer: the column of the key.
        header_row: number of the header row; 0 without one. Rows up to it are left as they are.
    """

    question: Column
    options: Column
    answer: Column
    header_row: int = 0

    def joined(self, table: Table) -> Table:
        """The table with one row for each question, if its first rows show one option a row; else the table itself.

        A joined row has the number of its first one, and a list of texts in place of the option.

        Raises:
            ConfigError: the column of options holds the letters alone.
        """
        head = [row for row in islice(table, self.header_row + _HEAD) if row.number > self.header_row]
        groups = [rows for rows in self._groups(head) if not is_blank(rows[0])]
        if not groups or 2 * len(groups) > sum(map(len, groups)) or any(self._holds_list(rows[0]) for rows in groups):
            return table
        texts = [render(cell_at(row.cells, self.options)) for row in groups[0]]
        if len(texts) > 1 and "".join(texts).upper() == LETTERS[: len(texts)]:
            raise ConfigError(
                f"columns: {table.title}: its column of options holds only the letters {texts[0]} to {texts[-1]}; name "
                "the column of their texts under columns: {options: ...}"
            )
        faults, left_out = dict(table.faults), set(table.left_out)
        if faults or left_out:
            for rows in self._groups(row for row in table if row.number > self.header_row):
                merged = {column: text for row in rows for column, text in table.faults.get(row.number, {}).items()}
                faults |= {rows[0].number: merged} if merged else {}
                left_out |= {rows[0].number} if any(row.number in left_out for row in rows) else set()
        return replace(table, source=lambda: self._joined(table), faults=faults, left_out=frozenset(left_out))

    def _joined(self, table: Table) -> Iterator[Row]:
        yield from (row for row in islice(table, self.header_row) if row.number <= self.header_row)
        yield from map(self._join, self._groups(row for row in table if row.number > self.header_row))

    def _groups(self, rows: Iterator[Row] | Sequence[Row]) -> Iterator[list[Row]]:
        """The rows of each question; a blank row stands alone."""
        group: list[Row] = []
        question = ""
        for row in rows:
            own = render(cell_at(row.cells, self.question))
            has_option = bool(render(cell_at(row.cells, self.options)))
            if group and has_option and own in {"", question} and question:
                group.append(row)
                continue
            if group:
                yield group
            group, question = [row], own
        if group:
            yield group

    def _join(self, rows: Sequence[Row]) -> Row:
        first = rows[0]
        if len(rows) == 1:
            return first
        texts = [render(cell_at(row.cells, self.options)) for row in rows]
        cells: dict[Any, Any] = {self.options: texts, self.answer: self._key(rows)}
        if isinstance(first.cells, Mapping):
            return Row(first.number, {**first.cells, **cells})
        width = max(len(first.cells), *(int(column) + 1 for column in cells))
        padded = [*first.cells, *[""] * (width - len(first.cells))]
        return Row(first.number, [cells.get(at, cell) for at, cell in enumerate(padded)])

    def _key(self, rows: Sequence[Row]) -> Any:
        values = [cell_at(row.cells, self.answer) for row in rows]
        texts = [render(value) for value in values]
        marks = [says_yes(text) for text in texts]
        is_marked = all(mark is not None or not text for mark, text in zip(marks, texts, strict=True))
        if is_marked and any(marks) and (all(texts) or not any(text.isalnum() and len(text) == 1 for text in texts)):
            return [LETTERS[at] for at, mark in enumerate(marks[: len(LETTERS)]) if mark]
        different = dict.fromkeys(filter(None, texts))
        if len(different) > 1:
            return _CONFLICT.join(different)
        return next((value for value, text in zip(values, texts, strict=True) if text), "")

    def _holds_list(self, row: Row) -> bool:
        """Whether one cell holds all options."""
        value = cell_at(row.cells, self.options)
        return isinstance(value, list | dict) or bool(list_in(render(value)) or cut_question(render(value))[1])
