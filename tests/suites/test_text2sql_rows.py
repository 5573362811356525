"""Text-to-SQL datasets as they are published: which columns, which database, and every defect in one pass."""

import json
import sqlite3

import openpyxl
import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.text2sql.rows import load_text2sql


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), encoding="utf-8")
    return path


def database(path, *statements):
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as opened:
        for statement in statements or ("CREATE TABLE singer (name TEXT)",):
            opened.execute(statement)
    opened.close()


@pytest.fixture
def folder(tmp_path):
    database(tmp_path / "dbs/concert/concert.sqlite")
    database(tmp_path / "dbs/world.db", "CREATE TABLE country (code TEXT PRIMARY KEY, name)")
    return tmp_path / "dbs"


def loaded(path, databases=None, **keys):
    return load_text2sql(SampleFiles(path, **keys), databases=databases)


def samples(path, databases=None, **keys):
    return list(loaded(path, databases, **keys).samples)


def defects_of(path, databases=None):
    with pytest.raises(DataError) as caught:
        loaded(path, databases)
    return list(caught.value.defects)


def test_a_cluster_is_read_and_holds_the_question_that_others_paraphrase(tmp_path):
    path = written(
        tmp_path / "a.csv",
        "id,question,sql,paraphrase of\nq1,How many?,SELECT 1,\nq2,What number?,SELECT 1,q1\n,Which?,SELECT 2,\n",
    )
    assert [sample.cluster for sample in samples(path)] == ["q1", "q1", ""]
    assert [sample.cluster for sample in samples(path, last=2)] == ["q1", ""]


def test_messages_beside_the_question_are_no_defect(tmp_path):
    row = {"question": "How many?", "sql": "SELECT 1", "conversation": [{"role": "user", "content": "Hello"}]}
    assert [sample.input for sample in samples(written(tmp_path / "a.json", [row]))] == ["How many?"]


def test_a_create_context_row_brings_its_schema(tmp_path):
    row = {"question": "How many?", "context": "CREATE TABLE head (age INTEGER)", "answer": "SELECT COUNT(*) FROM head"}
    (sample,) = samples(written(tmp_path / "a.json", [row]))
    assert (sample.id, sample.input, sample.reference) == ("entry:1", "How many?", "SELECT COUNT(*) FROM head")
    assert sample.metadata == {
        "schema": "CREATE TABLE head (age INTEGER)",
        "db_id": "",
        "evidence": "",
        "dialect": "SQLite",
        "position": 0,
    }


def test_spiders_parsed_query_is_not_taken_for_the_sql(tmp_path, folder):
    row = {
        "db_id": "concert",
        "query": "SELECT count(*) FROM singer",
        "query_toks": ["SELECT", "count", "(", "*", ")"],
        "question": "How many singers are there?",
        "question_toks": ["How", "many"],
        "sql": {"from": {"conds": []}, "select": [False, [[3, [0, [0, 0, False], None]]]]},
    }
    data = loaded(written(tmp_path / "dev.json", [row, row]), folder)
    first, second = data.samples
    assert (first.reference, first.input) == ("SELECT count(*) FROM singer", "How many singers are there?")
    assert first.metadata["schema"] == "CREATE TABLE singer (name TEXT);"
    assert (first.id, second.id, second.metadata["position"]) == ("entry:1", "entry:2", 1)
    assert data.mapping["sql"] == "query"
    assert (data.databases, data.comparable) == ({"concert": 2}, False)
    database(folder / "concert/concert.sqlite", "INSERT INTO singer VALUES ('Ann')")
    assert loaded(tmp_path / "dev.json", folder).comparable


def test_birds_evidence_difficulty_and_id_are_kept(tmp_path, folder):
    row = {
        "question_id": 0,
        "db_id": "world",
        "question": "Which codes?",
        "evidence": "codes refers to code",
        "SQL": "SELECT code FROM country",
        "difficulty": "simple",
    }
    (sample,) = samples(written(tmp_path / "dev.json", [row]), folder)
    assert (sample.id, sample.group, sample.reference) == ("0", "simple", "SELECT code FROM country")
    assert sample.metadata["evidence"] == "codes refers to code"
    assert "code TEXT PRIMARY KEY" in sample.metadata["schema"]


def test_gold_lines_need_no_question_and_blank_lines_keep_the_count(tmp_path, folder):
    path = written(tmp_path / "gold.sql", "SELECT 1\tconcert\n\nSELECT 2\tworld\n")
    first, second = samples(path, folder)
    assert (first.id, first.input, first.reference) == ("line:1", "", "SELECT 1")
    assert (second.id, second.metadata["db_id"], second.metadata["position"]) == ("line:3", "world", 2)


def test_chinese_headers_of_a_sheet_are_known(tmp_path):
    book = openpyxl.Workbook()
    for row in (
        ["编号", "问题", "建表语句", "标准SQL", "难度"],
        ["q1", "有几位歌手？", "CREATE TABLE 歌手 (姓名 TEXT)", "SELECT COUNT(*) FROM 歌手", "简单"],
    ):
        book.active.append(row)
    book.save(tmp_path / "题.xlsx")
    (sample,) = samples(tmp_path / "题.xlsx")
    assert (sample.id, sample.input, sample.group) == ("q1", "有几位歌手？", "简单")
    assert sample.reference == "SELECT COUNT(*) FROM 歌手"
    assert sample.metadata["schema"] == "CREATE TABLE 歌手 (姓名 TEXT)"


@pytest.mark.parametrize(
    ("row", "question", "sql"),
    [
        ({"query": "How many?", "sql": "SELECT 1"}, "How many?", "SELECT 1"),
        ({"sql_prompt": "How many?", "sql": "SELECT 1", "sql_context": "CREATE TABLE t (a)"}, "How many?", "SELECT 1"),
        ({"instruction": "How many?", "response": "SELECT 1"}, "How many?", "SELECT 1"),
        ({"问题": "几个？", "SQL语句": "SELECT 1"}, "几个？", "SELECT 1"),
        ({"question": "How many?", "sql": "SELECT 1", "answer": "12"}, "How many?", "SELECT 1"),
    ],
)
def test_other_names_of_columns_are_told_apart(tmp_path, row, question, sql):
    (sample,) = samples(written(tmp_path / "a.jsonl", json.dumps(row, ensure_ascii=False)))
    assert (sample.input, sample.reference) == (question, sql)


def test_columns_can_be_named(tmp_path):
    path = written(tmp_path / "a.csv", "x,y\nHow many?,SELECT 1\n")
    (sample,) = samples(path, columns={"question": "x", "sql": "y"})
    assert (sample.input, sample.reference) == ("How many?", "SELECT 1")
    with pytest.raises(ConfigError, match=r"no column for sql and question; .*columns: \{sql: A, question: B\}"):
        loaded(path)
    with pytest.raises(ConfigError, match=r"no role 'shema'.* did you mean 'schema'"):
        loaded(path, columns={"shema": "x"})


def test_a_schema_may_be_a_list_of_statements(tmp_path):
    row = {"question": "q", "sql": "SELECT 1", "schema": ["CREATE TABLE a (x)", "CREATE TABLE b (y);"]}
    (sample,) = samples(written(tmp_path / "a.json", [row]))
    assert sample.metadata["schema"] == "CREATE TABLE a (x);\nCREATE TABLE b (y);"


def test_a_list_of_sql_is_several_right_answers(tmp_path):
    row = {"question": "q", "sql": ["SELECT 1;", "SELECT 2"], "schema": "CREATE TABLE a (x)"}
    (sample,) = samples(written(tmp_path / "a.json", [row]))
    assert sample.reference == "SELECT 1\n;\nSELECT 2"


def test_every_defect_is_found_in_one_pass_with_its_place(tmp_path, folder):
    sound = {"id": 1, "question": "q", "sql": "SELECT 1", "db_id": "concert"}
    rows = [
        sound,
        {**sound, "id": 2, "question": " "},
        {**sound, "id": 3, "sql": ""},
        {**sound, "id": 4, "db_id": "concerts"},
        {**sound, "id": 5, "db_id": "../dbs/concert"},
        {**sound, "id": 6, "db_id": ""},
        {**sound, "id": 1},
        {**sound, "id": 8, "sql": {"query": "SELECT 1"}},
        {**sound, "id": 9, "schema": {"a": 1}},
        {**sound, "id": 10, "schema": "CREATE TABLE t (a)"},
    ]
    path = written(tmp_path / "a.json", rows)
    assert defects_of(path, folder) == [
        "a.json entry 2 key question: the question is blank",
        "a.json entry 3 key sql: the SQL is blank",
        "a.json entry 4 key db_id: there is no database 'concerts': did you mean 'concert'?",
        "a.json entry 5 key db_id: there is no database '../dbs/concert': did you mean 'concert'?",
        "a.json entry 6 key db_id: it names no database and has no schema, so its SQL cannot be run",
        "a.json entry 7 key id: the same id as a.json entry 1 key id: '1'",
        "a.json entry 8 key sql: sql is an object, not a text",
        "a.json entry 9 key schema: schema is an object, not a text",
    ]
    data = loaded(path, folder, skip_bad=True)
    assert (len(data), len(data.defects)) == (2, 8)
    assert [sample.metadata["position"] for sample in data.samples] == [0, 9]


def test_a_row_with_its_own_schema_needs_no_database(tmp_path, folder):
    row = {"question": "q", "sql": "SELECT 1", "db_id": "", "schema": "CREATE TABLE t (a)"}
    (sample,) = samples(written(tmp_path / "a.json", [row]), folder)
    assert sample.metadata["schema"] == "CREATE TABLE t (a)"


def test_a_dataset_without_a_column_of_databases_is_refused_once_and_not_row_by_row(tmp_path, folder):
    rows = [{"question": f"q{no}", "sql": "SELECT 1", "dbx": "concert"} for no in range(3)]
    with pytest.raises(ConfigError, match=r"a.json: no column names a database.*question, sql, dbx.*columns: \{db_id"):
        loaded(written(tmp_path / "a.json", rows), folder)
    assert len(loaded(tmp_path / "a.json", folder, columns={"db_id": "dbx"})) == 3
    assert len(loaded(tmp_path / "a.json")) == 3


def test_a_comma_that_is_not_in_quotes_is_a_defect(tmp_path):
    path = written(tmp_path / "a.csv", "question,sql\nq,SELECT a, b FROM t\nq,SELECT a\n")
    assert defects_of(path) == ["a.csv line 2: 3 cells where 2 were expected; is a cell with a comma not in quotes?"]


def test_samples_are_selected_without_moving_their_places(tmp_path):
    rows = [{"question": f"q{no}", "sql": f"SELECT {no}"} for no in range(20)]
    path = written(tmp_path / "a.json", rows)
    assert [sample.input for sample in samples(path, first=2)] == ["q0", "q1"]
    assert [sample.metadata["position"] for sample in samples(path, last=2)] == [18, 19]
    drawn = samples(path, random=5, seed=3)
    assert [entry.input for entry in drawn] == [f"q{entry.metadata['position']}" for entry in drawn]
    assert drawn == samples(path, random=5, seed=3)
    data = loaded(path, first=2)
    assert list(data.samples) == list(data.samples)


def test_places_run_on_over_several_files(tmp_path):
    paths = tuple(written(tmp_path / name, "SELECT 1\n\nSELECT 2\n") for name in ("a.sql", "b.sql"))
    result = [(sample.id, sample.metadata["position"]) for sample in samples(paths)]
    assert result == [("a.sql line:1", 0), ("a.sql line:3", 2), ("b.sql line:1", 3), ("b.sql line:3", 5)]


def test_what_cannot_be_compared_is_said_before_anything_is_run(tmp_path):
    data = loaded(written(tmp_path / "gold.sql", "SELECT 1\tconcert\n"))
    assert not data.comparable
    assert data.notes == (
        "samples without a schema or a folder of databases: 1 (they name concert): their SQL cannot be run",
        "no sample has data: whether the SQL runs is scored, results cannot be compared",
    )
    row = {"question": "q", "sql": "SELECT 1", "schema": "CREATE TABLE t (a); INSERT INTO t VALUES (1)"}
    assert loaded(written(tmp_path / "b.json", [row])).comparable


def test_a_database_that_cannot_be_read_is_named(tmp_path, folder):
    (folder / "broken.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    path = written(tmp_path / "gold.sql", "SELECT 1\tbroken\nSELECT 1\tconcert\n")
    with pytest.raises(DataError, match=r"databases that cannot be read\n.*broken\.sqlite"):
        loaded(path, folder)


def test_a_database_outside_the_folder_comes_into_no_prompt(tmp_path, folder):
    database(tmp_path / "private.sqlite", "CREATE TABLE salary (name TEXT)")
    (folder / "staff.sqlite").symlink_to("../private.sqlite")
    path = written(tmp_path / "gold.sql", "SELECT 1\tstaff\nSELECT 1\tconcert\n")
    with pytest.raises(ConfigError, match=r"staff\.sqlite leads out of the folder .* to .*private\.sqlite"):
        loaded(path, folder)


def test_a_folder_without_databases_is_refused(tmp_path):
    path = written(tmp_path / "gold.sql", "SELECT 1\tx\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="holds no database"):
        loaded(path, tmp_path / "empty")
    with pytest.raises(ConfigError, match="there is no folder"):
        loaded(path, tmp_path / "none")


def test_a_dataset_without_rows_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no valid row"):
        loaded(written(tmp_path / "a.csv", "question,sql\n"))
