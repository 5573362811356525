from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special
from scipy.stats import beta as beta_oracle
from scipy.stats import norm
from scipy.stats import t as oracle

from steelyard.stats.quantiles import beta_quantile, log_beta, normal_share, t_quantile

PROBABILITIES = [1e-300, 1e-12, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9995, 1 - 1e-9]
SIZES = [1e-3, 0.02, 0.5, 1, 1.5, 7, 60.5, 1e3, 2.5e4, 1e6, 1e8]
SMALLEST = float(np.finfo(float).tiny)


@pytest.mark.parametrize("df", [0.1, 0.5, 1, 1.5, 2, 3, 4, 9, 30, 199, 999, 1000, 1e5, 9.9e6, 1e7, 1e9])
def test_t_quantile_equals_scipy_to_nine_digits(df):
    probabilities = [1e-12, 0.1, 0.4999, 0.5001, 0.8, 0.95, 0.975, 0.995, 0.9995, 1 - 1e-9]
    ours = [t_quantile(probability, df) for probability in probabilities]
    assert ours == pytest.approx(oracle.ppf(probabilities, df), rel=1e-9)


def test_t_quantile_of_endless_degrees_of_freedom_is_the_normal_one():
    assert t_quantile(0.975, math.inf) == pytest.approx(norm.ppf(0.975), rel=1e-12)


def test_t_quantile_beyond_the_largest_number_is_infinite():
    assert t_quantile(0.975, 1e-3) == math.inf
    assert t_quantile(0.025, 1e-3) == -math.inf


def test_t_quantile_is_odd_around_one_half():
    assert t_quantile(0.025, 7) == pytest.approx(-t_quantile(0.975, 7), rel=1e-12)
    assert t_quantile(0.5, 7) == 0


@pytest.mark.parametrize(("probability", "df"), [(0, 3), (1, 3), (0.975, 0), (0.975, float("nan"))])
def test_t_quantile_refuses_what_has_no_answer(probability, df):
    with pytest.raises(ValueError, match="0 < probability < 1"):
        t_quantile(probability, df)


def distance(a, b, x, probability):
    """How far scipy's distribution function at x is from the probability, as a share of it."""
    reached = float(special.betainc(a, b, x))
    return math.inf if math.isnan(reached) else abs(reached / probability - 1)


@pytest.mark.parametrize("a", SIZES)
def test_beta_quantile_equals_scipy_to_nine_digits_for_tiny_and_huge_parameters(a):
    for b, probability in product(SIZES, PROBABILITIES):
        theirs = float(special.betaincinv(a, b, probability))
        ours = beta_quantile(probability, a, b)
        if 0 <= theirs <= 1e3 * SMALLEST:
            assert ours <= 1e3 * SMALLEST, (probability, ours)
        elif ours != pytest.approx(theirs, rel=1e-9):
            # Where one parameter is huge or the tail extreme, scipy's own distribution function prefers ours.
            assert max(a, b) >= 2.5e4 or probability < 1e-12, (probability, ours, theirs)
            assert distance(a, b, ours, probability) <= distance(a, b, theirs, probability), (probability, ours, theirs)


@pytest.mark.parametrize("a", [0.5, 7, 1000])
@pytest.mark.parametrize("probability", [0.3, 0.7, 0.975])
def test_beta_quantile_with_one_huge_parameter_is_that_of_the_gamma_distribution(a, probability):
    """x = g / (b + (a - 1) / 2 + g / 2) up to terms in 1 / b^2, where scipy is off in the fourth digit for a = 1000."""
    g = float(special.gammaincinv(a, probability))
    assert beta_quantile(probability, a, 1e8) == pytest.approx(g / (1e8 + (a - 1) / 2 + g / 2), rel=1e-10)


def test_beta_quantile_holds_where_its_density_is_at_the_end_of_the_scale():
    """The square of Student's t with 2e8 degrees of freedom, in the series around the normal quantile."""
    z, df = norm.ppf(0.9875), 2e8
    square = (z + (z**3 + z) / (4 * df)) ** 2
    assert beta_quantile(0.975, 0.5, df / 2) == pytest.approx(square / (df + square), rel=1e-12)


@given(st.floats(1e-3, 1e5), st.floats(1e-3, 1e5), st.floats(1e-9, 1 - 1e-9))
def test_beta_quantile_is_where_scipys_distribution_reaches_the_probability(a, b, probability):
    x = beta_quantile(probability, a, b)
    assume(SMALLEST < x < 1 - 1e-6)
    slope = float(beta_oracle.pdf(x, a, b))
    assert float(special.betainc(a, b, x)) == pytest.approx(probability, rel=1e-9, abs=1e-9 * x * slope)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.sampled_from([0.025, 0.2, 0.5]))
def test_beta_quantile_is_mirrored(a, b, probability):
    assert beta_quantile(probability, a, b) == pytest.approx(1 - beta_quantile(1 - probability, b, a), abs=1e-12)


@given(st.integers(1, 400), st.floats(0.001, 0.999))
def test_beta_quantile_with_one_parameter_one_is_a_power(n, probability):
    assert beta_quantile(probability, n, 1) == pytest.approx(probability ** (1 / n), rel=1e-12)


@pytest.mark.parametrize(("probability", "a", "b"), [(0, 1, 1), (1, 1, 1), (0.5, 0, 1), (0.5, 1, math.inf)])
def test_beta_quantile_refuses_what_has_no_answer(probability, a, b):
    with pytest.raises(ValueError, match="0 < probability < 1"):
        beta_quantile(probability, a, b)


@given(st.floats(1e-3, 1e4), st.floats(1e-3, 1e4))
def test_log_beta_equals_scipy(a, b):
    assert log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-10, abs=1e-10)


@given(st.integers(1, 40), st.floats(1, 1e10))
def test_log_beta_of_a_whole_number_is_a_sum_of_logarithms(k, n):
    """B(k, n) = (k - 1)! / (n (n + 1) ... (n + k - 1)), where scipy is off in the tenth digit."""
    expected = math.fsum([math.lgamma(k), *(-math.log(n + i) for i in range(k))])
    assert log_beta(k, n) == log_beta(n, k) == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_log_beta_keeps_its_digits_where_one_parameter_is_huge():
    """B(1/2, n) sqrt(n) -> sqrt(pi) (1 + 1 / 8n): from lgamma it would be wrong in the seventh digit."""
    n = 1e9
    assert log_beta(0.5, n) == pytest.approx(math.log(math.pi / n) / 2 + 1 / (8 * n), rel=1e-14)


@given(st.floats(-35, 8))
def test_normal_share_equals_scipy_also_far_below(z):
    assert normal_share(z) == pytest.approx(norm.cdf(z), rel=1e-12)
