"""How the judges of RAG answers are asked; what all packaged prompts hold is in test_prompts.py."""

from __future__ import annotations

from functools import partial

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard.scorers.judges.citations import Citations
from steelyard.scorers.judges.claims import ClaimCorrectness, ClaimFaithfulness, ContextRecall, NoiseSensitivity
from steelyard.scorers.judges.criteria import Correctness
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.relevance import AnswerRelevancy, ContextRelevance

SCORERS = [
    Correctness,
    Faithfulness,
    ClaimFaithfulness,
    AnswerRelevancy,
    ContextRelevance,
    partial(ContextRelevance, by_reference=True),
    ContextRecall,
    ClaimCorrectness,
    NoiseSensitivity,
    Citations,
]


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_judge_is_asked_to_be_steady(scorer):
    judgement = judged(
        scorer, sample("Paris [1]", found=["Paris."]), lambda asked: "NONE" if "claims" in asked.prompt else "5"
    )

    sent = judgement.asked[0].body
    assert {key: sent[key] for key in ("temperature", "top_p", "frequency_penalty", "presence_penalty")} == {
        "temperature": 0,
        "top_p": 1,
        "frequency_penalty": 0,
        "presence_penalty": 0,
    }
