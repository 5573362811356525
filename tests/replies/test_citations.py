"""Citation marks are blanked, and a number in brackets that is the answer stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Output, Sample
from steelyard.replies.citations import without_citations
from steelyard.scorers import NumberMatch

FEE = Sample("1", "What is the fee in euros?", "5")


@pytest.mark.parametrize(
    "text",
    [
        "The fee is 5 euros [2].",
        "The fee is 5 euros[7][13].",
        "The fee is 5 euros 【4†source】.",
        "The fee is 5 euros【4:0†fees.pdf】",
        "The fee is 5 euros.[^12]",
        "The fee is 5 euros [2, 9].",
        "The fee is 5 euros [2-9].",
        "费用是5欧元【2】。",
        "It is 5 euros [1] in all [3]",
    ],
)
def test_a_mark_behind_what_it_supports_is_no_number(text):
    assert NumberMatch(mode="final")(FEE, Output(text)).value == 1
    assert NumberMatch()(Sample("2", "?", "2 7 13 9 4 12 3 1"), Output(text)).value == 0


@pytest.mark.parametrize(
    "text",
    ["The answer is [5]", "[5]", "Result: [5]", "答案是【5】", "x = [3, 5]", "The fee, in 2024, is [5].", "[[5]]"],
)
def test_a_number_in_brackets_that_is_the_answer_stays(text):
    assert NumberMatch(mode="final")(FEE, Output(text)).value == 1


@given(st.text(alphabet="a1 [2]【】^†.,;", max_size=40))
def test_offsets_stay_and_a_text_with_numbers_keeps_one_unless_all_are_certain_marks(text):
    without = without_citations(text)
    assert len(without) == len(text)
    assert all(after in {before, " "} for before, after in zip(text, without, strict=True))
    if "†" not in text and "^" not in text and any(mark.isdigit() for mark in text):
        assert any(mark.isdigit() for mark in without)
