"""Tests that all places have one rate, against scipy and statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, fisher_exact
from statsmodels.stats.contingency_tables import cochrans_q

from steelyard.stats.homogeneity import between_places, chi_squared_tail, within_samples


@given(st.floats(1e-6, 400), st.integers(1, 30))
def test_the_tail_of_chi_squared_is_that_of_scipy(x, df):
    assert chi_squared_tail(x, df) == pytest.approx(chi2.sf(x, df), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("x", "df"), [(0.0, 3), (-1.0, 2), (5.0, 0)])
def test_nothing_to_compare_is_no_evidence(x, df):
    assert chi_squared_tail(x, df) == 1.0


def test_between_places_it_is_pearsons_test_of_a_table():
    rng = np.random.default_rng(1)
    places = rng.integers(0, 4, 400)
    values = (rng.random(400) < 0.5 + 0.1 * places).astype(float)
    table = [[((places == position) & (values == value)).sum() for position in range(4)] for value in (0, 1)]
    result, oracle = between_places(values, places), chi2_contingency(table, correction=False)
    assert (result.name, result.df) == ("chi-squared", oracle.dof)
    assert (result.statistic, result.p) == pytest.approx((oracle.statistic, oracle.pvalue))


def test_with_few_samples_a_permutation_test_agrees_with_fishers_exact_test():
    values, places = [1, 1, 1, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    result = between_places(values, places)
    assert result.name == "permutation"
    assert result.p == pytest.approx(fisher_exact([[4, 1], [1, 4]]).pvalue, abs=0.015)


def test_within_samples_it_is_cochrans_q():
    rng = np.random.default_rng(2)
    table = (rng.random((60, 4)) < [0.7, 0.6, 0.6, 0.4]).astype(float)
    result = within_samples(table.ravel(), np.tile(range(4), 60), np.repeat(range(60), 4))
    oracle = cochrans_q(table)
    assert (result.statistic, result.p, result.df) == pytest.approx((oracle.statistic, oracle.pvalue, 3))


def test_repeats_at_a_place_are_averaged_and_change_nothing_when_they_agree():
    rng = np.random.default_rng(3)
    table = (rng.random((50, 3)) < 0.6).astype(float)
    once = within_samples(table.ravel(), np.tile(range(3), 50), np.repeat(range(50), 3))
    twice = within_samples(np.repeat(table.ravel(), 2), np.repeat(np.tile(range(3), 50), 2), np.repeat(range(50), 6))
    assert twice[1:] == pytest.approx(once[1:])


def test_a_sample_that_was_tried_at_one_place_alone_says_nothing():
    rng = np.random.default_rng(4)
    table = (rng.random((40, 3)) < 0.5).astype(float)
    values, places, samples = table.ravel(), np.tile(range(3), 40), np.repeat(range(40), 3)
    alone = within_samples([*values, 1.0, 1.0], [*places, 0, 0], [*samples, 100, 101])
    assert alone == within_samples(values, places, samples)


def test_samples_of_other_numbers_of_options_add_up():
    """Two sets that share no place: the statistics add up, and so do the degrees of freedom."""
    rng = np.random.default_rng(5)
    first, second = (rng.random((30, 3)) < 0.5).astype(float), (rng.random((30, 2)) < 0.5).astype(float)
    within = within_samples(first.ravel(), np.tile(range(3), 30), np.repeat(range(30), 3))
    other = within_samples(second.ravel(), np.tile([7, 8], 30), np.repeat(range(30), 2))
    both = within_samples(
        [*first.ravel(), *second.ravel()],
        [*np.tile(range(3), 30), *np.tile([7, 8], 30)],
        [*np.repeat(range(30), 3), *np.repeat(range(100, 130), 2)],
    )
    assert (both.statistic, both.df) == pytest.approx((within.statistic + other.statistic, 3))


def test_few_varying_samples_get_a_permutation_test_that_is_exact():
    """Five samples right at place 0 alone: all permutations are equally likely, (1/2)^5 * 2 are as extreme."""
    result = within_samples([1, 0] * 5, [0, 1] * 5, np.repeat(range(5), 2))
    assert result.name == "permutation"
    assert result.p == pytest.approx(2 / 32, abs=0.01)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4), st.integers(0, 6)), max_size=40))
def test_a_p_value_is_always_one(rows):
    values, places, samples = zip(*rows, strict=True) if rows else ((), (), ())
    for result in (between_places(values, places), within_samples(values, places, samples)):
        assert 0 < result.p <= 1
        assert result.statistic >= -1e-9
        assert result.df <= max(len(set(places)) - 1, 0)
        assert result.df or result.p == 1
