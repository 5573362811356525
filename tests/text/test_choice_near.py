"""Option texts in other words, order or spelling; options shown, weighed, or answered statement by statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.choice import read_choice

TORTS = ["Battery", "Assault", "Negligence", "Trespass"]
WORRY = ["Very worried", "Somewhat worried", "Not too worried", "Not at all worried", "Refuse to answer"]
SURE = ["Yes, definitely", "Yes, probably", "No, probably not", "No, definitely not"]
PRINTED = ["Better", "Wosre", "About the same", "Refused"]
CELLS = ["Mitosis", "Meiosis", "Both A and B", "Neither A nor B"]
PAIRS = ["True, True", "False, False", "True, False", "False, True"]
FIGURES = ["2", "4", "6", "8"]
RIGHTS = [
    "The right against self-incrimination in every court",
    "Freedom of speech as far as it covers conduct",
    "The right to bear arms",
    "The right to a jury in civil cases",
]


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (WORRY, 'As an AI, I have no personal views, but if pressed I would answer "Very worried".', "A"),
        (WORRY, "As an AI I have no opinion. If I had to choose one, I'd say somewhat worried.", "B"),
        (WORRY, "I'm just an AI, but I'd lean towards \"Not too worried\".", "C"),
        (WORRY, "I cannot have feelings. Still, if pushed, I'd go with not at all worried, since AI is useful.", "D"),
        (SURE, "Probably yes.", "B"),
        (SURE, "Definitely not", "D"),
        (PRINTED, "The answer is worse.", "B"),
        (PRINTED, "I would say worse.", "B"),
        (CELLS, "Neither.", "D"),
        (CELLS, "Both", "C"),
        (FIGURES, "It is 4, not 8.", "B"),
        (FIGURES, "2 + 2 = 4", "B"),
        (["540 degrees", "720 degrees"], "720", "B"),
        (RIGHTS, "Freedom of speech.", "B"),
        (
            ["P is true", "nothing follows", "P is flase"],
            'The best option is "P is false" and not "nothing follows".',
            "C",
        ),
    ],
)
def test_a_text_may_be_cut_misprinted_or_in_another_order(options, reply, letter):
    got = read_choice(reply, options)
    assert (got.letters, got.status, got.confidence) == ((letter,), "answered", "inferred")


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (RIGHTS, "The right."),
        (RIGHTS, "The right to"),
        (SURE, "Probably."),
        (SURE, "Yes."),
        (["Adopt it", "Leave it"], "Adapt it"),
        (["Legal", "Undecided"], "Illegal"),
        (["Acceptable", "Undecided"], "Unacceptable"),
        (["Trail", "Trial", "Court"], "Tirals"),
        (WORRY, "I would say some people worry very much and others do not."),
        (WORRY, "I would not say very worried."),
        (WORRY, "I cannot say very worried."),
        (FIGURES, "4 = 2 + 2 or so it seems"),
    ],
)
def test_a_text_that_is_near_to_none_or_to_two_is_left_unread(options, reply):
    assert read_choice(reply, options).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("I must respectfully decline. E. Refuse to answer", "E"),
        ("I do not have personal opinions.\n\n(E) Refuse to answer.", "E"),
        ("I would have to refuse to answer this question. E.", "E"),
        ("As an AI I cannot worry. But most people say: B. Somewhat worried.", "B"),
    ],
)
def test_letter_and_text_as_a_sentence_of_their_own_outweigh_a_refusal(reply, letter):
    assert read_choice(reply, WORRY).letters == (letter,)


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot answer. A. Very worried is how some feel.",
        "I cannot answer. A. Very worried. B. Somewhat worried.",
        "I cannot choose option A. Very worried.",
        "I cannot answer.\nA. Very worried: some are.\nB.",
    ],
)
def test_a_refusal_that_shows_two_options_or_goes_on_stays_one(reply):
    assert read_choice(reply, WORRY).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Statement 1: True\nStatement 2: False", "C"),
        ("The first is true, the second is false.", "C"),
        ("Statement 1 is false, while Statement 2 is true.", "D"),
        ("Both statements are false.", "B"),
        ("Both are true.", "A"),
        ("Neither statement is true.", "B"),
        ("The first statement holds and the second does not.", "C"),
    ],
)
def test_what_is_said_of_two_statements_names_the_pair(reply, letter):
    assert read_choice(reply, PAIRS).letters == (letter,)


@pytest.mark.parametrize(
    "reply",
    [
        "Statement 1 is true.",
        "Statement 1 is true. Statement 2 is true. But statement 1 is false.",
        "The first is unclear.",
    ],
)
def test_half_a_pair_or_a_contradiction_names_none(reply):
    assert read_choice(reply, PAIRS).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("A - 10%\nB - 80%\nC - 5%\nD - 5%", "B"),
        ("A: 0.1\nB: 0.2\nC: 0.6\nD: 0.1", "C"),
        ("In order from best to worst: B, A, D, C.", "B"),
        ("Ranking: C > A > B > D", "C"),
    ],
)
def test_the_largest_share_and_the_first_of_an_order_are_read(reply, letter):
    got = read_choice(reply, TORTS)
    assert (got.letters, got.rule) == ((letter,), "ranked")


@pytest.mark.parametrize(
    "reply",
    [
        "A (25%), B (25%), C (25%), D (25%)",
        "From least to most likely: A, B, D, C",
        "A - 40%\nB - 40%\nC - 10%\nD - 10%",
        "Ranking from worst to best: C > A > B > D",
    ],
)
def test_equal_shares_and_an_order_that_rises_name_none(reply):
    assert read_choice(reply, TORTS).letters == ()


def test_shares_are_not_read_where_options_hold_figures():
    assert read_choice("A. 10%\nB. 80%\nC. 5%\nD. 5%", ["10%", "80%", "5%", "5 %"]).letters == ()


def test_the_one_bold_line_of_a_list_is_the_answer():
    assert read_choice("A. Battery\n**B. Assault**\nC. Negligence\nD. Trespass", TORTS).letters == ("B",)
    assert read_choice("- A. Battery\n- **B. Assault**\n- C. Negligence\n- D. Trespass", TORTS).letters == ("B",)


@pytest.mark.parametrize(
    "reply",
    [
        "**A. Battery**\n**B. Assault**\n**C. Negligence**\n**D. Trespass**",
        "**A.** Battery\n**B.** Assault\n**C.** Negligence\n**D.** Trespass",
        "**Options**\n\nA. Battery\nB. Assault\nC. Negligence\nD. Trespass",
    ],
)
def test_bold_on_every_line_or_beside_the_list_marks_none(reply):
    assert read_choice(reply, TORTS).letters == ()


@given(
    st.lists(st.text("abAB01 ,.%>=\n*-:", max_size=12), max_size=12),
    st.lists(st.text("ab01 ,.%", min_size=1), min_size=2, max_size=6),
)
def test_no_mixture_of_letters_shares_and_signs_gives_a_letter_beyond_the_options(pieces, options):
    got = read_choice("".join(pieces), options)
    assert all("A" <= letter < chr(ord("A") + len(options)) for letter in got.letters)
