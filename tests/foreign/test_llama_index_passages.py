"""Passages of LlamaIndex's retrievers, chat engines, agents and workflows, the real package with its mock models."""

import json

import pytest

ENGINES = '''
from llama_index.core import Document, Settings, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llama_index.core.workflow import Context, Event, StartEvent, StopEvent, Workflow, step

TEXTS = {"Paris": "Paris has 2100000 people.", "Oslo": "Oslo has 700000 people."}


def city_in(text):
    return text.split()[-1].rstrip("?")


def found(city):
    cities = [city, *(other for other in TEXTS if other != city)]
    return [
        NodeWithScore(node=TextNode(id_=name, text=TEXTS[name], metadata={"file_name": f"{name}.md"}), score=1 / place)
        for place, name in enumerate(cities, start=1)
    ]


class Cities(BaseRetriever):
    def _retrieve(self, query):
        return found(city_in(query.query_str))


class Calling(MockFunctionCallingLLM):
    tool: str = "cities"

    async def astream_chat_with_tools(self, tools, user_msg=None, chat_history=None, **_):
        last = list(chat_history)[-1]

        async def replies():
            if last.role.value == "tool":
                yield self.reply([TextBlock(text="Many.")])
                return
            call = ToolCallBlock(tool_call_id="1", tool_name=self.tool, tool_kwargs={"input": city_in(last.content)})
            yield self.reply([TextBlock(text="Let me look."), call])

        return replies()

    def reply(self, blocks):
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), delta="", raw={})

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **_):
        calls = [one for one in response.message.blocks if isinstance(one, ToolCallBlock)]
        return [
            ToolSelection(tool_id=one.tool_call_id, tool_name=one.tool_name, tool_kwargs=one.tool_kwargs)
            for one in calls
        ]


def retriever():
    return Cities()


def chat_engine():
    return ContextChatEngine.from_defaults(retriever=Cities(), llm=MockLLM())


def agent():
    engine = RetrieverQueryEngine.from_args(Cities(), llm=MockLLM())
    tool = QueryEngineTool.from_defaults(engine, name="cities", description="Looks cities up.")
    return FunctionAgent(tools=[tool], llm=Calling(), streaming=True)


def search(input: str) -> str:
    """Searches texts."""
    return TEXTS[input]


def searching():
    return FunctionAgent(tools=[FunctionTool.from_defaults(search)], llm=Calling(tool="search"), streaming=True)


class Retrieved(Event):
    nodes: list


class Flow(Workflow):
    @step
    async def retrieve(self, ctx: Context, ev: StartEvent) -> Retrieved:
        event = Retrieved(nodes=found(city_in(ev.user_msg)))
        ctx.write_event_to_stream(event)
        return event

    @step
    async def answer(self, ev: Retrieved) -> StopEvent:
        return StopEvent(result=ev.nodes[0].node.text)


def workflow():
    return Flow()
'''
CONFIG = """
suite: rag
samples: {file: q.csv, columns: {question: question, answer: answer}}
targets:
  retriever: {llama_index: "my_agents:retriever"}
  chat: {llama_index: "my_agents:chat_engine"}
  agent: {llama_index: "my_agents:agent"}
  searching: {llama_index: {engine: "my_agents:searching", contexts_from: [search]}}
  workflow: {llama_index: "my_agents:workflow"}
scorers: [contains]
options: {concurrency: 4}
"""
TEXTS = ("Paris has 2100000 people.", "Oslo has 700000 people.")


@pytest.fixture(scope="module")
def steelyard(agents):
    return agents("llamaindex", ENGINES, CONFIG)


@pytest.mark.parametrize("target", ["retriever", "chat", "agent", "workflow"])
def test_nodes_are_passages_in_rank_order_wherever_they_are(steelyard, target):
    assert json.loads(steelyard("show", target, "--json"))["errors"] == 0
    for record, texts in zip(steelyard.records(target), (TEXTS, TEXTS[::-1]), strict=True):
        assert record["output"]["contexts"] == list(texts)
        sources = record["output"]["metadata"]["sources"]
        assert sources == [{"id": text.split()[0], "document": f"{text.split()[0]}.md"} for text in texts]


def test_a_chat_engine_begins_each_sample_anew(steelyard):
    """The mock model says what it was sent."""
    for record, own, other in zip(steelyard.records("chat"), ("Paris", "Oslo"), ("Oslo", "Paris"), strict=True):
        assert f"live in {own}?" in record["output"]["value"]
        assert f"live in {other}?" not in record["output"]["value"]


def test_texts_of_tools_are_passages_where_the_target_names_them(steelyard):
    assert [record["output"]["contexts"] for record in steelyard.records("searching")] == [[text] for text in TEXTS]
