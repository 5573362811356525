"""MetricEvaluator: the documented examples, the slips of the releases that it does not make, and hostile input."""

from __future__ import annotations

import copy
import math
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from steelyard.errors import ConfigError
from steelyard.tables import (
    ALL_METRICS,
    CellPrecisionTag,
    CellRecallTag,
    MetricEvaluator,
    MultipleDatabases,
    QueryFailed,
)
from steelyard.tables.rules import rule_set

METRICS = ["cell_precision", "cell_recall", "tuple_cardinality", "tuple_constraint", "tuple_order"]
ALL_RULES = ["qatch-docs", "steelyard", "qatch-1.0.36"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    (folder / "bank").mkdir()
    connection = sqlite3.connect(folder / "bank" / "bank.sqlite")
    connection.execute("CREATE TABLE fraud (emailisfree INTEGER, income REAL)")
    connection.executemany("INSERT INTO fraud VALUES (?, ?)", [(0, 0.5), (1, 0.75), (0, 0.25)])
    connection.execute("CREATE TABLE orders (id INTEGER, name TEXT)")
    connection.executemany("INSERT INTO orders VALUES (?, ?)", [(1, "tea"), (2, "rye"), (3, "ale")])
    connection.commit()
    connection.close()
    return folder


@pytest.fixture(scope="module")
def databases(folder):
    with MultipleDatabases(folder) as opened:
        yield opened


def sp(databases, target, prediction, rules="qatch-docs", metrics=None):
    """The metrics of two queries without the column's name."""
    test = {"db_id": "bank", "target": target, "p": prediction}
    measured = MetricEvaluator(databases, metrics, rules).evaluate_single_test_SP(test, "p", "target")
    return {name.removesuffix("_p"): value for name, value in measured.items()}


def qa(target, prediction, rules="qatch-docs", databases=None, metrics=None):
    """The metrics of a table without the column's name."""
    test = {"db_id": "bank", "target": target, "p": prediction}
    measured = MetricEvaluator(databases, metrics, rules).evaluate_single_test_QA(test, "p", "target")
    return {name.removesuffix("_p"): value for name, value in measured.items()}


def zeros(**other):
    return dict.fromkeys(METRICS, 0.0) | other


# The documented examples


def test_documented_qa_example():
    test = {
        "sql_tags": "SELECT",
        "prediction": [["wales", "scotland"], ["england"]],
        "target": [["scotland", "wales"], ["england"]],
    }
    evaluator = MetricEvaluator(databases=None, metrics=["cell_precision", "cell_recall"])
    measured = evaluator.evaluate_single_test_QA(test, "prediction", "target")
    assert measured == {"cell_precision_prediction": 1.0, "cell_recall_prediction": 1.0}
    frame = evaluator.evaluate_with_df(pd.DataFrame([test]), "prediction", "QA", "target")
    assert frame[["cell_precision_prediction", "cell_recall_prediction"]].to_numpy().tolist() == [[1.0, 1.0]]


def test_documented_sp_example(databases):
    test = {
        "db_id": "bank",
        "target": "SELECT DISTINCT emailisfree FROM fraud",
        "prediction": "SELECT emailisfree, income FROM fraud",
    }
    evaluator = MetricEvaluator(databases, ["cell_precision", "cell_recall"])
    measured = evaluator.evaluate_single_test_SP(test, "prediction", "target")
    assert measured == {"cell_precision_prediction": 0.5, "cell_recall_prediction": 1.0}


def test_documented_defaults():
    evaluator = MetricEvaluator(None)
    assert (evaluator.databases, evaluator.metrics, evaluator.rules) == (None, METRICS, "qatch-docs")


def test_cleaned_queries_are_identical_whatever_case_quotes_and_blanks():
    identical = MetricEvaluator.are_cleaned_sql_identical
    assert identical('SELECT "a" , b  FROM t', "select 'a', b FROM T ")
    assert identical("SELECT f(a) FROM t", "SELECT f ( a ) FROM t")
    assert not identical("SELECT a FROM t", "SELECT b FROM t")


# Shapes of a prediction


@pytest.mark.parametrize("prediction", ["a text", ["flat", "list"], [[["third"]]], None, 7])
def test_a_prediction_that_is_no_list_of_lists_is_zero(prediction):
    assert qa([["a"], ["b"]], prediction)["cell_precision"] == 0.0


@pytest.mark.parametrize("prediction", ["a text", ["flat", "list"], [[["third"]]], None, 7])
def test_by_our_rules_a_wrong_shape_is_not_applicable(prediction):
    assert set(qa([["a"], ["b"]], prediction, "steelyard").values()) == {None}


@pytest.mark.parametrize(
    "prediction",
    [
        [("a", 1), ("b", 2)],
        (("a", 1), ("b", 2)),
        '[["a", 1], ["b", 2]]',
        "[['a', 1], ('b', 2)]",
        {"columns": ["x", "y"], "rows": [["a", 1], ["b", 2]]},
        [{"x": "a", "y": 1}, {"y": 2, "x": "b"}],
        np.array([["a", 1], ["b", 2]], dtype=object),
        [np.array(["a", 1], dtype=object), np.array(["b", 2], dtype=object)],
        [["a", np.int64(1)], ["b", np.float64(2)]],
        pd.DataFrame({"x": ["a", "b"], "y": [1, 2]}, index=[7, 7]),
        pl.DataFrame({"x": ["a", "b"], "y": [1, 2]}),
        pa.table({"x": ["a", "b"], "y": [1, 2]}),
        pl.Series([["a", 1], ["b", 2]], dtype=pl.Object),
    ],
)
@pytest.mark.parametrize("rules", ["qatch-docs", "steelyard"])
def test_every_form_of_a_table_is_read(prediction, rules):
    assert set(qa([["a", 1], ["b", 2]], prediction, rules).values()) == {1.0}


ODD = [None, float("nan"), float("inf"), 10**400, "", "\ud800", b"x", True, [1], {"a": 1}, {1}, 1 + 2j, object()]
ODD += [np.int64(3), np.array(3), np.array([]), pd.NA, pd.NaT, pd.Timestamp("2020"), range(3), (1,)]


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize("odd", ODD, ids=lambda value: type(value).__name__)
def test_whatever_stands_in_a_row_is_a_number_or_none_and_raises_nothing(rules, odd):
    for target, prediction in (([["a"]], odd), ([["a"]], [odd]), ([["a"]], [[odd]]), ([[odd]], [[odd, odd]])):
        measured = qa(target, prediction, rules, metrics=list(ALL_METRICS))
        assert list(measured) == list(ALL_METRICS)
        assert all(value is None or -1 <= value <= 1 for value in measured.values())


def test_missing_cells_are_null_whatever_says_so():
    for cell in (float("nan"), pd.NA, pd.NaT, np.nan, None):
        assert qa([["a", None]], [["a", cell]], "steelyard")["cell_precision"] == 1.0


def test_the_text_of_an_empty_list_is_an_empty_table():
    assert qa([["a"]], "[]") == zeros()
    assert set(qa([], "[]").values()) == {1.0}


def test_a_text_that_only_begins_like_a_table_is_none():
    assert qa([["a"]], "[['a'") == zeros()
    assert qa([["a"]], "[" * 100_000) == zeros()


# Targets of QA


def test_a_target_that_is_sql_is_run_first(databases):
    assert qa("SELECT name FROM orders WHERE id < 3", [["tea"], ["rye"]], databases=databases) == dict.fromkeys(
        METRICS, 1.0
    ) | {"tuple_order": None}


def test_order_counts_where_the_target_orders(databases):
    measured = qa("SELECT name FROM orders ORDER\nBY name", [["tea"], ["rye"], ["ale"]], databases=databases)
    assert measured["tuple_order"] == 0.0
    assert measured["tuple_constraint"] == 1.0


def test_a_target_that_is_a_table_has_order_always():
    assert qa([["a"], ["b"]], [["b"], ["a"]])["tuple_order"] == 0.0
    assert qa([["a"], ["b"]], [["b"], ["a"]], "steelyard")["tuple_order"] == -1.0
    assert qa([["a"], ["b"]], [["b"], ["a"]], "qatch-1.0.36")["tuple_order"] is None


def test_equality_of_a_wanted_table_does_not_ask_for_its_order():
    measured = qa([["a"], ["b"]], [["b"], ["a"]], "steelyard", metrics=["execution_accuracy"])
    assert measured == {"execution_accuracy": 1.0}


def test_a_target_that_cannot_be_run_is_zero_as_documented(databases):
    assert qa("SELECT nothing FROM orders", [["tea"]], databases=databases) == zeros()
    assert set(qa("SELECT nothing FROM orders", [["tea"]], "steelyard", databases).values()) == {None}


def test_sql_without_databases_is_refused():
    with pytest.raises(ConfigError, match="'target' holds SQL, but there are no databases"):
        qa("SELECT 1", [[1]])


# SP: both sides are SQL


def test_a_prediction_that_cannot_be_run_is_zero(databases):
    target = "SELECT name FROM orders"
    assert sp(databases, target, "SELECT nam FROM orders") == zeros()
    assert sp(databases, target, "SELEC name") == zeros()
    assert sp(databases, target, "SELECT nam FROM orders", "steelyard") == zeros(tuple_order=None)
    assert sp(databases, target, "SELECT nam FROM orders", "qatch-1.0.36") == zeros(tuple_order=None)


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize("prediction", [None, float("nan"), pd.NA, "", "  ", 5, [["tea"]], b"SELECT 1", "\x00"])
def test_a_prediction_that_is_no_query_is_zero(databases, rules, prediction):
    measured = sp(databases, "SELECT name FROM orders ORDER BY name", prediction, rules)
    assert measured == zeros()


def test_a_target_that_cannot_be_run_says_nothing_about_the_prediction(databases):
    prediction = "SELECT name FROM orders"
    assert sp(databases, "SELECT nam FROM orders", prediction) == zeros()
    assert sp(databases, None, prediction) == zeros()
    assert set(sp(databases, "SELECT nam FROM orders", prediction, "steelyard").values()) == {None}
    assert set(sp(databases, "SELECT nam FROM orders", prediction, "qatch-1.0.36").values()) == {None}


@pytest.mark.parametrize("rules", ["qatch-docs", "qatch-1.0.36"])
def test_identical_text_is_a_shortcut_for_compatible_rules(databases, rules):
    broken = "SELECT nothing FROM nowhere"
    assert sp(databases, broken, broken.lower(), rules) == dict.fromkeys(METRICS, 1.0) | {"tuple_order": None}


def test_identical_text_is_no_shortcut_by_our_rules(databases):
    broken = "SELECT nothing FROM nowhere"
    assert set(sp(databases, broken, broken, "steelyard").values()) == {None}
    measured = sp(databases, "SELECT 1 WHERE 'Bob' = 'Bob'", "SELECT 1 WHERE 'Bob' = 'bob'", "steelyard")
    assert measured["cell_recall"] == 0.0


def test_a_table_called_orders_is_no_order(databases):
    query = "SELECT name FROM orders"
    assert sp(databases, query, query)["tuple_order"] is None
    assert sp(databases, query, "SELECT name FROM orders WHERE 1")["tuple_order"] is None
    assert sp(databases, query, query, "qatch-1.0.36")["tuple_order"] is None


@pytest.mark.parametrize("order", ["ORDER BY name", "ORDER  BY name", "ORDER\nBY name", "order/**/by name LIMIT 9"])
def test_an_order_is_seen_however_it_is_written(databases, order):
    measured = sp(databases, f"SELECT name FROM orders {order}", "SELECT name FROM orders ORDER BY name DESC")
    assert measured["tuple_order"] == 0.0


@pytest.mark.parametrize(
    "target",
    [
        "SELECT name, row_number() OVER (ORDER BY id) FROM orders",
        "SELECT * FROM (SELECT name FROM orders ORDER BY name)",
        "SELECT name FROM orders -- order by name",
        "SELECT 'order by', name FROM orders",
        "WITH o AS (SELECT name FROM orders ORDER BY name) SELECT name FROM o",
    ],
)
@pytest.mark.parametrize("rules", ["qatch-docs", "steelyard"])
def test_an_order_below_the_top_level_is_none(databases, target, rules):
    assert sp(databases, target, f"{target}\n", rules)["tuple_order"] is None
    assert sp(databases, target, f"SELECT * FROM (\n{target}\n)", rules)["tuple_order"] is None


@pytest.mark.parametrize("target", ["(SELECT name FROM orders) ORDER BY 1", "SELECT 1 UNION SELECT 2 ORDER BY 1"])
def test_an_order_of_a_union_is_at_the_top_level(target):
    assert rule_set("steelyard").ordered(target, "sqlite")


@pytest.mark.parametrize("rules", ALL_RULES)
@pytest.mark.parametrize(
    "prediction",
    [
        "DROP TABLE orders",
        "DELETE FROM orders",
        "SELECT 1; DROP TABLE orders",
        "WITH x AS (SELECT 1) DELETE FROM orders WHERE 1 RETURNING *",
        "PRAGMA user_version = 3",
    ],
)
def test_a_prediction_leaves_the_database_as_it_is(databases, folder, prediction, rules):
    file = folder / "bank" / "bank.sqlite"
    before = file.read_bytes()
    assert sp(databases, "SELECT name FROM orders", prediction, rules)["cell_recall"] == 0.0
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["bank.sqlite"]


def test_a_writing_target_is_not_run_either(databases, folder):
    before = (folder / "bank" / "bank.sqlite").read_bytes()
    assert sp(databases, "DROP TABLE orders", "DROP  TABLE orders WHERE") == zeros()
    assert qa("DROP TABLE orders", [["tea"]], databases=databases) == zeros()
    assert (folder / "bank" / "bank.sqlite").read_bytes() == before


def test_semicolons_are_dropped_by_the_release_that_drops_them(databases):
    target, prediction = "SELECT name FROM orders", "SELECT name FROM orders WHERE name <> 'a;b';"
    assert sp(databases, target, prediction, "qatch-1.0.36")["cell_recall"] == 1.0
    assert sp(databases, "SELECT 'ab'", "SELECT 'a;b'", "qatch-1.0.36")["cell_recall"] == 1.0
    assert sp(databases, "SELECT 'ab'", "SELECT 'a;b'")["cell_recall"] == 0.0


def test_execution_accuracy_and_the_unit_of_order_can_be_asked_for(databases):
    metrics = ["execution_accuracy", "tuple_order", "tuple_order_unit"]
    target, prediction = "SELECT name FROM orders ORDER BY id", "SELECT name FROM orders ORDER BY id DESC"
    measured = sp(databases, target, prediction, "steelyard", metrics)
    assert measured == {"execution_accuracy": 0.0, "tuple_order": -1.0, "tuple_order_unit": 0.0}


@pytest.mark.parametrize(
    ("target", "prediction", "accuracy"),
    [
        ("SELECT emailisfree, income FROM fraud ORDER BY 1", "VALUES (0, 0.25), (0, 0.5), (1, 0.75)", 1.0),
        ("SELECT emailisfree, income FROM fraud ORDER BY 1", "VALUES (0.25, 0), (0.5, 0), (0.75, 1)", 1.0),
        ("SELECT emailisfree, income FROM fraud ORDER BY 1", "VALUES (1, 0.75), (0, 0.25), (0, 0.5)", 0.0),
        ("SELECT emailisfree, income FROM fraud ORDER BY 1", "VALUES (0, 0.25), (0, 0.25), (1, 0.75)", 0.0),
        ("SELECT emailisfree, income FROM fraud ORDER BY 1, 2 DESC", "VALUES (0, 0.25), (0, 0.5), (1, 0.75)", 0.0),
        ("SELECT income FROM fraud ORDER BY emailisfree", "VALUES (0.25), (0.5), (0.75)", 0.0),
        ("SELECT income FROM fraud", "VALUES (0.25), (0.5), (0.75)", 1.0),
    ],
)
def test_rows_with_equal_sort_keys_may_stand_in_any_order(databases, target, prediction, accuracy):
    assert sp(databases, target, prediction, "steelyard", ["execution_accuracy"]) == {"execution_accuracy": accuracy}


def test_a_text_as_predicted_table_is_run_by_the_release_that_runs_it(databases):
    target = "SELECT id FROM orders"
    assert set(qa(target, "[]", "qatch-1.0.36", databases).values()) == {0.0, None}
    assert qa(target, "SELECT id FROM orders", "qatch-1.0.36", databases)["cell_recall"] == 1.0
    assert set(qa([["a"]], "ab", "qatch-1.0.36").values()) == {0.0, None}


def test_rules_without_execution_accuracy_have_none(databases):
    for prediction in ("SELECT 1", "SELECT  1", "SELECT"):
        assert sp(databases, "SELECT 1", prediction, metrics="execution_accuracy") == {"execution_accuracy": None}


# Rows, columns and options


def test_a_given_row_is_not_changed(databases):
    test = {"db_id": "bank", "target": "SELECT id FROM orders", "p": "SELECT id FROM orders WHERE id > 1"}
    before = copy.deepcopy(test)
    MetricEvaluator(databases).evaluate_single_test_SP(test, "p", "target")
    assert test == before


def test_a_row_may_be_a_series(databases):
    test = pd.Series({"db_id": "bank", "target": "SELECT id FROM orders", "p": "SELECT id FROM orders WHERE id > 1"})
    measured = MetricEvaluator(databases, "tuple_cardinality").evaluate_single_test_SP(test, "p", "target")
    assert measured == {"tuple_cardinality_p": 0.667}


def test_a_missing_key_of_a_row_is_refused(databases):
    evaluator = MetricEvaluator(databases)
    with pytest.raises(ConfigError, match=r"no column 'pred': did you mean 'prd'\?"):
        evaluator.evaluate_single_test_QA({"prd": [], "target": []}, "pred", "target")
    with pytest.raises(ConfigError, match="no column 'db_id', which says where SQL is run"):
        evaluator.evaluate_single_test_SP({"p": "SELECT 1", "target": "SELECT 2"}, "p", "target")


def test_metrics_are_names_or_tags():
    assert MetricEvaluator(None, "cell_recall").metrics == ["cell_recall"]
    assert MetricEvaluator(None, [CellRecallTag, CellPrecisionTag()]).metrics == ["cell_recall", "cell_precision"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["cell_recal"]}, r"no metric 'cell_recal': did you mean 'cell_recall'\?"),
        ({"metrics": []}, "metrics names none"),
        ({"metrics": [3]}, "no metric '3'"),
        ({"rules": "qatch-doc"}, r"no rules 'qatch-doc': did you mean 'qatch-docs'\?"),
        ({"databases": 5}, "databases must be a MultipleDatabases"),
    ],
)
def test_unknown_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        MetricEvaluator(**({"databases": None} | options))


# Data frames

ROWS = {
    "db_id": ["bank", "bank", "bank"],
    "query": ["SELECT id FROM orders", "SELECT name FROM orders ORDER BY name", "SELECT 1"],
    "model": ["SELECT id FROM orders WHERE 1", "SELECT name FROM orders ORDER BY name DESC", None],
}
KINDS = [pd.DataFrame, pl.DataFrame, pa.table]


def columns_of(frame):
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_dict("list")


def nulls(cells):
    return [None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell for cell in cells]


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_of_sql_comes_back_with_its_metrics(databases, make):
    given = make(ROWS)
    measured = MetricEvaluator(databases).evaluate_with_df(given, "model", "SP")
    assert type(measured) is type(given)
    columns = columns_of(measured)
    assert list(columns) == ["db_id", "model", *(f"{name}_model" for name in METRICS)]
    assert columns["cell_recall_model"] == [1.0, 1.0, 0.0]
    assert nulls(columns["tuple_order_model"]) == [None, 0.0, 0.0]
    assert list(columns_of(given)) == list(ROWS)


@pytest.mark.parametrize("make", KINDS)
def test_the_target_is_kept_where_asked_for(databases, make):
    measured = MetricEvaluator(databases, "cell_recall").evaluate_with_df(make(ROWS), "model", "sp", keep_target=True)
    assert list(columns_of(measured)) == [*ROWS, "cell_recall_model"]


TABLES = {
    "target": [[["a", "b"], ["c", "d"]], [["x", "y"]], [["z", "z"]]],
    "guess": [[["a", "b"], ["c", "e"]], None, []],
}


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_of_tables_comes_back_with_its_metrics(make):
    measured = MetricEvaluator(None, ["cell_precision"]).evaluate_with_df(make(TABLES), "guess", "QA", "target")
    assert columns_of(measured)["cell_precision_guess"] == [0.75, 0.0, 0.0]


def test_lists_survive_a_round_trip_through_arrow():
    frame = pa.table(TABLES).to_pandas()
    assert isinstance(frame["guess"][0][0], np.ndarray)
    measured = MetricEvaluator(None, ["cell_precision"]).evaluate_with_df(frame, "guess", "QA", "target")
    assert list(measured["cell_precision_guess"]) == [0.75, 0.0, 0.0]


def test_lists_survive_a_round_trip_through_csv(tmp_path):
    pd.DataFrame(TABLES).to_csv(tmp_path / "t.csv", index=False)
    frame = pd.read_csv(tmp_path / "t.csv")
    measured = MetricEvaluator(None, ["cell_precision"]).evaluate_with_df(frame, "guess", "QA", "target")
    assert list(measured["cell_precision_guess"]) == [0.75, 0.0, 0.0]


def test_a_frame_may_mix_tables_and_sql_as_targets(databases):
    frame = pd.DataFrame(
        {"db_id": ["bank", None], "query": ["SELECT count(*) FROM orders", [[3]]], "p": [[[3]], [[3]]]}
    )
    measured = MetricEvaluator(databases, ["cell_recall", "tuple_order"]).evaluate_with_df(frame, "p", "QA")
    assert list(measured["cell_recall_p"]) == [1.0, 1.0]
    assert nulls(measured["tuple_order_p"]) == [None, 1.0]


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_without_rows_has_the_columns(make):
    given = make({"query": [], "p": []})
    measured = MetricEvaluator(None).evaluate_with_df(given, "p", "QA")
    assert list(columns_of(measured)) == ["p", *(f"{name}_p" for name in METRICS)]


def test_mistakes_in_a_call_are_told_before_anything_is_run(databases):
    evaluator = MetricEvaluator(databases)
    frame = pd.DataFrame(ROWS)
    with pytest.raises(ConfigError, match=r"no column 'modl': did you mean 'model'\? The columns are db_id, query"):
        evaluator.evaluate_with_df(frame, "modl", "SP")
    with pytest.raises(ConfigError, match="no column 'target'"):
        evaluator.evaluate_with_df(frame, "model", "SP", "target")
    with pytest.raises(ConfigError, match="no column 'db_id', which says where SQL is run"):
        evaluator.evaluate_with_df(frame.drop(columns="db_id"), "model", "SP")
    with pytest.raises(ConfigError, match="there is no task 'QS'; QA compares tables, SP runs"):
        evaluator.evaluate_with_df(frame, "model", "QS")
    with pytest.raises(ConfigError, match="there are no databases to run it on"):
        MetricEvaluator(None).evaluate_with_df(frame, "model", "SP")


def test_a_row_of_an_unknown_database_is_refused(databases):
    frame = pd.DataFrame(ROWS | {"db_id": ["bank", "bnak", "bank"]})
    with pytest.raises(ConfigError, match=r"no database 'bnak' .*did you mean 'bank'\?"):
        MetricEvaluator(databases).evaluate_with_df(frame, "model", "SP")


def test_an_equal_target_is_run_once(folder):
    class Counting(MultipleDatabases):
        ran = 0

        def execute(self, db_id, query):
            self.ran += 1
            return super().execute(db_id, query)

    with Counting(folder) as counting:
        frame = pd.DataFrame({"db_id": ["bank"] * 50, "query": ["SELECT id FROM orders"] * 50, "p": [[[1]]] * 50})
        measured = MetricEvaluator(counting, "cell_precision").evaluate_with_df(frame, "p", "QA")
        assert counting.ran == 1
        assert set(measured["cell_precision_p"]) == {1.0}


def test_a_failed_query_is_an_error_of_sqlite_to_the_caller(databases):
    with pytest.raises(QueryFailed):
        databases.run_query("bank", "SELECT nothing")
