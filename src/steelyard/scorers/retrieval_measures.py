"""Measures of a ranked retrieval, from which expected sources each passage answers to.

They take one thing, the answers: for each retrieved passage in rank order the places of the expected sources that it
answers to. With ids as sources that is none or one place per passage, and every measure is the one of the textbooks. In
general a passage may answer to several sources, and a source be answered by several passages, because systems that are
compared cut documents differently; each docstring says what the measure is then. A source is newly answered at the
first rank that answers to it; only that counts where a measure adds up over ranks, so that ten overlapping passages of
one source are not ten successes. Every measure is in [0, 1].

Sources: C. D. Manning, P. Raghavan, H. Schütze, "Introduction to information retrieval", 2008, chapter 8;
K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

Answers = Sequence[AbstractSet[int]]
Gain = Literal["binary", "linear", "exponential"]


def newly_answered(answers: Answers) -> list[int]:
    """How many sources each rank answers to that no rank before it does.

    >>> newly_answered([{0}, {0}, set(), {0, 1, 2}])
    [1, 0, 0, 2]
    """
    seen: set[int] = set()
    counts = []
    for one in answers:
        counts.append(len(one - seen))
        seen |= one
    return counts


def hit_rate(answers: Answers) -> float:
    """1 where any retrieved passage answers to any expected source, else 0.

    >>> hit_rate([set(), {1}]), hit_rate([])
    (1.0, 0.0)
    """
    return float(any(answers))


def reciprocal_rank(answers: Answers) -> float:
    """1 / rank of the first passage that answers to an expected source; 0 where none does. Its mean is the MRR.

    >>> reciprocal_rank([set(), {1}, {0}])
    0.5
    """
    return next((1 / rank for rank, one in enumerate(answers, start=1) if one), 0.0)


def precision(answers: Answers) -> float:
    """Retrieved passages that answer to any expected source / retrieved passages; 0 where nothing was retrieved.

    Manning et al., equation 8.1. A passage that answers to a source again counts: it is no noise.

    >>> precision([{0}, set(), {0}, set()])
    0.5
    """
    return sum(1 for one in answers if one) / len(answers) if answers else 0.0


def recall(answers: Answers, expected: int) -> float:
    """Expected sources that are answered by any passage / expected sources.

    Manning et al., equation 8.2.

    Args:
        answers: of each passage in rank order.
        expected: number of expected sources, at least 1.

    >>> recall([{0}, {0}, {2}], 4)
    0.5
    """
    return sum(newly_answered(answers)) / expected


def average_precision(answers: Answers, expected: int) -> float:
    """Precision at the ranks that newly answer sources, averaged over the expected sources.

    AP = (1 / expected) * sum over ranks i of new_i * useful_i / i, where new_i sources are newly answered at rank i and
    useful_i ranks up to i newly answered any. Sources that are never answered add 0. Its mean over questions is the
    MAP; Manning et al., equation 8.8. One to one, new_i is 0 or 1 and this is their formula.

    Args:
        answers: of each passage in rank order.
        expected: number of expected sources, at least 1.

    >>> average_precision([{0}, set(), {1}, set()], 2)  # (1/1 + 2/3) / 2
    0.8333333333333333
    >>> average_precision([{0, 1}], 2), average_precision([{0}, {0}, {1}], 2)  # (2 * 1/1) / 2, (1/1 + 2/3) / 2
    (1.0, 0.8333333333333333)
    """
    total, useful = 0.0, 0
    for rank, new in enumerate(newly_answered(answers), start=1):
        if new:
            useful += 1
            total += new * useful / rank
    return total / expected


def ndcg(answers: Answers, expected: int, *, gain: Gain = "binary", k: int | None = None) -> float:
    """Discounted gain of the ranks that newly answer sources, as a share of the best there could be.

    DCG = sum over ranks i of g(new_i) / log2(i + 1); nDCG = DCG / ideal DCG. The ideal has the same gains in the best
    order, and behind them a passage of its own for each source that is not answered. One to one that is a gain of 1 at
    each of the ranks 1 to `expected`, whichever `gain` is chosen.
    Järvelin and Kekäläinen 2002, section 2.2, with the discount log2(i + 1) that has become the usual one.

    Args:
        answers: of each passage in rank order, cut off already.
        expected: number of expected sources, at least 1.
        gain: g(n) of n newly answered sources: `binary` 1 where n > 0, `linear` n, `exponential` 2^n - 1.
        k: the ideal has at most this many ranks; None: as many as it needs, also where fewer were retrieved.

    >>> round(ndcg([set(), {0}, {1}], 3), 4)  # (1/log2(3) + 1/log2(4)) / (1 + 1/log2(3) + 1/log2(4))
    0.5307
    >>> ndcg([{0, 1, 2}], 3), ndcg([{0, 1, 2}], 3, gain="linear")
    (1.0, 1.0)
    """
    new = newly_answered(answers)
    gains = [_gain(one, gain) for one in new]
    missed = [1.0] * (expected - sum(new))
    ideal = sorted((one for one in gains if one), reverse=True) + missed
    return _discounted(gains) / _discounted(ideal[:k])


def _gain(count: int, gain: Gain) -> float:
    if gain == "binary":
        return float(count > 0)
    return float(count) if gain == "linear" else 2.0**count - 1


def _discounted(gains: Sequence[float]) -> float:
    return sum(one / math.log2(rank + 1) for rank, one in enumerate(gains, start=1))
