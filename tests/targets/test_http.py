"""An endpoint as the system under test. The defects named here are those of a published benchmark script."""

import asyncio
import json

import pytest
from tests.loopback import http, peer
from tests.models.wire_shapes import PASSAGES, TEXT, asking, serving

from steelyard import ConfigError, Sample
from steelyard.building.keys import keys_of
from steelyard.constraints import check_options
from steelyard.errors import ModelError
from steelyard.models.base import Answer
from steelyard.models.limits import Retry
from steelyard.models.response import ResponseMap
from steelyard.registry import describe, find
from steelyard.scorers import AgentSteps, ToolCalls
from steelyard.session.replies import plain_output
from steelyard.targets.http import HttpEndpoint

SAMPLE = Sample("q1", "乾为何？", "A", choices=("天", "地", "雷", "风", "水"), group="卦象", metadata={"kb": "zhouyi"})


def chatchat(url="http://h", **options):
    return HttpEndpoint(url, "chatchat-0.2", body={"knowledge_base_name": "{{metadata.kb}}", "top_k": 5}, **options)


def run(plan, *samples, target_of=chatchat, retry=None):
    """What each sample gave: an Output or the error, and the server."""

    async def ask_all():
        async with serving(*plan.split(",")) as endpoint, asking(retry) as ask:
            target = target_of(endpoint.url)
            return [await _tried(target, sample, ask) for sample in samples or (SAMPLE,)], endpoint

    return asyncio.run(ask_all())


async def _tried(target, sample, ask):
    try:
        return await target(sample, ask)
    except ModelError as error:
        return error


def test_the_output_holds_the_text_and_the_retrieved_passages():
    (output,), endpoint = run("0210-stream")
    assert output.value == TEXT
    assert output.contexts == PASSAGES
    assert output.metadata == {}
    assert (endpoint.asked[0]["knowledge_base_name"], endpoint.asked[0]["top_k"]) == ("zhouyi", 5)


def test_nothing_found_in_the_knowledge_base_is_told_with_the_output():
    (output,), _ = run("nothing-found")
    assert (output.value, output.contexts, output.metadata) == (TEXT, (), {"kb_miss": True})


def test_an_exception_becomes_an_error_with_its_attempts_and_never_a_text():
    (error,), _ = run("hang", target_of=lambda url: chatchat(url, timeout_s=0.2))
    assert isinstance(error, ModelError)
    assert error.kind == "timeout"
    assert len(error.attempts) == 1


def test_one_failed_sample_does_not_lose_those_after_it():
    got, endpoint = run("024-plain,no-such-base,024-plain", SAMPLE, SAMPLE, SAMPLE)
    assert [type(one).__name__ for one in got] == ["Output", "ModelError", "Output"]
    assert len(endpoint.asked) == 3


def test_a_404_inside_a_success_is_an_error():
    (error,), _ = run("no-such-base")
    assert error.kind == "bad_request"
    assert "404" in str(error)


@pytest.mark.parametrize("shape", ["024-plain", "024-stream", "0210-plain", "0210-stream", "03-plain", "03-stream"])
def test_every_generation_of_the_service_is_read_whatever_it_sends(shape):
    (output,), _ = run(shape)
    assert output.value == TEXT


def test_a_reply_knows_its_time_tokens_and_model():
    async def reply():
        async with serving("500", "03-stream") as endpoint, asking(Retry(base_s=0.0)) as ask:
            return await ask(chatchat(endpoint.url), "乾？", metadata={"kb": "k"})

    got = asyncio.run(reply())
    assert got.latency > 0
    assert got.usage.output_tokens > 0
    assert got.metadata["model"] == "chatglm3-6b"
    assert [one.fault for one in got.attempts] == ["server", ""]


def test_options_are_asked_as_lines_with_letters_whatever_their_number():
    prompt = chatchat().messages(SAMPLE)
    assert "A. 天\nB. 地\nC. 雷\nD. 风\nE. 水" in prompt
    assert "[" not in prompt


def test_braces_in_template_and_question_are_kept():
    sample = Sample("1", r'{"a": \frac{1}{2}} {0} {{options}}', choices=("x", "y"))
    asked = chatchat(template='{"q": {{question}}}\n{{options}}').messages(sample)
    assert asked == '{"q": {"a": \\frac{1}{2}} {0} {{options}}}\nA. x\nB. y'


def test_without_a_template_the_language_of_the_question_picks_the_packaged_one():
    assert "题目：乾为何？" in chatchat().messages(SAMPLE)
    assert "Question: Who?" in chatchat().messages(Sample("1", "Who?", choices=("a", "b")))
    assert "资料：\n一" in chatchat().messages(Sample("1", "乾？", choices=("a", "b"), contexts=("一",)))


def test_a_sample_without_options_is_asked_as_it_is():
    turns = [{"role": "user", "content": "hi"}]
    assert chatchat().messages(Sample("1", "Who?")) == "Who?"
    assert chatchat().messages(Sample("1", turns)) == turns


def test_the_body_may_use_the_sample_itself():
    target = HttpEndpoint(
        "http://h/x",
        body={"q": "{{question}}", "o": "{{choices}}", "m": "{{metadata}}"},
        response=ResponseMap(text="a"),
    )
    check_options(target)
    values = {"question": "乾？", "choices": ["天"], "metadata": {"kb": "k"}}
    assert json.loads(target.request("ignored", values).payload) == {"q": "乾？", "o": ["天"], "m": {"kb": "k"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": "{{qestion}}"}, r"did you mean 'question'"),
        ({"template": "zh/four_option"}, "did you mean 'zh/four_options'"),
        ({"body": {"q": "{{reference}}"}}, "unknown placeholder"),
        ({"url": ""}, "url"),
    ],
)
def test_a_mistake_is_found_before_anything_is_asked(options, message):
    good = {
        "url": "http://h/x",
        "body": {"q": "{{prompt}}"},
        "response": ResponseMap(text="a"),
        "template": "{{question}}",
    }
    check_options(HttpEndpoint(**good))
    with pytest.raises(ConfigError, match=message):
        check_options(HttpEndpoint(**good | options))


def test_the_manifest_holds_the_whole_call():
    told = describe(chatchat("http://kb.example:7861", template="zh/four_options"))["http"]
    assert told["url"] == "http://kb.example:7861/chat/knowledge_base_chat"
    assert told["body"]["query"] == "{{prompt}}"
    assert "题目：" in told["text"]


def test_its_keys_are_those_of_the_model_and_a_template():
    assert find("target", "http") is HttpEndpoint
    assert set(keys_of(HttpEndpoint)) - set(keys_of(HttpEndpoint.__base__)) == {"template"}


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("docs[*].id", [{"id": "c1"}, {"id": "c2"}]),
        (
            "docs[*].{document: file, page: page}",
            [{"document": "a.pdf", "page": 3}, {"document": "b.txt", "page": None}],
        ),
        ("[docs[0].id, null]", [{"id": "c1"}, {}]),
        ("nowhere", None),
        ("", None),
    ],
)
def test_what_is_known_of_each_passage_becomes_its_source(expression, sources):
    docs = [{"id": "c1", "text": "one", "file": "a.pdf", "page": 3}, {"id": "c2", "text": "two", "file": "b.txt"}]
    wanted = ResponseMap(text="answer", contexts="docs[*].text", sources=expression)
    target = HttpEndpoint("http://h/x", body={"q": "{{prompt}}"}, response=wanted)
    check_options(target)

    async def ask(model, messages, **parameters):
        return model.read(Answer(200, {}, json.dumps({"answer": "yes", "docs": docs}).encode()))

    output = asyncio.run(target(SAMPLE, ask))
    assert output.contexts == ("one", "two")
    assert output.metadata.get("sources") == sources


def test_sources_are_read_by_a_jmespath_expression_that_is_checked():
    with pytest.raises(ConfigError, match=r"sources: 'docs\[' is not a JMESPath expression"):
        check_options(ResponseMap(text="a", sources="docs["))


CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "gate"}'}}
STEPS = [
    {"role": "user", "content": "Which gate?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "Gate 4"},
]
USAGE = {"prompt_tokens": 30, "completion_tokens": 5}


def asked_agent(body, **response):
    """The output of an endpoint that answers with `body`, as the store would keep it."""
    sample = Sample("1", "Which gate?", metadata={"tools": [{"name": "search", "arguments": {"query": "gate"}}]})

    async def ask_it():
        async with peer(lambda n, asked: http(200, body)) as server, asking(None) as ask:
            wanted = ResponseMap(**{"text": "output", "messages": "messages"} | response)
            target = HttpEndpoint(server.url, body={"q": "{{question}}"}, response=wanted)
            check_options(target)
            return await target(sample, ask)

    return sample, plain_output(asyncio.run(ask_it()), sample.input)


@pytest.mark.parametrize("messages", [STEPS, [*STEPS, {"role": "assistant", "content": "Gate 4. "}]])
def test_the_messages_of_an_agent_behind_an_endpoint_are_kept_and_scored(messages):
    sample, output = asked_agent({"output": "Gate 4.", "messages": messages, "usage": USAGE})
    assert output.value == "Gate 4."
    assert [message["role"] for message in output.metadata["messages"]] == ["assistant", "tool", "assistant"]
    assert [score.value for score in ToolCalls()(sample, output)] == [1, 1, 1]
    found = {score.name: score.value for score in AgentSteps(input_price=1, output_price=2)(sample, output)}
    assert (found["agent_steps"], found["agent_calls"], found["agent_tokens"]) == (2, 1, 35)
    assert found["agent_cost"] == pytest.approx(40e-6)


def test_one_message_with_a_call_and_no_text_is_a_step_and_paid_for_once():
    body = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
    sample, output = asked_agent(body, text="choices[0].message.content", messages="choices[0].message")
    assert output.value == ""
    assert [score.value for score in ToolCalls()(sample, output)] == [1, 1, 1]


@pytest.mark.parametrize("messages", [[], [STEPS[0]]])
def test_an_agent_that_called_nothing_is_scored_for_it(messages):
    sample, output = asked_agent({"output": "Gate 9.", "messages": messages})
    assert [score.value for score in ToolCalls()(sample, output)] == [0, 0, None]
    assert [score.value for score in AgentSteps()(sample, output)][:2] == [1, 0]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (None, "keeps no messages"),
        ("searching", "not a list of chat messages"),
        (7, "not a list of chat messages"),
        ([7], "not a list of chat messages"),
        ({"a": 1}, "not a list of chat messages"),
        ([{"role": "assistant"}], "not a list of chat messages"),
    ],
)
def test_messages_in_another_form_are_not_applicable_with_the_reason(messages, reason):
    sample, output = asked_agent({"output": "Gate 9.", "messages": messages})
    assert output.value == "Gate 9."
    for score in ToolCalls()(sample, output):
        assert (score.outcome, score.value) == ("not_applicable", None)
        assert reason in score.reason


def test_of_a_stream_the_last_messages_count():
    chunks = [{"output": "Gate"}, {"messages": STEPS[:2]}, {"output": " 4.", "messages": STEPS}, {"messages": None}]
    body = "".join(json.dumps(chunk) + "\n" for chunk in chunks).encode()
    sample, output = asked_agent(body, framing="jsonl")
    assert output.value == "Gate 4."
    assert [score.value for score in AgentSteps()(sample, output)][:2] == [2, 1]
