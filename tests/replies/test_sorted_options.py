"""Replies that sort the options into right and wrong ones, by marks, headings or all but some."""

import pytest

from steelyard.replies.choice import read_choice

STONES = ["granite", "limestone", "sandstone", "slate"]
ASKS_FOR_WRONG = "下列说法错误的是"


@pytest.mark.parametrize(
    "reply",
    [
        "A ✓ B ✗ C ✓ D ✗",
        "A: ✓, B: ✗, C: ✓, D: ✗",
        "✓ A, ✗ B, ✓ C, ✗ D",
        "✅ A ❌ B ✅ C ❌ D",
        "A（√）B（×）C（√）D（×）",
        "A对 B错 C对 D错",
        "A. granite 正确；B. limestone 错误；C. sandstone 正确；D. slate 错误",
        "[x] A [ ] B [x] C [ ] D",
        "- [x] A. granite\n- [ ] B. limestone\n- [x] C. sandstone\n- [ ] D. slate",
        "☑ A ☐ B ☑ C ☐ D\n\nBoth are hard.",
        "正确的有A、C，错误的有B、D",
        "错误的有B、D，正确的有A、C。",
        "正确的：AC 错误的：BD",
        "Correct: A, C. Incorrect: B, D.",
        "The wrong ones are B and D, and the correct ones are A and C.",
        "Right: A and C; wrong: B and D.",
    ],
)
def test_options_marked_or_headed_as_right_are_the_answer(reply):
    assert read_choice(reply, STONES, several=True).letters == ("A", "C")
    assert read_choice(reply, STONES).status == "several"
    are_boxes = reply[:1] in "[-☑"  # a ticked box is what is chosen, whatever was asked for
    asked_for_wrong = read_choice(reply, STONES, question=ASKS_FOR_WRONG, several=True)
    assert asked_for_wrong.letters == (("A", "C") if are_boxes else ("B", "D"))


@pytest.mark.parametrize("reply", ["[ ] A", "☐ A", "A [ ]"])
@pytest.mark.parametrize("question", ["", "Which is right?", ASKS_FOR_WRONG])
def test_an_empty_box_is_no_answer(reply, question):
    assert read_choice(reply, STONES, question=question).status == "unparsed"


@pytest.mark.parametrize("reply", ["( ) B", "Answer: [ ] B", "答案是：（ ）B", "( ) A\n(x) B\n( ) C"])
def test_brackets_are_empty_boxes_at_the_start_of_a_line_where_others_are_ticked_or_square(reply):
    assert read_choice(reply, STONES).letters == ("B",)


@pytest.mark.parametrize("reply", ["错误的是D", "不正确的是D。", "不符合题意的是D", "✗ D", "The incorrect one is D"])
def test_a_letter_named_as_wrong_is_the_answer_only_where_the_wrong_one_is_asked_for(reply):
    assert read_choice(reply, STONES).status == "unparsed"
    assert read_choice(reply, STONES, question="下列说法正确的是").status == "unparsed"
    asked = ("下列说法错误的是", "下列不正确的是", "哪一项是不对的选项?", "Which is incorrect?")
    rarely = () if reply == "✗ D" else ("下列说法除哪项外都对?", "找出错误:", "Which of these is never a stone?")
    for question in (*asked, *rarely):
        assert read_choice(reply, STONES, question=question).letters == ("D",)


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("A ✗ B ✓ C ✗ D ✗", ("B",)),
        ("- [ ] A. granite\n- [x] B. limestone\n- [ ] C. sandstone\n- [ ] D. slate", ("B",)),
        ("[x] A. granite", ("A",)),
        ("错误答案：A、C、D。正确答案：B。", ("B",)),
        ("错误的是B、C、D，正确的是A。", ("A",)),
        ("A: ✗, B: ✓, C: ✗, D: ✗\nAnswer: C", ("C",)),  # what is declared counts
    ],
)
def test_one_option_marked_as_right_is_the_answer(reply, letters):
    assert read_choice(reply, STONES).letters == letters


def test_a_verdict_that_is_an_options_text_is_no_mark():
    assert read_choice("B. 错误", ["正确", "错误"]).letters == ("B",)


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("All except D", ("A", "B", "C")),
        ("All of the above but D.", ("A", "B", "C")),
        ("Every option except D is correct.", ("A", "B", "C")),
        ("All options except B and D.", ("A", "C")),
        ("All except D are wrong.", ("D",)),
        ("除D外都对", ("A", "B", "C")),
        ("除了D之外，其他都是正确的。", ("A", "B", "C")),
        ("除B、D外，其余选项均正确。", ("A", "C")),
        ("除D外都错", ("D",)),
        ("All elements but D are metals.", ()),
        ("除了B。", ()),
    ],
)
def test_all_but_some_are_the_others_where_several_may_be_right(reply, letters):
    got = read_choice(reply, STONES, several=True)
    assert got.letters == letters
    assert got.confidence == ("inferred" if letters else None)


@pytest.mark.parametrize("reply", ["All except D", "All but D", "Everything but D.", "除D外都对"])
def test_all_but_one_is_no_answer_where_one_is_asked_for(reply):
    assert read_choice(reply, STONES).letters == ()
