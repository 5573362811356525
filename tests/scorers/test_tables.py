"""TableMetrics: who is to blame decides where a score goes."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard import evaluate
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import check_parts
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.scores import scores_section
from steelyard.scorers.tables import TableMetrics
from steelyard.sql.results import SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.tables import ALL_METRICS
from steelyard.types import Output, Sample

TABLE = [["tea", 1], ["rye", 2]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("CREATE TABLE goods (name TEXT, price INTEGER)")
    connection.executemany("INSERT INTO goods VALUES (?, ?)", [("tea", 1), ("rye", 2)])
    connection.commit()
    connection.close()
    return folder


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


def score(sandbox, reference, value, *, scorer=None, **metadata):
    sample = Sample("1", "", reference, metadata={"db_id": "shop"})
    given = asyncio.run((scorer or TableMetrics())(sample, Output(value, metadata=metadata), sandbox))
    return {one.name: one for one in given}


def main_of(rules):
    return next(info.name for info in TableMetrics(rules=rules).score_infos if info.headline)


def names_of(scorer):
    return tuple(info.name for info in scorer.score_infos)


def sp(folder, **options):
    return TableMetrics(task="SP", databases=folder, **options)


def values(scores):
    return {name: one.value for name, one in scores.items()}


def test_a_table_gets_every_score_that_is_announced(sandbox):
    scored = score(sandbox, TABLE, TABLE)
    assert tuple(scored) == names_of(TableMetrics()) == ALL_METRICS
    assert values(scored) == dict.fromkeys(ALL_METRICS, 1.0)
    assert {one.outcome for one in scored.values()} == {"scored"}


@pytest.mark.parametrize(
    "value",
    [
        json.dumps(TABLE),
        f"The answer:\n\n```json\n{json.dumps(TABLE)}\n```\nDone.",
        f"```\n{json.dumps(TABLE)}\n```\nOnce more:\n```json\n{json.dumps(TABLE)}\n```",
        {"columns": ["name", "price"], "rows": TABLE},
        json.dumps({"columns": ["name", "price"], "rows": TABLE}),
        [{"name": "tea", "price": 1}, {"price": 2, "name": "rye"}],
        str(TABLE),
        [tuple(row) for row in TABLE],
    ],
)
def test_every_form_of_a_table_is_read(sandbox, value):
    assert score(sandbox, TABLE, value)["execution_accuracy"].value == 1.0


@pytest.mark.parametrize("reference", [TABLE, json.dumps(TABLE), {"columns": ["name", "price"], "rows": TABLE}])
def test_every_form_of_a_reference_is_read(sandbox, reference):
    assert score(sandbox, reference, TABLE)["execution_accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("I do not know.", "no_table"),
        ("", "empty"),
        (None, "empty"),
        ("42", "no_table"),
        (42, "no_table"),
        ("[[1, 2", "no_table"),
        ("[" * 50_000, "no_table"),
        ({"answer": 1}, "no_table"),
        ("[1, 2]", "wrong_shape"),
        ([[1], None], "wrong_shape"),
        ([[1, 2], [3]], "wrong_shape"),
        ([[[1]], [[2]]], "wrong_shape"),
        ([[]], "wrong_shape"),
        ("```\n[[1]]\n```\n```\n[[2]]\n```", "several"),
    ],
)
def test_output_that_is_no_table_is_unparsed_with_its_kind(sandbox, value, kind):
    scored = score(sandbox, TABLE, value)
    assert {one.outcome for one in scored.values()} == {"unparsed"}
    assert {one.detail["kind"] for one in scored.values()} == {kind}
    assert scored["execution_accuracy"].detail["label"] == "unparsed"


def test_a_reply_that_was_cut_off_is_truncated(sandbox):
    assert score(sandbox, TABLE, "[[1, 2", finish="length")["cell_recall"].detail["kind"] == "truncated"


def test_a_filtered_reply_is_refused(sandbox):
    assert score(sandbox, TABLE, "", finish="content_filter")["cell_recall"].outcome == "refused"
    assert score(sandbox, TABLE, "I cannot help with that.", finish="refusal")["cell_recall"].outcome == "refused"


@pytest.mark.parametrize("reference", [None, "", float("nan")])
def test_nothing_applies_without_a_reference(sandbox, reference):
    scored = score(sandbox, reference, TABLE)
    assert {(one.outcome, one.reason) for one in scored.values()} == {("not_applicable", "the sample has no reference")}


@pytest.mark.parametrize("reference", [["flat"], {"a": 1}, "[[1", 7])
def test_nothing_applies_where_the_reference_is_no_table(sandbox, reference):
    scored = score(sandbox, reference, TABLE)
    assert {one.outcome for one in scored.values()} == {"not_applicable"}


def test_two_tables_without_rows_are_equal_and_flagged(sandbox):
    scored = score(sandbox, [], "[]")
    assert scored["execution_accuracy"].value == 1.0
    assert scored["execution_accuracy"].detail["flags"] == ["both_empty"]
    assert scored["execution_accuracy"].detail["label"] == "both empty"


def test_execution_accuracy_has_the_label_of_the_verdict(sandbox):
    assert score(sandbox, TABLE, TABLE)["execution_accuracy"].detail["label"] == "same"
    scored = score(sandbox, TABLE, [["tea", 2]])
    assert scored["execution_accuracy"].detail["label"] == "rows differ"
    assert "label" not in scored["cell_recall"].detail


def test_only_execution_accuracy_passes_or_fails(sandbox):
    scored = score(sandbox, TABLE, TABLE)
    assert [name for name, one in scored.items() if one.passed is not None] == ["execution_accuracy"]


def test_order_is_in_minus_one_to_one_with_its_unit_beside_it(sandbox):
    found = values(score(sandbox, TABLE, TABLE[::-1]))
    assert (found["tuple_order"], found["tuple_order_unit"]) == (-1.0, 0.0)


def test_a_reference_that_is_sql_is_run(sandbox, folder):
    scorer = TableMetrics(databases=folder)
    scored = score(sandbox, "SELECT * FROM goods", TABLE, scorer=scorer)
    assert scored["execution_accuracy"].value == 1.0
    assert scored["tuple_order"].outcome == "not_applicable"
    assert score(sandbox, "SELECT * FROM goods ORDER BY price", TABLE, scorer=scorer)["tuple_order"].value == 1.0


def test_a_reference_that_is_sql_needs_databases(sandbox):
    scored = score(sandbox, "SELECT * FROM goods", TABLE)
    assert {one.outcome for one in scored.values()} == {"not_applicable"}
    assert "no databases" in scored["cell_recall"].reason


def test_predicted_sql_is_weighed_by_its_result(sandbox, folder):
    scored = score(sandbox, "SELECT name, price FROM goods", "SELECT name FROM goods", scorer=sp(folder))
    assert scored["cell_precision"].value == 1.0
    assert scored["cell_recall"].value == 0.5
    assert scored["cell_recall"].detail["columns"] == {"sql": "SELECT name FROM goods"}


@pytest.mark.parametrize(
    "value", ["```sql\nSELECT name FROM goods\n```", {"sql": "SELECT name FROM goods"}, " SELECT name FROM goods;\n"]
)
def test_every_form_of_sql_is_read(sandbox, folder, value):
    assert score(sandbox, "SELECT name FROM goods", value, scorer=sp(folder))["execution_accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT nothing FROM goods", "error"),
        ("DROP TABLE goods", "denied"),
        ("SELECT 1; SELECT 2", "denied"),
        ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r", "timeout"),
        ("SELECT a.name FROM goods a, goods b, goods c", "too_large"),
    ],
)
def test_sql_that_has_no_result_is_scored_zero_with_the_reason(sandbox, folder, query, kind):
    scorer = sp(folder, limits=SqlLimits(timeout_s=0.3, max_rows=5))
    before = (folder / "shop.sqlite").read_bytes()
    scored = score(sandbox, "SELECT name FROM goods ORDER BY name", query, scorer=scorer)
    assert values(scored) == dict.fromkeys(ALL_METRICS, 0.0)
    assert scored["execution_accuracy"].detail["kind"] == kind
    assert scored["execution_accuracy"].detail["label"] == f"SQL failed: {kind}"
    assert scored["cell_recall"].reason.startswith("the prediction cannot be run: ")
    assert (folder / "shop.sqlite").read_bytes() == before


FEW = SqlLimits(max_cells=1000)
WIDE = [[""] * 100] * 11
DEEP = [[list(range(1001)), 1]]


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", "qatch-1.0.36"])
@pytest.mark.parametrize("large", [WIDE, DEEP, json.dumps(WIDE)], ids=["wide", "deep", "text"])
def test_a_predicted_table_of_too_many_cells_is_zero_with_the_reason(sandbox, rules, large):
    metrics = ("cell_precision", "tuple_cardinality", "tuple_order")
    scorer = TableMetrics(limits=FEW, rules=rules, metrics=metrics)
    scored = score(sandbox, TABLE, large, scorer=scorer)
    assert [scored[name].value for name in ("cell_precision", "tuple_cardinality")] == [0.0, 0.0]
    assert scored["cell_precision"].reason == "the prediction is too large: more than 1,000 cells"
    assert scored["cell_precision"].detail == {"kind": "too_large", "label": "too large"}


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", "qatch-1.0.36"])
@pytest.mark.parametrize("prediction", [TABLE, WIDE])
def test_a_wanted_table_of_too_many_cells_leaves_nothing_to_compare(sandbox, rules, prediction):
    scored = score(sandbox, WIDE, prediction, scorer=TableMetrics(limits=FEW, rules=rules))
    assert {(one.value, one.outcome) for one in scored.values()} == {(None, "not_applicable")}
    assert scored["cell_recall"].reason == "the expected table is too large to compare: more than 1,000 cells"
    assert scored[main_of(rules)].detail == {"kind": "too_large", "label": "not compared", "lacks": "a comparison"}


def test_a_wanted_query_whose_result_is_too_large_leaves_nothing_to_compare(sandbox, folder):
    scorer = sp(folder, limits=SqlLimits(max_cells=7), rules="qatch-docs")
    scored = score(sandbox, "SELECT * FROM goods a, goods b", "SELECT name FROM goods", scorer=scorer)
    assert {(one.value, one.detail.get("label", "")) for one in scored.values()} >= {(None, "not compared")}
    assert set(values(scored).values()) == {None}


def test_a_text_of_a_table_that_would_take_much_room_is_not_read(sandbox):
    scored = score(sandbox, TABLE, f"[{'[],' * 5000}[]]", scorer=TableMetrics(limits=FEW))
    assert set(values(scored).values()) == {0.0}
    assert scored["cell_recall"].reason == "the prediction is too large: more than 1,000 cells"
    many_commas = score(sandbox, TABLE, json.dumps([[",[" * 1900, 1]]), scorer=TableMetrics(limits=FEW))
    assert many_commas["tuple_cardinality"].value == 0.5


def test_a_reply_longer_than_any_result_is_not_read(sandbox):
    scored = score(sandbox, TABLE, "[[1]]" + " " * 2000, scorer=TableMetrics(limits=SqlLimits(max_bytes=1000)))
    assert set(values(scored).values()) == {0.0}
    assert scored["cell_recall"].reason == "the prediction is too large: more than 1,000 characters"


@pytest.mark.parametrize("rules", ["steelyard", "qatch-docs", "qatch-1.0.36"])
def test_a_comparison_of_tables_that_takes_too_long_says_nothing_of_the_target(sandbox, rules):
    wanted = [[number, f"row {number}", number + 0.25] for number in range(30_000)]
    scorer = TableMetrics(rules=rules, limits=SqlLimits(compare_timeout_s=0.05))
    scored = score(sandbox, wanted, [[row[1], row[0] + 1, row[2]] for row in wanted], scorer=scorer)
    assert {one.outcome for one in scored.values()} == {"not_applicable"}
    assert scored[main_of(rules)].detail == {"kind": "timeout", "label": "not compared", "lacks": "a comparison"}
    assert "more than 0.05 s of CPU time" in scored["execution_accuracy"].reason


def test_failing_sql_has_no_order_where_none_is_wanted(sandbox, folder):
    scored = score(sandbox, "SELECT name FROM goods", "SELECT nam", scorer=sp(folder))
    assert {name for name, one in scored.items() if one.outcome == "not_applicable"} == {
        "tuple_order",
        "tuple_order_unit",
    }


def test_nothing_applies_where_the_reference_cannot_be_run(sandbox, folder):
    for query in ("SELECT nam FROM goods", "SELECT name FROM goods"):
        scored = score(sandbox, "SELECT nam FROM goods", query, scorer=sp(folder))
        assert {one.outcome for one in scored.values()} == {"not_applicable"}
        assert scored["cell_recall"].reason == "the target cannot be run: no such column: nam"
        assert scored["execution_accuracy"].detail["label"] == "not applicable"


@pytest.mark.parametrize("value", [None, ""])
def test_output_without_sql_is_unparsed(sandbox, folder, value):
    assert score(sandbox, "SELECT 1", value, scorer=sp(folder))["cell_recall"].outcome == "unparsed"


def test_two_different_queries_are_unparsed(sandbox, folder):
    scored = score(sandbox, "SELECT 1", "```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", scorer=sp(folder))
    assert scored["cell_recall"].detail["kind"] == "several"


@pytest.mark.parametrize(
    "reply",
    ["SELECT name FROM goods", '{"sql": "SELECT name FROM goods"}', "So:\n```sql\nSELECT name FROM goods\n```"],
)
def test_sql_is_read_of_every_form_that_a_prompt_may_ask_for(sandbox, folder, reply):
    scored = score(sandbox, "SELECT name, price FROM goods", reply, scorer=sp(folder))
    assert (scored["cell_precision"].value, scored["cell_recall"].value) == (1.0, 0.5)


def test_a_reply_that_holds_no_sql_is_wrong_and_not_run(sandbox, folder):
    scored = score(sandbox, "SELECT name FROM goods", "SELECT name FROM goods", scorer=sp(folder, form="sql_json"))
    assert (scored["cell_recall"].value, scored["execution_accuracy"].detail["label"]) == (0.0, "format incorrect")
    assert scored["cell_recall"].reason.startswith("the prediction cannot be read: no JSON object in it")


def test_sql_runs_on_the_schema_of_a_sample_without_a_folder_of_databases(sandbox):
    script = "CREATE TABLE goods (name TEXT, price REAL); INSERT INTO goods VALUES ('tea', 2.5)"
    sample = Sample("1", "", "SELECT name, price FROM goods", metadata={"schema": script, "db_id": ""})
    scores = asyncio.run(TableMetrics(task="SP")(sample, Output("SELECT name FROM goods"), sandbox))
    assert {one.name: one.value for one in scores}["cell_recall"] == 0.5
    scores = asyncio.run(TableMetrics(task="SP")(replace(sample, metadata={}), Output("SELECT 1"), sandbox))
    assert {one.outcome for one in scores} == {"not_applicable"}


def test_compatible_rules_take_equal_texts_for_equal(sandbox, folder):
    broken = "SELECT nam FROM goods"
    scored = score(sandbox, broken, broken, scorer=sp(folder, rules="qatch-1.0.36"))
    assert scored["execution_accuracy"].value == 1.0
    assert scored["tuple_order"].outcome == "not_applicable"


def test_an_unknown_database_is_a_mistake_not_a_score(sandbox, folder):
    sample = Sample("1", "", "SELECT 1", metadata={"db_id": "shp"})
    with pytest.raises(ConfigError, match=r"did you mean 'shop'\?"):
        asyncio.run(sp(folder)(sample, Output("SELECT 1"), sandbox))


@pytest.mark.parametrize(("rules", "main"), [("qatch-docs", "cell_precision"), ("qatch-1.0.36", "execution_accuracy")])
def test_the_headline_is_a_score_that_the_rules_have(sandbox, rules, main):
    scorer = TableMetrics(rules=rules)
    assert [info.name for info in scorer.score_infos if info.headline] == [main]
    scores = score(sandbox, TABLE, TABLE, scorer=scorer)
    assert list(scores) == list(names_of(scorer))
    assert scores[main].value == 1


def test_only_the_metrics_asked_for_are_given(sandbox):
    scorer = TableMetrics(metrics=("cell_recall", "tuple_cardinality"))
    assert names_of(scorer) == ("cell_recall", "tuple_cardinality")
    assert [info.name for info in scorer.score_infos if info.named_verdicts] == ["cell_recall"]
    assert list(score(sandbox, TABLE, TABLE, scorer=scorer)) == ["cell_recall", "tuple_cardinality"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "QS"}, "task: expected QA or SP, but got 'QS'"),
        ({"rules": "qatch-doc"}, "did you mean 'qatch-docs'"),
        ({"metrics": ("cell_recal",)}, "did you mean 'cell_recall'"),
        ({"metrics": ("cell_recall", "cell_recall")}, "twice"),
        ({"limits": SqlLimits(timeout_s=0)}, "timeout_s"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        check_parts(TableMetrics(**options))


def test_databases_are_looked_at_before_anything_is_asked(sandbox, folder, tmp_path):
    sp(folder).prepare(sandbox)
    TableMetrics().prepare(sandbox)
    TableMetrics(task="SP").prepare(sandbox)
    with pytest.raises(ConfigError, match="there is no folder"):
        sp(tmp_path / "nowhere").prepare(sandbox)
    with pytest.raises(ConfigError, match="holds no database"):
        sp(tmp_path).prepare(sandbox)


def test_a_refused_engine_is_told_before_anything_is_asked(tmp_path):
    (tmp_path / "one.duckdb").write_bytes(b"\0" * 8 + b"DUCK")

    class Refusing(Sandbox):
        def check(self, engine):
            raise ConfigError(f"{engine} cannot be held here")

    with pytest.raises(ConfigError, match="duckdb cannot be held here"):
        sp(tmp_path).prepare(Refusing())


def test_a_large_table_is_weighed_while_others_go_on(sandbox):
    table = [[number, str(number)] for number in range(20_000)]

    async def both():
        running = asyncio.ensure_future(TableMetrics()(Sample("1", "", table), Output(table[::-1]), sandbox))
        turns = 0
        while not running.done():
            await asyncio.sleep(0)
            turns += 1
        return running.result(), turns

    scores, turns = asyncio.run(both())
    assert {one.name: one.value for one in scores}["tuple_order"] == -1.0
    assert turns > 3


def test_the_scorer_is_a_value():
    assert TableMetrics(databases=Path("a")) == TableMetrics(databases=Path("a"))
    assert hash(TableMetrics()) == hash(TableMetrics())


def order_run(tmp_path):
    """Eight ordered tables: six in order, one reversed, one reply without a table."""
    rows = [[number] for number in range(5)]
    replies = {str(number): rows for number in range(6)} | {"6": rows[::-1], "7": "no table"}
    samples = [Sample(name, "?", rows) for name in replies]
    return evaluate(lambda asked: replies[asked.id], samples, [TableMetrics()], store=tmp_path / "steelyard.db")


def test_intervals_and_bounds_of_the_order_stay_on_its_declared_scale(tmp_path):
    summary = order_run(tmp_path).summary()
    order, unit = summary.score("tuple_order"), summary.score("tuple_order_unit")
    assert (order.scale, unit.scale) == ((-1.0, 1.0), None)
    assert order.headline.value == pytest.approx(5 / 7)
    assert -1 <= order.headline.interval.low < order.headline.interval.high <= 1
    # The one reply without a table is worth -1 to 1: (5 - 1) / 8 and (5 + 1) / 8.
    assert order.missing_bounds == (0.5, 0.75)
    assert unit.missing_bounds == (6 / 8, 7 / 8)


def test_a_chart_has_the_order_on_its_own_axis(tmp_path):
    summary = order_run(tmp_path).summary()
    charts = [section.chart for section in scores_section(PageRuns([summary], ["run"])).parts if section.chart]
    [chart] = [chart for chart in charts if chart.domain == (-1.0, 1.0)]
    assert chart.rows == ("Tuple order",)
    [point] = chart.points
    assert point.value == pytest.approx(5 / 7)
    assert point.high == 1


def test_given_rows_in_another_order_are_said_to_be_so(tmp_path):
    labels = order_run(tmp_path).summary().details.labels["execution_accuracy"]
    assert labels == {"same": 6, "same, other order": 1, "unparsed": 1}
