from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import proportion_confint

from steelyard.stats.binomial import binomial_test, clopper_pearson, jeffreys, share_up_to
from steelyard.stats.intervals import wilson

counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


def coverage(interval, n):
    """Exact chance of holding the true rate, for rates 0.01 ... 0.99."""
    limits = np.array([interval(k, n) for k in range(n + 1)])
    rates = np.arange(0.01, 0.995, 0.01)
    mass = binom.pmf(np.arange(n + 1)[None, :], n, rates[:, None])
    held = (limits[:, 0] <= rates[:, None] + 1e-12) & (rates[:, None] <= limits[:, 1] + 1e-12)
    return (mass * held).sum(axis=1)


@given(counts, levels)
def test_clopper_pearson_equals_statsmodels_and_scipy(count, level):
    successes, n = count
    expected = proportion_confint(successes, n, alpha=1 - level, method="beta")
    assert clopper_pearson(successes, n, level) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    theirs = binomtest(successes, n).proportion_ci(level, "exact")
    assert clopper_pearson(successes, n, level) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9)


@given(counts, levels)
def test_jeffreys_equals_statsmodels_but_for_the_ends(count, level):
    successes, n = count
    low, high = proportion_confint(successes, n, alpha=1 - level, method="jeffreys")
    expected = (low if successes else 0.0, high if successes < n else 1.0)
    assert jeffreys(successes, n, level) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_nineteen_of_nineteen_in_three_ways():
    assert clopper_pearson(19, 19) == (pytest.approx(0.82353, abs=5e-6), 1.0)
    assert jeffreys(19, 19) == (pytest.approx(0.87769, abs=5e-6), 1.0)
    assert wilson(19, 19) == (pytest.approx(0.83182, abs=5e-6), 1.0)


def test_clopper_pearson_of_no_success_is_the_rule_of_three():
    """1 - 0.025^(1 / n) in closed form."""
    assert clopper_pearson(0, 60) == (0.0, pytest.approx(1 - 0.025 ** (1 / 60), rel=1e-12))


@given(counts, st.sampled_from([clopper_pearson, jeffreys, wilson]))
def test_intervals_of_a_rate_are_mirrored_nested_and_within_0_and_1(count, interval):
    successes, n = count
    low, high = interval(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert interval(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-10)
    wider = interval(successes, n, 0.99)
    assert wider.low <= low
    assert high <= wider.high


@given(counts)
def test_the_exact_interval_holds_the_other_two_limits_of_a_test_at_its_ends(count):
    """At either limit the one-sided test has exactly half of what the level leaves."""
    successes, n = count
    low, high = clopper_pearson(successes, n)
    if successes:
        assert binom.sf(successes - 1, n, low) == pytest.approx(0.025, rel=1e-7)
    if successes < n:
        assert binom.cdf(successes, n, high) == pytest.approx(0.025, rel=1e-7)


@pytest.mark.parametrize(
    ("interval", "n", "mean", "worst"),
    [
        (wilson, 10, 0.955, 0.904),
        (wilson, 20, 0.954, 0.925),
        (wilson, 50, 0.950, 0.911),
        (wilson, 100, 0.949, 0.921),
        (wilson, 805, 0.950, 0.943),
        (clopper_pearson, 10, 0.984, 0.962),
        (clopper_pearson, 20, 0.976, 0.959),
        (clopper_pearson, 50, 0.968, 0.953),
        (clopper_pearson, 100, 0.965, 0.954),
        (clopper_pearson, 805, 0.955, 0.951),
        (jeffreys, 10, 0.952, 0.869),
        (jeffreys, 20, 0.949, 0.896),
        (jeffreys, 50, 0.949, 0.885),
        (jeffreys, 100, 0.950, 0.921),
        (jeffreys, 805, 0.950, 0.925),
    ],
)
def test_coverage_over_all_rates_in_the_mean_and_at_worst(interval, n, mean, worst):
    result = coverage(interval, n)
    assert result.mean() == pytest.approx(mean, abs=6e-4)
    assert result.min() == pytest.approx(worst, abs=6e-4)


@pytest.mark.parametrize("interval", [clopper_pearson, jeffreys])
def test_without_trials_nothing_is_known(interval):
    assert interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("interval", [clopper_pearson, jeffreys])
@pytest.mark.parametrize(("successes", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95)])
def test_impossible_counts_and_levels_are_refused(interval, successes, n, level):
    with pytest.raises(ValueError, match=r"must lie between|lies between"):
        interval(successes, n, level)


def test_nineteen_wins_of_nineteen_have_a_chance_of_four_millionths():
    assert binomial_test(19, 19) == pytest.approx(3.814697e-06, rel=1e-6)


@pytest.mark.parametrize(("wins", "p"), [(5, 0.0625), (6, 0.03125)])
def test_six_wins_are_the_fewest_that_mean_something(wins, p):
    assert binomial_test(wins, wins) == pytest.approx(p, rel=1e-12)


@given(counts, st.sampled_from([0.001, 0.1, 0.25, 1 / 3, 0.5, 0.8, 0.97]) | st.floats(0.001, 0.999))
def test_binomial_test_equals_scipy_for_any_probability(count, p0):
    successes, n = count
    assert binomial_test(successes, n, p0) == pytest.approx(binomtest(successes, n, p0).pvalue, rel=1e-7, abs=1e-100)


def test_two_equally_likely_counts_are_both_the_most_likely_ones():
    assert binomial_test(1, 3) == 1.0
    assert binomial_test(2, 3) == 1.0


@pytest.mark.parametrize(("successes", "p0", "p"), [(0, 0.0, 1.0), (1, 0.0, 0.0), (4, 1.0, 1.0), (3, 1.0, 0.0)])
def test_a_certain_hypothesis_holds_or_does_not(successes, p0, p):
    assert binomial_test(successes, 4, p0) == p


def test_no_trial_is_no_evidence():
    assert binomial_test(0, 0) == 1.0


def test_a_probability_in_percent_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        binomial_test(3, 4, 50)


def test_a_million_trials_are_summed_and_not_approximated():
    assert binomial_test(500_900, 1_000_000) == pytest.approx(binomtest(500_900, 1_000_000).pvalue, rel=1e-8)
    assert binomial_test(801_000, 1_000_000, 0.8) == pytest.approx(binomtest(801_000, 1_000_000, 0.8).pvalue, rel=1e-8)


@given(counts, st.floats(0.001, 0.999))
def test_shares_add_up_from_both_ends(count, p):
    """scipy itself is off by 1e-8 at 1e-282, where exact fractions agree with ours to 1e-15."""
    successes, n = count
    assert share_up_to(successes, n, p) == pytest.approx(binom.cdf(successes, n, p), rel=1e-7, abs=1e-100)
    assert share_up_to(-1, n, p) == 0.0
