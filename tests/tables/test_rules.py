"""Worked values: the documentation's printed examples, and what QATCH 1.0.36 makes of special tables."""

from __future__ import annotations

import pytest

from steelyard.errors import ConfigError
from steelyard.tables.measure import ALL_METRICS, METRICS, Measure
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
from steelyard.tables.rules import RULE_SETS, TableSide

AB = [["a", "b"], ["c", "d"]]
QATCH = "qatch-1.0.36"
NAN = float("nan")


def values(target, prediction, rules, **options):
    measures = table_metrics(target, prediction, rules=rules, **options)
    return [measure.value for measure in measures.values()]


def reasons(target, prediction, rules):
    return {measure.reason for measure in table_metrics(target, prediction, rules=rules).values()}


@pytest.mark.parametrize("prediction", [AB, [tuple(row) for row in AB], tuple(map(tuple, AB))])
def test_documented_equal_tables_score_one(prediction):
    assert values(AB, prediction, "qatch-docs") == [1.0] * 5


@pytest.mark.parametrize(
    ("metric", "target", "prediction", "printed"),
    [
        (cell_precision, AB, [["a", "b"], ["c", "e"]], 0.75),
        (cell_precision, AB, [["a"], ["b"], ["c"], ["d"]], 1.0),
        (cell_recall, AB, [["a", "x"], ["y", "d"]], 0.5),
        (cell_recall, AB, [["a", "a"], ["b", "b"], ["c", "d"]], 1.0),
        (tuple_cardinality, [["a", "b"], ["c", "d"], ["c", "d"], ["f", "g"]], [["a", "b"], [3, 2]], 0.5),
        (tuple_cardinality, [["a", "b"], [3, 2]], [["a", "b"], ["c", "d"], ["c", "d"], ["f", "g"]], 0.5),
        (tuple_cardinality, [["a", "b"], [3, 2]], AB, 1.0),
        (tuple_constraint, AB, [["a", "b"], ["a", "b"], ["c", "d"]], 0.5),
        (tuple_constraint, AB, [["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]], 0.0),
        (tuple_order, AB, [["c", "d"], ["a", "b"]], 0.0),
        (tuple_order, [["apple", "orange"], ["pear"]], [["pear"], ["apple", "orange"]], 0.0),
        (tuple_order, [["apple", "orange"], ["pear"]], [["pear"]], 1.0),
        (cell_precision, [["scotland", "wales"], ["england"]], [["wales", "scotland"], ["england"]], 1.0),
        (cell_recall, [["scotland", "wales"], ["england"]], [["wales", "scotland"], ["england"]], 1.0),
        (cell_precision, [[0], [1]], [[0, 900], [1, 800], [0, 700], [1, 600]], 0.5),
        (cell_recall, [[0], [1]], [[0, 900], [1, 800], [0, 700], [1, 600]], 1.0),
    ],
)
def test_documented_yields_the_printed_example(metric, target, prediction, printed):
    assert metric(target, prediction, rules="qatch-docs") == printed


@pytest.mark.parametrize("prediction", [None, [None], "no table", ["a", "b"], [[["a"]]], 5, {"a": 1}])
def test_documented_gives_zeros_to_what_is_no_table_and_says_why(prediction):
    measures = table_metrics(AB, prediction, rules="qatch-docs")
    assert {measure.value for measure in measures.values()} == {0.0}
    assert all(measure.reason.startswith("the prediction counts as nothing: ") for measure in measures.values())
    assert values(prediction, AB, "qatch-docs") == [0.0] * 5


@pytest.mark.parametrize(
    ("target", "prediction"),
    [
        ([], []),
        ("[]", []),
        ([[]], [[]]),
        ([[1]], [[1.0]]),
        ([[1]], [["1.00"]]),
        ([[None, NAN]], [[NAN, None]]),
        ([[True, "a"]], [[True, "A"]]),
        ([[b"\xff", "x"]], [[b"\xff", "x"]]),
        ([[10**400]], [[10**400]]),
        ([["9" * 5000]], [["9" * 5000]]),
        ([[3.14159, "007", " Bob\n"]], [[3.14001, 7, "bob"]]),
    ],
)
def test_documented_equal_cells_score_one_whatever_their_type(target, prediction):
    assert values(target, prediction, "qatch-docs") == [1.0] * 5


def test_documented_keeps_truth_null_and_numbers_apart():
    assert cell_precision([[True, None, 2]], [[1, "none", "2 "]], rules="qatch-docs") == 0.0


def test_every_rule_set_says_its_own_name_and_has_the_metrics_that_it_claims():
    for name, rules in RULE_SETS.items():
        accuracy = table_metrics(AB, AB, rules=name, metrics=["execution_accuracy"])["execution_accuracy"]
        assert (rules.name, accuracy.value is not None) == (name, rules.has_accuracy)


ZEROS = [0.0] * 5
ONES = [1.0] * 5


@pytest.mark.parametrize(
    ("target", "prediction", "wanted"),
    [
        ([], [], ONES),
        ([], AB, ZEROS),
        (AB, [], ZEROS),
        (AB, None, ZEROS),
        (AB, [None], [None, None, 0.5, None, 0.5]),
        (AB, "[]", [0.0, 0.0, 1.0, 0.0, None]),
        ([[None, "x"]], [[None, "x"]], ONES),
        ([[NAN]], [[float("nan")]], [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]], ONES),
        (AB, [("a", "b"), ("c", "d")], [1.0, 1.0, 1.0, 1.0, 0.5]),
        (["a", "b"], ["a", "b"], ONES),
        ([[["a"]]], [[["a"]]], [None, None, 1.0, None, 1.0]),
        ([[True, "a"]], [[True, "a"]], ONES),
        ([[b"x"]], [[b"x"]], ONES),
        ([[]], [[]], [None, None, 1.0, 1.0, 1.0]),
        ([[10**400]], [[10**400]], [1.0, 1.0, 1.0, None, 1.0]),
        ([[1]], [[1.0]], ONES),
        ([[1]], [["1"]], [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([["007"]], [[7]], [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[" Bob\n"]], [["bob"]], [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[3.14159]], [[3.14001]], [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[1, "a"], [2, "b"]], [["a", 1], ["b", 2]], [1.0, 1.0, 1.0, 1.0, 0.5]),
        ([[1, 2], [3, 4]], [[2, 1], [3, 4]], ONES),
        ([["a"]], [["a"], ["b"]], [0.5, 1.0, 0.5, 1.0, 1.0]),
        ([["a"]], [["a"], ["a"], ["b"]], [0.5, 1.0, 0.333, 0.0, 1.0]),
    ],
)
def test_the_release_keeps_its_numbers_for_special_tables(target, prediction, wanted):
    assert values(target, prediction, QATCH) == wanted


def test_the_release_rounds_one_missing_cell_of_four_thousand_away():
    assert values([[n] for n in range(4000)], [[n] for n in range(1, 4001)], QATCH)[:2] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("prediction", "exception"), [([None], "TypeError"), ([[10**400]], "OverflowError"), ([[]], "ZeroDivisionError")]
)
def test_where_the_release_raises_the_reason_names_its_exception(prediction, exception):
    assert f"QATCH 1.0.36 raises {exception}" in reasons([["a"]], prediction, QATCH)


@pytest.mark.parametrize("rules", ["qatch-docs", QATCH])
def test_order_in_unit_form_is_the_order_itself_by_all_rules_but_ours(rules):
    prediction = [["b"], ["a"], ["c"]]
    wanted = [["a"], ["b"], ["c"]]
    assert tuple_order_unit(wanted, prediction, rules=rules) == tuple_order(wanted, prediction, rules=rules) == 0.75


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", QATCH])
def test_order_is_not_applicable_where_the_wanted_result_has_none(rules):
    measure = table_metrics(AB, AB, rules=rules, ordered=False)["tuple_order"]
    assert measure == Measure(None, "the expected result has no order at its top level")


def test_execution_accuracy_of_the_new_release_loses_repeats_and_order():
    assert execution_accuracy([["a"], ["a"], ["b"]], [["b"], ["a"], ["b"]], rules=QATCH) == 1.0
    assert execution_accuracy([["a"], ["a"], ["b"]], [["b"], ["a"]], rules=QATCH) == 0.0
    assert execution_accuracy([], [], rules=QATCH) == 1.0


def test_rules_without_execution_accuracy_say_so():
    measure = table_metrics(AB, AB, rules="qatch-docs", metrics=("execution_accuracy",))["execution_accuracy"]
    assert measure.value is None
    assert measure.reason.endswith("has no execution_accuracy")


def test_unknown_rules_and_metrics_are_refused_with_what_is_known():
    with pytest.raises(ConfigError, match=r"no rules 'qatch-9': did you mean 'qatch-"):
        table_metrics(AB, AB, rules="qatch-9")
    with pytest.raises(ConfigError, match=r"no metric 'f1'.* cell_precision, cell_recall"):
        table_metrics(AB, AB, metrics=("f1",))


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", QATCH])
def test_metrics_come_in_the_order_in_which_they_are_asked_for(rules):
    asked = tuple(reversed(ALL_METRICS))
    assert tuple(table_metrics(AB, AB, rules=rules, metrics=asked)) == asked
    assert tuple(table_metrics(AB, None, rules=rules, metrics=asked)) == asked
    assert tuple(table_metrics([], [], rules=rules)) == METRICS


@pytest.mark.parametrize(
    ("side", "columns"),
    [
        (TableSide([(1, 2)], columns=("a", "b")), ("a", "b")),
        (TableSide([], columns=("a", "b")), ("a", "b")),
        (TableSide([(1, 2)]), ("", "")),
        (TableSide([]), ("", "", "")),
    ],
    ids=["names", "names without rows", "rows alone", "nothing"],
)
def test_a_result_has_its_names_else_as_many_empty_ones_as_it_is_wide(side, columns):
    result = side.result(3)
    assert (result.columns, list(result.rows)) == (columns, list(side.table))
