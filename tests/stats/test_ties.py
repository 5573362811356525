"""The interval of wins, ties and losses: Wilson's without ties, covering and ordered with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import beta, multinomial
from tests.thorough import times

from steelyard.stats import wilson, wilson_clustered, wilson_with_ties, wilson_with_ties_clustered
from steelyard.stats.binomial import _lower_limit, _variance_at, score_interval_with_ties

Z = 1.959963984540054
CELLS = [
    (win, tie)
    for win in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
    for tie in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
]
counts = st.tuples(st.integers(0, 80), st.integers(0, 80), st.integers(0, 80)).filter(any)


def splits(n):
    return [(wins, ties, n - wins - ties) for wins in range(n + 1) for ties in range(n + 1 - wins)]


@pytest.mark.parametrize("n", [1, 2, 7, 19, 60, 400])
def test_without_ties_it_is_wilsons_interval(n):
    for wins in range(n + 1):
        assert wilson_with_ties(wins, 0, n - wins) == wilson(wins, n)


def test_nineteen_wins_of_nineteen_keep_their_published_limits():
    assert wilson_with_ties(19, 0, 0).rounded(4) == (0.8318, 1.0)


def test_without_its_correction_it_is_tangos_interval():
    """Airway reactivity before and after stem cell transplantation (Bentur 2009): 1 and 7 discordant pairs of 21.

    Tango's interval of the difference is -0.517 to -0.026: M. W. Fagerland, S. Lydersen and P. Laake, "Recommended
    tests and confidence intervals for paired binomial proportions", Statistics in Medicine 33, 2014.
    """
    low, high = _lower_limit((1, 13, 7), Z, 0.0), 1 - _lower_limit((7, 13, 1), Z, 0.0)
    assert (2 * low - 1, 2 * high - 1) == pytest.approx((-0.517, -0.026), abs=5e-4)


@given(counts, st.floats(0.02, 0.98))
def test_the_variance_is_that_of_the_most_likely_probabilities(counts, mean):
    wins, ties, losses = counts
    difference = 2 * mean - 1

    def unlikelihood(lost):
        chances = (lost + difference, 1 - 2 * lost - difference, lost)
        return -sum(n * math.log(max(p, 1e-300)) for n, p in zip(counts, chances, strict=True) if n)

    lowest, highest = max(0.0, -difference), (1 - difference) / 2
    best = minimize_scalar(unlikelihood, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-12}).x
    ours = (4 * _variance_at(mean, wins, ties, losses) + difference**2 - difference) / 2
    assert lowest - 1e-12 <= ours <= highest + 1e-12
    assert unlikelihood(ours) <= unlikelihood(best) + 1e-7


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_it_is_mirrored_and_holds_the_mean(counts, level):
    wins, ties, losses = counts
    low, high = wilson_with_ties(wins, ties, losses, level)
    assert 0 <= low <= (wins + ties / 2) / sum(counts) <= high <= 1
    assert wilson_with_ties(losses, ties, wins, level) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(counts)
def test_a_higher_level_is_wider(counts):
    narrow, wide = (wilson_with_ties(*counts, level) for level in (0.9, 0.99))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


def test_no_limit_rises_when_a_win_becomes_a_tie_or_a_tie_a_loss():
    """Every split of up to 30 comparisons, or 60 where the tests are thorough: by at most one point."""
    for n in range(1, times(31, 61)):
        limits = {split: wilson_with_ties(*split) for split in splits(n)}
        for (wins, ties, losses), (low, high) in limits.items():
            worse = [(wins - 1, ties + 1, losses)] if wins else []
            worse += [(wins, ties - 1, losses + 1)] if ties else []
            for split in worse:
                assert limits[split].low <= low + 0.01, (wins, ties, losses)
                assert limits[split].high <= high + 0.01, (wins, ties, losses)
                if split[0] >= split[2]:
                    assert limits[split].low <= low + 1e-12, (wins, ties, losses)


@pytest.mark.parametrize("n", [10, 11, 12, 14, 17, 20, 27, 40])
def test_it_covers_in_every_cell_and_is_narrower_than_clopper_pearson(n):
    """Exactly: the probability of every split, of those with a tie; wins as a share of all, and of the decided."""
    held = [split for split in splits(n) if split[1]]
    low, high = np.array([wilson_with_ties(*split) for split in held]).T
    wins, ties, _ = np.array(held).T
    x = wins + ties / 2
    theirs = beta.ppf(0.975, x + 1, np.maximum(n - x, 1e-12)) - beta.ppf(0.025, np.maximum(x, 1e-12), n - x + 1)
    widths = []
    cells = [(win, tie, max(0.0, 1 - win - tie)) for win, tie in CELLS if win + tie < 1 + 1e-9]
    cells += [((1 - tie) * win, tie, (1 - tie) * (1 - win)) for win, tie in CELLS]
    for cell in cells:
        chance = multinomial.pmf(held, n, np.array(cell) / sum(cell))
        chance /= chance.sum()
        mean = cell[0] + cell[1] / 2
        assert chance @ ((low <= mean) & (mean <= high)) >= 0.94, cell
        widths.append((chance @ (high - low), chance @ theirs))
    ours, clopper_pearson = np.mean(widths, axis=0)
    assert ours < clopper_pearson


def test_nineteen_wins_and_a_tie_decide_no_more_than_twenty_wins():
    wins, tie = wilson_with_ties(20, 0, 0), wilson_with_ties(19, 1, 0)
    assert tie.low < wins.low < 0.9


def test_nothing_compared_tells_nothing():
    assert wilson_with_ties(0, 0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("counts", [(-1, 2, 3), (1, -1, 3), (1, 2, -3)])
def test_a_negative_count_is_refused(counts):
    with pytest.raises(ValueError, match="cannot be negative"):
        wilson_with_ties(*counts)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5)), min_size=2, max_size=40))
def test_in_clusters_without_ties_it_is_the_clustered_wilson(rows):
    values, clusters = zip(*rows, strict=True)
    assert wilson_with_ties_clustered(values, clusters=clusters) == wilson_clustered(values, clusters=clusters)


def test_comparisons_of_one_cluster_each_differ_from_independent_ones_by_the_quantile_alone():
    values = [1.0] * 120 + [0.5] * 30 + [0.0] * 50
    result = wilson_with_ties_clustered(values, clusters=range(200))
    assert result == pytest.approx(wilson_with_ties(120, 30, 50), abs=2e-3)
    assert result.high - result.low > np.subtract(*wilson_with_ties(120, 30, 50)[::-1])


def test_repeats_of_one_comparison_are_one_comparison():
    values, clusters = np.repeat([1.0, 1.0, 0.5, 0.0, 1.0, 0.5, 1.0, 1.0], 5), np.repeat(range(8), 5)
    once = wilson_with_ties_clustered(values[::5], clusters=range(8))
    assert wilson_with_ties_clustered(values, clusters=clusters) == pytest.approx(once, abs=1e-12)


def test_clusters_of_one_mean_count_as_one_comparison_each():
    t = 2.2621571628  # of nine degrees of freedom
    result = wilson_with_ties_clustered([0.5] * 40, clusters=[i // 4 for i in range(40)])
    assert result == pytest.approx(score_interval_with_ties(0, 10, 0, t), abs=1e-9)
    assert wilson_with_ties_clustered([1.0, 0.5], clusters=[3, 3]) == (0.0, 1.0)


def test_other_values_than_wins_ties_and_losses_are_refused():
    with pytest.raises(ValueError, match=r"1 \(win\), 0.5 \(tie\) or 0 \(loss\)"):
        wilson_with_ties_clustered([1.0, 0.75], clusters=[0, 1])


def test_the_clustered_interval_holds_its_level():
    """Twenty clusters of five that share a mood: at 1,500 draws the error of a share of 0.95 is 0.006."""
    rng = np.random.default_rng(11)
    clusters = np.repeat(range(20), 5)
    held, draws = 0, times(500, 1500)
    for _ in range(draws):
        chances = rng.dirichlet([4.2, 0.6, 1.2], size=20)
        drawn = np.array([rng.choice([1.0, 0.5, 0.0], size=5, p=row) for row in chances]).ravel()
        low, high = wilson_with_ties_clustered(drawn, clusters=clusters)
        held += low <= 0.75 <= high
    assert held / draws >= 0.94
