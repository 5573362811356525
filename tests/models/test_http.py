"""Any JSON endpoint as a model: every shape of answer and every fault, from a real server."""

import asyncio
from dataclasses import replace

import pytest
from tests.loopback import peer
from tests.models.wire_shapes import PASSAGES, SHAPES, TEXT, asking, faults, serving

from steelyard.errors import ModelError
from steelyard.models.http import HttpModel
from steelyard.models.limits import Retry
from steelyard.models.response import ResponseMap

QUICK = Retry(attempts=2, base_s=0.0)


def chatchat(url, version="0.2", **options):
    name = "kb_name" if version == "0.3" else "knowledge_base_name"
    return HttpModel(url, f"chatchat-{version}", body={name: "zhouyi"}, **options)


def ask_once(shape, model_of=chatchat, retry=None, **secrets):
    async def run():
        async with serving(*shape.split(",")) as endpoint, asking(retry, **secrets) as ask:
            return await ask(model_of(endpoint.url), "乾为何？"), endpoint

    return asyncio.run(run())


def error_of(shape, model_of=chatchat, retry=None):
    async def run():
        async with serving(*shape.split(",")) as endpoint, asking(retry) as ask:
            with pytest.raises(ModelError) as caught:
                await ask(model_of(endpoint.url), "乾为何？")
            return caught.value

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("shape", "version"),
    [
        ("024-plain", "0.2"),
        ("024-stream", "0.2"),
        ("0210-plain", "0.2"),
        ("0210-stream", "0.2"),
        ("03-stream", "0.3"),
        ("pings", "0.3"),
    ],
)
def test_every_answered_wire_shape_gives_text_and_passages(shape, version):
    reply, endpoint = ask_once(shape, lambda url: chatchat(url, version))
    assert reply.text == TEXT
    assert reply.metadata["contexts"] == PASSAGES
    assert "kb_miss" not in reply.metadata
    assert endpoint.asked[0]["query"] == "乾为何？"


def test_json_sent_as_a_json_string_gives_its_text():
    reply, _ = ask_once("03-plain", lambda url: chatchat(url, "0.3"))
    assert (reply.text, reply.finish, reply.metadata) == (TEXT, "stop", {"model": "chatglm3-6b"})


def test_a_service_that_found_nothing_gives_no_passage_and_says_so():
    reply, _ = ask_once("nothing-found")
    assert reply.text == TEXT
    assert reply.metadata == {"contexts": (), "kb_miss": True}


def test_an_unknown_knowledge_base_inside_a_success_is_an_error_and_never_an_answer():
    error = error_of("no-such-base", retry=QUICK)
    assert error.kind == "bad_request"
    assert "未找到知识库 zhouyi (404)" in str(error)
    assert not error.ends_run
    assert len(error.attempts) == 1


@pytest.mark.parametrize("shape", ["error-event", "error-body"])
def test_an_exception_that_the_service_caught_is_asked_again(shape):
    error = error_of(f"{shape},{shape}", retry=QUICK)
    assert "worker is gone" in str(error)
    assert faults(error.attempts) == ["server", "server"]
    reply, _ = ask_once(f"{shape},024-plain", retry=QUICK)
    assert (reply.text, faults(reply.attempts)) == (TEXT, ["server", ""])


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ("500", "server"),
        ("429", "rate_limit"),
        ("html", "malformed"),
        ("half-json", "malformed"),
        ("half-event", "malformed"),
        ("cut", "connection"),
    ],
)
def test_a_passing_fault_is_recorded_and_asked_again(shape, kind):
    reply, endpoint = ask_once(f"{shape},0210-stream", retry=QUICK)
    assert reply.text == TEXT
    assert faults(reply.attempts) == [kind, ""]
    assert len(endpoint.asked) == 2


def test_an_endpoint_that_hangs_is_given_up_in_time():
    error = error_of("hang", lambda url: chatchat(url, timeout_s=0.2))
    assert error.kind == "timeout"


@pytest.mark.parametrize(("shape", "kind", "ends_run"), [("401", "auth", True), ("422", "bad_request", False)])
def test_what_cannot_pass_is_not_asked_again(shape, kind, ends_run):
    error = error_of(shape, retry=QUICK)
    assert (error.kind, error.ends_run, len(error.attempts)) == (kind, ends_run, 1)


def test_a_status_may_be_declared_to_be_a_reply():
    wanted = ResponseMap(text="detail[0].msg")
    reply, _ = ask_once("422", lambda url: HttpModel(url, response=wanted, accept_status=(422,)))
    assert reply.text == "field required"


def test_a_key_reaches_the_endpoint_but_not_the_request():
    header = {"Authorization": "Bearer ${KB_KEY}"}
    _, endpoint = ask_once("024-plain", lambda url: chatchat(url, headers=header), KB_KEY="sk-loopback")
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-loopback"
    request = chatchat("http://h", headers=header).request("q", {})
    assert ("Authorization", "Bearer ${KB_KEY}") in request.headers


def test_placeholders_of_the_address_are_percent_encoded():
    url = "{}/ask/{{{{kb}}}}?q={{{{prompt}}}}"
    model = HttpModel(method="GET", response=ResponseMap(text="answer"), parameters={"kb": "a/b"})
    _, endpoint = ask_once("024-plain", lambda base: replace(model, url=url.format(base)))
    assert endpoint.paths == ["/ask/a%2Fb?q=%E4%B9%BE%E4%B8%BA%E4%BD%95%EF%BC%9F"]
    assert endpoint.asked == [None]


def test_the_shapes_split_characters_between_chunks():
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in SHAPES["03-stream"].pieces]


@pytest.mark.parametrize(("frame", "framing"), [(b"data: %s\n\n", "auto"), (b"%s\n", "jsonl"), (b"data:%s\r\r", "sse")])
def test_the_time_to_the_first_text_of_a_stream_is_measured(frame, framing):
    async def answer(n, asked, writer):
        writer.write(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n")
        for value in (b'{"docs": ["p"]}', b'{"answer": "Pa"}', b'{"answer": "ris"}'):
            writer.write(frame % value)
            await writer.drain()
            await asyncio.sleep(0.1)

    async def run():
        async with peer(answer) as server, asking(None) as ask:
            wanted = ResponseMap(framing, "answer")
            body = {"messages": "{{messages}}", "stream": True}
            return await ask(HttpModel(server.url, body=body, response=wanted), "q")

    reply = asyncio.run(run())
    assert reply.text == "Paris"
    assert 0.08 < reply.metadata["ttft"] < reply.latency - 0.1


def test_a_reply_that_came_at_once_has_no_time_to_its_first_token():
    assert "ttft" not in ask_once("0210-plain")[0].metadata
