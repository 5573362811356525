"""Calibration error, its value by chance, and the parts of the Brier score, by hand and against draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.classification import calibration_figures
from steelyard.stats.intervals import wilson

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def test_the_figures_are_those_computed_by_hand():
    found = calibration_figures([0.9, 0.95, 0.95, 0.6, 0.6, 1.0], [1, 1, 0, 1, 0, 1])
    # Bins: 0.6 to 0.7 (0.6 stated, 1/2 right) and 0.9 to 1 (0.95 stated, 3/4 right); 4 of 6 are right.
    assert [(bin_.low, bin_.high, bin_.n) for bin_ in found.bins] == [(0.6, 0.7, 2), (0.9, 1.0, 4)]
    assert found.ece == pytest.approx((2 * 0.1 + 4 * 0.2) / 6)
    assert found.reliability == pytest.approx((2 * 0.1**2 + 4 * 0.2**2) / 6)
    assert found.resolution == pytest.approx((2 * (1 / 2 - 2 / 3) ** 2 + 4 * (3 / 4 - 2 / 3) ** 2) / 6)
    assert found.uncertainty == pytest.approx(2 / 9)
    assert found.brier == pytest.approx((0.01 + 0.0025 + 0.9025 + 0.16 + 0.36 + 0) / 6)
    assert found.bins[1].interval == wilson(3, 4)


@given(ANSWERS)
def test_the_parts_of_the_brier_score_are_all_of_it(answers):
    stated, right = zip(*answers, strict=True)
    found = calibration_figures(stated, right)
    parts = found.reliability - found.resolution + found.uncertainty + found.within
    assert parts == pytest.approx(found.brier)
    assert 0 <= found.ece <= 1
    assert sum(bin_.n for bin_ in found.bins) == found.n == len(answers)


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_perfect_confidences_have_the_error_that_is_called_chance(n):
    rng = np.random.default_rng(1)
    errors, chances = [], []
    for _ in range(400):
        stated = rng.beta(4, 2, n)
        found = calibration_figures(stated, rng.random(n) < stated)
        errors.append(found.ece)
        chances.append(found.ece_by_chance)
    assert np.mean(errors) == pytest.approx(np.mean(chances), rel=0.06)


def test_a_confidence_stands_in_the_bin_that_it_begins():
    stated = [number / 10 for number in range(11)]
    assert [bin_.n for bin_ in calibration_figures(stated, [0] * 11).bins] == [1] * 9 + [2]


def test_repeats_are_no_new_evidence():
    alone = calibration_figures([0.9] * 8 + [0.8] * 8, [1] * 10 + [0] * 6)
    of_four = calibration_figures([0.9] * 8 + [0.8] * 8, [1] * 10 + [0] * 6, clusters=[no // 4 for no in range(16)])
    assert of_four.brier == alone.brier
    width, alone_width = (found.brier_interval.high - found.brier_interval.low for found in (of_four, alone))
    assert width > alone_width
    assert of_four.bins[0].interval.high > alone.bins[0].interval.high


@pytest.mark.parametrize("stated", [[1.2, 0.5], [-0.1, 0.5], [float("nan"), 0.5], []])
def test_what_is_no_probability_is_refused(stated):
    with pytest.raises(ValueError, match=r"between 0 and 1|finite|at least one"):
        calibration_figures(stated, [1] * len(stated))
