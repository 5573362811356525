"""Structured verdicts: the schema that is sent, and the same reader for what comes."""

import asyncio
import json

import pytest

from steelyard import ConfigError, Judge, OpenAICompatible, Output, Sample, Scripted
from steelyard.constraints import check_options
from steelyard.scorers import (
    AnswerRelevancy,
    ClaimFaithfulness,
    ContextRelevance,
    Correctness,
    ErrorJudge,
    Faithfulness,
    GEval,
    GoalReached,
    Guideline,
    PlanFollowed,
    Preference,
    Relevance,
    Rubric,
    StepsJustified,
)
from steelyard.types import Reply

SAMPLE = Sample("q1", "Why is tin soft?", "Its layers slide.", contexts=("Tin has layers that slide.",))
MESSAGES = [
    {"role": "user", "content": "Why is tin soft?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"of": "tin"}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "Tin has layers that slide."},
    {"role": "assistant", "content": "Its layers slide."},
]
ANSWER = Output("Its layers slide.", metadata={"messages": MESSAGES})
PAIR = Output({"A": "Its layers slide.", "B": "Its atoms are soft."})
LEVELS = {"1": "poor", "3": "fair", "5": "good"}
POLITE = {"name": "tone", "criteria": "Is it polite?", "steps": ("Read.",)}
LISTED = {
    "verdicts": [
        {"number": 1, "reason": "NO doubt of it.", "verdict": "YES"},
        {"number": 2, "reason": "One might say YES.", "verdict": "NO"},
    ]
}


class Asked:
    """Notes the parameters of every call, and replies in turn, the last text to all that follow."""

    repeat = 0

    def __init__(self, *texts):
        self.texts = list(texts)
        self.parameters = []

    async def __call__(self, model, messages, /, **parameters):
        self.parameters.append(parameters)
        return Reply("", self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])


def first(scorer, *texts, output=ANSWER):
    asked = Asked(*texts)
    scores = asyncio.run(scorer(SAMPLE, output, ask=asked))
    return (scores[0] if isinstance(scores, list) else scores), asked.parameters


def properties(parameters):
    schema = parameters["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == list(schema["schema"]["properties"])
    return list(schema["schema"]["properties"])


@pytest.mark.parametrize(
    ("make", "name", "verdict", "value"),
    [
        (Correctness, "rating", 4, 4.0),
        (lambda judge: Rubric(judge, name="tone", levels=LEVELS), "rating", 3, 3.0),
        (Relevance, "rating", 2, 2.0),
        (lambda judge: GEval(judge, **POLITE, reasoning=True), "rating", 5, 5.0),
        (Faithfulness, "verdict", "YES", 1.0),
        (GoalReached, "verdict", "YES", 1.0),
        (lambda judge: PlanFollowed(judge, plan="Look it up."), "verdict", "NO", 0.0),
        (lambda judge: ErrorJudge(judge, name="apology", definition="It says sorry."), "verdict", "YES", 0.0),
    ],
)  # fmt: skip
def test_reason_stands_before_the_verdict_in_schema_and_reply(make, name, verdict, value):
    text = json.dumps({"reason": "Not 2 or NO, as one might say.", name: verdict})
    for structured in (True, "auto"):
        score, (parameters, *_) = first(make(Judge(Scripted(), structured=structured)), text)
        assert properties(parameters) == ["reason", name]
        assert (score.outcome, score.value, score.detail["asked_for"]) == ("scored", value, "JSON schema")
        assert "Not 2 or NO" in score.reason
    plain, (without, *_) = first(make(Judge(Scripted())), text)
    assert "response_format" not in without
    assert (plain.value, plain.detail.get("asked_for")) == (value, None)


@pytest.mark.parametrize(
    ("make", "texts", "value"),
    [
        (lambda judge: Guideline(judge, ("Is short.", "Names a source.")), (), 0.5),
        (AnswerRelevancy, (), 0.5),
        (ClaimFaithfulness, ("1. Tin is soft.\n2. Tin is heavy.",), 0.5),
    ],
)
def test_numbered_verdicts_are_one_list_of_the_same_schema(make, texts, value):
    score, parameters = first(make(Judge(Scripted(), structured="auto")), *texts, json.dumps(LISTED))
    assert properties(parameters[-1]) == ["verdicts"]
    entry = parameters[-1]["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["items"]
    assert list(entry["properties"]) == ["number", "reason", "verdict"]
    assert (score.outcome, score.value, score.detail["asked_for"]) == ("scored", value, "JSON schema")


@pytest.mark.parametrize("make", [ContextRelevance, StepsJustified])
def test_a_list_of_one_is_a_list_too(make):
    one = {"verdicts": LISTED["verdicts"][:1]}
    score, (parameters,) = first(make(Judge(Scripted(), structured="auto")), json.dumps(one))
    assert properties(parameters) == ["verdicts"]
    assert (score.outcome, score.value) == ("scored", 1.0)


@pytest.mark.parametrize(("letter", "value"), [("A", 1.0), ("B", 0.0), ("C", 0.5)])
def test_a_preference_names_a_place_or_neither(letter, value):
    text = json.dumps({"reason": "Answer B is longer, A is right, a tie is out of the question.", "preference": letter})
    scorer = Preference(Judge(Scripted(), structured="auto"), orders="random", seed=1)
    score, (parameters,) = first(scorer, text, output=PAIR)
    shown_first = score.detail["orders"][0]["shown"]
    assert properties(parameters) == ["reason", "preference"]
    assert score.value == (value if shown_first == "AB" else 1 - value)
    assert score.detail["asked_for"] == "JSON schema"


def test_a_form_that_asks_for_the_score_alone_has_no_reason_in_its_schema_and_room_for_braces():
    scorer = GEval(Judge(Scripted(), structured="auto"), **POLITE)
    score, (parameters,) = first(scorer, '{"rating": 4}')
    free, (without,) = first(GEval(Judge(Scripted()), **POLITE), "4")
    assert properties(parameters) == ["rating"]
    assert parameters["max_tokens"] > without["max_tokens"]
    assert (score.value, free.value) == (4.0, 4.0)


def test_the_calls_of_stored_runs_with_a_schema_keep_their_keys():
    """The journal's key is a digest of the request as it is written, order included."""
    _, (parameters,) = first(Correctness(Judge(Scripted(), structured=True, parameters={"seed": 3})), "Rating: 4")
    model = OpenAICompatible("m", "http://127.0.0.1:1/v1")
    body = json.loads(model.request("?", parameters).payload)
    assert json.dumps({key: value for key, value in body.items() if key not in {"model", "messages"}}) == (
        '{"temperature": 0, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "response_format": {"type": '
        '"json_schema", "json_schema": {"name": "rating", "schema": {"title": "rating", "type": "object", '
        '"properties": {"reason": {"type": "string"}, "rating": {"type": "number"}}, "required": ["reason", "rating"], '
        '"additionalProperties": false}, "strict": true}}, "seed": 3}'
    )


def test_a_rating_off_the_scale_is_none_whatever_the_schema_let_through():
    score, _ = first(Correctness(Judge(Scripted(), structured=True)), '{"reason": "wonderful", "rating": 9}')
    assert (score.outcome, score.detail["kind"]) == ("unparsed", "out_of_scale")


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (Judge(Scripted(), structured="yes"), "structured: expected auto, decisions, true or false, but got 'yes'"),
        (Judge(Scripted(), structured="auto", parameters={"response_format": {}}), "give one of them"),
        (Judge(OpenAICompatible("m", parameters={"response_format": {}}), structured=True), "give one of them"),
    ],
)
def test_an_unknown_word_and_two_forms_of_the_reply_are_refused(judge, message):
    with pytest.raises(ConfigError, match=message):
        check_options(judge)
