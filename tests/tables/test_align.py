import random
from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.tables.align import align_columns

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
