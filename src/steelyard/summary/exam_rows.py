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

_OUTCOMES: Final[tuple[RowOutcome, ...]] = get_args(RowOutcome)
_CODES: Final = {outcome: code for code, outcome in enumerate(_OUTCOMES)}
_NO_PART: Final = frozenset({"error", "not_applicable"})
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
    """The rows of one exam score, kept as numbers: some 30 bytes each.

    What was kept beside a row is one of a few things, so a row holds its number. Rows of clusters and rotations hold
    two hashes more.
    """

    __slots__ = ("_clusters", "_codes", "_kept", "_outcomes", "_questions", "_repeats", "_samples", "_values", "failed")

    def __init__(self) -> None:
        self._kept: dict[Answered, int] = {}
        self._samples = array("q")
        self._repeats = array("i")
        self._codes = array("i")
        self._outcomes = array("b")
        self._values = array("d")
        self._clusters: dict[int, int] = {}
        self._questions: dict[int, int] = {}
        self.failed: set[int] = set()

    def add(self, row: ScoreRow, answered: Answered) -> None:
        """Count a row; one that does not apply has no part in an exam."""
        sample, _, cluster, repeat, _, outcome, value = row
        if outcome == "error":
            self.failed.add(hash(_question_of(sample)))
        if outcome in _NO_PART:
            return
        code = self._kept.get(answered)
        if code is None:
            code = self._kept[answered] = len(self._kept)
        if cluster:
            self._clusters[len(self._codes)] = hash(("cluster", cluster))
        if "@" in sample:
            self._questions[len(self._codes)] = hash(_question_of(sample))
        self._samples.append(hash(sample))
        self._repeats.append(repeat)
        self._codes.append(code)
        self._outcomes.append(_CODES[outcome])
        self._values.append(value or 0.0)

    @property
    def queue(self) -> dict[str, int]:
        """Why replies are in the review queue -> how many."""
        import numpy as np

        width = len(_OUTCOMES)
        codes, outcomes = np.frombuffer(self._codes, dtype=np.intc), np.frombuffer(self._outcomes, dtype=np.int8)
        counts = np.bincount(codes * width + outcomes, minlength=width * len(self._kept))
        found: dict[QueueKind, int] = {}
        for answered, code in self._kept.items():
            for at, outcome in enumerate(_OUTCOMES):
                kind = queue_kind(outcome, answered)
                if kind and counts[code * width + at]:
                    found[kind] = found.get(kind, 0) + int(counts[code * width + at])
        return {kind: found[kind] for kind in QUEUE_KINDS if kind in found}

    def __len__(self) -> int:
        return len(self._codes)

    def columns(self, *, answered_only: bool) -> tuple[Columns, frozenset[int], float | None]:
        """What counts for the headline, which of its questions have a record that failed, and the share of guessing.

        The last is None where the options were not kept.

        Args:
            answered_only: leave out what was not read.
        """
        import numpy as np

        scored = np.frombuffer(self._outcomes, dtype=np.int8) == _CODES["scored"]
        kept = scored if answered_only else np.ones(len(self), dtype=bool)
        codes, read = np.frombuffer(self._codes, dtype=np.intc)[kept], scored[kept]
        known = self._known()
        samples = np.frombuffer(self._samples, dtype=np.int64)
        questions = _with(samples, self._questions)
        shuffled = known["shuffled"][np.frombuffer(self._codes, dtype=np.intc)]
        units = _with(np.where(shuffled, questions, samples), self._clusters)
        own = _numbered(samples[kept])
        broken = np.isin(questions[kept], np.asarray(list(self.failed), dtype=np.int64))
        columns = Columns(
            unit=_numbered(units[kept]) if self._clusters or self._questions else own,
            question=_numbered(questions[kept]) if self._questions else own,
            sample=own,
            repeat=np.frombuffer(self._repeats, dtype=np.intc)[kept],
            value=np.frombuffer(self._values)[kept],
            answer=np.where(read, known["answer"][codes], UNREAD),
            shown=np.where(read, known["shown"][codes], UNREAD),
            key=known["key"][codes],
            options=known["options"][codes],
            shuffled=shuffled[kept],
        )
        chance = known["chance"][codes]
        is_known = len(chance) > 0 and not np.isnan(chance).any()
        failed = frozenset(np.unique(columns.question[broken]).tolist())
        return columns, failed, float(chance.mean()) if is_known else None

    def _known(self) -> dict[str, Array]:
        """Per number of what was kept: answer, shown letter, key, options, whether shuffled, chance."""
        import numpy as np

        answers: dict[str, int] = {}
        rows = [
            (
                answers.setdefault(one.letters if one.original is None else one.original, len(answers)),
                _place(one.letters),
                _place(one.wanted),
                one.options,
                one.original is not None,
                _chance(one),
            )
            for one in self._kept
        ]
        names = ("answer", "shown", "key", "options", "shuffled", "chance")
        types = (int, int, int, int, bool, float)
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        return {name: np.asarray(column, dtype=kind) for name, column, kind in zip(names, columns, types, strict=True)}


def _with(hashes: Array, others: dict[int, int]) -> Array:
    """The same with other hashes in some places."""
    import numpy as np

    if not others:
        return hashes
    changed = hashes.copy()
    changed[np.fromiter(others, dtype=np.int64)] = np.fromiter(others.values(), dtype=np.int64)
    return changed


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
