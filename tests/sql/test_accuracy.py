"""Execution accuracies of others, against naive versions of their published rules."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.accuracy import bird, qatch, spider, spider_order_matters, spider_query, without_distinct
from steelyard.sql.results import ResultTable


def table(*rows):
    return ResultTable(tuple(f"c{position}" for position in range(len(rows[0]) if rows else 1)), list(rows))


def naive_spider(reference, prediction, order_matters):
    """The rule written out: try each order of the columns, after the test on rows sorted by text."""
    if not reference or not prediction:
        return not reference and not prediction
    if len(reference) != len(prediction) or len(reference[0]) != len(prediction[0]):
        return False
    first, second = (
        [tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell)))) for row in rows]
        for rows in (reference, prediction)
    )
    if (first != second) if order_matters else (set(first) != set(second)):
        return False
    for order in itertools.permutations(range(len(reference[0]))):
        rows = [tuple(row[position] for position in order) for row in prediction]
        if rows == reference if order_matters else Counter(rows) == Counter(reference):
            return True
    return False


def naive_qatch(reference, prediction):
    def key(cell):
        return (cell is not None, isinstance(cell, str), str(cell) if isinstance(cell, str) else float(cell or 0))

    if not reference and not prediction:
        return True
    if len(reference) != len(prediction):
        return False
    first, second = ({tuple(sorted(row, key=key)) for row in rows} for rows in (reference, prediction))
    return first == second


CELL = st.sampled_from([0, 1, 1.0, 10, 10.0, 2.5, None, "a", "1"])


@st.composite
def two_tables(draw):
    width = draw(st.integers(1, 3))
    rows = st.lists(st.tuples(*[CELL] * width), max_size=4)
    first = draw(rows)
    if draw(st.booleans()):
        return first, draw(rows)
    order = draw(st.permutations(range(width)))
    second = [tuple(row[position] for position in order) for row in first]
    return first, draw(st.permutations(second)) if draw(st.booleans()) else second


@given(two_tables(), st.booleans())
def test_spider_is_the_published_rule(tables, order_matters):
    reference, prediction = tables
    found = spider(table(*reference), table(*prediction), order_matters=order_matters)
    assert found == naive_spider(reference, list(prediction), order_matters)


@given(two_tables())
def test_bird_is_the_published_rule(tables):
    reference, prediction = tables
    assert bird(table(*reference), table(*prediction)) == (set(reference) == set(prediction))


@given(two_tables())
def test_qatch_is_the_published_rule(tables):
    reference, prediction = tables
    assert qatch(table(*reference), table(*prediction)) == naive_qatch(reference, prediction)


CASES = {
    "duplicates": ([("a",), ("a",), ("b",)], [("a",), ("b",), ("b",)], (False, True, True)),
    "columns permuted": ([(1, "x"), (2, "y")], [("x", 1), ("y", 2)], (True, False, True)),
    "one row's cells permuted": ([(1, 2), (3, 4)], [(2, 1), (3, 4)], (False, False, True)),
    "rows in another order": ([(1,), (2,)], [(2,), (1,)], (True, True, True)),
    "fewer of a duplicate": ([("a",), ("a",)], [("a",)], (False, True, False)),
    "both empty": ([], [], (True, True, True)),
    "one empty": ([(1,)], [], (False, False, False)),
    "float at the last bit": ([(0.3,)], [(0.1 + 0.2,)], (False, False, False)),
    "truth values": ([(1,)], [(True,)], (True, True, True)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_three_disagree_where_their_rules_do(name):
    reference, prediction, expected = CASES[name]
    one, two = table(*reference), table(*prediction)
    assert (spider(one, two, order_matters=False), bird(one, two), qatch(one, two)) == expected


def test_eight_columns_of_zeros_and_ones_are_no_burden():
    rows = [tuple((row >> position) & 1 for position in range(8)) for row in range(256) if row.bit_count() == 4][:60]
    scrambled = list(
        zip(
            *(column[position:] + column[:position] for position, column in enumerate(zip(*rows, strict=True))),
            strict=True,
        )
    )
    assert spider(table(*rows), table(*[row[::-1] for row in rows]), order_matters=True)
    assert not spider(table(*rows), table(*scrambled), order_matters=False)


def test_order_matters_by_the_words_alone():
    assert spider_order_matters("select a from (select a from t ORDER BY a)")
    assert spider_order_matters("select 'order by'")
    assert not spider_order_matters("select a from t order  by a")
    assert not spider_order_matters("select a from t order\nby a")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT DISTINCT a", "SELECT  a"),
        ("select count(distinct a), Distinct b", "select count( a),  b"),
        (
            "SELECT 'distinct', \"distinct\", `distinct`, [distinct]",
            "SELECT 'distinct', \"distinct\", `distinct`, [distinct]",
        ),
        ("SELECT a -- distinct\n, distinct_id", "SELECT a -- distinct\n, distinct_id"),
        ("SELECT a /* distinct */", "SELECT a /* distinct */"),
        ("SELECT 'it''s distinct' , DISTINCT b", "SELECT 'it''s distinct' ,  b"),
        ("SELECT ';', 1; SELECT DISTINCT 2", "SELECT ';', 1;"),
        ("", ""),
        ("SELECT 'open distinct", "SELECT 'open "),
    ],
)
def test_distinct_is_taken_out_as_a_word_only(query, expected):
    assert without_distinct(query) == expected


def test_a_query_is_prepared_as_the_evaluator_does():
    assert spider_query("SELECT DISTINCT a WHERE b ! = 1 AND c < = 2", keep_distinct=True) == (
        "SELECT DISTINCT a WHERE b != 1 AND c <= 2"
    )


def test_lists_compare_by_their_parts():
    assert bird(table(([1, 2],)), table(([1, 2],)))
    assert not bird(table(([1, 2],)), table(([2, 1],)))
