"""Shares of weighted and clustered verdicts, worked by hand."""

import pytest

from steelyard.stats.judged import JudgedLabels, labelled_part, weighted_share

VALUES, WEIGHTS = [1, 1, 0, 0, 1, 0, 1, 1], [1, 1, 1, 1, 2, 2, 1, 1]


def test_the_effective_number_of_clustered_records_is_that_of_the_linearised_variance():
    """p = 0.6 of a total weight of 10; the clusters' sums of w (y - p) are 0.8, -1.2, -0.4, 0.8.

    SE^2 = 4/3 * 2.88 / 100 = 0.0384, and n_eff = 0.24 / 0.0384 = 6.25, below Kish's 100 / 14.
    """
    share = weighted_share(VALUES, WEIGHTS, [0, 0, 1, 1, 2, 2, 3, 3])
    assert share.share == pytest.approx(0.6)
    assert share.effective == pytest.approx(6.25)
    assert share.n == 8
    assert share.df == pytest.approx(100 / 28 - 1)


def test_clusters_are_numbered_by_first_appearance_unless_each_has_one_record():
    labels, verdicts = [1, None, 0, 1], [1, 1, 0, 0]
    clustered = JudgedLabels(labels, verdicts, clusters=["b", "a", "b", "c"])
    assert clustered.units.tolist() == [0, 1, 0, 2]
    assert labelled_part(clustered)[3].tolist() == [0, 0, 2]
    assert JudgedLabels(labels, verdicts, clusters=["b", "a", "d", "c"]).units is None
    assert JudgedLabels(labels, verdicts).units is None


def test_it_never_exceeds_kishs_number_of_records():
    share = weighted_share(VALUES, WEIGHTS, [0, 1, 0, 2, 3, 3, 1, 2])
    assert share.effective == pytest.approx(100 / 14)
