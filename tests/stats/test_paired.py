from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, bootstrap
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from steelyard.stats.paired import bootstrap_difference, mcnemar_exact, mcnemar_mid_p, newcombe_paired, sign_flip

WORKED = [1] * 16 + [-1] * 6 + [0] * 78
"""60 both right, 16 only the first, 6 only the second, 18 both wrong."""

cells = st.integers(0, 60)


def test_mcnemar_of_the_worked_table():
    assert mcnemar_exact(16, 6) == pytest.approx(0.052479, abs=5e-7)


def test_nineteen_wins_of_nineteen_are_significant_at_four_millionths():
    assert mcnemar_exact(19, 0) == pytest.approx(3.814697e-06, rel=1e-6)


def test_all_wins_need_six_pairs_that_differ():
    assert mcnemar_exact(5, 0) == pytest.approx(0.0625)
    assert mcnemar_exact(0, 6) == pytest.approx(0.03125)


def test_pairs_that_never_differ_are_no_evidence():
    assert mcnemar_exact(0, 0) == 1.0


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_equals_statsmodels_and_scipy(b, c):
    assert mcnemar_exact(b, c) == pytest.approx(mcnemar([[1, b], [c, 1]], exact=True).pvalue, rel=1e-9)
    assume(b + c > 0)
    assert mcnemar_exact(b, c) == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)


def test_mid_p_of_the_worked_table():
    assert mcnemar_mid_p(16, 6) == pytest.approx(0.034690, abs=5e-7)


@given(st.integers(0, 400), st.integers(0, 400))
def test_mid_p_lies_between_half_the_exact_p_value_and_the_exact_one(b, c):
    exact = mcnemar_exact(b, c)
    assert exact / 2 * (1 - 1e-12) <= mcnemar_mid_p(b, c) <= exact
    assert mcnemar_mid_p(b, c) == mcnemar_mid_p(c, b)
    if b != c:
        assert mcnemar_mid_p(b, c) == pytest.approx(exact - binom.pmf(b, b + c, 0.5), rel=1e-9)


def test_mid_p_of_an_even_split_is_no_evidence():
    assert mcnemar_mid_p(7, 7) == 1.0
    assert mcnemar_mid_p(0, 0) == 1.0


def test_mcnemar_holds_for_a_million_pairs():
    assert mcnemar_exact(500_000, 501_500) == pytest.approx(binomtest(500_000, 1_001_500).pvalue, rel=1e-7)


def test_mcnemar_refuses_negative_counts():
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar_exact(-1, 3)


def test_newcombe_of_the_consolidation_therapy_table():
    """Cavo et al. 2012 in Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 8."""
    assert newcombe_paired(59, 6, 16, 80).rounded(4) == (-0.1186, -0.0046)


def _correlated(both, first, second, neither):
    """Method 10 in the words of the paper, with the correlation corrected for continuity."""
    n = both + first + second + neither
    q = both * neither - first * second
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    q = q - n / 2 if q > n / 2 else min(q, 0)
    return q / math.sqrt(margins) if margins else 0.0


@given(cells, cells, cells, cells)
def test_newcombe_without_correlation_is_his_interval_for_independent_rates(both, first, second, neither):
    n = both + first + second + neither
    assume(n > 0)
    assume(_correlated(both, first, second, neither) == 0)
    low, high = confint_proportions_2indep(both + first, n, both + second, n, method="newcomb")
    assert newcombe_paired(both, first, second, neither) == pytest.approx((low, high), abs=1e-7)


@given(cells, cells, cells, cells)
def test_newcombe_holds_the_difference_and_turns_with_the_sides(both, first, second, neither):
    n = both + first + second + neither
    assume(n > 0)
    low, high = newcombe_paired(both, first, second, neither)
    assert -1 <= low <= (first - second) / n <= high <= 1
    assert newcombe_paired(both, second, first, neither) == pytest.approx((-high, -low), abs=1e-12)


def test_pairing_narrows_the_interval_where_the_sides_agree():
    paired = newcombe_paired(60, 16, 6, 18)
    low, high = confint_proportions_2indep(76, 100, 66, 100, method="newcomb")
    assert paired.high - paired.low < 0.8 * (high - low)


def test_newcombe_without_pairs_knows_nothing():
    assert newcombe_paired(0, 0, 0, 0) == (-1.0, 1.0)


def test_newcombe_covers_the_truth():
    """Both right 0.5, only one side 0.15 and 0.10: at least 0.93 of 500 draws of 60 pairs hold 0.05."""
    rng = np.random.default_rng(5)
    tables = rng.multinomial(60, [0.5, 0.15, 0.10, 0.25], size=500)
    held = [low <= 0.05 <= high for low, high in (newcombe_paired(*map(int, table)) for table in tables)]
    assert 0.93 <= np.mean(held) <= 0.99


def test_bootstrap_and_sign_flip_of_the_worked_table():
    assert bootstrap_difference(WORKED).rounded(2) == (0.01, 0.19)
    assert sign_flip(WORKED) == pytest.approx(0.0525, abs=0.006)


def test_bootstrap_of_distinct_values_is_near_scipys():
    values = np.random.default_rng(3).normal(0.2, 1, size=80)
    theirs = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=9_999, rng=np.random.default_rng(1)
    ).confidence_interval
    assert bootstrap_difference(values) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_equal_seeds_give_equal_numbers():
    values = list(np.random.default_rng(4).normal(size=50))
    assert bootstrap_difference(values) == bootstrap_difference(values)
    assert bootstrap_difference(values) != bootstrap_difference(values, seed=1)
    assert sign_flip(values) == sign_flip(values)


def test_bootstrap_by_cluster_widens_where_a_cluster_agrees():
    values = [1.0, -1.0] * 10
    clusters = list(range(20))
    alone = bootstrap_difference(np.repeat(values, 5), clusters=range(100))
    together = bootstrap_difference(np.repeat(values, 5), clusters=np.repeat(clusters, 5))
    assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_sign_flip_by_cluster_counts_clusters_and_not_rows():
    assert sign_flip([1.0] * 20) == pytest.approx(0.0001, abs=1e-4)
    assert sign_flip([1.0] * 20, clusters=[i // 5 for i in range(20)]) == pytest.approx(2 / 2**4, abs=0.01)


def test_differences_that_do_not_vary_give_no_bootstrap_interval():
    assert bootstrap_difference([0.0] * 12) is None
    assert bootstrap_difference([0.3]) is None
    assert sign_flip([0.0] * 12) == 1.0


def test_no_pairs_have_no_difference():
    with pytest.raises(ValueError, match="at least one pair"):
        bootstrap_difference([])


def test_thousands_of_distinct_clusters_take_fewer_resamples_and_agree_with_students_t():
    values = np.random.default_rng(8).normal(0.01, 1, size=30_000)
    low, high = bootstrap_difference(values)
    half = 1.96 * values.std() / math.sqrt(30_000)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.002)
    assert sign_flip(values) >= 1 / 1000
