"""Which of two a judge prefers: replies written by hand, and what must hold for any text."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.rating import read_preference

REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/preference_replies.jsonl").read_text("utf-8").splitlines()
]
UNRELATED = "The question was about bridges and rivers in the north."


def outcome(verdict):
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: reply["text"][:40])
def test_a_realistic_reply_is_read_as_a_person_reads_it(reply):
    names = tuple(reply.get("names", ("A", "B")))
    assert outcome(read_preference(reply["text"], finish=reply.get("finish", "stop"), names=names)) == reply["expected"]


@pytest.mark.parametrize(("label", "value"), [("A", 1.0), ("tie", 0.5), ("B", 0.0)])
@pytest.mark.parametrize(
    "form",
    [
        "[[{}]]",
        "[[ {} ]]",
        "Winner: {}",
        "**Verdict:** {}",
        '{{"winner": "{}"}}',
        "\\boxed{{{}}}",
        "<verdict>{}</verdict>",
        "胜者：{}",
    ],
)
def test_wrapping_a_verdict_never_changes_it(form, label, value):
    text = form.format(label)
    verdict = read_preference(text)
    assert (verdict.label, verdict.value) == (label, value)
    assert text[slice(*verdict.span)] == label
    assert read_preference(f"{UNRELATED}\n{text}").label == label
    assert read_preference(f"{text}\n{UNRELATED}").label == label


@pytest.mark.parametrize(
    "names", [("A", "B"), ("m", "M"), ("Summary #1", "Summary #2"), ("模型甲", "模型乙"), ("Tom", "Jerry")]
)
@pytest.mark.parametrize(
    "form", ["[[{}]]", "Winner: {}", "{} is better.", "{}更好", "I prefer {}.", '{{"winner": "{}"}}']
)
def test_both_names_are_told_from_each_other(form, names):
    assert [read_preference(form.format(name), names=names).label for name in names] == ["A", "B"]


def test_the_last_of_several_marks_holds():
    assert read_preference("[[A]] no, [[B]] no, [[A]]").label == "A"


@pytest.mark.parametrize(
    "quoted",
    [
        'It says "[[A]]".',
        "> [[A]]",
        "```\n[[A]]\n```\nstands in the answer, and more that is of no use to anybody who reads it.",
        "回答中写着“[[A]]”。",
    ],
)
def test_marks_inside_quoted_text_do_not_count(quoted):
    assert read_preference(f"{quoted}\n\n[[B]]\n\n{quoted}").label == "B"


@pytest.mark.parametrize(
    "text",
    ["Nothing to say.", "???", "A", "a b c", "Both.", "It is hard.", "两个回答。", "[[D]]", "[[tied to a tree]]"],
)
def test_what_cannot_be_read_is_never_a_tie(text):
    assert read_preference(text, names=("first one", "second one")).outcome == (
        "scored" if text == "Both." else "unparsed"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A is less helpful than B.", "B"),
        ("B is somewhat less accurate than A.", "A"),
        ("A is not as thorough as B.", "B"),
        ("I find B more helpful.", "B"),
        ("I found A to be clearer.", "A"),
        ("I find B less convincing.", "A"),
        ("I don't find B more helpful.", "none"),
        ("A is no less helpful than B.", "none"),
        ("A is less wordy than B.", "none"),
        ("A is less clear, but more accurate than B.", "ambiguous"),
        ("I find A more accurate, but B more helpful.", "ambiguous"),
    ],
)
def test_more_and_less_of_something_good_are_told_apart(text, expected):
    assert outcome(read_preference(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The former is better.", "A"),
        ("I prefer the latter.", "B"),
        ("Winner: the latter response", "B"),
        ("A is brief. B gives sources. The latter is better.", "B"),
        ("Response B gives sources and response A does not. The former is better.", "B"),
        ("Response B gives sources and response A does not. I prefer the latter.", "A"),
        ("B is long. A is short. The former is better.", "B"),
        ("A good point of B is its length; A is short. I prefer the former.", "B"),
        ("B is long. A is short. B has sources. I prefer the former.", "none"),
        ("B is long. A is short. B has sources. I prefer the former. [[A]]", "A"),
        ("前者更好。", "A"),
        ("后者优于前者。", "B"),
        ("回答B较长，回答A较短。前者更好。", "B"),
    ],
)
def test_the_former_and_the_latter_are_whoever_the_reply_names_first_and_second(text, expected):
    assert outcome(read_preference(text)) == expected


@pytest.mark.parametrize("names", [("Tom", "Jerry"), ("Summary #1", "Summary #2"), ("模型甲", "模型乙")])
@pytest.mark.parametrize(("mark", "label"), [("[[A]]", "A"), ("[[ B ]]", "B"), ("[[C]]", "tie"), ("\\boxed{B}", "B")])
def test_marks_with_letters_are_read_whatever_the_two_are_called(names, mark, label):
    assert read_preference(f"Both are long. {mark}", names=names).label == label


@pytest.mark.parametrize(
    ("names", "mark", "label"),
    [
        (("Assistant B", "Assistant A"), "[[A]]", "B"),
        (("b", "x"), "[[A]]", ""),
        (("C", "D"), "[[C]]", "A"),
        (("B", "C"), "[[C]]", "B"),
    ],
)
def test_a_letter_that_is_a_name_stays_that_name(names, mark, label):
    assert read_preference(mark, names=names).label == label


@pytest.mark.parametrize("names", [("", "B"), ("A", " "), ("A", "A"), ("A", "Ａ")])
def test_names_that_cannot_be_told_apart_are_refused(names):
    with pytest.raises(ValueError, match="two different names"):
        read_preference("A", names=names)


@given(st.text(), st.sampled_from(["stop", "length"]))
def test_no_text_raises_and_a_score_has_its_value_and_span(text, finish):
    verdict = read_preference(text, finish=finish)
    if verdict.outcome == "scored":
        assert verdict.value == {"A": 1.0, "tie": 0.5, "B": 0.0}[verdict.label]
        start, end = verdict.span
        assert 0 <= start < end <= len(text)


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_any_two_names_can_be_looked_for(one, two):
    try:
        verdict = read_preference(f"[[{one}]]", names=(one, two))
    except ValueError:
        return
    assert verdict.label != "B" or verdict.outcome == "scored"


@pytest.mark.parametrize(
    "piece",
    [
        "A",
        "A ",
        "[[",
        "[[A]] ",
        "A is ",
        "better ",
        "both ",
        "Winner: ",
        "A B ",
        '"',
        "{",
        '{"a":',
        "回答A",
        "更",
        "```\n",
        "> ",
        "\n",
        " ",
        "I prefer ",
        "A和B",
        "the former ",
        "A is short. The latter is not. ",
        "I find ",
    ],
)
def test_hostile_text_is_read_in_time_that_grows_with_its_length(piece):
    def seconds(count):
        text = piece * (count // len(piece))
        start = time.process_time()
        read_preference(text)
        return time.process_time() - start

    assert seconds(200_000) < 2 + 30 * seconds(20_000)
