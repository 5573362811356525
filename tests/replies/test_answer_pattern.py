"""Own patterns for answers: Japanese, Korean and Spanish sentences that the built-in rule leaves unparsed."""

import re

import pytest

from steelyard.errors import ConfigError
from steelyard.replies.answer_pattern import compile_answer_pattern, read_by_pattern

OPTIONS = ["동쪽", "서쪽", "남쪽", "북쪽"]
KOREAN = r"정답(?:은|:)\s*(?P<answer>[A-D]|\d)"


def letters(reply, pattern, options=OPTIONS, **keys):
    reading = read_by_pattern(reply, pattern, options, **keys)
    return None if reading is None else "".join(reading.letters) or reading.status


@pytest.mark.parametrize(
    ("reply", "pattern", "expected"),
    [
        ("정답은 B입니다.", KOREAN, "B"),
        ("A는 틀렸습니다. 따라서 정답은 D입니다.", KOREAN, "D"),
        ("최종 정답: 4번", KOREAN, "D"),
        ("Aは誤りなので、正解はCです。", "正解は(?P<answer>[A-D])", "C"),
        ("La respuesta correcta es la b.", r"(?i)respuesta correcta es la (?P<answer>[a-d])\b", "B"),
        ("Antwort: 북쪽", "Antwort: (?P<answer>.+)", "D"),
        ("key=③", "key=(?P<answer>.)", "C"),
        ("no such phrase, B", KOREAN, None),
    ],
)
def test_the_group_is_read_as_an_answer(reply, pattern, expected):
    assert letters(reply, pattern) == expected


def test_the_last_match_decides_and_its_place_is_in_the_original_reply():
    reply = "<think>정답은 C</think>정답은 A, 아니, 정답은 B입니다."
    reading = read_by_pattern(reply, KOREAN, OPTIONS)
    assert reading.letters == ("B",)
    assert reply[slice(*reading.span)] == "B"
    assert (reading.rule, reading.confidence) == ("pattern", "explicit")


def test_reasoning_that_is_marked_is_not_searched():
    assert read_by_pattern("<think>정답은 C", KOREAN, OPTIONS) is None


@pytest.mark.parametrize("found", ["AC", "A, C", "A和C", "ac", "[A][C]"])
def test_several_letters_are_an_answer_where_several_may_be_right(found):
    assert letters(f"=> {found}", "=> (?P<answer>.+)", several=True) == "AC"
    assert read_by_pattern(f"=> {found}", "=> (?P<answer>.+)", OPTIONS).status == "several"


def test_a_match_that_names_no_option_decides_all_the_same_and_says_what_was_found():
    reading = read_by_pattern("B. 정답: 9", KOREAN, OPTIONS)
    assert (reading.letters, reading.status) == ((), "unparsed")
    assert "'9'" in reading.reason


def test_a_match_whose_group_is_empty_does_not_decide():
    assert letters("정답: B 정답:", r"정답:\s*(?P<answer>[A-D])?") == "B"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("정답(?P<answer>[A-D]", "missing )"),
        ("ab*** (?P<answer>a)", "***"),
        ("ab[z-a](?P<answer>b)", "z-a"),
        ("(?<=is )(?P<answer>[A-D])", "no look-ahead, look-behind or back-reference: "),
        (r"(?P<answer>[A-D])\1", "no look-ahead, look-behind or back-reference: "),
        ("[A-D]", "no group named answer"),
        ("(?P<letter>[A-D])", "no group named answer"),
        ("(?P<answer>[A-D]?)", "matches an empty text"),
        ("(?P<answer>A)" * 2_000, "at most 20,000"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        compile_answer_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(?P<answer>(?:a+)+)$", "(?P<answer>(?:x+x+)+y)", "(?:.*a){20}(?P<answer>z)"])
def test_a_pattern_that_makes_backtracking_engines_explode_ends(pattern):
    # `re` would take longer than anyone waits.
    assert read_by_pattern("a" * 50_000 + "x" * 50_000 + "!", pattern, OPTIONS) is None


def test_work_is_limited_by_the_characters_searched():
    reading = read_by_pattern("A" * 60_000, "(?s)(?P<answer>A)", OPTIONS)
    assert (reading.status, reading.letters) == ("unparsed", ())
    assert "200,000,000 characters" in reading.reason


def test_half_a_surrogate_pair_does_not_move_the_place():
    reply = "\ud800정답은 B"
    assert reply[slice(*read_by_pattern(reply, KOREAN, OPTIONS).span)] == "B"
