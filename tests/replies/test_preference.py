"""Which of two a judge prefers: published forms, sentences by family, and what holds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.preference import read_preference

REPLIES = stored("preferences")
LEAST = {
    "English: declared": 0.99,
    "English: in a sentence": 0.88,
    "English: in JSON": 1.0,
    "English: no verdict": 0.9,
    "English: verdicts to choose from": 1.0,
    "Chinese: declared": 1.0,
    "Chinese: in a sentence": 1.0,
    "Chinese: in JSON": 1.0,
    "Chinese: no verdict": 0.77,
}
"""Per family of sentences that people thought of: the share that is read as they meant it."""
PUBLISHED = [
    ("MT-bench", "Assistant A is more precise. [[A]]", "A"),
    ("MT-bench", "Both are right.\n\n[[C]]", "tie"),
    ("Arena-Hard", "My final verdict is Assistant A is significantly better: [[A>>B]]", "A"),
    ("Arena-Hard", "My final verdict is Assistant B is slightly better: [[B>A]]", "B"),
    ("Arena-Hard", "My final verdict is tie, relatively the same: [[A=B]]", "tie"),
    ("AlpacaEval, weighted", "m", "A"),
    ("AlpacaEval, weighted", "M", "B"),
    ("AlpacaEval, annotators", "Output (a)", "A"),
    ("AlpacaEval, annotators", "Therefore, Output (b) is better.", "B"),
    ("AlpacaEval, ranks", "[\n{'model': 'model_1', 'rank': 2},\n{'model': 'model_2', 'rank': 1}\n]", "B"),
    ("AlpacaEval, ranks", '[{"model": "model_1", "rank": 1}, {"model": "model_2", "rank": 2}]', "A"),
    ("AlpacaEval, equal ranks", '[{"model": "model_1", "rank": 1}, {"model": "model_2", "rank": 1}]', "tie"),
    (
        "AlpacaEval, ranks of a function call",
        '{"ordered_models": [{"rank": 1, "model": "model_2"}, {"rank": 2, "model": "model_1"}]}',
        "B",
    ),
    ("PandaLM", "2\n\n### Reason: Response 1 is wrong.", "B"),
    ("PandaLM", "Tie", "tie"),
    ("Auto-J", "So, the final decision is Response 2.", "B"),
    ("Auto-J", "So, the final decision is Tie.", "tie"),
    ("Summaries", "Comparison: the first is complete.\nPreferred: A", "A"),
    ("LLMBar", "Output (b) is better.", "B"),
    ("LlamaIndex, pairwise", "B is longer.\n[[B]]", "B"),
]
UNRELATED = "The question was about bridges and rivers in the north."
SAID = ("none", "empty", "truncated", "ambiguous")


def outcome(verdict):
    return verdict.label or (verdict.outcome if verdict.outcome == "refused" else verdict.kind)


def read(row):
    return outcome(
        read_preference(row["text"], finish=row.get("finish", "stop"), names=tuple(row.get("names", ("A", "B"))))
    )


def is_as_meant(row):
    return read(row) == row["expected"] or (row["expected"] == "unread" and read(row) in SAID)


def test_sentences_of_a_family_are_read_as_meant():
    assert_read_as_meant(REPLIES, LEAST, is_as_meant)


def test_no_sentence_has_a_wrong_verdict():
    wrong = [row["text"] for row in REPLIES if read(row) in {"A", "B", "tie"} and not is_as_meant(row)]
    assert not wrong


@pytest.mark.parametrize(("form", "reply", "label"), PUBLISHED)
def test_a_published_form_is_read(form, reply, label):
    names = ("m", "M") if "weighted" in form else ("A", "B")
    assert read_preference(reply, names=names).label == label


def test_the_marks_that_the_instructions_name_are_no_verdict():
    told = '"[[A]]" if assistant A is better, "[[B]]" if assistant B is better, and "[[C]]" for a tie'
    assert read_preference(f"Output your verdict as {told}.").outcome == "unparsed"
    assert read_preference(f"I output {told}. B is right: [[B]]").label == "B"


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


def test_a_closing_tag_declares_nothing_behind_it():
    assert read_preference("<verdict>A</verdict>Response B is longer, but adds nothing.").label == "A"


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
    "text", ["Nothing to say.", "???", "A", "a b c", "It is hard.", "两个回答。", "[[D]]", "[[tied to a tree]]"]
)
def test_what_cannot_be_read_is_never_a_tie(text):
    assert read_preference(text, names=("first one", "second one")).outcome == "unparsed"


@pytest.mark.parametrize(
    "text",
    [
        'The winner is "A" if style counts.',
        "A is better-written.",
        "A is better structure.",
        "清晰度方面：A更好",
        "准确性：A更好；流畅性：B更好。",
        "深度：B更好，语言：A更好",
    ],
)
def test_what_holds_of_one_aspect_or_under_a_condition_is_no_preference(text):
    assert read_preference(text).outcome == "unparsed"


def test_what_a_judge_only_supposes_is_no_preference():
    assert read_preference("If style mattered, A would be better. It does not: B is better.").label == "B"


def test_a_place_in_a_long_reply_is_the_place_in_the_reply_as_it_came():
    reply = "The river is long. " * 3000 + "Final verdict: [[B]]"
    assert reply[slice(*read_preference(reply).span)] == "B"


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


@pytest.mark.parametrize("text", ["The former is better.", "B is long. A is short. I prefer the latter.", "前者更好。"])
def test_the_former_and_the_latter_are_never_guessed(text):
    assert read_preference(text).outcome == "unparsed"


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
    "piece", ["A ", "[[", "A is ", "better ", "Winner: ", "{", '{"a":', "回答A", "```", "> ", "A和B"]
)
def test_text_that_repeats_a_mark_without_end_holds_no_verdict(piece):
    verdict = read_preference(piece * (200_000 // len(piece)))
    assert (verdict.outcome, verdict.value) == ("unparsed", None)
