"""Corrected rates and means: worked values, other implementations, and what must not change them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.correction import Cell, measured
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.corrected import corrected_difference, corrected_mean
from steelyard.stats.intervals import mean_interval, wilson, wilson_clustered
from steelyard.stats.judged import JudgedLabels, verdict_rates

ORACLES = json.loads((Path(__file__).parent / "oracles" / "correction.json").read_text())


def of_cells(cells, unlabelled):
    """(label, verdict) -> how many, and verdict -> how many without a label."""
    labels = [label for (label, _), count in cells.items() for _ in range(count)]
    verdicts = [verdict for (_, verdict), count in cells.items() for _ in range(count)]
    verdicts += [verdict for verdict, count in unlabelled.items() for _ in range(count)]
    return JudgedLabels(labels + [None] * sum(unlabelled.values()), verdicts)


@pytest.mark.parametrize("name", ORACLES["runs"])
def test_a_mean_from_many_labels_is_that_of_ppi_py(name):
    run = ORACLES["runs"][name]
    data = JudgedLabels(run["labels"] + [None] * len(run["others"]), run["verdicts"] + run["others"])
    corrected = corrected_mean(data, method="ppi++")
    # ppi_py takes the variance of all verdicts for its lambda, divides the covariance by n, and uses z in place of t.
    assert corrected.value == pytest.approx(run["value"], abs=4e-3)
    assert tuple(corrected.interval) == pytest.approx(run["interval"], abs=5e-3)


@pytest.mark.parametrize("counted", ORACLES["shares"], ids=lambda counted: f"{counted['successes']} of {counted['n']}")
def test_predictive_values_have_the_limits_of_statsmodels(counted):
    successes, n = counted["successes"], counted["n"]
    rates = verdict_rates(of_cells({(1, 1): successes, (0, 1): n - successes, (0, 0): 5}, {1: 3}))
    assert rates.ppv.value == pytest.approx(successes / n)
    assert tuple(rates.ppv.interval) == pytest.approx(counted["wilson"], abs=1e-9)
    assert tuple(clopper_pearson(successes, n)) == pytest.approx(counted["exact"], abs=1e-9)


def test_power_tuned_mean_by_hand():
    labels, verdicts = [1, 0, 1, 1, 0, 1] * 5, [1, 0, 1, 0, 0, 1] * 5
    others = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1] * 5
    y, f, rest = (np.array(side, dtype=float) for side in (labels, verdicts, others))
    tuned = np.cov(y, f)[0, 1] / ((1 + 30 / 60) * np.var(f, ddof=1))
    variance = tuned**2 * np.var(rest, ddof=1) / 60 + np.var(y - tuned * f, ddof=1) / 30
    corrected = corrected_mean(JudgedLabels(labels + [None] * 60, verdicts + others), method="ppi++")
    assert corrected.value == pytest.approx(tuned * rest.mean() + (y - tuned * f).mean())
    # 0.754978 for six labels and twelve others in the same proportions.
    assert corrected.value == pytest.approx(0.754978, abs=0.02)
    assert corrected.interval.high - corrected.interval.low == pytest.approx(
        2 * 2.045230 * math.sqrt(variance), rel=1e-6
    )


def test_post_stratified_rate_by_hand():
    corrected = corrected_mean(of_cells({(1, 1): 18, (0, 1): 2, (1, 0): 3, (0, 0): 27}, {1: 180, 0: 270}))
    (low1, high1), (low0, high0), mix = clopper_pearson(18, 20), clopper_pearson(3, 30), wilson(200, 500)
    value = 0.4 * 0.9 + 0.6 * 0.1
    assert corrected.method == "post-stratified"
    assert corrected.raw == pytest.approx(0.4)
    assert corrected.value == pytest.approx(value)
    below = [0.4 * (0.9 - low1), 0.6 * (0.1 - low0), 0.8 * (0.4 - mix.low)]
    above = [0.4 * (high1 - 0.9), 0.6 * (high0 - 0.1), 0.8 * (mix.high - 0.4)]
    assert corrected.interval.low == pytest.approx(value - math.hypot(*below), abs=1e-4)
    assert corrected.interval.high == pytest.approx(value + math.hypot(*above), abs=1e-4)


def test_method_follows_from_counts_and_is_named():
    few = of_cells({(1, 1): 30, (0, 1): 3, (1, 0): 3, (0, 0): 30}, {1: 200, 0: 200})
    many = of_cells({(1, 1): 60, (0, 1): 12, (1, 0): 12, (0, 0): 60}, {1: 400, 0: 400})
    sure = of_cells({(1, 1): 60, (0, 1): 1, (1, 0): 1, (0, 0): 60}, {1: 400, 0: 400})
    assert (corrected_mean(few).method, corrected_mean(few).why) == (
        "post-stratified", "fewer than 40 labels of the rarer class: 33",
    )  # fmt: skip
    assert corrected_mean(many).method == "ppi++"
    assert corrected_mean(sure).why == "fewer than 10 labels in the rarest cell of label by verdict: 1"


def test_labels_alone_are_used_where_a_judge_adds_nothing():
    same = corrected_mean(of_cells({(1, 1): 30, (0, 1): 10}, {1: 400}))
    assert (same.method, same.why) == ("labels alone", "the judge gives all records the same verdict")
    assert same.interval == clopper_pearson(30, 40)
    most = corrected_mean(of_cells({(1, 1): 30, (0, 1): 2, (0, 0): 30}, {1: 10, 0: 10}))
    assert (most.method, most.why) == ("labels alone", "most records are labelled")
    assert most.interval == clopper_pearson(30, 62)


def test_below_thirty_labels_or_clusters_there_is_only_the_count():
    few = corrected_mean(of_cells({(1, 1): 20, (0, 0): 9}, {1: 100, 0: 100}))
    assert (few.value, few.interval) == (None, None)
    assert few.reason == "29 labelled records; a corrected value needs 30"
    labels, verdicts = [1, 0] * 50 + [None] * 100, [1, 0] * 100
    clustered = corrected_mean(JudgedLabels(labels, verdicts, clusters=[number // 5 for number in range(200)]))
    assert clustered.value is None
    assert clustered.reason == "labels in 20 clusters; a corrected value needs 30"


def test_a_stratum_without_labels_widens_the_interval_by_its_weight():
    cells = {(1, 1): 20, (0, 1): 20, (1, 0): 20, (0, 0): 20}
    known = corrected_mean(of_cells(cells, {1: 200, 0: 200}))
    unparsed = corrected_mean(of_cells(cells, {1: 200, 0: 200, None: 120}))
    assert unparsed.value == pytest.approx(0.5)
    assert unparsed.interval.low < known.interval.low
    assert unparsed.interval.low > known.interval.low - 0.2 * 0.5


def test_a_draw_that_favours_failures_is_undone_by_its_weights():
    rng = np.random.default_rng(5)
    truth = (rng.random(20_000) < 0.8).astype(float)
    verdict = np.where(rng.random(20_000) < 0.7, truth, 1 - truth)
    # Records with a label of 0 are drawn four times as often, whatever the judge says.
    chance = np.where(truth == 1, 0.1, 0.4)
    labels = np.where(rng.random(20_000) < chance, truth, np.nan)
    plain = corrected_mean(JudgedLabels(labels, verdict))
    weighted = corrected_mean(JudgedLabels(labels, verdict, weights=1 / chance))
    assert plain.interval.high < 0.8
    assert weighted.interval.low < 0.8 < weighted.interval.high


def test_the_raw_rate_has_the_interval_of_the_verdicts_alone():
    """Wilson's over all verdicts, by cluster where there are any; of ratings Student's t. No verdict gives none."""
    labels = [1.0] * 20 + [0.0] * 10 + [math.nan] * 70
    verdicts = [1.0] * 60 + [0.0] * 30 + [math.nan] * 10
    plain = corrected_mean(JudgedLabels(labels, verdicts))
    assert (plain.raw, plain.raw_interval) == (pytest.approx(2 / 3), wilson(60, 90))
    clusters = [at // 2 for at in range(100)]
    of_pairs = corrected_mean(JudgedLabels(labels, verdicts, clusters=clusters)).raw_interval
    assert of_pairs == wilson_clustered([1] * 60 + [0] * 30, clusters=clusters[:90])
    assert of_pairs.high - of_pairs.low > plain.raw_interval.high - plain.raw_interval.low
    ratings = [float(1 + at % 5) for at in range(100)]
    rated = corrected_mean(JudgedLabels(labels, ratings), scale=(1, 5)).raw_interval
    assert rated == mean_interval(ratings, scale=(1, 5))
    silent = corrected_mean(JudgedLabels(labels, [math.nan] * 100))
    assert (silent.raw, silent.raw_interval, silent.why) == (None, None, "the judge gave no verdict")


def test_equal_ratings_on_an_unknown_scale_have_no_interval():
    corrected = corrected_mean(JudgedLabels([4] * 40 + [None] * 100, [4, 5] * 70))
    assert (corrected.method, round(corrected.value, 9), corrected.interval) == ("labels alone", 4, None)
    assert corrected.reason == "no interval: the labels are all equal, and the scale is not known"
    assert corrected_mean(JudgedLabels([4] * 40 + [None] * 100, [4, 5] * 70), scale=(1, 5)).interval.low < 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: JudgedLabels([1, 0], [1]), "2 labels, 1 verdicts"),
        (lambda: JudgedLabels([1, 0], [1, 0], clusters=["a"]), "2 records and 1 clusters"),
        (lambda: JudgedLabels([1, math.inf], [1, 0]), "infinity"),
        (lambda: JudgedLabels([1, 0], [1, 0], weights=[1, 0]), "positive number"),
        (lambda: corrected_mean(JudgedLabels([None], [1])), "needs labels"),
        (lambda: corrected_mean(JudgedLabels([1, 2], [1, 3]), method="post-stratified"), "must be 0 or 1"),
        (lambda: verdict_rates(JudgedLabels([3], [1])), "must be 0 or 1"),
    ],
)
def test_what_cannot_be_corrected_is_refused_with_a_reason(data, message):
    with pytest.raises(ValueError, match=message):
        data()


records = st.lists(
    st.tuples(st.sampled_from([0, 1, None]), st.sampled_from([0, 1, None]), st.integers(0, 60)),
    min_size=40,
    max_size=90,
)


@given(records)
def test_swapping_both_classes_mirrors_a_rate_and_no_number_is_nan(rows):
    labels, verdicts, clusters = (list(column) for column in zip(*rows, strict=True))
    if all(label is None for label in labels):
        return
    swapped = [[None if value is None else 1 - value for value in side] for side in (labels, verdicts)]
    for grouped in (None, clusters):
        corrected = corrected_mean(JudgedLabels(labels, verdicts, clusters=grouped))
        mirrored = corrected_mean(JudgedLabels(*swapped, clusters=grouped))
        assert corrected.method == mirrored.method
        if corrected.value is None:
            assert corrected.reason
            continue
        assert mirrored.value == pytest.approx(1 - corrected.value)
        assert (1 - mirrored.interval.high, 1 - mirrored.interval.low) == pytest.approx(corrected.interval, abs=1e-9)
        assert 0 <= corrected.interval.low <= corrected.value <= corrected.interval.high <= 1


@given(records, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(rows, random):
    if all(label is None for label, _, _ in rows):
        return
    shuffled = random.sample(rows, len(rows))
    corrected, again = (
        corrected_mean(
            JudgedLabels([row[0] for row in each], [row[1] for row in each], clusters=[row[2] for row in each])
        )
        for each in (rows, shuffled)
    )
    assert (corrected.method, corrected.reason) == (again.method, again.reason)
    if corrected.value is not None:
        assert again.value == pytest.approx(corrected.value)
        assert tuple(again.interval) == pytest.approx(tuple(corrected.interval), abs=1e-9)


def test_a_difference_on_the_same_records_is_narrower_than_of_separate_ones():
    rng = np.random.default_rng(3)
    hard = rng.random(1_000)
    sides = []
    for rate in (0.8, 0.6):
        truth = (hard < rate).astype(float)
        sides.append((truth, np.where(rng.random(1_000) < 0.9, truth, 1 - truth)))
    first_200, last_200 = np.arange(1_000) < 200, np.arange(1_000) >= 800

    def side(number, labelled):
        truth, verdict = sides[number]
        return JudgedLabels(np.where(labelled, truth, np.nan), verdict)

    same = corrected_difference(side(0, first_200), side(1, first_200))
    apart = corrected_difference(side(0, first_200), side(1, last_200))
    assert same.interval.low < 0.2 < same.interval.high
    assert same.correlation > apart.correlation
    separate = [side.interval.high - side.interval.low for side in (same.first, same.second)]
    assert same.interval.high - same.interval.low < 0.95 * math.hypot(*separate)
    turned = corrected_difference(side(1, first_200), side(0, first_200))
    assert (turned.value, turned.interval.low) == pytest.approx((-same.value, -same.interval.high))


def test_a_difference_needs_to_know_what_belongs_together():
    one, other = JudgedLabels([1, 0], [1, 0]), JudgedLabels([1], [1])
    with pytest.raises(ValueError, match="name the clusters"):
        corrected_difference(one, other)
    corrected = corrected_difference(one, one)
    assert corrected.value is None
    assert corrected.reason.startswith("first: 2 labelled records; a corrected value needs 30; second:")


@pytest.mark.parametrize(
    "cell",
    [
        Cell(30, 1, 0.98, 0.98, 0.02),
        Cell(30, 1, 0.6, 0.98, 0.9),
        Cell(60, 2, 0.9, 0.9, 0.5),
        Cell(150, 5, 0.98, 0.6, 0.1),
    ],
)
def test_the_interval_of_a_rate_holds_the_truth_as_often_as_it_says(cell):
    """Of the grid of `benchmarks.correction`, one of each size of cluster and kind of judge; seeded."""
    draws = times(150, 1000)
    held = measured(cell, draws, ("chosen",))["chosen"]
    assert held.holds >= 0.94 - 2 * math.sqrt(0.94 * 0.06 / draws)


def test_power_tuned_intervals_alone_miss_a_rare_failure_which_is_why_they_are_not_chosen():
    held = measured(Cell(30, 1, 0.98, 0.98, 0.02), times(150, 1000), ("chosen", "ppi++", "Rogan-Gladen"))
    assert held["ppi++"].holds < 0.6
    assert held["Rogan-Gladen"].width > 3 * held["chosen"].width


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_good_judge_makes_the_interval_narrower_than_labels_alone(rate):
    held = measured(Cell(100, 1, 0.9, 0.9, rate), times(50, 400), ("chosen", "labels alone"))
    assert held["chosen"].width < 0.95 * held["labels alone"].width
