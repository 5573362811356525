"""Guidelines: a share of all of them, or nothing."""

import pytest
from tests.scorers.judges.judge_server import judged, refused, said, sample

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.scorers.judges.criteria import Guideline
from steelyard.scorers.judges.judge import Judge

RULES = ("Names its sources.", "Gives no legal advice.", "Is polite.")
MIXED = "1. NO: it names none.\n2. YES: none is given.\n3. YES: it says please."


def guided(reply, given=None, *, judge=None, rules=RULES, **fields):
    answer = reply if callable(reply) else lambda asked: reply
    return judged(lambda configured: Guideline(configured, rules, **fields), given or sample(), answer, judge=judge)


def test_one_call_judges_each_guideline_and_the_value_is_the_share_kept():
    judgement = guided(MIXED)
    assert len(judgement.asked) == 1
    assert "1. Names its sources.\n2. Gives no legal advice.\n3. Is polite." in judgement.prompts[0]
    assert "3 in all" in judgement.prompts[0]
    score = judgement.only
    assert (score.name, score.value, score.passed) == ("guideline", pytest.approx(2 / 3), False)
    assert score.detail["guidelines"] == [
        {"guideline": "Names its sources.", "verdict": "no", "reason": "it names none."},
        {"guideline": "Gives no legal advice.", "verdict": "yes", "reason": "none is given."},
        {"guideline": "Is polite.", "verdict": "yes", "reason": "it says please."},
    ]


def test_it_passes_where_all_are_kept():
    score = guided("1. YES: a\n2. YES: b\n3. YES: c").only
    assert (score.value, score.passed) == (1, True)


def test_one_guideline_without_a_verdict_leaves_no_share_but_bounds():
    score = guided("1. NO: it names none.\n2. YES: none is given.").only
    assert (score.outcome, score.value, score.detail["kind"]) == ("unparsed", None, "none")
    assert (score.detail["kept"], score.detail["unread"]) == (1, 1)
    assert score.detail["bounds"] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]
    assert score.detail["guidelines"][2] == {"guideline": "Is polite.", "verdict": "", "reason": ""}


@pytest.mark.parametrize(
    ("reply", "outcome", "kind"),
    [
        ("", "unparsed", "empty"),
        ("It depends on the reader.", "unparsed", "none"),
        (said("1. YES: a\n2. YES: b\n", finish="length"), "unparsed", "truncated"),
        (refused(), "refused", None),
    ],
)
def test_what_cannot_be_read_is_no_share(reply, outcome, kind):
    score = guided(reply).only
    assert (score.outcome, score.value, score.detail.get("kind")) == (outcome, None, kind)


def test_a_repeat_that_cannot_be_read_is_left_out_of_the_mean_and_seen():
    replies = [MIXED, "no idea"]
    score = guided(lambda asked: replies[asked.no], judge={"repeats": 2}).only
    assert score.value == pytest.approx(2 / 3)
    assert None in score.detail["repeats"]
    assert "bounds" not in score.detail


@pytest.mark.parametrize(
    ("rules", "fields", "message"),
    [
        ((), {}, "a list of 1 to 50 texts"),
        ("Be nice.", {}, "a list of 1 to 50 texts"),
        (("Be nice.", ""), {}, "not blank"),
        (RULES, {"name": ""}, "printable name"),
    ],
)
def test_what_cannot_be_meant_is_refused(rules, fields, message):
    with pytest.raises(ConfigError, match=message):
        check_options(Guideline(Judge(), rules, **fields))
