"""Packed rows are the rows, whatever their cells hold; edited ones are those of the list they stand for."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data import packed_rows as module
from steelyard.data.packed_rows import DatasetRow, EditedRows, PackedRows, ids_of, packed_rows

ODD = [date(2024, 1, 31), 2**70, float("inf"), (1, 2), {1: "a"}, "\ud800", b"bytes"]
PLAIN = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=5)
CELLS = PLAIN | st.sampled_from(ODD) | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=2), PLAIN)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 3)
    monkeypatch.setattr(module, "_FEW", 2)


def rows_of(cells):
    return [DatasetRow(f"r{no}", tuple(of_row)) for no, of_row in enumerate(cells)]


def whole(rows, width):
    return tuple(DatasetRow(row.id, (*row.cells, *(None,) * (width - len(row.cells)))) for row in rows)


@given(st.lists(st.lists(CELLS, max_size=3), max_size=10))
def test_packed_rows_are_the_rows_with_the_types_of_their_cells(cells):
    rows = rows_of(cells)
    packed = packed_rows(rows, lambda: 3)
    assert isinstance(packed, PackedRows) == (len(rows) > 2)
    assert tuple(packed) == whole(rows, 3)
    assert repr([packed[at] for at in range(len(rows))]) == repr(list(whole(rows, 3)))
    assert packed[1:][::-1] == whole(rows, 3)[1:][::-1]
    assert list(ids_of(packed)) == [row.id for row in rows]
    with pytest.raises(IndexError):
        packed[len(rows)]


@given(st.data(), st.integers(3, 12))
def test_edited_rows_are_those_of_the_list_that_they_stand_for(data, n):
    rows = packed_rows(rows_of([[no] for no in range(n)]), lambda: 1)
    changed = data.draw(
        st.dictionaries(st.integers(0, n - 1), st.none() | st.just(DatasetRow("new", (None,))), max_size=n)
    )
    added = rows_of([["x"]] * data.draw(st.integers(0, 2)))
    expected = [row for at in range(n) if (row := changed.get(at, rows[at])) is not None] + added
    edited = EditedRows(rows, {at: row and DatasetRow(rows[at].id, row.cells) for at, row in changed.items()}, added)
    assert [row.cells for row in edited] == [row.cells for row in expected]
    assert edited.ids == [row.id for row in edited]
    assert len(edited) == len(expected)
    assert [edited[at] for at in range(len(edited))] == list(edited)
