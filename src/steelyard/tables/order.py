"""Rank correlation of the rows that two tables share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence


def rank_correlation(target: Sequence[Hashable], prediction: Sequence[Hashable]) -> float | None:
    """Spearman's rho of the places that shared rows have in both tables; None for fewer than two distinct shared rows.

    A row that occurs t times in the target and p times in the prediction is shared min(t, p) times, by its first
    occurrences; all other rows are left out. With d the differences of the places among what is left, n of them:

        rho = 1 - 6 * sum(d^2) / (n (n^2 - 1))

    Equal rows cannot be told apart, so which of them is which is free: their occurrences are paired first with first,
    and first with last, and the stronger of the two correlations counts, the positive one of two as strong. So 1 means
    the same order and nothing else, -1 the opposite order and nothing else, and reversing one table changes the sign.

    Source: C. Spearman, "The proof and measurement of association between two things", American Journal of
    Psychology 15, 1904; there are no tied ranks, as every row has a place of its own.

    >>> rank_correlation("abcd", "abdc"), rank_correlation("aab", "baa"), rank_correlation("aab", "aba")
    (0.8, -1.0, 0.5)
    >>> rank_correlation("ab", "xb") is None
    True
    """
    wanted, got = Counter(target), Counter(prediction)
    common = {row: min(count, got[row]) for row, count in wanted.items() if row in got}
    if len(common) < 2:
        return None
    there, here = _places(target, common), _places(prediction, common)
    count = sum(common.values())
    # Place by place the mean is equal in both tables, so sums of products order pairings as rho does.
    most = sum(place * other for row, places in there.items() for place, other in zip(places, here[row], strict=True))
    if len(common) == count:
        return _rho(most, count)
    least = sum(
        place * other for row, places in there.items() for place, other in zip(places, reversed(here[row]), strict=True)
    )
    high, low = _rho(most, count), _rho(least, count)
    return high if high >= -low else low


def first_places_correlation(target: Iterable[Hashable], prediction: Iterable[Hashable]) -> float:
    """The correlation as QATCH takes it, to three decimals and mapped to [0, 1]: (rho + 1) / 2.

    Distinct shared rows by first occurrence; 0.5 where there are none, 1 where there is one.

    >>> [first_places_correlation("abc", other) for other in ("cba", "xy", "b")]
    [0.0, 0.5, 1.0]
    """
    wanted, got = dict.fromkeys(target), dict.fromkeys(prediction)
    places = {row: place for place, row in enumerate(row for row in wanted if row in got)}
    squares = sum((place - places[row]) ** 2 for place, row in enumerate(row for row in got if row in places))
    count = max(len(places), 2)
    rho = 1 - 6 * squares / (count * (count**2 - 1)) if places else 0.0
    return (round(rho, 3) + 1) / 2


def _places(rows: Sequence[Hashable], common: dict[Hashable, int]) -> dict[Hashable, list[int]]:
    """Row -> the places of its shared occurrences, counted among shared occurrences."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    place = 0
    for row in rows:
        if row in common and len(places[row]) < common[row]:
            places[row].append(place)
            place += 1
    return places


def _rho(products: int, count: int) -> float:
    """Spearman's rho from the sum of products of 0-based places: exact integers up to the last division."""
    squares = count * (count - 1) * (2 * count - 1) // 6
    return 1 - 6 * (2 * squares - 2 * products) / (count * (count**2 - 1))
