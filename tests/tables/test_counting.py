from statistics import correlation

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from steelyard.tables.counting import (
    NumberedRows,
    first_places_correlation,
    numbered_correlation,
    rank_correlation,
)

FEW = st.lists(st.sampled_from("abcd"), max_size=9)


def shared_places(rows, others):
    """Row -> places among the shared occurrences, read off one by one."""
    left = {row: min(rows.count(row), others.count(row)) for row in rows}
    places, position = {}, 0
    for row in rows:
        if left[row]:
            left[row] -= 1
            places.setdefault(row, []).append(position)
            position += 1
    return places


def naive(rows, others):
    """Pearson's correlation of the places, for both ways of pairing equal rows."""
    there, here = shared_places(rows, others), shared_places(others, rows)
    if len(there) < 2:
        return None
    x = [position for row in there for position in there[row]]
    high = correlation(x, [position for row in there for position in here[row]])
    low = correlation(x, [position for row in there for position in reversed(here[row])])
    return high if high + low >= -1e-12 else low


@given(FEW, FEW)
def test_it_equals_pearsons_correlation_of_the_places(rows, others):
    correlated, expected = rank_correlation(rows, others), naive(rows, others)
    assert (correlated is None) == (expected is None)
    assert correlated is None or abs(correlated - expected) < 1e-9


@given(st.permutations(range(8)))
def test_without_repeats_it_is_scipys_spearman(order):
    assert abs(rank_correlation(range(8), order) - spearmanr(range(8), [order.index(n) for n in range(8)])[0]) < 1e-12


@given(FEW, FEW)
def test_it_is_bounded_symmetric_and_one_for_the_same_order_only(rows, others):
    correlated = rank_correlation(rows, others)
    assert correlated == rank_correlation(others, rows)
    if correlated is not None:
        assert -1 <= correlated <= 1
        kept = [sorted(places) for places in (shared_places(rows, others), shared_places(others, rows))]
        assert kept[0] == kept[1]
        assert (correlated == 1) == (shared_places(rows, others) == shared_places(others, rows))


@given(st.lists(st.sampled_from("abcd"), min_size=2).filter(lambda rows: len(set(rows)) > 1))
def test_the_reversed_table_correlates_minus_one_with_repeats_too(rows):
    assert rank_correlation(rows, rows) == 1
    reverse = rows[::-1]
    assert rank_correlation(rows, reverse) == (1 if rows == reverse else -1)


def test_rows_of_one_table_only_change_nothing():
    assert rank_correlation("abc", "acb") == rank_correlation("axbycz", "wacvb") == 0.5


def test_a_misplaced_repeat_counts():
    assert rank_correlation("aabb", "abab") == 0.8
    assert first_places_correlation("aabb", "abab") == 1.0


def test_the_sum_of_squares_does_not_overflow():
    rows = np.arange(3_100_000)  # the sum of their squares is beyond 64 bits
    assert numbered_correlation(NumberedRows(rows, rows[::-1], len(rows))) == -1
