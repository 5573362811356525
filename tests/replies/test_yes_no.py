"""Whether a judge says yes or no: published forms, sentences by family, and what holds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.yes_no import read_yes_no

REPLIES = stored("yes_no")
LEAST = {
    "English: declared": 1.0,
    "English: in a sentence": 0.96,
    "English: in JSON": 1.0,
    "English: no verdict": 1.0,
    "English: verdicts to choose from": 1.0,
    "Chinese: declared": 1.0,
    "Chinese: in a sentence": 1.0,
    "Chinese: in JSON": 1.0,
    "Chinese: no verdict": 1.0,
    "other languages": 1.0,
}
"""Per family of sentences that people thought of: the share that is read as they meant it."""
PUBLISHED = [
    (
        "Ragas, faithfulness",
        '{"statement": "He was born in Ulm.", "reason": "The context says so.", "verdict": 1}',
        "yes",
    ),
    ("Ragas, faithfulness", '{"statement": "He was born in Bern.", "reason": "No such place.", "verdict": 0}', "no"),
    ("DeepEval", '{"verdict": "no", "reason": "The context says 1968."}', "no"),
    ("LlamaIndex, faithfulness", "YES", "yes"),
    ("LlamaIndex, guideline", '{"passing": false, "feedback": "The reply gives no unit."}', "no"),
    ("FActScore", "True", "yes"),
    ("FActScore", "False.", "no"),
    ("TruthfulQA judge", " yes", "yes"),
    ("TruthfulQA judge", " no", "no"),
    ("LangChain, labelled criteria", "The submission names the year.\n\nY", "yes"),
    ("OpenAI simple-evals, equality", "No", "no"),
    (
        "OpenAI simple-evals, HLE",
        "extracted_final_answer: 12\n\nreasoning: It differs.\n\ncorrect: no\n\nconfidence: 90%",
        "no",
    ),
    ("RAGTruth, HaluEval", "Not supported", "no"),
    ("Lynx", '{"REASONING": ["The year is in the document."], "SCORE": "PASS"}', "yes"),
    ("Lynx", '{"REASONING": ["The name is invented."], "SCORE": "FAIL"}', "no"),
    ("SimpleQA", "CORRECT", "yes"),
    ("SimpleQA", "INCORRECT", "no"),
]
UNRELATED = "The passage speaks about bridges and rivers in the north."
SAID = ("none", "empty", "truncated", "ambiguous", "partial")


def outcome(verdict):
    if verdict.outcome == "scored":
        return verdict.label
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


def read(row):
    return outcome(read_yes_no(row["text"], finish=row.get("finish", "stop")))


def is_as_meant(row):
    return read(row) == row["expected"] or (row["expected"] == "unread" and read(row) in SAID)


def test_sentences_of_a_family_are_read_as_meant():
    assert_read_as_meant(REPLIES, LEAST, is_as_meant)


def test_no_sentence_has_a_wrong_verdict():
    wrong = [row["text"] for row in REPLIES if read(row) in {"yes", "no"} and read(row) != row["expected"]]
    assert not wrong


@pytest.mark.parametrize(("form", "reply", "label"), PUBLISHED)
def test_a_published_form_is_read(form, reply, label):
    assert read_yes_no(reply).label == label


def test_not_attempted_is_neither_yes_nor_no():
    assert read_yes_no("NOT_ATTEMPTED").outcome == "unparsed"


@pytest.mark.parametrize(
    "word", ["yesterday", "eyes", "know", "not", "nothing", "note", "bayes", "casino", "是否", "对于", "有关"]
)
def test_a_verdict_is_never_a_part_of_a_word(word):
    assert read_yes_no(word).outcome == "unparsed"
    assert read_yes_no(f"{word} {UNRELATED}").outcome == "unparsed"


@pytest.mark.parametrize(("word", "value"), [("YES", 1.0), ("no", 0.0), ("Supported", 1.0), ("不支持", 0.0)])
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "**{}**",
        "[[{}]]",
        "\\boxed{{{}}}",
        "Verdict: {}",
        "Answer: {}.",
        "结论：{}",
        '{{"verdict": "{}"}}',
        "<verdict>{}</verdict>",
        "<think>maybe</think>\n{}",
    ],
)
def test_wrapping_a_verdict_never_changes_it(form, word, value):
    text = form.format(word)
    verdict = read_yes_no(text)
    assert verdict.value == value
    start, end = verdict.span
    assert text[start:end] == word
    assert read_yes_no(f"{text}\n\n{UNRELATED}").value == value
    assert read_yes_no(f"{UNRELATED}\n\n{text}").value == value


def test_the_reason_is_the_reply_without_the_verdict():
    assert read_yes_no("YES - passage 2 says so.").reason == "passage 2 says so."
    assert read_yes_no("The year differs.\nVerdict: NO").reason == "The year differs."
    assert read_yes_no('{"verdict": "no", "reason": "The year differs."}').reason == "The year differs."
    assert read_yes_no("<think>hm</think>YES\nIt is there.").reason == "It is there."


def test_what_a_judge_only_supposes_is_no_verdict():
    assert read_yes_no("YES.\n\nNote: with another context the answer might be NO.").label == "yes"
    for text in (
        "If the passage gave the year, I would answer YES.",
        "If the passage gave the year, the verdict would be YES.",
        "It should be checked if the statement is true.",
        'I would answer "yes" if the date were given.',
        'Verdict: "yes" if the date is right.',
        "如果资料支持，则为是。",
        "判断为“支持”，如果日期正确。",
    ):
        assert read_yes_no(text).outcome == "unparsed"


@pytest.mark.parametrize("said", ["得不到资料", "缺乏", "未能得到原文的", "在资料中找不到"])
def test_support_that_a_sentence_says_is_missing_is_a_no(said):
    assert read_yes_no(f"该陈述{said}支持。").label == "no"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("资料不足以支持该陈述。", "no"),
        ("没有资料支持这一说法。", "no"),
        ("没有证据支持该陈述。", "no"),
        ("没有证据能证明它是正确的。", "no"),
        ("没有信息缺失，陈述得到支持。", "yes"),
        ("没有证据表明该陈述是错误的。", ""),
        ("没有证据支持该陈述是错误的。", ""),
        ("没有资料支持该陈述与原文矛盾。", ""),
        ("没有证据反对该陈述。", ""),
        ("并非没有证据支持该陈述。", ""),
        ("毫无疑问，该陈述不仅得到支持，而且有数据。", "yes"),
        ("资料支持该陈述，没有不一致之处。", "yes"),
        ("该回答没有错误。", ""),
    ],
)
def test_a_denial_holds_for_the_words_next_to_it(reply, label):
    assert read_yes_no(reply).label == label


@pytest.mark.parametrize("said", ["supported", "correct", "faithful to the source"])
def test_a_sentence_that_names_its_source_is_read(said):
    assert read_yes_no(f"According to passage 2, the claim is {said}.").label == "yes"
    assert read_yes_no(f"According to passage 2, the claim is not {said}.").label == "no"


def test_the_span_of_a_long_reply_lies_in_the_reply_as_it_came():
    reply = "It rains. " * 5000 + '{"verdict": "NO"}'
    assert reply[slice(*read_yes_no(reply).span)] == "NO"
    reply = "It rains. " * 5000 + "\nVerdict: NO"
    assert reply[slice(*read_yes_no(reply).span)] == "NO"


@pytest.mark.parametrize(("finish", "kind"), [("length", "truncated"), ("stop", "none")])
def test_a_reply_that_was_cut_off_is_told_from_one_without_a_verdict(finish, kind):
    assert read_yes_no("The first passage describes", finish=finish).kind == kind


@pytest.mark.parametrize("finish", ["content_filter", "refusal"])
def test_what_the_endpoint_calls_a_refusal_is_one(finish):
    assert read_yes_no("The first", finish=finish).outcome == "refused"


@given(st.text(), st.sampled_from(["stop", "length", "content_filter"]))
def test_no_text_raises_and_a_score_has_its_value_and_span(text, finish):
    verdict = read_yes_no(text, finish=finish)
    if verdict.outcome == "scored":
        assert verdict.value == {"yes": 1.0, "no": 0.0}[verdict.label]
        start, end = verdict.span
        assert 0 <= start < end <= len(text)
    else:
        assert verdict.value is None


PIECES = [
    *'"{}[]:. \n',
    *("yes", "no", "verdict", "```", ">", "“", "”", "<think>", "</think>", "是", "不", "支持", "answer is", "İ"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_mixture_of_verdicts_and_marks_raises(parts):
    text = "".join(parts)
    verdict = read_yes_no(text)
    if verdict.span:
        assert text[slice(*verdict.span)].strip()


@pytest.mark.parametrize(
    "piece", ["{", '{"a":', "```", "~~", "> ", "[[", "<think>", "'", "the claim is ", "不", "\n> "]
)
def test_text_that_repeats_a_mark_without_end_holds_no_verdict(piece):
    verdict = read_yes_no(piece * (200_000 // len(piece)))
    assert (verdict.outcome, verdict.value) == ("unparsed", None)
