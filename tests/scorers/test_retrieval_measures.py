"""Measures of a ranking: by hand, as LlamaIndex computes them from ids, and what must hold for every retrieval."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.scorers.retrieval import (
    average_precision,
    hit_rate,
    ndcg,
    newly_answered,
    precision,
    recall,
    reciprocal_rank,
)

MANY = 6
ANSWERS = st.lists(st.sets(st.integers(0, MANY - 1), max_size=3), max_size=12)
GAINS = st.sampled_from(["binary", "linear", "exponential"])
IDS = st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1, max_size=8)


def all_of(answers, expected, **options):
    return {
        "hit_rate": hit_rate(answers),
        "mrr": reciprocal_rank(answers),
        "precision": precision(answers),
        "recall": recall(answers, expected),
        "ap": average_precision(answers, expected),
        "ndcg": ndcg(answers, expected, **options),
    }


def test_a_ranking_of_one_to_one_by_hand():
    # relevant at ranks 1, 3 and 5 of five retrieved; a fourth source is missed
    measures = all_of([{0}, set(), {1}, set(), {2}], 4)
    ideal = 1 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert measures == pytest.approx(
        {
            "hit_rate": 1,
            "mrr": 1,
            "precision": 3 / 5,
            "recall": 3 / 4,
            "ap": (1 / 1 + 2 / 3 + 3 / 5) / 4,
            "ndcg": (1 + 1 / log2(4) + 1 / log2(6)) / ideal,
        }
    )


def test_nothing_retrieved_is_zero_everywhere():
    assert set(all_of([], 2).values()) == {0.0}


def test_a_passage_that_answers_every_source_is_a_perfect_retrieval():
    assert set(all_of([{0, 1, 2}], 3).values()) == {1.0}


def test_passages_of_a_source_that_was_answered_before_are_neither_noise_nor_success():
    # small chunks: source 0 is answered by ranks 1 and 2, source 1 by rank 3
    measures = all_of([{0}, {0}, {1}], 2)
    assert (measures["precision"], measures["recall"]) == (1.0, 1.0)
    assert measures["ap"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert measures["ndcg"] == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3)))


def test_the_gain_of_a_rank_that_answers_two_sources_is_a_choice():
    # rank 1 nothing, rank 2 two sources, the third is missed; the ideal: 2 at rank 1, 1 at rank 2
    answers = [set(), {0, 1}]
    assert ndcg(answers, 3) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert ndcg(answers, 3, gain="linear") == pytest.approx((2 / log2(3)) / (2 + 1 / log2(3)))
    assert ndcg(answers, 3, gain="exponential") == pytest.approx((3 / log2(3)) / (3 + 1 / log2(3)))


def test_a_cut_off_shortens_the_ideal():
    assert ndcg([{0}, {1}], 5, k=2) == 1.0
    assert ndcg([{0}, {1}], 5) < 0.6


@pytest.fixture(scope="module")
def peers():
    """LlamaIndex' own metric classes; imported here, as that takes seconds."""
    from llama_index.core.evaluation.retrieval import metrics

    return {
        "hit_rate": metrics.HitRate(),
        "mrr": metrics.MRR(),
        "precision": metrics.Precision(),
        "recall": metrics.Recall(),
        "ap": metrics.AveragePrecision(),
        "ndcg": metrics.NDCG(),
    }


@given(expected=IDS, retrieved=IDS)
def test_plain_ids_give_what_llama_index_gives(peers, expected, retrieved):
    answers = [{expected.index(one)} if one in expected else set() for one in retrieved]
    wanted = {
        name: metric.compute(expected_ids=expected, retrieved_ids=retrieved).score for name, metric in peers.items()
    }
    assert all_of(answers, len(expected)) == pytest.approx(wanted, abs=1e-12)


@given(ANSWERS, GAINS, st.none() | st.integers(1, 5))
def test_every_measure_is_a_share(answers, gain, k):
    measures = all_of(answers[:k], MANY, gain=gain, k=k)
    assert all(0 <= value <= 1 + 1e-12 for value in measures.values()), measures


@given(ANSWERS, GAINS)
def test_an_irrelevant_passage_at_the_end_raises_nothing_and_costs_precision_alone(answers, gain):
    before, after = all_of(answers, MANY, gain=gain), all_of([*answers, set()], MANY, gain=gain)
    assert after.pop("precision") <= before.pop("precision")
    assert after == before


@given(ANSWERS, GAINS, st.integers(0, 11))
def test_an_irrelevant_passage_before_others_never_helps(answers, gain, at):
    before, after = all_of(answers, MANY, gain=gain), all_of([*answers[:at], set(), *answers[at:]], MANY, gain=gain)
    assert all(after[name] <= before[name] + 1e-12 for name in before)


@given(ANSWERS)
def test_every_source_is_newly_answered_once_at_most(answers):
    assert sum(newly_answered(answers)) == len(set().union(*answers))


@given(st.permutations(range(MANY)), GAINS)
def test_each_source_by_a_passage_of_its_own_is_perfect_in_any_order(order, gain):
    assert set(all_of([{one} for one in order], MANY, gain=gain).values()) == {1.0}
