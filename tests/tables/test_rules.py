"""Worked values: the documentation's printed examples, and what each release makes of special tables."""

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
from steelyard.tables.rules import RULE_SETS

AB = [["a", "b"], ["c", "d"]]
OLD, LATE, NEW = "qatch-0.2.2", "qatch-0.2.5", "qatch-1.0.36"
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
NONES = [None] * 5


@pytest.mark.parametrize(
    ("target", "prediction", "early", "late", "new"),
    [
        ([], [], ZEROS, ONES, ONES),
        ([], AB, ZEROS, ZEROS, ZEROS),
        (AB, [], ZEROS, ZEROS, ZEROS),
        (AB, None, ZEROS, NONES, ZEROS),
        (AB, [None], ZEROS, ZEROS, [None, None, 0.5, None, 0.5]),
        (AB, "[]", ZEROS, ZEROS, [0.0, 0.0, 1.0, 0.0, None]),
        ([[None, "x"]], [[None, "x"]], ONES, ZEROS, ONES),
        ([[NAN]], [[float("nan")]], ONES, ONES, [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]], ZEROS, ONES, ONES),
        (AB, [("a", "b"), ("c", "d")], ONES, ZEROS, [1.0, 1.0, 1.0, 1.0, 0.5]),
        (["a", "b"], ["a", "b"], ZEROS, ZEROS, ONES),
        ([[["a"]]], [[["a"]]], ZEROS, ZEROS, [None, None, 1.0, None, 1.0]),
        ([[True, "a"]], [[True, "a"]], [1.0, 1.0, 1.0, None, 1.0], [1.0, 1.0, 1.0, None, 1.0], ONES),
        ([[b"x"]], [[b"x"]], NONES, ZEROS, ONES),
        ([[]], [[]], [None, None, 1.0, 1.0, 1.0], [None, None, 1.0, 1.0, 1.0], [None, None, 1.0, 1.0, 1.0]),
        ([[10**400]], [[10**400]], NONES, NONES, [1.0, 1.0, 1.0, None, 1.0]),
        ([[1]], [[1.0]], [0.0, 0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0, 0.5], ONES),
        ([[1]], [["1"]], ONES, ONES, [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([["007"]], [[7]], ONES, ONES, [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[" Bob\n"]], [["bob"]], ONES, ONES, [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[3.14159]], [[3.14001]], ONES, ONES, [0.0, 0.0, 1.0, 0.0, 0.5]),
        ([[1, "a"], [2, "b"]], [["a", 1], ["b", 2]], *[[1.0, 1.0, 1.0, 1.0, 0.5]] * 3),
        ([[1, 2], [3, 4]], [[2, 1], [3, 4]], *[ONES] * 3),
        ([["a"]], [["a"], ["b"]], [0.5, 1.0, 0.5, 1.0, 1.0], [0.5, 1.0, 0.5, 1.0, 1.0], [0.5, 1.0, 0.5, 1.0, 1.0]),
        ([["a"]], [["a"], ["a"], ["b"]], [0.667, 1.0, 0.333, 0.0, 1.0], *[[0.5, 1.0, 0.333, 0.0, 1.0]] * 2),
        ([[n] for n in range(4000)], [[n] for n in range(1, 4001)], *[ONES] * 3),
    ],
)
def test_releases_keep_their_numbers_for_special_tables(target, prediction, early, late, new):
    if len(target) < 4000:
        assert [values(target, prediction, rules) for rules in (OLD, LATE, NEW)] == [early, late, new]
    else:
        assert [values(target, prediction, rules)[:2] for rules in (OLD, LATE, NEW)] == [[1.0, 1.0]] * 3


@pytest.mark.parametrize(
    ("rules", "prediction", "reason"),
    [
        (LATE, None, "QATCH 0.2.5 raises TypeError"),
        (OLD, [[b"x"]], "QATCH 0.2.2 raises TypeError"),
        (OLD, [[10**400]], "QATCH 0.2.2 raises OverflowError"),
        (LATE, [[10**400]], "QATCH 0.2.5 raises OverflowError"),
    ],
)
def test_where_a_release_raises_the_reason_names_its_exception(rules, prediction, reason):
    assert reasons([["a"]], prediction, rules) == {reason}


def test_a_target_that_is_no_list_is_a_query_without_database_to_the_old_releases():
    assert reasons((("a",),), [["a"]], OLD) == {"QATCH 0.2.2 raises ValueError"}
    assert values((("a",),), [["a"]], OLD, executed=True) == ONES


def test_a_null_in_an_executed_target_passes_the_late_gate():
    assert values([[None], ["a"]], [["a"]], LATE) == ZEROS
    assert values([[None], ["a"]], [["a"]], LATE, executed=True) == [1.0, 0.5, 0.5, 0.5, 1.0]


def test_numpy_rounds_shares_of_the_early_release():
    # 427 of 2000 is 0.2135: Python's nearest double lies below, numpy scales to 213.5 and takes the even number.
    target = [["x"]]
    prediction = [["x"]] * 427 + [["y"]] * 1573
    assert cell_precision(target, prediction, rules=OLD) == 0.214
    assert round(427 / 2000, 3) == 0.213


@pytest.mark.parametrize("rules", ["qatch-docs", OLD, LATE, NEW])
def test_order_in_unit_form_is_the_order_itself_by_all_rules_but_ours(rules):
    prediction = [["b"], ["a"], ["c"]]
    wanted = [["a"], ["b"], ["c"]]
    assert tuple_order_unit(wanted, prediction, rules=rules) == tuple_order(wanted, prediction, rules=rules) == 0.75


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", OLD, LATE, NEW])
def test_order_is_not_applicable_where_the_wanted_result_has_none(rules):
    measure = table_metrics(AB, AB, rules=rules, ordered=False)["tuple_order"]
    assert measure == Measure(None, "the expected result has no order at its top level")


@pytest.mark.parametrize("rules", [OLD, LATE])
def test_tables_turned_away_by_old_gates_score_zero_in_order_even_without_one(rules):
    assert table_metrics(AB, [None], rules=rules, ordered=False)["tuple_order"].value == 0.0


def test_execution_accuracy_of_the_new_release_loses_repeats_and_order():
    assert execution_accuracy([["a"], ["a"], ["b"]], [["b"], ["a"], ["b"]], rules=NEW) == 1.0
    assert execution_accuracy([["a"], ["a"], ["b"]], [["b"], ["a"]], rules=NEW) == 0.0
    assert execution_accuracy([], [], rules=NEW) == 1.0


@pytest.mark.parametrize("rules", ["qatch-docs", OLD, LATE])
def test_rules_without_execution_accuracy_say_so(rules):
    measure = table_metrics(AB, AB, rules=rules, metrics=("execution_accuracy",))["execution_accuracy"]
    assert measure.value is None
    assert measure.reason.endswith("has no execution_accuracy")


def test_unknown_rules_and_metrics_are_refused_with_what_is_known():
    with pytest.raises(ConfigError, match=r"no rules 'qatch-9': did you mean 'qatch-"):
        table_metrics(AB, AB, rules="qatch-9")
    with pytest.raises(ConfigError, match=r"no metric 'f1'.* cell_precision, cell_recall"):
        table_metrics(AB, AB, metrics=("f1",))


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", OLD, LATE, NEW])
def test_metrics_come_in_the_order_in_which_they_are_asked_for(rules):
    asked = tuple(reversed(ALL_METRICS))
    assert tuple(table_metrics(AB, AB, rules=rules, metrics=asked)) == asked
    assert tuple(table_metrics(AB, None, rules=rules, metrics=asked)) == asked
    assert tuple(table_metrics([], [], rules=rules)) == METRICS
