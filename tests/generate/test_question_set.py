"""A saved set is read back equal, is never half a file, and is what the rag suite reads."""

from __future__ import annotations

import csv
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.dataset_file import read_dataset_file
from steelyard.data.new_version import RowEdit, edited_rows, write_new_version
from steelyard.data.sample_files import SampleFiles
from steelyard.data.text_tables import QUESTION_SET
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import csv_cell
from steelyard.generate.question_set import QaRow, read_rows, row_id, save_rows
from steelyard.suites.rag import ROLES, load_rag

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
ROWS = st.builds(
    QaRow, id=TEXTS, question=TEXTS, answer=TEXTS, document=TEXTS, page=st.none() | st.integers(1, 9999),
    start=st.integers(0, 10**7), end=st.integers(0, 10**7), heading=TEXTS, source=TEXTS, chunk=TEXTS, group=TEXTS,
    kind=st.sampled_from(["generated", "cloze"]), answerable=st.sampled_from(["", "yes"]),
)  # fmt: skip
HARD = QaRow(
    id="1", question='=HYPERLINK("x"), "why"?', answer="two\nlines, one; comma\u2028 and more", document="a, b.pdf",
    page=3, start=0, end=30, heading="1 > \t2", source="[1, 2] is a list;\n\n“quoted” 文本 🌧", chunk="c", group="-1",
)  # fmt: skip


def test_the_columns_are_the_fields():
    assert tuple(field.name for field in fields(QaRow)) == QUESTION_SET


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "Q.CSV"])
def test_hard_texts_are_read_back_as_they_were(tmp_path, name):
    save_rows([HARD, QaRow("2", "q?", "a")], tmp_path / name)
    assert read_rows(tmp_path / name) == (HARD, QaRow("2", "q?", "a"))


@given(st.lists(ROWS, max_size=5), st.sampled_from([".jsonl", ".csv"]))
def test_any_rows_are_read_back_equal(tmp_path_factory, rows, suffix):
    path = tmp_path_factory.mktemp("rows") / f"q{suffix}"
    save_rows(rows, path)
    assert read_rows(path) == tuple(rows)


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_no_cell_that_a_model_wrote_is_a_formula(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "q.csv"
    save_rows([HARD, *rows], path)
    with path.open(newline="") as file:
        for cells in csv.reader(file):
            assert [csv_cell(cell).replace(r"\x7f", "\x7f") for cell in cells] == cells


def test_a_saved_draft_of_a_question_set_is_written_and_read_likewise(tmp_path):
    save_rows([HARD, QaRow("2", "q?", "a", end=9)], tmp_path / "q.csv")
    file = read_dataset_file(SampleFiles(tmp_path / "q.csv"), ROLES, "")
    rows = edited_rows(file, {"2": RowEdit("changed", {"answer": "=1+1"})})
    path, _ = write_new_version(file, rows, lambda path: read_dataset_file(SampleFiles(path), ROLES, ""))
    assert read_rows(path) == (HARD, QaRow("2", "q?", "=1+1", end=9))
    hard, changed = load_rag(SampleFiles(path)).samples
    assert (hard.input, hard.reference, changed.reference) == (HARD.question, HARD.answer, "=1+1")


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_the_rag_suite_reads_a_saved_set_with_its_sources(tmp_path, name):
    rows = [
        QaRow(
            "1", "How high?", "30 cm", "a.pdf", 2, 10, 40, "Rain", "The rim stands\n\n30 cm up; firmly.", "c1", "Rain"
        ),
        QaRow("2", "多高？", "三十厘米", "b.md", None, 0, 9, "", "口沿高三十厘米。", "c2", "b.md", "cloze", "yes"),
    ]
    save_rows(rows, tmp_path / name)
    samples = load_rag(SampleFiles(tmp_path / name)).samples
    assert [(sample.id, sample.input, sample.reference, sample.group) for sample in samples] == [
        ("1", "How high?", "30 cm", "Rain"),
        ("2", "多高？", "三十厘米", "b.md"),
    ]
    assert [sample.metadata["sources"] for sample in samples] == [
        [{"id": "c1", "document": "a.pdf", "start": 10, "end": 40, "page": 2, "text": rows[0].source}],
        [{"id": "c2", "document": "b.md", "start": 0, "end": 9, "text": rows[1].source}],
    ]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "q.jsonl"
    save_rows([QaRow("1", "q?", "a")], path)
    before = path.read_bytes()

    def rows():
        yield QaRow("2", "q?", "b")
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        save_rows(rows(), path)
    assert [one.name for one in tmp_path.iterdir()] == ["q.jsonl"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "text"), [("q.jsonl", '{"id": 1}\n'), ("q.jsonl", "x"), ("q.csv", "id,x\n1,2\n")])
def test_another_file_is_no_question_set(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="is not a question set"):
        read_rows(tmp_path / name)


def test_other_formats_are_refused_by_name(tmp_path):
    with pytest.raises(ConfigError, match=r"\.jsonl or \.csv, not \.pkl"):
        save_rows([], tmp_path / "q.pkl")


def test_an_id_stands_for_chunk_and_question_alone():
    assert row_id("c", "q") == row_id("c", "q") != row_id("c", "p")
    assert row_id("cq", "") != row_id("c", "q")
