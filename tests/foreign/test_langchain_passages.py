"""Passages of LangChain's agents and retrievers, the real packages: documents in tools' artifacts, texts, lists."""

import json

import pytest

AGENTS = '''
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

TEXTS = {"Paris": "Paris has 2100000 people.", "Oslo": "Oslo has 700000 people."}


def found(city):
    cities = [city, *(other for other in TEXTS if other != city)]
    return [Document(TEXTS[city], metadata={"source": f"/docs/{city}.md"}) for city in cities]


@tool(response_format="content_and_artifact")
def retrieve(query: str):
    """Retrieve passages."""
    documents = found(query)
    return "\\n".join(document.page_content for document in documents), documents


@tool
def search(query: str) -> str:
    """Search passages."""
    return TEXTS[query]


class Scripted(BaseChatModel):
    tool: str = "retrieve"

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        if messages[-1].type == "tool":
            reply = AIMessage(messages[-1].content.split()[2])
        else:
            city = str(messages[-1].content).split()[-1].rstrip("?")
            reply = AIMessage("", tool_calls=[{"name": self.tool, "args": {"query": city}, "id": "1"}])
        return ChatResult(generations=[ChatGeneration(message=reply)])


class Cities(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return found(query.split()[-1].rstrip("?"))


def agent():
    return create_agent(Scripted(), [retrieve], system_prompt="Be brief.")


def searching():
    return create_agent(Scripted(tool="search"), [search])


def retriever():
    return Cities()


def prompted():
    return ChatPromptTemplate.from_template("People of {question}") | Scripted()
'''
CONFIG = """
suite: rag
samples: {file: q.csv, columns: {question: question, answer: answer}}
targets:
  agent: {langchain: "my_agents:agent"}
  named: {langchain: {runnable: "my_agents:agent", contexts_from: [retrieve]}}
  other: {langchain: {runnable: "my_agents:agent", contexts_from: [search]}}
  searching: {langchain: {runnable: "my_agents:searching", contexts_from: [search]}}
  retriever: {langchain: "my_agents:retriever"}
  prompted: {langchain: "my_agents:prompted"}
scorers: [contains]
"""
TEXTS = ("Paris has 2100000 people.", "Oslo has 700000 people.")


@pytest.fixture(scope="module")
def steelyard(agents):
    return agents("langchain", AGENTS, CONFIG)


@pytest.mark.parametrize("target", ["agent", "named", "retriever"])
def test_documents_of_tools_and_retrievers_are_passages_in_rank_order(steelyard, target):
    for record, texts in zip(steelyard.records(target), (TEXTS, TEXTS[::-1]), strict=True):
        assert record["output"]["contexts"] == list(texts)
        names = [source["document"] for source in record["output"]["metadata"]["sources"]]
        assert names == [f"{text.split()[0]}.md" for text in texts]
        answer = "" if target == "retriever" else texts[0].split()[2]
        assert record["output"]["value"] == answer


def test_texts_of_tools_are_passages_where_the_target_names_them(steelyard):
    assert [record["output"]["contexts"] for record in steelyard.records("searching")] == [[text] for text in TEXTS]
    assert not any(record["output"]["contexts"] for record in steelyard.records("other"))


def test_a_graph_and_a_prompt_are_given_the_keys_of_their_schema(steelyard):
    summary = json.loads(steelyard("show", "agent", "--json"))
    assert (summary["errors"], summary["done"]) == (0, 2)
    assert json.loads(steelyard("show", "prompted", "--json"))["errors"] == 0
