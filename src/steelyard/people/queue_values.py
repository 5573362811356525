"""A labelling queue: its design and progress, and its records as raters see them, on a page or in a sheet.

Raters see question and answer, and nothing that could influence them: target, scores, judges, other people's labels
and, unless the queue shows it, the expected answer are left out here, so that no page and no sheet can show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.analysis.label_forms import LabelForm, SideOrder
from steelyard.constraints import Share, Within, check_options
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text
from steelyard.people.draw import DrawnRecord, RecordKey
from steelyard.people.sheets import filled_rows, row_number, sheet_text
from steelyard.prompts.conversation import input_text
from steelyard.types import Json, Record

MOST_RATERS: Final = 5
_MOST_CHARACTERS: Final = 2_000
"""Of a title or a question."""
Verdicts = Mapping[RecordKey, Mapping[str, Any]]
"""Record -> rater -> value of the label."""
_COLUMNS: Final = ("queue", "item", "question", "options", "expected", "answer", "A", "B", "verdict", "comment")
_REQUIRED: Final = ("queue", "item", "verdict")


@dataclass(frozen=True, slots=True)
class QueueDesign:
    """What a queue asks, and of whom.

    Args:
        title: what people see in the list.
        form: of the labels.
        question: what is asked of each record, in a sentence; "" where the form says enough.
        raters: how many people label an item of the overlap, 1 to 5.
        overlap: share of the items that `raters` people label, 0 to 1; one person labels each of the others.
        seed: of the order of the items, and of the order of the two answers of a pair.
        show_reference: whether raters see the expected answer.
        drawn: how the items were drawn; later corrections need it.

    Raises:
        ConfigError: a number out of its range, or a title or question that is blank or too long.
    """

    title: str
    form: LabelForm
    question: str = ""
    raters: Annotated[int, Within(1, MOST_RATERS)] = 2
    overlap: Share = 0.2
    seed: int = 0
    show_reference: bool = False
    drawn: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise ConfigError("a queue has a title")
        if max(len(self.title), len(self.question)) > _MOST_CHARACTERS:
            raise ConfigError(f"a queue's title and question have at most {_MOST_CHARACTERS:,} characters")
        check_options(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> QueueDesign:
        """From what `to_json` gave."""
        form = body["form"]
        scale = (form["scale"][0], form["scale"][1]) if form["scale"] else None
        return cls(**{**body, "form": LabelForm(form["kind"], form["name"], counted=form["counted"], scale=scale)})


@dataclass(frozen=True, slots=True)
class LabelQueue:
    """A stored queue: its number and id, who made it and when, and its design."""

    num: int
    id: str
    author: str
    created: datetime
    design: QueueDesign


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a queue is.

    Args:
        items: all of it.
        done: with as many labels as they need.
        labels: current labels on its items, `cannot tell` among them.
        unsure: of these, how many say `cannot tell`.
        overlapping: items with verdicts of two or more raters.
        conflicting: of these, those on which raters disagree.
        reserved: items that somebody has on the screen.
        by_rater: rater -> labels.
    """

    items: int
    done: int
    labels: int
    unsure: int
    overlapping: int
    conflicting: int
    reserved: int
    by_rater: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RaterVerdict:
    """What a rater says of an item.

    Args:
        rater: who says it.
        verdict: as typed, for a pair in the order that the rater saw; "" for a comment alone, None for `cannot tell`.
        comment: kept as a label of its own.
    """

    rater: str
    verdict: str | None
    comment: str = ""


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
        DataError: a column is missing, the sheet is of another queue, has two verdicts on an item, or none at all.
    """
    rows = []
    said: dict[int, tuple[str, str]] = {}
    for location, texts in filled_rows(path, _REQUIRED, "queue, item and verdict of queue sheet"):
        if texts["queue"] != queue:
            raise DataError(f"{location}the row is of the queue {texts['queue']!r}, but {queue} was given")
        number = row_number(texts, "item", location)
        filled = (texts["verdict"], texts.get("comment", ""))
        if any(filled):
            if said.setdefault(number, filled) != filled:
                raise DataError(f"{location}a second verdict on item {number}; write a sheet for each person")
            rows.append((number, *filled, location))
    if not rows:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict`")
    return rows
