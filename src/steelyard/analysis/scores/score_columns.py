"""The scores of a run: row by row as they are read, and as columns, which summaries and comparisons compute with.

A row of the columns holds what a `ScoreRow` holds, in about 30 bytes of numbers; each text is stored once. The rows of
one record are next to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from steelyard.plain_json import to_json
from steelyard.stats.arrays import Array

RowOutcome = Literal["scored", "not_applicable", "unparsed", "refused", "error"]


NO_DETAIL: Final[Mapping[str, Any]] = MappingProxyType({})
"""The detail of a score of which nothing was kept, or whose detail no figure needs."""
DAMAGED_DETAIL: Final[Mapping[str, Any]] = MappingProxyType({"kind": "damaged"})
"""In place of a detail that cannot be read; outcome and value of the score are stored apart from it."""


class ScoreRow(NamedTuple):
    """One score of one repeat of one sample, as a summary needs it.

    `value` is a number exactly when `outcome` is `scored`. An `error` row represents a record that failed: one row
    per score that the record should have had, or a single one with an empty `name`, which counts in every score.
    `detail` holds what figures need of the detail that the scorer stored.
    """

    sample: str
    group: str
    cluster: str
    repeat: int
    name: str
    outcome: RowOutcome
    value: float | None
    detail: Mapping[str, Any] = NO_DETAIL


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

    @classmethod
    def of(cls, detail: Mapping[str, Any]) -> Answered:
        """What the detail of a score says of it.

        >>> Answered.of({"letters": "B", "wanted": "B", "options": 4, "confidence": "inferred"})
        Answered(letters='B', wanted='B', options=4, original=None, inferred=True, kind='')
        """
        letters, wanted, kind = (_text(detail.get(key)) for key in ("letters", "wanted", "kind"))
        options, original = detail.get("options"), detail.get("original")
        return cls(
            letters,
            wanted,
            options if isinstance(options, int) else 0,
            original if isinstance(original, str) else None,
            detail.get("confidence") == "inferred",
            kind,
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


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
    ("value", "f8"), ("detail", "i4"),
)  # fmt: skip


class DistinctDetails:
    """Numbers different details in order of first appearance; number 0 is the empty one.

    Args:
        known: details that have their numbers already.
    """

    def __init__(self, known: Iterable[Mapping[str, Any]] = (NO_DETAIL,)) -> None:
        self._details = list(known)
        self._numbers = {to_json(dict(detail)): number for number, detail in enumerate(self._details)}

    def number(self, detail: Mapping[str, Any]) -> int:
        """The number of a detail."""
        number = self._numbers.setdefault(to_json(dict(detail)), len(self._details))
        if number == len(self._details):
            self._details.append(detail)
        return number

    @property
    def all(self) -> tuple[Mapping[str, Any], ...]:
        """The different details, by number."""
        return tuple(self._details)


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
        numbers = dict.fromkeys(texts, 0)  # numbered in place: of 100,000 ids a second dictionary takes 8 MiB
        for number, text in enumerate(numbers):
            numbers[text] = number
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
        details: what figures need of the details that scorers stored, each different one once; the first is empty.
        detail: index of the row's in `details`.
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
    details: tuple[Mapping[str, Any], ...]
    detail: Array

    def __len__(self) -> int:
        return len(self.sample)

    @classmethod
    def of(cls, rows: Iterable[ScoreRow]) -> ScoreColumns:
        """The columns of these rows.

        >>> columns = ScoreColumns.of([ScoreRow("fr", "", "", 0, "right", "scored", 1.0)])
        >>> columns.names, columns.value.tolist()
        (('right',), [1.0])
        """
        samples: dict[str, int] = {}
        names: dict[str, int] = {}
        groups: dict[str, int] = {}
        clusters: dict[str, int] = {}
        details = DistinctDetails()
        rows_as_numbers = [
            (
                samples.setdefault(row.sample, len(samples)),
                row.repeat,
                names.setdefault(row.name, len(names)),
                groups.setdefault(row.group, len(groups)),
                clusters.setdefault(row.cluster, len(clusters)),
                CODES[row.outcome],
                row.value,
                details.number(row.detail),
            )
            for row in rows
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
            details=details.all,
            detail=column["detail"],
        )

    def rows(self, score: str | None = None) -> Iterator[ScoreRow]:
        """The rows one by one, in the order of the records.

        Args:
            score: only its rows, and errors of whole records under its name; None is every row.
        """
        at = np.arange(len(self)) if score is None else np.sort(self.rows_of(score))
        numbers = (
            self.sample,
            self.groups.codes,
            self.clusters.codes,
            self.repeat,
            self.name,
            self.outcome,
            self.detail,
        )
        groups, clusters = self.groups.names, self.clusters.names
        for sample, group, cluster, repeat, name, outcome, detail, value in zip(
            *(column[at].tolist() for column in (*numbers, self.value)), strict=True
        ):
            yield ScoreRow(
                self.samples[sample],
                groups[group],
                clusters[cluster],
                repeat,
                self.names[name] if score is None else score,
                ROW_OUTCOMES[outcome],
                None if value != value else value,  # noqa: PLR0124  # NaN
                self.details[detail],
            )

    def judged_rows(self, score: str) -> Iterator[ScoreRow]:
        """The rows of a score whose detail says which answer was preferred: of a damaged one it is not known."""
        for row in self.rows(score):
            is_damaged = row.detail is DAMAGED_DETAIL
            yield row._replace(outcome="error", value=None, detail=NO_DETAIL) if is_damaged else row

    def rows_of(self, score: str) -> Array:
        """Indices of the rows of a score, in order, then of errors of whole records, which count in every score."""
        codes = [self.names.index(known) for known in (score, "") if known in self.names]
        return np.concatenate([np.zeros(0, dtype=np.int64), *(np.flatnonzero(self.name == code) for code in codes)])

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the scores, in order of first appearance."""
        order = by_appearance(self.name, len(self.names))[1].tolist()
        return tuple(self.names[code] for code in order if self.names[code])

    def numbers(self, key: str, default: float = float("nan")) -> Array:
        """Per row the number at `key` in its detail.

        Args:
            key: of the details.
            default: where a detail has no such number.

        >>> row = ScoreRow("q1", "", "", 0, "points", "scored", 1.0, {"weight": 5.0})
        >>> ScoreColumns.of([row]).numbers("weight").tolist()
        [5.0]
        """
        values = [detail.get(key) for detail in self.details]
        numbers = np.array([value if type(value) in {int, float} else default for value in values], dtype=float)
        found: Array = numbers[self.detail]
        return found

    def units(self, at: Array) -> Array:
        """The number of what is independent, for the rows at some indices: their cluster, or the sample of one in none.

        Numbers are given by first appearance.
        """
        clusters = self.clusters.at(at)
        units = np.where(clusters.are(""), self.sample[at], len(self.samples) + clusters.codes)
        return by_appearance(units, len(self.samples) + len(clusters.names))[0]

    def changed(self, rows: Mapping[int, ScoreRow]) -> ScoreColumns:
        """The same rows with the outcome, value and detail of some replaced.

        Args:
            rows: index -> the row in its place.
        """
        outcome, value, detail = self.outcome.copy(), self.value.copy(), self.detail.copy()
        details = DistinctDetails(self.details)
        for index, row in rows.items():
            outcome[index], value[index], detail[index] = CODES[row.outcome], row.value, details.number(row.detail)
        return replace(self, outcome=outcome, value=value, details=details.all, detail=detail)

    def in_groups(self, groups: Sequence[str]) -> ScoreColumns:
        """The same rows with other groups, one per sample number."""
        return replace(self, groups=Texts.of(groups).at(self.sample))

    def only(self, rows: Array) -> ScoreColumns:
        """These rows alone, given by index or as true or false for each row."""
        columns = {
            name: getattr(self, name)[rows] for name in ("sample", "repeat", "name", "outcome", "value", "detail")
        }
        return replace(self, **columns, groups=self.groups.at(rows), clusters=self.clusters.at(rows))


def by_appearance(codes: Array, size: int) -> tuple[Array, Array]:
    """Replace codes by numbers in order of first appearance; also returns the code of each number.

    Args:
        codes: whole numbers from 0, below `size`.
        size: how many there may be.

    >>> import numpy as np
    >>> [array.tolist() for array in by_appearance(np.array([7, 2, 7, 5]), 9)]
    [[0, 1, 0, 2], [7, 2, 5]]
    """
    first = np.full(size, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    seen = np.flatnonzero(first < len(codes))
    order = seen[np.argsort(first[seen])]
    number = np.zeros(size, dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[codes], order
