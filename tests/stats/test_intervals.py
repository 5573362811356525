from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from steelyard.stats.intervals import Interval, clustered_spread, mean_interval, wilson, wilson_clustered

FOUR_CLUSTERS = ([1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3])

counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_interval_equals_the_plain_tuple():
    assert Interval(0.25, 0.75) == (0.25, 0.75)


@pytest.mark.parametrize(
    ("successes", "n", "percent"), [(80, 170, (39.7, 54.5)), (116, 170, (60.9, 74.8)), (121, 170, (64.0, 77.5))]
)
def test_wilson_gives_the_limits_of_a_published_benchmark_with_170_questions(successes, n, percent):
    low, high = wilson(successes, n)
    assert (round(100 * low, 1), round(100 * high, 1)) == percent


def test_wilson_of_nineteen_wins_in_nineteen_ends_at_one():
    assert wilson(19, 19).low == pytest.approx(0.8318208, abs=5e-8)
    assert wilson(19, 19).high == 1.0


def test_wilson_of_no_success_starts_at_zero_exactly():
    assert wilson(0, 19) == (0.0, pytest.approx(0.1681792, abs=5e-8))


def test_wilson_without_trials_knows_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_equals_statsmodels(count, level):
    successes, n = count
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    assert wilson(successes, n, level) == pytest.approx((low, high), abs=1e-9)


@given(counts)
def test_wilson_is_mirrored_and_holds_the_rate(count):
    successes, n = count
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(("successes", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95), (1, 2, 0)])
def test_wilson_refuses_impossible_counts_and_levels(successes, n, level):
    with pytest.raises(ValueError, match=r"must lie between|lies between"):
        wilson(successes, n, level)


def test_clustered_error_of_the_worked_table():
    spread = clustered_spread(*FOUR_CLUSTERS)
    assert spread.mean == pytest.approx(0.583333, abs=5e-7)
    assert spread.error == pytest.approx(0.178226, abs=5e-7)
    assert spread.error * math.sqrt(3 / 4) == pytest.approx(0.154348, abs=5e-7), "CR0"
    assert (spread.n, spread.clusters) == (12, 4)
    assert clustered_spread(FOUR_CLUSTERS[0]).error == pytest.approx(0.148647, abs=5e-7)


def test_clustered_t_interval_of_the_worked_table():
    half = 3.182446 * 0.178226
    assert mean_interval(FOUR_CLUSTERS[0], clusters=FOUR_CLUSTERS[1]) == pytest.approx(
        (0.583333 - half, 0.583333 + half), abs=2e-6
    )


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40).filter(lambda values: np.std(values) > 1e-6))
def test_mean_interval_of_independent_values_is_students_t(values):
    expected = scipy_stats.t.interval(0.95, len(values) - 1, np.mean(values), scipy_stats.sem(values))
    assert mean_interval(values) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_one_cluster_says_nothing_about_the_spread():
    assert mean_interval([0.5]) is None
    assert mean_interval([0.1, 0.9], clusters=[1, 1]) is None
    assert wilson_clustered([0, 1], clusters=[1, 1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([0.3] * 12, None),
        ([0.8 - 0.5, 0.7 - 0.4, 0.9 - 0.6], None),
        ([0.2, 0.4, 0.3, 0.1, 0.5, 0.3], [1, 1, 2, 3, 3, 3]),
    ],
)
def test_clusters_of_one_mean_give_no_interval_rather_than_one_without_width(values, clusters):
    assert mean_interval(values, clusters=clusters) is None


@pytest.mark.parametrize(("value", "scale"), [(1, (0, 1)), (5, (1, 5)), (-2, (-2, 3))])
def test_equal_values_at_an_end_of_the_scale_give_the_interval_of_a_rate_that_is_all_right(value, scale):
    low, high = mean_interval([value] * 20, scale=scale)
    t = scipy_stats.t.ppf(0.975, 19)
    reach = (scale[1] - scale[0]) * t * t / (20 + t * t)
    expected = (value - reach, value) if value == scale[1] else (value, value + reach)
    assert (low, high) == pytest.approx(expected, abs=1e-9)


def test_equal_values_within_the_scale_give_the_interval_of_that_rate():
    """3 of 1 to 5 is one half; 20 clusters of two are 20 trials."""
    low, high = mean_interval([3] * 40, clusters=[i // 2 for i in range(40)], scale=(1, 5))
    t = scipy_stats.t.ppf(0.975, 19)
    half = t / (1 + t * t / 20) * np.sqrt(0.25 / 20 + t * t / 1600)
    assert (low, high) == pytest.approx((3 - 4 * half, 3 + 4 * half), abs=1e-9)


def test_equal_values_off_the_scale_that_was_named_give_no_interval():
    assert mean_interval([7, 7, 7], scale=(1, 5)) is None


def test_the_interval_of_a_count_begins_at_0_and_has_no_upper_limit():
    rare = [0] * 19 + [1]
    low, high = mean_interval(rare)
    assert low < 0
    assert mean_interval(rare, scale=(0, math.inf)) == (0, high)
    assert mean_interval([9, 9, 10], scale=(0, math.inf)) == mean_interval([9, 9, 10])
    assert mean_interval([0] * 20, scale=(0, math.inf)) is None, "how large a count could be is not known"


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30))
def test_the_interval_of_a_rating_stays_on_its_scale_and_has_width(ratings):
    low, high = mean_interval(ratings, scale=(1, 5))
    assert 1 <= low <= np.mean(ratings) <= high <= 5
    assert high - low > 0.05


@given(st.lists(st.integers(0, 1), min_size=4, max_size=40), st.integers(2, 6))
def test_clustered_intervals_are_nested_in_their_level(answers, clusters):
    numbers = [i % clusters for i in range(len(answers))]
    inner = wilson_clustered(answers, clusters=numbers, level=0.8)
    outer = wilson_clustered(answers, clusters=numbers, level=0.95)
    assert 0 <= outer.low <= inner.low <= np.mean(answers) <= inner.high <= outer.high <= 1


def test_repeating_every_answer_adds_no_information():
    answers = [1] * 7 + [0] * 5
    thrice = wilson_clustered(answers * 3, clusters=list(range(12)) * 3)
    once = wilson_clustered(answers, clusters=range(12))
    assert thrice == pytest.approx(once, abs=1e-12)
    low, high = wilson(7, 12)
    assert thrice.low < low
    assert thrice.high > high


def test_clustered_wilson_with_all_right_counts_clusters_and_not_rows():
    result = wilson_clustered([1] * 40, clusters=[i // 4 for i in range(40)])
    t = scipy_stats.t.ppf(0.975, 9)
    assert result == (pytest.approx(10 / (10 + t * t), abs=1e-9), 1.0)


def test_one_large_cluster_counts_for_less_than_as_many_equal_ones():
    """Sizes 1, 1, 1 and 7 weigh as 100 / 52 = 1.92 clusters: t has one degree of freedom."""
    result = wilson_clustered([1] * 10, clusters=[0, 1, 2, *[3] * 7])
    t, weight = scipy_stats.t.ppf(0.975, 1), 100 / 52
    assert result == (pytest.approx(weight / (weight + t * t), abs=1e-9), 1.0)


def test_clustered_wilson_keeps_its_level_where_sizes_differ():
    """Twenty clusters of one to nine, rate 0.8, intra-cluster correlation 0.3: 0.943 +- 0.009 at 600 draws."""
    rng = np.random.default_rng(12)
    scale = (1 - 0.3) / 0.3
    covered = []
    for _ in range(600):
        numbers = np.repeat(np.arange(20), rng.integers(1, 10, size=20))
        answers = rng.random(len(numbers)) < rng.beta(0.8 * scale, 0.2 * scale, size=20)[numbers]
        low, high = wilson_clustered(answers, clusters=numbers)
        covered.append(low <= 0.8 <= high)
    assert 0.925 <= np.mean(covered) <= 0.97


def test_clustered_wilson_keeps_its_level_where_answers_of_a_cluster_agree():
    """Twenty clusters of five, rate 0.8, intra-cluster correlation 0.3: 0.950 +- 0.011 at 400 draws."""
    rng = np.random.default_rng(11)
    scale = (1 - 0.3) / 0.3
    covered = 0
    for _ in range(400):
        rates = rng.beta(0.8 * scale, 0.2 * scale, size=20)
        answers = rng.random((20, 5)) < rates[:, None]
        low, high = wilson_clustered(answers.ravel(), clusters=np.repeat(np.arange(20), 5))
        covered += low <= 0.8 <= high
    assert 0.92 <= covered / 400 <= 0.98
