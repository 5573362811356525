"""The scorer of a code as lines to copy: what is read from them is what was written, whatever the texts hold."""

import pytest
from tests.browser.hostile_texts import TEXTS

from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.models.references import references
from steelyard.report.code_scorer import judge_config, pattern_config, score_name, scorer_yaml


def readable(text):
    """A text as the viewer stores it: a half of a surrogate pair is not a letter."""
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("text", TEXTS)
def test_the_lines_hold_what_was_written(text):
    text = readable(text)
    for config in (judge_config("late", text, [text, "plain"]), pattern_config("late", text, ["ignore_case"])):
        assert plain(parse(scorer_yaml(config), "copied.yaml")) == {"scorers": [config]}


def test_no_examples_are_an_empty_list():
    config = judge_config("late", "A day late.", [])
    assert plain(parse(scorer_yaml(config), "copied.yaml")) == {"scorers": [config]}


def test_the_name_of_a_score_can_stand_in_a_condition():
    assert [score_name(readable(text)) for text in ("Wrong unit", "<b>", "\n", "编造 来源")] == [
        "wrong_unit",
        "b",
        "error",
        "编造_来源",
    ]


def test_what_looks_like_a_reference_to_a_secret_stays_text():
    config = judge_config("late", "Says ${NAME} to the user.", ["Dear ${NAME}"])
    root = parse(scorer_yaml(config), "copied.yaml")
    assert list(references(plain(root))) == []
    assert list(references({"scorers": [{"other": {"name": "${NAME}"}}]})) == ["NAME"]
