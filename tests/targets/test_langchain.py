"""LangChain, the real package with scripted models: what a runnable is given, and what is read from what it gives."""

import json
import sys

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from pydantic import BaseModel

from steelyard import ConfigError, Sample, Suite, evaluate, evaluate_suite
from steelyard.config.load import load
from steelyard.registry import describe
from steelyard.scorers import LexicalPreference
from steelyard.targets import Pair
from steelyard.targets.langchain import LangChainRunnable

DOCUMENTS = [
    Document("The gate is red.", id="d1", metadata={"source": "/docs/a.pdf", "page": 0, "start_index": 40}),
    Document("Rain at nine.", metadata={"source": "https://h/b.html", "page_label": "7"}),
]


def output(target, sample=None):
    target.check()
    (record,) = evaluate(target, [sample or Sample("1", "What colour?")], []).records()
    assert record.failure is None, record.failure
    return record.output


def gives(value, **options):
    return LangChainRunnable(RunnableLambda(lambda _: value), **options)


def failure(target):
    (record,) = evaluate(target, [Sample("1", "q")], [], on_broken="return").records()
    return record.failure


def test_a_chain_answers_with_a_text_or_a_message():
    model = FakeListChatModel(responses=["red"])
    prompt = ChatPromptTemplate.from_template("Q: {question}")
    assert output(LangChainRunnable(model)).value == "red"
    assert output(LangChainRunnable(prompt | model, input_key="question")).value == "red"
    assert output(LangChainRunnable(prompt | model | StrOutputParser(), input_key="question")).value == "red"


def test_the_runnable_is_given_the_question_as_text_mapping_or_messages():
    seen = []
    runnable = RunnableLambda(lambda given: seen.append(given) or "ok")
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    for options, given in (
        ({}, "q"),
        ({"input_key": "input"}, "q"),
        ({"input_key": "messages"}, "q"),
        ({"input_key": "messages"}, messages),
        ({}, messages),
        ({"input_key": "input"}, messages),
        ({"input_key": "input", "history_key": "chat_history"}, messages),
        ({"history_key": "chat_history"}, "q"),
        ({}, {"question": "q", "year": 1990}),
    ):
        output(LangChainRunnable(runnable, **options), Sample("1", given))
    assert seen == [
        "q",
        {"input": "q"},
        {"messages": [{"role": "user", "content": "q"}]},
        {"messages": messages},
        "User: a\n\nAssistant: b\n\nUser: c",
        {"input": "User: a\n\nAssistant: b\n\nUser: c"},
        {"input": "c", "chat_history": messages[:2]},
        {"input": "q", "chat_history": []},
        {"question": "q", "year": 1990},
    ]


def test_a_picture_in_the_last_question_stands_as_a_placeholder_where_a_chain_takes_a_text():
    seen = []
    picture = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "Who?"}, picture]}]
    runnable = LangChainRunnable(RunnableLambda(seen.append), history_key="chat_history")
    output(runnable, Sample("1", asked))
    assert seen[0]["input"].startswith("Who?\n[image https://x.example/y.png sha256:")


def test_a_retrieval_chain_gives_its_documents_as_contexts():
    model = GenericFakeChatModel(messages=iter([AIMessage("red")]))
    chain = RunnablePassthrough.assign(context=RunnableLambda(lambda _: DOCUMENTS)) | RunnablePassthrough.assign(
        answer=RunnableLambda(lambda given: given["input"]) | model | StrOutputParser()
    )
    answered = output(LangChainRunnable(chain, input_key="input"))
    assert (answered.value, answered.contexts) == ("red", ("The gate is red.", "Rain at nine."))
    assert answered.metadata == {
        "sources": [{"id": "d1", "document": "a.pdf", "page": 1}, {"document": "https://h/b.html", "page": 7}]
    }


def test_offsets_are_told_only_where_they_count_from_the_start_of_the_document():
    answered = output(gives({"answer": "red", "context": DOCUMENTS}, offsets=True))
    assert answered.metadata["sources"][0] == {"id": "d1", "document": "a.pdf", "start": 40, "end": 56, "page": 1}
    assert "start" not in answered.metadata["sources"][1]


@pytest.mark.parametrize(
    ("value", "options", "answer", "contexts"),
    [
        ({"answer": "a", "output": "o"}, {}, "a", ()),
        ({"output": "o", "text": "t"}, {}, "o", ()),
        ({"result": "r", "source_documents": DOCUMENTS[:1]}, {}, "r", ("The gate is red.",)),
        ({"text": "t", "documents": ["one", "two"]}, {}, "t", ("one", "two")),
        ({"answer": "a", "context": "all in one"}, {}, "a", ("all in one",)),
        ({"answer": "a", "context": []}, {}, "a", ()),
        (
            {"reply": "r", "answer": "a", "found": ["one"]},
            {"output_key": "reply", "contexts_key": "found"},
            "r",
            ("one",),
        ),
        ({"answer": AIMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])}, {}, "ab", ()),
        (AIMessage("m"), {}, "m", ()),
        ("t", {}, "t", ()),
        ([1, 2], {}, [1, 2], ()),
    ],
)
def test_the_answer_and_the_contexts_are_found_in_what_comes_back(value, options, answer, contexts):
    answered = output(gives(value, **options))
    assert (answered.value, answered.contexts) == (answer, contexts)


def test_of_an_agents_messages_the_models_last_one_counts():
    messages = [
        HumanMessage("What colour?"),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]),
        ToolMessage("red", tool_call_id="1"),
        AIMessage("It is red."),
    ]
    assert output(gives({"messages": messages})).value == "It is red."
    assert output(gives({"messages": [*messages, HumanMessage("Thanks")]})).value == "It is red."
    assert "none of them is the model's" in failure(gives({"messages": messages[:1]})).message


def test_an_object_of_a_schema_becomes_a_mapping():
    class Colour(BaseModel):
        colour: str

    assert output(gives(Colour(colour="red"))).value == {"colour": "red"}


def test_an_answer_that_was_cut_off_says_so():
    cut = AIMessage("It is", response_metadata={"finish_reason": "length"})
    assert output(gives(cut)).metadata == {"finish": "length"}
    assert output(gives({"messages": [cut]})).metadata == {"finish": "length"}
    assert output(gives(AIMessage("red", response_metadata={"finish_reason": "stop"}))).metadata == {}


def test_a_key_that_is_not_there_is_the_failure_of_the_record_with_the_nearest():
    missing = failure(gives({"anwser": "a"}, output_key="answer"))
    assert (missing.kind, missing.stage) == ("LookupError", "target")
    assert "did you mean 'anwser'" in missing.message
    assert "gave no 'answer'" in failure(gives({"x": 1})).message
    assert "gave no 'docs'" in failure(gives({"answer": "a"}, contexts_key="docs")).message


def test_a_runnable_that_cannot_wait_runs_in_a_thread():
    class Invoke:
        def invoke(self, value):
            return f"thread: {value}"

    assert output(LangChainRunnable(Invoke())).value == "thread: What colour?"


def test_it_is_written_in_a_configuration(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_chain.py").write_text(
        "from langchain_core.runnables import RunnableLambda\n"
        "def make():\n    return RunnableLambda(lambda given: {'answer': given['question'].upper()})\n",
        "utf-8",
    )
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "red?", "answer": "RED?"}\n', "utf-8")
    target = {"langchain": {"runnable": "own_chain:make", "input_key": "question"}}
    config = {"suite": "rag", "samples": {"file": "questions.jsonl"}, "targets": {"chain": target}}
    (tmp_path / "rag.json").write_text(json.dumps(config), "utf-8")
    built = load(tmp_path / "rag.json", environ={}).suite.targets["chain"]
    assert output(built, Sample("1", "red?")).value == "RED?"
    assert describe(built)["langchain"]["runnable"] == "own_chain:make"


def test_an_object_is_named_by_its_class_and_no_class_is_taken_for_an_object():
    assert describe(gives("a"))["langchain"]["runnable"] == "langchain_core.runnables.base:RunnableLambda"
    with pytest.raises(ConfigError, match="is the class RunnableLambda"):
        LangChainRunnable(RunnableLambda).check()


def test_a_missing_package_is_named_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "needs_chain.py").write_text("import langchain_core.runnables\n", "utf-8")
    monkeypatch.setitem(sys.modules, "langchain_core.runnables", None)
    with pytest.raises(ConfigError, match=r"which is not installed: pip install 'langchain-core>="):
        LangChainRunnable("needs_chain:chain").check()


def test_a_missing_package_that_the_extra_does_not_bring_is_the_one_to_install(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "needs_agents.py").write_text("import langchain.agents\n", "utf-8")
    monkeypatch.setitem(sys.modules, "langchain.agents", None)
    with pytest.raises(ConfigError, match=r"which is not installed: pip install langchain$"):
        LangChainRunnable("needs_agents:agent").check()


def test_two_agents_are_judged_on_what_they_say_and_not_on_their_steps():
    def agent(says):
        return LangChainRunnable(
            RunnableLambda(lambda _: {"input": "q", "output": says, "intermediate_steps": ["[[B]]"]})
        )

    targets = {"long": agent("a long and good answer"), "short": agent("no"), "duel": Pair("long", "short")}
    samples = [Sample("1", "q", "a long answer"), Sample("2", "q", "long answer")]
    suite = Suite("agents", "pairwise", samples, targets, (), scorers_of={"duel": (LexicalPreference(),)})
    *_, judged = evaluate_suite(suite)
    assert [record.output.value for record in judged.records()] == [{"A": "a long and good answer", "B": "no"}] * 2
    assert judged.summary().score("preference").headline.value == 1.0
