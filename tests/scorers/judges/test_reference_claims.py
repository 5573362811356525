"""Claims of answers, references and passages against each other, judged by a scripted server."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.scorers.judges.judge_server import judged, said, sample

from steelyard import ConfigError, OpenAICompatible, Output, Sample
from steelyard.constraints import check_options
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.objects import Suite
from steelyard.scorers.judges.claims import ClaimCorrectness, ContextRecall, NoiseSensitivity
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.relevance import ContextRelevance

FACTS = ("tall", "red", "old")
"""What a text about the tower may say; a scripted judge takes each as a claim, and looks for it in the other text."""


def fenced(prompt, name):
    return re.search(rf"<{name} (\w+)>\n(.*?)\n</{name} \1>", prompt, re.DOTALL)[2]


def reader(asked):
    """A judge that reads: the facts that a text names are its claims, and a text with the word states the claim."""
    if "one claim on each line" in asked.prompt:
        text = fenced(asked.prompt, "answer").lower()
        named = [fact for fact in FACTS if fact in text]
        return "\n".join(f"{no}. The tower is {fact}." for no, fact in enumerate(named, start=1)) or "NONE"
    text = fenced(
        asked.prompt, "text" if "<text " in asked.prompt.split("\nThe material follows")[1] else "contexts"
    ).lower()
    claims = re.findall(r"^(\d+)\. The tower is (\w+)\.$", fenced(asked.prompt, "claims"), re.MULTILINE)
    return "\n".join(f"{no}. Verdict: {'YES' if fact in text else 'NO'}" for no, fact in claims)


def scores(make, answer="It is tall and red.", reference="Tall and old.", found=("It is tall.",), reply=reader, **more):
    of = sample(answer, "What is the tower like?", reference=reference, found=list(found), **more.pop("metadata", {}))
    return judged(make, of, reply, **more)


def values(judgement):
    return {name: score.value for name, score in judgement.scores["fr"].items()}


def test_context_recall_is_the_share_of_the_references_claims_in_the_passages():
    judgement = scores(ContextRecall)

    assert judgement.only.value == 0.5
    assert [claim["verdict"] for claim in judgement.only.detail["claims"]] == ["yes", "no"]
    assert "Tall and old." in judgement.prompts[0]
    assert not any("tall and red" in prompt for prompt in judgement.prompts), "the answer is not judged"


def test_context_recall_goes_on_in_further_windows_with_the_claims_that_are_open():
    found = ["It is tall. " * 20, "It is old. " * 20]
    judgement = scores(lambda judge: ContextRecall(judge, threshold=0.8, window_tokens=100), found=found)

    assert (judgement.only.value, judgement.only.passed) == (1.0, True)
    assert "The tower is tall." not in judgement.prompts[-1]


def test_the_best_of_alternative_references_counts():
    judgement = scores(ContextRecall, reference=["Old and red.", "Tall."])

    assert judgement.only.value == 1.0
    assert len(judgement.asked) == 4


def test_an_alternative_that_cannot_be_read_might_be_the_best():
    def reply(asked):
        return "" if "Red." in asked.prompt and "one claim on each line" in asked.prompt else reader(asked)

    assert scores(ContextRecall, reference=["Red.", "Old."], reply=reply).only.outcome == "unparsed"
    assert scores(ContextRecall, reference=["Red.", "Tall."], reply=reply).only.value == 1.0


def test_where_nothing_was_retrieved_for_one_question_its_recall_is_0():
    several = [
        sample("It is tall.", "The tower?", reference="Tall.", no="a", found=["It is tall."]),
        sample("It is tall.", "The spire?", reference="Old.", no="b"),
    ]
    result = judged(ContextRecall, several, reader).scores

    assert [result[no]["context_recall"].value for no in "ab"] == [1.0, 0.0]
    assert result["b"]["context_recall"].reason.startswith("nothing was retrieved")


def test_a_target_that_returns_no_passages_has_no_context_recall():
    assert scores(ContextRecall, found=()).only.outcome == "not_applicable"


@pytest.mark.parametrize("make", [ContextRecall, ClaimCorrectness, NoiseSensitivity])
@pytest.mark.parametrize(
    ("reference", "metadata", "why"),
    [
        (None, {}, "the sample has no reference answer"),
        ("The handbook does not say.", {"answerable": False}, "unanswerable"),
        (["", " "], {}, "the sample has no reference answer"),
    ],
)
def test_without_facts_to_compare_with_nothing_is_asked(make, reference, metadata, why):
    judgement = scores(make, reference=reference, metadata=metadata)

    assert {score.outcome for score in judgement.scores["fr"].values()} == {"not_applicable"}
    assert all(why in score.reason for score in judgement.scores["fr"].values())
    assert judgement.asked == []


def test_precision_recall_and_f1_have_the_claims_of_each_side_as_denominator():
    judgement = scores(ClaimCorrectness, answer="Tall, red.", reference="Tall, old, red.")

    assert values(judgement) == {"claim_precision": 1.0, "claim_recall": pytest.approx(2 / 3), "claim_f1": 0.8}
    assert len(judgement.asked) == 4


def test_an_answer_that_claims_nothing_has_no_precision_and_a_recall_of_0():
    for answer in ("I cannot say.", " "):
        judgement = scores(ClaimCorrectness, answer=answer)
        assert values(judgement) == {"claim_precision": None, "claim_recall": 0.0, "claim_f1": 0.0}
        assert judgement.scores["fr"]["claim_precision"].outcome == "not_applicable"


def test_a_reference_that_claims_nothing_leaves_precision_alone():
    judgement = scores(ClaimCorrectness, reference="A matter of taste.")

    assert values(judgement) == {"claim_precision": 0.0, "claim_recall": None, "claim_f1": None}


def test_the_best_alternative_is_that_of_the_highest_f1():
    judgement = scores(ClaimCorrectness, answer="Tall and red.", reference=["Old.", "Red and tall.", "Tall."])

    assert values(judgement) == {"claim_precision": 1.0, "claim_recall": 1.0, "claim_f1": 1.0}


def test_a_claim_without_a_verdict_makes_precision_and_f1_unparsed_with_bounds():
    def cut(asked):
        text = reader(asked)
        of_answer = "<claims" in asked.prompt and "The tower is red." in fenced(asked.prompt, "claims")
        return text.split("\n")[0] if of_answer else text

    judgement = scores(ClaimCorrectness, reply=cut)
    assert judgement.scores["fr"]["claim_precision"].detail["bounds"] == [0.5, 1.0]
    assert {name: score.outcome for name, score in judgement.scores["fr"].items()} == {
        "claim_precision": "unparsed",
        "claim_recall": "scored",
        "claim_f1": "unparsed",
    }


def test_a_list_of_claims_that_was_cut_off_is_no_list():
    def reply(asked):
        return said("1. The tower", finish="length") if "one claim on each line" in asked.prompt else reader(asked)

    assert {score.outcome for score in scores(ClaimCorrectness, reply=reply).scores["fr"].values()} == {"unparsed"}


def test_an_answer_that_was_refused_is_refused_without_a_call():
    target = lambda asked: Output("", ("It is tall.",), {"finish": "content_filter"})  # noqa: E731
    for make in (ClaimCorrectness, NoiseSensitivity):
        judgement = scores(make, target=target)
        assert {score.outcome for score in judgement.scores["fr"].values()} == {"refused"}
        assert judgement.asked == []


NOISE = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["It is old and red."], (0.5, 0.0)),
        (["It is red."], (0.0, 0.5)),
        (["It is red.", "It is old."], (0.0, 0.5)),
        (["It is red.", "It is old and red."], (0.5, 0.0)),
        (["It is blue."], (0.0, 0.0)),
    ],
)
def test_a_wrong_claim_is_counted_by_the_relevance_of_the_passages_that_support_it(found, expected):
    judgement = scores(NoiseSensitivity, answer="Tall, red.", reference="Tall, old.", found=found)

    assert values(judgement) == dict(zip(NOISE, expected, strict=True))
    assert len(judgement.asked) == 3 + len(found)


def test_passages_are_not_asked_about_where_no_claim_is_wrong():
    judgement = scores(NoiseSensitivity, answer="Tall.", found=["It is tall.", "It is red."])

    assert values(judgement) == dict.fromkeys(NOISE, 0.0)
    assert len(judgement.asked) == 3


@pytest.mark.parametrize(("answer", "found"), [("Tall.", []), ("", ["It is red."]), ("Fine.", ["It is red."])])
def test_noise_does_not_apply_without_passages_or_claims(answer, found):
    outcomes = {score.outcome for score in scores(NoiseSensitivity, answer=answer, found=found).scores["fr"].values()}
    assert outcomes == {"not_applicable"}


def test_a_verdict_on_a_passage_that_cannot_be_read_makes_both_unparsed():
    def reply(asked):
        return "" if "<passage 1 " in asked.prompt else reader(asked)

    assert {one.outcome for one in scores(NoiseSensitivity, reply=reply).scores["fr"].values()} == {"unparsed"}


def test_repeats_are_averaged_and_their_spread_is_told():
    seen = []

    def reply(asked):
        if "one claim on each line" not in asked.prompt:
            return reader(asked)
        seen.append(asked)
        return "1. The tower is tall." if len(seen) % 2 else "1. The tower is old."

    judgement = scores(ContextRecall, reply=reply, judge={"repeats": 2})
    assert (judgement.only.value, judgement.only.detail["flip_rate"]) == (0.5, 0.5)


def test_passages_can_be_judged_by_the_reference():
    found = ["It is red.", "It is old."]
    judgement = scores(
        lambda judge: [ContextRelevance(judge, by_reference=True), ContextRelevance(judge)],
        reference=["Old.", "Very old."],
        found=found,
        reply=lambda asked: "1. NO\n2. YES" if "Very old." in asked.prompt else "1. YES\n2. YES",
    )

    assert values(judgement) == {
        "context_relevance_by_reference": 0.5,
        "context_precision_by_reference": 0.5,
        "context_relevance": 1.0,
        "context_precision": 1.0,
    }
    assert "Old.\nOR\nVery old." in next(prompt for prompt in judgement.prompts if "Very old." in prompt)


def test_passages_are_not_judged_by_a_reference_that_is_not_there():
    for more in ({"reference": None}, {"metadata": {"answerable": False}}):
        judgement = scores(lambda judge: ContextRelevance(judge, by_reference=True), **more)
        assert {score.outcome for score in judgement.scores["fr"].values()} == {"not_applicable"}
        assert judgement.asked == []


def test_chinese_samples_get_chinese_prompts():
    of = sample("塔很高。", "这座塔怎么样？", reference=["塔很高。", "高。"], found=["塔很高。"])
    for make in (ContextRecall, ClaimCorrectness, lambda judge: ContextRelevance(judge, by_reference=True)):
        judgement = judged(make, of, lambda asked: "1. 塔很高。" if "每行一项陈述" in asked.prompt else "1. 结论：是")
        assert {score.value for score in judgement.scores["fr"].values()} == {1.0}
        assert all("材料到此为止" in prompt for prompt in judgement.prompts)


def test_a_prompt_on_passages_that_asks_for_what_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="answers"):
        check_options(NoiseSensitivity(passages_template="{{answers}} {{contexts}} {{claims}}"))


@pytest.mark.parametrize(("make", "calls"), [(ContextRecall, 2), (ClaimCorrectness, 4), (NoiseSensitivity, 3 + 2)])
def test_the_dry_run_counts_the_calls(make, calls):
    judge = Judge(OpenAICompatible("judge", "http://127.0.0.1:9/v1"))
    samples = [Sample("1", "What is it like?", "Old.", contexts=("It is old.", "It is tall."))]
    [estimated] = asyncio.run(estimate(Suite("dry", "custom", samples, {"it": lambda _: "Tall."}, (make(judge),))))

    assert estimated.calls == calls
