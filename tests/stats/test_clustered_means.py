"""The difference of two means over the same clusters of different sizes."""

from __future__ import annotations

import math
import random

import pytest

from steelyard.stats.means import clustered_difference
from steelyard.stats.paired import newcombe_clustered, sign_flip


def values_of(seed, clusters, low, high):
    draw = random.Random(seed)
    at = [cluster for cluster in range(clusters) for _ in range(draw.randint(low, high))]
    return [float(draw.random() < 0.6) for _ in at], at


def test_with_as_many_values_on_both_sides_it_is_the_paired_difference_by_cluster():
    (first, at), (second, _) = values_of(1, 12, 3, 3), values_of(2, 12, 3, 3)
    difference = clustered_difference((first, at), (second, at), rate=True)
    assert difference.interval == pytest.approx(newcombe_clustered(first, second, clusters=at))
    differences = [left - other for left, other in zip(first, second, strict=True)]
    assert difference.p == sign_flip(differences, clusters=at)


def test_a_difference_of_unequal_conversations_is_that_of_the_rates_over_all_values():
    first, second = ([1, 1, 1, 0], [1, 1, 2, 2]), ([1, 0], [1, 2])
    difference = clustered_difference(first, second, rate=False)
    assert (difference.first, difference.second, difference.difference) == (0.75, 0.5, 0.25)
    # e = (0.5, -0.5) over 4 values, f = (0.5, -0.5) over 2: moved (0.125 - 0.25, -0.125 + 0.25); SE^2 = 2 * 2 / 64
    assert difference.error == pytest.approx(0.25)
    assert difference.clusters == 2


def test_order_of_values_and_names_of_clusters_change_nothing():
    first, second = values_of(3, 9, 1, 5), values_of(4, 9, 1, 5)
    turned = clustered_difference(
        (first[0][::-1], [7 * at for at in first[1]][::-1]), (second[0], [7 * at for at in second[1]]), rate=True
    )
    straight = clustered_difference(first, second, rate=True)
    assert turned.interval == pytest.approx(straight.interval)
    assert turned.p == pytest.approx(straight.p)


def test_sides_are_exchangeable():
    first, second = values_of(5, 10, 1, 5), values_of(6, 10, 1, 5)
    there, back = (clustered_difference(*sides, rate=True) for sides in ((first, second), (second, first)))
    assert there.interval == pytest.approx((-back.interval.high, -back.interval.low))
    assert there.p == pytest.approx(back.p)


def test_a_single_cluster_tells_nothing():
    difference = clustered_difference(([1, 0], [1, 1]), ([0], [1]), rate=True)
    assert (difference.interval, difference.p, difference.error) == ((-1, 1), 1.0, math.inf)
    assert clustered_difference(([1, 0], [1, 1]), ([0.5], [1]), rate=False).interval is None


def test_a_cluster_that_one_side_lacks_is_refused():
    with pytest.raises(ValueError, match="both sides"):
        clustered_difference(([1, 0], [1, 2]), ([0], [1]), rate=True)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="finite"):
        clustered_difference(([math.nan], [1]), ([0], [1]), rate=False)
