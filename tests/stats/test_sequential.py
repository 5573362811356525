from __future__ import annotations

import math
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.stats.intervals import Interval
from steelyard.stats.sequential import BettingTest, confidence_sequence, difference_to_unit, unit_to_difference

THRESHOLDS = (0.2, 0.5, 0.8, 0.95)
thresholds = st.sampled_from(THRESHOLDS)
judged = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60)
fractions = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60)
values = st.one_of(judged, fractions)


def decided(values, threshold=0.5, *, level=0.95, total=None):
    """(n, decision) after all values were offered."""
    test = BettingTest(threshold, level=level, total=total)
    for value in values:
        test.observe(value)
    return test.n, test.decision


def test_nine_straight_wins_decide_and_eight_do_not():
    assert decided([1] * 8) == (8, "")
    assert decided([1] * 30) == (9, "above")
    assert decided([0] * 30) == (9, "below")


def test_lower_limit_after_nineteen_wins_of_nineteen():
    (interval,) = confidence_sequence([1] * 19)
    assert interval.low == pytest.approx(0.71803, abs=5e-6)
    assert interval.high == 1


def test_a_straight_win_decides_a_full_set_of_any_size_by_the_ninth():
    """The smaller the set, the more the first wins take from what the rest must average."""
    ends = [decided([1] * total, total=total)[0] for total in (1, 3, 10, 20, 100, 10_000)]
    assert ends == [1, 2, 6, 7, 9, 9]


def test_ties_leave_the_capital_of_the_population_as_it_is():
    assert decided([0.5] * 1000 + [1] * 8) == (1008, "")
    assert decided([0.5] * 1000 + [1] * 9) == (1009, "above")
    assert decided([0.8] * 1000 + [0] * 30, 0.8) == (1000 + decided([0] * 30, 0.8)[0], "below")


def test_only_ties_decide_nothing_and_are_equal_once_all_are_seen():
    assert decided([0.5] * 500) == (500, "")
    assert decided([0.5] * 499, total=500) == (499, "")
    assert decided([0.5] * 500, total=500) == (500, "equal")


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.8])
def test_a_full_set_at_the_threshold_is_equal_in_spite_of_rounding(threshold):
    assert decided([threshold] * 1000, threshold, total=1000) == (1000, "equal")


def test_many_fractions_keep_their_sum():
    """A plain running sum of these is 5e-8 off; the test would call the set smaller or larger than it is."""
    pairs = times(25_000, 50_000)
    values = [0.1, 0.7] * pairs
    plain = list(accumulate(values))[-1]
    assert abs(plain - math.fsum(values)) > 1e-9
    test = BettingTest(0.4, level=1 - 1e-12, total=len(values))
    for value in values:
        test.observe(value)
    assert (test.n, test.decision) == (2 * pairs, "equal")


def test_alternating_wins_and_losses_stay_undecided_until_the_last_settles_it():
    assert decided([1, 0] * 500) == (1000, "")
    assert decided([1, 0] * 500, total=1000) == (1000, "equal")
    assert decided([1, 0] * 500 + [1], total=1001) == (1001, "above")
    assert decided([0, 1] * 500 + [0], total=1001) == (1001, "below")


def test_what_the_rest_cannot_change_is_decided_at_once():
    mixed = [1, 0] * 4
    assert decided([*mixed, 1], total=10) == (9, "")
    assert decided([*mixed, 1, 1], total=10) == (10, "above")
    assert decided([*mixed, 1, 1, 0], total=11) == (10, "above")
    assert decided([*mixed, 0.5, 0], total=(9.5).__ceil__()) == (10, "below")
    assert decided([1, 1, 0], 0.95, total=20) == (3, "")
    assert decided([1, 1, 0, 0], 0.95, total=20) == (4, "below")


def test_observations_after_a_decision_are_ignored_and_counted_against_the_full_set():
    test = BettingTest(total=12)
    for _ in range(12):
        test.observe(1)
    assert (test.n, test.decision) == (6, "above")
    with pytest.raises(ValueError, match="all 12 values"):
        test.observe(1)


@pytest.mark.parametrize("x", [-0.01, 1.01, math.nan, math.inf])
def test_an_observation_outside_the_scale_is_refused_also_after_a_decision(x):
    test = BettingTest()
    with pytest.raises(ValueError, match="between 0 and 1"):
        test.observe(x)
    assert test.n == 0
    for _ in range(9):
        test.observe(1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        test.observe(x)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"threshold": 0.0}, "strictly between"),
        ({"threshold": 1.0}, "strictly between"),
        ({"threshold": math.nan}, "strictly between"),
        ({"level": 95}, "confidence level"),
        ({"total": 0}, "at least one value"),
    ],
)
def test_a_test_without_a_question_is_refused(options, wrong):
    with pytest.raises(ValueError, match=wrong):
        BettingTest(**options)


@given(values, thresholds, st.booleans())
def test_decision_is_taken_when_the_sequence_first_leaves_the_threshold_out(values, threshold, full):
    total = len(values) if full else None
    moments = range(len(values) + 1)
    sequence = confidence_sequence(values, total=total, at=moments)
    outside = [
        (n, "above" if threshold < low - 1e-9 else "below")
        for n, (low, high) in enumerate(sequence)
        if not low - 1e-9 <= threshold <= high + 1e-9
    ]
    # A limit that comes to lie on the threshold itself is a matter of rounding.
    assume(all(abs(threshold - limit) > 1e-9 for pair in sequence[:-1] for limit in pair))
    if outside:
        assert decided(values, threshold, total=total) == outside[0]
    else:
        assert decided(values, threshold, total=total) == (len(values), "equal" if full else "")


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize(("threshold", "wins"), [(0.5, 0.26), (0.5, 0.22), (0.8, 0.56), (0.35, 0.35)])
def test_decision_and_sequence_agree_on_judged_sets_of_four_hundred(threshold, wins, full):
    """Long enough for the bets to grow, and the capital, not what is certain, to decide."""
    rng = np.random.default_rng(4)
    early = 0
    for _ in range(5):
        values = rng.choice([0, 0.5, 1], p=[0.7 - wins, 0.3, wins], size=400)
        total = 400 if full else None
        n, decision = decided(values.tolist(), threshold, total=total)
        before, after = confidence_sequence(values, total=total, at=[n - 1, n])
        assert before.low <= threshold <= before.high
        assert decision == ("above" if threshold < after.low else "below" if after.high < threshold else "")
        early += n < 400
    assert early >= 1


@given(values, thresholds)
def test_a_full_set_is_always_decided_by_its_last_value(values, threshold):
    n, decision = decided(values, threshold, total=len(values))
    assert decision
    if n == len(values):
        surplus = math.fsum(values) - threshold * n
        assert decision == ("equal" if abs(surplus) <= 1e-9 else "above" if surplus > 0 else "below")


@given(values, thresholds, st.booleans())
def test_turning_the_scale_round_turns_the_decision_round(values, threshold, full):
    total = len(values) if full else None
    turned = {"": "", "equal": "equal", "above": "below", "below": "above"}
    n, decision = decided(values, threshold, total=total)
    # 1 - x is exact for few x only: ties and thresholds on a limit may fall to either side.
    assume(all(1 - (1 - value) == value for value in values) and 1 - (1 - threshold) == threshold)
    assert decided([1 - value for value in values], 1 - threshold, total=total) == (n, turned[decision])


@given(values, st.booleans())
def test_a_higher_level_decides_no_earlier(values, full):
    total = len(values) if full else None
    usual, strict = (decided(values, level=level, total=total) for level in (0.9, 0.99))
    assert strict[0] >= usual[0]


@given(values, st.booleans(), st.sampled_from([0.5, 0.9, 0.999]))
def test_the_sequence_never_widens_and_keeps_to_what_is_possible(values, full, level):
    total = len(values) + 3 if full else None
    sequence = confidence_sequence(values, level=level, total=total, at=range(len(values) + 1))
    assert sequence[0] == (0, 1)
    sums = [0, *accumulate(values)]
    widths = []
    for n, (low, high) in enumerate(sequence):
        assert 0 <= low <= high <= 1
        widths.append(high - low)
        if total:
            assert sums[n] / total - 1e-9 <= low
            assert high <= (sums[n] + total - n) / total + 1e-9
    assert all(later <= earlier for earlier, later in pairwise(widths))


@given(values, st.booleans(), st.data())
def test_an_interval_does_not_depend_on_the_other_moments_asked_for(values, full, data):
    total = len(values) if full else None
    complete = confidence_sequence(values, total=total, at=range(len(values) + 1))
    some = data.draw(st.lists(st.integers(0, len(values)), max_size=4))
    for moment, result in zip(some, confidence_sequence(values, total=total, at=some), strict=True):
        assert result == pytest.approx(complete[moment], abs=1e-8)


def slow_lower(values, level, total, moment):
    """The running lower limit by bisection on products of logs, bet by bet: the definition, written down."""

    def refuted(mean):
        logs, spent = [0.0] * 16, 0.0
        for i, x in enumerate(values[:moment]):
            left = total - i if total else 1
            need = total * mean - spent if total else mean
            if need <= 0:
                return True
            for k in range(16):
                bet = 0.02 * (0.95 / 0.02) ** (k / 15) * (total / left if total else 1)
                logs[k] += math.log(1 + min(bet, 0.95) * (x * left / need - 1))
            spent += x
            top = max(logs)
            if top + math.log(sum(math.exp(log - top) for log in logs) / 16) >= math.log(2 / (1 - level)):
                return True
        return bool(total) and spent > total * mean

    low, high = 0.0, 1.0
    while high - low > 1e-11:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@given(st.one_of(judged, fractions), st.integers(-1, 3), st.sampled_from([0.8, 0.95, 0.99]))
def test_limits_equal_a_slow_solution_of_the_definition(values, more, level):
    total = None if more < 0 else len(values) + more
    slow = slow_lower(values, level, total, len(values))
    turned = 1 - slow_lower([1 - value for value in values], level, total, len(values))
    assume(slow <= turned)
    assert confidence_sequence(values, level=level, total=total)[0] == pytest.approx((slow, turned), abs=2e-9)


@pytest.mark.parametrize("total", [None, 450, 700])
def test_limits_equal_the_slow_solution_after_the_capital_fell_below_the_smallest_float(total):
    """300 losses leave the boldest bet 10^-390 of its capital, which 150 wins then multiply again."""
    values = [0] * 300 + [1] * 150
    (low, high) = confidence_sequence(values, total=total)[0]
    slow = slow_lower(values, 0.95, total, 450)
    if slow <= high:
        assert low == pytest.approx(slow, abs=2e-9)
    assert low == high
    assert confidence_sequence(values, total=total, at=[300])[0].high < 0.5


def test_limits_that_cross_become_the_point_between_them_nearest_to_the_mean():
    """Wins first is not a random order; a full set still ends at its own mean."""
    values = [1] * 100 + [0] * 900
    (low, high) = confidence_sequence(values)[0]
    assert low == high == pytest.approx(confidence_sequence(values, at=[1000])[0].high)
    assert 0.1 < low < confidence_sequence([1] * 100)[0].low
    assert confidence_sequence(values, total=1000)[0] == pytest.approx((0.1, 0.1))


def test_a_full_set_that_was_seen_has_no_interval_left():
    assert confidence_sequence([0.25, 1, 0.5, 0.25], total=4) == [Interval(0.5, 0.5)]
    (interval,) = confidence_sequence([0.25, 1, 0.5], total=4)
    assert interval == pytest.approx((1.75 / 4, 2.75 / 4))


def test_no_observation_says_nothing():
    assert confidence_sequence([]) == [(0, 1)]
    assert confidence_sequence([], total=3, at=[0, 0]) == [(0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("values", "options", "wrong"),
    [
        ([0, 1.5], {}, "between 0 and 1"),
        ([0, math.nan], {}, "between 0 and 1"),
        ([[0, 1]], {}, "one row"),
        ([0, 1], {"total": 1}, "cannot come from a full set of 1"),
        ([0, 1], {"at": [3]}, "there are 2 observations"),
        ([0, 1], {"at": [-1]}, "there are 2 observations"),
        ([0, 1], {"level": 95}, "confidence level"),
    ],
)
def test_a_sequence_of_what_cannot_be_is_refused(values, options, wrong):
    with pytest.raises(ValueError, match=wrong):
        confidence_sequence(values, **options)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_difference_goes_to_the_unit_scale_and_back(one, other):
    low, high = sorted((one, other))
    interval = Interval(difference_to_unit(low), difference_to_unit(high))
    assert 0 <= interval.low <= interval.high <= 1
    assert unit_to_difference(interval) == pytest.approx((low, high), abs=1e-15)


def test_a_difference_of_scores_out_of_range_is_refused():
    with pytest.raises(ValueError, match="between -1 and 1"):
        difference_to_unit(1.5)


def shares(draw, runs, threshold=0.5, *, total=None):
    """How many of the runs end above, below and undecided or equal."""
    ends = [decided(draw(), threshold, total=total)[1] for _ in range(runs)]
    return np.array([ends.count("above"), ends.count("below")]) / runs


@pytest.mark.parametrize(
    ("threshold", "chances"),
    [(0.5, (0.5, 0, 0.5)), (0.5, (0.3, 0.4, 0.3)), (0.8, (0.15, 0.1, 0.75)), (0.95, (0.05, 0, 0.95))],
)
def test_at_most_one_run_in_twenty_raises_a_false_alarm_about_a_population(threshold, chances):
    rng = np.random.default_rng(5)
    result = shares(lambda: rng.choice([0, 0.5, 1], p=chances, size=300).tolist(), times(100, 300), threshold)
    assert result.sum() <= 0.05
    better = shares(lambda: rng.choice([0, 0.5, 1], p=chances, size=300).tolist(), times(60, 300), threshold * 0.75)
    assert better[0] > 0.9
    assert better[1] == 0


@pytest.mark.parametrize(("wins", "side"), [(100, None), (101, 1), (99, 0)])
def test_at_most_one_run_in_twenty_contradicts_the_full_set(wins, side):
    """Sets that a single answer keeps from a draw, 20 ties among them: the hardest to tell."""
    rng = np.random.default_rng(6)
    full = np.array([1.0] * wins + [0.0] * (200 - wins) + [0.5] * 20)
    ends = [decided(rng.permutation(full).tolist(), total=220) for _ in range(times(100, 400))]
    wrong = [d for _, d in ends if d != {None: "equal", 1: "above", 0: "below"}[side]]
    assert len(wrong) <= 0.05 * len(ends)
    assert all(decision for _, decision in ends)


def test_the_sequence_holds_the_mean_at_all_moments_in_nineteen_runs_of_twenty():
    rng = np.random.default_rng(7)
    missed, runs = 0, times(100, 300)
    for _ in range(runs):
        low, high = confidence_sequence(rng.beta(2, 3, size=400))[0]
        missed += not low <= 0.4 <= high
    assert missed <= 0.05 * runs


def test_a_clear_full_set_takes_few_of_its_values():
    rng = np.random.default_rng(8)
    full = np.array([1.0] * 400 + [0.0] * 200 + [0.5] * 205)
    taken = [decided(rng.permutation(full).tolist(), total=805)[0] for _ in range(50)]
    assert np.mean(taken) < 0.2 * 805


def test_full_takes_fewer_values_than_population():
    rng = np.random.default_rng(9)
    runs = [rng.choice([0, 0.5, 1], p=[0.25, 0.4, 0.35], size=400).tolist() for _ in range(40)]
    full, population = (sum(decided(values, total=total)[0] for values in runs) for total in (400, None))
    assert full < 0.8 * population
