"""Whether a judge says yes or no: replies written by hand, and what must hold for any text."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.rating import read_yes_no

REPLIES = [
    json.loads(line) for line in (Path(__file__).parent / "data/yes_no_replies.jsonl").read_text("utf-8").splitlines()
]
UNRELATED = "The passage speaks about bridges and rivers in the north."


def outcome(verdict):
    if verdict.outcome == "scored":
        return verdict.label
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: reply["text"][:40])
def test_a_realistic_reply_is_read_as_a_person_reads_it(reply):
    assert outcome(read_yes_no(reply["text"], finish=reply.get("finish", "stop"))) == reply["expected"]


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


@given(
    st.lists(
        st.sampled_from(
            [
                '"',
                "{",
                "}",
                "[",
                ":",
                "yes",
                "no",
                "verdict",
                " ",
                "\n",
                "```",
                ">",
                "“",
                "”",
                "<think>",
                "</think>",
                "是",
                "不",
                "支持",
                ".",
                "answer is",
                "İ",
            ]
        ),
        max_size=30,
    )
)
def test_no_mixture_of_verdicts_and_marks_raises(parts):
    text = "".join(parts)
    verdict = read_yes_no(text)
    if verdict.span:
        assert text[slice(*verdict.span)].strip()


@pytest.mark.parametrize(
    "piece",
    [
        "yes ",
        "no",
        "the answer is ",
        '"',
        "{",
        '{"a":',
        "the claim is ",
        "不",
        "```\n",
        "> ",
        "\n",
        " ",
        "[[",
        "Verdict: ",
        "the context ",
        "<think>",
        "'",
        "是,",
    ],
)
def test_hostile_text_is_read_in_time_that_grows_with_its_length(piece):
    def seconds(count):
        text = piece * (count // len(piece))
        start = time.process_time()
        read_yes_no(text)
        return time.process_time() - start

    assert seconds(200_000) < 2 + 30 * seconds(20_000)
