"""Which retrieved contexts are of use, and whether they come first, judged by a scripted server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scorers.judges.judge_server import judged, sample

from steelyard.scorers.judges.relevance import ContextRelevance, average_precision

FOUND = ("Paris is the capital.", "Rome is a city.", "France has a capital.", "Bread is made of flour.")
LONG = tuple(f"Passage {letter}. " + "It tells of the tower. " * 12 for letter in "abc")


def relevance(*replies, found=FOUND, tokens=3000, **more):
    """Both scores by name, and what was asked; the replies are given in order of arrival."""
    given_ = iter(replies)
    of = sample(None, found=list(found))
    result = judged(lambda judge: ContextRelevance(judge, tokens), of, lambda asked: next(given_), **more)
    return result.scores["fr"], result


def test_the_share_of_use_and_the_precision_by_rank_are_given():
    scores, found = relevance("1. YES - it names it.\n2. NO - another country.\n3. YES - it says so.\n4. NO - bread.")

    assert scores["context_relevance"].value == 0.5
    assert scores["context_precision"].value == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert len(found.asked) == 1


def test_each_context_keeps_its_verdict():
    scores, _ = relevance("1. YES\n2. NO\n3. NO\n4. NO")

    listed = scores["context_relevance"].detail["contexts"]
    assert [(context["context"], context["verdict"]) for context in listed] == [
        (1, "yes"),
        (2, "no"),
        (3, "no"),
        (4, "no"),
    ]


def test_contexts_of_several_windows_are_numbered_anew_in_each():
    def reply(asked):
        assert "<passage 1 " in asked.prompt
        assert "<passage 2 " not in asked.prompt
        return "1. YES" if "Passage b." in asked.prompt else "1. NO"

    of = sample(None, found=list(LONG))
    judgement = judged(lambda judge: ContextRelevance(judge, 100), of, reply)

    assert judgement.scores["fr"]["context_relevance"].value == pytest.approx(1 / 3)
    assert judgement.scores["fr"]["context_precision"].value == 0.5
    assert len(judgement.asked) == 3


def test_a_context_cut_into_parts_is_of_use_if_one_part_is():
    def reply(asked):
        return "1. YES" if "The year is 1120." in asked.prompt else "1. NO"

    of = sample(None, found=["It tells of the tower. " * 40 + "The year is 1120."])
    judgement = judged(lambda judge: ContextRelevance(judge, 100), of, reply)

    assert judgement.scores["fr"]["context_relevance"].value == 1.0
    assert len(judgement.asked) > 2


def test_a_part_that_cannot_be_read_takes_nothing_from_a_part_of_use():
    def reply(asked):
        return "1. YES" if "The year is 1120." in asked.prompt else "Well."

    of = sample(None, found=["It tells of the tower. " * 40 + "The year is 1120."])
    judgement = judged(lambda judge: ContextRelevance(judge, 100), of, reply)

    assert judgement.scores["fr"]["context_relevance"].value == 1.0


def test_a_part_that_cannot_be_read_might_have_been_of_use():
    def reply(asked):
        return "Well." if "The year is 1120." in asked.prompt else "1. NO"

    of = sample(None, found=["It tells of the tower. " * 40 + "The year is 1120."])
    judgement = judged(lambda judge: ContextRelevance(judge, 100), of, reply)

    assert judgement.scores["fr"]["context_relevance"].outcome == "unparsed"


def test_a_missing_verdict_leaves_both_scores_unparsed():
    scores, _ = relevance("1. YES\n2. NO\n4. NO")

    assert {score.outcome for score in scores.values()} == {"unparsed"}
    assert [context["verdict"] for context in scores["context_precision"].detail["contexts"]] == ["yes", "no", "", "no"]


def test_a_blank_context_is_of_no_use_and_not_shown():
    scores, found = relevance("1. YES", found=("Paris is the capital.", "  "))

    assert scores["context_relevance"].value == 0.5
    assert "<passage 2 " not in found.prompts[0]


@pytest.mark.parametrize("found", [(), (" ",)])
def test_without_contexts_the_question_does_not_apply(found):
    scores, result = relevance("1. YES", found=found)

    assert {score.outcome for score in scores.values()} == {"not_applicable"}
    assert result.asked == []


def test_repeats_of_several_windows_stay_apart():
    def reply(asked):
        return "1. YES" if "Passage a." in asked.prompt else "1. NO"

    of = sample(None, found=list(LONG))
    judgement = judged(lambda judge: ContextRelevance(judge, 100), of, reply, judge={"repeats": 2})

    score = judgement.scores["fr"]["context_precision"]
    assert score.value == 1.0
    assert score.detail["sd"] == 0.0
    assert [context["verdict"] for context in score.detail["contexts"]] == ["yes", "no", "no"] * 2


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30))
def test_the_precision_is_the_mean_of_precision_at_each_rank_of_use(of_use):
    wanted = sum(sum(of_use[: k + 1]) / (k + 1) * v for k, v in enumerate(of_use)) / (sum(of_use) + 1e-10)

    assert average_precision(of_use) == pytest.approx(wanted, abs=1e-9)
