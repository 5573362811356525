"""What a model says of failures is read whole or not at all: reasons, and causes with their numbers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.generate.reviewer import cause_name, read_causes, read_reason


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("It reads miles for kilometres.", "It reads miles for kilometres."),
        ("<think>hm, units</think>\n\n**Reason:** the unit\nis wrong", "the unit is wrong"),
        ("原因：答案里的单位错了。", "答案里的单位错了。"),
        (
            "The passage does not hold the answer, so it guessed.",
            "The passage does not hold the answer, so it guessed.",
        ),
        ("The text does not say 1.5 m anywhere.", "The text does not say 1.5 m anywhere."),
        (
            "It refused: it wrote \"I'm sorry, but I can't help\".",
            "It refused: it wrote \"I'm sorry, but I can't help\".",
        ),
    ],
)
def test_a_reason_is_read_without_label_and_reasoning(reply, text):
    assert (read_reason(reply).text, read_reason(reply).kind) == (text, "")


@pytest.mark.parametrize(
    ("reply", "finish", "kind"),
    [
        ("", "stop", "empty"),
        ("Reason:", "stop", "empty"),
        ("<think>on and on", "stop", "truncated"),
        ("The unit is wro", "length", "truncated"),
        ("I'm sorry, but I can't help with that.", "stop", "refused"),
        ("对不起，我无法回答这个问题。", "stop", "refused"),
        ("", "content_filter", "refused"),
    ],
)
def test_a_reply_without_a_whole_reason_is_told_by_kind(reply, finish, kind):
    assert (read_reason(reply, finish=finish).text, read_reason(reply, finish=finish).kind) == ("", kind)


def test_a_reason_is_one_line_of_bounded_length():
    reason = read_reason("word\n\n" * 1000).text
    assert len(reason) == 1000
    assert reason.endswith("…")
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("reply", "causes"),
    [
        ("wrong unit: 1, 4\nno source: 2", {"wrong unit": (1, 4), "no source": (2,)}),
        ("Here they are:\n\n1. **Wrong unit**: 1-3\n2. `No source`: 5.", {"Wrong unit": (1, 2, 3), "No source": (5,)}),
        ("- 单位错误：1，2、5\n- 没有依据：第3", {"单位错误": (1, 2, 5), "没有依据": (3,)}),
        ("a: 1, 2\nb: 2, 3", {"a": (1, 2), "b": (3,)}),
        ("a: 1\nA: 2\n a : 3", {"a": (1, 2, 3)}),
        ("a: 0, 6, 99999999999999", {}),
        ("cause 2: misread the question: 4", {"cause 2: misread the question": (4,)}),
        ("<think>a: 1</think>b: 2", {"b": (2,)}),
        ("a: 1 and 2; 3", {"a": (1, 2, 3)}),
        ("a: numbers 1, 2", {"a": (1, 2)}),
        ("nothing to see", {}),
        ("a:\nb: none", {}),
        ("a: " + "1, " * 900 + "1", {}),
    ],
)
def test_causes_are_read_with_the_numbers_that_there_are(reply, causes):
    assert read_causes(reply, 5) == causes


@given(st.text(alphabet="ab:：,，1234-–*# \n", max_size=80), st.integers(1, 30))
def test_every_number_is_of_a_reason_and_under_one_cause(reply, count):
    causes = read_causes(reply, count)
    numbers = [one for several in causes.values() for one in several]
    assert len(numbers) == len(set(numbers))
    assert all(1 <= one <= count for one in numbers)
    assert len({name.casefold() for name in causes}) == len(causes)


def test_a_cause_has_a_name_of_one_line_without_marks():
    assert cause_name(' **"wrong\tunit"** ') == "wrong unit"
    assert len(cause_name("long " * 50)) == 80
    assert not re.search(r"\s{2}", cause_name("a  b"))
