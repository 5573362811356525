"""A judge at endpoints that refuse the parameters which judges send: one call finds out, and nothing is paid twice."""

import asyncio
import json

import pytest
from tests.loopback import http, peer
from tests.scorers.judges.judge_server import answer_of_the_sample, failed, judged, said, sample

from steelyard import ConfigError, Judge, OpenAICompatible, Prompt, aevaluate
from steelyard.constraints import check_options
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.rescore import rescore
from steelyard.models import Retry
from steelyard.models.refused_parameters import THINKING_TOKENS
from steelyard.scorers import Correctness, GEval, Guideline
from steelyard.session.parameter_findings import CHANGED_PARAMETERS
from steelyard.store import Store
from steelyard.types import INLINE

SAMPLES = [sample(no=f"q{n}", question=f"Capital number {n}?") for n in range(6)]


def openai_error(message, name, code="unsupported_parameter"):
    return http(400, {"error": {"message": message, "type": "invalid_request_error", "param": name, "code": code}})


def reasoning_model(body):
    """The error of a reasoning model of OpenAI; it names one parameter at a time."""
    if body.get("temperature", 1) != 1:
        message = f"Unsupported value: 'temperature' does not support {body['temperature']} with this model."
        return openai_error(message, "temperature", "unsupported_value")
    if "max_tokens" in body:
        text = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return openai_error(text, "max_tokens")
    for name in ("presence_penalty", "top_p", "logprobs"):
        if name in body:
            return openai_error(f"Unsupported parameter: '{name}' is not supported with this model.", name)
    return None


def claude(body):
    if "temperature" in body and "top_p" in body:
        text = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        return http(400, {"type": "error", "error": {"type": "invalid_request_error", "message": text}})
    if named := [name for name in ("presence_penalty", "frequency_penalty") if name in body]:
        return failed(400, f"litellm.UnsupportedParamsError: anthropic does not support parameters: {named}")
    return None


def judged_at(endpoint, make=Correctness, samples=SAMPLES, **options):
    return judged(make, samples, lambda asked: endpoint(asked.body) or "Fine.\nRating: 4", **options)


class Stored:
    """The target, which a dry run calls."""

    stage_info = INLINE

    def __call__(self, sample):
        return answer_of_the_sample(sample)


def answered(judgement, endpoint):
    return [asked.body for asked in judgement.asked if endpoint(asked.body) is None]


def test_a_reasoning_model_judges_without_what_it_refuses():
    judgement = judged_at(reasoning_model, Guideline_of)
    assert judgement.run.state == "finished"
    bodies = answered(judgement, reasoning_model)
    assert len(bodies) == 6
    assert all(not {"temperature", "top_p", "presence_penalty", "max_tokens"} & {*body} for body in bodies)
    assert {body["frequency_penalty"] for body in bodies} == {0}
    assert {body["max_completion_tokens"] - THINKING_TOKENS > 0 for body in bodies} == {True}


def Guideline_of(judge):  # noqa: N802  # stands for the class
    return Guideline(judge, guidelines=("It is true.",))


def test_one_call_finds_out_and_those_in_flight_wait_for_it():
    samples = [sample(no=f"q{n}", question=f"Capital number {n}?") for n in range(40)]
    judgement = judged_at(reasoning_model, Guideline_of, samples=samples)
    refused = [reasoning_model(asked.body) for asked in judgement.asked]
    assert sum(body is None for body in refused) == 40
    # Up to four calls are in flight until an endpoint has answered; only one of them tries the next parameter.
    assert 4 <= sum(body is not None for body in refused) <= 4 + 3


def test_the_change_is_recorded_on_every_reply():
    judgement = judged_at(reasoning_model)
    changes = [
        reply.metadata[CHANGED_PARAMETERS] for record in judgement.records for reply in record.replies["correctness"]
    ]
    assert changes == [{"temperature": "", "top_p": "", "presence_penalty": ""}] * 6


def test_of_two_parameters_that_exclude_each_other_the_temperature_is_still_sent():
    judgement = judged_at(claude)
    bodies = answered(judgement, claude)
    assert [body["temperature"] for body in bodies] == [0] * 6
    assert all(not {"top_p", "presence_penalty", "frequency_penalty"} & {*body} for body in bodies)


def test_the_temperature_of_the_model_stands_where_the_one_of_judges_is_refused():
    judgement = judged_at(reasoning_model, model={"parameters": {"temperature": 1}})
    assert [body["temperature"] for body in answered(judgement, reasoning_model)] == [1] * 6


def test_token_probabilities_still_fall_back_by_themselves():
    judgement = judged_at(reasoning_model, lambda judge: GEval(judge, "clear", "Is it clear?", steps=("Read it.",)))
    assert [record.scores[0].value for record in judgement.records] == [4] * 6
    assert "logprobs" in judgement.records[0].scores[0].detail["fallback"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"judge": {"parameters": {"temperature": 0.5}}}, "temperature = 0.5 (`judge: parameters`)"),
        ({"model": {"parameters": {"temperature": 0.7}}}, "temperature = 0.7 (`parameters of the model`)"),
    ],
)
def test_a_refused_parameter_of_the_user_is_an_error_that_names_its_key(settings, named):
    judgement = judged_at(reasoning_model, max_errors=1.0, concurrency=1, **settings)
    assert judgement.run.state == "broken"
    assert named in judgement.records[0].failure.message
    assert "change or remove it there" in judgement.records[0].failure.message
    samples = {asked.prompt for asked in judgement.asked}
    assert len(samples) == 2, "the second sample that is refused alike ends the run"


@pytest.mark.parametrize(
    ("parameters", "message", "named"),
    [
        ({"seed": 7}, "Unrecognized request argument supplied: seed", "seed = 7"),
        ({"stop": ["\n"]}, "`stop`: Extra inputs are not permitted", 'stop = ["\\n"]'),
        ({"tools": [{"a": "b" * 99}]}, "gemma3 does not support tools", 'tools = [{"a": "bbb'),
        ({"top_k": 5, "seed": 7}, "Argument not supported on this model: top_k", "top_k = 5"),
    ],
)
def test_a_refused_parameter_that_is_never_changed_is_named_with_its_key(parameters, message, named):
    settings = [{"judge": {"parameters": parameters}}, {"model": {"parameters": parameters}}]
    for options, key in zip(settings, ("judge: parameters", "parameters of the model"), strict=True):
        judgement = judged_at(lambda body: failed(400, message), max_errors=1.0, concurrency=1, **options)
        text = judgement.records[0].failure.message
        assert f"{message}" in text
        assert f"the call sends {named}" in text
        assert f"(`{key}`): change or remove it there" in text
        assert text.count(" = ") == 1
        assert len(judgement.asked) == 2, "the second sample that is refused alike ends the run"


@pytest.mark.parametrize("message", ["seed text is too long: the prompt exceeds the limit", "Please stop."])
def test_a_refusal_for_another_reason_names_no_parameter(message):
    parameters = {"judge": {"parameters": {"seed": 7, "stop": ["x"]}}}
    judgement = judged_at(lambda body: failed(400, message), max_errors=1.0, concurrency=1, **parameters)
    assert "the call sends" not in judgement.records[0].failure.message


def test_several_replies_of_a_call_are_refused_in_favour_of_repeats():
    for make in (lambda: check_options(Judge(OpenAICompatible("m", "http://h/v1"), parameters={"n": 3})),):
        with pytest.raises(ConfigError, match="repeats: 3"):
            make()
    with pytest.raises(ConfigError, match="repeats: 3"):
        check_options(OpenAICompatible("m", "http://h/v1", parameters={"n": 3}))
    check_options(OpenAICompatible("m", "http://h/v1", parameters={"n": 1}))


def test_a_refusal_that_has_another_reason_leaves_no_trace():
    """An endpoint that names a parameter and refuses the call without it as well."""
    first = [openai_error("temperature must be a number; also: no such thing", "temperature"), failed(400, "Nonsense.")]
    judgement = judged(
        Correctness,
        SAMPLES[:2],
        lambda asked: first[asked.no] if asked.no < 2 else "Rating: 4",
        max_errors=1.0,
        concurrency=1,
    )
    assert judgement.records[0].failure.kind == "bad_request"
    assert judgement.asked[2].body["temperature"] == 0
    assert CHANGED_PARAMETERS not in judgement.records[1].replies["correctness"][0].metadata


def run_twice(endpoint, then, make=Correctness, **options):
    """Two evaluations at one server; the calls that the second one made, and what `then` gives."""
    bodies = []

    def answer(no, came):
        bodies.append(json.loads(came.body))
        return endpoint(bodies[-1]) or said("Fine.\nRating: 4")

    async def work():
        async with peer(answer) as server:
            scorer = make(Judge(OpenAICompatible("judge", server.url), **options))
            run = await aevaluate(answer_of_the_sample, SAMPLES, [scorer], retry=Retry(attempts=1))
            before = len(bodies)
            result = await then(run, scorer)
            return run, bodies[before:], result

    return asyncio.run(work())


def test_a_repeated_run_takes_every_reply_from_the_journal():
    async def again(run, scorer):
        return await aevaluate(answer_of_the_sample, SAMPLES, [scorer])

    run, sent, second = run_twice(reasoning_model, again, Guideline_of)
    assert sent == []
    assert [record.scores for record in second.records()] == [record.scores for record in run.records()]


def test_the_key_is_that_of_the_call_that_was_answered():
    async def without(run, scorer):
        taken_out = {"temperature": None, "top_p": None, "presence_penalty": None}
        judge = Judge(scorer.judge.model, parameters=taken_out)
        return await aevaluate(answer_of_the_sample, SAMPLES, [Correctness(judge)])

    first, sent, second = run_twice(reasoning_model, without)
    assert sent == []
    assert {*noted_changes(first)} == {"temperature", "top_p", "presence_penalty"}
    assert noted_changes(second) == {}


def noted_changes(run):
    return run.summary().calls.endpoints.get("changed_parameters", {}).get("correctness", {})


def test_cached_replies_still_tell_of_what_the_run_leaves_to_the_endpoint():
    async def without_one(run, scorer):
        judge = Judge(scorer.judge.model, parameters={"top_p": None})
        return await aevaluate(answer_of_the_sample, SAMPLES, [Correctness(judge)])

    _, sent, second = run_twice(reasoning_model, without_one)
    assert sent == []
    assert {*noted_changes(second)} == {"temperature", "presence_penalty"}


def test_a_fresh_draw_finds_out_again():
    async def again(run, scorer):
        return await aevaluate(answer_of_the_sample, SAMPLES, [scorer], fresh=True)

    sent = run_twice(reasoning_model, again)[1]
    assert sum(reasoning_model(body) is None for body in sent) == 6
    assert 3 <= sum(reasoning_model(body) is not None for body in sent) <= 4 + 2


@pytest.mark.parametrize(
    "make", [Correctness, Guideline_of, lambda judge: GEval(judge, "clear", "Is it clear?", steps=("Read.",))]
)
def test_scoring_again_and_a_dry_run_find_the_replies(make):
    def score_again(run, scorer):
        with Store() as store:
            again, _ = rescore(store, store.run(run.id), [scorer])
            return [[score.value for score in record.scores] for record in again.records()]

    async def rescored(run, scorer):
        scores = await asyncio.to_thread(score_again, run, scorer)
        suite = Suite("again", "custom", SAMPLES, {"stored": Stored()}, (scorer,))
        return scores, (await estimate(suite))[0]

    run, sent, (scores, estimated) = run_twice(reasoning_model, rescored, make)
    assert sent == []
    assert scores == [[score.value for score in record.scores] for record in run.records()]
    assert estimated.in_journal >= 6


def test_a_limit_of_tokens_that_a_target_sets_is_renamed_and_keeps_its_value():
    bodies = []

    def answer(no, came):
        bodies.append(json.loads(came.body))
        return reasoning_model(bodies[-1]) or said("Paris")

    async def work():
        async with peer(answer) as server:
            model = OpenAICompatible("m", server.url, parameters={"max_tokens": 50})
            return await aevaluate(Prompt(model, "{{question}}"), SAMPLES, [])

    run = asyncio.run(work())
    assert run.state == "finished"
    assert [body["max_completion_tokens"] for body in bodies if "max_tokens" not in body] == [50] * 6


def test_a_limit_of_the_users_under_another_name_takes_the_place_of_the_scorers():
    """OpenAI refuses both at once: "Setting 'max_tokens' and 'max_completion_tokens' at the same time"."""
    limit = {"max_completion_tokens": 500}
    of_model = Judge(OpenAICompatible("m", "http://127.0.0.1:1/v1", parameters=limit))
    of_judge = Judge(OpenAICompatible("m", "http://127.0.0.1:1/v1"), parameters=limit)
    assert "max_tokens" not in of_model.sent({"max_tokens": 12}) | of_judge.sent({"max_tokens": 12})
    assert of_judge.sent({"max_tokens": 12})["max_completion_tokens"] == 500
