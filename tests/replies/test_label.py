"""Which of given labels a judge chooses."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.label import read_label, read_one

LETTERS = ("A", "B", "C", "D", "E")
CORRECT = ("correct", "partially correct", "incorrect")
TWO = ("correct", "incorrect")
LEVELS = ("poor", "fair", "good", "excellent")
ZH = ("正确", "部分正确", "错误")


PUBLISHED = [
    ("Inspect, model-graded", ("C", "P", "I"), "The submission names the year.\n\nGRADE: C", "C"),
    ("Inspect, model-graded", ("C", "P", "I"), "It names another year.\nGRADE: I", "I"),
    ("OpenAI evals, factuality", LETTERS, "The submission is a subset of the expert answer.\n\n(A)", "A"),
    ("OpenAI evals, closed QA", ("Y", "N"), "The year is in the text.\n\nY", "Y"),
    ("Phoenix, relevance", ("relevant", "unrelated"), "unrelated", "unrelated"),
    ("Phoenix, hallucination", ("factual", "hallucinated"), 'EXPLANATION: It is there.\nLABEL: "factual"', "factual"),
    ("LangChain, CoT QA", ("CORRECT", "INCORRECT"), "EXPLANATION: It agrees.\nGRADE: CORRECT", "CORRECT"),
]


@pytest.mark.parametrize(("labels", "text", "label"), [row[1:] for row in PUBLISHED])
def test_what_published_prompts_ask_for_is_read(labels, text, label):
    assert read_label(text, labels).label == label


@pytest.mark.parametrize("text", ["नहीं।", "Label: नहीं।", "उत्तर: नहीं॥", "नहीं،", "नहीं؛", "Label: नहीं۔"])
def test_a_label_before_a_mark_of_arabic_or_of_india_is_read(text):
    assert read_label(text, ("हाँ", "नहीं")).label == "नहीं"


@pytest.mark.parametrize("text", ["Mood: Sad 😢", "😢 sad", "**Sad** 🌧️", "The mood is sad 😢."])
def test_a_picture_beside_a_label_is_an_ornament(text):
    assert read_label(text, ("glad", "sad")).label == "sad"
    assert read_label("Mood: 😢", ("😀", "😢")).label == "😢"


@pytest.mark.parametrize(
    "text", ["Answer: $B$", r"Answer: \(B\)", "$$B$$", "ANSWER: b", "answer: b.", "The answer is b."]
)
def test_a_letter_is_read_in_mathematics_and_small_at_the_end_of_a_line(text):
    assert read_one(text, LETTERS)[0] == "B"


@pytest.mark.parametrize("text", [r"$\text{feature request}$", r"\boxed{\text{feature\_request}}", "$feature request$"])
def test_a_label_in_mathematics_is_read(text):
    assert read_one(text, ("bug", "feature request"))[0] == "feature request"


@pytest.mark.parametrize("text", ["ANSWER: A B", "A B", "Answer: a or b", "The answer is not b", "a thing\nb sides"])
def test_two_letters_are_no_article_and_a_letter(text):
    assert read_one(text, LETTERS)[0] == ""


@pytest.mark.parametrize(
    "text",
    [
        'It would be "positive" if the ending were better.',
        'The label is "positive" when read alone.',
        "It cannot be classified as: positive",
        "Positive, but it is not.",
    ],
)
def test_a_label_under_a_condition_or_a_denial_is_none(text):
    assert read_label(text, ["positive", "negative"]).outcome == "unparsed"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Wrong answer: B", ""),
        ("The wrong label is B; the right one is C.", "C"),
        ("Incorrect answers: B\nAnswer: C", "C"),
        ("错误的答案是B，正确答案是C。", "C"),
        ("Is the answer wrong? Answer: B", "B"),
    ],
)
def test_what_is_called_the_wrong_answer_is_none(text, label):
    assert read_one(text, LETTERS)[0] == label


def test_a_small_letter_at_the_end_of_a_reply_that_was_cut_off_is_none():
    assert read_label("The answer is a", LETTERS, finish="length").label == ""


def outcome(verdict):
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


def is_as_meant(row):
    verdict = read_label(row["text"], row["labels"], finish=row.get("finish", "stop"))
    return outcome(verdict) == row["expected"] or (row["expected"] == "none" and verdict.outcome == "unparsed")


def test_sentences_of_a_family_are_read_as_meant():
    assert_read_as_meant(stored("labels"), {"labels": 0.98, "labels, written blind": 0.98}, is_as_meant)


def test_no_label_is_read_wrong_in_sixteen_languages():
    """Replies about reviews and tickets: plain, negated, quoted, corrected, supposed; "" where they give no label."""
    read = [(row, read_one(row["text"], row["labels"])[0]) for row in stored("label_languages")]
    assert [row["text"] for row, label in read if label not in {"", row["expected"]}] == []
    assert sum(label == row["expected"] for row, label in read) / len(read) >= 0.94


def test_the_label_is_written_as_it_was_given():
    assert read_label("EXCELLENT", ["Excellent", "Poor"]).label == "Excellent"


@pytest.mark.parametrize("text", ['{"label": " (B) "}', "The answer is (B)."])
def test_brackets_may_be_part_of_a_label(text):
    assert read_label(text, ["(A)", "(B)"]).label == "(B)"


def test_a_cut_off_reply_without_a_label_is_truncated():
    assert read_label("The answer names the", TWO, finish="length").kind == "truncated"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("满分5分，给4分", ""),
        ("满分为5分，得4分", ""),
        ("满分5分，得分：4", "4"),
        ("我会给它3分（满分为5分）。", ""),
        ("采用5分制，得分：4", "4"),
        ("5점 만점에 4점", ""),
        ("Max score: 5", ""),
        ("Max score: 5. Score: 4", "4"),
        ("Score: 4\nOut of a maximum of 5.", "4"),
        ("得分：5", "5"),
        ("Score: 5 out of 5", "5"),
    ],
)
def test_the_best_mark_that_there_is_is_not_the_one_given(text, label):
    assert read_label(text, ["1", "2", "3", "4", "5"]).label == label


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


@pytest.mark.parametrize(
    "piece", ["A", "A ", "is good ", "good", "Label: ", "is ", '"', "{", "[[", "\n", " ", "[[good]] "]
)
def test_what_stands_in_the_middle_of_a_very_long_reply_changes_nothing(piece):
    short, long = (piece * (count // len(piece)) + "\n\nVerdict: poor" for count in (24_000, 1_000_000))
    labels = (*LETTERS, *LEVELS)
    assert outcome(read_label(short, labels)) == outcome(read_label(long, labels))


NUMBERS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    "text",
    [
        "4 stars",
        "4 out of 5",
        "4.0",
        "4/5",
        "4 / 5.",
        "**4/5**",
        "4.0/5",
        "4 Stars.",
        "Rating: 4/5",
        "I rate it 4 out of 5.",
        "The rating is 4 stars out of 5.",
        '{"rating": "4/5"}',
        '{"rating": 4.0}',
        "4星",
        "4分（满分5分）",
        "评分：4分",
    ],
)
def test_a_number_as_label_may_be_counted_or_set_against_the_highest(text):
    assert read_label(text, NUMBERS).label == "4"
    assert read_one(text, NUMBERS)[0] == "4"


@pytest.mark.parametrize("text", ["4.5", "4.5 stars", "4/10", "4 out of 50", "4.05", "4 or 5", "4-5", "4%", "4/5/2024"])
def test_another_number_is_no_label(text):
    assert read_one(text, NUMBERS)[0] == ""


@pytest.mark.parametrize(
    "text",
    ["bug, wait, billing", "Bug. Actually, billing.", "Label: bug\nOn second thought: billing", "bug; or maybe billing",
     "bug (or rather billing)", "Label: bug. Hmm, no: billing."],
)  # fmt: skip
def test_a_label_that_is_taken_back_for_another_one_is_none(text):
    assert read_one(text, ("bug", "billing"))[:2] == ("", "ambiguous")
    assert read_one(f"<think>{text}</think>bug", ("bug", "billing"))[0] == "bug"


@pytest.mark.parametrize(
    "text",
    ["bug. Actually billing is fine, the app crashes.", "Bug, sorry.", "Billing? Wait. Label: bug",
     "bug. No billing here", "<think>It could also be billing.</think>bug"],
)  # fmt: skip
def test_a_label_that_stands_is_read_beside_words_of_correction(text):
    assert read_one(text, ("bug", "billing"))[0] == "bug"


def test_a_reply_that_is_a_label_and_nothing_else_gives_it():
    labels = ("a", "b", "+")
    assert [read_one(text, labels)[0] for text in ("a", "**b**", "'+'", "a or b")] == ["a", "b", "+", ""]


def test_two_numbers_with_a_stroke_between_are_both_where_no_third_is_a_label():
    assert read_one("0/1", ("0", "1"))[0] == ""


def test_replies_of_five_languages_give_the_label_that_they_mean_or_none():
    """Imagined replies: a hedge or a correction has no label, or that of its end; a wrong label is the worst."""
    lines = (Path(__file__).parent / "data" / "label_replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line) for line in lines]
    read = [(reply["label"], read_one(reply["text"], reply["labels"])[0], reply["text"]) for reply in replies]
    assert [text for meant, label, text in read if label and label != meant] == []
    assert sum(meant == label for meant, label, _ in read) >= 0.92 * len(read)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("This is a payment issue because the label is billing.", "billing"),
        ("I would not say technical because the category is billing", "billing"),
        ("I am unsure, because the ticket is billing only in part.", ""),
    ],
)
def test_a_reason_that_names_the_label_gives_it(text, label):
    assert read_label(text, ["billing", "technical", "account"]).label == label
