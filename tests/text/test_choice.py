import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.choice import RULES, read_choice
from steelyard.text.choice_declared import KINDS, matches, tokens
from steelyard.text.cleaned_reply import fold

MOVE = ("Osmosis", "Diffusion", "Active transport", "Endocytosis")
GUA = ("乾卦", "坤卦", "屯卦", "蒙卦")
REAL = Path(__file__).parents[3] / "shared" / "data"
WORDS = st.sampled_from(
    [
        *"ABCDEIJabci",
        " ",
        "\n",
        ", ",
        "、",
        "。",
        "(",
        ")",
        "**",
        "the answer is ",
        "not ",
        "答案是",
        "选项",
        "不",
        "正确",
        "错误",
        "故选",
        "\\boxed{",
        "}",
        "<think>",
        "</think>",
        "Question:",
        "none of the options",
        "I cannot answer",
        "Ｂ",
        "Osmosis",
        "diffusion",
        "wait, ",
        "【答案】",
        '"answer": ',
        "\0",
        "\ud800",
        "①",
        "丙",
        "\u200b",
    ]
)


def read(reply, options=MOVE, **more):
    got = read_choice(reply, options, **more)
    return got.letters[0] if got.status == "answered" and len(got.letters) == 1 else got.status


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=25).map("".join)), st.integers(2, 26), st.booleans())
def test_any_text_is_read_without_an_error_and_within_the_options(reply, count, several):
    options = [f"option text {number}" for number in range(count)]
    got = read_choice(reply, options, several=several)
    last = chr(ord("A") + count - 1)
    assert all("A" <= letter <= last for letter in got.letters)
    assert list(got.letters) == sorted(set(got.letters))
    assert (got.status in {"answered", "several"}) == bool(got.letters)
    assert (got.confidence is not None) == bool(got.letters)
    assert several or got.status != "answered" or len(got.letters) == 1
    if got.span:
        assert 0 <= got.span[0] < got.span[1] <= len(reply)
    assert got == read_choice(reply, options, several=several)


@given(st.text(max_size=80), st.sampled_from("ABCD"))
def test_reasoning_before_the_answer_changes_nothing(thought, letter):
    thought = thought.replace("<", "")
    assert read(f"<think>{thought}</think>\n{letter}") == letter


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ("So the answer is **(C)**.", "C"),
        ("　Ｂ）", "Ｂ"),
        ("<think>A?</think>  the answer: D", "D"),
        ("It is Active  Transport, no doubt.", "Active  Transport"),
    ],
)
def test_the_span_quotes_the_reply_as_it_came(reply, quoted):
    start, end = read_choice(reply, MOVE).span
    assert reply[start:end] == quoted


def test_the_span_of_a_very_long_reply_counts_from_its_beginning():
    reply = "We think about it. " * 10_000 + "The answer is C."
    got = read_choice(reply, MOVE)
    assert got.letters == ("C",)
    assert got.span == (len(reply) - 2, len(reply) - 1)


@pytest.mark.parametrize("count", [0, 1, 27])
def test_a_question_needs_2_to_26_options(count):
    with pytest.raises(ValueError, match="2 to 26 options"):
        read_choice("A", ["x"] * count)


def test_the_26th_option_can_be_read():
    assert read("The answer is Z.", [f"text {number}" for number in range(26)]) == "Z"


def test_the_first_declaration_holds_when_the_reply_opens_with_it():
    assert read("答案：B。\n\n补充说明很多，" + "卦象很深奥，" * 20 + "答案：D", GUA) == "B"


def test_the_last_declaration_holds_after_reasoning():
    assert read("坎为水。" * 30 + "答案似乎是A。再看爻辞，" + "离为火。" * 30 + "答案是C", GUA) == "C"


def test_a_correction_holds_even_where_the_reply_opened_with_an_answer():
    assert read("The answer is A. Wait, that needs energy. The answer is B.") == "B"


def test_a_further_question_is_cut_only_behind_an_answer():
    assert read("B\n\n请你回答：\n坤卦为何？\n[正确答案]D<eoa>", GUA) == "B"
    assert read("请你回答：\n坤卦为何？\n[正确答案]D<eoa>", GUA) == "D"


def test_the_copied_example_of_the_instructions_is_no_answer():
    assert read("写在[正确答案]和<eoa>之间。例如[正确答案]A<eoa>。", GUA) == "unparsed"


def test_a_letter_that_no_option_has_is_not_replaced_by_another():
    got = read_choice("B looks fine, but the answer is (F).", MOVE)
    assert (got.status, got.letters) == ("unparsed", ())
    assert "does not have" in got.reason


def test_what_is_called_right_and_wrong_is_contradictory():
    got = read_choice("选项B是正确的。选项C也不好说。选项B是错误的。", GUA)
    assert (got.status, got.reason.split(":")[0]) == ("unparsed", "contradictory")


def test_none_after_a_letter_holds_where_it_concludes():
    assert read(
        "The closest option is (A), yet its figure is wrong. " * 3 + "Therefore, none of the options are correct."
    ) == ("none_of_these")


def test_an_answer_marker_without_a_letter_outweighs_the_reasoning():
    reason = "A选项说阳，B选项说阴，综合起来看要具体分析。" * 6 + "因此，A选项正确。\n"
    assert read(reason + "【答案】无正确答案", GUA) == "none_of_these"
    assert read(reason + "【答案】题目有误", GUA) == "unparsed"


def test_the_question_tells_which_verdict_is_wanted():
    reply = "选项A是正确的，选项C是错误的。"
    assert read(reply, GUA, question="下列说法错误的是？") == "C"
    assert read(reply, GUA, question="下列说法正确的是？") == "A"
    reply = "Option A is correct. Option C is incorrect."
    assert read(reply, question="Which of these statements is false?") == "C"
    assert read(reply, question="Which of these statements is true?") == "A"


def test_without_the_question_the_odd_one_out_is_wanted():
    assert read("选项A正确，选项B正确，选项C是错误的，选项D正确。", GUA) == "C"


def test_a_text_that_stands_in_the_question_is_no_answer():
    reply = "The process of osmosis is well known."
    assert read(reply) == "A"
    assert read(reply, question="Unlike osmosis, which process needs energy?") == "unparsed"


def test_a_question_that_lists_its_options_forbids_none_of_them():
    question = "Which? A. Osmosis B. Diffusion C. Active transport D. Endocytosis"
    assert read("It is diffusion.", question=question) == "B"


def test_the_longest_option_text_wins():
    assert read("that is cat food", ("cat", "cat food", "dog")) == "B"


def test_a_text_that_only_a_restated_list_holds_is_no_answer():
    assert read("Options:\nA. Osmosis\nB. Diffusion\nC. Active transport\nLet me think.") == "unparsed"


def test_a_denied_text_is_no_answer():
    assert read("该行为不构成盗窃罪。", ("构成盗窃罪", "构成抢夺罪")) == "unparsed"
    assert read("It is not diffusion.") == "unparsed"


def test_a_text_quoted_in_a_refusal_is_no_answer():
    assert read('I cannot provide an answer. The statement "diffusion" is loaded.') == "refused"


def test_figures_in_long_reasoning_are_no_answers():
    reply = "Multiply 30 N by the ratio of the squared radii, " + "which takes some time to work out, " * 6
    assert read(reply, ("30 N", "60 N", "90 N")) == "unparsed"


def test_signs_tell_figures_apart():
    assert read("x = -1", ("1", "-1", "10")) == "B"
    assert read("The result is 1.5", ("15", "1.5", "5")) == "B"


def test_numbers_name_options_only_where_no_option_holds_one():
    assert read("答案：②", GUA) == "B"
    assert read("答案：②", ("①③", "②④", "①②", "③④")) != "B"
    assert read("乙", ("甲有权", "乙有权", "丙有权")) == "unparsed"


@pytest.mark.parametrize(
    "unit",
    [
        "A ",
        "A,",
        "A.\nB.\nC.\n",
        "the correct answer ",
        "final correct right best my ",
        "的选项",
        "不正确的是",
        "(",
        "<think>",
        "</",
        "ABCD",
        "Osmosis ",
        "I would choose ",
        "\\text{",
        'B ("',
        "A and ",
        "A, B and ",
        "[INST]",
        "\n",
        "The answer is A. ",
    ],
)
def test_a_megabyte_of_anything_is_read(unit):
    got = read_choice(unit * (1_000_000 // len(unit)), MOVE)
    assert got.status in {"answered", "several", "unparsed", "empty"}


def test_every_rule_has_its_name_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "reading-replies.md").read_text(encoding="utf-8")
    names = ["declared", "announced", "named_best", "concluded", "leading", "declared_text", "leading_text", "numbered"]
    names += ["json", "ticked", "corrected", "none_of_these", "refused", "judged", "only_letter", "only_text"]
    names += ["ranked", "near_text", "shown", "statements", "emphasised"]
    assert [name for name in names if f"`{name}`" not in page] == []
    assert len(RULES) == 16


def _rows():
    rows = []
    for line in (REAL / "choice_replies_zh.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["half"] = hashlib.sha256(row["reply"].encode()).digest()[1] % 2
        rows.append(row)
    return rows


@pytest.mark.skipif(not REAL.exists(), reason="the real replies are not part of the project")
@pytest.mark.parametrize("half", [0, 1])
def test_real_chinese_replies_are_read_as_a_person_reads_them(half):
    right, total, wrong = Counter(), Counter(), 0
    for row in _rows():
        if row["half"] != half:
            continue
        got = read_choice(row["reply"], tuple(row["options"].values()))
        letter = got.letters[0] if got.status == "answered" else None
        total[row["set"]] += 1
        right[row["set"]] += letter in row["label"]
        wrong += letter is not None and letter not in row["label"]
    rates = {name: right[name] / total[name] for name in total}
    assert rates["zh-marker"] >= 0.99
    assert rates["zh-read"] >= 0.96
    assert rates["zh-quote"] >= 0.98
    assert right.total() / total.total() >= 0.97
    assert wrong <= 3


@pytest.mark.skipif(not REAL.exists(), reason="the real replies are not part of the project")
def test_the_plain_last_sentence_of_real_english_replies_is_read_as_it_stands():
    lines = (REAL / "choice_replies_en_unlabelled.jsonl").read_text(encoding="utf-8").splitlines()
    plain = 0
    for line in lines:
        row = json.loads(line)
        last = row["reply"].strip()[-18:]
        if last.startswith("The answer is (") and last.endswith(")."):
            plain += 1
            got = read_choice(row["reply"], tuple(row["options"].values()))
            assert got.letters == (last[-3],) or last[-3] not in row["options"]
    assert plain > 300


@given(
    st.lists(st.one_of(WORDS, st.sampled_from(["so ", "I choose ", "leaves ", "=> ", "no, ", "only "])), max_size=14)
)
def test_trying_patterns_where_they_may_begin_finds_what_a_search_finds(pieces):
    text = fold(" ".join(pieces))
    for _, kind, pattern in KINDS:
        assert [one.span() for one in matches(pattern, kind, text, tokens(text))] == [
            one.span() for one in pattern.finditer(text)
        ]
