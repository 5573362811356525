"""One pass over the rows of an exam score: kept as numbers, from which everything else is computed."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from steelyard.summary.rows import RowOutcome, ScoreRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

QueueKind = Literal["inferred", "several", "unparsed", "refused"]
QUEUE_KINDS: Final[tuple[QueueKind, ...]] = get_args(QueueKind)
"""Why a person should look at a reply, in the order in which pages name them."""

_CODES: Final = {outcome: code for code, outcome in enumerate(get_args(RowOutcome))}
UNREAD: Final = -1
"""The answer of a reply from which none was read, and the key of a sample that has none."""


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


class Columns(NamedTuple):
    """The rows that count, column by column.

    Args:
        unit: independent questions by number.
        question: the same, of one question with its rotations.
        sample: ids by number; likewise `repeat`, from 0.
        value: 0 or 1; 0 for what was not read.
        answer: the read letters by number, by the dataset's own order; UNREAD where there are none.
        shown: a single read letter by its place, as shown; UNREAD where none or several were read.
        key: the single wanted letter likewise.
        options: how many there were.
        shuffled: whether the options were put into an order of their own.
    """

    unit: Array
    question: Array
    sample: Array
    repeat: Array
    value: Array
    answer: Array
    shown: Array
    key: Array
    options: Array
    shuffled: Array


class ExamTally:
    """The rows of one exam score, kept as numbers: some 70 bytes each."""

    __slots__ = ("_answers", "_arrays", "_chance", "_queue", "_values", "failed")

    def __init__(self) -> None:
        self._arrays = {name: array("q") for name in ("unit", "question", "sample")}
        self._arrays |= {name: array("i") for name in ("repeat", "answer", "options")}
        self._arrays |= {name: array("b") for name in ("shown", "key", "shuffled", "outcome")}
        self._values = array("d")
        self._chance = array("d")
        self._answers: dict[str, int] = {}
        self._queue: dict[QueueKind, int] = {}
        self.failed: set[int] = set()

    def add(self, row: ScoreRow, answered: Answered) -> None:
        """Count a row; one that does not apply has no part in an exam."""
        question = _question_of(row.sample)
        if row.outcome == "error":
            self.failed.add(hash(question))
        if row.outcome in {"error", "not_applicable"}:
            return
        kind = queue_kind(row.outcome, answered)
        if kind:
            self._queue[kind] = self._queue.get(kind, 0) + 1
        read = row.outcome == "scored"
        shuffled = answered.original is not None
        own = answered.original if answered.original is not None else answered.letters
        held = self._arrays
        held["unit"].append(
            hash(("cluster", row.cluster)) if row.cluster else hash(question if shuffled else row.sample)
        )
        held["question"].append(hash(question))
        held["sample"].append(hash(row.sample))
        held["repeat"].append(row.repeat)
        held["answer"].append(self._answers.setdefault(own, len(self._answers)) if read else UNREAD)
        held["shown"].append(_place(answered.letters) if read else UNREAD)
        held["key"].append(_place(answered.wanted))
        held["options"].append(answered.options)
        held["shuffled"].append(shuffled)
        held["outcome"].append(_CODES[row.outcome])
        self._values.append(row.value or 0.0)
        self._chance.append(_chance(answered))

    @property
    def queue(self) -> dict[str, int]:
        """Why replies are in the review queue -> how many."""
        return {kind: self._queue[kind] for kind in QUEUE_KINDS if kind in self._queue}

    def __len__(self) -> int:
        return len(self._chance)

    def columns(self, *, answered_only: bool) -> tuple[Columns, frozenset[int], float | None]:
        """What counts for the headline, which of its questions have a record that failed, and the share of guessing.

        The last is None where the options were not kept.

        Args:
            answered_only: leave out what was not read.
        """
        import numpy as np

        found = {name: np.frombuffer(one, dtype=one.typecode) for name, one in self._arrays.items()}
        kept = found.pop("outcome") == _CODES["scored"] if answered_only else np.ones(len(self), dtype=bool)
        numbers = {name: _numbered(found[name][kept]) for name in ("unit", "question", "sample")}
        broken = np.isin(found["question"][kept], np.asarray(list(self.failed), dtype=np.int64))
        failed = frozenset(np.unique(numbers["question"][broken]).tolist())
        chance = np.frombuffer(self._chance)[kept]
        known = len(chance) > 0 and not np.isnan(chance).any()
        numbers["value"] = np.frombuffer(self._values)[kept]
        rest = {name: found[name][kept] for name in Columns._fields if name not in numbers}
        return Columns(**numbers, **rest), failed, float(chance.mean()) if known else None


def _question_of(sample: str) -> str:
    """The id of a question, given that of one of its rotations.

    >>> _question_of("q7@2"), _question_of("q7"), _question_of("me@home")
    ('q7', 'q7', 'me@home')
    """
    name, mark, number = sample.rpartition("@")
    return name if mark and number.isdecimal() else sample


def _place(letters: str) -> int:
    """A single letter by its place, from 0."""
    return ord(letters) - ord("A") if len(letters) == 1 and "A" <= letters <= "Z" else UNREAD


def _chance(answered: Answered) -> float:
    """How often guessing solves a question: of n options one, or one of all choices but none."""
    if not answered.options or not answered.wanted:
        return float("nan")
    return 1 / answered.options if len(answered.wanted) == 1 else 1 / (2**answered.options - 1)


def _numbered(hashes: Array) -> Array:
    """Hashes differ from process to process; numbers by first appearance do not, and keep reports byte-equal."""
    import numpy as np

    _, first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    ranked: Array = rank[numbers]
    return ranked
