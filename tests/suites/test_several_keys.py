"""A key of several letters among keys of one: a slip that is named with its cell, or several right options."""

import pytest

from steelyard import Output, Sample
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.scorers.choice import Choice
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


def flags(files, **keys):
    return {sample.id: sample.metadata.get("several", False) for sample in load_choice(files, **keys).samples}


def test_how_a_reply_is_read_follows_from_the_exam_and_not_from_the_key(tmp_path):
    assert set(flags(csv(tmp_path, *["A"] * 9)).values()) == {False}
    assert set(flags(csv(tmp_path, *["A"] * 9), several_answers=True).values()) == {True}
    assert set(flags(csv(tmp_path, "A", "B", "AC", "BD")).values()) == {True}
    listed = [{"question": f"Which {n}?", **OPTIONS, "answer": key} for n, key in enumerate((["A"], ["B", "C"], ["D"]))]
    assert set(flags(SampleFiles.of(listed)).values()) == {True}
    assert set(flags(SampleFiles.of([entry | {"answer": entry["answer"][:1]} for entry in listed])).values()) == {False}


@pytest.mark.parametrize("column", ["题型", "category"])
@pytest.mark.parametrize(
    ("one", "several"), [("单选题", "多选题"), ("single choice", "Multiple-Select"), ("A1型题", "X型题")]
)
def test_a_kind_or_group_of_one_right_option_is_read_as_such(column, one, several):
    entries = [*rows("A", "B"), *rows("C", "AC", "BCD")]
    for number, entry in enumerate(entries):
        entry |= {"id": f"q{number}", "question": f"Which {number}?", column: one if number < 2 else several}
    assert flags(SampleFiles.of(entries)) == {"q0": False, "q1": False, "q2": True, "q3": True, "q4": True}


def test_a_question_may_say_that_it_has_one_right_option_or_several():
    entries = rows("A", "B", "C", "D")
    for number, text in enumerate(
        ("Which? Choose one answer.", "下列哪些正确？（多选）", "Which are true?", "（单选题）哪项？")
    ):
        entries[number] |= {"id": f"q{number}", "question": text}
    assert flags(SampleFiles.of(entries)) == {"q0": False, "q1": True, "q2": False, "q3": False}
    said = flags(SampleFiles.of(entries), several_answers=True)
    assert said == {"q0": False, "q1": True, "q2": True, "q3": False}


def test_a_question_with_one_right_option_in_an_exam_of_several_is_read_by_the_same_rule():
    everything = "A. one\nB. two\nC. three\nD. four"
    for metadata, outcome in (({"several": True}, "scored"), ({}, "unparsed")):
        score = Choice()(Sample("1", "Which?", "A", tuple(OPTIONS.values()), metadata=metadata), Output(everything))
        assert (score.outcome, score.value) == (outcome, 0.0 if metadata else None)
    score = Choice()(Sample("1", "Which?", "A", tuple(OPTIONS.values()), metadata={"several": True}), Output("A, C"))
    assert (score.value, score.detail["letters"]) == (0.0, "AC")
