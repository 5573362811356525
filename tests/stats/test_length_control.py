from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from steelyard.stats import length_controlled
from steelyard.stats.length_control import told_apart


def drawn(n, *, side=0.4, length=0.8, mean=0.3, seed=1):
    """Scores and differences in length of pairs drawn from the model."""
    rng = np.random.default_rng(seed)
    lengths = 100 * rng.normal(mean, 1, n)
    chances = 1 / (1 + np.exp(-(side + length * np.tanh(lengths / 100))))
    return (rng.random(n) < chances).astype(float), lengths


def by_scipy(scores, features):
    """The same penalised likelihood, maximised by another program."""
    penalty = np.array([1e-3, 0.25, *[1.0] * (features.shape[1] - 2)])

    def loss(weights):
        at = features @ weights
        return (np.logaddexp(0, at) - scores * at).sum() + (penalty * weights**2).sum() / 2

    return minimize(loss, np.zeros(features.shape[1]), method="BFGS", options={"gtol": 1e-9}).x


def test_rate_and_coefficient_are_those_of_another_optimiser():
    scores, lengths = drawn(120)
    scores[::7] = 0.5  # ties are soft labels
    scaled = np.tanh(lengths / lengths.std(ddof=1))
    side, length = by_scipy(scores, np.column_stack([np.ones(120), scaled]))
    rate = length_controlled(scores, lengths)
    assert rate.value == pytest.approx(1 / (1 + math.exp(-side)), abs=1e-6)
    assert rate.coefficient == pytest.approx(length, abs=1e-6)


def test_difficulty_stays_in_the_prediction_and_style_does_not():
    scores, lengths = drawn(200)
    rng = np.random.default_rng(2)
    hard, style = rng.normal(0, 1, 200), rng.uniform(-1, 1, (200, 2))
    scaled = np.tanh(lengths / lengths.std(ddof=1))
    fit = by_scipy(scores, np.column_stack([np.ones(200), scaled, style, hard]))
    expected = (1 / (1 + np.exp(-(fit[0] + fit[4] * hard)))).mean()
    assert length_controlled(scores, lengths, style=style, difficulty=hard).value == pytest.approx(expected, abs=1e-6)


def test_large_sample_recovers_the_rate_at_equal_length_which_the_raw_rate_misses():
    scores, lengths = drawn(20_000, mean=0.8)
    rate = length_controlled(scores, lengths)
    truth = 1 / (1 + math.exp(-0.4))
    assert scores.mean() > truth + 0.07
    assert rate.value == pytest.approx(truth, abs=0.015)
    assert rate.interval.low < truth < rate.interval.high


def test_interval_holds_in_nineteen_of_twenty_sets():
    truth = 1 / (1 + math.exp(-0.4))
    held = [
        rate.interval.low <= truth <= rate.interval.high
        for rate in (length_controlled(*drawn(100, seed=seed)) for seed in range(200))
    ]
    assert 0.90 <= np.mean(held) <= 0.99


def test_pairs_of_one_cluster_are_resampled_together():
    scores, lengths = drawn(60)
    once = length_controlled(scores, lengths).interval
    thrice = length_controlled(np.repeat(scores, 3), np.repeat(lengths, 3), clusters=np.repeat(np.arange(60), 3))
    naive = length_controlled(np.repeat(scores, 3), np.repeat(lengths, 3)).interval
    widths = [limits.high - limits.low for limits in (once, thrice.interval, naive)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
    assert widths[2] < 0.7 * widths[1]


def test_equal_scores_have_a_rate_and_no_interval():
    rate = length_controlled([1.0] * 20, [5, -5] * 10)
    assert rate.value > 0.999
    assert (rate.interval, rate.coefficient_interval, rate.resamples) == (None, None, 0)


def test_length_and_side_are_told_apart_where_each_side_is_longer_often_enough():
    assert told_apart([10] * 17 + [-10] * 3) is False  # 3 of 20
    assert told_apart([10] * 15 + [0] * 5)  # equally long counts for both
    assert told_apart([10] * 86 + [-10] * 14) is False  # 14 %
    assert told_apart([-10] * 85 + [10] * 15)


@pytest.mark.parametrize("pairs", [40, 400])
@pytest.mark.parametrize("longer", [1.0, 0.0])
def test_a_verdict_that_is_the_length_alone_is_not_told_apart_from_a_side(pairs, longer):
    lengths = np.tile([50, 20, 90, -40], pairs // 4)
    scores = np.where(lengths > 0, longer, 1 - longer)
    assert told_apart(lengths)
    assert told_apart(lengths, scores) is False
    nearly = scores.copy()
    nearly[: pairs // 10] = 1 - nearly[: pairs // 10]
    assert told_apart(lengths, nearly) is False
    often = scores.copy()
    often[: pairs // 5] = 1 - often[: pairs // 5]
    assert told_apart(lengths, often)


def test_ties_and_pairs_of_equal_length_are_not_explained_by_length():
    assert told_apart([50, -50, 50, -50] * 5, [1, 0, 0.5, 0.5] * 5)
    assert told_apart([50, -50, 0, 0] * 5, [1, 0, 1, 0] * 5)
    assert told_apart([0] * 20, [1] * 20)
    with pytest.raises(ValueError, match="one entry per pair"):
        told_apart([50, -50], [1])


@pytest.mark.parametrize("length", [2.0, 3.0, 5.0])
def test_equal_sides_seldom_differ_at_equal_length_however_much_length_counts(length):
    sets = [drawn(50, side=0, length=length, mean=0.7, seed=seed) for seed in range(100)]
    printed = [length_controlled(scores, lengths) for scores, lengths in sets if told_apart(lengths, scores)]
    assert sum(rate.interval.low > 0.5 for rate in printed) <= 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 1.5], [1, 2]), "scores lie in"),
        (([1.0, 0.0], [1, math.nan]), "finite"),
        (([1.0, 0.0], [1]), "one entry per pair"),
        (([], []), "at least one"),
    ],
)
def test_what_is_no_pair_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        length_controlled(*arguments)
