"""Correlation and agreement of raters against published values, other packages' results, and what must always hold."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.stats import cohen_kappa, correlation, kendall_tau_b, krippendorff_alpha, pearson, spearman

ORACLES = json.loads((Path(__file__).parent / "oracles" / "agreement.json").read_text())
CORRELATIONS = (pearson, spearman, kendall_tau_b)
# Krippendorff 2011, section C: four observers, twelve units, some values missing.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
ratings = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30)


def sides(pairs):
    return [first for first, _ in pairs], [second for _, second in pairs]


class TestPublishedValues:
    def test_alpha_of_two_observers_and_binary_data(self):
        first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
        assert krippendorff_alpha([first, second]).value == pytest.approx(0.095, abs=5e-4)

    def test_alpha_of_two_observers_and_five_names(self):
        assert krippendorff_alpha(["aabbdcccedda", "babbbcccedd" + "d"]).value == pytest.approx(0.692, abs=5e-4)

    @pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
    def test_alpha_of_four_observers_with_gaps(self, scale, alpha):
        coefficient = krippendorff_alpha(OBSERVERS, scale=scale)
        assert coefficient.value == pytest.approx(alpha, abs=5e-4)
        assert (coefficient.n, coefficient.missing) == (11, 1)  # the last unit has one value

    def test_kappa_of_two_psychiatrists(self):
        # J. Cohen, Psychological Bulletin 70, 1968, table 1: 200 patients in three categories.
        counts = {("p", "p"): 88, ("p", "n"): 10, ("p", "s"): 2, ("n", "p"): 14, ("n", "n"): 40, ("n", "s"): 6}
        counts |= {("s", "p"): 18, ("s", "n"): 10, ("s", "s"): 12}
        first, second = sides([pair for pair, n in counts.items() for _ in range(n)])
        assert cohen_kappa(first, second).value == pytest.approx(0.492, abs=5e-4)


class TestOtherPackages:
    @pytest.mark.parametrize("name", ORACLES["pairs"])
    def test_correlations_are_those_of_scipy(self, name):
        pair = ORACLES["pairs"][name]
        for function in CORRELATIONS:
            coefficient = function(pair["first"], pair["second"])
            assert coefficient.value == pytest.approx(pair[function.__name__], abs=1e-9), function.__name__

    @pytest.mark.parametrize("name", [name for name, pair in ORACLES["pairs"].items() if "cohen_kappa" in pair])
    def test_kappas_are_those_of_scikit_learn_and_statsmodels(self, name):
        pair = ORACLES["pairs"][name]
        for weights in (None, "linear", "quadratic"):
            expected = pair[f"cohen_kappa {weights}" if weights else "cohen_kappa"]
            coefficient = cohen_kappa(pair["first"], pair["second"], weights=weights)
            assert coefficient.value == pytest.approx(expected, abs=1e-12)
        assert pair["cohen_kappa statsmodels"] == pytest.approx(pair["cohen_kappa"])

    @pytest.mark.parametrize("name", ORACLES["units"])
    @pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
    def test_alphas_are_those_of_krippendorff(self, name, scale):
        units = ORACLES["units"][name]
        coefficient = krippendorff_alpha(units["ratings"], scale=scale)
        assert coefficient.value == pytest.approx(units[scale], abs=1e-12)


class TestMissingAndConstant:
    def test_pairs_with_a_missing_number_are_left_out_and_counted(self):
        for function in CORRELATIONS:
            coefficient = function([1, None, 3, 4, math.nan], [1, 2, None, 5, 6])
            assert (coefficient.value, coefficient.n, coefficient.missing) == (1.0, 2, 3)

    @pytest.mark.parametrize("function", CORRELATIONS)
    def test_a_constant_list_has_no_correlation_and_says_so(self, function):
        coefficient = function([0.1] * 6, [1, 2, 3, 4, 5, 6])
        assert (coefficient.value, coefficient.interval, coefficient.resamples) == (None, None, 0)
        assert coefficient.reason == "one of the two lists does not vary"

    def test_raters_who_only_say_one_thing_have_no_kappa_and_no_alpha(self):
        for coefficient in (cohen_kappa(["a"] * 5, ["a"] * 5), krippendorff_alpha([["a"] * 5, ["a"] * 5])):
            assert coefficient.value is None
            assert coefficient.reason.startswith("all ratings are equal")

    def test_nothing_rated_by_both_has_no_value(self):
        for coefficient in (
            pearson([], []),
            cohen_kappa(["a", None], [None, "b"]),
            krippendorff_alpha([[1, None]] * 2),
        ):
            assert coefficient.value is None or coefficient.n == 1
        assert pearson([], []).reason == "no unit has enough ratings"

    def test_perfect_agreement_has_no_interval_of_no_width(self):
        coefficient = cohen_kappa([1, 2, 1, 2, 2], [1, 2, 1, 2, 2])
        assert (coefficient.value, coefficient.interval) == (1.0, None)
        assert coefficient.reason == "no interval: every resample gives the same value"
        assert coefficient.undefined / coefficient.resamples == pytest.approx(
            0.6**5 + 0.4**5, abs=0.02
        )  # one category alone

    def test_resamples_without_a_value_are_counted(self):
        # One unit in eight differs: a resample misses it with probability (7/8)^8 = 0.34, and is constant then.
        coefficient = pearson([1, 1, 1, 1, 1, 1, 1, 5], [1, 2, 1, 2, 1, 2, 1, 5])
        assert coefficient.undefined / coefficient.resamples == pytest.approx((7 / 8) ** 8, abs=0.04)
        assert coefficient.interval is not None

    def test_one_cluster_has_a_value_and_no_interval(self):
        coefficient = spearman([1, 2, 3, 4], [2, 1, 4, 3], clusters=["a"] * 4)
        assert coefficient.value == pytest.approx(0.6)
        assert (coefficient.clusters, coefficient.interval) == (1, None)
        assert "single cluster" in coefficient.reason


class TestWrongUse:
    def test_lists_of_different_lengths_are_refused(self):
        with pytest.raises(ValueError, match="3 and 2"):
            pearson([1, 2, 3], [1, 2])
        with pytest.raises(ValueError, match=r"\[3, 2\]"):
            cohen_kappa([1, 2, 3], [1, 2])
        with pytest.raises(ValueError, match="2 units and 3 clusters"):
            pearson([1, 2], [1, 2], clusters=[1, 2, 3])

    def test_texts_have_no_correlation(self):
        with pytest.raises(ValueError, match="'good'"):
            spearman([1, "good"], [1, 2])
        with pytest.raises(ValueError, match="infinite"):
            pearson([1, math.inf], [1, 2])

    def test_weights_of_texts_need_their_order(self):
        with pytest.raises(ValueError, match="give the order"):
            cohen_kappa(["low", "high"], ["low", "low"], weights="linear")
        order = ["low", "middle", "high"]
        coefficient = cohen_kappa(
            ["low", "high", "low"], ["low", "middle", "middle"], weights="linear", categories=order
        )
        assert coefficient.value == cohen_kappa([0, 2, 0], [0, 1, 1], weights="linear").value
        with pytest.raises(ValueError, match="'hgh' is not one of the categories"):
            cohen_kappa(["low", "hgh"], ["low", "low"], categories=order)

    def test_unknown_names_and_a_lone_rater_are_refused(self):
        with pytest.raises(ValueError, match="'squared'"):
            cohen_kappa([1], [1], weights="squared")
        with pytest.raises(ValueError, match="'ratio'"):
            krippendorff_alpha([[1], [1]], scale="ratio")
        with pytest.raises(ValueError, match="two raters or more"):
            krippendorff_alpha([[1, 2]])
        with pytest.raises(ValueError, match="201"):
            cohen_kappa(range(201), range(201))


class TestProperties:
    @given(ratings)
    def test_raters_may_change_places(self, pairs):
        first, second = sides(pairs)
        for function in (*CORRELATIONS, cohen_kappa, lambda one, other: krippendorff_alpha([one, other])):
            assert function(first, second).value == pytest.approx(function(second, first).value)

    @given(ratings)
    def test_a_stricter_rater_agrees_less_and_correlates_as_before(self, pairs):
        first, second = sides(pairs)
        stricter = [rating - 10 for rating in second]
        assert pearson(first, stricter).value == pytest.approx(pearson(first, second).value)
        alphas = [krippendorff_alpha([first, side], scale="interval").value for side in (second, stricter)]
        assert alphas[1] <= (alphas[0] if alphas[0] is not None else 1)

    @given(ratings)
    def test_ranks_alone_matter_to_rank_statistics(self, pairs):
        first, second = sides(pairs)
        cubes = [rating**3 for rating in second]
        for function in (spearman, kendall_tau_b):
            assert function(first, cubes).value == pytest.approx(function(first, second).value)
        ordinal = [krippendorff_alpha([first, second], scale="ordinal")]
        ordinal.append(krippendorff_alpha([[r**3 for r in first], cubes], scale="ordinal"))
        assert ordinal[1].value == pytest.approx(ordinal[0].value)

    @given(ratings)
    def test_values_and_intervals_stay_on_their_scale(self, pairs):
        first, second = sides(pairs)
        for function in CORRELATIONS:
            coefficient = function(first, second)
            limits = coefficient.interval or ()
            assert all(-1 <= number <= 1 for number in (*limits, coefficient.value or 0))
        assert all(number <= 1 for number in cohen_kappa(first, second, weights="quadratic").interval or ())


class TestIntervals:
    PAIRS = ([1, 2, 3, 4, 5, 3, 2, 4, 1, 5], [2, 2, 3, 5, 4, 3, 1, 4, 2, 4])

    def test_equal_seeds_give_equal_intervals_and_others_do_not(self):
        assert pearson(*self.PAIRS, seed=1) == pearson(*self.PAIRS, seed=1)
        assert pearson(*self.PAIRS, seed=1).interval != pearson(*self.PAIRS, seed=2).interval

    def test_a_higher_level_is_wider(self):
        narrow, wide = (krippendorff_alpha(self.PAIRS, scale="ordinal", level=level).interval for level in (0.8, 0.99))
        assert wide.low < narrow.low < narrow.high < wide.high

    def test_repeated_units_in_clusters_are_no_new_evidence(self):
        repeated = [side * 8 for side in self.PAIRS]
        clusters = list(range(10)) * 8
        for function in (*CORRELATIONS, cohen_kappa):
            alone, several = function(*self.PAIRS), function(*repeated, clusters=clusters)
            width = several.interval.high - several.interval.low
            assert width == pytest.approx(alone.interval.high - alone.interval.low, rel=0.15)
            plain = function(*repeated).interval
            assert width > 2 * (plain.high - plain.low)
            assert (several.n, several.clusters) == (80, 10)

    def test_many_numbers_have_the_interval_of_the_exact_resamples(self, monkeypatch):
        # Above so many different pairs tau-b is linearised; at the limit both must agree.
        most = times(1_000, correlation._MOST_PATTERNS)  # more than one block of `_balances`
        monkeypatch.setattr(correlation, "_MOST_PATTERNS", most)
        more = most + most // 20
        first = [math.sin(k) + k / more for k in range(more)]
        second = [math.cos(3 * k) + k / more for k in range(more)]
        linear, exact = kendall_tau_b(first, second), kendall_tau_b(first[:most], second[:most])
        assert linear.value == pytest.approx(exact.value, abs=0.02)
        assert linear.interval.high - linear.interval.low == pytest.approx(
            exact.interval.high - exact.interval.low, rel=0.1
        )
