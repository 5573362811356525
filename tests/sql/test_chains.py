"""Cells that a chain of equal numbers joins count as equal only where they are so themselves."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.sql.equality import CellEquality, numbers_equal, plain_number
from steelyard.sql.order import Ordering
from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import compare_results
from steelyard.tables import cell_precision, execution_accuracy

E = 8e-13
COARSE = CellEquality(tolerance=0.01)


def compared(reference, prediction, **options):
    tables = (ResultTable(tuple("abcde"[: len(rows[0])]), rows) for rows in (reference, prediction))
    return compare_results(*tables, **options)


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ([(1.0, 1 + E)], [(1 + 2 * E, 1 + E)]),
        ([(1.0,), (1 + E,), (1 + 2 * E,)], [(1.0,), (1.0,), (1.0,)]),
        ([(1.0, 1 + E)], [(1 + 2 * E, 1 + E, 5)]),
        ([(-2000000001, -2000000001.0)], [(-2000000001.0005, -2000000001.0005)]),
        ([(2000000001, 2000000001.0)], [(2000000001.0005, 2000000001.0005)]),
        ([(1 - E, 1)], [(1 + E, 1)]),
        ([(Decimal("0.3000000000000000001"), 0.3 * (1 + E))], [(0.3 * (1 + 2 * E), 0.3 * (1 + E))]),
    ],
)
def test_a_third_cell_near_both_makes_no_two_cells_equal(reference, prediction):
    for first, second in ((reference, prediction), (prediction, reference)):
        assert not compared(first, second).right
        assert not compared(first, second, ordering=Ordering(())).right
        assert "agree" not in compared(first, second).reason or len(first[0]) != len(second[0])


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ([(1.0,), (1 + E,)], [(1 + E,), (1 + 2 * E,)]),
        ([(1 + E, 7.0), (1.0, 8.0)], [(1 + 2 * E, 7.0), (1.0, 8.0)]),
        ([(1 + E, 1.0)], [(1 + 2 * E, 1.0)]),
        ([(-2000000001,), (-2000000001.0,)], [(-2000000001.0005,), (-2000000001,)]),
        ([([1 + E], 1.0)], [([1 + 2 * E], 1.0)]),
    ],
)
def test_a_third_cell_near_both_parts_no_two_cells_that_are_equal(reference, prediction):
    assert compared(reference, prediction).kind == "within_tolerance"
    assert compared(prediction, reference).kind == "within_tolerance"


@pytest.mark.parametrize("integer", [1000000001, 2000000001, -1000000001, -2000000001])
def test_a_long_integer_of_either_sign_equals_numbers_within_a_millionth_only(integer):
    assert not compared([(integer,)], [(integer + 0.0005,)]).right
    assert not compared([(integer - 0.0005,)], [(integer,)]).right
    assert compared([(integer,)], [(integer + 5e-7,)]).right


def test_metrics_of_tables_join_no_chains():
    assert execution_accuracy([[1.0, 1 + E]], [[1 + 2 * E, 1 + E]]) == 0
    assert cell_precision([[1.0], [1 + E], [7.0]], [[1 + 2 * E], [1 + 2 * E], [1 + 2 * E]]) == 0


def test_order_counts_where_only_the_rule_tells_rows_apart():
    reference, prediction = [(1.0,), (1.012,), (1.005,)], [(1.012,), (1.0,), (1.005,)]
    assert compared(reference, prediction, ordering=Ordering(()), equality=COARSE).kind == "same_but_order"
    nearer = [(1.005,), (1.02,), (1.012,)]
    assert compared(reference, nearer, ordering=Ordering(()), equality=COARSE).kind == "within_tolerance"


def test_long_columns_that_are_one_chain_are_compared_by_the_rule():
    draw = random.Random(2)
    rows = [(draw.uniform(100, 101), draw.uniform(5, 6)) for _ in range(2000)]
    near = [(first * 1.004, second * 0.996) for first, second in rows]
    draw.shuffle(near)
    far = [(first * 1.03, second) for first, second in rows]
    assert not compared(rows, far, equality=COARSE).right
    assert compared([row[:1] for row in rows], [row[:1] for row in near], equality=COARSE).right


def pairing_exists(reference, prediction, tolerance):
    """Some order of the rows and of the columns in which each two cells are equal, by brute force."""

    def equal(left, right):
        return numbers_equal(plain_number(left), plain_number(right), tolerance)

    return any(
        all(equal(row[at], other[column]) for row, other in zip(reference, rows, strict=True) for at, column in places)
        for rows in itertools.permutations(prediction)
        for columns in itertools.permutations(range(len(prediction[0])))
        for places in [list(enumerate(columns))]
    )


CELLS = st.sampled_from(
    [1, 1.0, 1.006, 1.012, 1.018, Decimal("1.024"), 2, 2.015, 2.03, -1.0, -1.007, 0.0, 100, 100.6, 101, 101.4]
)


@st.composite
def two_tables(draw):
    width, height = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    rows = st.lists(st.tuples(*[CELLS] * width), min_size=height, max_size=height)
    reference = draw(rows)
    near = st.sampled_from([1, 1.0, 1.004, 1.0095, 0.994])
    moved = [tuple(float(cell) * draw(near) for cell in row) for row in reference]
    return reference, draw(rows | st.permutations(moved))


@settings(max_examples=times(80, 300))
@given(two_tables())
def test_a_right_verdict_has_a_pairing_of_rows_whose_cells_are_equal_by_the_rule(tables):
    reference, prediction = tables
    verdict = compared(reference, prediction, equality=COARSE)
    possible = pairing_exists(reference, prediction, COARSE.tolerance)
    assert possible or not verdict.right
    if len(reference[0]) == 1:
        assert verdict.right == possible


@settings(max_examples=times(60, 200))
@given(two_tables())
def test_a_right_verdict_in_order_has_equal_cells_row_by_row(tables):
    reference, prediction = tables
    if compared(reference, prediction, ordering=Ordering(()), equality=COARSE).right:
        assert any(
            all(
                numbers_equal(plain_number(row[at]), plain_number(other[column]), COARSE.tolerance)
                for row, other in zip(*tables, strict=True)
                for at, column in enumerate(columns)
            )
            for columns in itertools.permutations(range(len(reference[0])))
        )
