from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.tables.qatch_docs import qatch_docs_key, qatch_docs_rows

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.from_regex(r"-?\d+(\.\d+)?\n?")


@given(st.lists(CELLS, max_size=6))
def test_two_cells_have_one_number_exactly_where_their_keys_are_equal(cells):
    [[row]] = qatch_docs_rows([cells])
    for first, cell in zip(cells, row, strict=True):
        for second, other in zip(cells, row, strict=True):
            assert (cell == other) == (qatch_docs_key(first) == qatch_docs_key(second))


@pytest.mark.parametrize(
    "cell", [10**400, Decimal("1E+999999"), Decimal("sNaN"), Decimal("-Infinity"), "9" * 5000, b"\xff"]
)
def test_documented_keys_exist_for_every_cell(cell):
    assert qatch_docs_key(cell) == qatch_docs_key(cell)
    assert isinstance(hash(qatch_docs_key(cell)), int)


@given(st.lists(st.floats() | st.integers(-(10**6), 10**6).map(lambda whole: whole / 1000), max_size=90))
def test_floats_in_long_columns_have_the_keys_that_they_have_alone(floats):
    cells = [*floats, *(number / 8 for number in range(60)), 1e308, 2.675, 1.005, -0.0, 10**9 + 0.015]
    numbers = [row[0] for row in qatch_docs_rows([(cell,) for cell in cells])[0]]
    pairs = set(zip(map(qatch_docs_key, cells), numbers, strict=True))
    assert len(pairs) == len(set(map(qatch_docs_key, cells))) == len(set(numbers))


def test_tables_with_truth_values_are_numbered_by_the_same_keys():
    rows = [[True, 1, "1.001"], ["x", " X", None], [False, 0, "None"]]
    assert qatch_docs_rows(rows) == [[(0, 1, 1), (2, 2, 3), (4, 5, 6)]]
