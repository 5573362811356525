"""Histograms count every value once, at a place that a reader would name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.analysis.scores.score_summary import histogram
from steelyard.plain_json import json_value
from steelyard.stats.intervals import Interval


def row(value, outcome="scored", name="rating"):
    return ScoreRow("s", "", "", 0, name, outcome, value)


def found_of(values, scale=(1, 5), rows=()):
    columns = ScoreColumns.of([*(row(float(value)) for value in values), *rows])
    return histogram(columns, "rating", Interval(*scale))


@pytest.mark.parametrize(
    ("value", "counts_at"), [(1, 1), (1.49, 1), (1.5, 2), (2.4, 2), (3.5, 4), (4.5, 5), (5, 5), (0.2, 1), (7, 5)]
)
def test_a_value_counts_at_the_nearest_whole_one_a_half_at_the_upper_and_outside_at_the_end(value, counts_at):
    bins = found_of([value])
    assert [edge for edge, count in bins.bins if count] == [counts_at]
    assert bins.between == (value != int(value))


@pytest.mark.parametrize(
    ("scale", "whole", "edges"),
    [
        ((1, 5), True, [1, 2, 3, 4, 5]),
        ((0, 2), True, [0, 1, 2]),
        ((0, 12), True, list(range(13))),
        ((-1, 1), True, [-1, 0, 1]),
        ((0, 1), False, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ((0, 13), False, [0, 1.3, 2.6, 3.9, 5.2, 6.5, 7.8, 9.1, 10.4, 11.7]),
        ((0.5, 2.5), False, [0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3]),
    ],
)
def test_short_whole_scales_have_a_bin_per_value_and_others_ten(scale, whole, edges):
    bins = found_of([], scale)
    assert bins.whole_values is whole
    assert [edge for edge, _ in bins.bins] == edges


@pytest.mark.parametrize(("value", "bin_"), [(0, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.69, 6), (0.999, 9), (1, 9)])
def test_a_border_belongs_to_the_upper_bin_and_the_highest_value_to_the_last(value, bin_):
    counts = [count for _, count in found_of([value], (0, 1)).bins]
    assert counts.index(1) == bin_


def test_what_has_no_value_is_counted_beside_the_bins():
    rows = [row(None, outcome) for outcome in ("unparsed", "unparsed", "refused", "not_applicable", "error")]
    bins = found_of([3], rows=[*rows, row(None, "error", ""), row(4.0, name="another")])
    assert (bins.scored, bins.unparsed, bins.refused, bins.not_applicable, bins.errors) == (1, 2, 1, 1, 2)
    assert json.loads(json.dumps(json_value(bins)))["bins"] == [[1, 0], [2, 0], [3, 1], [4, 0], [5, 0]]


@given(st.lists(st.floats(-10, 110)), st.sampled_from([(1, 5), (0, 1), (0, 100), (-3.5, 8)]))
def test_every_value_is_counted_exactly_once(values, scale):
    bins = found_of(values, scale)
    assert sum(count for _, count in bins.bins) == bins.scored == len(values)
