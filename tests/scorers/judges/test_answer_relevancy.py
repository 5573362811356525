"""Whether an answer answers its question, judged by a scripted server."""

from __future__ import annotations

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard.scorers.judges.relevance import AnswerRelevancy


def relevancy(reply, answer="Paris", **more):
    return judged(AnswerRelevancy, sample(answer, reference=None), lambda asked: reply, **more)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("1. YES - it is about France.\n2. YES - it names the capital.", 1.0),
        ("1. YES - it is about France.\n2. NO - it says that it does not know.", 0.5),
        ("1. NO\n2. NO", 0.0),
        ("1: yes\n2: no", 0.5),
        ("1. 是——说的是法国。\n2. 否——没有给出首都。", 0.5),
    ],
)
def test_each_of_the_two_questions_is_worth_a_half(reply, value):
    score = relevancy(reply).only

    assert score.value == value
    assert score.passed is (value == 1.0)


def test_it_is_one_call_without_reference_and_contexts():
    judgement = relevancy("1. YES\n2. YES")

    assert len(judgement.asked) == 1
    assert judgement.only.detail["verdicts"] == ["yes", "yes"]


def test_half_a_reply_is_no_score():
    score = relevancy("1. YES - it is about France.").only

    assert score.outcome == "unparsed"
    assert score.detail["kind"] == "none"
    assert score.detail["verdicts"] == ["yes", ""]


def test_a_blank_answer_answers_nothing_and_costs_no_call():
    judgement = relevancy("1. YES\n2. YES", answer=" \n ")

    assert judgement.only.value == 0.0
    assert judgement.only.reason == "the answer is blank"
    assert judgement.asked == []


def declining(reply, answer, **metadata):
    return judged(AnswerRelevancy, sample(answer, "What did the bridge cost?", None, **metadata), lambda asked: reply)


def test_saying_that_there_is_no_answer_is_right_where_there_is_none():
    judgement = declining("1. NO", "The documents do not mention the price.", answerable=False)

    assert (judgement.only.value, judgement.only.passed) == (1.0, True)
    assert judgement.only.detail["form"] == "abstention"
    assert judgement.asked == [], "words that say nothing else need no judge"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It says that no price is known, and names the archive.\nVerdict: YES", 1.0),
        ("It says that 2 documents give no price. It then gives 2,000 guilders all the same.\nVerdict: NO", 0.0),
        ("资料没有写明造价，但回答仍然给出了数额。\n结论：否", 0.0),
    ],
)
def test_what_is_not_plainly_an_abstention_is_judged_by_a_prompt_of_its_own(reply, value):
    judgement = declining(reply, "No price is known, but the archive may hold the accounts.", answerable=False)

    assert judgement.only.value == value
    assert "cannot be answered" in judgement.prompts[0]
    assert judgement.only.detail["answerable"] is False


@pytest.mark.parametrize("metadata", [{}, {"answerable": True}])
def test_the_same_abstention_is_not_relevant_where_an_answer_is_expected(metadata):
    reply = "1. It only says that it does not know. Verdict: NO\n2. It gives no price. Verdict: NO"
    judgement = declining(reply, "The documents do not mention the price.", **metadata)

    assert (judgement.only.value, judgement.only.passed) == (0.0, False)
    assert "says only that it does not know" in judgement.prompts[0]


def test_a_blank_answer_to_an_unanswerable_question_says_nothing():
    assert declining("1. NO", " ", answerable=False).only.value == 0.0
