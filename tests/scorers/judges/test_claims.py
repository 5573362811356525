"""The share of an answer's claims that its contexts support, judged by a scripted server."""

from __future__ import annotations

import re

import pytest
from tests.scorers.judges.judge_server import judged, said, sample

from steelyard.scorers.judges.claims import ClaimFaithfulness

LONG = tuple(f"Passage {letter}. " + "It tells of the tower. " * 12 for letter in "ab")
CLAIMS = "1. The tower is old.\n2. The tower is tall.\n3. The tower is red.\n4. The tower is blue."


def claims(*replies, found=("The tower is old and tall.",), answer="It is old, tall, red and blue.", **more):
    """What the judge was asked and said, the replies given in order of arrival."""
    given = iter(replies)
    of = sample(answer, "What is the tower like?", found=list(found))
    return judged(lambda judge: ClaimFaithfulness(judge, window_tokens=100), of, lambda asked: next(given), **more)


def verdicts(score):
    return [one["verdict"] for one in score.detail["claims"]]


def test_the_score_is_the_share_of_supported_claims():
    judgement = claims(CLAIMS, "1. YES - it says so.\n2. YES - so too.\n3. NO - silent.\n4. YES - somewhere.")

    assert judgement.only.value == 0.75
    assert judgement.only.detail["claims"][2] == {
        "claim": "The tower is red.",
        "verdict": "no",
        "reason": judgement.only.detail["claims"][2]["reason"],
    }
    assert "silent" in judgement.only.detail["claims"][2]["reason"]
    assert len(judgement.asked) == 2


def test_the_claims_are_judged_under_numbers_with_the_contexts_alone():
    judgement = claims(CLAIMS, "1. YES\n2. YES\n3. NO\n4. NO")

    assert "1. The tower is old.\n2. The tower is tall." in judgement.prompts[1]
    assert re.search(r"<passage 1 \w{12}>\nThe tower is old and tall\.\n", judgement.prompts[1])
    assert "check the 4 claims above" in judgement.prompts[1]
    assert "It is old, tall, red and blue." not in judgement.prompts[1]


def test_a_claim_that_any_window_supports_is_supported_and_not_asked_again():
    judgement = claims(CLAIMS, "1. YES\n2. NO\n3. NO\n4. YES", "1. YES\n2. NO", found=LONG)

    assert verdicts(judgement.only) == ["yes", "yes", "no", "yes"]
    assert "1. The tower is tall.\n2. The tower is red." in judgement.prompts[2]
    assert "The tower is old." not in judgement.prompts[2]


def test_further_windows_are_not_asked_about_where_all_is_supported():
    judgement = claims(CLAIMS, "1. YES\n2. YES\n3. YES\n4. YES", found=LONG)

    assert judgement.only.value == 1.0
    assert len(judgement.asked) == 2


def test_a_claim_without_a_verdict_is_not_left_out_of_the_share():
    judgement = claims(CLAIMS, "1. YES\n2. NO\n4. NO")

    assert judgement.only.outcome == "unparsed"
    assert judgement.only.detail["kind"] == "ambiguous"
    assert judgement.only.detail["bounds"] == [0.25, 0.5]
    assert verdicts(judgement.only) == ["yes", "no", "", "no"]


def test_a_claim_that_one_window_left_open_is_settled_by_another_that_supports_it():
    judgement = claims(CLAIMS, "1. YES\n2. NO\n4. YES", "1. NO\n2. YES", found=LONG)

    assert verdicts(judgement.only) == ["yes", "no", "yes", "yes"]
    assert judgement.only.value == 0.75


def test_a_claim_that_one_window_left_open_stays_so_where_another_does_not_support_it():
    judgement = claims(CLAIMS, "1. YES\n2. NO\n4. YES", "1. NO\n2. NO", found=LONG)

    assert verdicts(judgement.only) == ["yes", "no", "", "yes"]
    assert judgement.only.outcome == "unparsed"


@pytest.mark.parametrize("reply", ["NONE", "None.", "[]", "无", "The answer makes no claims."])
def test_an_answer_that_claims_nothing_is_not_applicable(reply):
    judgement = claims(reply)

    assert judgement.only.outcome == "not_applicable"
    assert judgement.only.reason == "nothing claimed"
    assert len(judgement.asked) == 1


def test_claims_as_json_are_read_and_equal_ones_judged_once():
    judgement = claims('["The tower is old.", "The tower is OLD", "It is red."]', "1. YES\n2. NO")

    assert judgement.only.value == 0.5


def test_a_list_of_claims_that_broke_off_is_no_list():
    judgement = claims(said(CLAIMS, finish="length"))

    assert judgement.only.outcome == "unparsed"
    assert judgement.only.detail["kind"] == "truncated"
    assert len(judgement.asked) == 1


def test_repeats_repeat_the_whole_procedure():
    def reply(asked):
        return "1. The tower is old.\n2. It is red." if "numbered list, one claim" in asked.prompt else next(second)

    second = iter(["1. YES\n2. YES", "1. YES\n2. NO"])
    of = sample("It is old and red.", "What is it like?", found=["It is old."])
    judgement = judged(ClaimFaithfulness, of, reply, judge={"repeats": 2})

    assert judgement.only.value == 0.75
    assert judgement.only.detail["flip_rate"] == 0.5
    assert [one["repeat"] for one in judgement.only.detail["claims"]] == [1, 1, 2, 2]


def test_a_repeat_that_finds_no_claim_is_counted_and_left_out():
    def reply(asked):
        return next(first) if "numbered list, one claim" in asked.prompt else "1. YES"

    first = iter(["NONE", "1. The tower is old."])
    of = sample("It is old.", "What is it like?", found=["It is old."])
    judgement = judged(ClaimFaithfulness, of, reply, judge={"repeats": 2})

    assert judgement.only.value == 1.0
    assert judgement.only.detail["nothing_claimed"] == 1


def test_a_threshold_passes_or_fails_and_none_does_neither():
    of = sample("It is old.", found=["It is old."])
    scores = [
        judged(
            lambda judge, least=least: ClaimFaithfulness(judge, least),
            of,
            lambda asked: (
                "1. It is old.\n2. It is red." if "one claim on each line" in asked.prompt else "1. YES\n2. NO"
            ),
        ).only
        for least in (None, 0.5, 0.6)
    ]

    assert [score.passed for score in scores] == [None, True, False]


def test_claims_for_which_nothing_was_retrieved_are_marked():
    """The run has no other record, so that in the end the score does not apply."""
    result = claims(CLAIMS, found=(), answer="It is old.")

    assert (result.only.value, result.only.detail["nothing_retrieved"], len(result.asked)) == (None, True, 1)


def test_no_claims_need_no_passages():
    result = claims("NONE", found=(), answer="Ask at the gate.")

    assert (result.only.outcome, result.only.detail["lacks"]) == ("not_applicable", "passages")


@pytest.mark.parametrize(("found", "answer"), [((), "I do not know."), (("It is old.",), " ")])
def test_an_abstention_without_contexts_and_a_blank_answer_are_not_asked_about(found, answer):
    result = claims(CLAIMS, found=found, answer=answer)

    assert result.only.outcome == "not_applicable"
    assert result.asked == []
