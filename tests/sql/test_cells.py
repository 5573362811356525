"""Which cells are equal: numbers by value within a tolerance, types by named rules, and all of it by hash."""

from __future__ import annotations

import itertools
import math
import random
import sys
import uuid
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.sql.cells import NumberedTables, cells_equal, intern_tables
from steelyard.sql.equality import EXACT, CellEquality, numbers_equal, plain_number
from steelyard.sql.order import Ordering
from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import compare_results
from steelyard.tables import cell_precision, execution_accuracy

DAY = datetime.fromisoformat("2026-01-01")
BERLIN = timezone(timedelta(hours=2))
RULES = CellEquality()
SOME_ID = uuid.UUID(int=5)


def equal(left, right, equality=RULES):
    [[(first,)], [(second,)]] = intern_tables([(left,)], [(right,)], equality=equality)
    return first == second


def chained(*tables):
    numbered = NumberedTables(*tables, equality=RULES)
    return numbered.chained() or numbered.rows


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
    (3, 3.0000000000000004),
    (12345678901, 12345678901.0),
    (13800138000, 13800138000.0),
    (13800138000, Decimal("13800138000.00")),
    (1e10, 1e10 + 2e-6),
    (2**53, float(2**53)),
    (1.2345678901234567e20, 1.2345678901234568e20),
    (Decimal("0.123456789012345678901"), 0.123456789012345678901),
    (Decimal("0.123456789012345678901"), Decimal("0.123456789012345678902")),
    (True, 1),
    (False, 0),
    (True, 1.0),
    (True, Decimal(1)),
    (date(2026, 1, 1), DAY),
    (date(2026, 1, 1), "2026-01-01"),
    (date(2026, 1, 1), "2026-01-01 00:00:00"),
    (DAY, "2026-01-01"),
    (DAY.replace(hour=7), "2026-01-01T07:00:00"),
    (DAY.replace(hour=7), "2026-01-01 07:00"),
    (DAY.replace(hour=7), "2026-01-01T07:00:00.000000000Z"),
    (DAY.replace(hour=7), "2026-01-01 09:00:00+02"),
    (DAY.replace(hour=7, tzinfo=UTC), DAY.replace(hour=7)),
    (DAY.replace(hour=7, tzinfo=UTC), "2026-01-01 07:00:00"),
    (DAY.replace(hour=9, tzinfo=BERLIN), "2026-01-01T07:00:00Z"),
    (time(7, 30), "07:30:00"),
    (SOME_ID, str(SOME_ID)),
    (uuid.UUID(int=2**127 + 10), str(uuid.UUID(int=2**127 + 10)).upper()),
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
    (SOME_ID, uuid.UUID(int=5)),
    ([1, 2], (1.0, 2)),
    ([1, 2], np.array([1, 2])),
    ([0.3, [None, math.nan]], [0.1 + 0.2, [None, math.nan]]),
    ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}),
    ({1: "x"}, {1.0: "x"}),
    ([12345678901], [12345678901.0]),
    ([True, date(2026, 1, 1)], [1, "2026-01-01"]),
    ({"a": 1}, {"a": True}),
    ({10: "x", 9: "y"}, {9.0: "y", 10.0: "x"}),
    (Fraction(1, 3), Fraction(1, 3)),
]
APART = [
    (None, math.nan),
    (None, 0),
    (None, ""),
    (None, False),
    (True, 2),
    (True, "true"),
    (True, "1"),
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
    (2**53 + 1, float(2**53)),
    (1, 1.000000000002),
    (0, 5.5e-17),
    (1234567890.12, 1234567890.13),
    (1234567890.12, 1234567890.99),
    (1200080300.75, 1200080300.0),
    (1700000000, 1700000000.0005),
    (2460000.5, 2460000.50001),
    (8613800138000.0, 8613800138001.0),
    (1700000000000.0, Decimal("1700000000001.00")),
    (12345678901, 12345678902.0),
    (12345678901, 12345678901.00001),
    (10**9, 999_999_999.6),
    (10**400, 10**400 + 1),
    (10**400, math.inf),
    (Decimal("1E+999999"), math.inf),
    (math.inf, -math.inf),
    (math.inf, math.nan),
    (5e-324, 0.0),
    ("2026-01-01", "2026-01-01 00:00:00"),
    (date(2026, 1, 1), DAY.replace(hour=1)),
    (date(2026, 1, 1), "2026-01-01 00:00:01"),
    (date(2026, 1, 1), "1.1.2026"),
    (date(2026, 1, 1), " 2026-01-01"),
    (date(2026, 1, 1), 20260101),
    (DAY, "2026-02-30"),
    (DAY, "2026-01-01T00:00:00.0000001"),
    (DAY.replace(hour=7, tzinfo=BERLIN), DAY.replace(hour=7)),
    (time(7, 30), "07:30"),
    (time(7, 30), DAY.replace(hour=7, minute=30)),
    (time(1), timedelta(hours=1)),
    (SOME_ID, SOME_ID.hex),
    (SOME_ID, 5),
    ([1, 2], [2, 1]),
    ([1, 2], "[1, 2]"),
    ([[1], 2], [[1, 2]]),
    ([[], []], [[[]]]),
    ([None], None),
    ([], {}),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": {"b": 1}}, {"a": 1, "b": 1}),
    ([True], ["1"]),
]


@pytest.mark.parametrize(("left", "right"), ALIKE)
def test_cells_of_the_same_value_share_a_key(left, right):
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(("left", "right"), APART)
def test_cells_of_different_value_or_type_do_not(left, right):
    assert not equal(left, right)
    assert not equal(right, left)


@pytest.mark.parametrize(
    ("rule", "left", "right"),
    [
        ("tolerance", 0.3, 0.1 + 0.2),
        ("boolean_as_number", True, 1),
        ("date_as_timestamp", date(2026, 1, 1), DAY),
        ("date_as_timestamp", DAY.replace(tzinfo=UTC), DAY),
        ("date_as_text", date(2026, 1, 1), "2026-01-01"),
        ("date_as_text", time(7), "07:00:00"),
        ("uuid_as_text", SOME_ID, str(SOME_ID)),
    ],
)
def test_each_rule_can_be_switched_off(rule, left, right):
    off = replace(RULES, **{rule: 0.0 if rule == "tolerance" else False})
    assert equal(left, right)
    assert not equal(left, right, off)
    assert not equal([left], [right], off)
    assert not equal(left, right, EXACT)


def test_the_tolerance_can_be_set():
    assert not equal(1.0, 1.0001)
    assert equal(1.0, 1.0001, CellEquality(tolerance=1e-3))
    assert equal(100, 100.9, CellEquality(tolerance=1e-2))
    assert not equal(100, 101, CellEquality(tolerance=1e-2))
    with pytest.raises(ConfigError, match="tolerance"):
        check_options(CellEquality(tolerance=0.5))


def test_integers_stay_apart_beside_a_float_between_them():
    ids = [(12345678901,), (12345678902,), (99999999999,)]
    [mine, _] = intern_tables(ids, [(12345678901.5,), (12345678901.0,)])
    assert len(set(mine)) == 3
    [mine, other] = intern_tables(ids, [(12345678902.0,)])
    assert other == [mine[1]]


def test_a_text_is_a_date_only_where_a_date_is_written_so():
    [[(first,), (second,)]] = intern_tables([("2026-01-01",), ("2026-01-01 00:00:00",)])
    assert first != second
    [[(first,)], [(second,)], [(typed,)]] = intern_tables([("2026-01-01",)], [("2026-01-02",)], [(DAY,)])
    assert first == typed != second


def test_a_number_in_a_later_table_or_a_nested_cell_is_seen_before_keys_are_made():
    [first, second, third] = intern_tables([(3,)], [(3.5,)], [([{"x": 3.0000000000000004}],)])
    [again] = intern_tables([([{"x": 3}],), ([{"x": 3.0000000000000004}],)])
    assert len({*first, *second, *third}) == 3
    assert again[0] == again[1]


def test_nothing_but_the_same_value_is_equal_without_rules():
    assert not equal(0.1 + 0.2, 0.3, EXACT)
    assert not equal(12345678901, 12345678902.0, EXACT)
    assert equal(Decimal("0.1"), 0.1, EXACT)
    assert not equal(Decimal("0.1000000000000000055511151231"), 0.1, EXACT)
    assert equal(1, 1.0, EXACT)
    assert equal(2**53, float(2**53), EXACT)
    assert equal(math.nan, float("nan"), EXACT)
    assert equal(0.0, -0.0, EXACT)
    assert equal(Decimal("0.50"), 0.5, EXACT)


def test_rows_keep_their_widths_where_they_are_ragged_or_empty():
    assert intern_tables([(1, 2), (1,), ()], [(), ()], []) == [[(0, 1), (0,), ()], [(), ()], []]


def test_a_cell_nested_deeper_than_the_interpreter_allows_is_keyed():
    deep, same, other = [1], [1], [2]
    for _ in range(50_000):
        deep, same, other = [deep], [same], [other]
    [mine, theirs, wrong] = intern_tables([(deep,)], [(same,)], [(other,)])
    assert mine == theirs != wrong


NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(10**9 - 1, 10**9 + 2),
    st.sampled_from([12345678901, 12345678902, 8613800138000, 8613800138001, 2**53, 2**53 + 1]),
    st.sampled_from([12345678901.0, 12345678901.5, 1e9, 999_999_999.9999999, 1e9 + 4e-7, 1e9 + 1e-4, 0.3, 0.1 + 0.2]),
    st.sampled_from([-0.0, 1.0, 1 + 1e-13, 1 + 1e-11, 8613800138000.0, 8613800138001.0, 2.0**53, math.inf, math.nan]),
    st.sampled_from([Decimal("0.3"), Decimal("1.0"), Decimal("1e9"), Decimal("12345678901.5"), Decimal("1.00")]),
)
CELLS = st.one_of(
    NUMBERS, st.sampled_from([None, True, False, "1", "", b"1", date(2026, 1, 1), DAY, "2026-01-01", SOME_ID])
)


def whole(number):
    return Fraction(number).denominator == 1 and (not isinstance(number, float) or abs(number) < 2**53)


def written_whole(number):
    """Whether a number is an integer by its type, or a decimal without digits behind the point."""
    return isinstance(number, int) or (isinstance(number, Decimal) and number.as_tuple().exponent >= 0)


def plainly_equal(left, right, tolerance=Fraction(1, 10**12)):
    """The rule of the module's docstring, written out for two cells in exact fractions."""
    left, right = (int(cell) if isinstance(cell, bool) else cell for cell in (left, right))
    numbers = (int, float, Decimal)
    if not isinstance(left, numbers) or not isinstance(right, numbers):
        days = [cell for cell in (left, right) if isinstance(cell, date)]
        same_day = {str(left)[:10], str(right)[:10]} == {"2026-01-01"}
        return left == right or (bool(days) and same_day)
    if not (math.isfinite(left) and math.isfinite(right)):
        return left == right or (math.isnan(left) and math.isnan(right))
    distance = abs(Fraction(left) - Fraction(right))
    if whole(left) and whole(right):
        return distance == 0
    limit = tolerance * max(abs(Fraction(left)), abs(Fraction(right)))
    if any(written_whole(number) and abs(number) > 10**9 for number in (left, right)):
        limit = min(limit, Fraction(1, 10**6))
    return distance <= limit


@given(CELLS, CELLS)
def test_two_cells_alone_are_equal_exactly_by_the_rule(left, right):
    assert equal(left, right) == plainly_equal(left, right)
    assert cells_equal(left, right) == plainly_equal(left, right)


NEAR = st.builds(
    lambda start, steps, kind: kind(start * (1 + steps * 4e-13)),
    st.sampled_from([1.0, 3.0, -0.3, 2_000_000_001.0, -2_000_000_001.0]),
    st.integers(-3, 3),
    st.sampled_from([float, Decimal, lambda number: int(number) if number.is_integer() else number]),
)


@given(st.lists(NEAR | NUMBERS, max_size=12), st.lists(NEAR | NUMBERS, max_size=12))
def test_cells_of_one_key_are_equal_by_the_rule_and_keys_of_chains_join_all_that_are(first, second):
    cells = [*first, *second]
    keys = [row[0] for table in intern_tables([(c,) for c in first], [(c,) for c in second]) for row in table]
    joined = [row[0] for table in chained([(c,) for c in first], [(c,) for c in second]) for row in table]
    for here, there in itertools.combinations(range(len(cells)), 2):
        equal_by_rule = plainly_equal(cells[here], cells[there])
        assert equal_by_rule or keys[here] != keys[there]
        assert joined[here] == joined[there] or not equal_by_rule


@given(st.lists(CELLS, max_size=12), st.lists(CELLS, max_size=12))
def test_keys_merge_no_more_than_what_a_chain_of_equal_cells_joins(first, second):
    cells = first + second
    keys = [row[0] for table in chained([(c,) for c in first], [(c,) for c in second]) for row in table]
    group = list(range(len(cells)))
    for here in range(len(cells)):
        for there in range(here):
            if plainly_equal(cells[here], cells[there]):
                old, new = group[here], group[there]
                group = [new if number == old else number for number in group]
    assert [[a == b for b in keys] for a in keys] == [[a == b for b in group] for a in group]


@pytest.mark.parametrize("beside", [[], [7, 10**12], [True, 3], [Decimal("1.5")], [[0.25]]])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 999_999_999.0, 1e12, 1e305])
def test_floats_in_long_columns_are_equal_within_the_tolerance_and_no_further(size, beside):
    draw = random.Random(size)
    floats = [size * draw.random() for _ in range(400)]
    equal_steps, other_steps = (1e-16, 1e-13, 9.9e-13), (2.1e-12, 1e-11, 1e-9)
    cells = [*floats, *(float(round(number)) for number in floats[:50]), -0.0, 0.0, math.inf, -math.inf]
    pairs = [(number, number * (1 + sign * step)) for number in floats[:20] for step in equal_steps for sign in (1, -1)]
    apart = [
        (number, number * (1 + sign * step)) for number in floats[20:40] for step in other_steps for sign in (1, -1)
    ]
    column = [*cells, *(near for _, near in pairs), *(far for _, far in apart)]
    keys = dict(
        zip(column, (row[0] for row in chained([(c,) for c in column], [(c,) for c in beside])[0]), strict=True)
    )
    assert all(keys[number] == keys[near] for number, near in pairs)
    assert all(keys[number] != keys[far] for number, far in apart if plainly_equal(number, far) is False)
    assert all(keys[number] != keys[other] for number, other in itertools.pairwise(floats))


def test_sums_in_another_order_are_equal_however_their_digits_end():
    draw = random.Random(1)
    for _ in range(2000):
        prices = [round(draw.uniform(0, 9e5), 2) for _ in range(40)]
        total, exact = sum(prices), sum(Decimal(str(price)) for price in prices)
        draw.shuffle(prices)
        assert equal(total, sum(prices))
        assert equal(total, exact)
        assert not equal(total, total + 0.01)
    assert equal(12345678.95, 12345678.950000001)
    assert equal(Decimal("12345678.95"), 12345678.95)
    assert not equal(12345678.95, 12345678.96)
    assert not equal(sys.float_info.max, math.inf)
    assert not equal(Decimal("1e400"), math.inf)
    assert not equal(10**400, math.inf)


def test_two_values_on_either_side_of_a_rounding_border_are_equal():
    for digits in range(3, 16):
        border = float(f"1.{'2' * digits}5")
        below, above = math.nextafter(border, 0), math.nextafter(border, 2)
        assert equal(below, above)
        assert equal(below * 1e6, above * 1e6)


def test_an_integer_finds_its_float_among_many():
    floats = [*((number + 0.5,) for number in range(300)), (41.00000000000001,), (12345678902.0000001,)]
    numbers, found = intern_tables(floats, [(41,), (12345678901,), (12345678902,)])
    assert found[0] == numbers[300]
    assert found[2] == numbers[301] != found[1]


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


CHAINED = st.sampled_from(
    [1, 1.0, 1.006, 1.012, 1.018, Decimal("1.024"), 2, 2.015, 2.03, -1.0, -1.007, 0.0, 100, 100.6, 101, 101.4]
)


@st.composite
def two_tables(draw):
    width, height = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    rows = st.lists(st.tuples(*[CHAINED] * width), min_size=height, max_size=height)
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
