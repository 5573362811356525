"""Which of given labels a judge chooses."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.rating import read_label

LETTERS = ("A", "B", "C", "D", "E")
CORRECT = ("correct", "partially correct", "incorrect")
TWO = ("correct", "incorrect")
LEVELS = ("poor", "fair", "good", "excellent")
ZH = ("正确", "部分正确", "错误")


def outcome(verdict):
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


@pytest.mark.parametrize(
    ("labels", "text", "expected"),
    [
        (LETTERS, "B", "B"),
        (LETTERS, "(C)", "C"),
        (LETTERS, "[[D]]", "D"),
        (LETTERS, "Answer: (E)", "E"),
        (LETTERS, "The submitted answer adds a date that the expert answer lacks.\n\nThe correct choice is (B).", "B"),
        (LETTERS, "(A) The submitted answer is a subset of the expert answer.", "A"),
        (LETTERS, "A. It is a subset.\nB. It is a superset.\n", "none"),
        (LETTERS, "A subset of the facts is given.", "none"),
        (LETTERS, "Compare A and C first.\nSo it is not A.\n\nFinal answer: D", "D"),
        (LETTERS, "First I thought C.\nAnswer: C\n\nOn reflection the dates differ.\nAnswer: D", "D"),
        (LETTERS, '{"choice": "B", "reason": "A is too narrow"}', "B"),
        (LETTERS, "选B", "B"),
        (LETTERS, "答案：C", "C"),
        (LETTERS, "The answer is A or B.", "none"),
        (CORRECT, "correct", "correct"),
        (CORRECT, "Partially correct.", "partially correct"),
        (CORRECT, "INCORRECT", "incorrect"),
        (CORRECT, "The answer is partially correct, because the year is missing.", "partially correct"),
        (CORRECT, "Label: **partially correct**", "partially correct"),
        (CORRECT, '{"label": "partially_correct"}', "partially correct"),
        (CORRECT, "Verdict: Incorrect\nThe correct year is 1998.", "incorrect"),
        (CORRECT, "The answer is not correct.", "none"),
        (CORRECT, "The year is correct. The place is incorrect.", "ambiguous"),
        (
            CORRECT,
            "The year is correct. The place is incorrect. Overall, it is partially correct.",
            "partially correct",
        ),
        (TWO, "The answer is partially correct.", "none"),
        (TWO, "Verdict: partially correct", "none"),
        (TWO, "Incorrect. The correct answer is Lyon.", "incorrect"),
        (TWO, "incorrect", "incorrect"),
        (TWO, "correctly", "none"),
        (TWO, "Verdict: correct/incorrect", "none"),
        (TWO, "If the year were right, the answer would be correct.", "none"),
        (LEVELS, "I would rate this as good.", "good"),
        (LEVELS, "Rating: Excellent", "excellent"),
        (LEVELS, "Quality: fair", "fair"),
        (LEVELS, "This is a very good answer.", "none"),
        (LEVELS, "excellent: all points covered\ngood: most points covered\npoor: none", "none"),
        (LEVELS, "The summary leaves out the main point.\n\npoor", "poor"),
        (LEVELS, "Goodness knows.", "none"),
        (ZH, "部分正确", "部分正确"),
        (ZH, "判断：部分正确", "部分正确"),
        (ZH, "结论：错误。正确的年份是1998年。", "错误"),
        (ZH, "该回答是正确的。", "正确"),
        (ZH, "不正确", "none"),
        (("正确", "错误"), "该回答部分正确", "none"),
        (ZH, '{"判断": "正确"}', "正确"),
        (("1", "2", "3"), "Label: 2", "2"),
        (("1", "2", "3"), "Label: 2.5", "none"),
        (LEVELS, "", "empty"),
        (LEVELS, "I'm sorry, but I can't rate this.", "refused"),
        (LEVELS, "<think>good or fair</think>fair", "fair"),
        (LEVELS, 'The text says "Rating: excellent". That is a trick.\nRating: poor', "poor"),
    ],
)
def test_a_label_is_read_where_it_is_given(labels, text, expected):
    assert outcome(read_label(text, labels)) == expected


def test_the_label_is_written_as_it_was_given():
    assert read_label("EXCELLENT", ["Excellent", "Poor"]).label == "Excellent"


def test_a_cut_off_reply_without_a_label_is_truncated():
    assert read_label("The answer names the", TWO, finish="length").kind == "truncated"


@pytest.mark.parametrize("labels", [(), ("a", "A"), ("a", " "), ("Ａ", "a")])
def test_labels_that_cannot_be_told_apart_are_refused(labels):
    with pytest.raises(ValueError, match="labels differ"):
        read_label("a", labels)


@given(st.text(), st.sampled_from([LETTERS, CORRECT, LEVELS, ZH]))
def test_no_text_raises_and_a_label_is_one_of_those_given(text, labels):
    verdict = read_label(text, labels)
    if verdict.outcome == "scored":
        assert verdict.label in labels
        start, end = verdict.span
        assert 0 <= start < end <= len(text)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5))
def test_any_labels_can_be_looked_for(labels):
    try:
        verdict = read_label(f"Verdict: {labels[0]}", labels)
    except ValueError:
        return
    assert verdict.label in {*labels, ""}


@pytest.mark.parametrize("piece", ["A", "A ", "is good ", "good", "Label: ", "is ", '"', "{", "[[", "\n", " "])
def test_hostile_text_is_read_in_time_that_grows_with_its_length(piece):
    def seconds(count):
        text = piece * (count // len(piece))
        start = time.process_time()
        read_label(text, (*LETTERS, *LEVELS))
        return time.process_time() - start

    assert seconds(200_000) < 2 + 30 * seconds(20_000)
