"""Agents and engines of LlamaIndex, the real package with its own mock models, and a tool that is really called."""

import json

import pytest

HOSTILE = "<img src=x onerror=alert(1)>"

AGENTS = f'''
import json
from llama_index.core import Document, SummaryIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, TextBlock, ToolCallBlock
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.tools import FunctionTool

PEOPLE = {{"Paris": 2100000, "Oslo": 700000}}


def population(city: str) -> str:
    """People in a city."""
    return f"{{PEOPLE[city]}} people {HOSTILE}"


def city_in(text):
    return text.split()[-1].rstrip("?")


def raw(asked, answered):
    return {{"usage": {{"prompt_tokens": asked, "completion_tokens": answered}}}}


class Calling(MockFunctionCallingLLM):
    """Calls the tool, then answers with the number that it gave."""

    async def astream_chat_with_tools(self, tools, user_msg=None, chat_history=None, **_):
        last = list(chat_history)[-1]

        async def replies():
            if last.role.value == "tool":
                yield self.reply([TextBlock(text=last.content.split()[0])], raw(50, 7))
                return
            city = city_in(last.content)
            call = ToolCallBlock(tool_call_id=f"call-{{city}}", tool_name="population", tool_kwargs={{"city": city}})
            yield self.reply([TextBlock(text="Let me look."), call], raw(30, 5))

        return replies()

    def reply(self, blocks, raw):
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), delta="", raw=raw)

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **_):
        calls = [one for one in response.message.blocks if isinstance(one, ToolCallBlock)]
        return [
            ToolSelection(tool_id=one.tool_call_id, tool_name=one.tool_name, tool_kwargs=one.tool_kwargs)
            for one in calls
        ]


class Reasoning(MockLLM):
    """Speaks as ReAct wants it: thought, action, answer."""

    @llm_chat_callback()
    async def astream_chat(self, messages, **_):
        last = messages[-1].content

        async def replies():
            if last.startswith("Observation:"):
                text = f"Thought: I can answer.\\nAnswer: {{last.split()[1]}}"
            else:
                city = city_in(last)
                text = f'Thought: Look.\\nAction: population\\nAction Input: {{{{"city": "{{city}}"}}}}'
            yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text, raw=raw(40, 4))

        return replies()


class Completing(MockLLM):
    def complete(self, prompt, formatted=False, **options):
        reply = super().complete(prompt, formatted, **options)
        return CompletionResponse(text=reply.text, raw=raw(11, 3))


def function_agent():
    return FunctionAgent(tools=[FunctionTool.from_defaults(population)], llm=Calling())


def workflow():
    return AgentWorkflow.from_tools_or_functions([FunctionTool.from_defaults(population)], llm=Calling())


def react():
    return ReActAgent(tools=[FunctionTool.from_defaults(population)], llm=Reasoning(), streaming=True)


class Listening(MockLLM):
    """Answers with the roles and blocks of the messages that it was sent."""

    async def astream_chat(self, messages, **_):
        async def replies():
            turns = [[one.role.value, *(type(block).__name__ for block in one.blocks)] for one in messages[1:]]
            text = "Thought: I can answer.\\nAnswer: " + json.dumps(turns)
            yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text, raw={{}})

        return replies()


def listening():
    return ReActAgent(tools=[FunctionTool.from_defaults(population)], llm=Listening())


def engine():
    return SummaryIndex.from_documents([Document(text="People.")]).as_query_engine(llm=Completing(max_tokens=5))


def silent():
    return SummaryIndex.from_documents([Document(text="People.")]).as_query_engine(llm=MockLLM(max_tokens=5))
'''
CONFIG = """
suite: rag
samples: {file: q.csv}
targets:
  function_agent: {llama_index: {engine: "my_agents:function_agent"}}
  workflow: {llama_index: {engine: "my_agents:workflow"}}
  react: {llama_index: {engine: "my_agents:react"}}
  engine: {llama_index: {engine: "my_agents:engine"}}
  silent: {llama_index: {engine: "my_agents:silent"}}
  talk: {simulated_user: {target: {llama_index: {engine: "my_agents:function_agent"}}, model: {scripted: {
    default: '{"message": "And how many people live in Oslo?", "done": false}'}}, most_turns: 2}}
scorers: [{tool_calls: {expected: [{name: population, arguments: {city: Oslo}}]}}, agent_steps, {length: 1000}]
options: {concurrency: 4}
"""


@pytest.fixture(scope="module")
def steelyard(agents):
    return agents("llamaindex", AGENTS, CONFIG)


@pytest.mark.parametrize("target", ["function_agent", "workflow"])
def test_an_agent_keeps_its_messages_tool_calls_and_tokens(steelyard, target):
    for record, city, n in zip(steelyard.records(target), ("Paris", "Oslo"), ("2100000", "700000"), strict=True):
        assert record["failure"] is None
        assert record["output"]["value"] == n
        assert record["output"]["metadata"]["messages"] == [
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [{"id": f"call-{city}", "name": "population", "arguments": {"city": city}}],
            },
            {
                "role": "tool",
                "content": f"{n} people {HOSTILE}",
                "tool_call_id": f"call-{city}",
                "name": "population",
            },
            {"role": "assistant", "content": n},
        ]
        assert record["output"]["metadata"]["usage"] == {"input_tokens": 80, "output_tokens": 12, "calls": 2}
    usage = json.loads(steelyard("show", target, "--json"))["framework"]
    assert usage == {"records": 2, "in_part": 0, "input_tokens": 160, "output_tokens": 24}


def test_a_react_agent_keeps_its_steps(steelyard):
    for record, city, n in zip(steelyard.records("react"), ("Paris", "Oslo"), ("2100000", "700000"), strict=True):
        assert record["output"]["value"] == n
        first, result, last = record["output"]["metadata"]["messages"]
        assert [(one["name"], one["arguments"]) for one in first["tool_calls"]] == [("population", {"city": city})]
        assert (result["role"], result["content"]) == ("tool", f"{n} people {HOSTILE}")
        assert last["role"] == "assistant"
        assert record["output"]["metadata"]["usage"]["input_tokens"] == 80


def test_an_engine_reports_each_call_once_though_the_models_methods_call_each_other(steelyard):
    for record in steelyard.records("engine"):
        assert record["output"]["metadata"]["usage"] == {"input_tokens": 11, "output_tokens": 3, "calls": 1}
        assert "messages" not in record["output"]["metadata"]


def test_tokens_that_are_not_reported_are_unknown_and_not_0(steelyard):
    assert json.loads(steelyard("show", "silent", "--json"))["framework"] is None
    steelyard("report", "silent", "--html", "silent.html")
    assert '<td class="num">unknown</td>' in (steelyard.folder / "silent.html").read_text(encoding="utf-8")


def test_the_page_shows_the_steps_inert_and_the_store_is_sound(steelyard):
    assert f"tool population: 2100000 people {HOSTILE}" in steelyard("show", "workflow", "line:2")
    steelyard("report", "workflow", "--html", "workflow.html")
    page = (steelyard.folder / "workflow.html").read_text(encoding="utf-8")
    assert "2100000 people" in page
    assert HOSTILE not in page
    assert "no damage found" in steelyard("verify")


TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "population", "arguments": '{"city": "Oslo"}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
USER, ASKED = {"role": "user", "content": "Who?"}, {"role": "user", "content": "When?"}
CONVERSATIONS = {
    "ends with the assistant": (
        [USER, {"role": "assistant", "content": "Ann."}],
        [["user", "TextBlock"], ["assistant", "TextBlock"]],
    ),
    "system in the middle": (
        [USER, {"role": "system", "content": "Be brief."}, ASKED],
        [["user", "TextBlock"], ["system", "TextBlock"], ["user", "TextBlock"]],
    ),
    "tools": (
        [
            USER,
            {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "700000"},
            ASKED,
        ],
        [["user", "TextBlock"], ["assistant", "ToolCallBlock"], ["tool", "TextBlock"], ["user", "TextBlock"]],
    ),
    "an earlier picture": (
        [{"role": "user", "content": [{"type": "text", "text": "Who?"}, PICTURE]}, ASKED],
        [["user", "TextBlock", "ImageBlock"], ["user", "TextBlock"]],
    ),
    "a picture in the question": (
        [{"role": "user", "content": [{"type": "text", "text": "Who?"}, PICTURE]}],
        [["user", "TextBlock", "ImageBlock"]],
    ),
}


def test_an_agent_is_given_the_turns_of_a_conversation_in_their_order_with_pictures_and_tool_calls(steelyard):
    rows = [json.dumps({"id": name, "messages": given}) for name, (given, _) in CONVERSATIONS.items()]
    (steelyard.folder / "turns.jsonl").write_text("\n".join(rows), encoding="utf-8")
    config = (
        "suite: rag\nsamples: {file: turns.jsonl}\ntargets: {heard: {llama_index: {engine: 'my_agents:listening'}}}\n"
        "scorers: [{length: 100000}]\n"
    )
    (steelyard.folder / "turns.yaml").write_text(config, encoding="utf-8")
    steelyard("run", "turns.yaml", "--quiet")
    heard = {one["sample"]["id"]: one["output"]["value"] for one in steelyard.records("heard")}
    assert {name: json.loads(text) for name, text in heard.items()} == {
        name: turns for name, (_, turns) in CONVERSATIONS.items()
    }


@pytest.mark.parametrize("target", ["function_agent", "workflow", "react"])
def test_the_tool_calls_and_steps_of_an_agent_are_scored(steelyard, target):
    records = steelyard.records(target)
    paris, oslo = ({score["name"]: score["value"] for score in record["scores"]} for record in records)
    assert (paris["tool_calls"], oslo["tool_calls"]) == (0, 1)
    assert (oslo["agent_steps"], oslo["agent_calls"]) == (2, 1)


def test_a_simulated_user_talks_to_an_agent_turn_by_turn(steelyard):
    for record, city in zip(steelyard.records("talk"), ("Paris", "Oslo"), strict=True):
        metadata = record["output"]["metadata"]
        assert metadata["conversation"] == {"turns": 2, "ended": "most_turns"}
        calls = [call for message in metadata["messages"] for call in message.get("tool_calls", ())]
        assert [call["arguments"]["city"] for call in calls] == [city, "Oslo"]
        assert record["output"]["value"] == "700000"
