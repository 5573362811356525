"""LlamaIndex, the real package with a scripted model: responses, source nodes, and how an engine is named."""

import sys

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode

from steelyard import ConfigError, Sample, evaluate
from steelyard.constraints import check_options
from steelyard.registry import describe
from steelyard.scorers.retrieval import Retrieval
from steelyard.targets.adapters import _built_by
from steelyard.targets.llama_index import LlamaIndexEngine

GATE = TextNode(
    id_="n1",
    text="The gate is red.",
    metadata={"file_path": "/docs/a.pdf", "source": "3", "page_label": "3"},
    start_char_idx=40,
    end_char_idx=56,
)
RAIN = TextNode(id_="n2", text="Rain is measured at nine.", metadata={"file_name": "b.txt", "page_label": "iv"})


class Fixed(BaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=GATE, score=0.75), NodeWithScore(node=RAIN, score=0.5)]


class Says(CustomLLM):
    @property
    def metadata(self):
        return LLMMetadata(context_window=4000, num_output=100)

    def complete(self, prompt, formatted=False, **kwargs):  # noqa: FBT002  # LlamaIndex' own signature
        return CompletionResponse(text="red" if "The gate is red." in prompt and "colour" in prompt else "lost")

    def stream_complete(self, prompt, formatted=False, **kwargs):  # noqa: FBT002  # the same
        def parts():
            yield CompletionResponse(text="re", delta="re")
            yield CompletionResponse(text="red", delta="d")

        return parts()


class Plain(CustomQueryEngine):
    def custom_query(self, query_str):
        return f"you asked: {query_str}"


def make_engine():
    return RetrieverQueryEngine.from_args(Fixed(), llm=Says())


QUESTION = Sample(
    "1", "What colour is the gate?", metadata={"sources": [{"document": "a.pdf", "start": 45, "end": 50}]}
)


def output(target, sample=QUESTION):
    check_options(target)
    (record,) = evaluate(target, [sample], []).records()
    assert record.failure is None
    return record.output


def written(tmp_path, monkeypatch, name, text):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{name}.py").write_text(text, "utf-8")


def test_the_response_is_the_output_and_its_nodes_are_the_contexts():
    answered = output(LlamaIndexEngine(make_engine()))
    assert (answered.value, answered.contexts) == ("red", ("The gate is red.", "Rain is measured at nine."))
    assert answered.metadata == {
        "sources": [{"id": "n1", "document": "a.pdf", "page": 3}, {"id": "n2", "document": "b.txt"}],
        "scores": [0.75, 0.5],
    }


def test_offsets_are_told_only_where_they_count_from_the_start_of_the_document():
    assert output(LlamaIndexEngine(make_engine(), offsets=True)).metadata["sources"] == [
        {"id": "n1", "document": "a.pdf", "start": 40, "end": 56, "page": 3},
        {"id": "n2", "document": "b.txt"},
    ]
    source = {"document": "a.pdf", "start": 33, "end": 51, "text": "Below: The gate is"}
    sample = Sample("1", "What colour is the gate?", metadata={"sources": [source]})
    run = evaluate(LlamaIndexEngine(make_engine(), offsets=True), [sample], [Retrieval()])
    scores = {score.name: score for record in run.records() for score in record.scores}
    assert (scores["hit_rate"].value, scores["precision"].value) == (1.0, 0.5)
    assert scores["hit_rate"].detail["matched_by"] == "range"


def test_a_page_is_read_as_each_reader_writes_it():
    def pages(metadata):
        engine = LlamaIndexEngine(make_engine())
        return engine._source(TextNode(text="x", metadata=metadata)).get("page")

    assert pages({"source": "3", "file_path": "/docs/a.pdf", "total_pages": 9}) == 3  # PyMuPDFReader
    assert pages({"page": 3, "file_path": "/docs/a.pdf"}) == 3  # PyMuPDF4LLM
    assert pages({"page_label": "7", "file_name": "a.pdf"}) == 7  # SimpleDirectoryReader
    assert pages({"page_number": 7}) == 7
    assert pages({"source": "3"}) is None
    assert pages({"source": "a.pdf", "total_pages": 9}) is None


def test_a_stream_is_read_to_its_end():
    engine = RetrieverQueryEngine.from_args(Fixed(), llm=Says(), streaming=True)
    answered = output(LlamaIndexEngine(engine))
    assert (answered.value, len(answered.contexts)) == ("red", 2)


def test_a_query_engine_of_ones_own_without_nodes_has_no_contexts():
    answered = output(LlamaIndexEngine(Plain()))
    assert (answered.value, answered.contexts) == ("you asked: What colour is the gate?", ())
    assert answered.metadata["sources"] == []


def test_an_engine_that_cannot_wait_runs_in_a_thread():
    class Query:
        def query(self, question):
            return f"thread: {question}"

    assert output(LlamaIndexEngine(Query())).value == "thread: What colour is the gate?"


def test_an_engine_that_takes_a_text_is_asked_with_all_turns():
    messages = [{"role": "user", "content": "Hello"}, {"role": "user", "content": "What?"}]
    assert output(LlamaIndexEngine(Plain()), Sample("1", messages)).value == "you asked: User: Hello\n\nUser: What?"


def test_an_import_path_names_an_engine_or_a_function_that_makes_one_once(tmp_path, monkeypatch):
    _built_by.cache_clear()
    code = (
        "from llama_index.core.query_engine import CustomQueryEngine\nmade = []\n"
        "class Own(CustomQueryEngine):\n    def custom_query(self, query_str):\n        return query_str.upper()\n"
        "engine = Own()\n"
        "def make():\n    made.append(1)\n    return Own()\n"
        "def wants(more):\n    return Own()\n"
    )
    written(tmp_path, monkeypatch, "own_engine", code)
    for path in ("own_engine:engine", "own_engine:make"):
        target = LlamaIndexEngine(path)
        assert output(target, Sample("1", "hi")).value == "HI"
        assert output(target, Sample("2", "ho")).value == "HO"
        assert describe(target) == {"llama_index": {"engine": path, "offsets": False, "contexts_from": []}}
    assert sys.modules["own_engine"].made == [1]
    for path, said_so in (
        ("own_engine:Own", "own_engine:Own is the class Own, and has no method aquery or query"),
        ("own_engine:made", "is a list, and has no method aquery or query"),
        ("own_engine:wants", "wants takes arguments: name the object itself, or a function without any"),
        ("own_engine:missing", "'own_engine:missing' cannot be imported"),
        ("own_engine", "not an import path"),
    ):
        with pytest.raises(ConfigError, match=said_so):
            check_options(LlamaIndexEngine(path))


def test_an_object_is_named_by_its_class_and_not_by_its_address():
    described = describe(LlamaIndexEngine(make_engine()))
    assert described["llama_index"]["engine"].endswith(":RetrieverQueryEngine")
    assert describe(LlamaIndexEngine(make_engine)) == describe(LlamaIndexEngine(make_engine))
    assert "0x" not in str(described)


def test_a_missing_package_is_named_with_what_to_install(tmp_path, monkeypatch):
    written(tmp_path, monkeypatch, "needs_it", "import llama_index.core\n")
    monkeypatch.setitem(sys.modules, "llama_index.core", None)
    with pytest.raises(ConfigError, match=r"needs the package 'llama_index\.core', .*'llama-index-core>="):
        check_options(LlamaIndexEngine("needs_it:engine"))


def test_a_missing_part_of_llama_index_is_the_package_to_install(tmp_path, monkeypatch):
    written(tmp_path, monkeypatch, "needs_part", "import llama_index.llms.no_such\n")
    monkeypatch.setitem(sys.modules, "llama_index.llms.no_such", None)
    with pytest.raises(ConfigError, match=r"pip install llama-index-llms-no-such$"):
        check_options(LlamaIndexEngine("needs_part:engine"))


def test_an_engine_that_fails_is_a_failure_of_the_record():
    class Broken:
        async def aquery(self, question):
            raise ValueError("no index")

    (record,) = evaluate(LlamaIndexEngine(Broken()), [QUESTION], [], on_broken="return").records()
    assert (record.failure.stage, record.failure.kind) == ("target", "ValueError")
