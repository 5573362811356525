"""The consensus of raters: the example of the paper, what a direct maximisation finds, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats import dawid_skene

PATIENTS = """111.1.1.1.1 333.4.3.3.4 112.2.1.2.2 222.3.1.2.1 222.3.2.2.2 222.3.3.2.2 122.2.1.1.1 333.3.4.3.3
222.2.2.2.3 232.2.2.2.3 444.4.4.4.4 222.3.3.4.3 111.1.1.1.1 222.3.2.1.2 121.1.1.1.1 111.2.1.1.1 111.1.1.1.1 111.1.1.1.1
222.2.2.2.1 222.1.3.2.2 222.2.2.2.2 222.2.2.2.1 222.3.2.2.2 221.2.2.2.2 111.1.1.1.1 111.1.1.1.1 232.2.2.2.2 111.1.1.1.1
111.1.1.1.1 112.1.1.2.1 111.1.1.1.1 333.3.2.3.3 111.1.1.1.1 222.2.2.2.2 222.3.2.3.2 433.4.3.4.3 221.2.2.3.2 232.3.2.3.3
333.3.4.3.2 111.1.1.1.1 111.1.1.1.1 121.2.1.1.1 232.2.2.2.2 121.1.1.1.1 222.2.2.2.2"""
"""Dawid and Skene 1979, table 1: fitness of 45 patients, by the first observer three times and by four others once."""
COLUMNS = [[int(patient.replace(".", "")[at]) for patient in PATIENTS.split()] for at in range(7)]


def test_the_example_of_the_paper():
    found = dawid_skene(COLUMNS, raters=[1, 1, 1, 2, 3, 4, 5])
    assert len(PATIENTS.split()) == 45
    assert found.shares.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert found.errors[0, :2].round(2).tolist() == [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0]]
    assert found.errors[0, 2:].round(2).tolist() == [[0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    assert found.errors[1, 1].round(2).tolist() == [0.05, 0.63, 0.31, 0]
    assert (found.converged, found.raters) == (True, (1, 2, 3, 4, 5))


def drawn(n, rates, *, share=0.6, seed=3):
    """Binary truth and what raters of a sensitivity and specificity say of it."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    said = [np.where(rng.random(n) < np.where(truth == 1, tpr, tnr), truth, 1 - truth).tolist() for tpr, tnr in rates]
    return truth, said


def test_a_rater_who_knows_outvotes_two_who_guess():
    truth, said = drawn(2000, [(0.95, 0.95), (0.9, 0.92), (0.55, 0.55), (0.55, 0.55), (0.55, 0.55)])
    found = dawid_skene(said)
    right = float(np.mean(np.asarray(found.verdicts()) == truth))
    majority = float(np.mean((np.mean(said, axis=0) > 0.5) == truth))
    assert right > majority + 0.05
    assert abs(found.errors[0, 1, 1] - 0.95) < 0.04
    assert abs(found.shares[1] - 0.6) < 0.05


def test_no_rates_near_the_estimate_are_likelier():
    def log_likelihood(shares, errors, said):
        return sum(
            math.log(sum(shares[j] * math.prod(errors[r][j][one[u]] for r, one in enumerate(said)) for j in (0, 1)))
            for u in range(len(said[0]))
        )

    _, said = drawn(200, [(0.8, 0.85), (0.75, 0.9), (0.9, 0.7)])
    found = dawid_skene(said, tolerance=1e-12)
    best = log_likelihood(found.shares, found.errors, said)
    assert best == pytest.approx(found.log_likelihood, abs=1e-6)
    rng = np.random.default_rng(1)
    for _ in range(50):
        moved = np.clip(found.errors[:, :, 0] + rng.normal(0, 0.02, (3, 2)), 0.01, 0.99)
        share = float(np.clip(found.shares[0] + rng.normal(0, 0.02), 0.01, 0.99))
        assert log_likelihood([share, 1 - share], np.stack([moved, 1 - moved], axis=2), said) <= best


ratings = st.lists(st.lists(st.sampled_from([0, 1, None]), min_size=6, max_size=6), min_size=3, max_size=4)


@given(ratings.filter(lambda lists: any(value is not None for one in lists for value in one)), st.randoms())
def test_neither_the_order_of_raters_nor_the_names_of_categories_matter(said, rng):
    found = dawid_skene(said, most=50)
    order = list(range(len(said)))
    rng.shuffle(order)
    shuffled = dawid_skene([said[at] for at in order], most=50)
    assert np.allclose(shuffled.chances, found.chances, atol=1e-6)
    named = dawid_skene([[{0: "no", 1: "yes", None: None}[value] for value in one] for one in said], most=50)
    assert np.allclose(named.chances, found.chances)
    assert np.isfinite(found.errors).all()
    assert np.isfinite(found.log_likelihood)


def test_units_that_nobody_rated_and_even_votes_have_no_verdict():
    found = dawid_skene([[1, 0, None, 1], [1, 0, math.nan, 0]])
    assert found.verdicts()[:3] == [1, 0, None]
    assert found.chances[2].tolist() == [0.5, 0.5]


def test_ratings_that_are_all_alike_are_taken_at_their_word():
    found = dawid_skene([["pass"] * 5] * 3)
    assert (found.categories, found.shares.tolist(), found.verdicts()) == (("pass",), [1.0], ["pass"] * 5)


def test_what_holds_no_ratings_is_refused():
    with pytest.raises(ValueError, match="there are none"):
        dawid_skene([[None, None], [None, math.nan]])
    with pytest.raises(ValueError, match="differ in length"):
        dawid_skene([[1, 0], [1]])
    with pytest.raises(ValueError, match="2 lists of ratings and 1 names"):
        dawid_skene([[1], [0]], raters=["a"])
