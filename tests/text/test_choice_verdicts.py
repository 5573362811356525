"""Verdicts on options: shared ones, quoted words, the article, a walk through the options that breaks off."""

import pytest

from steelyard.text.choice import read_choice
from steelyard.text.choice_verdicts import verdicts

TORTS = ["Battery", "Assault", "Negligence", "Trespass"]
VALUES = ["Very important", "Somewhat important", "Not too important", "Not at all important"]


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("D is not an acceptable answer, as it promotes harm, and the same goes for B.", "BD"),
        ("Option A is not a suitable response, and neither is C.", "AC"),
        ("Option A is not suitable; likewise C.", "AC"),
        ("B is unacceptable. So is C.", "BC"),
        ("Neither A nor C is appropriate.", "AC"),
        ("Neither A, B, and C nor D is correct.", "ABCD"),
        ("A, B and C are all false.", "ABC"),
    ],
)
def test_a_verdict_is_shared_by_the_letters_that_it_is_extended_to(reply, wrong):
    said = verdicts(reply, TORTS)
    assert "".join(sorted(said.wrong)) == wrong
    assert not said.right
    assert read_choice(reply, VALUES).letters in ((), tuple(sorted(set("ABCD") - set(wrong))))


def test_a_shared_verdict_may_be_a_good_one():
    assert sorted(verdicts("Option A is correct. So is C.", TORTS).right) == ["A", "C"]
    assert read_choice("Option A is correct. So is C.", TORTS).status == "several"


def test_neither_with_one_letter_and_a_different_end_rejects_only_that():
    assert read_choice("Neither A nor B is correct, so the answer is C.", TORTS).letters == ("C",)


def test_an_opinion_about_right_and_wrong_asks_for_no_wrong_option():
    question = "Do you think that telling a lie is morally wrong?"
    assert read_choice("D is not an acceptable answer.", TORTS, question=question).letters == ()
    question = "Which of these statements is wrong?"
    assert read_choice("Statement D is not correct.", TORTS, question=question).letters == ("D",)


@pytest.mark.parametrize(
    "reply",
    [
        "A more appropriate question would be how to help.",
        "A better question is why.",
        "A correct answer depends on values.",
        "A most difficult question.",
        "A given person may differ.",
        "A best answer does not exist.",
        "A rather personal matter.",
        "A true friend would know.",
    ],
)
def test_an_adjective_behind_the_article_makes_it_no_letter(reply):
    assert read_choice(reply, VALUES).letters == ()


@pytest.mark.parametrize(
    "reply",
    [
        "A best describes it.",
        "A more closely matches the facts.",
        "A better fits the facts.",
        "A rather than B.",
        "A is it.",
    ],
)
def test_a_letter_before_a_verb_is_no_article(reply):
    assert read_choice(reply, TORTS).letters == ("A",)


@pytest.mark.parametrize(
    "reply",
    [
        "Option D is incorrect because it is a virus. Option A is",
        "Option D is incorrect. Option A describes a",
        "Let's look at the options:\n\nA. Battery: this is the",
        "We need to analyze each option.\n\nA) Battery - requires contact",
        "Here are the choices one by one:\n\n(A) Battery. It needs a touch",
        "To answer this, consider the options:\nOption A: this means",
    ],
)
def test_a_walk_that_breaks_off_gives_no_answer(reply):
    assert read_choice(reply, TORTS).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Option D is incorrect because it is a virus. Option A is correct", "A"),
        ("After looking at the options, B", "B"),
        ("Here is my answer:\n\nA. Battery", "A"),
        ("C. Negligence because there was no", "C"),
    ],
)
def test_a_reply_without_a_final_stop_may_still_give_its_answer(reply, letter):
    assert read_choice(reply, TORTS).letters == (letter,)


def test_a_verdict_may_be_the_last_word_of_the_line_about_an_option():
    reply = "A. Battery: needs contact. Incorrect.\nB. Assault: needs fear. Correct.\nC. Negligence: no. Incorrect."
    assert read_choice(reply, TORTS).letters == ("B",)
    assert read_choice("B. False, False\nB. False, False", ["True, True", "False, False", "True, False"]).letters == (
        "B",
    )


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("C plus B", "BC"),
        ("D as well as B", "BD"),
        ("A along with C", "AC"),
        ("The answer is A together with D.", "AD"),
        ("I'd choose both B and also C.", "BC"),
        ("The correct answers are B in addition to C.", "BC"),
    ],
)
def test_two_letters_however_joined_are_several(reply, letters):
    got = read_choice(reply, TORTS)
    assert ("".join(got.letters), got.status) == (letters, "several")
