"""Answers that are a list of options, each with its letter: the set of these letters, whatever stands between them."""

from itertools import combinations

import pytest

from steelyard.replies import read_choice

METALS = ["Copper", "Glass", "Silver", "Rubber"]
LAW = [
    "甲的行为构成盗窃罪",
    "乙的行为构成诈骗罪，应当从重处罚；乙曾经因为同样的行为受过处罚，并且在本案中没有退还所得的任何财物，因此不能适用缓刑的规定",
    "丙不承担责任",
    "《民法典》规定，丁应当承担“连带责任”",
]
SHAPES = ("{}. {}", "{}、{}", "{}：{}", "({}) {}", "- {}. {}", "**{}.** {}", "选项{}：{}")
SETS = [set_of for size in (2, 3) for set_of in combinations("ABCD", size)]


def listed(letters, options, shape, between="\n"):
    return between.join(shape.format(letter, options["ABCD".index(letter)]) for letter in letters)


@pytest.mark.parametrize("options", [METALS, LAW], ids=["words", "sentences"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_of_option_lines_is_the_set_of_their_letters(options, shape):
    for letters in SETS:
        lines = listed(letters, options, shape)
        for reply in (
            lines,
            f"The correct answers are:\n\n{lines}\n\nI hope this helps!",
            f"正确选项为：\n{lines}</s>",
        ):
            got = read_choice(reply, options, several=True)
            assert (got.letters, got.confidence) == (letters, "explicit"), reply


def test_a_stray_bracket_of_a_chat_template_may_stand_in_front_of_each_line():
    for letters in [("B",), *SETS]:
        assert read_choice(listed(letters, LAW, "] {}. {}") + "</s>", LAW, several=True).letters == letters


@pytest.mark.parametrize("between", ["\n\n", " ", "；", ";\n"])
def test_blank_lines_blanks_and_semicolons_may_stand_between_the_options(between):
    for letters in SETS:
        assert read_choice(listed(letters, LAW, "{}. {}", between), LAW, several=True).letters == letters


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "A\nC",
            "A.\nC.",
            "A C",
            "A. C.",
            "A。C。",
            "A.C",
            "AC",
            "AC。",
            "A、C",
            "A和C",
            "A|C",
            "1. A\n2. C",
            "A以及C。",
        ),
        *(
            "(A)(C)",
            "（A）（C）",
            "[A][C]",
            "['A', 'C']",
            '["A", "C"]',
            '{"answer": ["A", "C"]}',
            '{"answers": "A, C"}',
        ),
        *(
            "a, c",
            "c,a",
            "a and c",
            "(a) and (c)",
            "ac",
            "a) Copper\nc) Silver",
            "The answer is a and c.",
            "答案：a、c",
        ),
        *("①③", "①、③", "答案：①③", "①、③正确", "1, 3", "1和3", "答案：1、3"),
        *(
            "答案是A C",
            "因此，A、C选项正确。",
            "A选项和C选项",
            "A项、C项正确",
            "AC选项正确",
            "正确选项包括A和C。",
            "Both A and C",
        ),
        *(
            "Copper\nSilver",
            "- Copper\n- Silver",
            "1. Copper\n2. Silver",
            "Copper and Silver",
            "The answers are Copper and Silver.",
        ),
        *(
            "The correct options are A and C. B is incorrect.",
            "Answer: A, C. It is clear.",
            "The answers: A and C.\nB is no metal.",
        ),
        *("A. Copper. 正确。\nB. Glass. 错误。\nC. Silver. 正确。\nD. Rubber. 错误。", "A Copper\nC Silver"),
    ],
)
def test_letters_numbers_or_texts_alone_are_a_set_too(reply):
    assert read_choice(reply, METALS, several=True).letters == ("A", "C")


def test_where_one_answer_is_asked_for_several_lines_are_never_the_first_letter():
    for letters in SETS[:6]:
        for heading in ("", "The correct answer is:\n"):
            assert read_choice(heading + listed(letters, METALS, "{}. {}"), METALS).status == "several"


def test_a_list_of_all_options_is_an_answer_where_nothing_else_chooses():
    everything = listed("ABCD", METALS, "{}. {}")
    assert read_choice(everything, METALS, several=True).letters == ("A", "B", "C", "D")
    assert read_choice(f"正确答案是：\n{everything}", METALS, several=True).letters == ("A", "B", "C", "D")
    assert read_choice(f"{everything}\n\n故选AC。", METALS, several=True).letters == ("A", "C")
    assert read_choice(f"{everything}\n\nA and C conduct.", METALS, several=True).letters != ("A", "B", "C", "D")
    assert read_choice(f"Which of these conduct?\n{everything}", METALS, several=True).letters == ()
    assert read_choice(everything, METALS).status == "unparsed"


def test_options_that_are_explained_line_by_line_are_a_set_unless_one_is_called_wrong():
    explained = "A. Copper, which is a metal.\nIt conducts.\nC. Silver, which is one too.\nIt conducts best."
    assert read_choice(explained, METALS, several=True).letters == ("A", "C")
    rejected = "A. Copper, which is a metal.\nC. Silver is incorrect."
    assert read_choice(rejected, METALS, several=True).letters == ("A",)


def test_options_repeated_or_explained_below_an_answer_are_no_part_of_it():
    below = listed("ABCD", METALS, "{}. {}")
    assert read_choice(f"The answer is C.\n\n{below}", METALS).letters == ("C",)
    assert read_choice("B. Glass\n\nA. Copper is wrong since it is a metal.\nC. Silver, too.", METALS).letters == ("B",)


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "全选",
            "答案：全选。",
            "以上都对",
            "以上选项都正确。",
            "四个选项都是正确的",
            "都选",
            "全部正确",
            "ABCD",
            "A、B、C、D都正确。",
        ),
        *("All of the above", "The answer is all of the above.", "All four options are correct.", "A, B, C and D"),
    ],
)
def test_all_options_may_be_given_in_words(reply):
    got = read_choice(reply, METALS, several=True)
    assert "".join(got.letters) == "ABCD"
    assert read_choice(reply, METALS).status == "several"


@pytest.mark.parametrize(
    "reply",
    [
        "以上都不对",
        "四个选项均不正确",
        "并非以上都对",
        "Not all of the above are correct.",
        "Not all options are correct.",
    ],
)
def test_what_denies_that_all_are_right_does_not_give_all(reply):
    assert read_choice(reply, METALS, several=True).letters == ()


def test_all_of_the_above_is_the_option_that_says_so_or_what_is_named_besides():
    options = ["Copper", "Silver", "Gold", "All of the above"]
    for reply in ("All of the above", "All of the above are correct.", "All four options are true."):
        assert read_choice(reply, options, several=True).letters == ("D",)
    assert read_choice("All of the options are correct except copper.", options).status == "several"
    assert read_choice("以上都对，除了B。", METALS, several=True).letters != ("A", "B", "C", "D")
    assert read_choice("以上说法都正确。", METALS, question="下列说法错误的是", several=True).letters == ()


def test_texts_joined_by_and_are_never_the_first_alone():
    reply = "The correct answers are Copper, Silver and Rubber."
    assert read_choice(reply, METALS, several=True).letters == ("A", "C", "D")
    assert read_choice(reply, METALS).status == "several"
