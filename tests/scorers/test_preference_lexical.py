"""Preference by words shared with the reference: who is nearer, by how much, and when nobody can say."""

from __future__ import annotations

import pytest

from steelyard import ConfigError, Output, Sample
from steelyard.constraints import check_options
from steelyard.scorers.preference import LexicalPreference

REFERENCE = "Boil it for nine minutes."


def prefer(a, b, reference=REFERENCE, about=None, **fields):
    return LexicalPreference(**fields)(
        Sample("egg", "How long?", reference), Output({"A": a, "B": b}, metadata=about or {})
    )


@pytest.mark.parametrize(
    ("a", "b", "value", "label"),
    [
        ("Nine minutes.", "No idea.", 1.0, "A"),
        ("No idea.", "Nine minutes.", 0.0, "B"),
        ("Nine minutes.", "nine minutes", 0.5, "tie"),
        ("", "", 0.5, "tie"),
        ("九分钟", "不知道", 0.5, "tie"),
    ],
)
def test_the_nearer_answer_is_preferred(a, b, value, label):
    score = prefer(a, b)
    assert (score.name, score.value, score.detail["label"], score.detail["by"]) == (
        "preference",
        value,
        label,
        "lexical",
    )


def test_the_values_of_both_are_kept_and_told():
    # boil it for nine minutes: 2 of 2 words of A, 2 of its 5; F1 = 2 * 1 * 0.4 / 1.4
    score = prefer("Nine minutes.", "Nine hours.")
    assert score.detail["measures"] == {"A": pytest.approx(4 / 7), "B": pytest.approx(2 / 7)}
    assert score.reason == "A: token_f1 0.57 against 0.29"


def test_within_the_margin_it_is_a_tie_and_beyond_it_is_not():
    assert prefer("Nine minutes.", "Nine hours.", margin=0.3).detail["label"] == "tie"
    assert prefer("Nine minutes.", "Nine hours.", margin=0.28).detail["label"] == "A"


@pytest.mark.parametrize("measure", ["token_f1", "rouge_l", "chrf"])
def test_every_measure_knows_chinese_and_takes_the_best_of_several_references(measure):
    score = prefer("煮九分钟", "不知道", ["十分钟左右", "煮九分钟"], measure=measure)
    assert (score.value, score.detail["measures"]["A"]) == (1.0, 1.0)


def test_alike_answers_are_flagged():
    assert prefer("Nine minutes.", "nine minutes").detail["alike"] is True
    assert "alike" not in prefer("Nine minutes.", "No idea.").detail


@pytest.mark.parametrize(
    ("a", "reference", "about", "detail"),
    [
        ("x", None, {}, {"by": "lexical"}),
        (None, REFERENCE, {}, {"side": "A", "why": "missing", "lacks": "answers"}),
        ("x", REFERENCE, {"B": {"failure": "error: timeout"}}, {"side": "B", "why": "error", "lacks": "answers"}),
    ],
)
def test_without_a_reference_or_a_side_nothing_is_preferred(a, reference, about, detail):
    score = prefer(a, "Nine.", reference, about)
    assert (score.outcome, score.value, score.detail) == ("not_applicable", None, detail)


@pytest.mark.parametrize(
    ("fields", "message"), [({"measure": "bleu"}, "measure"), ({"margin": 2}, "margin"), ({"name": ""}, "name")]
)
def test_what_cannot_be_meant_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        check_options(LexicalPreference(**fields))


def test_lengths_are_kept_and_style_on_request():
    assert prefer("Nine minutes.", "No idea.").detail["chars"] == [13, 8]
    assert "style" not in prefer("Nine minutes.", "No idea.").detail
    listed = "## How\n- boil it\n1. **nine** minutes\n```\n# no heading\n- no item\n```"
    assert prefer(listed, "Nine.", style=True).detail["style"] == [[1, 2, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    "code", ["1. do\n   ```python\n   # no heading\n   ```\n2. go", "1. do\n2. go\n~~~\n# no heading, cut off"]
)
def test_code_in_a_list_and_code_that_was_cut_off_have_no_headings(code):
    assert prefer(code, "Nine.", style=True).detail["style"] == [[0, 2, 0], [0, 0, 0]]
