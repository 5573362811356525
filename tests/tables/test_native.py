import pytest

from steelyard.tables.native import shape_problem


@pytest.mark.parametrize(
    "table",
    [[], (), [[1]], [(1,), [2]], (("a", None),), [("a", [1, 2])], [([1, 2],)], [["a", [1]]], [[{"k": [1]}]], [[b"x"]]],
)
def test_tables_of_any_cells_are_taken(table):
    assert shape_problem(table) == ""


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (None, "None is not a list of rows"),
        ("[]", "a str is not a list of rows"),
        (5, "an int is not a list of rows"),
        ({"a": [1]}, "a dict is not a list of rows"),
        ([None], "row 1 is None, not a list of cells"),
        ([[1], "ab"], "row 2 is a str, not a list of cells"),
        ([[1], {"a": 1}], "row 2 is a dict, not a list of cells"),
        ([[1, 2], [1, 2], [1]], "row 3 has 1 cell where row 1 has 2"),
        ([[1], [1, 2], [1, 2, 3]], "row 2 has 2 cells where row 1 has 1"),
        ([[], [1]], "row 2 has 1 cell where row 1 has 0"),
        ([[]], "row 1 has no cells"),
        ([[[1], [2]], [[3], [4]]], "row 1 holds lists where cells belong: a third dimension"),
    ],
)
def test_what_is_no_table_is_named_by_its_first_wrong_row(table, problem):
    assert shape_problem(table) == problem
