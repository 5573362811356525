"""What a person is asked for each kind of score, and what the answer is worth."""

import pytest

from steelyard import Sample, ScoreInfo
from steelyard.analysis.label_forms import COMMENT, LabelForm, label_form, shown_order
from steelyard.errors import ConfigError

UNIT = (0.0, 1.0)
JUDGING = {"target": {"pair": {"first": "a", "second": "b"}}, "scores": ["preference"]}


def form(*infos, manifest=None, **options):
    return label_form(manifest or {}, {info.name: info for info in infos}, **options)


@pytest.mark.parametrize(
    ("info", "kind", "name"),
    [
        (ScoreInfo("solve_rate", UNIT, threshold=1.0, exam=True), "choice", "answer"),
        (ScoreInfo("result", UNIT, threshold=1.0), "pass_fail", "result"),
        (ScoreInfo("correctness", (1.0, 5.0)), "scale", "correctness"),
        (ScoreInfo("likert", (-2.0, 2.0), threshold=0.0), "scale", "likert"),
        (ScoreInfo("token_f1", UNIT), "pass_fail", "verdict"),
        (ScoreInfo("token_f1", UNIT, threshold=0.5), "pass_fail", "verdict"),
        (ScoreInfo("tuple_order", (-1.0, 1.0)), "pass_fail", "verdict"),
        (ScoreInfo("errors", UNIT, threshold=1.0, lower_is_better=True), "pass_fail", "verdict"),
        (ScoreInfo("seconds", None), "pass_fail", "verdict"),
        (ScoreInfo("hit_rate", UNIT, threshold=1.0), "pass_fail", "verdict"),
    ],
)
def test_the_kind_of_label_follows_what_the_score_declares(info, kind, name):
    label_form = form(info)
    assert (label_form.kind, label_form.name) == (kind, name)
    assert label_form.counted == (name != "verdict")


def test_an_answer_is_labelled_where_the_headline_is_about_retrieval():
    hit = ScoreInfo("hit_rate", UNIT, threshold=1.0)
    correctness = ScoreInfo("correctness", (1.0, 5.0))
    assert form(hit, ScoreInfo("token_f1", UNIT), correctness, manifest={"primary": "hit_rate"}).name == "correctness"
    assert form(hit, correctness, manifest={"primary": "hit_rate"}, score="hit_rate").name == "hit_rate"


def test_a_pair_takes_a_preference_and_no_other_score_of_the_run_does():
    preference, length = ScoreInfo("preference", UNIT), ScoreInfo("length", UNIT, threshold=1.0)
    assert form(preference, length, manifest=JUDGING).kind == "preference"
    assert not form(preference, length, manifest=JUDGING, score="length").counted


def test_another_kind_has_a_name_of_its_own_unless_the_score_takes_it():
    correctness = ScoreInfo("correctness", (1.0, 5.0))
    assert form(correctness, kind="scale:1-5") == form(correctness) == form(correctness, kind="scale")
    other = form(correctness, kind="scale:1-10")
    assert (other.name, other.scale, other.counted) == ("rating", (1.0, 10.0), False)
    assert form(correctness, kind="pass-fail").name == "verdict"
    assert form(correctness, kind="text").name == COMMENT
    assert form(kind="text").name == COMMENT, "a run without scores takes remarks too"


@pytest.mark.parametrize("kind", ["scale:5-1", "scale:1-1", "scale:1-1000000000", "stars", "preference", "choice"])
def test_a_kind_that_cannot_be_meant_is_refused(kind):
    with pytest.raises(ConfigError, match="--as"):
        form(ScoreInfo("token_f1", UNIT), kind=kind)


@pytest.mark.parametrize(
    ("kind", "typed", "order", "value"),
    [
        ("pass_fail", " Pass ", "AB", "pass"),
        ("pass_fail", "n", "AB", "fail"),
        ("scale", "４", "AB", 4.0),
        ("scale", "2.5", "AB", 2.5),
        ("preference", "a", "AB", "A"),
        ("preference", "A", "BA", "B"),
        ("preference", "2", "BA", "A"),
        ("preference", "Tie", "BA", "tie"),
        ("text", " why? ", "AB", "why?"),
        ("choice", "c, a", "AB", "AC"),
        ("choice", "none", "AB", ""),
        ("choice", "NONE", "AB", ""),
        ("choice", "B", "AB", "B"),
        ("choice", " c、a ", "AB", "AC"),
        ("choice", "Ｂ", "AB", "B"),
    ],
)
def test_a_label_is_typed_in_any_form(kind, typed, order, value):
    scale = (1.0, 5.0) if kind == "scale" else None
    asked = Sample("q", "?", choices=("w", "x", "y", "z"))
    assert LabelForm(kind, "n", scale=scale).parse(typed, asked, order) == value


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("pass_fail", "4"),
        ("scale", "0"),
        ("scale", "nan"),
        ("scale", "inf"),
        ("scale", "good"),
        ("preference", "C"),
        ("text", " "),
    ],
)
def test_what_is_no_label_is_refused_with_what_was_expected(kind, typed):
    scale = (1.0, 5.0) if kind == "scale" else None
    with pytest.raises(ConfigError, match="is not a verdict: type "):
        LabelForm(kind, "n", scale=scale).parse(typed, Sample("q", "?"))


@pytest.mark.parametrize("typed", ["", "E", "the first", "1", "A?", "nothing"])
def test_what_are_no_letters_is_refused_with_those_that_were_shown(typed):
    with pytest.raises(ConfigError, match="type letters from A to D as they were shown"):
        LabelForm("choice", "answer").parse(typed, Sample("q", "?", choices=("w", "x", "y", "z")))


def test_the_order_of_a_pair_depends_on_seed_sample_and_repeat_alone_and_is_even():
    orders = [shown_order(0, f"q{number}", 0) for number in range(1000)]
    assert orders == [shown_order(0, f"q{number}", 0) for number in range(1000)]
    assert 450 < orders.count("AB") < 550
    assert orders != [shown_order(1, f"q{number}", 0) for number in range(1000)]
    assert orders != [shown_order(0, f"q{number}", 1) for number in range(1000)]


def test_only_a_label_of_its_kind_is_worth_a_number():
    rating = LabelForm("scale", "r", scale=(1.0, 5.0))
    assert [rating.number(value) for value in (3, 3.5, 9, True, "3", None)] == [3.0, 3.5, None, None, None, None]
    assert [LabelForm("pass_fail", "r").number(value) for value in ("pass", "fail", "A", 1)] == [1.0, 0.0, None, None]
