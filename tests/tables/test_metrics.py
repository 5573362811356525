"""The rules `steelyard`: worked values, properties, and a naive version to equal."""

from datetime import date
from decimal import Decimal

import pytest
from benchmarks.qatch_tables import random_pairs, special_pairs
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.results import ResultTable
from steelyard.sql.verdict import judge
from steelyard.tables.measure import ALL_METRICS, Measure
from steelyard.tables.metrics import (
    cell_precision,
    cell_recall,
    execution_accuracy,
    table_metrics,
    tuple_cardinality,
    tuple_constraint,
    tuple_order,
    tuple_order_unit,
)

AB = [["a", "b"], ["c", "d"]]
CELLS = st.sampled_from([None, True, 0, 1, 1.0, 2.5, "1", "a", "A"])
COLUMN = st.lists(st.tuples(CELLS), min_size=1, max_size=7)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)


def values(target, prediction, **options):
    measures = table_metrics(target, prediction, metrics=ALL_METRICS, **options)
    return {name: measure.value for name, measure in measures.items()}


def matched(cells, others):
    """How many can be paired off, one by one."""
    others = list(others)
    count = 0
    for cell in cells:
        if cell in others:
            others.remove(cell)
            count += 1
    return count


@given(TABLES, TABLES)
def test_cells_equal_a_naive_pairing_off(target, prediction):
    wanted, got = ([cell for row in table for cell in row] for table in (target, prediction))
    both = matched(wanted, got)
    assert cell_precision(target, prediction) == both / len(got)
    assert cell_recall(target, prediction) == both / len(wanted)


@given(COLUMN, COLUMN)
def test_rows_of_one_column_equal_naive_counts(target, prediction):
    wanted, got = ([tuple(row) for row in table] for table in (target, prediction))
    rows = {*wanted, *got}
    agreeing = sum(wanted.count(row) == got.count(row) for row in rows)
    assert tuple_constraint(target, prediction) == agreeing / len(rows)
    same = len(wanted) == len(got) == matched(wanted, got)
    assert execution_accuracy(target, prediction) == same


@given(TABLES, TABLES)
def test_every_value_is_bounded_and_the_unit_form_follows_the_order(target, prediction):
    measured = values(target, prediction)
    order, unit = measured.pop("tuple_order"), measured.pop("tuple_order_unit")
    assert all(0 <= value <= 1 for value in measured.values())
    assert (order is None) == (unit is None)
    assert order is None or (-1 <= order <= 1 and unit == (order + 1) / 2)


@given(TABLES, TABLES, st.randoms(use_true_random=False))
def test_the_order_of_rows_matters_to_the_metrics_of_order_alone(target, prediction, draw):
    measured, shuffled = values(target, prediction), values(target, draw.sample(prediction, len(prediction)))
    for name in set(ALL_METRICS) - {"tuple_order", "tuple_order_unit"}:
        assert measured[name] == shuffled[name]


@given(TABLES, st.randoms(use_true_random=False))
def test_permuted_columns_and_rows_of_the_same_table_are_right(target, draw):
    columns = draw.sample(range(len(target[0])), len(target[0]))
    prediction = [[row[column] for column in columns] for row in target]
    measured = values(target, draw.sample(prediction, len(prediction)))
    del measured["tuple_order"], measured["tuple_order_unit"]
    assert set(measured.values()) == {1.0}
    assert execution_accuracy(target, prediction, ordered=True) == 1.0
    assert tuple_order(target, prediction) in {1.0, None}


@given(TABLES, TABLES)
def test_swapping_the_tables_swaps_precision_and_recall(target, prediction):
    assert cell_precision(target, prediction) == cell_recall(prediction, target)
    assert tuple_cardinality(target, prediction) == tuple_cardinality(prediction, target)


@pytest.mark.parametrize(
    ("cell", "other", "equal"),
    [
        (1, 1.0, True),
        (1, Decimal(1), True),
        (1, "1", False),
        (1, True, True),
        (2, True, False),
        ("a", "A", False),
        ("a", "a ", False),
        (None, None, True),
        (None, "None", False),
        (float("nan"), float("nan"), True),
        (0.1 + 0.2, 0.3, True),
        (3.14159, 3.14001, False),
        (1234567890123, 1234567890124, False),
        (b"a", "a", False),
        (date(2024, 1, 2), "2024-01-02", True),
        (date(2024, 1, 2), "2.1.2024", False),
        (1234567890.12, 1234567890.99, False),
        (3, 3.0000000000000004, True),
        ([1, 2], [1.0, 2], True),
        (10**400, 10**400, True),
    ],
)
def test_cells_are_compared_by_type(cell, other, equal):
    assert cell_precision([("x", cell)], [("y", other)]) == (0.5 if equal else 0.0)
    assert execution_accuracy([("x", cell)], [("x", other)]) == float(equal)


def test_two_empty_tables_are_equal_and_flagged():
    measured = table_metrics([], (), metrics=ALL_METRICS)
    assert {name: measure.value for name, measure in measured.items() if measure.value is not None} == dict.fromkeys(
        ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "execution_accuracy"), 1.0
    )
    assert {measure.flags for measure in measured.values()} == {("both_empty",)}


@pytest.mark.parametrize(("target", "prediction", "which"), [([], AB, "target"), (AB, [], "prediction")])
def test_one_empty_table_scores_zero_and_has_no_order(target, prediction, which):
    measured = table_metrics(target, prediction, metrics=ALL_METRICS)
    assert measured["tuple_order"] == Measure(None, "fewer than two distinct rows are shared")
    assert measured["tuple_order_unit"].value is None
    for name in ("cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint"):
        assert measured[name] == Measure(0.0, f"the {which} is empty")
    assert measured["execution_accuracy"].label == ("rows extra" if which == "target" else "rows missing")
    assert measured["execution_accuracy"].value == 0


@pytest.mark.parametrize("wrong", [None, [None], "[]", ["a"], [["a"], ["b", "c"]], [[["a"]]], [[]], 3, {"a": 1}])
def test_what_is_no_table_is_not_applicable_on_either_side(wrong):
    for name, pair in (("target", (wrong, AB)), ("prediction", (AB, wrong))):
        for measure in table_metrics(*pair, metrics=ALL_METRICS).values():
            assert measure.value is None
            assert measure.reason.startswith(f"the {name} is not a table: ")


def test_a_reason_names_the_row():
    measure = table_metrics(AB, [["a", "b"], ["c"]])["cell_recall"]
    assert measure.reason == "the prediction is not a table: row 2 has 1 cell where row 1 has 2"


def test_rows_too_many_and_too_few_count_against_the_constraint():
    assert tuple_constraint(AB, AB) == 1.0
    assert tuple_constraint(AB, [*AB, ["e", "f"]]) == 2 / 3
    assert tuple_constraint(AB, [*AB, ["a", "b"]]) == 0.5
    assert tuple_constraint(AB, AB[:1]) == 0.5


def test_results_are_not_rounded():
    target = [[number] for number in range(4000)]
    assert tuple_constraint(target, [*target[:-1], [-1]]) == 3999 / 4001


def test_order_counts_for_execution_accuracy_only_where_it_is_wanted():
    prediction = AB[::-1]
    assert execution_accuracy(AB, prediction) == execution_accuracy(AB, prediction, ordered=False) == 1.0
    assert execution_accuracy(AB, prediction, ordered=True) == 0.0
    assert execution_accuracy(AB, AB, ordered=True) == 1.0


def test_one_wrong_cell_and_one_permuted_row_fail_execution():
    assert execution_accuracy(AB, [["a", "b"], ["c", "x"]]) == 0.0
    assert execution_accuracy([[1, 2], [3, 4]], [[2, 1], [3, 4]]) == 0.0


def test_order_needs_two_distinct_shared_rows():
    assert tuple_order(AB, AB) == tuple_order_unit(AB, AB) == 1.0
    assert tuple_order(AB, AB[::-1]) == -1.0
    assert tuple_order(AB, [["a", "b"]]) is None
    assert tuple_order([["a"], ["a"]], [["a"], ["a"]]) is None


def test_wider_predictions_share_cells_but_no_rows():
    measured = values([["a"], ["b"]], [["a", 1], ["b", 2]])
    assert measured["cell_recall"] == 1.0
    assert measured["cell_precision"] == 0.5
    assert measured["tuple_constraint"] == measured["execution_accuracy"] == 0.0
    assert measured["tuple_order"] is None


def test_tables_are_not_changed():
    target, prediction = [[1, "a"], [2, "b"]], [["b", 2], ["a", 1]]
    table_metrics(target, prediction, metrics=ALL_METRICS)
    assert (target, prediction) == ([[1, "a"], [2, "b"]], [["b", 2], ["a", 1]])


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs"])
def test_whatever_comes_has_a_bounded_value_or_a_reason(rules):
    for target, prediction in (*special_pairs(), *random_pairs(5, 300)):
        for name, measure in table_metrics(target, prediction, rules=rules, metrics=ALL_METRICS).items():
            low = -1 if rules == "steelyard" and name == "tuple_order" else 0
            assert measure.reason if measure.value is None else low <= measure.value <= 1


RESULTS = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.sampled_from([None, True, 1, 0.3, 0.1 + 0.2, "2026-01-01", date(2026, 1, 1), "a"])] * width),
        max_size=5,
    )
)


@given(RESULTS, RESULTS)
def test_execution_accuracy_is_the_verdict_on_the_two_results(target, prediction):
    """Both suites use one function, so that they cannot contradict each other."""
    width = len((*target, *prediction, ())[0])
    tables = (ResultTable(("",) * (len(rows[0]) if rows else width), rows) for rows in (target, prediction))
    verdict = judge(*tables)
    measure = table_metrics(target, prediction, metrics=("execution_accuracy",))["execution_accuracy"]
    assert (measure.value, measure.reason, measure.label) == (float(verdict.right), verdict.reason, verdict.title)
