import pytest

from steelyard.data import table, text_tables
from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.suites.choice import dataset_warnings, rows
from steelyard.suites.choice.dataset_warnings import warnings_of
from steelyard.suites.choice.rows import examine_choice
from steelyard.suites.rag import load_rag

HEAD = "question,A,B,answer\n"


@pytest.fixture
def few(monkeypatch):
    """Small limits; those of a file are 2,000,000 rows and 100,000 defects."""
    monkeypatch.setattr(text_tables, "MAX_ROWS", 20)
    monkeypatch.setattr(table, "MAX_DEFECTS", 10)
    monkeypatch.setattr(rows, "MAX_DEFECTS", 10)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", HEAD + "Q?,a,b,B\n" * 20),
        ("a.csv", (HEAD + "Q?,a,b,B\n" * 20).replace("\n", "\r")),
        ("a.tsv", "q\ta\n" * 21),
        ("a.jsonl", '{"question": "Q?"}\n' * 21),
        ("a.jsonl", "\n" * 21),
        ("a.sql", "SELECT 1\n" * 21),
    ],
)
def test_a_file_of_more_rows_than_the_limit_is_refused_before_they_are_checked(tmp_path, few, name, text):
    (tmp_path / name).write_text(text, newline="")
    with pytest.raises(DataError, match=f"{name} has more than 20 rows; at most so many are read"):
        read_tables(SampleFiles(tmp_path / name))


def test_line_ends_within_cells_are_no_rows(tmp_path, few):
    (tmp_path / "a.csv").write_text(HEAD + '"Q\n\n\n\n%s?",a,b,B\n' * 19 % tuple(range(19)))
    assert examine_choice(SampleFiles(tmp_path / "a.csv")).n == 19


@pytest.mark.parametrize("skip_bad", [True, False])
def test_a_dataset_of_equal_rows_is_refused_with_the_first_of_them(tmp_path, few, skip_bad):
    (tmp_path / "a.csv").write_text(HEAD + "Q?,a,b,B\n" * 15)
    with pytest.raises(DataError, match="more than 10 defects in the dataset; is it the right file") as error:
        examine_choice(SampleFiles(tmp_path / "a.csv", skip_bad=skip_bad))
    assert "a.csv line 3 column A: the same question as a.csv line 2 column A" in str(error.value)


def test_other_suites_refuse_many_defects_too(tmp_path, few):
    (tmp_path / "a.csv").write_text("id,question,answer\n" + "1,Q?,a\n" * 15)
    with pytest.raises(DataError, match="more than 10 defects"):
        load_rag(SampleFiles(tmp_path / "a.csv", skip_bad=True))


def test_only_the_first_questions_are_compared_and_a_note_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_warnings, "MAX_COMPARED", 3)
    questions = ["What is the capital of the large country of France?", "Who?", "Which?", "How?"]
    lines = [*questions, questions[0] + " Say it."]
    (tmp_path / "a.csv").write_text(HEAD + "".join(f"{text},a,b,B\n" for text in lines))
    warnings = warnings_of(examine_choice(SampleFiles(tmp_path / "a.csv")))
    assert warnings.pairs == ()
    assert "questions were compared with each other" in warnings.notes[-1]
    assert warnings.tables == {"a.csv": 5}
