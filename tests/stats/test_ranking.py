from __future__ import annotations

import math

import numpy as np
import pytest
from evalica import Winner
from evalica import bradley_terry as evalica_bradley_terry
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from steelyard.stats.ranking import PRIOR, bradley_terry, coded, count_battles, elo, linked, strongly_connected


def table(n, *results):
    """Wins from (a, b, won, lost, tied)."""
    wins = np.zeros((n, n))
    for a, b, won, lost, tied in results:
        wins[a, b] += won + tied / 2
        wins[b, a] += lost + tied / 2
    return wins


TOY = table(3, (0, 1, 6, 2, 2), (1, 2, 5, 3, 2), (0, 2, 7, 1, 2))


def loss(strengths, wins):
    gaps = strengths[:, None] - strengths
    return float((wins * np.logaddexp(0, -gaps)).sum())


def exact(wins):
    """The maximum by scipy's trust region with exact derivatives: another method, the same likelihood."""

    def gradient(strengths):
        share = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        return ((wins + wins.T) * share).sum(axis=1) - wins.sum(axis=1)

    def hessian(strengths):
        share = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        weight = (wins + wins.T) * share * share.T
        return np.diag(weight.sum(axis=1)) - weight

    result = minimize(
        lambda strengths: loss(strengths, wins),
        np.zeros(len(wins)),
        method="trust-exact",
        jac=gradient,
        hess=hessian,
        options={"gtol": 1e-7},
    )
    return result.x - result.x.mean()


def ring(seed, models=200, each=100):
    """Battles of each model with its two neighbours only; both must win some, so that there is a maximum."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=models)
    first = np.repeat(np.arange(models), each)
    second = (first + 1) % models
    won = rng.random(len(first)) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return coded(first, second, won.astype(float))


def test_the_toy_of_three_models_with_ties_as_half_wins():
    result = bradley_terry(TOY)
    assert result.strengths == pytest.approx([0.7406, -0.1491, -0.5915], abs=5e-5)
    assert result.converged
    assert result.connected
    assert result.prior == 0.0
    assert result.separable == ()
    assert result.iterations <= 8


def test_two_models_differ_by_the_log_of_their_odds():
    result = bradley_terry(table(2, (0, 1, 19, 4, 2)))
    assert result.strengths[0] - result.strengths[1] == pytest.approx(math.log(20 / 5), abs=1e-12)


def test_strengths_do_not_depend_on_how_models_are_numbered():
    turned = np.array([2, 0, 1])
    assert bradley_terry(TOY[np.ix_(turned, turned)]).strengths == pytest.approx(bradley_terry(TOY).strengths[turned])


def test_at_the_maximum_each_model_has_won_what_the_model_expects():
    strengths = bradley_terry(TOY).strengths
    share = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    assert ((TOY + TOY.T) * share).sum(axis=1) == pytest.approx(TOY.sum(axis=1), abs=1e-10)


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_no_other_method_finds_a_higher_likelihood(n, seed):
    wins = np.random.default_rng(seed).integers(1, 30, size=(n, n)).astype(float)
    np.fill_diagonal(wins, 0)
    result = bradley_terry(wins)
    assert result.converged
    assert result.strengths == pytest.approx(exact(wins), abs=1e-5)


@given(st.integers(3, 12), st.integers(0, 10_000))
def test_strengths_equal_evalicas_where_it_converges(n, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, 4000)
    second = (first + rng.integers(1, n, 4000)) % n
    score = rng.choice([1.0, 0.5, 0.0], 4000)
    winners = [{1.0: Winner.X, 0.5: Winner.Draw, 0.0: Winner.Y}[entry] for entry in score]
    theirs = evalica_bradley_terry(first.tolist(), second.tolist(), winners, tolerance=1e-12, limit=100_000).scores
    logs = np.log(theirs.sort_index().to_numpy())
    ours = bradley_terry(count_battles(coded(first, second, score)))
    assert ours.strengths == pytest.approx(logs - logs.mean(), abs=1e-6)


def test_a_sparse_ring_of_100_models_is_right_where_evalica_stops_early():
    battles = ring(0, models=100)
    wins = count_battles(battles)
    right = exact(wins)
    result = bradley_terry(wins)
    assert result.converged
    assert result.prior == 0.0
    assert np.abs(result.strengths - right).max() < 1e-6
    winners = [Winner.X if battle else Winner.Y for battle in battles.score]
    theirs = evalica_bradley_terry(battles.first.tolist(), battles.second.tolist(), winners).scores
    logs = np.log(theirs.sort_index().to_numpy())
    assert np.abs(logs - logs.mean() - right).max() > 0.05


def test_a_chain_of_one_sided_pairs_does_not_overflow():
    """Each model beats the next 999 times of 1,000: 200 models span 1,374 log units."""
    n = 200
    result = bradley_terry(table(n, *((a, a + 1, 999, 1, 0) for a in range(n - 1))))
    assert result.converged
    assert -np.diff(result.strengths) == pytest.approx([math.log(999)] * (n - 1), abs=1e-6)


def test_a_circle_of_winners_is_level():
    assert bradley_terry(table(3, (0, 1, 5, 0, 0), (1, 2, 5, 0, 0), (2, 0, 5, 0, 0))).strengths == pytest.approx(
        [0.0, 0.0, 0.0], abs=1e-12
    )


def test_a_model_without_a_win_gets_a_finite_strength_below_the_rest_and_the_prior_is_said():
    result = bradley_terry(table(3, (0, 1, 6, 4, 0), (0, 2, 10, 0, 0), (1, 2, 10, 0, 0)))
    assert np.isfinite(result.strengths).all()
    assert list(np.argsort(-result.strengths)) == [0, 1, 2]
    assert result.prior == PRIOR == 0.5
    assert result.separable == (0, 1, 2)
    assert result.converged


def test_the_prior_is_half_a_virtual_tie_per_compared_pair():
    result = bradley_terry(table(2, (0, 1, 10, 0, 0)))
    assert result.strengths[0] - result.strengths[1] == pytest.approx(math.log(10.25 / 0.25), abs=1e-9)
    requests = bradley_terry(table(2, (0, 1, 10, 5, 0)), prior=2.0)
    assert requests.prior == 2.0
    assert requests.separable == ()
    assert requests.strengths[0] - requests.strengths[1] == pytest.approx(math.log(11 / 6), abs=1e-9)


@pytest.mark.parametrize("n", [2, 5, 60])
def test_where_the_better_always_wins_the_order_is_right(n):
    result = bradley_terry(np.triu(np.full((n, n), 3.0), 1))
    assert (np.diff(result.strengths) < 0).all()
    assert np.isfinite(result.strengths).all()
    assert result.converged


def test_parts_that_never_met_are_fitted_apart_and_named():
    wins = table(5, (0, 2, 3, 1, 0), (1, 4, 5, 0, 0))
    result = bradley_terry(wins)
    assert result.components == ((0, 2), (1, 4), (3,))
    assert not result.connected
    assert result.strengths[[0, 2]] == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    assert result.separable == (1, 4)
    assert result.strengths[1] + result.strengths[4] == pytest.approx(0.0)
    assert result.strengths[3] == 0.0


def test_counts_hold_wins_ties_and_weights():
    battles = coded([0, 1, 2, 0], [1, 0, 0, 1], [1.0, 0.5, 0.0, 0.25], weight=[1.0, 2.0, 3.0, 4.0])
    assert count_battles(battles).tolist() == [[0, 1 + 1 + 1, 3], [1 + 3, 0, 0], [0, 0, 0]]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.floats(0, 1)), max_size=60))
def test_each_battle_is_worth_one_win_however_it_is_split(rows):
    first = [a for a, _, _ in rows]
    second = [(a + step) % 5 for a, step, _ in rows]
    wins = count_battles(coded(first, second, [score for _, _, score in rows], models=5))
    assert wins.sum() == pytest.approx(len(rows))
    assert (wins >= 0).all()
    assert np.trace(wins) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [0], [1]), "two different models"),
        (([0, 1], [1], [1]), "differ in length"),
        (([0], [3], [1]), "numbered 0 to 2"),
        (([-1], [1], [1]), "numbered 0 to 2"),
        (([0], [1], [1.5]), "between 0"),
        (([0], [1], [float("nan")]), "between 0"),
    ],
)
def test_battles_that_cannot_be_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        coded(*columns, models=3)


def test_weights_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="positive"):
        coded([0], [1], [1], weight=[0])


@pytest.mark.parametrize(
    ("wins", "message"), [([[0, 1]], "shape"), ([[0, -1], [1, 0]], "not negative"), ([[0, math.inf], [1, 0]], "finite")]
)
def test_wins_that_cannot_be_are_refused(wins, message):
    with pytest.raises(ValueError, match=message):
        bradley_terry(wins)


def test_a_prior_of_nothing_is_refused():
    with pytest.raises(ValueError, match="positive number of virtual ties"):
        bradley_terry(TOY, prior=0.0)


def test_no_battles_have_no_strengths():
    assert bradley_terry(np.zeros((0, 0))).strengths.tolist() == []
    assert bradley_terry(np.zeros((2, 2))).components == ((0,), (1,))


def test_four_hundred_elo_points_are_odds_of_ten_to_one():
    assert elo(math.log(10)) - elo(0.0) == pytest.approx(400)
    assert elo(0.0) == 1000


def closure(wins):
    """Who reaches whom, by squaring: the definition, far too slow for use."""
    reach = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(len(wins)):
        reach |= reach @ reach
    return reach


@given(st.integers(1, 9), st.integers(0, 30), st.integers(0, 10_000))
def test_sets_of_the_graph_are_those_of_its_definition(n, edges, seed):
    rng = np.random.default_rng(seed)
    wins = np.zeros((n, n))
    for a, b in rng.integers(0, n, size=(edges, 2)):
        wins[a, b] = a != b
    reach, met = closure(wins), closure(wins + wins.T)
    assert strongly_connected(wins) == tuple(
        sorted({tuple(int(b) for b in np.flatnonzero(reach[a] & reach[:, a])) for a in range(n)})
    )
    assert linked(wins) == tuple(sorted({tuple(int(b) for b in np.flatnonzero(met[a])) for a in range(n)}))
