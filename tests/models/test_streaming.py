"""Streams: a reply is whole or it is asked for again, whatever the endpoint and the network make of it."""

import asyncio
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import completion, http, peer, said

from steelyard import ConfigError, OpenAICompatible
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models import Retry
from steelyard.models.base import Answer, Fault
from steelyard.models.limits import Limits
from steelyard.models.streaming import first_of
from steelyard.session import wire
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Usage

MODEL = OpenAICompatible("m", "http://h/v1", stream=True)
HEAD = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
USAGE = {"model": "m-1", "choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2}}


def chunk(delta=None, finish=None, **more):
    return {"model": "m-1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish, **more}]}


def events(*values, end="\n\n", done=True):
    texts = [json.dumps(one, ensure_ascii=False) for one in values] + ["[DONE]"] * done
    return "".join(f"data: {text}{end}" for text in texts).encode()


PARIS = [chunk({"role": "assistant", "content": ""}), chunk({"content": "Pa"}), chunk({"content": "ris"})]
WHOLE = [*PARIS, chunk(finish="stop"), USAGE]


def read(body, model=MODEL):
    return model.read(Answer(200, {}, body))


def fault_of(body):
    with pytest.raises(Fault) as caught:
        read(body)
    return caught.value


QUICK = Retry(base_s=0.0)


def asking(answer, *, retry=QUICK, calls=1, **options):
    """What every call gave, and the server."""

    async def run():
        async with peer(answer) as server:
            wire, limits = HttpWire(Secrets([], {})), Limits(retry, 1)
            model = OpenAICompatible("m", server.url, stream=True, **options)
            replies = []
            try:
                for n in range(calls):
                    try:
                        replies.append(await limits.call(model, model.request(f"q{n}", {}), wire))
                    except ModelError as error:
                        replies.append(error)
            finally:
                await wire.close()
            return replies, server

    return asyncio.run(run())


def written(*parts, pause_s=0.0):
    """A server that writes these parts one after the other and then closes."""

    async def answer(n, asked, writer):
        writer.write(HEAD)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


def test_the_parts_of_a_stream_are_one_reply_with_its_usage_and_the_time_to_its_first_token():
    (reply,), server = asking(written(events(*PARIS[:2], done=False), events(*PARIS[2:], *WHOLE[3:]), pause_s=0.2))
    assert (reply.text, reply.finish, reply.usage) == ("Paris", "stop", Usage(20, 2))
    assert reply.metadata["model"] == "m-1"
    assert 0 < reply.metadata["ttft"] < reply.latency
    asked = json.loads(server.asked[0].body)
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}


def test_a_role_and_a_ping_are_no_first_token_but_reasoning_is():
    pings, role = b": ping\n\n", events(PARIS[0], done=False)
    thought = events(chunk({"reasoning_content": "hm"}), done=False)
    (reply,), _ = asking(written(pings, role, thought, events(*WHOLE), pause_s=0.1))
    assert 0.2 <= reply.metadata["ttft"] < reply.latency
    assert reply.metadata["reasoning"] == "hm"


def test_a_streamed_reply_and_a_whole_one_are_read_alike_and_asked_under_one_digest():
    whole = OpenAICompatible("m", "http://h/v1")
    body = completion("Paris", model="m-1", usage=USAGE["usage"])
    assert read(events(*WHOLE)) == whole.read(Answer(200, {}, json.dumps(body).encode()))
    assert MODEL.request("q", {"seed": 1}).digest == whole.request("q", {"seed": 1}).digest


def test_reasoning_tools_logprobs_and_refusals_are_joined():
    calls = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a"'}},
        {"index": 1, "id": "c2", "type": "function", "function": {"name": "find", "arguments": "{}"}},
    ]
    more = [{"index": 0, "function": {"arguments": ": 1}"}}]
    tokens = [[{"token": "A", "logprob": -0.1}], [{"token": "B", "logprob": -0.2}]]
    reply = read(
        events(
            chunk({"reasoning": "so"}),
            chunk({"content": "A"}, logprobs={"content": tokens[0]}),
            chunk({"content": "B"}, logprobs={"content": tokens[1]}),
            chunk({"tool_calls": calls}),
            chunk({"tool_calls": more}),
            chunk(finish="tool_calls"),
        )
    )
    assert reply.text == "AB"
    assert reply.metadata["reasoning"] == "so"
    assert reply.metadata["logprobs"] == [tokens[0][0], tokens[1][0]]
    assert [one["function"] for one in reply.metadata["tool_calls"]] == [
        {"name": "look", "arguments": '{"a": 1}'},
        {"name": "find", "arguments": "{}"},
    ]
    refused = read(events(chunk({"refusal": "I can"}), chunk({"refusal": "not"}), chunk(finish="stop")))
    assert (refused.text, refused.finish) == ("I cannot", "refusal")


def test_a_whole_message_at_the_end_of_a_stream_is_not_said_twice():
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    whole = {"role": "assistant", "content": "Paris", "tool_calls": [call]}
    ended = {"object": "chat.completion", "choices": [{"index": 0, "message": whole, "finish_reason": "stop"}]}
    parts = [chunk({"content": "Pa"}), chunk({"content": "ris"}), chunk({"tool_calls": [call]})]
    reply = read(events(*parts, ended))  # MiniMax
    assert (reply.text, reply.metadata["tool_calls"]) == (
        "Paris",
        [{key: call[key] for key in ("id", "type", "function")}],
    )
    silent = {"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "stop"}]}
    assert read(events(*parts, silent)).text == "Paris"


def test_the_name_of_a_tool_that_each_part_repeats_is_read_once():
    parts = [{"name": "f", "arguments": part} for part in ("", '{"a":', " 1}")]
    chunks = [chunk({"tool_calls": [{"index": 0, "id": "c", "function": part}]}) for part in parts]
    reply = read(events(*chunks, chunk(finish="tool_calls")))
    assert reply.metadata["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_calls_that_share_an_index_are_told_apart_by_their_ids():
    calls = [
        {"index": 0, "id": ident, "function": {"name": name, "arguments": part}}
        for ident, name, part in [("a", "look", '{"x"'), ("a", "", ": 1}"), ("b", "find", '{"y": 2}')]
    ]
    reply = read(events(*(chunk({"tool_calls": [call]}) for call in calls), chunk(finish="tool_calls")))
    assert [(call["id"], call["function"]) for call in reply.metadata["tool_calls"]] == [
        ("a", {"name": "look", "arguments": '{"x": 1}'}),
        ("b", {"name": "find", "arguments": '{"y": 2}'}),
    ]


def calls_of(*fragments):
    chunks = [chunk({"tool_calls": [{"index": 0, **fragment}]}) for fragment in fragments]
    return read(events(*chunks, chunk(finish="tool_calls"))).metadata["tool_calls"]


@pytest.mark.parametrize("ident", [["b"], {"b": 1}, 2])
def test_an_id_of_any_type_tells_calls_apart(ident):
    whole = {"arguments": "{}"}
    calls = calls_of(
        {"id": ["a"], "function": {"name": "f", **whole}}, {"id": ident, "function": {"name": "g", **whole}}
    )
    assert [(call["id"], call["function"]["name"]) for call in calls] == [(["a"], "f"), (ident, "g")]


def test_a_call_whose_parts_all_have_a_new_id_and_its_name_is_one_call():
    parts = ['{"x"', ": 1", "}", '{"x": 2}']
    calls = calls_of(*({"id": f"c{no}", "function": {"name": "f", "arguments": part}} for no, part in enumerate(parts)))
    assert [call["function"] for call in calls] == [
        {"name": "f", "arguments": '{"x": 1}'},
        {"name": "f", "arguments": '{"x": 2}'},
    ]


def test_a_call_without_arguments_keeps_their_empty_text():
    (call,) = calls_of({"id": "a", "function": {"name": "f", "arguments": ""}})
    assert call["function"] == {"name": "f", "arguments": ""}


def test_what_is_no_mapping_is_no_call_in_the_form_before_tools():
    assert "no content" in fault_of(events(chunk({"function_call": "[]"}), chunk(finish="stop"))).message


def test_an_empty_field_named_error_is_no_error():
    assert read(events(chunk({"content": "Par"}), chunk(finish="stop"), done=False) + b"error:\n\n").text == "Par"


def test_a_call_in_the_form_before_tools_is_a_call():
    parts = [{"name": "look"}, {"arguments": '{"x"'}, {"arguments": ": 1}"}]
    chunks = [chunk({"function_call": part}) for part in parts]
    streamed = read(events(*chunks, chunk(finish="function_call")))
    message = {"content": None, "function_call": {"name": "look", "arguments": '{"x": 1}'}}
    whole = {"choices": [{"message": message, "finish_reason": "function_call"}]}
    for reply in (streamed, MODEL.read(Answer(200, {}, json.dumps(whole).encode()))):
        assert (reply.text, reply.finish) == ("", "tool_calls")
        (call,) = reply.metadata["tool_calls"]
        assert call["function"] == message["function_call"]


def test_an_error_in_a_field_of_its_own_is_read():
    error = {"code": 400, "message": "the request exceeds the context size", "type": "invalid_request_error"}
    fault = fault_of(events(chunk({"content": "Par"}), done=False) + f"error: {json.dumps(error)}\n\n".encode())
    assert "exceeds the context size" in fault.message
    assert not fault.retry
    fault = fault_of(events(chunk({"content": "Par"}), chunk() | {"x_groq": {"error": "over capacity"}}))
    assert "over capacity" in fault.message


def test_of_several_choices_the_first_is_read():
    other = {"choices": [{"index": 1, "delta": {"content": "Rome"}, "finish_reason": "stop"}]}
    assert read(events(other, *WHOLE)).text == "Paris"


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r", "\n\n: ping\n\n"])
def test_every_line_end_and_comment_that_the_standard_allows_is_read(end):
    assert read(events(*WHOLE, end=end)).text == "Paris"


def test_a_finished_reply_needs_neither_done_nor_the_last_blank_line():
    assert read(events(*WHOLE[:4], done=False).rstrip()).text == "Paris"
    assert read(events(*PARIS)).finish == "stop"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b": ping\n\n",
        events(*PARIS, done=False),
        events(*WHOLE)[:-80],
        b"data: {broken}\n\n",
        b"data: \xff\n\n",
        b"<html>sign in</html>",
    ],
)
def test_a_stream_that_ended_before_the_reply_is_malformed_and_asked_for_again(body):
    cut = body if len(body) < 400 else body[: body.index(b'"finish_reason": "stop"')]
    fault = fault_of(cut)
    assert (fault.kind, fault.retry, fault.billed) == ("malformed", True, True)


def test_a_broken_event_is_named_with_its_place():
    first = events(*PARIS, done=False)
    fault = fault_of(first + b'data: {"choices": [{"delta"\n\ndata: [DONE]\n\n')
    number, at = first.count(b"data:") + 1, len(first) + len("data: ")
    assert f'event {number} of the stream, at byte {at:,}, is broken: {{"choices": [{{"delta"' in fault.message


@given(st.integers(0, 10_000))
def test_no_cut_of_a_stream_is_ever_taken_for_a_reply_unless_it_holds_all_of_it(cut):
    body = events(*WHOLE)
    part = body[: cut % len(body)]
    if len(part) >= len(events(*WHOLE[:4], done=False).rstrip()):
        assert read(part).text == "Paris"
    else:
        assert fault_of(part).kind == "malformed"


@given(st.text(min_size=1, max_size=30), st.lists(st.integers(0, 3000), max_size=6))
def test_characters_that_are_split_between_parts_are_whole_again_and_the_first_token_is_seen(text, cuts):
    body = events(PARIS[0], chunk({"content": text}), chunk(finish="stop"))
    assert read(body).text == text
    watch, places = first_of(lambda value: value["choices"][0]["delta"].get("content") == text), sorted(cuts)
    parts = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]
    assert sum(watch(part) for part in parts) == 1


def test_a_stream_that_was_cut_off_is_asked_for_again_and_the_whole_one_is_kept():
    def answer(n, asked, writer):
        writer.write(HEAD + (events(*WHOLE) if n else events(*PARIS, done=False)))

    (reply,), server = asking(answer)
    assert (reply.text, [attempt.fault for attempt in reply.attempts]) == ("Paris", ["malformed", ""])
    assert "ended before the reply did" in reply.attempts[0].message
    assert len(server.asked) == 2


def test_a_connection_that_broke_amid_a_stream_is_asked_again():
    def answer(n, asked, writer):
        if not n:
            writer.write(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n40\r\ndata: {")
            return None
        return http(200, events(*WHOLE))

    (reply,), _ = asking(answer)
    assert [attempt.fault for attempt in reply.attempts] == ["connection", ""]


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        ({"error": {"message": "overloaded", "code": 503}}, "server", True),
        ({"error": "boom"}, "server", True),
        ({"error": {"message": "slow down", "code": "429"}}, "rate_limit", True),
        ({"error": {"message": "no money", "code": "insufficient_quota"}}, "quota", False),
        ({"object": "error", "message": "too long", "code": 400}, "bad_request", False),
    ],
)
def test_an_error_amid_a_stream_is_a_fault_like_any_other(error, kind, again):
    fault = fault_of(events(*PARIS, error))
    assert (fault.kind, fault.retry) == (kind, again)


def test_a_content_filter_amid_a_stream_is_an_outcome_with_the_text_so_far():
    reply = read(events(*PARIS, {"error": {"message": "blocked", "code": "content_filter"}}))
    assert (reply.text, reply.finish) == ("Paris", "content_filter")
    assert read(events(*PARIS, chunk(finish="content_filter"))).finish == "content_filter"


def test_an_endpoint_that_does_not_stream_is_read_whole():
    (reply,), _ = asking(lambda n, _: said("Rome"))
    assert (reply.text, reply.usage) == ("Rome", Usage(20, 1))
    assert "ttft" not in reply.metadata


def test_an_endpoint_that_takes_no_count_of_a_stream_is_asked_without_and_only_once_so():
    def answer(n, asked):
        if b"stream_options" in asked.body:
            return http(400, {"error": {"message": "unknown field stream_options"}})
        return http(200, events(*WHOLE[:4]))

    replies, server = asking(answer, calls=3)
    assert [reply.text for reply in replies] == ["Paris"] * 3
    assert all(reply.usage.estimated and len(reply.attempts) == 1 for reply in replies)
    assert [b"stream_options" in request.body for request in server.asked] == [True, False, False, False]


def test_another_bad_request_is_told_and_not_sent_twice_once_a_stream_has_come():
    def answer(n, asked):
        return http(400, {"error": {"message": "too long"}}) if n else http(200, events(*WHOLE))

    (first, second), server = asking(answer, calls=2)
    assert (first.text, second.kind, len(server.asked)) == ("Paris", "bad_request", 2)


def test_a_stream_that_stalls_is_given_up_and_one_that_is_slow_to_begin_is_not():
    async def answer(n, asked, writer):
        await asyncio.sleep(0.3)
        writer.write(HEAD + events(*PARIS, done=False))
        await writer.drain()
        await asyncio.Event().wait()

    (error,), _ = asking(answer, idle_s=0.1, retry=Retry(attempts=1))
    assert error.kind == "timeout"
    assert "nothing came for 0.1 s within the reply" in str(error)


def test_a_drip_of_pings_ends_at_the_time_limit():
    async def answer(n, asked, writer):
        writer.write(HEAD)
        while True:
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    (error,), _ = asking(answer, timeout_s=0.3, retry=Retry(attempts=1))
    assert (error.kind, "within 0.3 s" in str(error)) == ("timeout", True)


@pytest.mark.parametrize("line", [b"x" * (1 << 20), events(chunk({"content": "y" * (1 << 20)}), done=False)])
def test_a_stream_without_end_is_given_up_at_the_limit_of_a_body(line, monkeypatch):
    monkeypatch.setattr(wire, "_MOST_BYTES", 4 << 20)

    async def answer(n, asked, writer):
        writer.write(HEAD)
        for _ in range(100):
            writer.write(line)
            await writer.drain()

    (error,), _ = asking(answer, timeout_s=60, retry=Retry(attempts=1))
    assert "longer than 4 MiB" in str(error)


@pytest.mark.parametrize("name", ["stream", "stream_options"])
def test_a_stream_is_a_key_of_its_own_and_no_parameter(name):
    with pytest.raises(ConfigError, match="write stream: true beside them"):
        check_options(OpenAICompatible("m", "http://h/v1", parameters={name: True}))
    with pytest.raises(ConfigError, match="idle_s must be a number of 0 or more"):
        check_options(OpenAICompatible("m", "http://h/v1", idle_s=-1))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "error", "index", "tool_calls", "function", "finish_reason", "usage"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4), st.booleans())
def test_whatever_a_stream_holds_is_a_reply_or_a_fault(values, done):
    body = events(*values, done=done)
    first_of(lambda value: MODEL is None or bool(value))(body)
    with contextlib.suppress(Fault):
        assert isinstance(read(body).text, str)
