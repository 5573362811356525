"""How many labels are needed, and which are drawn next."""

import numpy as np
import pytest

from steelyard.stats.corrected import corrected_difference, corrected_mean
from steelyard.stats.judged import JudgedLabels
from steelyard.stats.labels_needed import draw_by_chance, labelling_chances, labels_for_half_width, labels_to_decide


def run_of(n, total, rate=0.6, right=0.9, seed=1):
    rng = np.random.default_rng(seed)
    truth = (rng.random(total) < rate).astype(float)
    verdict = np.where(rng.random(total) < right, truth, 1 - truth)
    return JudgedLabels(np.where(np.arange(total) < n, truth, np.nan), verdict)


def half_width(data):
    low, high = corrected_mean(data).interval
    return (high - low) / 2


def test_the_labels_that_are_asked_for_reach_the_width():
    needed = [labels_for_half_width(run_of(200, 3_000, seed=seed), 0.03) for seed in range(8)]
    labels = 200 + round(np.mean([need.more for need in needed]))
    reached = np.mean([half_width(run_of(labels, 3_000, seed=seed)) for seed in range(8)])
    assert reached == pytest.approx(0.03, rel=0.1)


def test_no_label_is_asked_for_where_the_aim_is_met():
    assert labels_for_half_width(run_of(300, 3_000), 0.2).more == 0


@pytest.mark.parametrize("half_width_aimed_at", [0.05, 0.08, 0.1, 0.12])
def test_no_more_labels_is_said_only_of_an_interval_that_is_narrow_enough(half_width_aimed_at):
    alike = JudgedLabels([1.0] * 60 + [None] * 340, [1.0, 0.0] * 200)
    halves = JudgedLabels([0.5] * 60 + [None] * 340, [1.0, 0.0] * 200)
    runs = [(run_of(n, 1_000, seed=seed), None) for n in (40, 80, 200) for seed in range(4)]
    for data, scale in (*runs, (alike, None), (halves, (0.0, 1.0))):
        interval = corrected_mean(data, scale=scale).interval
        needed = labels_for_half_width(data, half_width_aimed_at, scale=scale)
        assert (needed.more == 0) == (interval.high - interval.low <= 2 * half_width_aimed_at)


def test_a_comparison_without_a_conclusion_needs_more_labels():
    for seed in range(40):
        first, second = run_of(45, 3_000, rate=0.75, seed=seed), run_of(45, 3_000, rate=0.5, seed=seed + 100)
        interval, needed = corrected_difference(first, second).interval, labels_to_decide(first, second)
        assert (needed.more == 0) == (interval.low > 0 or interval.high < 0)


def test_a_width_that_the_records_do_not_allow_is_said():
    needed = labels_for_half_width(run_of(60, 200), 0.01)
    assert needed.more is None
    assert needed.reason == "you need more than these 200 samples"


def test_too_few_labels_give_no_forecast():
    needed = labels_for_half_width(run_of(12, 200), 0.05)
    assert (needed.more, needed.reason) == (None, "12 labelled records; a corrected value needs 30")


def test_better_judges_need_fewer_labels():
    good, poor = (labels_for_half_width(run_of(100, 3_000, right=right), 0.04).more for right in (0.95, 0.7))
    assert good < poor / 2


def test_ratings_need_labels_by_the_variance_that_the_judge_leaves():
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 1, 4_000)
    labels = np.where(np.arange(4_000) < 200, truth, np.nan)
    near = labels_for_half_width(JudgedLabels(labels, truth + rng.normal(0, 0.5, 4_000)), 0.06)
    # The judge leaves 0.2 of a variance of 1: 0.2 / ((0.06 / 1.96)^2 - 0.8 / 4000) = 271.
    assert near.n + near.more == pytest.approx(271, rel=0.15)


def test_a_close_decision_needs_more_labels_than_a_clear_one():
    base = run_of(40, 3_000, rate=0.6)
    close, clear = (labels_to_decide(run_of(40, 3_000, rate=rate, seed=2), base) for rate in (0.70, 0.75))
    assert clear.more < close.more
    assert labels_to_decide(run_of(300, 3_000, rate=0.9, seed=2), run_of(300, 3_000)).more == 0
    assert labels_to_decide(base, base).reason == "both corrected means are equal so far"


def test_uncertain_records_are_drawn_more_often_and_every_record_can_be():
    chances = labelling_chances([0.0] * 90 + [0.25] * 10, 20)
    assert chances.sum() == pytest.approx(20)
    assert chances[95] == 1.0
    assert (chances > 0).all()
    assert labelling_chances([0, 0, 0], 2).tolist() == pytest.approx([2 / 3] * 3)


def test_weights_of_an_uncertain_draw_keep_the_mean_unbiased():
    rng = np.random.default_rng(4)
    unsure = rng.random(500)
    truth = (rng.random(500) < 0.3 + 0.6 * unsure).astype(float)
    chances = labelling_chances(unsure, 60)
    means, plain = [], []
    for _ in range(400):
        rows = draw_by_chance(chances, rng)
        means.append((truth[rows] / chances[rows]).sum() / 500)
        plain.append(truth[rows].mean())
    assert len(rows) == 60
    assert np.mean(means) == pytest.approx(truth.mean(), abs=0.01)
    assert np.mean(plain) > truth.mean() + 0.03


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: labelling_chances([], 1), "at least 0, one per record"),
        (lambda: labelling_chances([-1], 1), "at least 0, one per record"),
        (lambda: labelling_chances([1, 1], 3), "between 1 and 2"),
        (lambda: labelling_chances([1, 1], 1, uniform=0), "drawn uniformly"),
        (lambda: labels_for_half_width(run_of(40, 100), 0), "half-width is positive"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
