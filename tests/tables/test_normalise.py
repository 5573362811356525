from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.tables.normalise import Lexicon, documented_key, documented_rows, release_text

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.from_regex(r"-?\d+(\.\d+)?\n?")


@given(st.lists(CELLS, max_size=6))
def test_two_cells_have_one_number_exactly_where_their_keys_are_equal(cells):
    for key in (documented_key, str):
        [row] = Lexicon(key).rows([cells])
        for first, one in zip(cells, row, strict=True):
            for second, other in zip(cells, row, strict=True):
                assert (one == other) == (key(first) == key(second))


def test_negative_zero_keeps_its_own_text():
    assert release_text(-0.0) == "-0.0"
    assert Lexicon(release_text).rows([[0.0, -0.0, 0.0]]) == [(0, 1, 0)]


def test_one_and_true_do_not_stand_for_each_other():
    assert Lexicon(release_text).rows([[1, True, 1.0, "1"]]) == [(0, 1, 2, 0)]


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        (b"a", TypeError),
        ([1], TypeError),
        (10**400, OverflowError),
        (Decimal(1), AttributeError),
        ("9" * 5000, ValueError),
    ],
)
def test_cells_that_the_releases_cannot_fold_raise_as_they_do(cell, error):
    with pytest.raises(error):
        release_text(cell)


@pytest.mark.parametrize(
    "cell", [10**400, Decimal("1E+999999"), Decimal("sNaN"), Decimal("-Infinity"), "9" * 5000, b"\xff"]
)
def test_documented_keys_exist_for_every_cell(cell):
    assert documented_key(cell) == documented_key(cell)
    assert isinstance(hash(documented_key(cell)), int)


@given(st.lists(st.floats() | st.integers(-(10**6), 10**6).map(lambda whole: whole / 1000), max_size=90))
def test_floats_in_long_columns_have_the_keys_that_they_have_alone(floats):
    cells = [*floats, *(number / 8 for number in range(60)), 1e308, 2.675, 1.005, -0.0, 10**9 + 0.015]
    numbers = [row[0] for row in documented_rows([(cell,) for cell in cells])[0]]
    pairs = set(zip(map(documented_key, cells), numbers, strict=True))
    assert len(pairs) == len(set(map(documented_key, cells))) == len(set(numbers))


def test_tables_with_truth_values_are_numbered_by_the_same_keys():
    rows = [[True, 1, "1.001"], ["x", " X", None], [False, 0, "None"]]
    assert documented_rows(rows) == [[(0, 1, 1), (2, 2, 3), (4, 5, 6)]]
