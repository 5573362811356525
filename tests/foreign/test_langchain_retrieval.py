"""A real LangChain chain on a PDF: its hit rate is what a count of words says, with and without offsets."""

import pytest
from tests.foreign.manual import agreement, evaluate_manual, matched_by_page, misplaced, write_manual

CHAIN = '''
import re
from hashlib import blake2b

from langchain_community.document_loaders import LOADER
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter


class Words(Embeddings):
    """Each word in one of 256 places: near enough to find some passages, and to miss others."""

    def embed_query(self, text):
        found = [0.01] * 256
        for word in re.findall(r"[a-z]+|[0-9]+", text.lower()):
            found[blake2b(word.encode(), digest_size=1).digest()[0]] += 1.0
        return found

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


def make():
    pages = LOADER("manual.pdf").load()
    splitter = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=60, add_start_index=True)
    store = InMemoryVectorStore.from_documents(splitter.split_documents(pages), Words())
    retriever = store.as_retriever(search_kwargs={"k": 2})
    answer = (lambda given: given["question"]) | FakeListChatModel(responses=["The manual says so."])
    return RunnableParallel(context=retriever, question=RunnablePassthrough()).assign(answer=answer)
'''
CONFIGURATION = """
suite: rag
samples: {file: questions.jsonl}
targets:
  plain: {langchain: {runnable: "system:make"}}
  with-offsets: {langchain: {runnable: "system:make", offsets: true}}
scorers: [retrieval]
primary: hit_rate
options: {concurrency: 2}
"""


@pytest.fixture(scope="module", params=["PyMuPDFLoader", "PyPDFLoader"])
def evaluated(request, foreign_bin, tmp_path_factory):
    """Folder with two finished runs, and the environment's program."""
    folder = tmp_path_factory.mktemp("langchain")
    program = foreign_bin("langchain") / "steelyard"
    write_manual(folder / "manual.pdf", seed=len(request.param))
    return program, folder, evaluate_manual(program, folder, CHAIN.replace("LOADER", request.param), CONFIGURATION)


@pytest.mark.parametrize("target", ["plain", "with-offsets"])
def test_a_hit_is_a_hit_where_the_words_say_so(evaluated, target):
    program, folder, runs = evaluated
    share, hits, n = agreement(program, folder, runs[target]["run"])
    assert n >= 60
    assert 0.2 * n < hits < n, "the chain must find some sources and miss others for this to say anything"
    assert share >= 0.95


def test_pages_are_those_of_the_document_and_decide_where_no_text_is_known(evaluated):
    program, folder, runs = evaluated
    assert misplaced(program, folder, runs["plain"]["run"]) == []
    matched = matched_by_page(program, folder, '{langchain: "system:make"}')
    assert (matched["by"].keys(), matched["not_compared"]) == ({"page"}, 0)
