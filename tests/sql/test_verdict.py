"""One verdict on two results, with its reason; also against a naive reading of the rule."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from collections import Counter
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.cells import cells_equal
from steelyard.sql.equality import EXACT
from steelyard.sql.order import ordering_of
from steelyard.sql.results import ResultTable, SqlFailure
from steelyard.sql.verdict import RIGHT, TITLES, judge, verdict_of_failure


def table(columns, *rows):
    return ResultTable(tuple(columns), list(rows))


ABC = table("abc", (1, "x", None), (2, "y", 1.5), (2, "z", 0.25))

UNORDERED = [
    ("same", ABC, table("pqr", *ABC.rows[::-1]), "3 rows agree"),
    ("same", table("a", (1,)), table("a", (1.0,)), "1 row agrees"),
    ("same", table("a", (math.nan,), (None,)), table("a", (None,), (float("nan"),)), "2 rows agree"),
    ("columns_permuted", table("ab", (1, 2), (3, 4)), table("yx", (2, 1), (4, 3)), "column a is number 2 (column x)"),
    ("within_tolerance", table("a", (0.3,)), table("a", (0.1 + 0.2,)), "0.3 expected, 0.30000000000000004 returned"),
    ("same", table("a", (0.1,)), table("a", (Decimal("0.1"),)), "1 row agrees"),
    ("within_tolerance", table("a", (3,)), table("a", (3.0000000000000004,)), "within a relative tolerance of 1e-12"),
    ("equal_by_rule", table("a", (1,)), table("a", (True,)), "boolean_as_number (true equals 1"),
    ("equal_by_rule", table("a", (date(2026, 1, 1),)), table("a", ("2026-01-01",)), "'2026-01-01' returned"),
    ("both_empty", table("a"), table("b"), "neither"),
    ("columns_extra", table("a", (1,), (2,)), table("xay", (7, 1, 0), (8, 2, 0)), "column 1 (x), column 3 (y)"),
    ("columns_missing", table("ab", (1, 5), (2, 6)), table("b", (6,), (5,)), "column 1 (a) of the reference"),
    (
        "duplicates_differ",
        table("a", ("v",), ("v",), ("w",)),
        table("a", ("v",), ("w",)),
        "('v') expected 2 times, returned once",
    ),
    (
        "duplicates_differ",
        table("a", ("v",), ("w",)),
        table("a", ("w",), ("v",), ("w",)),
        "('w') expected once, returned 2 times",
    ),
    ("rows_missing", ABC, table("abc", *ABC.rows[:2]), "1 row missing: row 3 (2, 'z', 0.25)"),
    ("rows_missing", ABC, table("abc"), "3 rows missing: row 1 (1, 'x', NULL)"),
    ("rows_missing", ABC, table("a"), "3 rows missing"),
    ("rows_extra", table("a", (1,)), table("a", (2,), (1,), (3,)), "2 rows too many: row 1 (2) of the result"),
    ("rows_extra", table("a"), table("a", (None,)), "1 row too many: row 1 (NULL)"),
    (
        "rows_differ",
        table(["name", "total"], ("Ann", 12)),
        table("nt", ("Ann", 11)),
        "row 1, column total: 12 expected, 11 returned",
    ),
    ("rows_differ", table("a", (1,)), table("a", ("1",)), "1 expected, '1' returned"),
    ("rows_differ", table("a", (2,)), table("a", (True,)), "2 expected, true returned"),
    ("rows_differ", table("a", (1234567890.12,)), table("a", (1234567890.99,)), "1234567890.12 expected"),
    (
        "rows_differ",
        table("a", ("x" * 60 + "1",)),
        table("a", ("x" * 60 + "2",)),
        "xx1' expected, '…xxxxxxxxx2' returned",
    ),
    ("rows_differ", table("a", (10000000001,)), table("a", (10000000002,)), "10000000001 expected"),
    (
        "rows_differ",
        table("ab", (1, 2), (3, 4)),
        table("ab", (1, 4), (3, 2)),
        "row 1, column b: 2 expected, 4 returned",
    ),
    ("rows_differ", table("ab", (1, 2)), table("ab", (3, 4)), "row 1: (1, 2) expected and not returned"),
    ("rows_differ", table("ab", (1, 2)), table("ab", (1, "x\x1b[0m'")), "'x\\x1b[0m'''"),
]


@pytest.mark.parametrize(("kind", "reference", "prediction", "reason"), UNORDERED)
def test_each_kind_is_told_with_its_reason(kind, reference, prediction, reason):
    verdict = judge(reference, prediction)
    assert verdict.kind == kind
    assert reason in verdict.reason
    assert "\n" not in verdict.reason
    assert verdict.right == (kind in RIGHT)
    assert verdict.title == TITLES[kind]


@pytest.mark.parametrize(("_", "reference", "prediction", "reason"), UNORDERED)
def test_differences_are_plain_json(_, reference, prediction, reason):
    verdict = judge(reference, prediction)
    assert json.loads(json.dumps(verdict.differences, allow_nan=False)) == verdict.differences


def test_differences_hold_the_first_rows_of_each_side_and_their_count():
    verdict = judge(table("a", *((n,) for n in range(9))), table("a", *((n,) for n in range(100, 107))))
    assert [row["row"] for row in verdict.differences["missing"]] == [1, 2, 3, 4, 5]
    assert verdict.differences["extra"][0] == {"row": 1, "cells": [100]}
    assert (verdict.differences["missing_rows"], verdict.differences["extra_rows"]) == (9, 7)


def test_findings_that_coincide_stand_in_the_flags():
    verdict = judge(table("ab", (0.3, "x")), table("ab", ("x", 0.1 + 0.2)))
    assert (verdict.kind, verdict.flags) == ("within_tolerance", ("columns_permuted",))
    verdict = judge(table("ab", (1, "x"), (2, "y")), table("ab", ("x", 1)))
    assert (verdict.kind, verdict.flags) == ("rows_missing", ("columns_permuted",))
    verdict = judge(table("ab", (1, "x"), (2, "y")), table("abc", (0, "x", 1)))
    assert (verdict.kind, verdict.flags) == ("rows_missing", ("widths_differ", "columns_extra", "columns_permuted"))
    assert verdict.differences["columns"] == [3, 2]


def test_both_empty_is_never_silent():
    assert judge(table("a"), table("b")).flags == ("both_empty",)
    assert judge(table("a"), table("bc")).flags == ("both_empty", "widths_differ")


def test_rows_scrambled_between_columns_are_rejected():
    draw = random.Random(1)
    rows = [tuple(draw.randrange(2) for _ in range(8)) for _ in range(60)]
    columns = [draw.sample(column, 60) for column in zip(*rows, strict=True)]
    verdict = judge(table("abcdefgh", *rows), table("abcdefgh", *zip(*columns, strict=True)))
    assert not verdict.right


BY_AGE = "SELECT name, age FROM t ORDER BY age"
PEOPLE = table(["name", "age"], ("ann", 1), ("bob", 2), ("cid", 2), ("dan", 3))


def ordered(prediction, query=BY_AGE, reference=PEOPLE, **results):
    return judge(reference, table(["n", "a"], *prediction), ordering=ordering_of(query), **results)


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ([0, 1, 2, 3], "same"),
        ([0, 2, 1, 3], "same_up_to_ties"),
        ([1, 0, 2, 3], "same_but_order"),
        ([3, 2, 1, 0], "same_but_order"),
    ],
)
def test_rows_with_equal_keys_come_in_any_order_and_others_do_not(order, kind):
    assert ordered([PEOPLE.rows[position] for position in order]).kind == kind


def test_order_is_judged_with_columns_permuted_too():
    flipped = [row[::-1] for row in PEOPLE.rows]
    assert ordered(flipped).kind == "columns_permuted"
    verdict = ordered([flipped[position] for position in (0, 2, 1, 3)])
    assert (verdict.kind, verdict.flags) == ("columns_permuted", ("same_up_to_ties",))
    verdict = ordered(flipped[::-1])
    assert (verdict.kind, verdict.flags) == ("same_but_order", ("columns_permuted",))


def test_the_reason_of_a_wrong_order_names_its_first_place():
    assert ordered(PEOPLE.rows[::-1]).reason.startswith("row 1, column name: 'ann' expected, 'dan' returned")


def test_keys_that_are_no_columns_come_from_the_keyed_result():
    query, reference = "SELECT name FROM t ORDER BY age", table(["name"], ("ann",), ("bob",), ("cid",))
    keyed = table(["name", "age"], ("ann", 1), ("cid", 2), ("bob", 2))
    swapped, wrong = table("n", ("ann",), ("cid",), ("bob",)), table("n", ("bob",), ("ann",), ("cid",))
    assert judge(reference, swapped, ordering=ordering_of(query), keyed=keyed).kind == "same_up_to_ties"
    assert judge(reference, wrong, ordering=ordering_of(query), keyed=keyed).kind == "same_but_order"


def test_without_keys_order_is_compared_strictly_and_the_flag_says_so():
    reference = table(["name"], ("ann",), ("bob",), ("cid",))
    verdict = judge(
        reference, table("n", ("ann",), ("cid",), ("bob",)), ordering=ordering_of("SELECT name FROM t ORDER BY age")
    )
    assert (verdict.kind, verdict.flags) == ("same_but_order", ("keys_unknown",))
    other = table(["name", "age"], ("ann", 1), ("eve", 2), ("bob", 2))
    verdict = judge(
        reference,
        table("n", ("ann",), ("cid",), ("bob",)),
        ordering=ordering_of("SELECT name FROM t ORDER BY age"),
        keyed=other,
    )
    assert (verdict.kind, verdict.flags) == ("same_but_order", ("keys_unknown",))


def test_a_limit_that_cuts_a_tie_accepts_any_of_its_rows():
    query = f"{BY_AGE} LIMIT 2"
    reference = table(["name", "age"], *PEOPLE.rows[:2])
    verdict = ordered([("ann", 1), ("cid", 2)], query, reference, unlimited=PEOPLE)
    assert (verdict.kind, verdict.right, verdict.flags) == ("same_up_to_ties", True, ("limit_tie",))
    assert ordered([("ann", 1), ("dan", 3)], query, reference, unlimited=PEOPLE).kind == "rows_differ"
    assert ordered([("cid", 2), ("ann", 1)], query, reference, unlimited=PEOPLE).right is False
    assert ordered([("ann", 1), ("cid", 2)], query, reference).flags == ("limit_unchecked", "order_unchecked")


def test_an_offset_that_cuts_a_tie_accepts_any_of_its_rows_once():
    rows = [("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 2)]
    reference, every = table(["n", "a"], *rows[1:4]), table(["n", "a"], *rows)
    query = f"{BY_AGE} LIMIT 3 OFFSET 1"
    assert ordered([("c", 1), ("a", 1), ("e", 2)], query, reference, unlimited=every).right
    assert not ordered([("a", 1), ("a", 1), ("e", 2)], query, reference, unlimited=every).right
    assert not ordered([("a", 1), ("d", 2), ("e", 2)], query, reference, unlimited=every).right
    assert ordered([(1, "c"), (1, "a"), (2, "e")], query, reference, unlimited=every).flags == (
        "same_up_to_ties",
        "limit_tie",
    )


def test_a_limit_with_keys_that_are_no_columns():
    query = "SELECT name FROM t ORDER BY age LIMIT 1"
    every = table(["name", "age"], ("ann", 1), ("bob", 1), ("cid", 2))
    reference = table(["name"], ("ann",))
    assert judge(reference, table("n", ("bob",)), ordering=ordering_of(query), unlimited=every).right
    assert not judge(reference, table("n", ("cid",)), ordering=ordering_of(query), unlimited=every).right


def test_ties_are_seen_as_the_collation_sees_them():
    query = "SELECT name FROM t ORDER BY name COLLATE NOCASE"
    reference = table(["name"], ("a",), ("A",), ("b",))
    assert judge(reference, table("n", ("A",), ("a",), ("b",)), ordering=ordering_of(query)).kind == "same_up_to_ties"


def test_an_order_that_holds_within_tolerance_only_is_right():
    query, reference = "SELECT x FROM t ORDER BY x", table("x", (0.3,), (0.30000000000000004,), (1.0,))
    verdict = judge(reference, table("x", (0.30000000000000004,), (0.3,), (1.0,)), ordering=ordering_of(query))
    assert verdict.right


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("denied", "denied"),
        ("timeout", "timeout"),
        ("memory", "memory"),
        ("too_large", "too_large"),
        ("error", "engine_error"),
    ],
)
def test_a_failure_has_a_verdict_of_its_own(kind, verdict):
    found = verdict_of_failure(SqlFailure(kind, "no such\x1b table"))
    assert (found.kind, found.right) == (verdict, False)
    assert "no such\\x1b table" in found.reason


def test_what_is_shown_is_short_whatever_the_cells_are():
    monsters = ("x" * 10**6, b"y" * 10**6, 10**9000, list(range(10**4)), "\u202eabc", {"k": 1})
    verdict = judge(table("abcdef", monsters), table("abcdef", (None,) * 6))
    assert len(verdict.reason) < 1000
    assert len(json.dumps(verdict.differences)) < 3000
    assert "\u202e" not in verdict.reason


def test_deep_lists_are_no_error():
    deep = [1]
    for _ in range(20_000):
        deep = [deep]
    assert judge(table("a", (deep,)), table("a", (2,))).kind == "rows_differ"


CELL = st.sampled_from([0, 1, 2, None, "a", 0.3, 0.1 + 0.2])


@st.composite
def results(draw):
    width, more = draw(st.integers(1, 3)), draw(st.sampled_from([0, 0, 0, 1]))
    rows = draw(st.lists(st.tuples(*[CELL] * width), min_size=0, max_size=5))
    other = draw(st.one_of(st.just(rows), st.lists(st.tuples(*[CELL] * width), max_size=5), st.just(rows[1:])))
    order = draw(st.permutations(range(width)))
    other = [
        tuple(row[position] for position in order) + draw(st.tuples(*[CELL] * more))
        for row in draw(st.permutations(other))
    ]
    return rows, other, width, width + more


def rounded(rows):
    return [tuple("0.3" if isinstance(cell, float) else cell for cell in row) for row in rows]


@given(results())
def test_right_is_what_some_order_of_columns_makes_equal(tables):
    rows, other, width, wide = tables
    verdict = judge(table("abcd"[:width], *rows), table("abcd"[:wide], *other))
    bag = Counter(rounded(rows))
    fits = width == wide and any(
        Counter(rounded([tuple(row[position] for position in order) for row in other])) == bag
        for order in itertools.permutations(range(width))
    )
    assert verdict.right == (fits or not (rows or other))


@given(results(), st.randoms())
def test_the_order_of_rows_changes_nothing_where_none_is_asked_for(tables, draw):
    rows, other, width, wide = tables
    first = judge(table("abcd"[:width], *rows), table("abcd"[:wide], *other))
    mixed, mixed_other = draw.sample(rows, len(rows)), draw.sample(other, len(other))
    assert judge(table("abcd"[:width], *mixed), table("abcd"[:wide], *mixed_other)).right == first.right


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), min_size=1, max_size=6), st.data())
def test_order_is_right_exactly_where_some_sort_of_the_rows_gives_it(rows, data):
    reference = sorted(rows, key=lambda row: row[1])
    prediction = data.draw(st.permutations(rows))
    verdict = judge(table(["name", "age"], *reference), table(["n", "a"], *prediction), ordering=ordering_of(BY_AGE))
    assert verdict.right == ([age for _, age in prediction] == [age for _, age in reference])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=2, max_size=7), st.data())
def test_a_limit_accepts_exactly_what_some_sort_of_the_rows_leaves(rows, data):
    every = sorted(rows, key=lambda row: row[1])
    offset = data.draw(st.integers(0, 2))
    limit = data.draw(st.integers(1, 4))
    reference = every[offset : offset + limit]
    prediction = data.draw(st.permutations(rows))[: len(reference)]
    verdict = judge(
        table(["name", "age"], *reference),
        table(["n", "a"], *prediction),
        ordering=ordering_of(f"{BY_AGE} LIMIT {limit} OFFSET {offset}"),
        unlimited=table(["name", "age"], *every),
    )
    choices = (sorted(order, key=lambda row: row[1])[offset : offset + limit] for order in itertools.permutations(rows))
    assert verdict.right == (list(prediction) in choices)


MIXED = st.one_of(
    st.sampled_from([None, True, False, 0, 1, 3, "1", "", "a", 0.3, 0.1 + 0.2, 1.0, 3.0000000000000004, math.nan]),
    st.sampled_from([1234567890, 1234567891.0, 1234567890.12, 1234567890.99, 1e15, 1e15 + 0.125, Decimal("0.3")]),
    st.sampled_from([date(2026, 1, 1), "2026-01-01", "x" * 50 + "a", "x" * 50 + "b", b"x", [1], [1.0000000000000002]]),
)
CELLS_IN_REASON = re.compile(r"column (c\d): (.+?) expected, (.+?) returned(?=[;, ]|$)")


@st.composite
def near_results(draw):
    width = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[MIXED] * width), min_size=1, max_size=4))
    other = draw(st.permutations(rows))
    changed = draw(st.lists(st.tuples(st.integers(0, len(rows) - 1), st.integers(0, width - 1), MIXED), max_size=3))
    for row, column, cell in changed:
        other[row] = (*other[row][:column], cell, *other[row][column + 1 :])
    return table([f"c{n}" for n in range(width)], *rows), table(["x"] * width, *other)


@given(near_results())
def test_a_reason_never_contradicts_its_cells(results):
    reference, prediction = results
    verdict = judge(reference, prediction)
    pairs = list(CELLS_IN_REASON.finditer(verdict.reason))
    if not pairs or verdict.right:
        return
    row = int(re.match(r"row (\d+), ", verdict.reason)[1]) - 1
    partner = re.search(r"\(row (\d+) of the result\)", verdict.reason)
    returned = prediction.rows[int(partner[1]) - 1 if partner else row]
    for pair in pairs:
        column = int(pair[1][1:])
        assert not cells_equal(reference.rows[row][column], returned[verdict.differences["columns"][column] - 1])
        assert pair[2] != pair[3]


@given(near_results())
def test_rows_that_are_said_to_differ_do_differ_by_the_rule(results):
    reference, prediction = results
    differences = judge(reference, prediction).differences
    columns = [column - 1 for column in differences.get("columns", ())]
    for missing in differences.get("missing", ()):
        for extra in differences.get("extra", ()):
            wanted = reference.rows[missing["row"] - 1]
            returned = [prediction.rows[extra["row"] - 1][column] for column in columns]
            assert not all(itertools.starmap(cells_equal, zip(wanted, returned, strict=True)))


def test_a_rule_is_named_only_where_the_results_need_it():
    reference = table("abc", (True, 0.3, date(2026, 1, 1)))
    assert judge(reference, table("abc", (1, 0.3, date(2026, 1, 1)))).flags == ("boolean_as_number",)
    verdict = judge(reference, table("abc", (1, 0.1 + 0.2, "2026-01-01")))
    assert (verdict.kind, verdict.flags) == ("within_tolerance", ("equal_by_rule", "boolean_as_number", "date_as_text"))
    assert "1e-12" in verdict.reason
    assert "date_as_text (a date or time equals its text)" in verdict.reason


@pytest.mark.parametrize("cells", [(True, 1), (date(2026, 1, 1), "2026-01-01"), (0.3, 0.1 + 0.2)])
def test_what_a_rule_makes_equal_is_wrong_without_it(cells):
    reference, prediction = (table("a", (cell,)) for cell in cells)
    assert judge(reference, prediction).right
    assert not judge(reference, prediction, equality=EXACT).right
