"""How right an answer is by its reference, judged by a scripted server."""

from __future__ import annotations

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard.scorers.judges.criteria import Correctness


def correctness(reply, *, make=Correctness, of=None, **more):
    """Both scores of the one sample, by name."""
    judgement = judged(make, of or sample(), lambda asked: reply, **more)
    [scores] = judgement.scores.values()
    return scores


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("5\nIt says what the reference says.", 5.0),
        ("4", 4.0),
        ("4.0", 4.0),
        ("\n3.5\nA part is missing.", 3.5),
        ("Score: 4\nFine.", 4.0),
        ("2/5\nMostly wrong.", 2.0),
        ("**1**\nIt is about something else.", 1.0),
    ],
)
def test_a_rating_is_read_with_or_without_a_second_line(reply, value):
    assert correctness(reply)["correctness"].value == value


def test_an_answer_passes_from_the_threshold_on():
    values = {reply: correctness(reply) for reply in ("4", "3.9")}

    assert [(one["correct"].value, one["correct"].passed) for one in values.values()] == [(1.0, True), (0.0, False)]
    assert [one["correctness"].passed for one in values.values()] == [True, False]


def test_the_threshold_can_be_moved():
    scores = correctness("3.5", make=lambda judge: Correctness(judge, threshold=3.5))

    assert scores["correct"].value == 1.0


@pytest.mark.parametrize(("reply", "kind"), [("7\nSuperb.", "out_of_scale"), ("It is a fine answer.", "none")])
def test_what_holds_no_rating_is_unparsed_in_both_scores(reply, kind):
    scores = correctness(reply)

    assert {score.outcome for score in scores.values()} == {"unparsed"}
    assert {score.detail["kind"] for score in scores.values()} == {kind}
    assert scores["correct"].passed is None


def test_a_chinese_question_is_judged_in_chinese():
    judgement = judged(Correctness, sample("巴黎", "法国的首都是哪里？", "巴黎"), lambda asked: "5分\n与参考答案一致。")

    assert judgement.scores["fr"]["correctness"].value == 5.0
    assert "参考答案" in judgement.prompts[0]


@pytest.mark.parametrize("reference", [None, "", " \n", [], ["", " "]])
def test_without_a_reference_the_question_does_not_apply_and_nothing_is_asked(reference):
    judgement = judged(Correctness, sample(reference=reference), lambda asked: "5")

    assert {score.outcome for score in judgement.scores["fr"].values()} == {"not_applicable"}
    assert judgement.asked == []


def test_several_references_are_shown_as_alternatives():
    judgement = judged(Correctness, sample(reference=["Paris", "the city of Paris"]), lambda asked: "5")

    assert "\nParis\nOR\nthe city of Paris\n" in judgement.prompts[0]


def test_several_chinese_references_are_shown_as_alternatives():
    judgement = judged(Correctness, sample("巴黎", "法国的首都？", ["巴黎", "巴黎市"]), lambda asked: "5")

    assert "\n巴黎\n或\n巴黎市\n" in judgement.prompts[0]


def test_a_blank_answer_is_rated_lowest_without_a_call():
    judgement = judged(Correctness, sample(" \n"), lambda asked: "5")

    assert [score.value for score in judgement.scores["fr"].values()] == [1.0, 0.0]
    assert judgement.asked == []


def test_repeats_give_the_mean_the_deviation_and_the_share_that_flips():
    replies = iter(["5", "4", "3"])
    judgement = judged(Correctness, sample(), lambda asked: next(replies), judge={"repeats": 3})

    scores = judgement.scores["fr"]
    assert scores["correctness"].value == 4.0
    assert scores["correctness"].detail["sd"] == 1.0
    assert scores["correctness"].detail["flip_rate"] == pytest.approx(1 / 3)
    assert scores["correct"].value == 1.0
