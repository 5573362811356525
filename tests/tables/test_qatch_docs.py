from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.tables.qatch_docs import documented_key, documented_rows


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
