from math import isclose, log

from hypothesis import given
from hypothesis import strategies as st

from steelyard.retrieval.bm25 import BM25, tokens

WORDS = st.lists(st.sampled_from(["sky", "earth", "fire", "lake", "wind"]), max_size=8).map(" ".join)


def test_a_score_is_that_of_the_equation():
    index = BM25.of(["sky sky earth", "earth lake", "wind"])
    # idf(sky) = ln(1 + 2.5 / 1.5); passage 0 has 3 tokens, the mean is 2: norm = 1.2 * (0.25 + 0.75 * 1.5) = 1.65
    assert isclose(dict(index.search("sky"))[0], log(1 + 2.5 / 1.5) * 2 * 2.2 / (2 + 1.65))


@given(st.lists(WORDS, max_size=8), WORDS)
def test_scores_equal_the_equation_term_by_term(passages, query):
    bags = [tokens(passage) for passage in passages]
    mean = sum(map(len, bags)) / len(bags) if any(bags) else 1.0
    scored = dict(BM25.of(passages).search(query, k=100))
    for position, bag in enumerate(bags):
        wanted = 0.0
        for token in tokens(query):
            n = sum(token in one for one in bags)
            count = bag.count(token)
            idf = log(1 + (len(bags) - n + 0.5) / (n + 0.5))
            wanted += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(bag) / mean))
        assert isclose(scored.get(position, 0.0), wanted, abs_tol=1e-12)


def test_equal_scores_stand_in_the_order_of_the_passages():
    index = BM25.of(["sky", "lake", "sky", "sky"])
    assert [position for position, _ in index.search("sky")] == [0, 2, 3]


def test_only_passages_with_a_token_of_the_query_are_found():
    index = BM25.of(["乾为天", "坤为地", ""])
    assert [position for position, _ in index.search("天空")] == [0]
    assert index.search("水") == []
    assert index.search("", k=3) == []
    assert index.search("天", k=0) == []


def test_nothing_indexed_finds_nothing():
    assert BM25.of([]).search("sky") == []


def test_the_rarer_token_weighs_more():
    index = BM25.of(["sky earth", "sky fire", "sky lake", "wind fire"])
    assert index.search("sky wind")[0][0] == 3
