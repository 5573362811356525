"""Lists that stand in cells of text: JSON, or as Python prints texts; nothing else that Python could read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.table import list_in


@given(st.lists(st.text(), min_size=1))
def test_what_python_prints_of_texts_comes_back(texts):
    assert list_in(str(texts)) == texts
    assert list_in(f"[{' '.join(map(repr, texts))}]") == texts  # as numpy prints them


@pytest.mark.parametrize(("cell", "numbers"), [("[1 2]", [1, 2]), ("[ 3\n -40 ]", [3, -40]), ("[7]", [7])])
def test_whole_numbers_as_numpy_prints_them_come_back(cell, numbers):
    assert list_in(cell) == numbers


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "a, b",
        "[sic] Ann",
        "['a' 'b' ... 'z']",  # numpy left some out
        "['a', 1]",
        "['a', __import__('os')]",
        "[f'{1}']",
        "['\\N{no such name}']",
        "['C:\\dir']",  # Python 3.12 would warn of it on standard error
        "{'a': 1}",
        "[" * 100_000,
        "['" + "\\'" * 100_000,
    ],
)
def test_anything_else_is_no_list(cell):
    assert list_in(cell) is None
