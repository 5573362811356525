"""Any JSON endpoint as a model: what is read out of an answer."""

import json
import re
from pathlib import Path

import pytest

from steelyard.models.base import Answer, Fault
from steelyard.models.http import HttpModel
from steelyard.models.response import ResponseMap


def read(value, **response):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    wanted = ResponseMap(
        **{"text": "not_null(choices[0].message.content, choices[0].delta.content, answer)"} | response
    )
    return HttpModel("http://h/x", response=wanted).read(Answer(200, {}, raw))


def test_an_empty_text_that_is_there_is_a_reply():
    assert read({"answer": ""}).text == ""


@pytest.mark.parametrize("value", [{"answer": None}, {"docs": []}, {"choices": []}, [], b"", b": ping\n\n"])
def test_a_reply_without_its_text_is_empty_and_asked_again(value):
    with pytest.raises(Fault) as caught:
        read(value, contexts="docs")
    assert (caught.value.kind, caught.value.retry, caught.value.billed) == ("empty", True, True)


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        *(("content_filter", "content_filter"), ("sensitive", "content_filter"), ("SAFETY", "content_filter")),
        *(("length", "length"), ("MAX_TOKENS", "length"), ("tool_calls", "tool_calls"), ("tool_use", "tool_calls")),
    ],
)
def test_a_reply_that_ended_without_text_is_paid_for_once(said, finish):
    reply = read({"choices": [{"message": {"content": None}, "finish_reason": said}]})
    assert (reply.text, reply.finish) == ("", finish)


def test_a_content_filter_is_an_outcome_by_status_and_inside_a_success():
    model = HttpModel("http://h/x", response=ResponseMap(text="answer"))
    body = b'{"error": {"code": "1301", "message": "sensitive"}}'
    for status in (200, 400):
        reply = model.read(Answer(status, {}, body))
        assert (reply.text, reply.finish, reply.metadata) == ("", "content_filter", {"message": "sensitive"})


def test_a_service_that_lost_its_network_is_asked_again():
    with pytest.raises(Fault) as caught:
        read({"choices": [{"message": {"content": "half"}, "finish_reason": "network_error"}]})
    assert (caught.value.kind, caught.value.retry) == ("server", True)


def test_usage_is_the_endpoints_where_it_counts_and_an_estimate_where_not():
    counted = read({"answer": "周易", "usage": {"prompt_tokens": 9, "completion_tokens": 4}}).usage
    assert (counted.input_tokens, counted.output_tokens, counted.estimated) == (9, 4, False)
    guessed = read({"answer": "周易", "usage": {"prompt_tokens": None}}).usage
    assert (guessed.output_tokens, guessed.estimated) == (2, True)


def test_reasoning_and_model_are_kept_apart_from_the_text():
    deltas = [{"reasoning_content": "因"}, {"reasoning_content": "为"}, {"content": "A"}]
    stream = "".join(f"data: {json.dumps({'model': 'glm', 'choices': [{'delta': delta}]})}\n\n" for delta in deltas)
    reply = read(stream.encode())
    assert (reply.text, dict(reply.metadata)) == ("A", {"model": "glm", "reasoning": "因为"})


def test_the_last_text_of_a_growing_stream_may_be_taken():
    stream = b'{"answer": "A"}{"answer": "A is"}{"answer": "A is right"}'
    assert read(stream, join="last").text == "A is right"


def test_passages_may_be_taken_from_inside_objects():
    reply = read({"answer": "A", "hits": [{"t": "one"}, {"t": "two"}]}, contexts="hits[].t")
    assert reply.metadata["contexts"] == ("one", "two")


def test_a_passage_that_quotes_a_source_line_keeps_it():
    docs = ["前文 出处 [1] 后文", "出处 [2] [a](u) \n\n正文"]
    kept = read({"answer": "A", "docs": docs}, contexts="docs", context_clean="chatchat").metadata["contexts"]
    assert kept == ("前文 出处 [1] 后文", "正文")


def test_an_expression_that_cannot_be_applied_is_not_asked_again():
    with pytest.raises(Fault) as caught:
        read({"answer": None}, text="length(answer)")
    assert (caught.value.kind, caught.value.retry) == ("malformed", False)


def test_a_text_that_is_no_text_is_written_as_json():
    assert read({"answer": {"letter": "A"}}).text == '{"letter":"A"}'
    assert read({"answer": ["A", "。"]}).text == "A。"


def stream(*texts, end=b""):
    parts = [json.dumps({"choices": [{"delta": {"content": text}}]}).encode() for text in texts]
    return b"".join(b"data: " + part + b"\n\n" for part in parts) + end


END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'


@pytest.mark.parametrize("end", [END, b"data: [DONE]\n\n", b"data: [DONE]"])
def test_a_stream_that_says_that_it_is_complete_is_a_reply(end):
    assert read(stream("Pa", "ris", end=end), complete="choices[0].finish_reason").text == "Paris"


def test_a_stream_that_was_closed_between_two_values_is_asked_for_again_where_its_end_can_be_told():
    with pytest.raises(Fault) as caught:
        read(stream("Pa", "ris"), complete="choices[0].finish_reason")
    assert (caught.value.kind, caught.value.retry, caught.value.billed) == ("malformed", True, True)
    assert read(stream("Pa", "ris")).text == "Paris"


def test_one_value_is_no_stream_and_needs_no_end():
    assert read({"answer": "Paris"}, complete="choices[0].finish_reason").text == "Paris"


def documented(protocol):
    """key -> expression, as the page has it for a protocol."""
    page = (Path(__file__).parents[2] / "docs/how-to/http-endpoints.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^    response:  # {protocol}\n((?:      .+\n)+)", page, re.MULTILINE)
    return dict(re.findall(r'^ +(\w+): "(.+)"$', block, re.MULTILINE))


# As pydantic-ai's adapters write them, shortened.
STREAMS = {
    "AG-UI": (
        '{"type": "RUN_STARTED", "runId": "r"}',
        '{"type": "REASONING_MESSAGE_CONTENT", "delta": "They want a city."}',
        '{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}',
        '{"type": "TEXT_MESSAGE_CONTENT", "delta": "Par"}',
        '{"type": "TEXT_MESSAGE_CONTENT", "delta": "is"}',
        '{"type": "RUN_FINISHED", "outcome": {"type": "success"}}',
        '{"type": "RUN_ERROR", "message": "the model is overloaded"}',
    ),
    "UI message stream of the AI SDK": (
        '{"type": "start"}',
        '{"type": "reasoning-delta", "id": "1", "delta": "They want a city."}',
        '{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{}"}',
        '{"type": "text-delta", "id": "2", "delta": "Par"}',
        '{"type": "text-delta", "id": "2", "delta": "is"}',
        '{"type": "finish"}',
        '{"type": "error", "errorText": "the model is overloaded"}',
    ),
}


@pytest.mark.parametrize("protocol", STREAMS)
def test_documented_mappings_read_the_streams_of_agents(protocol):
    *parts, end, error = ("data: " + event + "\n\n" for event in STREAMS[protocol])
    mapping = documented(protocol)
    assert read("".join([*parts, end]).encode(), **mapping).text == "Paris"
    with pytest.raises(Fault, match="the stream ended"):
        read("".join(parts).encode(), **mapping)
    with pytest.raises(Fault, match="the model is overloaded"):
        read("".join([*parts, error]).encode(), **mapping)
