"""Endpoints of decisions: the three forms in which questions are asked, and the one in which answers are read."""

import json

import pytest
from tests.models.native import KEY, PNG, exchanged, fault_of, read

from steelyard import ConfigError, OpenAICompatible
from steelyard.errors import ModelError
from steelyard.models import Gemini, OpenAIResponses
from steelyard.replies.judge_reply import Scale
from steelyard.scorers.judges.decisions import numbered_questions, preference_question, rating_question, yes_no_question
from steelyard.types import Usage

TURNS = [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "Is tin soft?"}]
USAGE = {"input_tokens": 41, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 0, "total_tokens": 41}
YES = {"model": "m-1", "answers": [{"type": "predicate", "name": "verdict", "probability": 0.9}], "usage": USAGE}
SCORE = rating_question(Scale(1, 3))["decisions"]


def openai(url):
    return OpenAICompatible("m", url, "${KEY}", {"temperature": 0.3, "max_tokens": 9}, stream=True)


def gemini(url):
    return Gemini("gemini-decision", url, "${KEY}")


def asked_bodies(asked):
    return [json.loads(one.body) for one in asked]


@pytest.mark.parametrize("make", [openai, lambda url: OpenAIResponses("m", url, "${KEY}")])
def test_questions_go_to_decisions_beside_the_messages_and_nothing_else(make):
    reply, (asked,) = exchanged(make, [(200, YES)], TURNS, **yes_no_question(), temperature=0)
    assert asked.line.split()[:2] == ["POST", "/v1/decisions"]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    body = json.loads(asked.body)
    assert {*body} == {"model", "input", "questions"}
    assert (body["input"], body["model"]) == ("Be strict.\n\nIs tin soft?", "m")
    assert body["questions"][0].items() >= {"type": "predicate", "name": "verdict"}.items()
    assert json.loads(reply.text) == [{"type": "predicate", "name": "verdict", "probability": 0.9}]
    assert (reply.finish, reply.usage, reply.metadata["model"]) == ("stop", Usage(41, 0, cache_read=8), "m-1")


def test_images_make_the_input_a_message():
    _, (asked,) = exchanged(openai, [(200, YES)], [{"role": "user", "content": [PNG]}], **yes_no_question())
    (message,) = json.loads(asked.body)["input"]
    assert message["content"] == [{"type": "input_image", "image_url": PNG["image_url"]["url"]}]


def test_gemini_names_its_questions_and_answers():
    answers = {
        "1": {"type": "noul", "noul": 0.2, "confidence": 0.8},
        "2": {"type": "noul", "noul": 0.7, "confidence": 0.7},
    }
    body = {"answers": answers, "usage": {"total_input_tokens": 30, "total_output_tokens": 0}}
    reply, (asked,) = exchanged(gemini, [(200, body)], TURNS, **numbered_questions(2))
    assert asked.line.split()[1] == "/v1/decisions"
    assert asked.headers["x-goog-api-key"] == KEY
    sent = json.loads(asked.body)["questions"]
    assert {name: question["type"] for name, question in sent.items()} == {"1": "noul", "2": "noul"}
    assert [answer["probability"] for answer in json.loads(reply.text)] == [0.2, 0.7]
    assert reply.usage == Usage(30, 0)


def test_gemini_gets_options_and_levels_as_criteria():
    for given, criteria in ((preference_question(), {"A": "", "B": "", "C": ""}), ({"decisions": SCORE}, [*"123"])):
        body = json.loads(Gemini("m").request("q", given).payload)
        ((_, question),) = body["questions"].items()
        assert question["criteria"] == criteria


def test_a_refused_form_is_sent_in_sglangs_and_that_is_remembered():
    refusal = {"object": "error", "message": "questions.0: field 'id' is required, 'instructions' is not permitted"}
    answers = {"rating": {"type": "score", "score": 1.5, "probabilities": {"0": 0.1, "1": 0.3, "2": 0.6}}}
    answered = {"model": "m", "answers": answers, "usage": {"prompt_tokens": 12, "total_tokens": 12}}
    reply, asked = exchanged(openai, [(400, refusal), (200, answered)], TURNS, decisions=SCORE)
    first, second = asked_bodies(asked)
    assert first["questions"] == SCORE
    assert second["questions"] == [
        {"id": "rating", "question": SCORE[0]["instructions"], "type": "score", "levels": ["1", "2", "3"]}
    ]
    assert json.loads(reply.text)[0]["probabilities"] == {"0": 0.1, "1": 0.3, "2": 0.6}
    assert reply.usage == Usage(12, 0)


@pytest.mark.parametrize(
    ("status", "body", "calls"),
    [
        (404, {"detail": "Not Found"}, 1),
        (405, {"detail": "Method Not Allowed"}, 1),
        (501, {"error": {"message": "The model does not support decisions", "type": "NotImplementedError"}}, 1),
        (404, {"error": {"message": "The model `m` is not supported", "code": "model_not_found"}}, 1),
        (400, {"error": {"message": "Only gpt-6-luna is supported.", "param": "model"}}, 2),
        (422, {"detail": [{"loc": ["body", "questions"], "msg": "Extra inputs are not permitted"}]}, 2),
    ],
)
def test_an_endpoint_without_decisions_is_an_error_of_this_call_alone(status, body, calls):
    error, asked = exchanged(openai, [(status, body)], TURNS, **yes_no_question())
    assert isinstance(error, ModelError)
    assert (error.kind, error.ends_run, len(asked)) == ("bad_request", False, calls)
    assert f"status {status}" in str(error)


def test_a_wrong_key_ends_the_run_as_with_every_call():
    body = {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}
    error, asked = exchanged(openai, [(401, body)], TURNS, **yes_no_question())
    assert (error.kind, error.ends_run, len(asked)) == ("auth", True, 1)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "predicate"},
        {"type": "predicate", "probability": "0.9"},
        {"type": "predicate", "probability": 1.5},
        {"type": "choice", "choice": "A"},
        {"type": "score", "score": 2, "probabilities": [{"value": 0, "probability": None}]},
        {"type": "box"},
        "yes",
    ],
)
def test_an_answer_without_its_probabilities_is_malformed(answer):
    fault = fault_of(OpenAICompatible("m"), {"answers": [answer], "usage": USAGE})
    assert (fault.kind, fault.retry) == ("malformed", True)


def test_what_the_model_declines_is_a_refusal_and_what_a_filter_blocks_is_filtered():
    declined = {"answers": [{"type": "refusal", "name": None}], "usage": USAGE}
    assert read(OpenAICompatible("m"), declined).finish == "refusal"
    blocked = {"prompt_feedback": {"block_reason": "safety"}}
    assert read(Gemini("m"), blocked).finish == "content_filter"


def test_a_chat_reply_that_speaks_of_answers_stays_a_chat_reply():
    choice = {"message": {"role": "assistant", "content": '{"answers": [1]}'}, "finish_reason": "stop"}
    assert read(OpenAICompatible("m"), {"choices": [choice], "answers": [1]}).text == '{"answers": [1]}'


@pytest.mark.parametrize("word", ["answers", "block_reason"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n"])
def test_a_stream_that_speaks_of_answers_stays_a_chat_reply(word, before):
    chunks = [
        {"choices": [{"delta": {"content": word}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    stream = before + "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    assert read(OpenAICompatible("m", stream=True), stream.encode()).text == word


def test_blanks_before_decisions_are_passed_over():
    assert json.loads(read(OpenAICompatible("m"), b"\xef\xbb\xbf\n " + json.dumps(YES).encode()).text)


def test_only_text_and_images_are_messages():
    with pytest.raises(ConfigError):
        OpenAICompatible("m").request([{"role": "user", "content": [{"type": "input_audio"}]}], yes_no_question())
