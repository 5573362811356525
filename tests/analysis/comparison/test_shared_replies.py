"""Replies that two runs share are counted pair by pair, as sets of keys would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.comparison.alignment import shared_replies

KEYS = [bytes([a]) * 8 + bytes([b, 0]) for a in (0, 1, 2) for b in (0, 1)]
SAMPLES = 5
REPLIES = st.lists(st.tuples(st.integers(0, SAMPLES - 1), st.sampled_from(KEYS)))


def side(replies):
    keys = np.frombuffer(b"".join(key for _, key in replies), dtype=np.uint8).reshape(-1, 10)
    return np.array([sample for sample, _ in replies], dtype=int), keys


@given(REPLIES, REPLIES, st.permutations(range(SAMPLES)), st.integers(0, SAMPLES))
def test_a_pair_counts_once_where_a_key_is_on_both_sides(first_run, other_run, order, paired):
    first, second = np.arange(paired), np.array(order[:paired], dtype=int)
    wanted = sum(
        bool({key for sample, key in first_run if sample == a} & {key for sample, key in other_run if sample == b})
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    )
    assert shared_replies(side(first_run), side(other_run), (first, second)) == wanted
