"""A weighted mean: equal weights are the unweighted intervals, and single weights follow the formulas by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.intervals import mean_interval, wilson, wilson_clustered
from steelyard.stats.means import weighted_mean
from steelyard.stats.quantiles import t_quantile


def test_points_of_an_exam_are_the_sum_gained_over_the_sum_possible():
    found = weighted_mean([1, 1, -1 / 3], [5, 2, 3], scale=(-0.3, 1))
    assert found.mean == pytest.approx(6 / 10)
    residuals = np.array([5, 2, 3]) * (np.array([1, 1, -1 / 3]) - 0.6) / 10
    assert found.error == pytest.approx(np.sqrt(3 / 2 * (residuals**2).sum()))
    assert found.interval == (-0.3, 1)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.floats(0.1, 50))
def test_with_equal_weights_a_rate_has_wilsons_interval(right, weight):
    found = weighted_mean([float(one) for one in right], [weight] * len(right)).interval
    assert found == pytest.approx(wilson(sum(right), len(right)), abs=1e-9)


def test_with_equal_weights_the_others_are_the_known_intervals_too():
    values, clusters = [1, 0, 1, 1, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3]
    assert weighted_mean(values, [2] * 7, clusters=clusters).interval == pytest.approx(
        wilson_clustered(values, clusters=clusters)
    )
    partial = [0.5, 1, 0.2, -0.3]
    assert weighted_mean(partial, [4] * 4).interval == pytest.approx(mean_interval(partial))
    assert weighted_mean(partial, [4] * 4, clusters=[0, 0, 1, 1]).interval == pytest.approx(
        mean_interval(partial, clusters=[0, 0, 1, 1])
    )


def test_one_heavy_question_leaves_little_evidence():
    rate = weighted_mean([1, 1, 1, 1, 0], [96, 1, 1, 1, 1])
    assert rate.effective == pytest.approx(100**2 / (96**2 + 4))
    assert rate.interval.low < 0.25
    partial = weighted_mean([0.9, 0.5, 0.4, 0.2, 0.1], [96, 1, 1, 1, 1])
    half = t_quantile(0.975, 1) * partial.error
    assert partial.interval == pytest.approx((partial.mean - half, partial.mean + half))


def test_all_points_gained_show_no_certainty():
    effective = 10**2 / (1 + 4 + 9 + 16)
    low, high = weighted_mean([1] * 4, [1, 2, 3, 4]).interval
    assert (low, high) == (pytest.approx(effective / (effective + 1.959964**2), abs=1e-6), 1)
    assert weighted_mean([1] * 4, [1, 2, 3, 4], clusters=[0] * 4).interval == (0, 1)
    assert weighted_mean([0.5] * 3, [1, 2, 3], scale=(0, 1)).interval == mean_interval([0.5] * 3, scale=(0, 1))


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    weights = rng.choice([1, 2, 5, 12], 60)
    draws = [(rng.random(60) < 0.8).astype(float) for _ in range(2000)]
    rates = [weighted_mean(draw, weights).interval for draw in draws]
    assert np.mean([low <= 0.8 <= high for low, high in rates]) == pytest.approx(0.95, abs=0.02)
    deducted = [np.where(draw > 0, 1.0, -0.25) for draw in draws]
    means = [weighted_mean(draw, weights).interval for draw in deducted]
    assert np.mean([low <= 0.75 <= high for low, high in means]) == pytest.approx(0.94, abs=0.02)


@pytest.mark.parametrize("weights", [[0, 0], [-1, 2], [float("nan"), 1]])
def test_weights_without_a_mean_are_refused(weights):
    with pytest.raises(ValueError, match="weight"):
        weighted_mean([1, 0], weights)
