"""Corrections, rejections, marks, JSON, reasoning and invented questions; every sentence is written for this file."""

import pytest

from steelyard.text.choice import read_choice

MOVE = ("Osmosis", "Diffusion", "Active transport", "Endocytosis")
KEYS = ("F major", "G major", "B flat major", "C major")
NONE = ("Iron", "Copper", "Zinc", "None of the above")
GUA = ("乾卦", "坤卦", "屯卦", "蒙卦")
YEARS = ("1985", "1987", "1989")
TEN = tuple(
    f"substance number {word}"
    for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
)


def read(reply, options=MOVE, **more):
    got = read_choice(reply, options, **more)
    return got.letters[0] if got.status == "answered" and len(got.letters) == 1 else got.status


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("It's A? No. It's C.", "C"),
        ("The answer is B... no, C.", "C"),
        ("The answer is B. Sorry, I meant C.", "C"),
        ("The answer is B. Correction: C", "C"),
        ("Initially I'd say B. On reflection, C.", "C"),
        ("The correct answer is D.\n\nHold on. That one needs no carrier. So the answer is actually C.", "C"),
        ("My initial answer was B. Having checked, I change it to D.", "D"),
        ("A -- no, wait -- D.", "D"),
        ("It is not A. It is not B. It is C.", "C"),
        ("It is either A or D, but D is the better choice.", "D"),
        ("The answer is A if we ignore the gradient, but with it it becomes C.", "C"),
    ],
)
def test_what_the_model_takes_back_does_not_hold(reply, letter):
    assert read(reply) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        (
            "B: Diffusion is incorrect as it is passive.\nD: Endocytosis is incorrect.\n\nSo the correct answer is A.",
            "A",
        ),
        ("- (A) Osmosis: only water.\n- (B) Diffusion: passive.\n\nThis leaves us with (C) Active transport.", "C"),
        ("A. Osmosis - False, it is water.\nB. Diffusion - False.\nC. Active transport - True, it needs energy.", "C"),
        ("All of the options except C are incorrect.", "C"),
        (
            "While A (Osmosis) and B (Diffusion) may look right, only C needs energy, so only C answers the question.",
            "C",
        ),
        ("Options A, B and D can be ruled out. That leaves C.", "C"),
        ("A项属于另一个概念，错误；B项错误；D项错误；因此只剩下C。", "C"),
        ("根据所学知识，C项是正确的，其他选项均不正确。", "C"),
        ("C选项不正确，因此是本题答案。", "C"),
        ("Of these, C fits best.", "C"),
        ("Option C most closely matches.", "C"),
        ("A can't be right. C must be it.", "C"),
        (
            "- (A) Osmosis: only water.\n- (C) Active transport: not free.\n- (D) Endocytosis: no.\n\nThat leaves (B).",
            "B",
        ),
        ("Given the options, A seems to be the most accurate.", "A"),
    ],
)
def test_a_reply_that_rejects_the_others_names_what_is_left(reply, letter):
    assert read(reply, GUA if "项" in reply else MOVE) == letter


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("Options B and C are both right.", "several"),
        ("The answer could be diffusion as well as osmosis.", "several"),
        ("C和D都对。", "several"),
        ("A is incorrect as osmosis is water. B is incorrect. D is incorrect.", "unparsed"),
        ("I don't think it is A.", "unparsed"),
        ("首先看C项，", "unparsed"),
        ("Choices: A. Iron B. Copper C. Zinc D. None of the above", "unparsed"),
        ("Please choose A, B, C or D.", "several"),
    ],
)
def test_what_names_no_single_option_is_not_read_as_one(reply, status):
    assert read(reply, NONE if "Iron" in reply else MOVE) == status


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"answer": "B"}', "B"),
        ('```json\n{"reasoning": "A is the answer some give", "answer": "D"}\n```', "D"),
        ('{"reason": "(A) is wrong", "answer": ["C"]}', "C"),
        ('{"answer": "active transport"}', "C"),
        ('{"answer": "C) Active transport"}', "C"),
        ('{"answer": {"letter": "C", "text": "Active transport"}}', "C"),
        ('{"option_number": 2}', "B"),
        ('{"answer": 4}', "D"),
        ('{"answer": 2}', "unparsed"),
        ('{"answer": 0}', "unparsed"),
        ('{"answer": null, "note": "Option A is wrong"}', "unparsed"),
        ('{"answer": ["A", "C"]}', "several"),
        ('{"answer": "Z"}', "unparsed"),
        ('{"A": false, "B": false, "C": true, "D": false}', "C"),
        ('{"A": 0.2, "B": 0.3, "C": 0.4, "D": 0.1}', "unparsed"),
        ("{'answer': 'C'}", "C"),
        ('{"答案":"B"}', "B"),
        ('{"answer": "C", "explanation": "it broke o', "C"),
    ],
)
def test_json_is_read_by_its_keys_and_numbers_only_where_they_are_sure(reply, expected):
    assert read(reply) == expected


def test_a_number_in_json_that_is_an_options_text_means_that_option():
    assert read('{"answer": 1989}', YEARS) == "C"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("[ ] A. Osmosis\n[x] B. Diffusion\n[ ] C. Active transport", "B"),
        ("❌ A. Osmosis\n✅ B. Diffusion\n❌ C. Active transport", "B"),
        ("A. Osmosis\nB. Diffusion ✓ (correct)\nC. Active transport\nD. Endocytosis", "B"),
        ("A) Osmosis\nB) Diffusion <-- correct\nC) Active transport\nD) Endocytosis", "B"),
    ],
)
def test_the_marked_line_of_a_list_is_the_answer(reply, letter):
    got = read_choice(reply, MOVE)
    assert (got.letters, got.rule) == ((letter,), "ticked")


def test_a_sign_before_every_line_marks_none():
    assert read("✅ A. Osmosis\n✅ B. Diffusion\n✅ C. Active transport\n✅ D. Endocytosis") != "A"


@pytest.mark.parametrize(
    "reply",
    [
        "<reasoning>maybe A</reasoning>\nAnswer: C",
        "<|channel|>analysis<|message|>It is A. The answer is B?<|end|><|start|>assistant<|channel|>final<|message|>C",
        "<|begin_of_thought|>The answer is A<|end_of_thought|>C",
        "[THINK]A it is. The answer is A.[/THINK]C",
        "思考过程：先看A，答案可能是A。\n\n最终答案：C",
        "Thinking...\nThe answer is A?\n...done thinking.\n\nC",
        "The answer is A</think>C",
    ],
)
def test_reasoning_of_every_make_is_cut(reply):
    assert read(reply) == "C"


@pytest.mark.parametrize("reply", ["<think>The answer is A", "[THINK]It is A", "<|channel|>analysis<|message|>It is A"])
def test_reasoning_that_never_ends_is_no_answer(reply):
    got = read_choice(reply, MOVE)
    assert (got.status, got.reason) == ("empty", "the reply broke off inside its reasoning")


@pytest.mark.parametrize(
    "reply",
    [
        "B<|endoftext|>Question: What is iron?\nA. a gas\nB. an oil\nC. a metal\nAnswer: C",
        "B\n\nNext question: What is iron?\nA. a gas\nB. an oil\nThe answer is A.",
        "B. Diffusion\n\n[INST] What is iron?\nA. a gas\nB. an oil\nC. a metal [/INST] C. a metal",
        "B\n\n### Instruction:\nWhat is iron?\n### Response:\nC",
        "B\n\nWhich of these is a metal?\nA. Argon\nB. Neon\nC. Iron\n\nAnswer: C\n",
    ],
)
def test_what_follows_the_models_own_turn_is_not_its_answer(reply):
    assert read(reply) == "B"


def test_a_letter_that_begins_an_options_text_is_that_text():
    assert read("The correct answer is B flat major.", KEYS) == "C"
    assert read("B flat major", KEYS) == "C"
    assert read("The correct answer is B.", KEYS) == "B"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [("The third option.", "C"), ("I would choose the second option.", "B"), ("The fourth option is correct.", "D")],
)
def test_an_option_may_be_named_by_its_place(reply, letter):
    got = read_choice(reply, MOVE)
    assert (got.letters, got.rule, got.confidence) == ((letter,), "numbered", "inferred")


def test_in_english_a_wrong_option_answers_only_who_asks_for_what_is_false():
    reply = "Option A is definitely wrong."
    assert read(reply, question="Which of these statements is false?") == "A"
    assert read(reply, question="Which of these is NOT a transport?") == "unparsed"


def test_a_text_that_ends_the_reply_may_be_short():
    reply = (
        "It cooled slowly at depth, as its grains show, and a drop of acid leaves it as it was, so that carbonate " * 2
    )
    assert read(reply + "is no part of it. The stone must be slate.", ("chalk", "slate", "marble")) == "B"
    assert read("题干的条件足以判断，所以是故意。", ("过失", "故意", "动机")) == "B"


def test_a_listed_subquestion_is_no_verdict_on_an_option():
    reply = (
        "a) The eye is placed at 28 cm.\n\nb) The ring is 2 cm wide.\n\nc) The largest object is right at the limit of"
    )
    assert read(reply, TEN) == "unparsed"
