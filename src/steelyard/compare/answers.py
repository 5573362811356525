"""One run as a comparison reads it: every score of every sample, in one pass over the run's rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steelyard.summary import Over, ScoreRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_READ: Final = frozenset({"scored", "unparsed", "refused"})


@dataclass(frozen=True, slots=True)
class Tally:
    """One score of one run, summed over the repeats of each sample; arrays with a number per sample.

    Args:
        total: sum of the values.
        scored: repeats with a value.
        read: repeats that count where the score is over all replies: scored, unparsed and refused ones.
        errors: repeats that failed.
        rows: all repeats; 0 where the sample has no row of this score.
    """

    total: Array
    scored: Array
    read: Array
    errors: Array
    rows: Array

    def means(self, over: Over) -> Array:
        """Per sample the mean over the repeats that count, NaN where none does; a failed repeat counts nowhere."""
        import numpy as np

        n = self.read if over == "all" else self.scored
        means: Array = np.where(n > 0, self.total / np.maximum(n, 1), np.nan)
        return means


@dataclass(frozen=True, slots=True)
class Answers:
    """All scores of one run.

    Args:
        places: sample id -> its place in the arrays, in order of first appearance.
        groups: per sample; likewise `clusters`.
        tallies: per score; "" holds the errors without a score's name.
    """

    places: Mapping[str, int]
    groups: Sequence[str]
    clusters: Sequence[str]
    tallies: Mapping[str, Tally]

    @property
    def samples(self) -> list[str]:
        """Ids by place."""
        return list(self.places)

    def tally(self, score: str) -> Tally:
        """The rows of a score; of one that no record has, the errors alone."""
        return self.tallies.get(score) or self.tallies[""]


@dataclass(slots=True)
class _Columns:
    """The rows of one score as they come: where each belongs and what it says."""

    places: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)

    def tally(self, size: int, nameless: Array) -> Tally:
        import numpy as np

        where = np.asarray(self.places, dtype=int)
        scored = np.bincount(where, minlength=size)
        read = scored + _counts(self.unread, size)
        errors = _counts(self.errors, size) + nameless
        total = np.bincount(where, weights=np.asarray(self.values, dtype=float), minlength=size)
        return Tally(total, scored, read, errors, read + errors + _counts(self.rest, size))


def read_answers(rows: Iterable[ScoreRow], groups: Sequence[str] = ()) -> Answers:
    """Sum up the rows of a run.

    Args:
        rows: in any order. An error without a score's name counts in every score.
        groups: only samples of these; empty for all.
    """
    places: dict[str, int] = {}
    of_groups: list[str] = []
    clusters: list[str] = []
    columns: dict[str, _Columns] = {}
    for sample, group, cluster, _, name, outcome, value in rows:
        if groups and group not in groups:
            continue
        place = places.get(sample)
        if place is None:
            place = places[sample] = len(places)
            of_groups.append(group)
            clusters.append(cluster)
        column = columns.get(name)
        if column is None:
            column = columns[name] = _Columns()
        if value is not None:
            column.places.append(place)
            column.values.append(value)
        elif outcome == "error":
            column.errors.append(place)
        elif outcome in _READ:
            column.unread.append(place)
        else:
            column.rest.append(place)
    return Answers(places, of_groups, clusters, _tallies(columns, len(places)))


def _tallies(columns: dict[str, _Columns], size: int) -> dict[str, Tally]:
    none = _counts([], size)
    nameless = columns.pop("", _Columns()).tally(size, none)
    return {"": nameless, **{name: column.tally(size, nameless.errors) for name, column in columns.items()}}


def _counts(places: Sequence[int], size: int) -> Array:
    import numpy as np

    return np.bincount(np.asarray(places, dtype=int), minlength=size)
