"""The mean of group means: its formula by hand, and how often its interval holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.stats.binomial import wilson_with_ties_clustered
from steelyard.stats.intervals import wilson_clustered
from steelyard.stats.quantiles import t_quantile
from steelyard.stats.stratified import stratified_mean


def by_hand(groups):
    """Mean, variance and Satterthwaite's degrees of freedom, from the variance of each group's mean."""
    parts = [np.var(group, ddof=1) / len(group) / len(groups) ** 2 for group in groups]
    df = sum(parts) ** 2 / sum(part**2 / (len(group) - 1) for part, group in zip(parts, groups, strict=True))
    return np.mean([np.mean(group) for group in groups]), sum(parts), df


def of_groups(groups, **options):
    strata = np.repeat(range(len(groups)), [len(group) for group in groups])
    return stratified_mean(np.concatenate(groups), strata, **options)


def test_every_group_weighs_the_same_and_the_variance_is_that_of_a_stratified_sample():
    groups = [[1] * 8 + [0] * 4, [1] * 3 + [0] * 3, [1] * 19 + [0]]
    mean, variance, df = by_hand(groups)
    result = of_groups(groups)
    assert (result.mean, result.error**2, result.df, result.strata) == pytest.approx((mean, variance, df, 3))


def test_a_mean_that_is_no_rate_gets_students_t():
    groups = [[0.2, 0.4, 0.9], [0.5, 0.1, 0.3, 0.8]]
    mean, variance, df = by_hand(groups)
    half = t_quantile(0.975, df) * math.sqrt(variance)
    assert tuple(of_groups(groups, rate=False).interval) == pytest.approx((max(0, mean - half), mean + half))


def test_of_one_group_it_is_the_interval_by_cluster():
    values, clusters = [1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1], np.repeat(range(4), 3)
    result = stratified_mean(values, [0] * 12, clusters=clusters)
    assert tuple(result.interval) == pytest.approx(tuple(wilson_clustered(values, clusters=clusters)))


def test_rotations_of_a_question_are_no_new_questions():
    groups = [[1, 0, 1, 1, 0, 1], [0, 0, 1, 1]]
    four = [np.repeat(group, 4) for group in groups]
    clusters = np.repeat(range(10), 4)
    assert tuple(of_groups(four, clusters=clusters).interval) == pytest.approx(tuple(of_groups(groups).interval))


def test_a_cluster_that_reaches_over_groups_counts_as_one():
    """Group 1 repeats the answers of group 0, question by question: two groups know no more than one."""
    answers, questions = [1, 1, 0, 1, 0, 1, 1, 0], list(range(8))
    apart = stratified_mean(answers * 2, [0] * 8 + [1] * 8)
    joined = stratified_mean(answers * 2, [0] * 8 + [1] * 8, clusters=questions * 2)
    assert joined.error == pytest.approx(apart.error * math.sqrt(2))
    assert joined.error == pytest.approx(stratified_mean(answers, [0] * 8).error)


def test_groups_of_one_question_are_one_stratum_together():
    values = [1, 0, 1, 1, 0, 1]
    assert stratified_mean(values, range(6)).error == pytest.approx(np.std(values, ddof=1) / math.sqrt(6))


def test_a_group_without_spread_is_not_taken_for_certain():
    result = of_groups([[1] * 5, [1, 0] * 10])
    assert result.error > of_groups([[1, 0] * 10]).error / 2
    assert of_groups([[1] * 5, [1] * 20]).interval.high == 1.0
    assert of_groups([[1] * 5, [1] * 20]).interval.low < 0.9


def test_nothing_is_known_from_a_single_question():
    assert stratified_mean([1.0], [0]).interval == (0.0, 1.0)
    assert stratified_mean([1.0], [0], rate=False).interval is None


@pytest.mark.parametrize(
    ("sizes", "truth"),
    [
        ([34] * 5, [0.7] * 5),
        ([100, 30, 20, 10, 10], [0.9, 0.7, 0.5, 0.6, 0.8]),
        ([3] * 50, list(np.linspace(0.3, 0.95, 50))),
        ([10] * 6, [0.99, 0.99, 0.99, 0.02, 0.5, 0.6]),
    ],
)
def test_the_interval_holds_the_truth_in_95_of_100_cases(sizes, truth):
    """600 draws: a true 95 % shows as less than 92.5 % in three of a thousand such tests."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(600):
        groups = [(rng.random(n) < p).astype(float) for n, p in zip(sizes, truth, strict=True)]
        low, high = of_groups(groups).interval
        held += low <= np.mean(truth) <= high
    assert held / 600 >= 0.925


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(rows):
    values, strata, clusters = zip(*rows, strict=True)
    result = stratified_mean(values, strata, clusters=clusters)
    assert 0 <= result.interval.low <= result.mean + 1e-9
    assert result.mean - 1e-9 <= result.interval.high <= 1


def test_a_spread_that_is_too_small_to_be_squared_is_none():
    result = stratified_mean([2e-91, 0.0, 1.0, 1.0], [0, 0, 1, 1], rate=False)
    assert (result.mean, result.strata) == (0.5, 2)
    assert result.df == 2


def test_a_tie_does_not_narrow_the_interval_of_groups_that_won():
    won, tied = of_groups([[1.0] * 5] * 4), of_groups([[1.0] * 5] * 3 + [[1.0] * 4 + [0.5]])
    assert tied.interval.low < won.interval.low
    assert tied.interval.high == 1.0


def test_ties_of_one_group_alone_are_the_interval_for_ties_with_t():
    values = [1.0] * 60 + [0.5] * 25 + [0.0] * 15
    result = of_groups([values])
    assert result.interval == pytest.approx(wilson_with_ties_clustered(values, clusters=range(100)), abs=1e-9)


def test_a_group_of_ties_alone_is_not_taken_for_certain():
    assert of_groups([[0.5] * 5, [1, 0] * 10]).error > of_groups([[1, 0] * 10]).error / 2


def test_groups_with_ties_are_covered():
    """Five groups of ten with other shares of wins, and one tie in ten: at 3,000 draws the error is 0.004."""
    rng, wins = np.random.default_rng(3), [0.5, 0.6, 0.7, 0.8, 0.88]
    held, draws = 0, times(700, 3000)
    for _ in range(draws):
        groups = [rng.choice([1.0, 0.5, 0.0], size=10, p=[win, 0.1, 0.9 - win]) for win in wins]
        low, high = of_groups(groups).interval
        held += low <= np.mean(wins) + 0.05 <= high
    assert held / draws >= 0.94
