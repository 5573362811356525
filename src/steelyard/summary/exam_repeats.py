"""Answers to one question that change: from order to order of its options, and from repeat to repeat."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.stats.intervals import wilson, wilson_clustered
from steelyard.summary.exam import Repeats, Rotations
from steelyard.summary.exam_rows import UNREAD, Columns
from steelyard.summary.means import Mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def rotations_of(columns: Columns, failed: Collection[int]) -> Rotations | None:
    """What several orders of the options say; None where no question was asked in more than one.

    Args:
        columns: of all rows that count.
        failed: numbers of the questions of which a record failed: of these it is not known whether all orders are
            solved, so they are left out.
    """
    import numpy as np

    if not columns.shuffled.any():
        return None
    orders = _distinct_per(columns.question, columns.sample)
    several = (orders > 1)[columns.question]
    if not several.any():
        return None
    whole = several & ~np.isin(columns.question, list(failed))
    incomplete = len(np.unique(columns.question[several & ~whole]))
    part = Columns(*(one[whole] for one in columns))
    found = _votes(part, _paired(part.question, part.repeat))
    units = found.units
    return Rotations(
        questions=len(np.unique(part.question)),
        orders=int(orders.max()),
        incomplete=incomplete,
        all_right=_rate(found.least, units),
        majority=_rate(found.right, units),
        tied=int(found.tied.sum()),
    )


def repeats_of(columns: Columns) -> Repeats | None:
    """What repeats of a sample say; None where none was repeated."""
    if not len(columns.repeat) or int(columns.repeat.max()) == 0:
        return None
    found = _votes(columns, columns.sample)
    twice = found.read > 1
    off = 1 - found.most[twice] / found.read[twice]
    return Repeats(
        samples=int(twice.sum()),
        repeats=int(columns.repeat.max()) + 1,
        flipped=_rate((found.most < found.read)[twice].astype(float), found.units[twice]),
        off=float(off.mean()) if len(off) else None,
        majority=_rate(found.right, found.units),
        tied=int(found.tied.sum()),
    )


class _Votes(NamedTuple):
    """Per block of replies that are to give one answer.

    Args:
        read: answers that were read.
        most: how often the most frequent one was given.
        tied: whether several were given that often.
        right: 1 where there is a most frequent answer and it is right.
        least: the lowest value; 1 where all are right.
        units: the independent question it belongs to.
    """

    read: Array
    most: Array
    tied: Array
    right: Array
    least: Array
    units: Array


def _votes(columns: Columns, blocks: Array) -> _Votes:
    import numpy as np

    names, first, index = np.unique(blocks, return_index=True, return_inverse=True)
    size = len(names)
    given = columns.answer != UNREAD
    width = int(columns.answer.max(initial=0)) + 1
    answers, at, counts = np.unique(
        index[given] * width + columns.answer[given], return_inverse=True, return_counts=True
    )
    block = answers // width
    values = np.bincount(at, weights=columns.value[given], minlength=len(answers)) / np.maximum(counts, 1)
    most = np.zeros(size, dtype=int)
    np.maximum.at(most, block, counts)
    top = counts == most[block]
    tops = np.bincount(block[top], minlength=size)
    right = np.zeros(size)
    np.maximum.at(right, block[top], values[top])
    least = np.ones(size)
    np.minimum.at(least, index, columns.value)
    read = np.bincount(index[given], minlength=size)
    return _Votes(read, most, tops > 1, np.where(tops == 1, right >= 0.5, 0.0), least, columns.unit[first])


def _distinct_per(owners: Array, things: Array) -> Array:
    """How many different things each owner (numbered from 0) has."""
    import numpy as np

    if not len(owners):
        return np.zeros(0, dtype=int)
    width = int(things.max()) + 1
    return np.bincount(np.unique(owners * width + things) // width, minlength=int(owners.max()) + 1)


def _paired(first: Array, second: Array) -> Array:
    """A number per pair of two numbers."""
    paired: Array = first * (int(second.max(initial=0)) + 1) + second
    return paired


def _rate(values: Array, units: Array) -> Mean:
    """A share with Wilson's interval, by cluster where several values belong to one question."""
    import numpy as np

    n = len(values)
    if not n:
        return Mean(None, None, 0)
    if len(np.unique(units)) == n:
        return Mean(float(values.mean()), wilson(int(values.sum()), n), n)
    return Mean(float(values.mean()), wilson_clustered(values, clusters=units), n)
