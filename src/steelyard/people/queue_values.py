"""The values of a labelling queue: its design, and its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

from steelyard.analysis.label_forms import LabelForm
from steelyard.constraints import Share, Within, check_options
from steelyard.errors import ConfigError
from steelyard.people.draw import RecordKey
from steelyard.types import Json

MOST_RATERS: Final = 5
_MOST_CHARACTERS: Final = 2_000
"""Of a title or a question."""
Verdicts = Mapping[RecordKey, Mapping[str, Any]]
"""Record -> rater -> value of the label."""


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
