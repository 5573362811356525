"""Any JSON endpoint as a model, shown against a real server."""

import asyncio
import json

import pytest
from tests.models.wire_shapes import PASSAGES, SHAPES, TEXT, asking, faults, serving

from steelyard import ConfigError, ModelError
from steelyard.models.base import Answer, Fault
from steelyard.models.http import HttpModel, PresetName
from steelyard.models.limits import Retry
from steelyard.models.presets import PRESETS
from steelyard.models.response import ResponseMap
from steelyard.registry import describe, find

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
    assert error.attempts[0].seconds < 5


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
    _, endpoint = ask_once("024-plain", lambda base: HttpModel(**_fields(model) | {"url": url.format(base)}))
    assert endpoint.paths == ["/ask/a%2Fb?q=%E4%B9%BE%E4%B8%BA%E4%BD%95%EF%BC%9F"]
    assert endpoint.asked == [None]


def _fields(model):
    return {name: getattr(model, name) for name in HttpModel.__dataclass_fields__}


def payload(model, messages="hi", **parameters):
    return json.loads(model.request(messages, parameters).payload)


def test_values_of_a_body_keep_their_type_and_text_may_hold_braces():
    model = HttpModel(
        "http://h/x",
        body={"q": "Q: {{prompt}}", "k": "{{top_k}}", "on": False, "deep": [{"t": "{{messages}}"}], "json": '{"a":{}}'},
        parameters={"top_k": 3},
    )
    assert payload(model, r"\frac{1}{2} {{top_k}}", top_k=20) == {
        "q": r"Q: \frac{1}{2} {{top_k}}",
        "k": 20,
        "on": False,
        "deep": [{"t": [{"role": "user", "content": r"\frac{1}{2} {{top_k}}"}]}],
        "json": '{"a":{}}',
    }
    assert payload(model)["k"] == 3


def test_a_conversation_becomes_prompt_and_history():
    turns = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": "three"}]},
    ]
    sent = payload(chatchat("http://h"), turns)
    assert (sent["query"], sent["history"]) == ("three", turns[:2])


def test_a_message_without_a_place_is_refused_rather_than_left_out():
    system = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    with pytest.raises(ConfigError, match=r"no place for a system message: use \{\{system\}\}"):
        payload(chatchat("http://h"), system)
    with pytest.raises(ConfigError, match="no place for 1 earlier messages"):
        payload(HttpModel("http://h/x", body={"q": "{{prompt}}"}), [{"role": "assistant", "content": "a"}, system[1]])
    assert payload(HttpModel("http://h/x", body={"s": "{{system}}", "q": "{{prompt}}"}), system)["s"] == "be brief"


def test_a_lone_surrogate_is_sent_as_its_escape():
    request = HttpModel("http://h/x", body={"q": "{{prompt}}"}).request("a\ud800", {})
    assert request.payload == b'{"q":"a\\ud800"}'


def test_a_preset_is_written_out_in_the_fields_and_gives_way_to_what_is_given():
    model = HttpModel(
        "http://kb.example:7861",
        "chatchat-0.2",
        body={"knowledge_base_name": "zhouyi", "stream": True},
        response=ResponseMap(join="last", error="oops"),
    )
    assert model.url == "http://kb.example:7861/chat/knowledge_base_chat"
    assert model.body["stream"] is True
    assert model.body["query"] == "{{prompt}}"
    assert (model.response.join, model.response.error, model.response.contexts) == ("last", "oops", "docs")
    assert HttpModel(**_fields(model)) == model
    assert describe(model)["http"]["body"]["query"] == "{{prompt}}"


def test_a_given_path_and_header_win_over_the_presets():
    model = HttpModel(
        "http://h/mine?x=1", "zhipu", headers={"authorization": "Bearer ${MINE}"}, body={"model": "glm-4"}
    )
    assert model.url == "http://h/mine?x=1"
    assert dict(model.headers) == {"authorization": "Bearer ${MINE}"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_passes_its_own_check_once_its_needs_are_met(name):
    model = HttpModel("http://h", name, body=dict.fromkeys(PRESETS[name].needs, "x"))
    model.check()
    assert model.request("hi", {}).url == "http://h" + PRESETS[name].path
    with pytest.raises(ConfigError, match=f"needs the key '{PRESETS[name].needs[0]}'"):
        HttpModel("http://h", name).check()


def test_the_names_of_presets_are_those_of_the_annotation():
    assert {"", *PRESETS} == set(PresetName.__args__)


def test_the_registered_model_is_this_one():
    assert find("model", "http") is HttpModel


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": ""}, "'url' is missing"),
        ({"url": "ftp://h/x"}, "http"),
        ({"url": "h/x"}, "http"),
        ({"url": "http://{{host}}/x"}, "host"),
        ({"url": "http://me:pw@h/x"}, "password"),
        ({"url": "http://h/x?api_key=abc"}, "reference"),
        ({"headers": {"X-Api-Key": "sk-123"}}, "reference"),
        ({"body": {"key": ["${NAME}"]}}, "not resolved"),
        ({"response": ResponseMap()}, r"response\.text is missing"),
        ({"response": ResponseMap(text="a[")}, r"response\.text: 'a\[' is no JMESPath"),
        ({"response": ResponseMap(text="a", usage="||")}, r"response\.usage"),
        ({"body": {"q": "{{promt}}"}}, r"did you mean 'prompt'"),
        ({"body": {"q": "{{question}}"}}, "nothing is called"),
        ({"timeout_s": 0.0}, "0.001 or more"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(fields, message):
    good = {"url": "http://h/x", "body": {"q": "{{prompt}}"}, "response": ResponseMap(text="answer")}
    HttpModel(**good).check()
    with pytest.raises(ConfigError, match=message):
        HttpModel(**good | fields).check()


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"did you mean 'chatchat-0\.2'"):
        HttpModel("http://h", "chatchat-0.2.10")


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
    [("content_filter", "content_filter"), ("sensitive", "content_filter"), ("length", "length"), ("tool_calls",) * 2],
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
    stream = "".join(f"data: {json.dumps({'model': 'glm', 'choices': [{'delta': one}]})}\n\n" for one in deltas)
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


def test_the_shapes_split_characters_between_chunks():
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in SHAPES["03-stream"].pieces]
