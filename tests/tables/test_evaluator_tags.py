"""Every printed example of the documented tag classes, and what they do with what is not a plain list."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard.tables as public
from steelyard.errors import ConfigError
from steelyard.tables import CellPrecisionTag, CellRecallTag, TupleCardinalityTag, TupleConstraintTag, TupleOrderTag

TABLE = [["a", "b"], ["c", "d"]]
FRUIT = [["apple", "orange"], ["pear"]]
EXAMPLES = [
    (CellPrecisionTag, TABLE, TABLE, 1.0),
    (CellPrecisionTag, TABLE, [["a", "b"], ["c", "e"]], 0.75),
    (CellPrecisionTag, TABLE, [["a"], ["b"], ["c"], ["d"]], 1.0),
    (CellRecallTag, TABLE, TABLE, 1.0),
    (CellRecallTag, TABLE, [["a", "x"], ["y", "d"]], 0.5),
    (CellRecallTag, TABLE, [["a", "a"], ["b", "b"], ["c", "d"]], 1.0),
    (TupleCardinalityTag, [["a"], ["b"], ["c"], ["d"]], TABLE, 0.5),
    (TupleCardinalityTag, TABLE, [["a"], ["b"], ["c"], ["d"]], 0.5),
    (TupleCardinalityTag, TABLE, [["x", "y"], ["z", "w"]], 1.0),
    (TupleConstraintTag, TABLE, TABLE, 1.0),
    (TupleConstraintTag, TABLE, [["a", "b"], ["a", "b"], ["c", "d"]], 0.5),
    (TupleConstraintTag, TABLE, [["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]], 0.0),
    (TupleOrderTag, TABLE, TABLE, 1.0),
    (TupleOrderTag, TABLE, [["c", "d"], ["a", "b"]], 0.0),
    (TupleOrderTag, FRUIT, [["pear"], ["apple", "orange"]], 0.0),
    (TupleOrderTag, FRUIT, [["pear"]], 1.0),
]
TAGS = [CellPrecisionTag, CellRecallTag, TupleCardinalityTag, TupleConstraintTag, TupleOrderTag]


@pytest.mark.parametrize(("tag", "target", "prediction", "value"), EXAMPLES)
def test_documented_examples_hold(tag, target, prediction, value):
    assert tag().evaluate(target, prediction) == value
    assert tag().evaluate_single_no_special_case(target, prediction) == value
    assert tag().evaluate_single_test_metric(target, prediction) == value


@pytest.mark.parametrize(("tag", "target", "prediction", "value"), EXAMPLES)
def test_arrays_and_tuples_are_tables_as_lists_are(tag, target, prediction, value):
    def array(table):
        rows = [np.array(row, dtype=object) for row in table]
        column = np.empty(len(rows), dtype=object)
        column[:] = rows
        return column

    assert tag().evaluate(array(target), array(prediction)) == value
    assert tag().evaluate(tuple(map(tuple, target)), tuple(map(tuple, prediction))) == value


@pytest.mark.parametrize("tag", TAGS)
def test_a_missing_prediction_is_zero(tag):
    assert tag().evaluate(TABLE, None) == 0.0
    assert tag().evaluate(TABLE, float("nan")) == 0.0


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("prediction", [["a", "b"], [[["a"]]], "a", 3, {"a": 1}, [None]])
def test_what_is_no_list_of_lists_is_zero(tag, prediction):
    assert tag().evaluate(TABLE, prediction) == 0.0


def test_several_tests_are_evaluated_in_order():
    assert CellPrecisionTag().evaluate_tests([TABLE, TABLE], [TABLE, [["a", "x"]]]) == [1.0, 0.5]


def test_lists_of_different_lengths_are_no_tests():
    with pytest.raises(ValueError, match="shorter"):
        CellPrecisionTag().evaluate_tests([TABLE, TABLE], [TABLE])


def test_rules_are_chosen_by_name():
    extra = [*TABLE, ["x", "y"]]
    assert TupleConstraintTag().evaluate(TABLE, extra) == 1.0
    assert TupleConstraintTag("steelyard").evaluate(TABLE, extra) == pytest.approx(2 / 3)
    assert TupleOrderTag(rules="steelyard").evaluate(TABLE, TABLE[::-1]) == -1.0


def test_unknown_rules_are_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"did you mean 'steelyard'\?"):
        CellPrecisionTag("steelyrd")


def test_numbers_of_numpy_are_numbers():
    assert CellPrecisionTag("steelyard").evaluate([[1, 2.5]], [[np.int64(1), np.float32(2.5)]]) == 1.0


def test_public_names_are_sorted_and_there():
    assert public.__all__ == sorted(public.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(public, name) for name in public.__all__)
