"""What takes its force from a letter that is named, and what does not."""

import pytest

from steelyard.text.choice import read_choice

TORTS = ["Battery", "Assault", "Negligence", "Trespass"]


def read(reply, options=TORTS):
    return read_choice(reply, options)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("If there had been contact, the answer would be A. Since there was none, the answer is B.", "B"),
        ("Had he touched her, the answer would be A. He did not, so the answer is B.", "B"),
        ("Were there contact, the correct answer would be A. But there was none; the correct answer is B.", "B"),
        ("Without the statute the answer would have been C. With it, the answer is D.", "D"),
        ("Some would say the answer is A. I disagree: it's B.", "B"),
        ("Some people may think the answer is A, but I would choose B.", "B"),
        ("Others argue the answer is C. However, D is the better answer.", "D"),
        ("Many students would answer A. The right one is B.", "B"),
        ("One might think the answer is A. It is B, though.", "B"),
        ("At first glance the answer is A. Yet a closer look shows that it is D.", "D"),
        ("It is tempting to say the answer is C. The correct choice is A.", "A"),
        ("The obvious answer is A, but the correct answer is D.", "D"),
    ],
)
def test_a_view_that_the_reply_does_not_share_gives_way_to_its_own(reply, letter):
    assert read(reply).letters == (letter,)


@pytest.mark.parametrize(
    "reply",
    [
        "Some people might say the answer is A, others B.",
        "Critics would say the answer is A.",
        "If there had been contact, the answer would be A.",
        "It would be unethical to select option B.",
        "It is not appropriate to choose option A, nor any other option, in this case.",
        "I am not going to pick option C or any of the others.",
        "I refuse to choose option D.",
        "I'm reluctant to say A.",
        "It would be wrong of me to choose B.",
        "It is inappropriate to suggest that A is the correct answer.",
        "I cannot say that the answer is A.",
        "I cannot in good conscience choose option A.",
        "I cannot and will not choose option A.",
        "I must refrain from choosing option B.",
    ],
)
def test_a_letter_that_the_model_will_not_stand_for_is_no_answer(reply):
    assert read(reply).letters == ()


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("If I had to pick, the answer would be A.", "A"),
        ("If I were asked, my answer would be C.", "C"),
        ("The answer is B if I must choose.", "B"),
        ("I would not hesitate to choose B.", "B"),
        ("I cannot help but choose D.", "D"),
        ("I cannot be sure, but the answer is C.", "C"),
        ("The reaction cannot occur, so I would choose B.", "B"),
        ("I am unable to see the figure. The answer is D.", "D"),
        ("Most people would answer B.", "B"),
        ("If the contact was not intended, the answer is C.", "C"),
        ("It is not right to strike her, therefore I choose A.", "A"),
    ],
)
def test_what_only_looks_like_doubt_takes_nothing_away(reply, letter):
    assert read(reply).letters == (letter,)


def test_the_text_of_an_option_that_looks_like_further_letters_is_no_group():
    numerals = ["I only", "II only", "I and II only", "I, II and III"]
    assert read("So the correct answer is option C, I and II only.", numerals).letters == ("C",)
    assert read("The answer is A, I only.", numerals).letters == ("A",)
    assert read("Only I is correct, so A", numerals).letters == ("A",)
    assert read("The answer is A, C.", numerals).status == "several"
