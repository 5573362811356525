"""Passages of objects that only look like LangChain's and LlamaIndex': tools' messages, schemas, nodes, memory."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from steelyard.building.import_paths import missing_package
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.targets.adapters import passages_in
from steelyard.targets.langchain import LangChainRunnable
from steelyard.targets.llama_index import LlamaIndexEngine
from steelyard.types import Sample

SAMPLE = Sample("1", "How high is it?")


def document(text):
    return SimpleNamespace(page_content=text, metadata={"source": "a.md"}, id=None)


def message(kind, content, **fields):
    return SimpleNamespace(type=kind, content=content, **fields)


def agent_of(*tools):
    """A graph whose state is the question, the results of some tools, and an answer."""

    class Graph:
        def get_input_jsonschema(self):
            return {"type": "object", "properties": {"messages": {}}, "required": ["messages"]}

        def invoke(self, state):
            (asked,) = state["messages"]
            return {"messages": [message("human", asked["content"]), *tools, message("ai", "30 cm.")]}

    return Graph()


def asked(target, sample=SAMPLE):
    result = target.unwrap()(sample)
    return asyncio.run(result) if asyncio.iscoroutine(result) else result


FOUND = message("tool", "x", name="retrieve", artifact=[document("It is 30 cm."), document("It is old.")])
AGAIN = message("tool", "x", name="retrieve", artifact={"documents": [document("It is old."), document("New.")]})
TEXT = message("tool", "It is of copper.", name="search", artifact=None)


@pytest.mark.parametrize(
    ("tools", "names", "contexts"),
    [
        ([FOUND], (), ("It is 30 cm.", "It is old.")),
        ([FOUND, AGAIN], (), ("It is 30 cm.", "It is old.", "New.")),
        ([FOUND, TEXT], (), ("It is 30 cm.", "It is old.")),
        ([FOUND, TEXT], ("search",), ("It is of copper.",)),
        ([FOUND, TEXT], ("search", "retrieve"), ("It is 30 cm.", "It is old.", "It is of copper.")),
        ([TEXT], (), ()),
        ([message("tool", "x", name="plot", artifact=b"png")], (), ()),
    ],
)
def test_documents_and_named_texts_of_tools_are_passages(tools, names, contexts):
    output = asked(LangChainRunnable(agent_of(*tools), contexts_from=names))
    assert (output.value, output.contexts) == ("30 cm.", contexts)
    assert len(output.metadata.get("sources", ())) == len(contexts)


def test_results_of_earlier_turns_are_no_passages_of_this_answer():
    class Graph:
        def invoke(self, state):
            history = [message("human", "When?"), FOUND, message("ai", "At nine.")]
            return {"messages": [*history, message("human", "How high?"), TEXT, message("ai", "30 cm.")]}

    turns = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "At nine."},
             {"role": "user", "content": "How high?"}]  # fmt: skip
    target = LangChainRunnable(Graph(), input_key="messages", contexts_from=("retrieve", "search"))
    assert asked(target, Sample("1", turns)).contexts == ("It is of copper.",)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "object", "properties": {"question": {}}, "required": ["question"]}, {"question": SAMPLE.input}),
        ({"type": "object", "properties": {"k": {}, "query": {}}}, {"query": SAMPLE.input}),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}, SAMPLE.input),
        ({"type": "string"}, SAMPLE.input),
        ({}, SAMPLE.input),
        (TypeError("no schema"), SAMPLE.input),
    ],
)
def test_a_runnable_is_given_the_key_that_its_schema_names(schema, sent):
    class Chain:
        def get_input_jsonschema(self):
            if isinstance(schema, Exception):
                raise schema
            return schema

        def invoke(self, value):
            self.sent = value
            return "ok"

    chain = Chain()
    asked(LangChainRunnable(chain))
    assert chain.sent == sent


def test_a_graph_without_a_schema_is_known_by_the_types_of_its_state():
    class State:
        __annotations__ = {"question": str, "answer": str}

    class Graph:
        builder = SimpleNamespace(input_schema=State)

        def get_input_jsonschema(self):
            raise TypeError

        def invoke(self, value):
            return {"answer": value["question"]}

    assert asked(LangChainRunnable(Graph())).value == SAMPLE.input
    assert asked(LangChainRunnable(Graph()), Sample("1", {"question": "as it is"})).value == "as it is"


def test_a_bare_retriever_gives_passages_and_no_answer():
    class Retriever:
        def invoke(self, question):
            return [document(question), document("It is old.")]

    output = asked(LangChainRunnable(Retriever()))
    assert (output.value, output.contexts) == ("", (SAMPLE.input, "It is old."))


def node(text):
    return SimpleNamespace(node=SimpleNamespace(node_id=text, metadata={}, get_content=lambda: text), score=0.5)


def test_nodes_of_retrievers_and_chat_engines_are_passages():
    class Retriever:
        async def aretrieve(self, question):
            return [node("It is 30 cm."), node("It is old."), node("It is 30 cm.")]

    assert asked(LlamaIndexEngine(Retriever())).contexts == ("It is 30 cm.", "It is old.")

    class Chat:
        def __init__(self):
            self.heard = []

        async def achat(self, text, history):
            self.heard.append((text, history))
            return SimpleNamespace(response="30 cm.", source_nodes=[node("It is 30 cm.")])

    chat = Chat()
    output = asked(LlamaIndexEngine(chat))
    assert (output.value, output.contexts, chat.heard) == ("30 cm.", ("It is 30 cm.",), [(SAMPLE.input, [])])


@pytest.mark.parametrize(("names", "contexts"), [((), ("It is 30 cm.",)), (("search",), ("Copper.",)), (("x",), ())])
def test_nodes_and_named_texts_of_an_agents_tools_are_passages(names, contexts):
    def result(name, text, raw):
        output = SimpleNamespace(content=text, raw_output=raw, is_error=False)
        return SimpleNamespace(tool_name=name, tool_id="1", tool_kwargs={}, tool_output=output)

    class Handler:
        async def stream_events(self):
            yield result("engine", "x", SimpleNamespace(source_nodes=[node("It is 30 cm.")]))
            yield result("search", "Copper.", "Copper.")

        def __await__(self):
            yield from ()
            return "done"

    class Agent:
        def run(self, user_msg):
            return Handler()

    assert asked(LlamaIndexEngine(Agent(), contexts_from=names)).contexts == contexts


def test_a_list_in_json_is_several_passages():
    assert passages_in('["a", {"page_content": "b"}]') == ["a", "b"]
    assert passages_in('[{"x": 1}]') == ['[{"x": 1}]']
    assert passages_in("[1] It rains.") == ["[1] It rains."]


def test_a_module_of_ones_own_that_is_not_there_is_no_package_to_install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "li_own.py").write_text("import emb_of_mine\n\ndef make():\n    return 1\n", "utf-8")
    with pytest.raises(ConfigError, match=r"imports 'emb_of_mine', and there is no such module") as caught:
        check_options(LlamaIndexEngine("li_own:make"))
    assert "steelyard[" not in str(caught.value)
    (tmp_path / "li_path.py").write_text("import sys\nsys.path.insert(0, 'src')\nimport emb_of_mine\n", "utf-8")
    assert missing_package("li_path:make") == ""
