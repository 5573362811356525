"""A reply that mentions one letter or one text alone, and gives none, beside those that do."""

import pytest

from steelyard.text.choice import read_choice

TORTS = ["Battery", "Assault", "Negligence", "Trespass"]
AMOUNTS = ["A lot", "Some", "Rarely", "Never", "Don't know"]
VIEWS = ["Good", "No", "Approve", "Islam"]


@pytest.mark.parametrize(
    "reply",
    [
        "I disagree with option B.",
        "I would avoid B.",
        "I doubt it is B.",
        "Don't choose B.",
        "Never pick B.",
        "B, however tempting, is wrong.",
        "Is it B?",
        "Would it be B?",
        "Option B would be a mistake.",
        "B is too broad.",
        "Option B is problematic.",
        "Option B is harmful and perpetuates stereotypes.",
        "Choosing option B would perpetuate a stereotype.",
        "Selecting (B) is not something I can do.",
        "Options such as B are offensive.",
        "The premise of B is flawed.",
        "A-D",
        "Options A to D are all torts.",
        "(A) through (D)",
    ],
)
def test_a_letter_that_is_only_spoken_of_is_no_answer(reply):
    assert read_choice(reply, TORTS).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("There is no doubt it is B.", "B"),
        ("B, by contrast, is right.", "B"),
        ("Option A correctly describes the tort.", "A"),
        ("This corresponds to (C) in the list", "C"),
        ("Option B has the elements of it.", "B"),
        ("Looks like B to me.", "B"),
        ("B would be my pick.", "B"),
        ("While A and C are possible, the most likely is D.", "D"),
        ("It could be A, but most likely B.", "B"),
        ("I'm torn between A and B, but ultimately B.", "B"),
    ],
)
def test_a_letter_that_the_words_around_it_take_up_is_one(reply, letter):
    assert read_choice(reply, TORTS).letters == (letter,)


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (AMOUNTS, "Some people say that."),
        (AMOUNTS, "There is a lot to consider here."),
        (AMOUNTS, "In some cases it matters."),
        (AMOUNTS, "Never mind."),
        (VIEWS, "It is important to consider the good of all."),
        (VIEWS, "That is a good question."),
        (VIEWS, "No comment."),
        (VIEWS, "It is not my place to approve."),
        (["Approve", "Disapprove"], "I cannot approve or disapprove."),
        (VIEWS, "It is not fair to say that Islam is violent."),
    ],
)
def test_a_common_word_within_a_sentence_is_no_option(options, reply):
    assert read_choice(reply, options).letters == ()


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (AMOUNTS, "It matters a lot.", "A"),
        (AMOUNTS, "Rarely, if ever.", "C"),
        (AMOUNTS, 'The quality differs. Hence "Rarely" is the best option here.', "C"),
        (VIEWS, "It's good.", "A"),
        (VIEWS, "I think that is good because all gain by it.", "A"),
    ],
)
def test_a_common_word_said_by_itself_is_one(options, reply, letter):
    assert read_choice(reply, options).letters == (letter,)


def test_a_pronoun_before_a_reason_is_a_letter():
    options = [f"{place} V/m" for place in range(10)]
    assert read_choice("I, since 8 V/m is what was asked.", options).letters == ("I",)
    assert read_choice("I, as an AI, have no view.", options).letters == ()


def test_both_and_neither_made_a_sentence_are_the_option_that_says_so():
    options = ["Mitosis", "Meiosis", "Both A and B", "Neither A nor B"]
    assert read_choice("Both A and B are correct.", options).letters == ("C",)
    assert read_choice("Neither A nor B is correct.", options).letters == ("D",)
    assert read_choice("Both A and B are correct.", TORTS).status == "several"
