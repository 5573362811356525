from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from steelyard.stats.intervals import clustered_spread
from steelyard.stats.paired import (
    bca_difference,
    bootstrap_difference,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_clustered,
    newcombe_paired,
    sign_flip,
)

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


@settings(suppress_health_check=[HealthCheck.filter_too_much])
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
    assert bca_difference(WORKED).rounded(2) == (0.01, 0.19)
    assert sign_flip(WORKED) == pytest.approx(0.052479, abs=1e-6)


def test_two_sets_of_the_worked_rates_would_have_two_fifths_more_error_than_the_pairs():
    paired = clustered_spread(WORKED)
    first, second = (clustered_spread([1] * right + [0] * (100 - right)) for right in (76, 66))
    assert (paired.mean, paired.error) == pytest.approx((0.10, 0.046057), abs=5e-7)
    assert math.hypot(first.error, second.error) == pytest.approx(0.064102, abs=5e-7)


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
    assert sign_flip([1.0] * 20) == 2 / 2**20
    assert sign_flip([1.0] * 20, clusters=[i // 5 for i in range(20)]) == 2 / 2**4


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_sign_flip_of_few_pairs_counts_every_way_to_sign_them(differences):
    ways = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    assert sign_flip(differences) == pytest.approx(np.mean([abs(way) >= abs(sum(differences)) for way in ways]))


def test_pairs_without_a_difference_do_not_change_the_sign_flip():
    assert sign_flip([0.3, 0.2, -0.1]) == sign_flip([0.3, 0.2, -0.1] + [0.0] * 500) == 0.5


@pytest.mark.parametrize("zeros", [0, 7])
def test_signs_of_equal_numbers_are_mcnemars_test(zeros):
    """14 of 18, p = 0.0309."""
    assert sign_flip([0.1] * 14 + [-0.1] * 4 + [0.0] * zeros) == pytest.approx(mcnemar_exact(14, 4), rel=1e-12)


def test_the_test_by_cluster_counts_every_way_to_sign_sums_of_halves_and_thirds():
    """2750 of the 65,536 ways, tried one by one."""
    sixths = [2, 3, -6, 9, 4, 4, -2, 6, 6, -1, 4, 6, 3, -6, 2, 6]
    rows = [(part, cluster) for cluster, sixth in enumerate(sixths) for part in (sixth / 6 - 1, 1.0)]
    differences, clusters = zip(*rows, strict=True)
    assert sign_flip(differences, clusters=clusters) == pytest.approx(2750 / 65536, rel=1e-12)


def test_drawn_signs_agree_with_the_exact_test():
    """Numbers that are no multiples of one number, but nearly equal: 14 of 18, p = 0.0309."""
    uneven = [1 + at * math.pi * 1e-5 for at in range(18)]
    assert sign_flip(np.multiply(uneven, [1] * 14 + [-1] * 4)) == pytest.approx(mcnemar_exact(14, 4), abs=0.006)


def clustered_pairs(seed, sizes):
    """Two sides of which the second is right a little less often; samples of a cluster agree."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    ease = rng.normal(0.5, 0.8, size=len(sizes))[clusters] + rng.normal(0, 0.7, size=len(clusters))
    return (
        (ease + rng.normal(0, 0.6, size=len(clusters)) > -0.3).astype(float),
        (ease + rng.normal(0, 0.6, size=len(clusters)) > 0).astype(float),
        clusters,
    )


def test_clustered_newcombe_with_a_pair_per_cluster_is_newcombes_with_t_for_z():
    """z = 1.96 asked as t with 99 degrees of freedom; CR1 adds a hundredth to the variance."""
    first = [1.0] * 76 + [0.0] * 24
    second = [1.0] * 60 + [0.0] * 16 + [1.0] * 6 + [0.0] * 18
    level = 2 * student.cdf(1.959964, 99) - 1
    result = newcombe_clustered(first, second, clusters=range(100), level=level)
    assert result == pytest.approx(newcombe_paired(60, 16, 6, 18), abs=2e-3)


def test_repeating_every_pair_adds_no_information_to_clustered_newcombe():
    first, second, _ = clustered_pairs(1, [1] * 40)
    once = newcombe_clustered(first, second, clusters=range(40))
    thrice = newcombe_clustered(np.repeat(first, 3), np.repeat(second, 3), clusters=np.repeat(range(40), 3))
    assert thrice == pytest.approx(once, abs=0.01)
    assert thrice.low < newcombe_paired(*_cells(np.repeat(first, 3), np.repeat(second, 3))).low


def _cells(first, second):
    return tuple(int(np.sum((first == a) & (second == b))) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0)))


@given(st.integers(0, 10_000), st.lists(st.integers(1, 6), min_size=2, max_size=15))
def test_clustered_newcombe_holds_the_difference_and_turns_with_the_sides(seed, sizes):
    first, second, clusters = clustered_pairs(seed, sizes)
    low, high = newcombe_clustered(first, second, clusters=clusters)
    assert -1 <= low <= first.mean() - second.mean() <= high <= 1
    assert newcombe_clustered(second, first, clusters=clusters) == pytest.approx((-high, -low), abs=1e-12)
    wider = newcombe_clustered(first, second, clusters=clusters, level=0.99)
    assert wider.low <= low + 1e-12
    assert high <= wider.high + 1e-12


def test_one_cluster_of_pairs_knows_nothing():
    assert newcombe_clustered([1, 0], [0, 0], clusters=[1, 1]) == (-1.0, 1.0)


def test_sides_that_never_differ_still_leave_a_difference_open():
    low, high = newcombe_clustered([1.0] * 20, [1.0] * 20, clusters=[i // 2 for i in range(20)])
    assert low == -high
    assert high > 0.2


def test_clustered_newcombe_covers_the_truth_with_ten_clusters_where_the_bootstrap_does_not():
    truth = np.mean(np.subtract(*clustered_pairs(0, [5] * 40_000)[:2]))
    held, resampled = [], []
    for seed in range(1, 401):
        first, second, clusters = clustered_pairs(seed, [5] * 10)
        low, high = newcombe_clustered(first, second, clusters=clusters)
        held.append(low <= truth <= high)
        if seed <= 150:
            low, high = bootstrap_difference(first - second, clusters=clusters) or (0, 0)
            resampled.append(low <= truth <= high)
    assert 0.93 <= np.mean(held) <= 0.995
    assert np.mean(resampled) < 0.93


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


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("clusters", [None, [0, 0, 1]])
def test_a_difference_that_is_no_number_is_refused(bad, clusters):
    for statistic in (sign_flip, bootstrap_difference, bca_difference, clustered_spread):
        with pytest.raises(ValueError, match="finite numbers"):
            statistic([bad, 1.0, 0.5], clusters=clusters)
