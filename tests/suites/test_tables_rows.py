"""Datasets of wanted tables: columns found, every defect named in one pass with its place."""

from __future__ import annotations

import json
import sqlite3

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.tables import load_tables, wanted


@pytest.fixture
def databases(tmp_path):
    folder = tmp_path / "databases"
    (folder / "shop").mkdir(parents=True)
    sqlite3.connect(folder / "shop" / "shop.sqlite").close()
    (folder / "shop" / "shop.sqlite").touch()
    return folder


def lines(tmp_path, rows, name="data.jsonl"):
    file = tmp_path / name
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def load(file, *, task="QA", databases=None, predictions=(), **options):
    return load_tables(SampleFiles(file, **options), task=task, databases=databases, predictions=predictions)


def test_rows_become_samples(tmp_path):
    file = lines(
        tmp_path, [{"id": "a", "question": "Who?", "target": [["Ann", 1]], "group": "people"}, {"target": '[["Bob"]]'}]
    )
    first, second = load(file).samples
    assert (first.id, first.input, first.reference, first.group) == ("a", "Who?", [["Ann", 1]], "people")
    assert (second.id, second.input, second.reference, second.metadata) == ("line:2", "", [["Bob"]], {"position": 1})


def test_a_cluster_is_read_and_holds_the_question_that_others_paraphrase(tmp_path):
    rows = [
        {"id": "a", "question": "Who?", "target": [["Ann"]], "paraphrase_of": None},
        {"id": "b", "question": "Which person?", "target": [["Ann"]], "paraphrase_of": "a"},
        {"question": "Where?", "target": [["Bern"]]},
    ]
    data = load(lines(tmp_path, rows))
    assert [sample.cluster for sample in data.samples] == ["a", "a", ""]
    assert data.mapping["cluster"] == "paraphrase_of"


def test_the_columns_of_a_frame_for_qatch_are_found(tmp_path, databases):
    file = lines(tmp_path, [{"db_id": "shop", "question": "How many?", "query": "SELECT 1"}])
    data = load(file, task="SP", databases=databases)
    assert data.mapping == {"target": "query", "db_id": "db_id", "question": "question"}
    assert data.samples[0].metadata == {"db_id": "shop", "position": 0}
    assert data.samples[0].reference == "SELECT 1"


def test_a_question_called_query_beside_its_sql_is_the_question(tmp_path, databases):
    file = lines(tmp_path, [{"db_id": "shop", "query": "How many?", "sql": "SELECT 1"}])
    sample = load(file, task="SP", databases=databases).samples[0]
    assert (sample.input, sample.reference) == ("How many?", "SELECT 1")


def test_a_sheet_of_text_is_read(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text('question,target\nWho?,"[[""Ann"", 1]]"\n\nWhat?,"[[2]]"\n', encoding="utf-8")
    samples = load(file).samples
    assert [sample.reference for sample in samples] == [[["Ann", 1]], [[2]]]
    assert [sample.input for sample in samples] == ["Who?", "What?"]


def test_a_list_of_objects_is_read(tmp_path):
    file = tmp_path / "data.json"
    file.write_text(json.dumps([{"target": {"columns": ["n"], "rows": [[1]]}}]), encoding="utf-8")
    assert load(file).samples[0].reference == [[1]]


def test_columns_can_be_named(tmp_path):
    file = lines(tmp_path, [{"q": "Who?", "expected rows": [[1]]}])
    sample = load(file, columns={"question": "q", "target": "expected rows"}).samples[0]
    assert (sample.input, sample.reference) == ("Who?", [[1]])


def test_positions_count_rows_that_are_left_out(tmp_path):
    file = lines(tmp_path, [{"target": [[1]]}, {"target": ""}, {"target": [[3]]}])
    assert [sample.metadata["position"] for sample in load(file, skip_bad=True).samples] == [0, 2]


def test_predictions_stand_beside_their_sample(tmp_path):
    file = lines(tmp_path, [{"target": [[1]], "small": [[1]], "large": None}, {"target": [[2]], "small": "none"}])
    samples = load(file, predictions=("small", "large")).samples
    assert samples[0].metadata == {"position": 0, "predictions": {"small": [[1]], "large": None}}
    assert samples[1].metadata == {"position": 1, "predictions": {"small": "none", "large": None}}


def test_an_unknown_column_of_predictions_is_refused(tmp_path):
    file = lines(tmp_path, [{"target": [[1]], "small": [[1]]}])
    with pytest.raises(ConfigError, match=r"has no column 'smal': did you mean 'small'\?"):
        load(file, predictions=("smal",))


def test_a_file_without_a_target_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no column for target"):
        load(lines(tmp_path, [{"question": "Who?"}]))


def test_every_defect_is_named_with_its_place(tmp_path, databases):
    rows = [
        {"id": "a", "target": [[1]]},
        {"id": "b", "target": ""},
        {"id": "c", "target": "[[1"},
        {"id": "d", "target": [1, 2]},
        {"id": "e", "target": "SELECT 1"},
        {"id": "f", "target": "SELECT 1", "db_id": "shp"},
        {"id": "a", "target": [[2]]},
        {"id": "g", "target": {"a": 1}},
    ]
    with pytest.raises(DataError) as caught:
        load(lines(tmp_path, rows), databases=databases)
    assert [str(defect) for defect in caught.value.defects] == [
        "data.jsonl line 2 key target: the target is blank",
        "data.jsonl line 3 key target: the target begins like a table but is neither JSON nor a Python list",
        "data.jsonl line 4 key target: the target is not a list of rows: '[1, 2]'",
        "data.jsonl line 5 key db_id: the target is SQL: a column db_id has to name its database",
        "data.jsonl line 6 key db_id: there is no database 'shp': did you mean 'shop'?",
        "data.jsonl line 7 key id: the same id as data.jsonl line 1 key id: 'a'",
        "data.jsonl line 8 key target: the target is not a list of rows: an object without rows",
    ]


def test_bad_rows_can_be_left_out_and_are_counted(tmp_path):
    data = load(lines(tmp_path, [{"target": [[1]]}, {"target": None}, {"target": [[3]]}]), skip_bad=True)
    assert [sample.id for sample in data.samples] == ["line:1", "line:3"]
    assert data.notes == ("1 row with a defect was left out (skip_bad)",)


def test_a_dataset_without_a_sound_row_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no valid row"):
        load(lines(tmp_path, [{"target": None}]), skip_bad=True)


def test_sql_without_databases_is_a_defect(tmp_path):
    with pytest.raises(DataError, match="name the folder of its databases"):
        load(lines(tmp_path, [{"target": "SELECT 1", "db_id": "shop"}]))


def test_task_sp_takes_sql_alone(tmp_path, databases):
    with pytest.raises(DataError, match="task SP needs SQL as target"):
        load(lines(tmp_path, [{"target": [[1]], "db_id": "shop"}]), task="SP", databases=databases)


def test_a_subset_is_of_sound_rows(tmp_path):
    file = lines(tmp_path, [{"target": [[number]]} for number in range(5)])
    assert [sample.reference for sample in load(file, last=2).samples] == [[[3]], [[4]]]
    assert load(file, first=9).notes == ("9 samples were requested, but there are only 5",)


def test_ids_of_two_files_are_told_apart(tmp_path):
    files = (lines(tmp_path, [{"target": [[1]]}], "a.jsonl"), lines(tmp_path, [{"target": [[2]]}], "b.jsonl"))
    assert [sample.id for sample in load(files).samples] == ["a.jsonl line:1", "b.jsonl line:1"]


def test_an_empty_table_is_a_target(tmp_path):
    assert load(lines(tmp_path, [{"target": []}])).samples[0].reference == []


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan")])
def test_a_blank_target_is_none(cell):
    assert wanted(cell, "QA").problem == "the target is blank"
