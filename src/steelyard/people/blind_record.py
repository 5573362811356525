"""A record as raters see it: question and answer, and nothing that could influence them.

Target, scores, judges, other people's labels and, unless the queue shows it, the expected answer are left out here, so
that no page and no sheet can show them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from csv import writer
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import DataError
from steelyard.escaping import cell_text, csv_cell
from steelyard.people.review_sheet import table_rows
from steelyard.prompts.conversation import input_text

if TYPE_CHECKING:
    from steelyard.analysis.label_forms import SideOrder
    from steelyard.people.draw import DrawnRecord
    from steelyard.people.queue_values import QueueDesign
    from steelyard.types import Record

_COLUMNS: Final = ("queue", "item", "question", "options", "expected", "answer", "A", "B", "verdict", "comment")
_REQUIRED: Final = ("queue", "item", "verdict")
_LONGEST_NUMBER: Final = 15


@dataclass(frozen=True, slots=True)
class BlindRecord:
    """What a rater sees of one record.

    Args:
        item: its number in the queue.
        input: the question, as the sample has it: a text or a conversation.
        question: the same as one text.
        options: (letter, text) of each option of an exam question.
        expected: the expected answer; "" where the queue does not show it or there is none.
        answers: (name, text): one without a name, or of a pair A and B in the order drawn for the rater.
        hint: what may be typed.
    """

    item: int
    input: Any
    question: str
    options: tuple[tuple[str, str], ...]
    expected: str
    answers: tuple[tuple[str, str], ...]
    hint: str

    @classmethod
    def of(cls, design: QueueDesign, item: DrawnRecord, record: Record, order: SideOrder) -> BlindRecord:
        """A record as one rater sees it.

        Args:
            design: of the queue.
            item: of the queue.
            record: with an output.
            order: of the two answers of a pair.
        """
        sample = record.sample
        value = record.output.value if record.output else None
        if design.form.kind == "preference" and isinstance(value, Mapping):
            answers = tuple((name, cell_text(value.get(side))) for name, side in zip("AB", order, strict=True))
        else:
            answers = (("", cell_text(value)),)
        options = tuple((chr(ord("A") + at), text) for at, text in enumerate(sample.choices))
        expected = cell_text(sample.reference) if design.show_reference else ""
        hint = design.form.hint(len(options))
        return cls(item.num, sample.input, input_text(sample.input), options, expected, answers, hint)


def queue_sheet(queue: str, records: Iterable[BlindRecord]) -> str:
    """A CSV file with blank columns for verdict and comment; it begins with a byte order mark, which Excel needs."""
    buffer = io.StringIO(newline="")
    lines = writer(buffer)
    lines.writerow(_COLUMNS)
    for record in records:
        by_name = dict(record.answers)
        options = "\n".join(f"{letter}. {text}" for letter, text in record.options)
        cells = [queue, record.item, record.question, options, record.expected]
        cells += [by_name.get(name, "") for name in ("", "A", "B")]
        lines.writerow([csv_cell(cell) for cell in (*cells, "", "")])
    return "\ufeff" + buffer.getvalue()


def read_queue_sheet(queue: str, path: Path) -> list[tuple[int, str, str, str]]:
    """The filled-in rows of a sheet: item, verdict, comment, and position in the file.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing, the sheet is of another queue, or no row is filled in.
    """
    from steelyard.data.table import render

    rows = []
    for number, cells in table_rows(path, _REQUIRED, "queue, item and verdict of queue sheet"):
        texts = {name: render(value).strip() for name, value in cells.items()}
        location = f"{path.name} row {number}: "
        if texts["queue"] != queue:
            raise DataError(f"{location}the row is of the queue {texts['queue']!r}, but {queue} was given")
        if not texts["item"].isdecimal() or len(texts["item"]) > _LONGEST_NUMBER:
            raise DataError(f"{location}item is {texts['item'][:20]!r}; expected the number that queue sheet wrote")
        if texts["verdict"] or texts.get("comment"):
            rows.append((int(texts["item"]), texts["verdict"], texts.get("comment", ""), location))
    if not rows:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict`")
    return rows
