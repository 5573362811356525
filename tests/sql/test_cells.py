"""Keys of cells: equal by type, at 9 significant digits where a float takes part, and by hash."""

from __future__ import annotations

import math
import random
import sys
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.cells import intern_tables

DAY = datetime.fromisoformat("2026-01-01")


def equal(left, right, *, exact=False):
    [[(first,)], [(second,)]] = intern_tables([(left,)], [(right,)], exact=exact)
    return first == second


ALIKE = [
    (None, None),
    (None, pd.NA),
    (None, pd.NaT),
    (None, np.datetime64("NaT", "s")),
    (math.nan, float("nan")),
    (math.nan, np.float64("nan")),
    (math.nan, Decimal("NaN")),
    (math.nan, Decimal("sNaN")),
    (1, 1.0),
    (1, Decimal("1.00")),
    (1.5, Decimal("1.5")),
    (0, -0.0),
    (0.0, Decimal("-0.0")),
    (7, np.int64(7)),
    (True, np.bool_(True)),
    (0.1 + 0.2, 0.3),
    (1 / 3, Decimal("0.3333333333333333333333")),
    (12345678901, 12345678901.0),
    (12345678901, 12345678902.0),
    (10**9, 999_999_999.6),
    (10**400, Decimal(10) ** 400),
    (2**70, Decimal(2**70)),
    (math.inf, Decimal("Infinity")),
    (1e300 * 1e300, math.inf),
    ("易", "易"),
    ("text", np.str_("text")),
    (b"\x00\xff", bytearray(b"\x00\xff")),
    (b"ab", memoryview(b"ab")),
    (datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
    (DAY, pd.Timestamp("2026-01-01")),
    (DAY, np.datetime64("2026-01-01", "ns")),
    (timedelta(days=1), pd.Timedelta(days=1)),
    (uuid.UUID(int=5), uuid.UUID(int=5)),
    ([1, 2], (1.0, 2)),
    ([1, 2], np.array([1, 2])),
    ([0.3, [None, math.nan]], [0.1 + 0.2, [None, math.nan]]),
    ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}),
    ({1: "x"}, {1.0: "x"}),
    ([12345678901], [12345678901.0]),
    ({10: "x", 9: "y"}, {9.0: "y", 10.0: "x"}),
    (Fraction(1, 3), Fraction(1, 3)),
]
APART = [
    (None, math.nan),
    (None, 0),
    (None, ""),
    (None, False),
    (True, 1),
    (False, 0),
    (True, 1.0),
    (1, "1"),
    (1.0, "1.0"),
    ("", " "),
    ("a", "A"),
    ("a", "a "),
    ("é", "e\u0301"),
    ("ab", b"ab"),
    (1.0, 1.00000001),
    (1, 1.00000001),
    (1, Decimal("1.00000001")),
    (12345678901, 12345678902),
    (12345678901, Decimal(12345678902)),
    (2**53, 2**53 + 1),
    (10**400, 10**400 + 1),
    (10**400, math.inf),
    (Decimal("1E+999999"), math.inf),
    (math.inf, -math.inf),
    (math.inf, math.nan),
    (5e-324, 0.0),
    (date(2026, 1, 1), DAY),
    (date(2026, 1, 1), "2026-01-01"),
    (time(1), timedelta(hours=1)),
    (uuid.UUID(int=5), str(uuid.UUID(int=5))),
    (uuid.UUID(int=5), 5),
    ([1, 2], [2, 1]),
    ([1, 2], "[1, 2]"),
    ([[1], 2], [[1, 2]]),
    ([[], []], [[[]]]),
    ([None], None),
    ([], {}),
    ({"a": 1}, {"a": True}),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": {"b": 1}}, {"a": 1, "b": 1}),
    ([True], [1]),
]


@pytest.mark.parametrize(("left", "right"), ALIKE)
def test_cells_of_the_same_value_share_a_key(left, right):
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(("left", "right"), APART)
def test_cells_of_different_value_or_type_do_not(left, right):
    assert not equal(left, right)
    assert not equal(right, left)


def test_long_ids_merge_only_where_a_float_equals_both():
    ids = [(12345678901,), (12345678902,), (99999999999,)]
    assert len({row for [row] in zip(intern_tables(ids)[0], strict=True)}) == 3
    [mine, _] = intern_tables(ids, [(1.23456789e10,)])
    assert mine[0] == mine[1] != mine[2]
    [mine, _] = intern_tables(ids, [(5.5e9,), (0.25,)])
    assert len(set(mine)) == 3


def test_a_float_in_a_later_table_or_a_nested_cell_is_seen_before_keys_are_made():
    [first, second, third] = intern_tables([(12345678901,)], [(12345678902,)], [([{"x": 12345678901.5}],)])
    assert first == second != third


def test_exactly_equal_floats_are_told_from_near_ones():
    assert not equal(0.1 + 0.2, 0.3, exact=True)
    assert not equal(12345678901, 12345678902.0, exact=True)
    assert not equal(Decimal("0.1"), 0.1, exact=True)
    assert not equal(True, 1, exact=True)
    assert equal(1, 1.0, exact=True)
    assert equal(2**53, float(2**53), exact=True)
    assert equal(math.nan, float("nan"), exact=True)
    assert equal(0.0, -0.0, exact=True)
    assert equal(Decimal("0.50"), 0.5, exact=True)


def test_rows_keep_their_widths_where_they_are_ragged_or_empty():
    assert intern_tables([(1, 2), (1,), ()], [(), ()], []) == [[(0, 1), (0,), ()], [(), ()], []]


def test_a_cell_nested_deeper_than_the_interpreter_allows_is_keyed():
    deep, same, other = [1], [1], [2]
    for _ in range(50_000):
        deep, same, other = [deep], [same], [other]
    [mine, theirs, wrong] = intern_tables([(deep,)], [(same,)], [(other,)])
    assert mine == theirs != wrong


NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(10**9 - 3, 10**9 + 30),
    st.sampled_from([12345678901, 12345678902, 12345678999]),
    st.sampled_from([12345678901.0, 12345678950.0, 1e9, 999_999_999.6, 0.3, 0.1 + 0.2, -0.0, 1.0, math.inf, math.nan]),
    st.sampled_from([Decimal("0.3"), Decimal("1.0"), Decimal("1e9"), Decimal("12345678901.5")]),
)
CELLS = st.one_of(NUMBERS, st.sampled_from([None, True, False, "1", "", b"1", date(2026, 1, 1)]))


def nine_digits(number):
    fifteen = float(f"{number:.14e}")
    return f"{fifteen if math.isfinite(fifteen) else number:.8e}"


def plainly_equal(left, right):
    """The relation of the module's docstring, written out for two cells."""
    numbers = (int, float, Decimal)
    if isinstance(left, bool) or isinstance(right, bool) or not isinstance(left, numbers):
        return type(left) is type(right) and left == right
    if not isinstance(right, numbers):
        return False
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    whole = all(not isinstance(one, float) and one == one // 1 for one in (left, right))
    return left == right if whole else nine_digits(float(left)) == nine_digits(float(right)) or left == right


@given(CELLS, CELLS)
def test_two_cells_alone_are_equal_exactly_by_the_relation(left, right):
    assert equal(left, right) == plainly_equal(left, right)


@given(st.lists(CELLS, max_size=12), st.lists(CELLS, max_size=12))
def test_keys_merge_no_more_than_what_a_chain_of_equal_cells_joins(first, second):
    cells = first + second
    keys = [row[0] for table in intern_tables([(c,) for c in first], [(c,) for c in second]) for row in table]
    group = list(range(len(cells)))
    for here in range(len(cells)):
        for there in range(here):
            if plainly_equal(cells[here], cells[there]):
                old, new = group[here], group[there]
                group = [new if one == old else one for one in group]
    assert [[a == b for b in keys] for a in keys] == [[a == b for b in group] for a in group]


@pytest.mark.parametrize("beside", [[], [7, 10**12], [True, 3], [Decimal("1.5")], [[0.25]]])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 999_999_999.0, 1e12, 1e305])
def test_floats_in_long_columns_are_equal_where_their_nine_digits_are(size, beside):
    draw = random.Random(size)
    floats = [size * draw.random() for _ in range(400)]
    steps = (1e-9, 4e-9, 1e-8, 2e-8, 3e-8, 1e-7)
    near = [number * (1 + sign * step) for number in floats[:20] for step in steps for sign in (1, -1)]
    whole = [float(round(number)) for number in floats[:50]]
    cells = [*floats, *near, *whole, -0.0, 0.0, math.inf, -math.inf]
    numbers = [row[0] for row in intern_tables([(cell,) for cell in cells], [(cell,) for cell in beside])[0]]
    digits = [nine_digits(cell + 0).replace("-0.00000000e+00", "0.00000000e+00") for cell in cells]
    pairs = set(zip(digits, numbers, strict=True))
    assert len(pairs) == len(set(digits)) == len(set(numbers))


def test_sums_in_another_order_are_equal_where_their_tenth_digit_is_a_five():
    draw = random.Random(1)
    for _ in range(2000):
        prices = [round(draw.uniform(0, 9e5), 2) for _ in range(40)]
        total, exact = sum(prices), sum(Decimal(str(price)) for price in prices)
        draw.shuffle(prices)
        assert equal(total, sum(prices))
        assert equal(total, exact)
    assert equal(12345678.95, 12345678.950000001)
    assert equal(Decimal("12345678.95"), 12345678.95)
    assert not equal(12345678.95, 12345679.05)
    assert not equal(sys.float_info.max, math.inf)
    assert not equal(Decimal("1e400"), math.inf)
    assert not equal(10**400, math.inf)


def test_a_whole_number_finds_its_float_among_many():
    floats = [*((number + 0.5,) for number in range(300)), (41.000000001,), (1.23456789e10,)]
    numbers, found = intern_tables(floats, [(41,), (12345678901,), (12345678902,)])
    assert found == [numbers[300], numbers[301], numbers[301]]
