"""The rows of an exam score as numbers, from which everything else that is said of it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.summary.answered import QUEUE_KINDS, Answered, QueueKind, queue_kind
from steelyard.summary.score_columns import CODES, ROW_OUTCOMES, ScoreColumns, by_appearance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_PART: Final = [CODES["scored"], CODES["unparsed"], CODES["refused"]]
"""Outcomes that have a part in an exam: neither what failed nor what does not apply."""
UNREAD: Final = -1
"""The answer of a reply from which none was read, and the key of a sample that has none."""


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


@dataclass(frozen=True, slots=True)
class ExamRows:
    """The rows of one exam score that have a part in it.

    Args:
        rows: of the run, these alone.
        question: of each row, by number: rotations of one question are one.
        failed: numbers of the questions of which a record failed.
    """

    rows: ScoreColumns
    question: Array
    failed: Array

    @classmethod
    def of(cls, columns: ScoreColumns, score: str) -> ExamRows:
        """Those of a score."""
        import numpy as np

        at = columns.places_of(score)
        questions = _questions(columns.samples)
        failed = at[columns.outcome[at] == CODES["error"]]
        part = at[np.isin(columns.outcome[at], _PART)]
        return cls(columns.only(part), questions[columns.sample[part]], np.unique(questions[columns.sample[failed]]))

    @property
    def queue(self) -> dict[str, int]:
        """Why replies are in the review queue -> how many."""
        import numpy as np

        width = len(ROW_OUTCOMES)
        found: dict[QueueKind, int] = {}
        counts = np.bincount(self.rows.answered * width + self.rows.outcome, minlength=width * len(self.rows.kept))
        for at in np.flatnonzero(counts).tolist():
            kind = queue_kind(ROW_OUTCOMES[at % width], self.rows.kept[at // width])
            if kind:
                found[kind] = found.get(kind, 0) + int(counts[at])
        return {kind: found[kind] for kind in QUEUE_KINDS if kind in found}

    def columns(self, *, answered_only: bool) -> tuple[Columns, frozenset[int], float | None]:
        """What counts for the headline, which of its questions have a record that failed, and the share of guessing.

        The last is None where the options were not kept.

        Args:
            answered_only: leave out what was not read.
        """
        import numpy as np

        scored = self.rows.outcome == CODES["scored"]
        kept = scored if answered_only else np.ones(len(scored), dtype=bool)
        rows, question, read = self.rows.only(kept), self.question[kept], scored[kept]
        known = _known(rows.kept)
        codes, sample = rows.answered, rows.sample.astype(np.int64)
        shuffled = known["shuffled"][codes]
        units = np.where(shuffled, question, sample)
        alone, most = rows.clusters.are(""), int(max(question.max(initial=0), sample.max(initial=0))) + 1
        units = np.where(alone, units, most + rows.clusters.codes)
        columns = Columns(
            unit=_numbered(units),
            question=_numbered(question),
            sample=_numbered(sample),
            repeat=rows.repeat,
            value=np.nan_to_num(rows.value),
            answer=np.where(read, known["answer"][codes], UNREAD),
            shown=np.where(read, known["shown"][codes], UNREAD),
            key=known["key"][codes],
            options=known["options"][codes],
            shuffled=shuffled,
        )
        chance = known["chance"][codes]
        is_known = len(chance) > 0 and not np.isnan(chance).any()
        failed = frozenset(np.unique(columns.question[np.isin(question, self.failed)]).tolist())
        return columns, failed, float(chance.mean()) if is_known else None


def _known(kept: Sequence[Answered]) -> dict[str, Array]:
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
        for one in kept
    ]
    names = ("answer", "shown", "key", "options", "shuffled", "chance")
    types = (int, int, int, int, bool, float)
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: np.asarray(column, dtype=kind) for name, column, kind in zip(names, columns, types, strict=True)}


def _questions(samples: Sequence[str]) -> Array:
    """Per sample the number of its question: its own, or the next ones where it is a rotation of another id."""
    import numpy as np

    numbers = np.arange(len(samples))
    if "@" in "".join(samples):
        rotated = [at for at, sample in enumerate(samples) if "@" in sample]
        known = {sample: at for at, sample in enumerate(samples)}
        numbers[rotated] = [known.setdefault(_question_of(samples[at]), len(known)) for at in rotated]
    return numbers


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


def _numbered(codes: Array) -> Array:
    """Numbers by first appearance, so that sums do not hang on who else there is."""
    return by_appearance(codes, int(codes.max(initial=-1)) + 1)[0]
