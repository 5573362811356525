"""The numbers of one difference: when which interval and test are taken, and what such a set could have shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steelyard.analysis.comparison.differences import PairedValues, ScoreMeaning, paired_difference
from steelyard.plain_json import json_value
from steelyard.stats.power import detectable_paired_rates


def values(before, after, clusters=None):
    first, second = np.asarray(before, float), np.asarray(after, float)
    return PairedValues(np.arange(len(first)), first, second, None if clusters is None else np.asarray(clusters))


def noisy(n, shift=0.02, seed=3):
    rng = np.random.default_rng(seed)
    before = rng.random(n)
    return before, np.clip(before + rng.normal(shift, 0.3, n), 0, 1)


def test_many_pairs_get_the_t_interval_of_scipy():
    before, after = noisy(12_000)
    difference = paired_difference(values(before, after), level=0.95)
    oracle = stats.ttest_rel(after, before)
    assert (difference.methods.test, difference.methods.interval) == (
        "paired t",
        "t interval of the paired differences",
    )
    assert tuple(difference.interval) == pytest.approx(tuple(oracle.confidence_interval(0.95)), rel=1e-9)
    assert difference.p == pytest.approx(oracle.pvalue, rel=2e-3)


def test_few_pairs_are_resampled_and_agree_with_the_t_interval():
    before, after = noisy(2_000)
    difference = paired_difference(values(before, after), level=0.95)
    low, high = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert difference.methods.test == "sign-flip permutation"
    assert tuple(difference.interval) == pytest.approx((low, high), abs=0.05 * (high - low))


def test_many_equal_differences_say_nothing_of_their_spread_and_are_no_chance():
    before = np.arange(11_000) % 512 / 1024
    difference = paired_difference(values(before, before + 0.25), level=0.95)
    assert difference.interval is None
    assert difference.p < 0.01


def test_zeros_and_ones_get_newcombe_and_mcnemar_however_many():
    before, after = [0] * 11_000 + [1] * 9_000, [1] * 2_000 + [0] * 9_000 + [1] * 9_000
    difference = paired_difference(values(before, after), level=0.95)
    assert (difference.methods.test, difference.methods.interval) == ("exact McNemar", "Newcombe 1998, method 10")
    assert difference.table == (9_000, 2_000, 0, 9_000)


def test_the_standard_error_is_that_of_the_paired_differences():
    before, after = [1] * 66 + [0] * 34, [1] * 60 + [0] * 6 + [1] * 16 + [0] * 18
    difference = paired_difference(values(before, after), level=0.95)
    assert difference.standard_error == pytest.approx(stats.sem(np.subtract(after, before)))
    assert difference.standard_error == pytest.approx(0.046, abs=5e-4)  # statistics.md: two separate sets have 0.064
    clusters = [number // 4 for number in range(100)]
    clustered = paired_difference(values(before, after, clusters), level=0.95)
    assert clustered.standard_error > 1.5 * difference.standard_error
    assert json_value(clustered)["standard_error"] == clustered.standard_error
    assert paired_difference(values([1], [0]), level=0.95).standard_error is None


def test_single_clusters_are_no_clusters():
    before, after = [0, 1, 0, 1, 0], [1, 1, 0, 1, 1]
    assert paired_difference(values(before, after, [4, 2, 7, 1, 0]), level=0.95) == paired_difference(
        values(before, after), level=0.95
    )
    assert paired_difference(values(before, after, [4, 4, 7, 1, 0]), level=0.95).methods.test.endswith(" by cluster")


def test_what_the_set_could_have_shown_is_mcnemars_detectable_difference():
    """60 right twice, 16 and 6 once, 18 never: 22 % differ, and 13 points are what such a set shows."""
    before = [1] * 60 + [0] * 16 + [1] * 6 + [0] * 18
    after = [1] * 60 + [1] * 16 + [0] * 6 + [0] * 18
    difference = paired_difference(values(before, after), level=0.95)
    assert difference.detectable == pytest.approx(detectable_paired_rates(100, 0.22))
    assert difference.detectable == pytest.approx(0.13, abs=0.005)
    assert (difference.improved, difference.regressed) == (16, 6)


def test_without_a_threshold_each_better_value_is_an_improvement():
    pairs = values([0.2, 0.9, 0.6, 0.3], [0.5, 0.4, 0.7, 0.3])
    difference = paired_difference(pairs, level=0.95)
    assert (difference.improved, difference.regressed) == (2, 1)
    turned = paired_difference(pairs, level=0.95, meaning=ScoreMeaning(lower_is_better=True))
    assert (turned.improved, turned.regressed) == (1, 2)
    rated = paired_difference(values([1, 4.0], [2, 3.0]), level=0.95, meaning=ScoreMeaning(scaled=True))
    assert (rated.improved, rated.regressed, rated.unit) == (1, 1, False)


def test_with_a_threshold_only_pairs_that_cross_it_change():
    pairs = values([1, 3, 4, 2], [3, 4, 2, 4])
    passing = paired_difference(pairs, level=0.95, meaning=ScoreMeaning(scaled=True, threshold=4))
    assert (passing.improved, passing.regressed) == (2, 1)
    most = paired_difference(pairs, level=0.95, meaning=ScoreMeaning(True, lower_is_better=True, threshold=2))
    assert (most.improved, most.regressed) == (1, 2), "at most 2 passes"
    halves = values([1, 0.5, 0.25, 0.75], [0.5, 0, 0.75, 0.25])
    by_most = paired_difference(halves, level=0.95, meaning=ScoreMeaning(threshold=0.5, undecided_at=0.5))
    assert (by_most.improved, by_most.regressed) == (1, 1)


def test_where_lower_is_better_a_zero_is_right_and_the_interval_is_that_of_the_values():
    before, after = [1] * 60 + [0] * 16 + [1] * 6 + [0] * 18, [1] * 60 + [1] * 16 + [0] * 6 + [0] * 18
    higher = paired_difference(values(before, after), level=0.95)
    lower = paired_difference(values(before, after), level=0.95, meaning=ScoreMeaning(lower_is_better=True))
    assert higher.table == (60, 16, 6, 18)
    assert lower.table == (18, 6, 16, 60)
    assert (lower.difference, lower.interval, lower.p) == (higher.difference, higher.interval, higher.p)
    assert (lower.improved, lower.regressed) == (6, 16)


def test_a_higher_level_gives_a_wider_interval_and_a_larger_detectable_difference():
    before, after = noisy(300)
    narrow, wide = (paired_difference(values(before, after), level=level) for level in (0.9, 0.99))
    assert wide.interval.low < narrow.interval.low < narrow.interval.high < wide.interval.high
    assert wide.detectable > narrow.detectable
