"""The prompts of the judges of RAG answers, as they are packaged and as they are sent."""

from __future__ import annotations

from functools import partial

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.prompts.template import load_template, placeholders
from steelyard.scorers.judges.citations import Citations
from steelyard.scorers.judges.claims import ClaimCorrectness, ClaimFaithfulness, ContextRecall, NoiseSensitivity
from steelyard.scorers.judges.criteria import Correctness
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.relevance import AnswerRelevancy, ContextRelevance

SHOWN = {
    "correctness": {"question", "reference", "answer"},
    "faithfulness": {"question", "contexts", "answer"},
    "faithfulness_refine": {"question", "contexts", "answer", "reason"},
    "claims": {"question", "answer"},
    "claim_verdicts": {"contexts", "claims"},
    "answer_relevancy": {"question", "answer"},
    "claims_in_text": {"question", "text", "claims"},
    "citations": {"question", "contexts", "claims"},
    "context_relevance": {"question", "contexts"},
    "context_relevance_by_reference": {"question", "reference", "contexts"},
}
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


@pytest.mark.parametrize("name", SHOWN)
def test_both_languages_show_the_same(name):
    english, chinese = (
        {found for found, _ in placeholders(load_template(f"{language}/judge_{name}"))} for language in ("en", "zh")
    )

    assert english == chinese
    assert english - {"mark", "count"} == SHOWN[name]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SHOWN)
def test_the_warning_stands_before_the_material_and_the_form_of_the_reply_behind_all_of_it(name, language):
    text = load_template(f"{language}/judge_{name}")
    places = [at for found, at in placeholders(text) if found in SHOWN[name]]
    marks = [at for name, at in placeholders(text) if name == "mark"]

    assert max(marks) < min(places)
    ending = text[max(places) :]
    assert {"en": "}}\n\nThe material ends here. ", "zh": "}}\n\n材料到此为止，"}[language] in ending
    assert len(ending) > {"en": 150, "zh": 60}[language]


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_packaged_prompts_are_such_as_are_accepted_of_a_user(scorer):
    check_options(scorer())

    prompts = scorer().manifest()["prompts"]
    assert all(set(by_language) == {"en", "zh"} for by_language in prompts.values())
    assert len({one["hash"] for by_language in prompts.values() for one in by_language.values()}) == 2 * len(prompts)


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_prompt_that_asks_for_what_there_is_not_is_refused(scorer):
    with pytest.raises(ConfigError, match="qestion"):
        check_options(scorer(template="{{qestion}} {{answer}} {{contexts}}\nJudge."))


@pytest.mark.parametrize("scorer", SCORERS)
def test_the_candidates_text_stands_before_the_instruction(scorer):
    of = sample("CANDIDATE [1]", reference="CANDIDATE", found=["CANDIDATE"])
    judgement = judged(scorer, of, lambda asked: "NONE" if "claims" in asked.prompt else "5")

    prompt = judgement.prompts[0]
    assert prompt.index("CANDIDATE") <= prompt.rindex("CANDIDATE") < prompt.index("\nThe material ends here. ")


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
