"""The reader of multiple-choice replies: sentences by family, real replies, and what holds for any text."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.choice import RULES, read_choice
from steelyard.replies.evidence import LEADS

GUA = ["乾卦", "坤卦", "屯卦", "蒙卦"]
MOVE = ["Osmosis", "Diffusion", "Active transport", "Endocytosis"]
GASES = ["carbon", "hydrogen", "neon", "argon"]
REAL = Path(os.environ.get("STEELYARD_TEST_REPLIES", Path(__file__).parents[3] / "shared" / "data"))
LEAST = {
    "declared": 0.97,
    "announced": 0.96,
    "leading": 0.97,
    "inferred": 0.84,
    "several": 1.0,
    "refused or none": 0.96,
    "unparsed": 0.86,
    "corrected": 0.75,
    "judged": 0.75,
    "json": 0.94,
    "reasoning and turns": 1.0,
    "hedged": 0.64,
    "breaks off": 0.83,
    "english shapes": 0.97,
}
"""Per family of sentences that people thought of: the share that is read as they meant it."""


def is_as_meant(row):
    got = read_choice(row["reply"], row["options"], question=row.get("question", ""), several=row.get("several", False))
    return ("".join(got.letters), got.status) == (row["letters"], row["status"])


def test_sentences_of_a_family_are_read_as_meant():
    assert_read_as_meant(stored("choice_sentences"), LEAST, is_as_meant, text="reply")


OWN = Path(__file__).parents[2] / "benchmarks" / "choice_replies.jsonl"


@pytest.mark.parametrize("family", sorted({json.loads(row)["family"] for row in OWN.read_text("utf-8").splitlines()}))
def test_replies_of_the_benchmark_are_read_as_meant_and_never_explicitly_wrong(family):
    rows = [row for row in map(json.loads, OWN.read_text("utf-8").splitlines()) if row["family"] == family]
    missed = []
    for row in rows:
        given = {key: row[key] for key in ("several", "finish") if key in row}
        got = read_choice(row["reply"], row["options"], **given)
        if "".join(got.letters) != row["letters"]:
            missed.append(row["reply"])
            assert got.letters == (), row
    least = {"elisions and abbreviations": 0.9, "one asked for, several given": 0.9, "German": 0.95}
    assert 1 - len(missed) / len(rows) >= least.get(family, 1), missed


# Families that once were read wrong, each with sentences of its own.


@pytest.mark.parametrize(
    "reply",
    [
        "None of the options A, B, C or D is the correct answer.",
        "None of A, B, C, or D fits the description.",
        "Neither A, B, C nor D is right.",
    ],
)
def test_a_group_negated_as_a_whole_gives_no_letter(reply):
    assert read_choice(reply, GASES).letters == ()


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("The answer is B (hydrogen) or C (neon).", ("B", "C")),
        ("C. neon and D. argon.", ("C", "D")),
        ("The answer is either C. neon or D. argon.", ("C", "D")),
    ],
)
def test_two_answers_are_several_and_never_the_first(reply, letters):
    got = read_choice(reply, GASES)
    assert (got.letters, got.status) == (letters, "several")


def test_an_option_that_says_none_of_the_above_is_the_answer_that_says_so():
    options = ["carbon", "neon", "None of the above"]
    assert read_choice("The answer is none of the above, as both are light.\nAnswer: C", options).letters == ("C",)
    assert read_choice("The answer is none of the above.\nAnswer: A", options[:2]).status == "none_of_these"


@pytest.mark.parametrize(
    "reply",
    [
        "B, although it looks right, is wrong because it is a metal.",
        "B. hydrogen is not the answer, as it burns.",
        "Option B, while tempting, is incorrect.",
        "B: what it says is incorrect. C: the same is wrong.",
        "B (hydrogen) is incorrect.",
        "B(氢气)与题意不符。",
    ],
)
def test_an_option_that_the_opening_sentence_rejects_is_no_answer(reply):
    assert read_choice(reply, GASES).letters == ()


@pytest.mark.parametrize(
    "reply",
    [
        "(B) appears to be the correct answer.",
        "(B) has to be the answer",
        "(B) should be selected.",
        "(B) looks right to me",
        "(B)与题意相符",
    ],
)
def test_a_letter_in_brackets_that_is_called_right_is_the_answer(reply):
    assert read_choice(reply, GASES).letters == ("B",)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B (the second) does burn, but it is a gas. The answer is C.", "C"),
        ("B (the second) has one proton. The answer is C.", "C"),
        ("B（第二个）错误。故选C。", "C"),
        ("B (hydrogen) is correct.", "B"),
        ("B (the lightest), as its atoms have one proton.", "B"),
    ],
)
def test_a_letter_with_its_text_in_brackets_is_the_answer_or_begins_a_sentence(reply, letter):
    assert read_choice(reply, GASES).letters == (letter,)


@pytest.mark.parametrize(
    "reply",
    [
        "【答案】A. carbon B. hydrogen C. neon D. argon",
        "【答案】\nA. carbon\nB. hydrogen\nC. neon\nD. argon",
        "答案：A. carbon；B. hydrogen；C. neon；D. argon",
    ],
)
def test_the_whole_list_behind_an_answer_mark_is_no_answer(reply):
    assert read_choice(reply, GASES).letters == ()


def test_a_numbered_reference_answer_names_no_option_by_its_number():
    assert read_choice("参考答案：1. 氖气是惰性气体", GASES).letters == ()
    assert read_choice("答案：3. neon", GASES).letters == ("C",)
    assert read_choice("Here are the usual answers:\n1.  **Air**\n2.  **Smoke**", GASES).letters == ()
    assert read_choice('Final Answer: \n1. "smoke.png": a photo', GASES).letters == ()
    assert read_choice("**Answer:** 2 + 1 = 3", GASES).letters == ()


@pytest.mark.parametrize(
    "reply",
    [
        "We compute $\\det(A) = 2 \\cdot 0 \\cdot 5 - 2 \\cdot 1 \\cdot 3 + 4 \\cdot",
        "The total cost (T) is the sum of the fixed cost (D) and the variable cost (V), which we integrate first.",
        "By Bayes' theorem $P(D \\mid T) = P(T \\mid D) P(D) / P(T)$, where the prior is known.",
        "Choose $C \\in \\mathbb{R}$ such that $x(t) = K e^{-t}$ for all t. Then we have",
    ],
)
def test_symbols_of_formulas_and_unfinished_reasoning_are_no_letters(reply):
    assert read_choice(reply, ["7.45", "7.30", "7.20", "7.55"]).letters == ()


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("The value is closest to C.", ("C",)),
        ("The closest answer would be (C).", ("C",)),
        ("The closest answer would be (C), but it is still significantly off.", ()),
        ("The closest option is C, yet its unit is wrong.", ()),
    ],
)
def test_the_closest_option_is_the_answer_unless_it_is_rejected(reply, letters):
    assert read_choice(reply, GASES).letters == letters


def test_the_sentence_that_concludes_may_name_the_wrong_statement():
    reply = "A选项正确。B选项也正确。C选项符合规定。因此，选项D妨碍该程序的适用。"
    assert read_choice(reply, GUA).letters == ("D",)


def test_a_number_that_equals_an_option_is_that_option():
    assert read_choice("The answer is 1.", ["0.5", "1.0", "2.0"]).letters == ("B",)
    assert read_choice("The answer is 1.", ["0.5", "1.0", "1"]).letters == ("C",)
    assert read_choice("The answer is 1? No, 2.", ["0.5", "1.0", "2.0"]).letters != ("B",)


@pytest.mark.parametrize("reply", ["The", "It", "I think", "The answer", "Based on"])
def test_a_sentence_that_was_cut_off_at_its_beginning_is_no_option(reply):
    options = ["The cat", "It is hot", "I think so", "The answer key", "Based on law"]
    assert read_choice(reply, options).letters == ()


PAIRS = ["mean 4.2, deviation 3.6", "mean 4.2, deviation 3.1", "mean 3.7, deviation 3.6", "mean 3.7, deviation 3.1"]


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Solving the two equations, we get $\\mu=3.7$ and $\\sigma=3.1$. The answer is (", "D"),
        ("This gives the following:\n\nmean: 4.2\ndeviation: 3.1", "B"),
        ("The mean is 4.2. The deviation is 3.1 or 3.6, which", ""),
        ("With a mean of 4.2 we still need", ""),
    ],
)
def test_a_reply_that_ends_with_all_figures_of_one_option_gives_it(reply, letters):
    got = read_choice(reply, PAIRS)
    assert ("".join(got.letters), got.confidence) == (letters, "inferred" if letters else None)


def test_a_question_that_the_reply_repeats_stands_between_the_answer_and_its_letter():
    lead = 'The best answer to the question "Which rock floats? And why?" is:\n\n'
    reply = f"{lead}C) Pumice floats, as it is full of holes.\n\nOptions A and B,"
    options = ["Granite floats on oil.", "Slate floats in winter.", "Pumice floats, as it is full of holes."]
    assert read_choice(reply, options, finish="length").letters == ("C",)


def test_an_option_called_best_counts_more_than_what_the_model_cannot_do():
    reply = "I cannot determine the exact value, but (B) seems the most reasonable."
    assert read_choice(reply, ["one", "two", "three", "four"]).letters == ("B",)


# What holds for any text.

WORDS = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "(D)",
        "the",
        "answer",
        "is",
        "not",
        "correct",
        "选",
        "故选",
        "答案",
        "：",
        "。",
        ".",
        "\n",
        "**",
        "<think>",
        "</think>",
        "option",
        "Osmosis",
        "{",
        '"answer":',
        "}",
        "I would choose",
        "wait",
        "none of the options",
        "1",
        "②",
        "$",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=25).map(" ".join)), st.integers(2, 26), st.booleans())
def test_any_text_is_read_without_an_error_and_within_the_options(reply, count, several):
    got = read_choice(reply, [f"option {number}" for number in range(count)], several=several)
    assert all(ord(letter) - ord("A") < count for letter in got.letters)
    assert (got.confidence is not None) == bool(got.letters)
    if got.span is not None:
        assert 0 <= got.span[0] <= got.span[1] <= len(reply)


@given(st.text(st.characters(exclude_characters="<>◁▷[]"), max_size=80), st.sampled_from("ABCD"))
def test_reasoning_before_the_answer_changes_nothing(thought, letter):
    plain = read_choice(f"The answer is {letter}.", MOVE)
    assert read_choice(f"<think>{thought}</think>The answer is {letter}.", MOVE).letters == plain.letters == (letter,)


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ("答案：Ｂ", "Ｂ"),
        ("<think>A</think>**C**", "C"),
        ("It must be diffusion.", "diffusion"),
        ("The answer is (D).", "D"),
    ],
)
def test_the_span_quotes_the_reply_as_it_came(reply, quoted):
    start, end = read_choice(reply, MOVE).span
    assert reply[start:end] == quoted


def test_the_span_of_a_very_long_reply_counts_from_its_beginning():
    reply = "word " * 20_000 + "The answer is (C)."
    start, end = read_choice(reply, MOVE).span
    assert reply[start:end] == "C"


@pytest.mark.parametrize("count", [0, 1, 27])
def test_a_question_needs_2_to_26_options(count):
    with pytest.raises(ValueError, match="2 to 26 options"):
        read_choice("A", ["x"] * count)


def test_options_may_be_given_by_their_letters():
    assert read_choice("The answer is D.", {"A": "x", "B": "y", "D": "z"}).letters == ("D",)
    assert read_choice("The answer is C.", {"A": "x", "B": "y", "D": "z"}).status == "unparsed"
    assert read_choice("It is surely osmosis.", {"B": "diffusion", "C": "osmosis"}).letters == ("C",)


def test_options_that_are_one_text_or_have_other_keys_are_refused():
    with pytest.raises(TypeError, match="not one text"):
        read_choice("A", "ABCD")
    with pytest.raises(ValueError, match="capital letter"):
        read_choice("A", {"a": "x", "b": "y"})


BLOOD = ["AB型", "O型", "B型", "A型"]
SCANS = ["X线", "CT", "B超", "MRI"]
TESTS = ["D-二聚体", "血常规", "C反应蛋白", "肌钙蛋白"]
VITAMINS = ["维生素B", "维生素A", "维生素D", "维生素C"]
MICROBES = ["S. aureus", "D. radiodurans", "E. coli", "B. subtilis"]
TOWNS = ["Lyon", "Nantes", "Lille", "Brest"]


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("答案是A型", BLOOD, "D"),
        ("该患者的血型是A型。", BLOOD, "D"),
        ("答案：B超", SCANS, "C"),
        ("最有价值的是D-二聚体", TESTS, "A"),
        ("答案是维生素B", VITAMINS, "A"),
        ("应选维生素C。", VITAMINS, "D"),
        ("The answer is both A and B", ["x", "y", "Both A and B", "none"], "C"),
        ("应选C语言", ["Go", "Java", "Ruby", "C语言"], "D"),
        ("答案是A股", ["B股", "A股", "H股", "N股"], "B"),
        ("乙型", ["甲型", "丙型", "丁型", "乙型"], "D"),
        ("The answer is E. coli.", MICROBES, "C"),
        ("B. subtilis", MICROBES, "D"),
        ("D. radiodurans is the one that survives.", MICROBES, "B"),
        ("The answer is A. Smith.", ["J. Keynes", "A. Smith", "D. Ricardo", "K. Marx"], "B"),
        ("The answer is AB.", ["A", "B", "AB", "O"], "C"),
        ("AC", ["DC", "AC", "RF", "DB"], "B"),
        ("The answer is AD 79.", ["AD 70", "AD 79", "AD 96", "33 BC"], "B"),
        ("Grade A", ["Grade B", "Grade A", "Grade C", "Grade D"], "B"),
        ("It is hepatitis B.", ["hepatitis A", "hepatitis C", "hepatitis B", "hepatitis E"], "C"),
        ("The current is 4 A.", ["1 A", "2 A", "3 A", "4 A"], "D"),
        ("C'est B.", TOWNS, "B"),
        ("D'après le texte, la bonne réponse est la B.", TOWNS, "B"),
        ("D'après le texte, il faut choisir Nantes.", TOWNS, "B"),
    ],
)
def test_a_letter_within_a_word_or_an_options_text_is_not_an_answer(reply, options, letter):
    assert read_choice(reply, options).letters == (letter,)


@pytest.mark.parametrize(
    "reply",
    [
        *("The answer is vitamin C.", "It is plan B", "The answer is hepatitis B", "The answer is Company A.", "Dr. B"),
        *(
            "答案是维生素C",
            "答案是C语言。",
            "答案是A股市场。",
            "答案是D级",
            "The answer is C. S. Lewis.",
            "Washington D.C.",
        ),
        *("B-12", "The answer is 5 A.", "It is 20 °C.", "D'accord."),
    ],
)
def test_a_letter_that_is_part_of_a_name_or_a_unit_is_no_answer(reply):
    assert read_choice(reply, TOWNS).letters == ()


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("C'est la réponse D qui est correcte.", "D"),
        ("D. h. Antwort B ist richtig.", "B"),
        ("La respuesta es A o B.", "AB"),
        ("Ich nehme z. B. an, dass C gilt.", "C"),
    ],
)
def test_elisions_abbreviations_and_alternatives_of_other_languages_give_no_wrong_letter(reply, letters):
    assert read_choice(reply, TOWNS).letters in {(), tuple(letters)}


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("First part: \\boxed{C}\n\nSecond part: \\boxed{B}", "B"),
        ("I computed \\boxed{A}. Checking again, it should be \\boxed{D}.", "D"),
        ("One yields $\\boxed{A}$.\nAnother yields $\\boxed{B}$.\nHence overall $\\boxed{D}$.", "D"),
        ("\\boxed{A} is right, as B is too small.", "A"),
        ("$\\boxed{A}$, $\\boxed{C}$", "AC"),
    ],
)
def test_of_several_boxes_that_differ_the_last_is_the_answer(reply, letters):
    assert read_choice(reply, MOVE, several=True).letters == tuple(letters)


def test_a_reply_that_was_cut_off_gives_only_what_it_declares():
    assert read_choice("Option A is too small. Option B", MOVE).status == "unparsed"
    assert read_choice("The pump is named in option B", MOVE).letters == ("B",)
    assert read_choice("The pump is named in option B", MOVE, finish="length").status == "unparsed"
    assert read_choice(f"The ions are carried uphill.\n\nB. {MOVE[1]}", MOVE).status == "unparsed"
    assert read_choice(f"The ions are carried uphill.\n\nB. {MOVE[1]}", MOVE, finish="stop").letters == ("B",)
    assert read_choice("So (B). Let us see whether", MOVE, finish="length").status == "unparsed"
    assert read_choice("The answer is B, because the", MOVE, finish="length").letters == ("B",)


@pytest.mark.parametrize(
    "reply",
    [
        "] B. Diffusion</s>",
        "assistant\nB",
        "[/INST] B",
        "<|im_start|>assistant\nB<|im_end|>",
        "B. Diffusion【4:0†source】",
        "B[citation:1]",
    ],
)
def test_marks_of_chat_templates_and_citations_are_no_part_of_a_reply(reply):
    assert read_choice(reply, MOVE).letters == ("B",)


# Real replies, which are not part of the project.


def rows_of(name):
    path = REAL / name
    if not path.exists():
        pytest.skip("the real replies are not part of the project")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_real_chinese_replies_are_read_as_a_person_reads_them():
    right, total, wrong = Counter(), Counter(), 0
    for row in rows_of("choice_replies_zh.jsonl"):
        got = read_choice(row["reply"], row["options"])
        letter = got.letters[0] if got.status == "answered" else None
        total[row["set"]] += 1
        right[row["set"]] += letter in row["label"]
        wrong += letter is not None and letter not in row["label"]
    assert {name: right[name] / total[name] >= 0.98 for name in total} == dict.fromkeys(total, True)
    assert wrong == 0


def test_real_english_replies_without_a_plain_answer_give_no_wrong_letter():
    right = wrong = 0
    rows = rows_of("choice_replies_en_hard.jsonl")
    for row in rows:
        got = read_choice(row["reply"], row["options"], question=row["question"])
        letters = set(got.letters) if got.status == "answered" else set()
        meant = set(row["letters"]) if row["kind"] == "letter" else set()
        right += letters == meant
        wrong += bool(letters - meant)
    assert right / len(rows) >= 0.98
    assert wrong <= 1


def test_the_plain_last_sentence_of_real_english_replies_is_read_as_it_stands():
    plain = 0
    for row in rows_of("choice_replies_en_unlabelled.jsonl"):
        last = row["reply"].strip()[-18:]
        if last.startswith("The answer is (") and last.endswith(")."):
            plain += 1
            got = read_choice(row["reply"], row["options"])
            assert got.letters == (last[-3],) or last[-3] not in row["options"]
    assert plain > 300


def test_every_rule_has_its_name_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "reading-replies.md").read_text(encoding="utf-8")
    names = {lead.strength.name.lower() for lead in LEADS}
    names |= {"json", "leading", "declared_text", "leading_text", "shown", "numbered", "none_of_these"}
    names |= {
        "final_text",
        "refused",
        "judged",
        "final_sentence",
        "only_letter",
        "only_text",
        "all_of_them",
        "final_values",
        "sorted",
        "all_but",
        "last_line",
    }
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    assert len(RULES) == 18


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("这道题的答案不是A，而是C。", ("C",)),
        ("本题的答案不是A。", ()),
        ("符合题干的选项不应是C。", ()),
        ("所以不是自然现象的选项是B。", ("B",)),
        (
            "If the question were about energy, the answer would be A. Since it is about protein, I'll go with C.",
            ("C",),
        ),
        ("If the force were 5 N, then the answer would be B.", ()),
        ("I can't say that it's (A), so (B).", ("B",)),
        ("I don't think it's (A), so (B).", ("B",)),
        ("The process is not osmosis but rather a", ()),
        ("The answer is a", ("A",)),
        ("If I had to choose, I would say the answer would be C.", ("C",)),
        ("If we need the power plant, then the answer is A. Here we need the store, so the answer is B.", ("B",)),
        ("如果题目问的是能量，则选A；但题目问的是储存，应选B。", ("B",)),
        ("若问能量则选A，若问储存则选B。", ()),
        ("若必须选择，则选D。", ("D",)),
        ("这道题选A还是选B，要看题干怎么问。题干问的是能量，所以选择A选项。", ("A",)),
    ],
)
def test_what_is_denied_or_holds_only_elsewhere_is_no_answer(reply, letters):
    assert read_choice(reply, MOVE).letters == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Let's eliminate: A makes energy, B stores, D packages. Only C is left.", ("C",)),
        ("A seems plausible. However, C is a better fit.", ("C",)),
        ("Thus option D is the least appropriate, while option A fits best.", ("A",)),
        ("Well, A is a better choice if energy is meant.", ()),
        ("Neither A nor B is a better choice.", ()),
    ],
)
def test_the_option_that_is_left_or_fits_best_is_the_answer(reply, letters):
    assert read_choice(reply, MOVE).letters == letters


@pytest.mark.parametrize("reply", ['{"A": 0.1, "B": 0.9}', '{"A": "no", "B": "yes"}'])
def test_the_first_key_of_an_object_is_no_answer(reply):
    assert read_choice(reply, ["Iron", "Glass"]).letters == ()


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("My initial answer was A. After reconsidering, my answer is C.", ("C",)),
        ("Initial answer: A\nFinal answer: C", ("C",)),
        ("I initially chose A. After reconsidering, I choose C.", ("C",)),
        ("At first I thought the answer was A, but the answer is C.", ("C",)),
        ("The answer is A. Looking closer, the answer is C.", ("C",)),
        ("My answer was A, but I changed it to C.", ("C",)),
        ("我最初的答案是A。仔细一想，答案是C。", ("C",)),
        ("初步答案：A。最终答案：C。", ("C",)),
        ("一开始我选A，后来改选C。", ("C",)),
        ("My initial answer was A.", ()),
        ("我最初的答案是A。", ()),
        ("My first choice is C.", ("C",)),
        ("根据之前的分析，答案是C。", ("C",)),
    ],
)
def test_a_first_thought_is_no_answer(reply, letters):
    assert read_choice(reply, GASES).letters == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("答案是A吗？不是，答案是B", ("B",)),
        ("选A吗？不，选C。", ("C",)),
        ("答案是A还是B呢？应该选B。", ("B",)),
        ("答案是A吗？不是。", ()),
        ("答案是A吗？是的。", ("A",)),
    ],
)
def test_a_letter_that_is_asked_about_is_no_answer(reply, letters):
    assert read_choice(reply, GASES).letters == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("答案：A C D。解析：三者均可。", ("A", "C", "D")),
        ("故选 A B D，因为C错误。", ("A", "B", "D")),
        ("A C D。解析：这些都对。", ("A", "C", "D")),
        ("Answer: A C D. Explanation: these hold.", ("A", "C", "D")),
        ("The correct answers are A C D because they are gases.", ("A", "C", "D")),
        ("Answer: B A noble gas is inert.", ("B",)),
        ("答案：A C E。解析：略。", ()),
        ("The correct options are (A), (C) and (D).", ("A", "C", "D")),
        ("The correct options are **A**, **C** and **D**. Option B is a metal.", ("A", "C", "D")),
        ("选A和C，还有D", ("A", "C", "D")),
    ],
)
def test_letters_parted_by_blanks_are_all_read_where_text_follows(reply, letters):
    assert read_choice(reply, GASES, several=True).letters == letters
    assert len(letters) < 2 or read_choice(reply, GASES).status == "several"


@pytest.mark.parametrize(
    "reply",
    [
        "答案不可能是A",
        "答案不太可能是A。",
        "不可能选A。",
        "The answer can't possibly be A.",
        "The answer is unlikely to be A.",
        "Wrong answer: D",
        "Wrong answers: B, D",
        "Incorrect: D",
        "错误答案是D",
        "排除：D",
    ],
)
def test_a_letter_named_as_wrong_or_impossible_is_no_answer(reply):
    assert read_choice(reply, GASES).letters == ()


def test_a_letter_named_as_wrong_is_the_answer_where_that_is_asked_for():
    assert read_choice("Wrong answer: D", GASES, question="Which statement is incorrect?").letters == ("D",)
    assert read_choice("错误答案是D", GASES, question="下列说法错误的是").letters == ("D",)


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Answer: E. coli is the most common cause, so D.", ("D",)),
        ("The answer is E. coli.", ()),
        ("Answer: E. pseudomonas, which resists most drugs", ("E",)),
    ],
)
def test_the_first_letter_of_a_name_that_an_option_gives_in_full_is_no_option(reply, letters):
    options = ["Staphylococcus aureus", "Klebsiella", "Proteus", "Escherichia coli", "Pseudomonas"]
    assert read_choice(reply, options).letters == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("(A) seems right at first, but (C) is the answer.", ("C",)),
        ("A seems right, but C is the answer.", ("C",)),
        ("A看似正确，但C才是答案。", ("C",)),
        ("(A) 看似正确，但 (C) 才是答案。", ()),
        ("(A) seems right, but I am not sure.", ("A",)),
    ],
)
def test_a_letter_that_only_seems_right_is_not_the_answer(reply, letters):
    assert read_choice(reply, ("a nucleus", "a ribosome", "a membrane", "a vacuole")).letters == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Клетка тратит энергию.\n\nОтвет - (B).", ("B",)),
        ("Таким образом, правильный ответ: **B**", ("B",)),
        (f"Правильна відповідь: (B) {MOVE[1]}.", ("B",)),
        ("A sejt energiát használ. A válasz (B)", ("B",)),
        ("La cellula consuma energia. Quindi la risposta è (B).", ("B",)),
        ("เซลล์ใช้พลังงาน\nคำตอบคือ (B)", ("B",)),
        ("कोशिका ऊर्जा लेती है। उत्तर (B) है।", ("B",)),
        ("الخلية تستهلك طاقة. الإجابة هي (B)", ("B",)),
        ("Неправильный ответ: B", ()),
        ("Если ответ: B, то ошибки нет.", ()),
        ("Ответ B неверен.", ()),
        ("O B está errado? Risposta sbagliata: B", ()),
        ("Odpověď je B?", ()),
        ("**Odpověď A**\nNe.\n**Odpověď B**\nMožná.", ()),
    ],
)
def test_a_closing_sentence_is_read_in_languages_of_which_nothing_else_is_known(reply, letters):
    assert read_choice(reply, MOVE).letters == letters


@pytest.mark.parametrize("reply", ["As an AI, I would rather not answer.", "As an AI, I will abstain."])
def test_a_model_that_would_rather_not_answer_refuses(reply):
    assert read_choice(reply, MOVE).status == "refused"
    assert read_choice("As an AI, I would answer B.", MOVE).letters == ("B",)


@pytest.mark.parametrize("reply", ["Salah says B.", "Sai says B."])
def test_a_name_that_is_a_denial_in_another_language_denies_nothing(reply):
    assert read_choice(reply, MOVE).letters == ("B",)


@pytest.mark.parametrize("reply", ["🥇 A\n🥈 B", "🥈 A\n🥇 B", "🔴 A\n🟢 B"])
def test_medals_and_colours_are_no_ornaments(reply):
    assert read_choice(reply, MOVE).letters == ()


def test_a_picture_that_is_an_option_is_not_blanked():
    assert read_choice("🍎", ["🍎", "🍌"]).status != "empty"


@pytest.mark.parametrize(
    ("end", "letters"),
    [
        ("**B**", ("B",)),
        ("Option B", ("B",)),
        ("$\\mathbf{B}$", ("B",)),
        ("<final_answer>B</final_answer>", ("B",)),
        ("[ANSWER]B[/ANSWER]", ("B",)),
        ("[[B]]", ("B",)),
        ("Answer → B", ("B",)),
        ("A\nB", ()),
        ("Eliminated:\nB", ()),
        ("F", ()),
    ],
)
def test_a_letter_on_the_last_line_is_the_answer_of_a_reply_that_ended_itself(end, letters):
    reply = f"Option A needs no energy, and option C is wrong too.\n\n{end}"
    assert read_choice(reply, MOVE, finish="stop").letters == letters


def test_a_letter_on_the_last_line_may_be_where_a_reply_broke_off():
    assert read_choice("Option A needs no energy.\n\nB", MOVE).letters == ()
