from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, t
from tests.thorough import times

from steelyard.stats import ranking_order
from steelyard.stats.ranking import coded, count_battles
from steelyard.stats.ranking_order import met, rank, resample, told_apart


def two(wins, losses, ties=0):
    """Battles of two models, each on a prompt of its own."""
    return coded([0] * (wins + losses + ties), [1] * (wins + losses + ties), [1] * wins + [0] * losses + [0.5] * ties)


def panel(strengths, prompts, seed, noise=1.0):
    """A round robin on each prompt; the models' qualities there decide all its battles, so they hang together."""
    rng = np.random.default_rng(seed)
    n = len(strengths)
    a, b = np.triu_indices(n, 1)
    quality = np.asarray(strengths) + noise * rng.gumbel(size=(prompts, n))
    score = (quality[:, a] > quality[:, b]).astype(float)
    first, second = np.tile(a, prompts), np.tile(b, prompts)
    return coded(first, second, score.reshape(-1), models=n, cluster=np.repeat(np.arange(prompts), len(a)))


def arena(strengths, battles, seed):
    """Battles of random pairs, each on a prompt of its own."""
    rng = np.random.default_rng(seed)
    strengths = np.asarray(strengths)
    n = len(strengths)
    first = rng.integers(0, n, battles)
    second = (first + rng.integers(1, n, battles)) % n
    won = rng.random(battles) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return coded(first, second, won.astype(float), models=n)


@pytest.mark.parametrize(("wins", "losses"), [(19, 0), (12, 8), (30, 70)])
def test_for_two_models_the_draws_are_those_of_jeffreys(wins, losses):
    battles = two(wins, losses)
    draws = resample(battles, count_battles(battles), np.zeros(2), resamples=20_000, seed=0)
    shares = 1 / (1 + np.exp(draws[:, 1] - draws[:, 0]))
    for share in (0.025, 0.5, 0.975):
        wanted = beta.ppf(share, wins + 0.5, losses + 0.5)
        assert np.mean(shares <= wanted) == pytest.approx(share, abs=0.006)


def test_repeats_on_one_prompt_are_no_further_evidence():
    once = two(12, 8)
    twice = coded(
        np.repeat(once.first, 3), np.repeat(once.second, 3), np.repeat(once.score, 3), cluster=np.repeat(range(20), 3)
    )
    alone = rank(coded(twice.first, twice.second, twice.score))
    narrow, wide = alone.intervals[0], rank(twice).intervals[0]
    assert wide == pytest.approx(rank(once).intervals[0], abs=0.12)
    assert narrow.high - narrow.low < 0.7 * (wide.high - wide.low)
    assert rank(twice).clusters == 20
    assert alone.clusters == 60


def test_clusters_of_one_battle_are_no_clusters():
    battles = arena([1.0, 0.0, -1.0], 200, 5)
    named = battles._replace(cluster=np.arange(200) * 7 + 3)
    assert rank(named).intervals == rank(battles).intervals


def test_three_wins_of_three_prove_nothing_and_twenty_do():
    few, many = rank(two(3, 0)), rank(two(20, 0))
    assert few.fit.strengths[0] > few.fit.strengths[1]
    assert few.sets == ((0, 1),)
    assert few.ranks == ((1, 2), (1, 2))
    assert few.intervals[0].low < 0 < few.intervals[0].high
    assert many.sets == ((0,), (1,))
    assert many.ranks == ((1, 1), (2, 2))
    assert many.above.tolist() == [[False, True], [False, False]]


def test_all_wins_need_at_least_the_six_of_the_sign_test():
    apart = [n for n in range(2, 15) if rank(two(n, 0)).above[0, 1]]
    assert 6 <= min(apart) <= 9
    assert apart == list(range(min(apart), 15))


def test_the_interval_holds_the_strength_itself():
    for seed in range(5):
        result = rank(arena(np.linspace(2, -2, 12), 66, seed), resamples=200)
        for strength, interval in zip(result.fit.strengths, result.intervals, strict=True):
            assert interval.low <= strength <= interval.high


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Five models on 20 prompts, where battles of a prompt hang together: 95 % of the draws within their noise."""
    truth = np.array([0.5, 0.25, 0.0, -0.25, -0.5])
    held, all_right = [], []
    for seed in range(times(100, 200)):
        result = rank(panel(truth, 20, seed), resamples=200, seed=seed)
        held += [low <= interval <= high for (low, high), interval in zip(result.intervals, truth, strict=True)]
        all_right.append(all(best <= position <= worst for position, (best, worst) in enumerate(result.ranks, 1)))
    assert 0.92 <= np.mean(held) <= 0.985
    assert np.mean(all_right) >= 0.92


def test_equal_models_are_seldom_told_apart_however_many_there_are():
    """Ten models without a difference have 45 pairs; in at least 90 % of the draws none of them is told apart."""
    silent = [
        not rank(panel([0.0] * 10, 20, seed), resamples=200, seed=seed).above.any() for seed in range(times(100, 200))
    ]
    assert np.mean(silent) >= 0.9


def test_resampling_prompts_is_wider_than_resampling_rows_where_a_prompt_decides_its_battles():
    battles = panel([0.0] * 4, 60, 1)
    rows = rank(battles._replace(cluster=None))
    prompts = rank(battles)
    width = [sum(high - low for low, high in result.intervals) for result in (rows, prompts)]
    assert width[1] > 1.2 * width[0]


def test_a_clear_order_has_ranks_of_one_place():
    result = rank(arena([4.0, 2.0, 0.0, -2.0, -4.0], 4000, 0))
    assert result.ranks == ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
    assert result.sets == ((0,), (1,), (2,), (3,), (4,))
    assert np.array_equal(result.above, np.triu(np.ones((5, 5), dtype=bool), 1))


def test_neighbours_share_sets_that_overlap():
    """Gaps of 1.6 standard deviations between neighbours: neighbours share a set, the ends do not."""
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(4000, 4)) * 0.1 + np.array([0.6, 0.3, 0.0, -1.0])
    above = told_apart(draws, np.full(4, 500), 0.95)
    assert above.astype(int).tolist() == [[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_the_common_level_is_that_of_all_pairs_at_once():
    """Independent normal strengths: a pair is told apart beyond the studentised range's quantile, 3.31 for three."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(200_000, 3))
    for gap, apart in ((3.31 * 1.03, True), (3.31 * 0.97, False)):
        draws = noise + np.array([gap, 0.0, gap / 2])
        assert bool(told_apart(draws, np.full(3, 10**6), 0.95)[0, 1]) is apart


def test_few_clusters_reach_as_far_as_students_t():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(200_000, 2)) / math.sqrt(2)
    reach = t.ppf(0.975, 9) * math.sqrt(10 / 9)
    for gap, apart in ((reach * 1.02, True), (reach * 0.98, False)):
        assert bool(told_apart(noise + np.array([gap, 0.0]), np.full(2, 10), 0.95)[0, 1]) is apart


def test_one_prompt_says_nothing_about_the_spread():
    result = rank(coded([0, 0, 0], [1, 1, 1], [1, 1, 1], cluster=[4, 4, 4]))
    assert result.intervals == (None, None)
    assert result.sets == ((0, 1),)
    assert result.resamples == 0
    assert result.clusters == 1


def test_a_model_seen_on_one_prompt_is_told_apart_from_nobody():
    first, second = [0] * 40 + [2], [1] * 40 + [1]
    result = rank(coded(first, second, [1.0] * 36 + [0.0] * 4 + [1.0]))
    assert result.above[0, 1]
    assert result.intervals[2] is None
    assert result.ranks[2] == (1, 3)


def test_a_model_above_the_second_is_above_all_that_the_second_is_above():
    """0 and 2 met once, for 2; 0 is far above 1, and 1 far above 2."""
    first, second = [0] * 80 + [1] * 80 + [0], [1] * 80 + [2] * 80 + [2]
    result = rank(coded(first, second, [1.0] * 70 + [0.0] * 10 + [1.0] * 70 + [0.0] * 10 + [0.0]))
    assert result.above.tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    above = np.zeros((4, 4), dtype=bool)
    above[0, 1] = above[1, 2] = above[2, 3] = True
    assert np.array_equal(ranking_order._closed(above), np.triu(np.ones((4, 4), dtype=bool), 1))


def test_models_that_never_met_are_not_ranked_against_each_other():
    result = rank(coded([0] * 30 + [2] * 30, [1] * 30 + [3] * 30, [1.0] * 28 + [0.0] * 2 + [1.0] * 15 + [0.0] * 15))
    assert result.fit.components == ((0, 1), (2, 3))
    assert result.ranks == ((1, 3), (2, 4), (1, 4), (1, 4))
    assert result.sets == ((0,), (1,), (2, 3))
    assert None not in result.intervals


def test_weights_and_clusters_follow_models_into_their_component():
    first, second, score = [0, 0, 3, 3, 3, 0], [1, 1, 2, 2, 2, 1], [1, 0, 1, 1, 0, 1]
    both = coded(first, second, score, weight=[1, 2, 3, 1, 2, 3], cluster=[0, 1, 2, 3, 4, 5])
    alone = coded([0, 0, 0], [1, 1, 1], [1, 0, 1], weight=[1, 2, 3], cluster=[0, 1, 5])
    assert rank(both).intervals[:2] == rank(alone).intervals


def test_equal_seeds_give_equal_numbers_and_others_do_not():
    battles = arena([0.5, 0.0, -0.5], 300, 2)
    assert rank(battles).intervals == rank(battles).intervals
    assert rank(battles).intervals != rank(battles, seed=1).intervals


def test_there_are_fewer_resamples_where_the_work_is_large(monkeypatch):
    battles = two(3, 2)
    work = 2**3 + 10 * len(ranking_order._units(battles).unit)
    monkeypatch.setattr(ranking_order, "_WORK", 250 * work)
    assert rank(battles).resamples == 250


def test_a_wider_level_has_wider_intervals_and_ranks():
    battles = arena([0.6, 0.2, -0.2, -0.6], 200, 3)
    narrow, wide = rank(battles, level=0.8), rank(battles, level=0.99)
    for small, large in zip(narrow.intervals, wide.intervals, strict=True):
        assert large.low < small.low < small.high < large.high
    for (best, worst), (low, high) in zip(narrow.ranks, wide.ranks, strict=True):
        assert low <= best <= worst <= high


def test_wins_are_the_same_through_a_matrix_and_through_sums_over_entries():
    """Few prompts with many battles go through a matrix, many prompts with few battles do not."""
    units = ranking_order._units(panel([0.5, 0.0, -0.5], 40, 6))
    table = ranking_order._dense(units)
    weights = np.random.default_rng(0).standard_exponential((7, 40))
    sums = np.add.reduceat(weights[:, units.unit] * units.wins, units.starts, axis=1)
    assert weights @ table == pytest.approx(sums)
    assert table.sum() == 40 * 3
    sparse = arena([0.0] * 20, 900, 7)
    assert ranking_order._dense(ranking_order._units(sparse._replace(cluster=np.arange(900) // 2))) is None


@pytest.mark.parametrize("cluster", [None, np.arange(900) // 2, np.arange(900) // 90])
def test_draws_do_not_depend_on_the_order_of_battles_or_sides(cluster):
    battles = arena([1.0, 0.5, 0.0, -0.5, -1.0], 900, 7)._replace(cluster=cluster)
    turned = coded(
        battles.second[::-1],
        battles.first[::-1],
        1 - battles.score[::-1],
        cluster=None if cluster is None else cluster[::-1],
    )
    result, again = (np.array(rank(battle, resamples=200).intervals) for battle in (battles, turned))
    assert again == pytest.approx(result, abs=1e-6)


def test_clusters_are_counted_once_per_pair_and_model():
    result = met(coded([0, 1, 0, 2], [1, 0, 2, 1], [1, 1, 1, 1], cluster=[0, 0, 0, 1]))
    assert result.pair.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert result.model.tolist() == [1, 2, 2]


def test_a_level_in_percent_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        rank(two(3, 1), level=95)
