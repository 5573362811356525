"""A side of a comparison as the result of a query."""

import pytest

from steelyard.tables.sides import TableSide


@pytest.mark.parametrize(
    ("side", "columns"),
    [
        (TableSide([(1, 2)], columns=("a", "b")), ("a", "b")),
        (TableSide([], columns=("a", "b")), ("a", "b")),
        (TableSide([(1, 2)]), ("", "")),
        (TableSide([]), ("", "", "")),
    ],
    ids=["names", "names without rows", "rows alone", "nothing"],
)
def test_a_result_has_its_names_else_as_many_empty_ones_as_it_is_wide(side, columns):
    result = side.result(3)
    assert (result.columns, list(result.rows)) == (columns, list(side.table))
