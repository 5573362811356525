"""Several acceptable answers to one question: a list, Defog's notation, Spider 2.0's flags."""

import asyncio

import pytest

from steelyard.errors import DataError
from steelyard.scorers.sql import SqlResult
from steelyard.sql.golds import gold_queries, joined_golds
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample

SCHEMA = (
    "CREATE TABLE c (id INT, name TEXT, city TEXT); "
    "INSERT INTO c VALUES (1, 'Ann', 'Rome'), (2, 'Bo', 'Oslo'), (3, 'Cy', 'Rome')"
)


@pytest.fixture(scope="module")
def box():
    with Sandbox(workers=1) as sandbox:
        yield sandbox


def _result(box, reference, sql, **metadata):
    sample = Sample("a", "Who is from Rome?", reference, metadata={"schema": SCHEMA, **metadata})
    return asyncio.run(SqlResult()(sample, Output(sql), box))[2:]


def test_result_of_any_gold_is_right_and_the_reason_names_it(box):
    golds = joined_golds(["SELECT name FROM c WHERE city = 'Rome'", "SELECT id FROM c WHERE city = 'Rome'"])
    verdict, *published = _result(box, golds, "SELECT id FROM c WHERE city <> 'Oslo'")
    assert (verdict.value, verdict.detail["gold"]) == (1.0, 2)
    assert verdict.reason.startswith("gold 2: ")
    assert [score.value for score in published] == [1.0] * 4
    wrong, *_ = _result(box, golds, "SELECT city FROM c")
    assert (wrong.value, wrong.detail["golds_tried"]) == (0.0, 2)


@pytest.mark.parametrize("end", [" -- by name", "; -- done", " -- done;", " ;\n"])
def test_gold_may_end_in_a_comment(end):
    golds = gold_queries(joined_golds([f"SELECT name FROM c{end}", "SELECT id FROM c"]), "postgres")
    assert golds[1:] == ("SELECT id FROM c",)


def test_gold_that_cannot_be_run_does_not_hide_another(box):
    verdict, *_ = _result(box, "SELECT nothing FROM c; SELECT name FROM c", "SELECT name FROM c")
    assert (verdict.value, verdict.detail["gold"]) == (1.0, 2)


def test_optional_columns_in_braces_are_each_accepted(box):
    gold = "SELECT {id, name} FROM c WHERE city = 'Rome'"
    for columns in ("id", "name", "id, name", "name, id"):
        assert _result(box, gold, f"SELECT {columns} FROM c WHERE city = 'Rome'")[0].value == 1.0
    assert _result(box, gold, "SELECT city FROM c WHERE city = 'Rome'")[0].value == 0.0


def test_group_by_follows_the_columns_in_braces():
    gold = "SELECT {a, b}, count(*) FROM t GROUP BY {}"
    assert gold_queries(gold, "postgres")[2] == "SELECT a, b, count(*) FROM t GROUP BY a, b"
    assert gold_queries("SELECT {'a': 1} AS s", "duckdb") == ("SELECT {'a': 1} AS s",)


def test_condition_columns_count_alone_and_further_columns_are_accepted(box):
    gold = "SELECT id, name FROM c ORDER BY id"
    assert _result(box, gold, "SELECT city, name FROM c ORDER BY id", condition_cols=[1])[0].value == 1.0
    assert _result(box, gold, "SELECT city, id FROM c ORDER BY id", condition_cols=[1])[0].value == 0.0
    with pytest.raises(DataError, match="numbers from 0 to 1 are expected"):
        _result(box, gold, "SELECT 1", condition_cols=[7])


def test_condition_columns_may_be_listed_gold_by_gold_or_as_text(box):
    golds = joined_golds(["SELECT id, name FROM c", "SELECT city, id FROM c"])
    for written in ([[0], [1]], "[[0], [1]]"):
        verdict = _result(box, golds, "SELECT name, city FROM c", condition_cols=written)[0]
        assert verdict.value == 0.0
    verdict = _result(box, golds, "SELECT city, name FROM c", condition_cols=[[0], [0]])[0]
    assert (verdict.value, verdict.detail["gold"]) == (1.0, 2)
    assert _result(box, "SELECT id, name FROM c", "SELECT name FROM c", condition_cols="[1]")[0].value == 1.0
    assert _result(box, golds, "SELECT name, id FROM c", condition_cols=[[]])[0].value == 1.0
    with pytest.raises(DataError, match="lists the columns of 3 queries, of 2"):
        _result(box, golds, "SELECT 1", condition_cols=[[0], [0], [0]])


def test_order_counts_also_where_further_columns_are_accepted(box):
    gold, other = "SELECT id, name FROM c ORDER BY id", "SELECT id, city FROM c ORDER BY id DESC"
    verdict = _result(box, gold, other, condition_cols=[0])[0]
    assert (verdict.value, verdict.reason.endswith("in another order")) == (0.0, True)
    assert _result(box, gold, other, condition_cols=[0], ignore_order=True)[0].value == 1.0


def test_order_does_not_count_where_the_dataset_says_so(box):
    gold, other = "SELECT id FROM c ORDER BY id", "SELECT id FROM c ORDER BY id DESC"
    assert _result(box, gold, other)[0].value == 0.0
    assert _result(box, gold, other, ignore_order=True)[0].value == 1.0


def test_check_says_where_golds_disagree_on_the_data():
    metadata = {"schema": SCHEMA}
    golds = joined_golds(["SELECT name FROM c", "SELECT name FROM c WHERE id < 3", "SELECT id FROM c"])
    findings = SqlResult().check_references([("line 1", Sample("a", "q", golds, metadata=metadata))])
    assert [(finding.kind, finding.message) for finding in findings] == [
        ("golds_disagree", "gold 1 and gold 2: 3 rows against 2")
    ]


def test_check_compares_golds_whose_columns_have_no_names_of_their_own():
    metadata = {"schema": SCHEMA}
    for other, agrees in (("sum(id) * 1.0 / count(id)", True), ("sum(id) / 2", False), ("id", False)):
        golds = joined_golds(["SELECT avg(id) FROM c", f"SELECT {other} FROM c LIMIT 1"])
        findings = SqlResult().check_references([("line 1", Sample("a", "q", golds, metadata=metadata))])
        assert ("golds_disagree" not in [finding.kind for finding in findings]) is agrees, other


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ([7], "condition_cols is [7]; numbers from 0 to 0 are expected"),
        ([[0], [1]], "condition_cols is [1]; numbers from 0 to 0 are expected"),
        ([[0], [0], [0]], "condition_cols lists the columns of 3 queries, of 2"),
    ],
)
def test_check_finds_columns_that_a_gold_does_not_have(named, message):
    golds = joined_golds(["SELECT name FROM c", "SELECT name FROM c ORDER BY name"])
    samples = [
        ("golds.jsonl:1", Sample("a", "q", golds, metadata={"schema": SCHEMA, "condition_cols": [[0], [0]]})),
        ("golds.jsonl:2", Sample("b", "q", golds, metadata={"schema": SCHEMA, "condition_cols": named})),
    ]
    [finding] = SqlResult().check_references(samples)
    assert (finding.kind, finding.is_error, finding.place) == ("columns_wrong", True, "golds.jsonl:2")
    assert finding.message == message


def test_semicolons_in_the_body_of_a_trigger_separate_no_golds():
    trigger = "CREATE TRIGGER t AFTER INSERT ON c BEGIN DELETE FROM c WHERE id = 1; UPDATE c SET id = 2; END"
    assert gold_queries(f"{trigger}; SELECT 1;", "sqlite") == (trigger, "SELECT 1")
