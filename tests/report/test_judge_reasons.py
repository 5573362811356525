"""What a judge wrote of answers A and B, with the names of the systems; sentences of the form that judges write."""

from __future__ import annotations

import pytest

from steelyard.report.judge_reasons import preference_reason, resolved_reason
from steelyard.types import Score

SIDES = ("glm", "qwen")


@pytest.mark.parametrize(
    ("reason", "resolved"),
    [
        ("Answer A names the capital; answer B does not.", "qwen names the capital; glm does not."),
        ("Response B is shorter than Response A.", "glm is shorter than qwen."),
        ("The assistant A's code runs, B's does not.", "qwen's code runs, glm's does not."),
        ("A is more complete than B.", "qwen is more complete than glm."),
        ("Both A and B are right, but B gives a source.", "Both qwen and glm are right, but glm gives a source."),
        ("I prefer B over A. [[B]]", "I prefer glm over qwen. glm"),
        (
            "A good summary has a source; Vitamin B is not named.",
            "A good summary has a source; Vitamin B is not named.",
        ),
        ("A question was asked about plan B.", "A question was asked about plan B."),
        ("回答 A 更完整，回答B有错误。", "qwen 更完整，glm有错误。"),
        ("A 的回答比 B 更准确。", "qwen 的回答比 glm 更准确。"),
        ("An answer about blood type A.", "An answer about blood type A."),
    ],
)
def test_in_the_swapped_order_a_is_the_second_system(reason, resolved):
    assert resolved_reason(reason, "BA", SIDES) == resolved
    assert resolved_reason(reason, "AB", SIDES[::-1]) == resolved


def order(shown, verdict, reason="", outcome="scored"):
    return {"shown": shown, "verdict": verdict, "slot": 1, "outcome": outcome, "kind": "", "reason": reason}


def judged(label, *orders, outcome="scored", value=1.0):
    detail = {"by": "judge", "orders": list(orders), "label": label}
    return Score(
        "preference", value if outcome == "scored" else None, outcome=outcome, reason="as stored", detail=detail
    )


def test_a_verdict_is_explained_with_the_names_of_the_systems():
    both = judged("A", order("AB", "A", "Answer A is right."), order("BA", "A", "Answer B is right."))
    assert preference_reason(both, SIDES) == "glm in both orders: glm is right."
    swapped = judged("B", order("BA", "B", "Answer A is right."))
    assert preference_reason(swapped, SIDES) == "qwen with qwen shown first: qwen is right."
    tie = judged("tie", order("AB", "tie", "Answer A and answer B agree."), value=0.5)
    assert preference_reason(tie, SIDES) == "a tie with glm shown first: glm and qwen agree."


def test_orders_that_contradict_each_other_are_named_one_by_one():
    score = judged("inconsistent", order("AB", "A"), order("BA", "B"), value=0.5)
    assert preference_reason(score, SIDES) == "glm with glm shown first; qwen with qwen shown first"


def test_an_unparsed_order_gives_its_own_reason_and_a_verdict_without_orders_the_stored_one():
    score = judged("", order("BA", "", "Answer A or B?", "unparsed"), outcome="unparsed")
    assert preference_reason(score, SIDES) == "qwen or glm?"
    assert preference_reason(Score("preference", 1.0, reason="longer"), SIDES) == "longer"
