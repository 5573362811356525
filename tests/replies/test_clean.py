import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.clean import fold
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
