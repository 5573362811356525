"""Agents of LangChain and langgraph, the real packages with a scripted chat model and tools that are really called."""

import json
import re

import pytest

HOSTILE = "<script>alert('tool')</script>"

AGENTS = f'''
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

PEOPLE = {{"Paris": 2100000, "Oslo": 700000}}


@tool
def population(city: str) -> str:
    """People in a city."""
    return f"{{PEOPLE[city]}} people {HOSTILE}"


class Scripted(BaseChatModel):
    says_tokens: bool = True

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def usage(self, asked, answered):
        cached = {{"cache_read": asked // 2}}
        total = {{"input_tokens": asked, "output_tokens": answered, "total_tokens": asked + answered}}
        return {{"usage_metadata": {{**total, "input_token_details": cached}}}} if self.says_tokens else {{}}

    def _generate(self, messages, stop=None, run_manager=None, **_):
        if messages[-1].type == "tool":
            reply = AIMessage(messages[-1].content.split()[0], **self.usage(50, 7))
        else:
            city = messages[-1].content.split()[-1].rstrip("?")
            call = {{"name": "population", "args": {{"city": city}}, "id": f"call-{{city}}"}}
            reply = AIMessage("Let me look.", tool_calls=[call], **self.usage(30, 5))
        return ChatResult(generations=[ChatGeneration(message=reply)])


def created():
    return create_agent(Scripted(), [population], system_prompt="Be brief.")


def graph(**options):
    model = Scripted(**options)
    states = StateGraph(MessagesState)
    states.add_node("model", lambda state: {{"messages": [model.invoke(state["messages"])]}})
    states.add_node("tools", ToolNode([population]))
    states.add_edge(START, "model")
    states.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    states.add_edge("tools", "model")
    return states.compile()


def silent():
    return graph(says_tokens=False)


def chain():
    return Scripted() | StrOutputParser()


def from_a_function(sample):
    return created().invoke({{"messages": [{{"role": "user", "content": sample.input}}]}})
'''
CONFIG = """
suite: rag
samples: {file: q.csv}
targets:
  created: {langchain: {runnable: "my_agents:created", input_key: messages}}
  graph: {langchain: {runnable: "my_agents:graph", input_key: messages}}
  silent: {langchain: {runnable: "my_agents:silent", input_key: messages}}
  chain: {langchain: {runnable: "my_agents:chain"}}
  function: {function: {function: "my_agents:from_a_function"}}
  talk: {simulated_user: {target: {langchain: {runnable: "my_agents:graph", input_key: messages}}, model: {scripted: {
    default: '{"message": "And how many people live in Oslo?", "done": false}'}}, most_turns: 2}}
scorers: [{tool_calls: {expected: [{name: population, arguments: {city: Oslo}}]}}, agent_steps]
options: {concurrency: 4}
"""


@pytest.fixture(scope="module")
def steelyard(agents):
    return agents("langchain", AGENTS, CONFIG)


@pytest.mark.parametrize("target", ["created", "graph", "silent", "function"])
def test_an_agent_keeps_its_messages_and_tool_calls_without_what_was_asked(steelyard, target):
    for record, city, n in zip(steelyard.records(target), ("Paris", "Oslo"), ("2100000", "700000"), strict=True):
        assert record["output"]["value"] == n
        first, result, last = record["output"]["metadata"]["messages"]
        call = {"id": f"call-{city}", "name": "population", "arguments": {"city": city}}
        assert first == {"role": "assistant", "content": "Let me look.", "tool_calls": [call]}
        assert (result["role"], result["name"], result["tool_call_id"]) == ("tool", "population", f"call-{city}")
        assert result["content"] == f"{n} people {HOSTILE}"
        assert last == {"role": "assistant", "content": n}


@pytest.mark.parametrize("target", ["created", "graph", "function"])
def test_the_tokens_that_langchain_reports_are_the_runs(steelyard, target):
    for record in steelyard.records(target):
        assert record["output"]["metadata"]["usage"] == {
            "input_tokens": 80, "output_tokens": 12, "cached_input_tokens": 40, "calls": 2,
        }  # fmt: skip
    summary = json.loads(steelyard("show", target, "--json"))
    assert summary["framework"] == {"records": 2, "in_part": 0, "input_tokens": 160, "output_tokens": 24}
    assert summary["input_tokens"] == 0
    assert f"{target}: 160 tokens in and 24 out, as the framework reports" in steelyard("show", target)


def test_a_chain_that_gives_a_text_alone_has_its_tokens_too(steelyard):
    for record in steelyard.records("chain"):
        assert record["output"]["value"] == "Let me look."
        assert record["output"]["metadata"]["usage"]["input_tokens"] == 30


def test_tokens_that_are_not_reported_are_unknown_and_not_0(steelyard):
    assert json.loads(steelyard("show", "silent", "--json"))["framework"] is None
    assert "usage" not in steelyard.records("silent")[0]["output"]["metadata"]
    steelyard("report", "silent", "--html", "silent.html")
    assert '<td class="num">unknown</td>' in (steelyard.folder / "silent.html").read_text(encoding="utf-8")


def test_the_page_and_the_terminal_show_the_steps_inert(steelyard):
    shown = steelyard("show", "created", "line:2")
    assert re.search(r'messages: 3\n +assistant: Let me look\.\n +calls population\({"city": "Paris"}\)\n', shown)
    assert f"tool population: 2100000 people {HOSTILE}" in shown
    steelyard("report", "created", "--html", "created.html")
    page = (steelyard.folder / "created.html").read_text(encoding="utf-8")
    assert "Messages of the agent" in page
    assert "2100000 people" in page
    assert HOSTILE not in page
    assert "160 / 24 (framework)" in page


def test_what_agents_left_in_the_store_is_sound(steelyard):
    assert "no damage found" in steelyard("verify")


def test_the_tool_calls_and_steps_of_a_graph_are_scored(steelyard):
    for target in ("created", "graph", "function"):
        paris, oslo = (
            {score["name"]: score["value"] for score in record["scores"]} for record in steelyard.records(target)
        )
        assert (paris["tool_calls"], oslo["tool_calls"]) == (0, 1)
        assert (oslo["agent_steps"], oslo["agent_calls"], oslo["agent_tokens"]) == (2, 1, 92)


def test_a_simulated_user_talks_to_a_graph_turn_by_turn(steelyard):
    for record, city in zip(steelyard.records("talk"), ("Paris", "Oslo"), strict=True):
        metadata = record["output"]["metadata"]
        assert metadata["conversation"] == {"turns": 2, "ended": "most_turns"}
        assert [message["role"] for message in metadata["messages"]] == ["user", "assistant", "tool", "assistant"] * 2
        calls = [call for message in metadata["messages"] for call in message.get("tool_calls", ())]
        assert [call["arguments"]["city"] for call in calls] == [city, "Oslo"]
        assert record["output"]["value"] == "700000"
        assert metadata["usage"]["calls"] == 4
