import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.retrieval.chunk import split_passages

TEXT = st.text(alphabet="ab #.\n。，天地", max_size=300)


def weight(text):
    return sum(0.25 if one < "\x80" else 1 for one in text)


@given(TEXT, st.integers(1, 40), st.integers(0, 10))
def test_a_passage_is_its_piece_of_the_document_and_within_the_budget(text, budget, overlap):
    passages = split_passages(text, budget=budget, overlap=min(overlap, budget - 1))
    assert all(one.text == text[one.start : one.end] and one.text.strip() == one.text != "" for one in passages)
    assert all(weight(one.text) <= budget for one in passages)
    assert [one.start for one in passages] == sorted(one.start for one in passages)


@given(TEXT, st.integers(1, 40))
def test_nothing_but_blanks_and_headings_is_lost(text, budget):
    covered = {place for one in split_passages(text, budget=budget) for place in range(one.start, one.end)}
    lost = "".join(character if place not in covered else "\0" for place, character in enumerate(text))
    for line in lost.split("\n"):
        assert line.lstrip(" ").startswith("#") or not line.replace("\0", "").strip()


def test_sentences_stay_whole_and_fill_the_budget():
    text = "天行健。地势坤。雷声动。"
    assert [one.text for one in split_passages(text, budget=8)] == ["天行健。地势坤。", "雷声动。"]


def test_overlap_repeats_whole_sentences():
    text = "一一一。二二二。三三三。"
    assert [one.text for one in split_passages(text, budget=8, overlap=4)] == ["一一一。二二二。", "二二二。三三三。"]


def test_headings_are_a_path_and_no_passage_crosses_one():
    text = "before\n# Book\nintro\n## One ##\nfirst.\n## C#\nsecond.\n# Other\nlast"
    found = [(one.heading, one.text) for one in split_passages(text)]
    assert found == [
        ("", "before"),
        ("Book", "intro"),
        ("Book > One", "first."),
        ("Book > C#", "second."),
        ("Other", "last"),
    ]


def test_a_sentence_over_the_budget_is_cut_between_clauses():
    assert [one.text for one in split_passages("天地玄黄，宇宙洪荒，日月盈昃", budget=6)] == [
        "天地玄黄，",
        "宇宙洪荒，",
        "日月盈昃",
    ]
    assert [one.text for one in split_passages("天" * 7, budget=3)] == ["天天天", "天天天", "天"]


def test_a_point_in_a_number_ends_no_sentence():
    assert [one.text for one in split_passages("Pi is 3.14 or so. It is 2 pi. End.", budget=5)] == [
        "Pi is 3.14 or so.",
        "It is 2 pi. End.",
    ]


@pytest.mark.parametrize("text", ["x" * 400_000, "# " + "#" * 200_000 + "x\ntext", "天" * 200_000, "a, " * 100_000])
def test_hostile_text_is_split_in_linear_time(text):
    start = time.process_time()
    assert split_passages(text, budget=50)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("budget", "overlap"), [(0, 0), (5, 5), (5, -1)])
def test_senseless_sizes_are_refused(budget, overlap):
    with pytest.raises(ValueError, match="expected 0 <= overlap < budget"):
        split_passages("text", budget=budget, overlap=overlap)
