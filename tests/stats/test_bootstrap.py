from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from steelyard.stats.bootstrap import bca_bootstrap, percentile_bootstrap

WORKED = [1] * 16 + [-1] * 6 + [0] * 78
"""60 both right, 16 only the first, 6 only the second, 18 both wrong."""
BOTH = pytest.mark.parametrize("interval", [percentile_bootstrap, bca_bootstrap])

samples = st.lists(st.floats(-5, 5), min_size=3, max_size=25).filter(lambda values: np.std(values) > 1e-3)


def scipys(values, method, level=0.95):
    result = bootstrap(
        (np.asarray(values),),
        np.mean,
        method=method,
        n_resamples=9_999,
        confidence_level=level,
        rng=np.random.default_rng(1),
    )
    return result.confidence_interval


@BOTH
def test_bootstrap_of_the_worked_table(interval):
    assert interval(WORKED).rounded(2) == (0.01, 0.19)


@pytest.mark.parametrize(("interval", "method"), [(percentile_bootstrap, "percentile"), (bca_bootstrap, "BCa")])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_of_skewed_values_are_near_scipys(interval, method, level):
    values = np.random.default_rng(3).exponential(size=60)
    theirs = scipys(values, method, level)
    assert interval(values, level=level) == pytest.approx((theirs.low, theirs.high), abs=0.03)


def test_the_correction_moves_the_interval_towards_the_long_tail():
    values = np.random.default_rng(3).exponential(size=60)
    plain, corrected = percentile_bootstrap(values), bca_bootstrap(values)
    assert corrected.low > plain.low + 0.01
    assert corrected.high > plain.high + 0.01


def test_without_skewness_the_correction_changes_little():
    values = np.concatenate([np.arange(1, 31), -np.arange(1, 31)]) / 10
    plain, corrected = percentile_bootstrap(values), bca_bootstrap(values)
    assert corrected == pytest.approx(plain, abs=0.02)


@BOTH
@given(values=samples, factor=st.floats(0.1, 10), offset=st.floats(-5, 5))
@settings(max_examples=15)
def test_intervals_move_and_stretch_with_the_values(interval, values, factor, offset):
    result = interval(values)
    assume(result is not None)
    moved = interval([factor * value + offset for value in values])
    width = factor * (result.high - result.low)
    assert moved == pytest.approx(
        (factor * result.low + offset, factor * result.high + offset), abs=0.02 * width + 1e-9
    )


@BOTH
@given(values=samples)
@settings(max_examples=15)
def test_intervals_stay_within_the_values_and_are_nested(interval, values):
    inner, outer = interval(values, level=0.8), interval(values, level=0.95)
    assume(inner is not None)
    tolerance = 1e-9
    assert min(values) - tolerance <= outer.low <= inner.low + tolerance
    assert inner.high - tolerance <= outer.high <= max(values) + tolerance


@BOTH
def test_repeating_every_value_adds_no_information(interval):
    values = np.random.default_rng(5).normal(size=40)
    once = interval(values)
    thrice = interval(np.repeat(values, 3), clusters=np.repeat(range(40), 3))
    assert thrice == pytest.approx(once, abs=1e-9)
    assert interval(np.repeat(values, 3)).high < thrice.high


@BOTH
def test_the_bootstrap_by_cluster_has_the_spread_of_the_clusters(interval):
    """Forty clusters of five with a spread of their own: 1.96 standard errors by cluster, to a tenth."""
    rng = np.random.default_rng(6)
    values = (rng.normal(size=(40, 1)) + 0.3 * rng.normal(size=(40, 5))).ravel()
    low, high = interval(values, clusters=np.repeat(range(40), 5))
    error = values.reshape(40, 5).mean(axis=1).std(ddof=1) / np.sqrt(40)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


@BOTH
def test_equal_seeds_give_equal_intervals_and_others_do_not(interval):
    values = np.random.default_rng(4).normal(size=50)
    assert interval(values) == interval(values, seed=0)
    assert interval(values) != interval(values, seed=1)


@BOTH
@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([0.3] * 12, None),
        ([0.3], None),
        ([0.8 - 0.5, 0.7 - 0.4, 0.9 - 0.6], None),
        ([0.1, 0.5, 0.9], [1, 1, 1]),
        ([0.0, 1.0, 0.5, 1.0, 0.0, 0.5], [1, 1, 2, 3, 3, 3]),
    ],
)
def test_clusters_of_one_mean_give_no_interval_rather_than_one_without_width(interval, values, clusters):
    assert interval(values, clusters=clusters) is None


def test_no_skewness_can_be_had_from_two_values():
    assert bca_bootstrap([0.1, 0.4]) is None
    assert percentile_bootstrap([0.1, 0.4]) == pytest.approx((0.1, 0.4))


@BOTH
def test_no_values_have_no_mean(interval):
    with pytest.raises(ValueError, match="at least one value"):
        interval([])


def test_one_far_value_pulls_the_corrected_limits_and_not_beyond_the_draws():
    values = [0.0] * 30 + [1000.0]
    low, high = bca_bootstrap(values)
    assert 0 <= low < 1000 / 31 < high <= 1000
    assert high > percentile_bootstrap(values).high
