"""Columns are found by value, in polynomial time, and rows stay whole."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.columns import match_columns, project


def shuffled(rows, draw, *, scramble=False):
    """The rows in another order with columns in another order; `scramble` shuffles each column for itself."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    draw.shuffle(columns)
    if scramble:
        for column in columns:
            draw.shuffle(column)
    rows = list(zip(*columns, strict=True))
    draw.shuffle(rows)
    return rows


def subsets(of, size):
    return [tuple(int(n in some) for n in range(of)) for some in itertools.combinations(range(of), size)]


def balanced(draw, rows=60, columns=8):
    """Each column is half ones: all columns have the same cells."""
    half = [0] * (rows // 2) + [1] * (rows // 2)
    return list(zip(*(draw.sample(half, rows) for _ in range(columns)), strict=True))


def regular(draw, rows=60, columns=8):
    """Each column and each row is half ones: one round of counting tells nothing apart."""
    chosen = [set(draw.sample(range(columns), columns // 2)) for _ in range(rows // 2)]
    halves = [tuple(int(n in some) for n in range(columns)) for some in chosen]
    return [row for half in halves for row in (half, tuple(1 - cell for cell in half))]


def edges(kind):
    """Edges by vertices of the two strongly regular graphs with parameters (16, 6, 2, 2)."""
    steps = {"rook": {(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)}}.get(
        kind, {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    )
    points = list(itertools.product(range(4), repeat=2))
    return [
        tuple(int(point in {p, q}) for point in points)
        for p, q in itertools.combinations(points, 2)
        if ((p[0] - q[0]) % 4, (p[1] - q[1]) % 4) in steps
    ]


DRAW = random.Random(7)
HARD = {
    "random": [tuple(DRAW.randrange(2) for _ in range(8)) for _ in range(60)],
    "balanced": balanced(DRAW),
    "regular": regular(DRAW),
    "all equal": [(0,) * 8] * 60,
    "one of eight": subsets(8, 1) * 7,
    "four of eight": subsets(8, 4),
    "latin square of xor": [tuple(row ^ column for column in range(16)) for row in range(16)],
    "rook graph": edges("rook"),
    "Shrikhande graph": edges("shrikhande"),
    "identity": subsets(60, 1),
}


@pytest.mark.parametrize("name", HARD)
def test_permuted_columns_of_a_hard_table_are_found(name):
    match = match_columns(HARD[name], shuffled(HARD[name], random.Random(1)))
    assert match.columns is not None


@pytest.mark.parametrize("name", HARD)
def test_what_is_found_holds_the_rows(name):
    given_rows = shuffled(HARD[name], random.Random(2))
    match = match_columns(HARD[name], given_rows)
    assert Counter(project(given_rows, match.columns)) == Counter(HARD[name])


@pytest.mark.parametrize("name", ["random", "balanced", "regular", "four of eight", "latin square of xor"])
def test_columns_that_were_scrambled_by_rows_are_rejected(name):
    match = match_columns(HARD[name], shuffled(HARD[name], random.Random(3), scramble=True))
    assert (match.columns, match.decided) == (None, True)


def test_graphs_that_counting_cannot_tell_apart_are_told_apart():
    match = match_columns(edges("rook"), shuffled(edges("shrikhande"), random.Random(4)))
    assert (match.columns, match.decided) == (None, True)


def test_latin_squares_of_two_groups_are_no_match():
    cyclic = [tuple((row + column) % 16 for column in range(16)) for row in range(16)]
    assert match_columns(HARD["latin square of xor"], shuffled(cyclic, random.Random(5))).columns is None


def test_columns_stay_where_they_are_when_that_fits():
    rows = subsets(8, 4)
    assert match_columns(rows, rows[::-1]).columns == tuple(range(8))


def test_the_reference_is_found_in_a_wider_prediction():
    draw = random.Random(6)
    wider = shuffled([(*row, draw.randrange(2), draw.randrange(2)) for row in HARD["regular"]], draw)
    match = match_columns(HARD["regular"], wider)
    assert Counter(project(wider, match.columns)) == Counter(HARD["regular"])


def test_identical_columns_need_as_many_in_the_prediction():
    assert match_columns([(1, 1, 2)], [(1, 2, 1)]).columns == (0, 2, 1)
    assert match_columns([(1, 1, 2)], [(1, 2, 2)]).columns is None
    assert match_columns([(1, 1)], [(2, 1, 1)]).columns == (1, 2)
    assert match_columns([(1, 1)], [(2, 1, 3)]).columns is None


def test_more_rows_or_fewer_columns_are_no_match():
    assert match_columns([(1,)], [(1,), (1,)]).columns is None
    assert match_columns([(1, 2)], [(1,)]).columns is None
    assert match_columns([], []).columns is None


def test_rows_change_places_only_within_their_group():
    reference, prediction = [(1, 2), (3, 4), (5, 6)], [(4, 3), (2, 1), (6, 5)]
    assert match_columns(reference, prediction, groups=[0, 0, 1]).columns == (1, 0)
    assert match_columns(reference, prediction, groups=[0, 1, 1]).columns is None


def test_of_columns_that_fit_as_bags_those_are_taken_that_fit_in_order():
    assert match_columns([(0, 1), (1, 0)], [(1, 0), (0, 1)]).columns == (0, 1)
    assert match_columns([(0, 1), (1, 0)], [(1, 0), (0, 1)], groups=[0, 1]).columns == (1, 0)


def test_rows_without_columns_are_equal():
    assert match_columns([(), ()], [(), ()]).columns == ()


@st.composite
def pairs(draw):
    """Two small tables, often permuted from each other, the second often wider."""
    values = draw(st.integers(1, 3))
    rows, width, more = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(0, 2))
    cell = st.integers(0, values - 1)
    table = st.lists(st.tuples(*[cell] * width), min_size=rows, max_size=rows)
    first = draw(table)
    kind = draw(st.sampled_from(["same", "scrambled", "other"]))
    second = draw(table) if kind == "other" else first
    seed = random.Random(draw(st.integers(0, 999)))
    wider = [row + draw(st.tuples(*[cell] * more)) for row in second]
    return first, shuffled(wider, seed, scramble=kind == "scrambled")


@given(pairs(), st.booleans())
def test_a_match_is_found_exactly_where_trying_all_orders_finds_one(tables, grouped):
    reference, prediction = tables
    groups = [position // 2 for position in range(len(reference))] if grouped else [0] * len(reference)

    def bag(rows):
        return Counter(zip(groups, rows, strict=True))

    orders = list(itertools.permutations(range(len(prediction[0])), len(reference[0])))
    fitting = [order for order in orders if bag(project(prediction, order)) == bag(reference)]
    match = match_columns(reference, prediction, groups=groups if grouped else None)
    assert match.decided
    assert match.columns in (fitting or [None])
