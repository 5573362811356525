from __future__ import annotations

from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats import mean_pass, pass_at_k, pass_hat_k


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_both_are_the_shares_of_all_ways_to_draw_k_of_the_attempts(counts):
    n, passed, k = counts
    draws = list(combinations([1] * passed + [0] * (n - passed), k))
    assert pass_at_k(n, passed, k) == pytest.approx(fmean(any(draw) for draw in draws))
    assert pass_hat_k(n, passed, k) == pytest.approx(fmean(all(draw) for draw in draws))


@pytest.mark.parametrize(("estimate", "truth"), [(pass_at_k, 1 - 0.4**3), (pass_hat_k, 0.6**3)])
def test_neither_is_biased_whatever_the_number_of_attempts(estimate, truth):
    """Over all outcomes of 5 attempts that pass with chance 0.6 each, the mean is the truth."""
    chances = [c * 0.6**at * 0.4 ** (5 - at) for at, c in enumerate((1, 5, 10, 10, 5, 1))]
    assert sum(chance * estimate(5, at, 3) for at, chance in enumerate(chances)) == pytest.approx(truth)


def test_the_published_code_of_pass_at_k_gives_the_same():
    """The product of Chen et al. 2021, figure 3."""
    for n, passed, k in [(100, 3, 10), (200, 50, 100), (10, 9, 2)]:
        product = 1.0 if n - passed < k else 1 - np.prod(1 - k / np.arange(n - passed + 1, n + 1))
        assert pass_at_k(n, passed, k) == pytest.approx(product)


def test_the_interval_is_over_tasks_and_wider_where_they_are_clustered():
    chances = [1.0, 0.0] * 30
    alone = mean_pass(chances).interval
    clustered = mean_pass(chances, clusters=[2 * (at // 10) + at % 2 for at in range(60)]).interval
    assert alone.low < 0.5 < alone.high
    assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize("counts", [(2, 1, 3), (2, 3, 1), (2, 1, 0)])
def test_fewer_attempts_than_k_give_no_estimate(counts):
    with pytest.raises(ValueError, match="attempts"):
        pass_at_k(*counts)
