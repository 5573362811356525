"""The rules of other tools; expected letters are what those tools give, by their own code."""

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.replies.other_tools import RULES, _ended, first_option, last_letter, strict_only_letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        (" B \n", "B"),
        ("B.", ""),
        ("(B)", ""),
        ("b", ""),
        ("E", ""),
        ("", ""),
        ("BC", ""),
        ("Answer: B", ""),
    ],
)
def test_strict_only_letter_takes_a_letter_and_nothing_else(reply, letter):
    assert strict_only_letter(reply, 4) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [("A, then B", "B"), ("The answer is A. Because", "B"), ("B，D", "D"), ("no capitals", ""), ("B or E", "B")],
)
def test_last_letter_takes_the_last_capital_of_an_option_in_any_word(reply, letter):
    assert last_letter(reply, 4) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("答案是B。A是错的", "B"),
        ("因为A错误，故选D", "D"),
        ("The answer is (C), I think", "C"),
        ("The correct answer is given by \\boxed{D}", "D"),
        ("ANSWER: C", "C"),
        ("选项B正确，A错误", "B"),
        ("1. 因为如此，D", "D"),
        ("nothing at all", ""),
    ],
)
def test_first_option_finds_what_its_patterns_say(reply, letter):
    assert first_option(reply, 4) == letter


@pytest.mark.parametrize(
    ("reply", "letter", "why"),
    [
        ("Based on the text, I decline", "B", "the cushion takes a capital out of a word"),
        ("只有D是对的，A不是", "D", "the fused patterns know neither part, and the cushion takes the first capital"),
        ("故选D只有B是对的", "D", "the fused pattern matches where both parts follow each other"),
        ("The answer is: none, so C", "C", "a later pattern is tried where an earlier one finds no letter"),
        ("答案是（DB）", "B", "of a match with several letters the first in the alphabet is taken"),
    ],
)
def test_first_option_has_the_faults_of_its_source(reply, letter, why):
    assert first_option(reply, 4) == letter, why


def test_the_letters_go_as_far_as_the_options():
    assert [rule("J", 10) for rule in RULES.values()] == ["J", "J", "J"]
    assert [rule("J", 4) for rule in RULES.values()] == ["", "", ""]


@given(st.lists(st.sampled_from(["答案是", "答案", "是", "。", " ", "\n", "A", "Bx"]), max_size=12).map("".join))
def test_what_the_answer_ends_with_is_what_its_pattern_finds(text):
    text = text.strip()
    match = re.search(r"答案是\s?(\S+)(?:。|$)", text)
    assert _ended("答案是", text, "AB") == (match[1] if match else "")


def test_a_lead_that_is_repeated_takes_time_in_proportion():
    started = process_time()
    assert first_option("答案是" * 50_000 + "\nx", 4) == ""
    assert process_time() - started < 5  # 0.1 s; looking through the rest for each lead takes 80 s


@given(
    st.text(st.sampled_from("ABCZ答案是选项故只有对正确所以1.。:： \n$(boxed{}\ud800\0"), max_size=60),
    st.integers(2, 26),
)
def test_every_rule_gives_an_option_or_nothing(reply, count):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]
    for rule in RULES.values():
        letter = rule(reply, count)
        assert letter == "" or (letter in letters and letter in reply)
