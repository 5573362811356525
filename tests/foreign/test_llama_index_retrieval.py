"""A real LlamaIndex engine on a PDF: its hit rate is what a count of words says."""

import pytest
from tests.foreign.manual import agreement, evaluate_manual, matched_by_page, misplaced, steelyard, write_manual

ENGINE = '''
import re
from hashlib import blake2b

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.readers.file import PyMuPDFReader


class Words(BaseEmbedding):
    """Each word in one of 256 places: near enough to find some passages, and to miss others."""

    def _get_text_embedding(self, text):
        found = [0.01] * 256
        for word in re.findall(r"[a-z]+|[0-9]+", text.lower()):
            found[blake2b(word.encode(), digest_size=1).digest()[0]] += 1.0
        return found

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def make(file="manual.pdf"):
    pages = PyMuPDFReader().load_data(file)
    nodes = SentenceSplitter(chunk_size=SIZE, chunk_overlap=20).get_nodes_from_documents(pages)
    index = VectorStoreIndex(nodes, embed_model=Words())
    return index.as_query_engine(llm=MockLLM(max_tokens=8), similarity_top_k=2)


def make_elsewhere():
    return make("elsewhere.pdf")
'''
CONFIGURATION = """
suite: rag
samples: {file: questions.jsonl}
targets:
  plain: {llama_index: {engine: "system:make"}}
  elsewhere: {llama_index: "system:make_elsewhere"}
  with-offsets: {llama_index: {engine: "system:make", offsets: true}}
scorers: [retrieval]
primary: hit_rate
options: {concurrency: 2}
"""


@pytest.fixture(scope="module", params=[128, 400])
def evaluated(request, foreign_bin, tmp_path_factory):
    """Folder with two finished runs, and the environment's program."""
    folder = tmp_path_factory.mktemp("llamaindex")
    program = foreign_bin("llamaindex") / "steelyard"
    write_manual(folder / "manual.pdf", seed=request.param)
    write_manual(folder / "elsewhere.pdf", seed=1, pages=5)
    return program, folder, evaluate_manual(program, folder, ENGINE.replace("SIZE", str(request.param)), CONFIGURATION)


@pytest.mark.parametrize("target", ["plain", "with-offsets"])
def test_a_hit_is_a_hit_where_the_words_say_so(evaluated, target):
    program, folder, runs = evaluated
    share, hits, n = agreement(program, folder, runs[target]["run"])
    assert n >= 60
    assert 0.2 * n < hits < n, "the engine must find some sources and miss others for this to say anything"
    assert share >= 0.95


def test_the_summary_counts_by_what_passages_matched(evaluated):
    _, _, runs = evaluated
    matched = runs["plain"]["matched"]
    assert matched["by"].keys() == {"words"}
    assert matched["by"]["words"] + matched["nothing"] == runs["plain"]["planned"]
    assert matched["not_compared"] == 0


def test_an_engine_on_another_document_is_warned_of(evaluated):
    program, folder, runs = evaluated
    # Both manuals are written from the same phrases, so that a whole sentence may be in both.
    share, hits, n = agreement(program, folder, runs["elsewhere"]["run"])
    assert share == 1.0
    assert hits <= 0.05 * n
    warning = "the passages share no text with the sources: the same documents?"
    assert f"records; {warning}" in runs["elsewhere"]["matched"]["warning"]
    assert f"records; {warning}" not in runs["plain"]["matched"]["warning"]
    shown = steelyard(program, folder, "show", runs["elsewhere"]["run"])
    assert warning in " ".join(shown.split())


def test_pages_are_those_of_the_document_and_decide_where_no_text_is_known(evaluated):
    program, folder, runs = evaluated
    assert misplaced(program, folder, runs["plain"]["run"]) == []
    matched = matched_by_page(program, folder, '{llama_index: "system:make"}')
    assert (matched["by"].keys(), matched["not_compared"]) == ({"page"}, 0)
