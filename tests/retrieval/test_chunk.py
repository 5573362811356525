import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.retrieval.chunk import split_chunks, split_passages

TEXT = st.text(alphabet="ab #.\n。，天地", max_size=300)


def weight(text):
    return sum(0.25 if character < "\x80" else 1 for character in text)


@given(TEXT, st.integers(1, 40), st.integers(0, 10))
def test_a_passage_is_its_piece_of_the_document_and_within_the_budget(text, budget, overlap):
    passages = split_passages(text, budget=budget, overlap=min(overlap, budget - 1))
    assert all(
        passage.text == text[passage.start : passage.end] and passage.text.strip() == passage.text != ""
        for passage in passages
    )
    assert all(weight(passage.text) <= budget for passage in passages)
    assert [passage.start for passage in passages] == sorted(passage.start for passage in passages)


@given(TEXT, st.integers(1, 40))
def test_nothing_but_blanks_and_headings_is_lost(text, budget):
    covered = {
        position for passage in split_passages(text, budget=budget) for position in range(passage.start, passage.end)
    }
    lost = "".join(character if position not in covered else "\0" for position, character in enumerate(text))
    for line in lost.split("\n"):
        assert line.lstrip(" ").startswith("#") or not line.replace("\0", "").strip()


def test_sentences_stay_whole_and_fill_the_budget():
    text = "天行健。地势坤。雷声动。"
    assert [passage.text for passage in split_passages(text, budget=8)] == ["天行健。地势坤。", "雷声动。"]


def test_overlap_repeats_whole_sentences():
    text = "一一一。二二二。三三三。"
    assert [passage.text for passage in split_passages(text, budget=8, overlap=4)] == [
        "一一一。二二二。",
        "二二二。三三三。",
    ]


def test_headings_are_a_path_and_no_passage_crosses_one():
    text = "before\n# Book\nintro\n## One ##\nfirst.\n## C#\nsecond.\n# Other\nlast"
    found = [(passage.heading, passage.text) for passage in split_passages(text)]
    assert found == [
        ("", "before"),
        ("Book", "intro"),
        ("Book > One", "first."),
        ("Book > C#", "second."),
        ("Other", "last"),
    ]


def test_a_sentence_over_the_budget_is_cut_between_clauses():
    assert [passage.text for passage in split_passages("天地玄黄，宇宙洪荒，日月盈昃", budget=6)] == [
        "天地玄黄，",
        "宇宙洪荒，",
        "日月盈昃",
    ]
    assert [passage.text for passage in split_passages("天" * 7, budget=3)] == ["天天天", "天天天", "天"]


def test_a_point_in_a_number_ends_no_sentence():
    assert [passage.text for passage in split_passages("Pi is 3.14 or so. It is 2 pi. End.", budget=5)] == [
        "Pi is 3.14 or so.",
        "It is 2 pi. End.",
    ]


@pytest.mark.parametrize("text", ["x" * 400_000, "# " + "#" * 200_000 + "x\ntext", "天" * 200_000, "a, " * 100_000])
def test_hostile_text_is_split_into_passages(text):
    assert split_passages(text, budget=50)


@pytest.mark.parametrize(("budget", "overlap"), [(0, 0), (5, 5), (5, -1)])
def test_senseless_sizes_are_refused(budget, overlap):
    with pytest.raises(ValueError, match="expected 0 <= overlap < budget"):
        split_passages("text", budget=budget, overlap=overlap)


CHUNKED = st.text(alphabet="aB #.\n。，天地|-", max_size=400)


@given(CHUNKED, st.integers(1, 40), st.integers(0, 20))
def test_chunks_reproduce_the_text_in_order_and_within_the_budget(text, tokens, overlap):
    chunks = split_chunks(text, tokens=tokens, overlap=min(overlap, tokens // 2))
    assert all(
        chunk.text == text[chunk.start : chunk.end] and chunk.text.strip() == chunk.text != "" for chunk in chunks
    )
    assert all(weight(chunk.text) <= tokens for chunk in chunks)
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})
    assert [chunk.end for chunk in chunks] == sorted({chunk.end for chunk in chunks})
    assert chunks == split_chunks(text, tokens=tokens, overlap=min(overlap, tokens // 2))


@given(CHUNKED, st.integers(1, 40), st.integers(0, 20))
def test_every_character_but_blanks_is_in_a_chunk_and_without_overlap_in_one(text, tokens, overlap):
    for shared in (0, min(overlap, tokens // 2)):
        chunks = split_chunks(text, tokens=tokens, overlap=shared)
        places = [position for chunk in chunks for position in range(chunk.start, chunk.end)]
        assert all(mark.isspace() for position, mark in enumerate(text) if position not in set(places))
        assert shared or len(places) == len(set(places))


def test_chunks_share_whole_sentences_up_to_the_overlap():
    chunks = split_chunks("一一一。二二二。三三三。四四四。", tokens=12, overlap=6)
    assert [chunk.text for chunk in chunks] == ["一一一。二二二。三三三。", "三三三。四四四。"]


def test_a_chunk_crosses_headings_but_ends_before_one_when_it_is_more_than_half_full():
    text = "# 甲\n一一一。\n# 乙\n二二二二二二二。\n# 丙\n三三三。"
    chunks = split_chunks(text, tokens=20, overlap=10)
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [
        ("甲", "# 甲\n一一一。\n# 乙\n二二二二二二二。"),
        ("丙", "# 丙\n三三三。"),
    ]


def test_a_heading_goes_with_what_follows_it():
    chunks = split_chunks("一一一。\n## 甲\n### 乙\n二二二二二二二。", tokens=14, overlap=0)
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [
        ("", "一一一。"),
        ("甲", "## 甲\n### 乙\n二二二二二二二。"),
    ]


def test_a_heading_that_does_not_fit_beside_what_follows_is_not_lost():
    chunks = split_chunks("一。\n# 甲甲甲\n二二二二二二二。", tokens=8, overlap=0)
    assert [chunk.text for chunk in chunks] == ["一。\n# 甲甲甲", "二二二二二二二。"]


def test_the_headings_in_force_are_those_above_its_start_outside_of_code():
    text = "# Book\nOne.\n```\n# no heading\n```\n## Part ##\nTwo two two.\nMore more more."
    chunks = split_chunks(text, tokens=5, overlap=0)
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [
        ("Book", "# Book\nOne.\n```"),
        ("Book", "# no heading\n```"),
        ("Book > Part", "## Part ##"),
        ("Book > Part", "Two two two."),
        ("Book > Part", "More more more."),
    ]


def test_a_chunk_knows_the_page_it_begins_on():
    chunks = split_chunks("One one. Two two.\n\nThree three. Four four.", tokens=3, overlap=0, pages=(0, 19))
    assert [(chunk.text, chunk.page) for chunk in chunks] == [
        ("One one.", 1),
        ("Two two.", 1),
        ("Three three.", 2),
        ("Four four.", 2),
    ]
    assert {chunk.page for chunk in split_chunks("One one. Two two.")} == {None}


def test_a_chunk_is_known_by_its_document_its_place_and_its_text():
    ids = {
        split_chunks(text, document=name)[-1].id for text, name in [("天", "a"), ("天", "b"), ("地", "a"), (" 天", "a")]
    }
    assert len(ids) == 4
    (chunk,) = split_chunks("天", document="a", pages=(0,))
    assert chunk.source == {"id": chunk.id, "document": "a", "start": 0, "end": 1, "page": 1}
    assert chunk.id == split_chunks("天", document="a")[0].id
    assert len(bytes.fromhex(chunk.id)) == 8


@pytest.mark.parametrize("unit", ["x", "天", "a b ", "# h\n", "One two. ", "- a\n", "a, ", "\n", "```\n"])
def test_a_long_text_of_anything_is_chunked_with_little_overlap(unit):
    text = unit * (times(200_000, 1_000_000) // len(unit))
    chunks = split_chunks(text)
    assert sum(len(chunk.text) for chunk in chunks) < 2 * len(text)


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (4, 3), (4, -1)])
def test_senseless_sizes_of_chunks_are_refused(tokens, overlap):
    with pytest.raises(ValueError, match="overlap at most half"):
        split_chunks("text", tokens=tokens, overlap=overlap)
