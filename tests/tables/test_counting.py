from __future__ import annotations

import random
from collections import Counter
from itertools import permutations
from statistics import correlation

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from tests.thorough import times

from steelyard.tables.counting import (
    NumberedRows,
    align_columns,
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


TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=6)
)


def common(target, prediction):
    return (Counter(target) & Counter(prediction)).total()


def found(target, prediction):
    rows = align_columns(target, prediction)
    return common(rows.target.tolist(), rows.prediction.tolist())


def permuted(rows, columns):
    return [tuple(row[column] for column in columns) for row in rows]


@given(TABLES, st.randoms(use_true_random=False))
def test_any_order_of_columns_and_rows_of_the_same_table_is_found(target, draw):
    columns = draw.sample(range(len(target[0])), len(target[0]))
    prediction = draw.sample(permuted(target, columns), len(target))
    assert found(target, prediction) == len(target)


@given(TABLES, st.randoms(use_true_random=False))
def test_columns_as_they_are_are_never_given_up_for_fewer_rows(target, draw):
    prediction = [tuple(draw.choice((0, 1, 2)) for _ in row) for row in target]
    best = max(common(target, permuted(prediction, order)) for order in permutations(range(len(target[0]))))
    assert common(target, prediction) <= found(target, prediction) <= best


@given(TABLES, TABLES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_count_of_common_rows(target, prediction, draw):
    shuffled = draw.sample(prediction, len(prediction))
    assert found(target, prediction) == found(draw.sample(target, len(target)), shuffled)


def test_permuted_columns_are_found_though_some_rows_are_wrong_or_missing():
    draw = random.Random(4)
    target = [tuple(draw.sample(range(1000), 5)) for _ in range(200)]
    right = permuted(target, (3, 0, 4, 1, 2))[30:]
    wrong = [tuple(draw.sample(range(1000, 2000), 5)) for _ in range(60)]
    assert found(target, draw.sample(right + wrong, 230)) == 170


def test_cells_that_change_places_in_one_row_only_make_it_a_wrong_row():
    assert found([(1, 2), (3, 4)], [(2, 1), (3, 4)]) == 1


def test_rows_in_place_decide_where_columns_could_be_either():
    rows = align_columns([(1, 2), (2, 1)], [(2, 1), (1, 2)])
    assert rows.target.tolist() == rows.prediction.tolist()


def test_tables_of_different_widths_share_no_row():
    assert found([(1, 2)], [(1, 2, 3)]) == 0


def test_tens_of_thousands_of_columns_are_matched_in_linear_time():
    columns = times(10_000, 30_000)
    wide, zeros = tuple(range(columns)), (0,) * columns
    assert found([wide], [wide[::-1]]) == 1
    assert found([wide, wide], [zeros] * 2) == 0
    assert found([zeros, wide], [wide[::-1], zeros]) == 2
