"""The suite `tables`, from files to stored scores."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from steelyard.building.build import Site, build
from steelyard.building.nodes import from_plain
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.scorers.tables import TableMetrics
from steelyard.suites.tables import PredictedColumn, TablesSuite
from steelyard.targets.replay import Replay
from steelyard.types import Output, Sample


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "databases"
    folder.mkdir()
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("CREATE TABLE goods (name TEXT)")
    connection.executemany("INSERT INTO goods VALUES (?)", [("tea",), ("rye",)])
    connection.commit()
    connection.close()
    rows = [
        {"id": "a", "db_id": "shop", "query": "SELECT name FROM goods", "good": "SELECT * FROM goods", "bad": "SELEC"},
        {"id": "b", "db_id": "shop", "query": "SELECT 1", "good": "SELECT 1", "bad": "DROP TABLE goods"},
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def suite_of(dataset, **options):
    given = {
        "samples": SampleFiles(dataset / "data.jsonl"),
        "databases": dataset / "databases",
        "task": "SP",
        "predictions": {"good": "good", "bad": "bad"},
    }
    return TablesSuite(**(given | options))


def accuracies(run):
    return [score.value for record in run.records() for score in record.scores if score.name == "execution_accuracy"]


def test_columns_of_predictions_are_targets(dataset):
    suite = suite_of(dataset).build()
    assert suite.targets == {"good": PredictedColumn("good"), "bad": PredictedColumn("bad")}
    assert (suite.kind, suite.name, suite.primary) == ("tables", "data", "execution_accuracy")
    assert suite.scorers == (TableMetrics(task="SP", databases=dataset / "databases"),)


def test_a_predicted_column_gives_the_cell_of_its_row():
    sample = Sample("1", "", metadata={"predictions": {"good": [[1]]}})
    assert PredictedColumn("good")(sample) == Output([[1]])


def test_two_systems_are_run_and_stored(dataset):
    before = (dataset / "databases" / "shop.sqlite").read_bytes()
    good, bad = evaluate_suite(suite_of(dataset).build(), how=RunConfig(store=dataset / "s.db"))
    assert (good.state, bad.state) == ("finished", "finished")
    assert (accuracies(good), accuracies(bad)) == ([1.0, 1.0], [0.0, 0.0])
    assert (dataset / "databases" / "shop.sqlite").read_bytes() == before


def test_predictions_of_a_file_are_replayed(dataset):
    (dataset / "out.jsonl").write_text(
        '{"id": "a", "output": "SELECT * FROM goods"}\n{"id": "b", "output": "SELECT 2"}', encoding="utf-8"
    )
    suite = suite_of(dataset, predictions={}, targets={"stored": Replay(dataset / "out.jsonl")}).build()
    (run,) = evaluate_suite(suite, how=RunConfig(store=dataset / "s.db"))
    assert accuracies(run) == [1.0, 0.0]


def test_scoring_keeps_its_rules_and_takes_the_suite_s_databases(dataset):
    scoring = TableMetrics(rules="qatch-1.0.36", metrics=("cell_recall",))
    suite = suite_of(dataset, scoring=scoring).build()
    assert suite.scorers == (
        TableMetrics(task="SP", rules="qatch-1.0.36", metrics=("cell_recall",), databases=dataset / "databases"),
    )
    assert suite.primary == "cell_recall"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predictions": {}}, "there is no target: name targets"),
        ({"targets": {"good": Replay(Path("x"))}}, "'good' is the name of a target as well"),
        ({"databases": Path("nowhere")}, "there is no folder nowhere"),
        ({"predictions": {"good": "god"}}, "did you mean 'good'"),
    ],
)
def test_what_cannot_be_run_is_refused(dataset, options, message):
    with pytest.raises(ConfigError, match=message):
        suite_of(dataset, **options).build()


def test_a_configuration_names_every_field(dataset):
    written = {
        "samples": {"file": "data.jsonl"},
        "databases": "databases",
        "task": "SP",
        "predictions": {"good": "good"},
        "scoring": {"rules": "qatch-docs", "metrics": ["cell_recall"], "limits": {"timeout_s": 5}},
    }
    suite = build(TablesSuite, from_plain(written, "tables.yaml"), Site(dataset)).build()
    scorer = suite.scorers[0]
    assert (scorer.rules, scorer.metrics, scorer.limits.timeout_s) == ("qatch-docs", ("cell_recall",), 5)
    assert scorer.databases == dataset / "databases"
