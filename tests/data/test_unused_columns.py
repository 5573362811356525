"""A column that no role reads is kept with the samples and named once."""

import datetime as dt
import json

import openpyxl
import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.data.unread import MOST_CHARACTERS
from steelyard.errors import ConfigError
from steelyard.generate.question_set import QaRow, save_rows
from steelyard.suites.choice.rows import load_choice
from steelyard.suites.pairwise import load_pairwise
from steelyard.suites.rag import load_rag
from steelyard.suites.tables import load_tables
from steelyard.suites.text2sql.rows import load_text2sql

QUESTION = {"question": "Which?", "options": ["a", "b"], "answer": "A"}


def exam(path, *rows):
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return SampleFiles(path)


def about_columns(data):
    return [note for note in data.notes if "no role" in note]


def test_a_column_without_a_role_is_named_once_and_kept_with_its_type(tmp_path):
    data = load_choice(
        exam(
            tmp_path / "a.jsonl",
            {**QUESTION, "year": 2019, "tags": ["x", {"y": None}], "hint": None},
            {**QUESTION, "question": "When?", "hard": True, "hint": ""},
        )
    )
    assert [sample.metadata for sample in data.samples] == [
        {"year": 2019, "tags": ["x", {"y": None}], "hard": ""},
        {"year": "", "tags": "", "hard": True},
    ]
    assert about_columns(data) == [
        (
            "3 columns have no role and are only metadata: year, tags, hard; give a role under columns, or write "
            "{{metadata.year}} into a template"
        )
    ]


def test_cells_of_a_sheet_are_numbers_and_texts_by_header_or_letter(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["题目", "A", "B", "答案", "年份", "备注", "备注", "", "source", "空"])
    when = dt.datetime(2024, 2, 29)  # noqa: DTZ001 - sheets have none
    book.active.append(["为天者", "乾", "坤", "A", 2019, "甲", when, 0.5, "《易》", None])
    book.save(tmp_path / "a.xlsx")
    data = load_choice(SampleFiles(tmp_path / "a.xlsx"))
    assert [sample.metadata for sample in data.samples] == [
        {"年份": 2019, "备注": "甲", "备注 G": "2024-02-29", "H": 0.5, "source column": "《易》"}
    ]


def test_the_note_is_short_however_many_columns_there_are(tmp_path):
    data = load_choice(exam(tmp_path / "a.jsonl", {**QUESTION, **{f"{no:03}" + "x" * 200: no for no in range(300)}}))
    (note,) = about_columns(data)
    assert note.startswith("200 columns have no role")
    assert "and 190 more" in note
    assert len(note) < 1000
    assert "columns without a role after the first 200 are left out" in data.notes
    assert [len(sample.metadata) for sample in data.samples] == [200]


def test_rows_with_keys_of_their_own_do_not_grow_with_each_other(tmp_path):
    rows = [{**QUESTION, "question": f"Which {no}?", f"key {no}": no} for no in range(1000)]
    samples = list(load_choice(exam(tmp_path / "a.jsonl", *rows)).samples)
    assert {len(sample.metadata) for sample in samples} == {200}
    assert samples[199].metadata["key 199"] == 199


def test_a_value_that_is_too_long_is_left_out_and_counted(tmp_path):
    data = load_choice(exam(tmp_path / "a.jsonl", {**QUESTION, "page": "x" * (MOST_CHARACTERS + 1), "n": 1}))
    assert [sample.metadata for sample in data.samples] == [{"page": "", "n": 1}]
    assert any("1 values of columns without a role are left out" in note for note in data.notes)


def test_columns_of_several_files_are_known_in_all_of_their_samples(tmp_path):
    first = exam(tmp_path / "a.jsonl", {**QUESTION, "year": 1})
    second = exam(tmp_path / "b.jsonl", {**QUESTION, "question": "When?", "place": "x"})
    data = load_choice(SampleFiles((*first.paths, *second.paths)))
    assert [sample.metadata for sample in data.samples] == [
        {"year": 1, "place": "", "source": "a.jsonl"},
        {"year": "", "place": "x", "source": "b.jsonl"},
    ]


@pytest.mark.parametrize(
    ("load", "row"),
    [
        (load_rag, {"question": "Why?", "answer": "So."}),
        (load_pairwise, {"question": "Why?"}),
        (load_text2sql, {"question": "How many?", "sql": "SELECT 1", "schema": "CREATE TABLE t (a INT)"}),
        (lambda files: load_tables(files, task="QA", databases=None), {"target": "[[1]]"}),
    ],
)
def test_every_suite_keeps_and_names_them(tmp_path, load, row):
    files = exam(tmp_path / "a.jsonl", row, {**row, "question": "What?", "year": 2019})
    data = load(files)
    assert [sample.metadata["year"] for sample in data.samples] == ["", 2019]
    assert [note for note in data.notes if "1 column has no role and is only metadata: year" in note]


def test_a_column_that_the_tables_suite_reads_as_predictions_is_not_named(tmp_path):
    files = exam(tmp_path / "a.jsonl", {"target": "[[1]]", "mine": "[[1]]", "other": 1})
    data = load_tables(files, task="QA", databases=None, predictions=("mine",))
    assert data.columns == ("other",)


def test_several_columns_of_a_question_are_joined_in_the_order_given(tmp_path):
    rows = [
        {**QUESTION, "about": "It rains.", "more": ""},
        {**QUESTION, "question": "When?", "about": "", "more": "At noon."},
    ]
    files = exam(tmp_path / "a.jsonl", *rows)
    data = load_choice(SampleFiles(files.paths, columns={"question": ["about", "question", "more"]}))
    assert [sample.input for sample in data.samples] == ["It rains.\n\nWhich?", "When?\n\nAt noon."]
    data = load_rag(SampleFiles(files.paths, columns={"question": ["about", "question"], "answer": "answer"}))
    assert [sample.input for sample in data.samples] == ["It rains.\n\nWhich?", "When?"]


def test_several_columns_are_refused_where_one_is_meant(tmp_path):
    files = exam(tmp_path / "a.jsonl", {**QUESTION, "key": "A"})
    with pytest.raises(ConfigError, match=r"columns: answer is one column, not several \(answer, key\)"):
        load_choice(SampleFiles(files.paths, columns={"answer": ["answer", "key"]}))


@pytest.mark.parametrize("blank", [None, "", "  ", []])
def test_a_key_column_that_is_blank_in_every_row_gives_way_to_another(tmp_path, blank):
    rows = [{**QUESTION, "question": f"Which {no}?", "answer": blank, "label": "B"} for no in range(15)]
    data = load_choice(exam(tmp_path / "a.jsonl", *rows))
    assert data.mapping["answer"] == "label"
    assert data.key_histogram == {"B": 15}
    assert [note for note in data.notes if "answer" in note] == [
        "a.jsonl: column answer is blank in every row, so the answer is read from label"
    ]
    assert data.columns == ()


def test_a_key_in_the_last_row_keeps_its_column(tmp_path):
    rows = [{**QUESTION, "question": f"Which {no}?", "answer": None, "label": "B"} for no in range(15)]
    files = exam(tmp_path / "a.jsonl", *rows, {**QUESTION, "label": "B"})
    data = load_choice(SampleFiles(files.paths, skip_bad=True))
    assert data.mapping["answer"] == "answer"


def test_a_column_that_the_user_names_is_taken_even_if_it_is_blank(tmp_path):
    files = exam(tmp_path / "a.jsonl", {**QUESTION, "answer": "", "label": "B"})
    data = load_choice(SampleFiles(files.paths, columns={"answer": "label"}))
    assert data.mapping["answer"] == "label"


def test_an_unnamed_column_that_numbers_the_rows_is_no_column(tmp_path):
    (tmp_path / "a.csv").write_text(",Question,A,B,Answer,\n0,One?,a,b,A,x\n1,Two?,a,b,B,\n", "utf-8")
    data = load_choice(SampleFiles(tmp_path / "a.csv"))
    assert [sample.metadata for sample in data.samples] == [{"F": "x"}, {"F": ""}]


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_keys_of_a_generated_question_set_are_kept_and_not_named(tmp_path, name):
    row = QaRow("1", "Why?", "So.", "a.md", end=3, heading="Rain", source="So.", chunk="c1", kind="cloze")
    save_rows([row], tmp_path / name)
    data = load_rag(SampleFiles(tmp_path / name))
    assert (data.samples[0].metadata["heading"], data.samples[0].metadata["kind"]) == ("Rain", "cloze")
    assert not [note for note in data.notes if "no role" in note]
    own = exam(tmp_path / "own.jsonl", {"question": "Why?", "answer": "So.", "kind": "x"})
    assert [note for note in load_rag(own).notes if "no role and is only metadata: kind" in note]
