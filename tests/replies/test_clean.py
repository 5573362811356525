import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.choice import read_choice
from steelyard.replies.clean import answer_part, fold
from steelyard.replies.options import condense, is_formula


@given(st.text())
def test_folding_and_lower_case_move_no_character(text):
    assert len(fold(text)) == len(fold(text).lower()) == len(text)


@given(st.text(), st.booleans())
def test_every_condensed_character_leads_back_to_its_own(text, signs):
    folded = fold(text)
    condensed = condense(folded, signs=signs)
    for index, character in enumerate(condensed.text):
        original = folded.lower()[condensed.origin(index)]
        assert character in {original, "·"}


@pytest.mark.parametrize("written", ["Ｂ", "Ⓑ", "𝐁", "𝗕", "🅱", "🄱"])
def test_letters_in_other_shapes_become_plain(written):
    assert fold(written) == "B"


def test_only_texts_with_figures_or_signs_are_formulas():
    assert is_formula("3 N")
    assert not is_formula("the friend, only")


def test_signs_are_kept_on_request_only():
    assert condense("x = -1.50!").text == "x150"
    assert condense("x = -1.50!", signs=True).text == "x=-1·50"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>"),
        ("<|channel>thought\n", "<channel|>B<turn|>"),
        ("<|inner_prefix|>", "<|inner_suffix|>B"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>B<|close|>response<|sep|>"),
        ("<seed:think>", "</seed:think>\nB"),
        ("<mm:think>", "</mm:think>B"),
        ("analysis", "assistantfinalB"),
    ],
)
def test_reasoning_is_no_part_of_the_answer_whatever_its_marks(before, after):
    reply = f"{before}Perhaps pines. The answer is A.{after}"
    assert answer_part(reply) == "B"
    assert read_choice(reply, ["pines", "oaks"]).letters == ("B",)


def test_reasoning_under_a_heading_ends_where_the_response_begins():
    reply = "Here is my thought process:\nThe answer is A.\n\nHere is my response:\nB"
    assert read_choice(reply, ["pines", "oaks"]).letters == ("B",)


def test_reasoning_that_broke_off_gives_no_answer():
    reply = "analysisWe compare both. The answer is A."
    assert answer_part(reply) == ""
    assert read_choice(reply, ["pines", "oaks"]).status == "empty"
    assert read_choice("Analysis: A grows. The answer is B.", ["pines", "oaks"]).letters == ("B",)


def test_the_token_that_begins_an_answer_without_reasoning_is_no_part_of_it():
    assert answer_part("<|START_RESPONSE|>B<|END_RESPONSE|>") == "B"


@pytest.mark.parametrize(
    "code", ["analysisResult = load()\nprint(analysisResult)", "analysisResult", "analysisMap.get(1)"]
)
def test_a_name_in_code_is_no_mark_of_reasoning(code):
    assert answer_part(code) == code
