"""Structured verdicts: the schema that is sent, and the same reader for what comes."""

import asyncio
import json

import pytest

from steelyard import Correctness, Judge, Output, Sample, Scripted
from steelyard.scorers import Faithfulness, Rubric
from steelyard.types import Reply

SAMPLE = Sample("q1", "Why is tin soft?", "Its layers slide.", contexts=("Tin has layers that slide.",))
ANSWER = Output("Its layers slide.")
LEVELS = {"1": "poor", "3": "fair", "5": "good"}


class Asked:
    """Notes the parameters of every call, and replies the same to all."""

    repeat = 0

    def __init__(self, text):
        self.text = text
        self.parameters = []

    async def __call__(self, model, messages, /, **parameters):
        self.parameters.append(parameters)
        return Reply("", self.text)


def first(scorer, text):
    asked = Asked(text)
    scores = asyncio.run(scorer(SAMPLE, ANSWER, ask=asked))
    return (scores[0] if isinstance(scores, list) else scores), asked.parameters


@pytest.mark.parametrize(
    ("make", "name", "verdict", "value"),
    [
        (Correctness, "rating", 4, 4.0),
        (lambda judge: Rubric(judge, name="tone", levels=LEVELS), "rating", 3, 3.0),
        (Faithfulness, "verdict", "YES", 1.0),
    ],
)
def test_reason_stands_before_the_verdict_in_schema_and_reply(make, name, verdict, value):
    text = json.dumps({"reason": "Not 2 or NO, as one might say.", name: verdict})
    score, (parameters,) = first(make(Judge(Scripted(), structured=True)), text)
    schema = parameters["response_format"]["json_schema"]
    assert list(schema["schema"]["properties"]) == ["reason", name]
    assert schema["strict"] is True
    assert (score.outcome, score.value) == ("scored", value)
    assert "Not 2 or NO" in score.reason
    plain, (without,) = first(make(Judge(Scripted())), text)
    assert "response_format" not in without
    assert plain.value == value


def test_a_rating_off_the_scale_is_none_whatever_the_schema_let_through():
    score, _ = first(Correctness(Judge(Scripted(), structured=True)), '{"reason": "wonderful", "rating": 9}')
    assert (score.outcome, score.detail["kind"]) == ("unparsed", "out_of_scale")
