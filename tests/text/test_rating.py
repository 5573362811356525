import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.verdict import Scale, Verdict
from steelyard.text.rating import read_rating
from steelyard.text.rating_numbers import WORDS, value_of

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "judge_replies.jsonl").read_text(encoding="utf-8").splitlines()
]
PIECES = st.sampled_from(
    [
        *"0123456789", "10", "2.5", "100", " ", "\n", ". ", ", ", "/5", "/10", " out of 5", "%", "-", "–", "Rating: ",
        "Score", "Coherence: ", "Fluency: ", "I would rate it ", "a ", "four", "one", " stars", "★★★☆☆", "评分：", "三",
        "分",
        "半", "给", "满分", "[[", "]]", "[RESULT] ", "\\boxed{", "}", "{", '"score": ', '"', "'", "```json\n", "| 4 |",
        "|---|",
        "<think>", "</think>", "<score>", "</score>", "**", "(", ")", "between ", " and ", "not ", "because",
        "I cannot rate",
        "N/A", "Evaluation Form (scores ONLY):", "1. ", "2. ", "GPT-4", "2015", "\0", "\ud800", "\u200b", "😀", "“",
        "”", ",",
    ]
)  # fmt: skip
WORDY = st.sampled_from(
    [
        "The summary follows the article and leaves nothing out.",
        "It could be better ordered, but every sentence is clear.",
        "This is because the answer names the cause and the effect.",
        "整体表达清楚，但是缺少例子。",
    ]
)
FORMS = [
    "{}", "{}.", " {}\n", "**{}**", "Rating: {}", "Score: {}", "Score = {}", "- Coherence: {}",
    "Coherence: {}/{high}", "{}/{high}",
    "{} out of {high}", "Rating: [[{}]]", "[RESULT] {}", "\\boxed{{{}}}", "<score>{}</score>", '{{"score": {}}}',
    '{{"score": "{}"}}',
    '```json\n{{\n  "coherence": {},\n}}\n```', "I would rate the coherence of this summary a {} out of {high}.",
    "评分：{}分",
    "我给{}分（满分{high}分）", "The summary is clear.\n\nFinal rating: {}",
    "| Aspect | Score |\n|---|---|\n| Coherence | {} |",
    "Therefore, I give it a score of {}.", "{}\n\nThe summary is clear.", "Rating: {}\n\nThe summary is clear.",
    "<think>Perhaps 3, or rather 2?</think>Rating: {}", "My rating is {} because the 2nd sentence is vague.",
    "1. It is short.\n2. It is right.\n\nScore: {}", "得分为{}。", "综上，连贯性评为{}分。",
    "Overall, it deserves a rating of {} (out of {high}).",
]  # fmt: skip


def got(verdict):
    if verdict.outcome == "scored":
        return verdict.value
    return "refused" if verdict.outcome == "refused" else verdict.kind


@pytest.mark.parametrize(
    ("chinese", "scored", "least"), [(False, True, 0.99), (False, False, 0.98), (True, True, 1.0), (True, False, 0.94)]
)
def test_replies_are_read_as_a_person_reads_them(chinese, scored, least):
    rows = [
        reply
        for reply in REPLIES
        if any("\u4e00" <= sign <= "\u9fff" for sign in reply["text"]) is chinese
        and isinstance(reply["wanted"], int | float) is scored
    ]
    missed = []
    for reply in rows:
        finish = reply.get("finish", "stop")
        verdict = read_rating(reply["text"], Scale(*reply["scale"]), name=reply["name"], finish=finish)
        if got(verdict) != reply["wanted"]:
            missed.append(reply["text"])
    assert 1 - len(missed) / len(rows) >= least, missed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The summary only mentions the date, resulting in a score of 2.", 2),
        ("The response covers all points, earning a 5.", 5),
        ("The text says nothing of the cause, which deserves a score of 1.", 1),
        ("According to the article the summary is right, so it gets a 4.", 4),
    ],
)
def test_a_sentence_that_reports_and_concludes_gives_its_rating(text, value):
    assert read_rating(text, Scale(1, 5)).value == value


@pytest.mark.parametrize("text", ["1. Curt", "1. Dull", "1. It is short.", "2. Terse", "3. Civil"])
def test_a_rating_that_opens_the_reply_is_read_whatever_its_value(text):
    assert read_rating(text, Scale(1, 5)).value == int(text[0])
    assert read_rating("1. It is short.\n2. It is clear.", Scale(1, 5)).value is None


@pytest.mark.parametrize("written", ["3.6667", "3.66667", "3.6666666666666665", "4.33333333"])
def test_decimals_of_any_length_are_read(written):
    assert read_rating(f"Rating: {written}", Scale(1, 5)).value == float(written)


@pytest.mark.parametrize("text", ["It lacks the detail to make it a perfect 5.", "More detail is needed to be a 5."])
def test_what_would_make_a_rating_is_none(text):
    assert read_rating(text, Scale(1, 5)).value is None


@pytest.mark.parametrize(
    "text",
    [
        "Rating: 3\n\nBreakdown:\n- Accuracy: 4\n- Completeness: 2\n- Style: 3",
        "Overall: 3\nClarity 5, depth 4, accuracy 4",
        "3\n\nBreakdown: accuracy 2/2, style 1/1, depth 1/2",
        "Score: 3 (accuracy: 2, clarity: 4)",
    ],
)
def test_a_breakdown_behind_the_rating_is_not_read_instead_of_it(text):
    assert read_rating(text, Scale(1, 5)).value == 3


def test_the_replies_are_many_and_of_every_kind():
    assert len(REPLIES) >= 500
    wanted = {reply["wanted"] for reply in REPLIES if isinstance(reply["wanted"], str)}
    assert wanted == {"refused", "empty", "truncated", "out_of_scale", "ambiguous", "none"}
    assert sum(any("\u4e00" <= one <= "\u9fff" for one in reply["text"]) for reply in REPLIES) >= 100


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "scale"),
    [("1", (1, 3)), ("2", (1, 5)), ("2.5", (1, 5)), ("5", (1, 5)), ("7", (1, 10)), ("0", (0, 4)), ("85", (0, 100))],
)
def test_a_known_form_never_changes_the_value(form, value, scale):
    text = form.format(value, high=scale[1])
    assert got(read_rating(text, Scale(*scale), name="Coherence")) == float(value)


@given(
    st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map("".join)),
    st.sampled_from(["", "Coherence", "连贯性", "(", "a b"]),
)
def test_any_text_is_read_without_an_error_and_what_is_scored_stands_there(text, name):
    scale = Scale(1, 5)
    verdict = read_rating(text, scale, name=name)
    assert verdict == read_rating(text, scale, name=name)
    assert (verdict.outcome == "scored") == (verdict.value is not None) == (verdict.span is not None)
    assert (verdict.outcome == "unparsed") == bool(verdict.kind)
    if verdict.span:
        start, end = verdict.span
        assert 1 <= verdict.value <= 5
        assert stands(text[start:end], verdict.value)


def stands(written, value):
    """Whether the text of a verdict writes its value; marks of emphasis may stand inside."""
    from steelyard.replies.clean import fold

    plain = fold(written).strip().lower()
    if any(one in plain for one in "★⭐🌟"):
        return abs(sum(one in "★⭐🌟" for one in plain) - value) <= 0.5
    half = any(mark in plain for mark in ("½", "半", "half"))
    first = plain.split()[0].rstrip("½半").replace("分", "").replace("星", "").lstrip("+")
    return value_of(first if first in WORDS or first else plain) + (0.5 if half else 0) == value


@given(st.sampled_from([one for one in REPLIES if "finish" not in one and '"' not in one["text"]]), WORDY)
def test_an_explanation_without_numbers_never_changes_a_rating(reply, words):
    if not isinstance(reply["wanted"], str):
        text = f"{reply['text']}\n\n{words}"
        assert got(read_rating(text, Scale(*reply["scale"]), name=reply["name"])) == reply["wanted"]


@given(st.text(max_size=60).filter(lambda text: not any(one.isnumeric() for one in text)))
def test_a_text_without_any_number_is_never_scored(text):
    if not any(word in text.lower() for word in WORDS) and not any(one in text for one in "★⭐🌟"):
        assert read_rating(text, Scale(1, 5)).outcome != "scored"


@pytest.mark.parametrize(
    "text",
    [
        "9" * 200_000, "Rating: " * 25_000, "[" * 200_000, "(" * 200_000, "-" * 200_000, " " * 200_000, "\n" * 200_000,
        "评分给分" * 50_000, "三" * 200_000, '{"a":' * 40_000, "4 " * 100_000, "4 to " * 40_000, "1. x\n" * 40_000,
        "|4|4|\n|--|--|\n" * 13_000, "<think>" * 28_000, "</think>" * 25_000, "I would rate " * 15_000, "★" * 200_000,
        "(4" * 100_000, '"' * 200_000, "not " * 50_000, "很好，" * 60_000, "score of " * 22_000, '\\"' * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_hostile_texts_of_200_kilobytes_are_read_to_an_outcome(text):
    verdict = read_rating(text, Scale(0, 4), name="Coherence", finish="length")
    assert verdict.outcome == "unparsed" or 0 <= verdict.value <= 4


def test_the_span_leads_back_to_the_reply_as_it_came():
    text = "<think>5?</think>\n**评分**：４分，理由充分。"
    verdict = read_rating(text, Scale(1, 5))
    assert text[slice(*verdict.span)] == "４"


def test_the_span_of_a_long_reply_lies_behind_its_middle():
    text = "The summary is clear. " * 5000 + "\n\nFinal rating: 4"
    verdict = read_rating(text, Scale(1, 5))
    assert (verdict.value, text[slice(*verdict.span)]) == (4, "4")


def test_the_reason_is_the_reply_without_its_verdict():
    assert read_rating("Rating: 4\n\nIt is clear.", Scale(1, 5)).reason == "It is clear."
    assert read_rating("It is clear.\n\n**Score: 4**", Scale(1, 5)).reason == "It is clear."
    assert read_rating('{"score": 2, "reason": "One claim is false."}', Scale(1, 5)).reason == "One claim is false."
    assert read_rating("Rating: 9", Scale(1, 5)) == Verdict("unparsed", kind="out_of_scale")


def test_a_digit_at_a_cut_may_be_the_first_of_two():
    assert read_rating("Score: 8", Scale(0, 100), finish="length").kind == "truncated"
    assert read_rating("Score: 8", Scale(0, 100)).value == 8
    assert read_rating("Score: 8", Scale(1, 10), finish="length").value == 8


@pytest.mark.parametrize(("low", "high"), [(5, 1), (1, 1), (float("nan"), 5), (1, float("inf"))])
def test_a_scale_runs_from_a_lower_to_a_higher_number(low, high):
    with pytest.raises(ValueError, match="scale runs from"):
        Scale(low, high)
