"""Verdicts as probabilities of an endpoint of decisions, and free text where there is none."""

import asyncio
import json

import pytest
from tests.loopback import http, peer
from tests.scorers.judges.judge_server import answer_of_the_sample, said, sample

from steelyard import ConfigError, Judge, OpenAICompatible, Sample, aevaluate
from steelyard.constraints import check_options
from steelyard.evaluation.rescore import rescore
from steelyard.models import Anthropic, Retry
from steelyard.scorers import Correctness, GEval, Guideline, Preference, Rubric
from steelyard.scorers.judges.decisions import numbered_questions
from steelyard.store import Store

SAMPLES = [sample(no=f"q{n}", question=f"Capital number {n}?") for n in range(4)]
PAIR = Sample("p", "Why is tin soft?", metadata={"answer": {"A": "Its layers slide.", "B": "It is hot."}})


def decided(*answers):
    return http(200, {"model": "judge", "answers": [*answers], "usage": {"input_tokens": 9, "output_tokens": 0}})


def yes(share, name="verdict"):
    return {"type": "predicate", "name": name, "probability": share}


def score(*shares):
    probabilities = [{"value": n, "label": str(n + 1), "probability": share} for n, share in enumerate(shares)]
    return {"type": "score", "name": "rating", "score": 0.0, "confidence": 0.5, "probabilities": probabilities}


def choice(name="preference", **shares):
    probabilities = [{"value": value, "probability": share} for value, share in shares.items()]
    return {"type": "choice", "name": name, "choice": "A", "confidence": 0.5, "probabilities": probabilities}


def judged(make, reply, samples=SAMPLES, then=None, **judge):
    """The run, the (path, body) of each call, and what `then` gives; `reply(path, body)` is the endpoint's answer."""
    asked = []

    def answer(_, came):
        asked.append((came.line.split()[1], json.loads(came.body)))
        return reply(*asked[-1])

    async def work():
        async with peer(answer) as server:
            made = make(Judge(OpenAICompatible("judge", server.url), **{"structured": "decisions", **judge}))
            scorers = made if isinstance(made, list) else [made]
            run = await aevaluate(answer_of_the_sample, samples, scorers, retry=Retry(attempts=1), on_broken="return")
            return run, None if then is None else await then(run, scorers)

    run, more = asyncio.run(work())
    return run, asked, more


async def scored_again(run, scorers):
    def score_again():
        with Store() as store:
            again, _ = rescore(store, store.run(run.id), scorers)
            return [*again.records()]

    return await asyncio.to_thread(score_again)


def scores_of(run):
    """The first score of each record."""
    return [record.scores[0] for record in run.records()]


def guideline(*guidelines):
    return lambda judge: Guideline(judge, guidelines=guidelines)


@pytest.mark.parametrize(("share", "value"), [(0.97, 1), (0.51, 1), (0.5, 0), (0.02, 0)])
def test_more_than_half_of_the_probability_is_a_yes(share, value):
    run, asked, _ = judged(guideline("It is true."), lambda *_: decided(yes(share, "1")))
    assert {path for path, _ in asked} == {"/v1/decisions"}
    assert [score.value for score in scores_of(run)] == [value] * 4
    assert {score.detail["asked_for"] for score in scores_of(run)} == {"decisions"}
    assert f"YES {share:.3g}" in scores_of(run)[0].reason


def test_several_guidelines_are_one_call_with_a_question_each():
    answers = [yes(0.9, "1"), yes(0.2, "2"), yes(0.8, "3")]
    run, asked, _ = judged(guideline("a", "b", "c"), lambda *_: decided(*answers), SAMPLES[:1])
    assert len(asked) == 1
    assert [question["name"] for question in asked[0][1]["questions"]] == ["1", "2", "3"]
    assert scores_of(run)[0].value == pytest.approx(2 / 3)


def test_answers_belong_to_the_questions_that_they_name():
    answers = [yes(0.1, "2"), yes(0.9, "1")]
    run, _, _ = judged(guideline("first", "second"), lambda *_: decided(*answers), SAMPLES[:1])
    assert [word for word in scores_of(run)[0].reason.split() if word in {"yes:", "no:"}] == ["yes:", "no:"]


def test_a_rating_is_the_mean_of_its_probabilities():
    run, asked, _ = judged(Correctness, lambda *_: decided(score(0, 0, 0.1, 0.5, 0.4)), SAMPLES[:1])
    (found,) = scores_of(run)
    assert found.value == pytest.approx(0.1 * 3 + 0.5 * 4 + 0.4 * 5)
    assert found.detail["probabilities"] == {"1": 0, "2": 0, "3": 0.1, "4": 0.5, "5": 0.4}
    assert [level["label"] for level in asked[0][1]["questions"][0]["levels"]] == [*"12345"]


def test_g_eval_takes_the_probabilities_for_those_of_tokens():
    make = lambda judge: GEval(judge, "tone", "Is it polite?", steps=("Read.",))  # noqa: E731
    run, asked, _ = judged(make, lambda *_: decided(score(0, 0, 0, 0.25, 0.75)), SAMPLES[:1])
    (found,) = scores_of(run)
    assert (found.value, found.detail["how"]) == (4.75, "probability-weighted")
    assert "logprobs" not in asked[0][1]


def test_of_levels_the_most_probable_one_counts():
    levels = {"1": "poor", "3": "fair", "5": "good"}
    answer = choice("rating", **{"1": 0.2, "3": 0.45, "5": 0.35})
    run, asked, _ = judged(
        lambda judge: Rubric(judge, question="Is it clear?", levels=levels), lambda *_: decided(answer), SAMPLES[:1]
    )
    assert scores_of(run)[0].value == 3
    assert [option["value"] for option in asked[0][1]["questions"][0]["choices"]] == ["1", "3", "5"]


def test_a_preference_is_the_most_probable_of_three():
    def reply(_, body):
        slides_first = body["input"].index("layers slide") < body["input"].index("It is hot")
        return decided(choice(A=0.7, B=0.2, C=0.1) if slides_first else choice(A=0.1, B=0.8, C=0.1))

    run, asked, _ = judged(Preference, reply, [PAIR])
    assert len(asked) == 2
    assert scores_of(run)[0].value == 1


@pytest.mark.parametrize("shares", [{"A": 0.4, "B": 0.4, "C": 0.2}, {"A": 0.45, "B": 0.1, "C": 0.45}])
def test_equally_probable_preferences_are_a_tie(shares):
    run, _, _ = judged(Preference, lambda *_: decided(choice(**shares)), [PAIR])
    assert scores_of(run)[0].value == 0.5


@pytest.mark.parametrize(
    ("make", "answer", "sample"),
    [
        (Preference, choice(A=0, B=0, C=0), PAIR),
        (Preference, choice(D=1), PAIR),
        (Preference, choice(A=0.2, B=0.1, C=0.1), PAIR),
        (Preference, {**choice(A=0.9, B=0.1, C=0), "label_mass": 0.3}, PAIR),
        (Correctness, score(0, 0, 0.1, 0.1, 0.1), SAMPLES[0]),
        (Correctness, {**score(0, 0, 0, 0, 1), "label_mass": 0.01}, SAMPLES[0]),
        (guideline("It is true."), {**yes(0.9, "1"), "label_mass": 0.49}, SAMPLES[0]),
    ],
)
def test_verdicts_without_half_of_the_probability_are_unparsed(make, answer, sample):
    run, _, _ = judged(make, lambda *_: decided(answer), [sample])
    assert (scores_of(run)[0].value, scores_of(run)[0].outcome) == (None, "unparsed")


def test_an_answer_is_read_from_half_of_the_probability_on():
    answer = {**score(0, 0, 0, 0, 0.5), "label_mass": 0.5}
    run, _, _ = judged(Correctness, lambda *_: decided(answer), SAMPLES[:1])
    assert scores_of(run)[0].value == 5


@pytest.mark.parametrize(
    ("labels", "value"), [("54321", 1.25), (("bad", "poor", "fair", "fine", "good"), 4.75), ("55555", 4.75)]
)
def test_a_level_is_known_by_its_label_and_else_by_its_place(labels, value):
    answer = score(0, 0, 0, 0.25, 0.75)
    for entry, label in zip(answer["probabilities"], labels, strict=True):
        entry["label"] = label
    run, _, _ = judged(Correctness, lambda *_: decided(answer), SAMPLES[:1])
    assert scores_of(run)[0].value == value


def test_more_than_200_numbered_verdicts_are_asked_for_as_text():
    assert len(numbered_questions(200)["decisions"]) == 200
    assert numbered_questions(201) == numbered_questions(0) == {}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"detail": "Not Found"}),
        (404, {"error": {"message": "The model `judge` does not exist", "code": "model_not_found"}}),
        (400, {"error": {"message": "Only gpt-6-luna is supported."}}),
        (501, {"error": {"message": "not implemented"}}),
    ],
)
def test_an_endpoint_without_decisions_is_asked_for_text_after_one_try(status, body):
    def reply(path, _):
        return http(status, body) if path == "/v1/decisions" else said("Fine.\nRating: 4")

    run, asked, rescored = judged(Correctness, reply, then=scored_again)
    assert (run.state, [score.value for score in scores_of(run)]) == ("finished", [4] * 4)
    assert sum(path == "/v1/decisions" for path, _ in asked) <= 2
    assert all(score.detail["asked_for"].startswith("free text: the endpoint gives no") for score in scores_of(run))
    assert [record.scores[0].value for record in rescored] == [4] * 4


def test_an_endpoint_that_takes_some_questions_alone_is_asked_for_text_where_it_refuses():
    """Predicates are taken, scores are not: what the first call finds does not decide for the other kind."""

    def reply(path, body):
        if path != "/v1/decisions":
            return said("Fine.\nRating: 4")
        kind = body["questions"][0]["type"]
        return decided(yes(0.9, "1")) if kind == "predicate" else http(400, {"error": {"message": "no scores"}})

    both = lambda judge: [Guideline(judge, guidelines=("It is true.",)), Correctness(judge)]  # noqa: E731
    run, asked, rescored = judged(both, reply, then=scored_again)
    assert run.state == "finished"
    for records in ([*run.records()], rescored):
        assert [[score.value for score in record.scores[:2]] for record in records] == [[1, 4]] * 4
    refused = [body for path, body in asked if path == "/v1/decisions" and body["questions"][0].get("type") == "score"]
    assert len(refused) == 2


def test_an_endpoint_that_takes_no_images_decides_on_texts():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
    samples = [*SAMPLES, sample(no="seen", question=shown)]

    def reply(path, body):
        if path != "/v1/decisions":
            return said("Fine.\n1. YES")
        return decided(yes(0.9, "1")) if isinstance(body["input"], str) else http(400, {"error": {"message": "no"}})

    run, _, _ = judged(guideline("It is true."), reply, samples, images=True)
    forms = {record.sample.id: record.scores[0].detail["asked_for"].split(" (")[0] for record in run.records()}
    assert forms.pop("seen") == "free text: the endpoint gives no decisions"
    assert {*forms.values()} == {"decisions"}


def test_scoring_again_reads_the_stored_decisions():
    _, asked, rescored = judged(Correctness, lambda *_: decided(score(0, 0, 0, 1, 0)), then=scored_again)
    assert len(asked) == 4
    assert [record.scores[0].value for record in rescored] == [4] * 4


def test_a_scale_that_no_decision_takes_is_asked_for_as_text():
    make = lambda judge: GEval(judge, "tone", "Is it polite?", steps=("Read.",), high=30)  # noqa: E731
    run, asked, _ = judged(make, lambda *_: said("Score: 20"), SAMPLES[:1])
    assert [path for path, _ in asked] == ["/v1/chat/completions"]
    assert scores_of(run)[0].value == 20


def test_what_the_model_declines_is_refused():
    run, _, _ = judged(Correctness, lambda *_: decided({"type": "refusal", "name": None}), SAMPLES[:1])
    assert scores_of(run)[0].outcome == "refused"


def test_a_model_whose_endpoint_has_no_decisions_is_refused_before_the_run():
    with pytest.raises(ConfigError, match="structured: decisions needs a model of openai_compatible"):
        check_options(Judge(Anthropic("claude-x"), structured="decisions"))
