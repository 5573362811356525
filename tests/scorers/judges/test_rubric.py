"""A rubric: levels in words, and no value that is none of them."""

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.scorers.judges.criteria import Rubric
from steelyard.scorers.judges.judge import Judge
from steelyard.types import ScoreInfo

LEVELS = {"1": "Curt or rude.", "3": "Civil.", "5": "Warm, and to the point."}


def tone(given, reply="3\nCivil throughout.", **fields):
    fields = {"name": "tone", "question": "Is the tone right for a complaint?", "levels": LEVELS} | fields
    return judged(lambda judge: Rubric(judge, **fields), given, lambda asked: reply)


def test_the_judge_sees_the_question_and_the_levels_before_the_answer():
    judgement = tone(sample("Dear Sir"))
    prompt = judgement.prompts[0]
    parts = (
        "Is the tone right for a complaint?",
        "1: Curt or rude.\n3: Civil.\n5: Warm, and to the point.",
        "\nDear Sir\n",
    )
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    assert (judgement.only.name, judgement.only.value, judgement.only.reason) == ("tone", 3, "Civil throughout.")


def test_levels_stand_in_the_order_of_their_values():
    assert "2: b\n10: a" in tone(sample(), "10", levels={"10": "a", "2": "b"}).prompts[0]


def test_a_value_between_the_levels_is_out_of_scale_unless_it_is_allowed():
    score = tone(sample(), "4\nBetween civil and warm.").only
    assert (score.outcome, score.value, score.detail["kind"]) == ("unparsed", None, "out_of_scale")
    assert score.reason == "4 is not one of the levels. Between civil and warm."
    assert tone(sample(), "4", allow_between=True).only.value == 4
    assert tone(sample(), "6", allow_between=True).only.detail["kind"] == "out_of_scale"


def test_levels_may_have_decimals():
    assert tone(sample(), "0.5", levels={"0": "no", "0.5": "half", "1": "yes"}).only.value == 0.5


def test_reference_and_contexts_are_shown_where_they_are_wanted_only():
    given = sample("Paris", reference="THE-REFERENCE", found=("THE-CONTEXT",))
    without, with_both = tone(given).prompts[0], tone(given, reference=True, contexts=True).prompts[0]
    assert "THE-REFERENCE" not in without
    assert "THE-CONTEXT" not in without
    assert with_both.index("THE-REFERENCE") < with_both.index("THE-CONTEXT") < with_both.index("\nParis\n")


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (sample(reference=None), {"reference": True}),
        (sample(reference=""), {"reference": True}),
        (sample(), {"contexts": True}),
    ],
)
def test_what_is_not_there_makes_it_not_applicable_without_a_call(given, fields):
    judgement = tone(given, **fields)
    assert (judgement.only.outcome, judgement.asked) == ("not_applicable", [])


def test_scale_and_spread_are_announced():
    rubric = Rubric(Judge(), "tone", levels=LEVELS)
    assert rubric.score_infos == (ScoreInfo("tone", (1, 5), histogram=True),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "rubric"}, "describe what is judged"),
        ({"levels": {"1": "one"}}, "two or more"),
        ({"levels": {"one": "a", "2": "b"}}, "'one' is not a number"),
        ({"levels": {"nan": "a", "2": "b"}}, "'nan' is not a number"),
        ({"levels": {"1": " ", "2": "b"}}, "1 needs a description"),
        ({"levels": {"1": "a", "1.0": "b"}}, "described twice"),
        ({"threshold": 7}, "threshold must be a number from 1 to 5"),
        ({"name": "a\nb"}, "printable name"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        check_options(Rubric(Judge(), **({"name": "tone", "levels": LEVELS} | fields)))
