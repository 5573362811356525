"""A key of several letters among keys of one: a slip that is named with its cell, or several right options."""

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.suites.choice.rows import load_choice
from steelyard.suites.choice.suite import ChoiceSuite

OPTIONS = {"A": "one", "B": "two", "C": "three", "D": "four"}


def rows(*keys, **more):
    return [{"question": f"Question {n}?", **OPTIONS, "answer": key, **more} for n, key in enumerate(keys)]


def csv(tmp_path, *keys):
    lines = ["question,A,B,C,D,answer"]
    lines += [f"Question {n}?,one,two,three,four,{key}" for n, key in enumerate(keys)]
    (tmp_path / "exam.csv").write_text("\n".join(lines), encoding="utf-8")
    return SampleFiles(tmp_path / "exam.csv")


@pytest.mark.parametrize("key", ["AC", "ac", "A、C", "(AC)"])
@pytest.mark.parametrize("others", [1, 3, 60])
def test_a_key_of_two_letters_among_keys_of_one_is_named_with_its_cell(tmp_path, key, others):
    keys = ["A"] * others + [key]
    with pytest.raises(DataError) as refused:
        load_choice(csv(tmp_path, *keys))
    assert f"exam.csv line {others + 2} column F: the key has several letters" in str(refused.value)
    assert f"{others} of {others} other keys have one" in str(refused.value)
    assert "several_answers: true" in str(refused.value)


def test_two_among_a_hundred_are_slips_and_ten_are_meant(tmp_path):
    with pytest.raises(DataError, match="2 defects"):
        load_choice(csv(tmp_path, *["A"] * 98, "AC", "BD"))
    data = load_choice(csv(tmp_path, *["A"] * 90, *["AC"] * 10))
    assert data.key_histogram == {"A": 90, "AC": 10}
    assert data.notes[-1] == (
        "10 of 100 keys have several letters: exam.csv line 92 column F, exam.csv line 93 column F, "
        "exam.csv line 94 column F ..."
    )


def test_a_slip_can_be_left_out_or_said_to_be_meant(tmp_path):
    files = csv(tmp_path, *["A"] * 20, "AC")
    assert load_choice(SampleFiles(files.file, skip_bad=True)).n == 20
    assert load_choice(files, several_answers=True).n == 21
    suite = ChoiceSuite(files, {}, several_answers=True)
    assert suite.several_answers


def test_where_all_keys_have_several_letters_nothing_is_wrong(tmp_path):
    assert load_choice(csv(tmp_path, "AB", "AC")).notes == ()
    assert load_choice(csv(tmp_path, "AB")).n == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"answer": ["A", "C"]},
        {"answer": "AC", "question": "Which are prime? (Select all that apply)"},
        {"answer": "AC", "question": "下列哪些是质数？（多选题）"},
    ],
)
def test_a_question_that_says_it_has_several_right_options_may_be_alone(entry):
    entries = [*rows("A", "B", "C"), {"question": "Which?", **OPTIONS, **entry}]
    assert load_choice(SampleFiles.of(entries)).key_histogram["AC"] == 1


def test_a_kind_says_so_too():
    entries = [*rows("A", "B", "C", 题型="单选题"), {"question": "Which?", **OPTIONS, "answer": "AC", "题型": "多选题"}]
    assert load_choice(SampleFiles.of(entries)).key_histogram["AC"] == 1
