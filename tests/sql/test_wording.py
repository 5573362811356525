"""The first rows of two results as they are stored: what differs is marked, and the size has a limit."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.cells import cells_equal
from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import judge
from steelyard.sql.wording import shown_results


def shown(reference, predicted):
    return shown_results(reference, predicted, judge(reference, predicted).alignment)


def table(columns, *rows):
    return ResultTable(tuple(columns), list(rows))


def test_rows_that_differ_further_down_follow_the_first_ones():
    rows = [(n,) for n in range(100)]
    sides = shown(table("n", *rows), table("n", *rows[:50], (-1,), *rows[51:]))
    assert [row["row"] for row in sides["reference"]["rows"]] == [1, 2, 3, 4, 5, 6, 7, 8, 51]
    assert [row["differs"] for row in sides["predicted"]["rows"]] == [*[[]] * 8, [0]]
    assert sides["reference"]["total"] == 100


def test_a_column_that_one_side_lacks_differs_in_every_row():
    sides = shown(table("ab", (1, 2), (3, 4)), table("b", (2,), (4,)))
    assert [row["differs"] for row in sides["reference"]["rows"]] == [[0], [0]]
    assert [row["differs"] for row in sides["predicted"]["rows"]] == [[], []]


def test_what_is_stored_stays_small_whatever_the_cells_are():
    wide = [tuple("易" * 500 for _ in range(100)) for _ in range(50)]
    sides = shown(table(["name" * 50] * 100, *wide), table(["x"] * 100, *[(math.nan,) * 100] * 50))
    assert len(json.dumps(sides, ensure_ascii=False).encode()) < 6_000
    assert sides["reference"]["width"] == 100


CELLS = st.sampled_from([None, 1, 1.0, 2, "a", "b", True, 0.3, 0.1 + 0.2])
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=6)


@given(ROWS, ROWS)
def test_marked_cells_of_rows_in_line_do_differ(first, second):
    reference, predicted = table("ab", *first), table("ab", *second)
    verdict = judge(reference, predicted)
    sides = shown_results(reference, predicted, verdict.alignment)
    marked = any(row["differs"] for side in sides.values() for row in side["rows"])
    assert marked != verdict.right
    for row, other in zip(first, second, strict=False):
        if len(first) == len(second) == 1:
            [left] = sides["reference"]["rows"]
            if all(cells_equal(cell, returned) for cell, returned in zip(row, other, strict=True)):
                assert left["differs"] == []
