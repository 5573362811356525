"""Position bias: how often each letter is chosen, and whether the right option is found as often at every letter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steelyard.stats.homogeneity import HomogeneityTest, between_places, within_samples
from steelyard.stats.intervals import wilson, wilson_clustered
from steelyard.summary.exam import LetterBias, LetterRecall
from steelyard.summary.exam_rows import UNREAD, Columns
from steelyard.summary.means import Mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

CAUTION: Final = (
    "Each question has its key at one letter only, where its author put it: what looks like a preference for a letter "
    "may be that questions with another key are harder. Rotations or shuffled options tell the two apart."
)


def letter_bias(columns: Columns) -> LetterBias | None:
    """What the letters say, over questions with one right option; None where fewer than two letters have been the key.

    Where most questions had their key at several letters (rotations), recall is compared within questions, by
    Cochran's Q; else between questions, by Pearson's chi-squared test, each question as the mean of its repeats.

    Source: recall by letter and its standard deviation, C. Zheng et al., "Large language models are not robust
    multiple choice selectors", ICLR 2024, section 2.
    """
    import numpy as np

    single = (columns.key != UNREAD) & (columns.options > 0)
    part = Columns(*(one[single] for one in columns))
    if len(part.key) == 0 or part.key.min() == part.key.max():
        return None
    letters = tuple(_recall(part, place) for place in range(int(part.options.max())))
    recalls = [one.recall.value for one in letters if one.recall.value is not None]
    places = _places_per_unit(part)
    moved, questions = int((places > 1).sum()), len(places)
    within = 2 * moved >= questions
    test = within_samples(part.value, part.key, part.unit) if within else _between(part, places)
    shuffled = 2 * int(part.shuffled.sum()) >= len(part.key)
    return LetterBias(
        letters=letters,
        spread=max(recalls) - min(recalls),
        deviation=float(np.std(recalls)),
        test=test.name,
        statistic=test.statistic,
        df=test.df,
        p=test.p,
        moved=moved,
        questions=questions,
        caution="" if within or shuffled else CAUTION,
    )


def _recall(part: Columns, place: int) -> LetterRecall:
    import numpy as np

    at = part.key == place
    n, values = int(at.sum()), part.value[at]
    recall = Mean(None, None, 0)
    if n:
        apart = _is_alone(part) or len(np.unique(part.unit[at])) == n
        interval = wilson(int(values.sum()), n) if apart else wilson_clustered(values, clusters=part.unit[at])
        recall = Mean(float(values.mean()), interval, n)
    offered, chosen = int((part.options > place).sum()), int((part.shown == place).sum())
    return LetterRecall(chr(ord("A") + place), offered, n, chosen, recall)


def _is_alone(part: Columns) -> bool:
    """Whether every row is a question of its own, as units are numbered by first appearance."""
    unit = part.unit
    return bool((unit[1:] > unit[:-1]).all())


def _places_per_unit(part: Columns) -> Array:
    """At how many letters the key of each independent question stood."""
    import numpy as np

    if _is_alone(part):
        return np.ones(len(part.unit), dtype=int)
    units = np.unique(part.unit, return_inverse=True)[1]
    pairs = np.unique(units * (int(part.key.max()) + 1) + part.key)
    return np.bincount(pairs // (int(part.key.max()) + 1))


def _between(part: Columns, places: Array) -> HomogeneityTest:
    """Of the questions whose key stood at one letter, each as one value."""
    import numpy as np

    if _is_alone(part):
        return between_places(part.value, part.key)
    units = np.unique(part.unit, return_inverse=True)[1]
    means = np.bincount(units, weights=part.value) / np.bincount(units)
    keys = np.zeros(len(means), dtype=int)
    keys[units] = part.key
    return between_places(means[places == 1], keys[places == 1])
