"""What a scorer of exams keeps beside a score, and why a person should look at a reply."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from steelyard.summary.rows import RowOutcome

QueueKind = Literal["inferred", "several", "unparsed", "refused"]
QUEUE_KINDS: Final[tuple[QueueKind, ...]] = get_args(QueueKind)
"""Why a person should look at a reply, in the order in which pages name them."""


class Answered(NamedTuple):
    """What a scorer of exams keeps beside a score.

    Args:
        letters: that were read, as shown to the model; "" where none was.
        wanted: the key's letters, sorted.
        options: how many there were; 0 where that was not kept.
        original: the read letters as the dataset has them; None where options stood in its own order.
        inferred: whether the letter was not said but follows from the option's text.
        kind: of an unread reply: `several`, `none`, `truncated` and so on.
    """

    letters: str = ""
    wanted: str = ""
    options: int = 0
    original: str | None = None
    inferred: bool = False
    kind: str = ""


NOT_KEPT: Final = Answered()
"""Stands where nothing was kept: the record failed, or an earlier version stored it."""


def queue_kind(outcome: RowOutcome, answered: Answered) -> QueueKind | None:
    """Why a reply is in the review queue; None where it is not.

    >>> queue_kind("scored", Answered("B", "B", 4, inferred=True)), queue_kind("scored", Answered("B", "B", 4))
    ('inferred', None)
    """
    if outcome == "unparsed":
        return "several" if answered.kind == "several" else "unparsed"
    if outcome == "refused":
        return "refused"
    return "inferred" if outcome == "scored" and answered.inferred else None
