"""The packaged prompts of judges ask for the reason first and show an example, which the judge's own reader reads."""

from __future__ import annotations

import pytest
from tests.scorers.judges.judge_server import each, judged, said, sample

from steelyard.prompts.template import load_template, packaged_prompts
from steelyard.replies.judge_reply import Scale
from steelyard.replies.listing import read_list
from steelyard.replies.preference import read_preference
from steelyard.replies.rating import read_rating
from steelyard.replies.verdict_list import read_verdict_list
from steelyard.replies.yes_no import read_yes_no
from steelyard.scorers.judges.correctness import Correctness
from steelyard.scorers.judges.criteria import Guideline, Rubric
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.g_eval import GEval
from steelyard.scorers.judges.relevance import Relevance

PUBLISHED = {"g_eval"}
"""The form of G-Eval is filled in with the score alone (Liu et al. 2023), at whose token the probabilities are read."""
NO_VERDICT = {"claims", "g_eval_steps"}
RATINGS = {"correctness": (3, 1, 5), "rubric": (3, 1, 5), "relevance": (3, 1, 5), "g_eval_reasons": (2, 1, 3)}
YES_NO = {
    "faithfulness": "no",
    "faithfulness_refine": "yes",
    "answer_relevancy_unanswerable": "no",
    "answer_claims": "yes",
    "error_code": "yes",
    "goal_reached": "no",
    "plan_followed": "no",
}
NUMBERED = (
    "claim_verdicts",
    "claims_in_text",
    "citations",
    "context_relevance",
    "context_relevance_by_reference",
    "answer_relevancy",
    "guideline",
    "steps_justified",
)
MARKS = ("\nAn example", "\n下面是")
REASON = ("reason", "理由")
VERDICT = ('"Verdict:', "“结论：", '"Rating:', "“评分：", "fill in this form", "填写下面的评分表", "[[C]]")


def example_of(name, language):
    """The reply in a prompt's example: the lines between its heading and the next blank line."""
    text = load_template(f"{language}/judge_{name}")
    start = next(text.index(mark) for mark in MARKS if mark in text)
    return text[start:].strip().split("\n\n")[0].split("\n", 1)[1]


def names():
    return sorted(name.removeprefix("en/judge_") for name in packaged_prompts() if name.startswith("en/judge_"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_judge_prompt_has_an_example_but_the_published_form(language):
    without = {name for name in names() if not any(m in load_template(f"{language}/judge_{name}") for m in MARKS)}
    assert without == PUBLISHED
    kinds = {*RATINGS, *YES_NO, *NUMBERED, *NO_VERDICT, *PUBLISHED, "preference"}
    assert set(names()) == kinds, "each prompt's example is read below"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [name for name in names() if name not in PUBLISHED | NO_VERDICT])
def test_the_reason_is_asked_for_before_the_verdict(name, language):
    text = load_template(f"{language}/judge_{name}")
    task = text[text.index(example_of(name, language)) + len(example_of(name, language)) :]
    reason = min(task.index(word) for word in REASON if word in task)
    verdict = min(task.index(word) for word in VERDICT if word in task)
    assert reason < verdict


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", RATINGS)
def test_the_example_of_a_rating_is_read(name, language):
    value, low, high = RATINGS[name]
    metric = {"relevance": "relevance", "g_eval_reasons": "politeness"}.get(name, "")
    verdict = read_rating(example_of(name, language), Scale(low, high), name=metric)
    assert (verdict.value, bool(verdict.reason)) == (value, True)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", YES_NO)
def test_the_example_of_yes_or_no_is_read(name, language):
    verdict = read_yes_no(example_of(name, language))
    assert (verdict.label, bool(verdict.reason)) == (YES_NO[name], True)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NUMBERED)
def test_the_example_of_a_list_of_verdicts_is_read(name, language):
    verdicts = read_verdict_list(example_of(name, language), 2)
    assert [verdict.label for verdict in verdicts] == ["yes", "no"]
    assert all(verdict.reason for verdict in verdicts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_example_of_a_preference_is_read(language):
    assert read_preference(example_of("preference", language)).label == "B"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_examples_of_lists_are_read(language):
    assert len(read_list(example_of("claims", language))) == 2
    assert len(read_list(example_of("g_eval_steps", language))) == 3


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [*YES_NO, *NUMBERED, "preference"])
def test_instructions_that_a_judge_repeats_hold_no_verdict(language, name):
    asked = load_template(f"{language}/judge_{name}").strip().split("\n\n")[-1]
    verdict = read_preference(asked) if name == "preference" else read_yes_no(asked)
    assert verdict.outcome != "scored", verdict


REASONS = [
    "It names 3 of the 4 planets and puts 2 in the wrong order. In 2019 there were 5 lanes",
    "Score 1 would be too hard, and 5 too kind, as 1914 is missing",
    "参考答案有5条，回答给出3条，其中1条有误",
]


@pytest.mark.parametrize("label", ["Rating: 4", "**Rating: 4**", "Rating: 4/5", "评分：4", "评分：4分", "4"])
def test_a_rating_behind_reasons_with_numbers_is_the_rating(label):
    found = each(
        lambda judge: [
            Correctness(judge),
            Rubric(judge, question="Is it right?", levels={"1": "no", "4": "nearly", "5": "yes"}),
        ],
        [f"{reason}.\n{label}" for reason in REASONS],
    )
    for reason, (reply, scores) in zip(REASONS, found, strict=True):
        assert [scores[name].value for name in ("correctness", "rubric")] == [4.0, 4.0], reply
        assert scores["correctness"].reason.startswith(reason)


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_that_were_cut_off_before_the_verdict_hold_none(reason):
    judgement = judged(Correctness, sample(), lambda asked: said(reason, finish="length"))
    score = judgement.scores["fr"]["correctness"]
    assert (score.value, score.outcome) == (None, "unparsed")


@pytest.mark.parametrize(
    ("reason", "verdict", "value"),
    [
        ("No passage says that it was built in 1914, but the first gives 1771 for it", "YES", 1.0),
        ("Yes, the year is supported. The 98 m are not", "NO", 0.0),
        ("资料没有说有通行费，回答也没有说", "是", 1.0),
    ],
)
def test_a_verdict_behind_reasons_that_say_yes_and_no_is_the_verdict(reason, verdict, value):
    label = "结论：" if verdict == "是" else "Verdict: "
    assert judged(Faithfulness, sample(found=["P"]), lambda asked: f"{reason}.\n{label}{verdict}").only.value == value
    kept = judged(
        lambda judge: Guideline(judge, ("Is short.",)), sample(), lambda asked: f"1. {reason}. {label}{verdict}"
    )
    assert kept.only.value == value


def test_replies_have_room_for_the_reasons():
    tone = {"name": "tone", "criteria": "Polite.", "steps": ("Read.",), "reasoning": True}
    judgement = judged(
        lambda judge: [Relevance(judge), GEval(judge, **tone)], sample(), lambda asked: "Fine.\nrelevance: 4\ntone: 4"
    )
    assert [(asked.body["max_tokens"], asked.body["top_logprobs"]) for asked in judgement.asked] == [
        (512, 5),
        (512, 20),
    ]


def test_a_prompt_of_ones_own_that_asks_for_the_number_alone_keeps_the_short_limit():
    template = "Rate {{answer}} for {{question}} from 1 to 5. Reply with the number alone."
    judgement = judged(lambda judge: Relevance(judge, template=template), sample(), lambda asked: "4")
    assert [asked.body["max_tokens"] for asked in judgement.asked] == [12]
