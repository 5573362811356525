"""The scores of a run: row by row as they are read, and as columns, which summaries and comparisons compute with.

A row of the columns holds what a `ScoreRow` holds, in about 30 bytes of numbers; each text is stored once. The rows of
one record are next to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


RowOutcome = Literal["scored", "not_applicable", "unparsed", "refused", "error"]


class ScoreRow(NamedTuple):
    """One score of one repeat of one sample, as a summary needs it.

    `value` is a number exactly when `outcome` is `scored`. An `error` row represents a record that failed: one row
    per score that the record should have had, or a single one with an empty `name`, which counts in every score.
    """

    sample: str
    group: str
    cluster: str
    repeat: int
    name: str
    outcome: RowOutcome
    value: float | None


class JudgedRow(NamedTuple):
    """One repeat's value of one score with the `detail` that the scorer stored (empty where the record failed)."""

    sample: str
    group: str
    cluster: str
    repeat: int
    outcome: RowOutcome
    value: float | None
    detail: Mapping[str, Any]


QueueKind = Literal["inferred", "several", "unparsed", "refused", "rules_differ"]
QUEUE_KINDS: Final[tuple[QueueKind, ...]] = get_args(QueueKind)
"""Why a person should look at a reply, in the order in which pages name them."""


class Answered(NamedTuple):
    """What a scorer of exams stores with a score.

    Args:
        letters: that were parsed, as shown to the model; "" where there is none.
        wanted: the key: sorted letters, or alternatives ("A or C").
        options: how many there were; 0 where that was not stored.
        original: the parsed letters as the dataset has them; None where options were shown in its own order.
        inferred: whether the letter was inferred from the option's text.
        kind: of an unparsed reply: `several`, `none`, `truncated` and so on; of another `rules_differ` or "".
    """

    letters: str = ""
    wanted: str = ""
    options: int = 0
    original: str | None = None
    inferred: bool = False
    kind: str = ""


NOT_KEPT: Final = Answered()
"""Used where nothing was stored: the record failed."""


def queue_kind(outcome: RowOutcome, answered: Answered) -> QueueKind | None:
    """Why a reply is in the review queue; None where it is not.

    >>> queue_kind("scored", Answered("B", "B", 4, inferred=True)), queue_kind("scored", Answered("B", "B", 4))
    ('inferred', None)
    """
    if outcome == "unparsed":
        return "several" if answered.kind == "several" else "unparsed"
    if outcome == "refused":
        return "refused"
    if outcome != "scored":
        return None
    # A verdict has this kind where a pattern of the user's own reads the reply otherwise than the built-in rule.
    return "rules_differ" if answered.kind == "rules_differ" else "inferred" if answered.inferred else None


ROW_OUTCOMES: Final[tuple[RowOutcome, ...]] = get_args(RowOutcome)
"""Outcomes by their codes in a column."""
CODES: Final[Mapping[RowOutcome, int]] = {outcome: code for code, outcome in enumerate(ROW_OUTCOMES)}
_COLUMNS: Final = (
    ("sample", "i4"), ("repeat", "i4"), ("name", "i4"), ("group", "i4"), ("cluster", "i4"), ("outcome", "i1"),
    ("value", "f8"), ("answered", "i4"),
)  # fmt: skip


class Texts(NamedTuple):
    """A column of texts of which many are equal.

    Args:
        names: each different one once.
        codes: per entry, the number of its name.
    """

    names: tuple[str, ...]
    codes: Array

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """The column of some texts, names in order of first appearance.

        >>> column = Texts.of(["b", "a", "b"])
        >>> column.names, column.codes.tolist()
        (('b', 'a'), [0, 1, 0])
        """
        import numpy as np

        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(numbers.__getitem__, texts), dtype=np.int32, count=len(texts))
        return cls(tuple(numbers), codes)

    def at(self, indices: Array) -> Texts:
        """The texts at these indices."""
        return Texts(self.names, self.codes[indices])

    def are(self, name: str) -> Array:
        """Whether each text is this one."""
        same: Array = self.codes == (self.names.index(name) if name in self.names else -1)
        return same


@dataclass(frozen=True, slots=True, eq=False)
class ScoreColumns:
    """Every row of a run; arrays with an entry per row, in the order of samples and repeats.

    Args:
        samples: ids by number, all different; some may have no row.
        names: of the scores by number, "" among them.
        sample: number of the row's sample.
        repeat: from 0.
        name: number of the row's score.
        groups: of each row; likewise `clusters`, "" where it is in none.
        outcome: as a code, see `CODES`.
        value: NaN where there is none.
        details: what scorers of exams stored, each different value once.
        answered: index of the row in `details`; -1 where the score is not an exam's.
    """

    samples: Sequence[str]
    names: tuple[str, ...]
    sample: Array
    repeat: Array
    name: Array
    groups: Texts
    clusters: Texts
    outcome: Array
    value: Array
    details: tuple[Answered, ...]
    answered: Array

    def __len__(self) -> int:
        return len(self.sample)

    @classmethod
    def of(cls, rows: Iterable[ScoreRow]) -> ScoreColumns:
        """The columns of these rows.

        >>> columns = ScoreColumns.of([ScoreRow("fr", "", "", 0, "right", "scored", 1.0)])
        >>> columns.names, columns.value.tolist()
        (('right',), [1.0])
        """
        return cls.of_examined((row, None) for row in rows)

    @classmethod
    def of_examined(cls, rows: Iterable[tuple[ScoreRow, Answered | None]]) -> ScoreColumns:
        """The columns of rows with the letters that scorers of exams stored; None for rows of other scores."""
        import numpy as np

        samples: dict[str, int] = {}
        names: dict[str, int] = {}
        groups: dict[str, int] = {}
        clusters: dict[str, int] = {}
        details: dict[Answered, int] = {}
        rows_as_numbers = [
            (
                samples.setdefault(row.sample, len(samples)),
                row.repeat,
                names.setdefault(row.name, len(names)),
                groups.setdefault(row.group, len(groups)),
                clusters.setdefault(row.cluster, len(clusters)),
                CODES[row.outcome],
                row.value,
                -1 if answered is None else details.setdefault(answered, len(details)),
            )
            for row, answered in rows
        ]
        table = np.array(rows_as_numbers, dtype=list(_COLUMNS))
        column = {name: table[name].copy() for name, _ in _COLUMNS}
        return cls(
            samples=list(samples),
            names=tuple(names),
            sample=column["sample"],
            repeat=column["repeat"],
            name=column["name"],
            groups=Texts(tuple(groups), column["group"]),
            clusters=Texts(tuple(clusters), column["cluster"]),
            outcome=column["outcome"],
            value=column["value"],
            details=tuple(details),
            answered=column["answered"],
        )

    def rows_of(self, score: str) -> Array:
        """Indices of the rows of a score, in order, then of errors of whole records, which count in every score."""
        import numpy as np

        codes = [self.names.index(known) for known in (score, "") if known in self.names]
        return np.concatenate([np.zeros(0, dtype=np.int64), *(np.flatnonzero(self.name == code) for code in codes)])

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores, in order of first appearance."""
        order = by_appearance(self.name, len(self.names))[1].tolist()
        return tuple(self.names[code] for code in order if self.names[code])

    def in_groups(self, groups: Sequence[str]) -> ScoreColumns:
        """The same rows with other groups, one per sample number."""
        return replace(self, groups=Texts.of(groups).at(self.sample))

    def only(self, rows: Array) -> ScoreColumns:
        """These rows alone, given by index or as true or false for each row."""
        columns = {name: getattr(self, name)[rows] for name in ("sample", "repeat", "name", "outcome", "value")}
        return replace(
            self,
            **columns,
            groups=self.groups.at(rows),
            clusters=self.clusters.at(rows),
            answered=self.answered[rows],
        )


def by_appearance(codes: Array, size: int) -> tuple[Array, Array]:
    """Replace codes by numbers in order of first appearance; also returns the code of each number.

    Args:
        codes: whole numbers from 0, below `size`.
        size: how many there may be.

    >>> import numpy as np
    >>> [array.tolist() for array in by_appearance(np.array([7, 2, 7, 5]), 9)]
    [[0, 1, 0, 2], [7, 2, 5]]
    """
    import numpy as np

    first = np.full(size, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    seen = np.flatnonzero(first < len(codes))
    order = seen[np.argsort(first[seen])]
    number = np.zeros(size, dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[codes], order
