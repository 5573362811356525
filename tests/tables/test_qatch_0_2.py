from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.tables.counting import Lexicon
from steelyard.tables.qatch_0_2 import release_text
from steelyard.tables.qatch_docs import qatch_docs_key

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.from_regex(r"-?\d+(\.\d+)?\n?")


@given(st.lists(CELLS, max_size=6))
def test_two_cells_have_one_number_exactly_where_their_keys_are_equal(cells):
    for key in (qatch_docs_key, str):
        [row] = Lexicon(key).rows([cells])
        for first, cell in zip(cells, row, strict=True):
            for second, other in zip(cells, row, strict=True):
                assert (cell == other) == (key(first) == key(second))


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
