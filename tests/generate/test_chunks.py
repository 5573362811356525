"""Which chunks are asked about: in order, drawn by seed, spread over the documents."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.data.documents import Document
from steelyard.errors import ConfigError
from steelyard.generate.qa import sample_of
from steelyard.generate.selection import ChunkSettings, select_chunks


def document(name, sections, *, words=40):
    return Document(
        name,
        "".join(f"# {name} {no}\n\n" + f"Word number {no} stands here. " * words + "\n\n" for no in range(sections)),
    )


LONG, SHORT = document("long.md", 30), document("short.md", 3)


def test_all_chunks_come_in_the_order_of_the_documents():
    chunks = select_chunks([LONG, SHORT], ChunkSettings(chunk_tokens=200)).chunks
    assert [chunk.document for chunk in chunks] == sorted(chunk.document for chunk in chunks)
    for chunk in chunks:
        text = {"long.md": LONG, "short.md": SHORT}[chunk.document].text
        assert text[chunk.start : chunk.end] == chunk.text
    places = [(chunk.document, chunk.start) for chunk in chunks]
    assert places == sorted(places)


def test_a_draw_is_spread_over_the_documents():
    chunks = select_chunks([LONG, SHORT], ChunkSettings(chunk_tokens=400), 6).chunks
    assert Counter(chunk.document for chunk in chunks) == {"long.md": 3, "short.md": 3}


def test_a_draw_repeats_with_its_seed_and_differs_with_another():
    def ids(seed):
        return [chunk.id for chunk in select_chunks([LONG], ChunkSettings(chunk_tokens=200, seed=seed), 5).chunks]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


@settings(max_examples=times(5, 20))
@given(st.integers(1, 12), st.integers(0, 5), st.integers(0, 9))
def test_more_chunks_of_the_same_seed_hold_the_fewer_ones(count, more, seed):
    few, many = (
        {chunk.id for chunk in select_chunks([LONG, SHORT], ChunkSettings(chunk_tokens=200, seed=seed), n).chunks}
        for n in (count, count + more)
    )
    assert len(few) == count
    assert few <= many


def test_more_than_there_are_takes_all():
    every = select_chunks([SHORT], ChunkSettings(chunk_tokens=200)).chunks
    assert select_chunks([SHORT], ChunkSettings(chunk_tokens=200), 500).chunks == every


def test_headings_and_page_numbers_alone_are_not_asked_about():
    scraps = Document("a.md", "# Title\n\n## 3\n\n12")
    with pytest.raises(ConfigError, match="there is no chunk to ask about"):
        select_chunks([scraps], ChunkSettings())
    assert {chunk.document for chunk in select_chunks([scraps, SHORT], ChunkSettings()).chunks} == {"short.md"}


def test_a_sample_is_the_chunk_with_its_place_beside_it():
    chunk = select_chunks([SHORT], ChunkSettings(chunk_tokens=200), 1).chunks[0]
    sample = sample_of(chunk, rare=["word"])
    assert (sample.id, sample.input, sample.group) == (chunk.id, chunk.text, chunk.heading)
    assert sample.metadata == {
        "document": "short.md", "page": None, "start": chunk.start, "end": chunk.end, "heading": chunk.heading,
        "rare": ["word"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "count"), [({}, 0), ({"chunk_tokens": 31}, 1), ({"chunk_tokens": 30_001}, 1), ({"seed": -1}, 1)]
)
def test_a_number_that_cannot_be_meant_is_refused(settings, count):
    with pytest.raises(ConfigError, match="must be"):
        select_chunks([SHORT], ChunkSettings(**settings), count)
