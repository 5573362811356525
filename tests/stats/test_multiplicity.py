from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from steelyard.stats.multiplicity import benjamini_hochberg, holm

families = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.05]), min_size=1, max_size=30)


@given(families)
def test_holm_equals_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), rel=1e-12, abs=1e-300)


@given(families)
def test_benjamini_hochberg_equals_statsmodels(p_values):
    expected = multipletests(p_values, method="fdr_bh")[1].tolist()
    assert benjamini_hochberg(p_values) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(families)
def test_adjusting_never_lowers_a_p_value_and_holm_is_the_stricter(p_values):
    assert all(
        raw <= shared * (1 + 1e-12) and shared <= complete * (1 + 1e-12) and complete <= 1
        for raw, shared, complete in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True)
    )


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_adjusted_values_come_in_the_order_of_the_raw_ones(adjust):
    p_values = [0.2, 0.001, 0.04, 0.03]
    by_rank = adjust(sorted(p_values))
    assert adjust(p_values) == [by_rank[sorted(p_values).index(p)] for p in p_values]


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_equal_p_values_stay_equal(adjust):
    first, second, *_ = adjust([0.02, 0.02, 0.9])
    assert first == second


def test_adjusted_values_of_a_family_worked_by_hand():
    assert holm([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.04, 0.04, 0.5])


def test_adjusted_values_end_at_one():
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert benjamini_hochberg([0.6, 1.0]) == [1.0, 1.0]


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_one_comparison_needs_no_adjustment_and_none_gives_none(adjust):
    assert adjust([0.03]) == [0.03]
    assert adjust([]) == []


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(adjust, wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust([0.1, wrong])


def test_holm_rarely_raises_any_false_alarm_where_all_targets_are_equal():
    """Ten comparisons with one baseline, so that they depend on each other: 5 % +- 1 % at 2,000 families."""
    rng = np.random.default_rng(2)
    z = (rng.normal(size=(2000, 10)) - rng.normal(size=(2000, 1))) / np.sqrt(2)
    families = 2 * norm.sf(np.abs(z))
    unadjusted = np.mean(families.min(axis=1) < 0.05)
    alarms = np.mean([min(holm(family)) < 0.05 for family in families.tolist()])
    assert unadjusted > 0.2
    assert alarms <= 0.06
