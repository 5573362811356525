"""Figures of a confusion matrix, as scikit-learn 1.7 computes them, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.stats.classification import classification_figures
from steelyard.stats.intervals import wilson, wilson_clustered

BY_SKLEARN = [
    (
        [[50, 3, 2], [4, 30, 6], [1, 5, 20]],
        [0.909090909091, 0.789473684211, 0.714285714286],
        [0.909090909091, 0.75, 0.769230769231],
        [0.909090909091, 0.769230769231, 0.740740740741],
        (0.806354139687, 0.826446280992, 0.809440559441, 0.728757472246),
    ),
    (
        [[8, 1], [2, 9]],
        [0.8, 0.9],
        [0.888888888889, 0.818181818182],
        [0.842105263158, 0.857142857143],
        (0.84962406015, 0.85, 0.853535353535, 0.7),
    ),
    (
        [[12, 0, 1, 2], [3, 9, 0, 0], [0, 2, 15, 1], [1, 1, 1, 10]],
        [0.75, 0.75, 0.882352941176, 0.769230769231],
        [0.8, 0.75, 0.833333333333, 0.769230769231],
        [0.774193548387, 0.75, 0.857142857143, 0.769230769231],
        (0.78764179369, 0.793103448276, 0.788141025641, 0.722155688623),
    ),
]


@pytest.mark.parametrize(("matrix", "precision", "recall", "f1", "of_all"), BY_SKLEARN)
def test_figures_are_those_of_scikit_learn(matrix, precision, recall, f1, of_all):
    figures = classification_figures([[*row, 0] for row in matrix])
    found = [[getattr(each, name) for each in figures.classes] for name in ("precision", "recall", "f1")]
    assert np.allclose(found, [precision, recall, f1], atol=1e-9)
    means = (figures.macro_f1, figures.micro_f1, figures.balanced_accuracy, figures.kappa)
    assert np.allclose(means, of_all, atol=1e-9)


def test_an_unread_reply_lowers_recall_and_is_an_answer_of_its_own_in_kappa():
    figures = classification_figures([[20, 3, 4], [5, 30, 2]])
    assert figures.unread == 6
    assert np.allclose([each.f1 for each in figures.classes], [0.769230769231, 0.857142857143])
    assert np.allclose([figures.macro_f1, figures.micro_f1], [0.8131868131868132, 0.819672131147541])
    assert figures.kappa == pytest.approx(0.5927272727272728)
    assert figures.majority == pytest.approx(37 / 64)


def test_the_interval_of_f1_is_wilson_s_of_the_jaccard_index():
    figures = classification_figures([[20, 3, 4], [5, 30, 2]])
    low, high = wilson(20, 20 + 7 + 5)
    assert figures.classes[0].f1_interval == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))


def test_a_class_with_few_references_leaves_the_means_without_an_interval():
    assert classification_figures([[9, 0, 0], [1, 30, 0]]).macro_f1_interval is None
    low, high = classification_figures([[10, 0, 0], [1, 30, 0]]).macro_f1_interval
    assert 0.8 < low < high <= 1


def test_a_class_that_never_occurs_has_no_figures_and_is_not_averaged():
    figures = classification_figures([[10, 0, 0, 0], [2, 10, 0, 0], [0, 0, 0, 0]])
    last = figures.classes[2]
    assert (last.support, last.precision, last.recall, last.f1, last.f1_interval) == (0, None, None, None, None)
    assert figures.macro_f1 == pytest.approx(np.mean([each.f1 for each in figures.classes[:2]]))


def test_the_intervals_of_repeats_are_those_of_their_clusters():
    rng = np.random.default_rng(1)
    single = np.zeros((120, 2, 3))
    for no, matrix in enumerate(single):
        matrix[no % 2, no % 2 if rng.random() < 0.8 else 1 - no % 2] += 1
    once = classification_figures(single.sum(axis=0), clusters=single)
    repeated = classification_figures(4 * single.sum(axis=0), clusters=4 * single)
    assert once.macro_f1_interval == pytest.approx(repeated.macro_f1_interval)
    as_if_independent = classification_figures(4 * single.sum(axis=0)).macro_f1_interval
    width = [high - low for low, high in (repeated.macro_f1_interval, as_if_independent)]
    assert width[0] > 1.8 * width[1]


def test_a_class_without_an_error_in_any_repeat_has_an_interval_all_the_same():
    right = np.zeros((20, 2, 3))
    right[:10, 0, 0] = right[10:, 1, 1] = 3  # 3 repeats of each sample
    right[10] = [[0, 0, 0], [3, 0, 0]]
    first, second = classification_figures(right.sum(axis=0), clusters=right).classes
    expected = wilson_clustered([1] * 30, clusters=[i // 3 for i in range(30)])  # 0.66 to 1
    assert first.recall == second.precision == 1
    assert first.recall_interval == pytest.approx(expected)
    assert second.precision_interval == pytest.approx(wilson_clustered([1] * 27, clusters=[i // 3 for i in range(27)]))
    assert second.recall_interval.high == 1 > second.recall_interval.low > 0  # draws differ: percentiles
    none_wrong = np.concatenate([right[:10], right[11:]])
    f1 = classification_figures(none_wrong.sum(axis=0), clusters=none_wrong).classes[0].f1_interval
    assert f1 == pytest.approx((2 * expected.low / (1 + expected.low), 1))


def test_independent_replies_have_about_the_interval_of_their_bootstrap():
    counts = np.array([[60, 10, 5], [8, 70, 2]])
    cells = np.repeat(np.eye(6), counts.ravel(), axis=0).reshape(-1, 2, 3)
    by_formula = classification_figures(counts)
    by_draws = classification_figures(counts, clusters=cells)
    assert by_draws.macro_f1_interval == pytest.approx(by_formula.macro_f1_interval, abs=0.015)
    assert by_draws.balanced_accuracy_interval == pytest.approx(by_formula.balanced_accuracy_interval, abs=0.015)


@pytest.mark.parametrize("matrix", [[[1, 2], [3, 4]], [[0, 0, 0], [0, 0, 0]], [[1, -1, 0], [0, 1, 0]]])
def test_what_is_no_confusion_matrix_is_refused(matrix):
    with pytest.raises(ValueError, match="a confusion matrix"):
        classification_figures(matrix)
