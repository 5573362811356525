"""A record as raters see it: question and answer, and nothing that could influence them.

Target, scores, judges, other people's labels and, unless the queue shows it, the expected answer are left out here, so
that no page and no sheet can show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.label_forms import SideOrder
from steelyard.errors import DataError
from steelyard.escaping import cell_text
from steelyard.people.draw import DrawnRecord
from steelyard.people.queue_values import QueueDesign
from steelyard.people.sheets import filled_rows, row_number, sheet_text
from steelyard.prompts.conversation import input_text
from steelyard.types import Record

_COLUMNS: Final = ("queue", "item", "question", "options", "expected", "answer", "A", "B", "verdict", "comment")
_REQUIRED: Final = ("queue", "item", "verdict")


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
    """A sheet with blank columns for verdict and comment."""

    def cells(record: BlindRecord) -> list[Any]:
        by_name = dict(record.answers)
        options = "\n".join(f"{letter}. {text}" for letter, text in record.options)
        answers = [by_name.get(name, "") for name in ("", "A", "B")]
        return [queue, record.item, record.question, options, record.expected, *answers, "", ""]

    return sheet_text(_COLUMNS, map(cells, records))


def read_queue_sheet(queue: str, path: Path) -> list[tuple[int, str, str, str]]:
    """The filled-in rows of a sheet: item, verdict, comment, and position in the file.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing, the sheet is of another queue, or no row is filled in.
    """
    rows = []
    for location, texts in filled_rows(path, _REQUIRED, "queue, item and verdict of queue sheet"):
        if texts["queue"] != queue:
            raise DataError(f"{location}the row is of the queue {texts['queue']!r}, but {queue} was given")
        number = row_number(texts, "item", location)
        if texts["verdict"] or texts.get("comment"):
            rows.append((number, texts["verdict"], texts.get("comment", ""), location))
    if not rows:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict`")
    return rows
