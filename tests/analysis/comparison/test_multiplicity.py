"""Several runs, groups and scores at once: what corrected p-values do to verdicts."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from tests.analysis.stored_run import stored
from tests.thorough import times

from steelyard import compare
from steelyard.analysis import compare_all_pairs
from steelyard.analysis.comparison.comparison_values import Conclusion
from steelyard.analysis.comparison.differences import all_pairs_note
from steelyard.stats.multiplicity import benjamini_hochberg, holm
from steelyard.stats.paired import mcnemar_exact


def wins(fixed, broken, both=10):
    """Values of a baseline and of a run that fixed and broke so many of its samples."""
    return [0] * fixed + [1] * broken + [1] * both, [1] * fixed + [0] * broken + [1] * both


def test_one_run_against_the_baseline_needs_no_correction():
    before, after = wins(9, 1)
    (pair,) = compare(stored("a", s=before), stored("b", s=after)).pairs
    assert (pair.headline.p_adjusted, pair.headline.methods.adjustment) == (None, "")
    assert pair.headline.decisive_p == pair.headline.p
    assert "Holm" not in pair.conclusion.sentence


def test_several_runs_are_corrected_after_holm_and_the_sentence_gives_both():
    baseline = [0] * 30
    runs = [stored(name, s=[1] * n + [0] * (30 - n)) for name, n in (("six", 6), ("nine", 9), ("three", 3))]
    comparison = compare(stored("a", s=baseline), *runs)
    raw = [mcnemar_exact(n, 0) for n in (6, 9, 3)]
    assert raw == pytest.approx([0.03125, 0.00390625, 0.25])
    assert [pair.headline.p for pair in comparison.pairs] == pytest.approx(raw)
    # Holm: the smallest times 3, the next times 2, the largest as it is.
    assert [pair.headline.p_adjusted for pair in comparison.pairs] == pytest.approx([0.0625, 0.01171875, 0.25])
    assert [pair.headline.p_adjusted for pair in comparison.pairs] == pytest.approx(holm(raw))
    assert {pair.headline.methods.adjustment for pair in comparison.pairs} == {"Holm over 3 runs"}
    assert "p = 0.012;" in comparison.pairs[1].conclusion.sentence
    assert comparison.notes == ("p-values are adjusted because 3 runs are compared with one baseline (Holm).",)


def test_a_verdict_rests_on_the_corrected_p():
    """Six fixed of six are p = 0.03 alone, which is not enough beside another look."""
    baseline, six = stored("a", s=[0] * 20), stored("b", s=[1] * 6 + [0] * 14)
    (alone,) = compare(baseline, six).pairs
    beside, _ = compare(baseline, six, stored("c", s=[0] * 20)).pairs
    assert (alone.verdict, beside.verdict) == ("better", "no_evidence")
    assert "borderline" in beside.conclusion.sentence


def test_groups_are_corrected_within_their_pair():
    before, after = zip(*[wins(6, 0), wins(8, 0), wins(2, 1)], strict=True)
    groups = ["x"] * 16 + ["y"] * 18 + ["z"] * 13
    (pair,) = compare(stored("a", groups, s=[*chain(*before)]), stored("b", groups, s=[*chain(*after)])).pairs
    raw = [mcnemar_exact(6, 0), mcnemar_exact(8, 0), mcnemar_exact(2, 1)]
    assert [group.p for group in pair.further.groups] == pytest.approx(raw)
    assert [group.p_adjusted for group in pair.further.groups] == pytest.approx(benjamini_hochberg(raw))
    assert {group.methods.adjustment for group in pair.further.groups} == {"Benjamini-Hochberg over 3 groups"}


def test_every_score_that_both_runs_have_is_compared_and_corrected_over_all_runs():
    before, after = wins(9, 1)
    baseline = stored("a", s=before, t=before, only_here=before)
    others = [stored("b", s=after, t=after), stored("c", s=before, t=before, u=before)]
    comparison = compare(baseline, *others)
    assert [[score.score for score in pair.further.scores] for pair in comparison.pairs] == [["t"], ["t"]]
    first, second = (pair.further.scores[0] for pair in comparison.pairs)
    assert (first.difference.improved, first.difference.regressed) == (9, 1)
    assert first.difference.p == pytest.approx(mcnemar_exact(9, 1))
    assert [first.difference.p_adjusted, second.difference.p_adjusted] == pytest.approx(
        benjamini_hochberg([mcnemar_exact(9, 1), 1.0])
    )
    assert (first.verdict, second.verdict) == ("better", "no_evidence")
    assert "2 differences on further scores" in comparison.score_notes[0]


def test_the_headline_is_not_among_the_further_scores():
    before, after = wins(9, 1)
    runs = stored("a", s=before, t=before), stored("b", s=after, t=after)
    (pair,) = compare(*runs, score="t").pairs
    assert (pair.score, [score.score for score in pair.further.scores]) == ("t", ["s"])
    assert compare(*runs, score="t").score_notes == ()


def test_only_samples_of_the_named_groups_are_compared():
    groups = ["x", "y", "x", "z"]
    runs = [stored(name, groups, s=values) for name, values in (("a", [0, 0, 1, 1]), ("b", [1, 0, 1, 0]))]
    comparison = compare(*runs, groups=["x"])
    assert comparison.pairs[0].headline.table == (1, 1, 0, 0)
    assert comparison.pairs[0].warnings == ()
    assert (comparison.only_groups, comparison.notes) == (("x",), ("Only samples of x are compared.",))
    assert compare(*runs, groups=["x", "z"]).pairs[0].overlap.n_paired == 3


def test_a_group_that_a_run_lacks_is_refused():
    runs = [stored(name, ["north", "south"], s=[0, 1]) for name in "ab"]
    with pytest.raises(Exception, match=r"run-a \(a\) has no group 'noth': did you mean 'north'\?"):
        compare(*runs, groups=["noth"])
    with pytest.raises(Exception, match="it has no groups"):
        compare(stored("a", s=[1]), stored("b", s=[1]), groups=["x"])


def three_runs():
    """Right in 20, 40 and 55 of 60 samples, each among those of the next."""
    return [
        stored(name, s=[float(at < right) for at in range(60)]) for name, right in (("a", 20), ("b", 40), ("c", 55))
    ]


def test_all_pairs_are_compared_and_corrected_together():
    comparison = compare_all_pairs(*three_runs())
    names = [(pair.baseline_target, pair.other_target) for pair in comparison.all_pairs]
    assert names == [("a", "b"), ("a", "c"), ("b", "c")]
    plain = [mcnemar_exact(gain, 0) for gain in (20, 35, 15)]
    assert [pair.headline.p for pair in comparison.all_pairs] == pytest.approx(plain)
    assert [pair.headline.p_adjusted for pair in comparison.all_pairs] == pytest.approx(holm(plain))
    assert {pair.headline.methods.adjustment for pair in comparison.all_pairs} == {"Holm over 3 pairs"}
    assert [pair.verdict for pair in comparison.all_pairs] == ["better"] * 3


def test_pairs_with_the_baseline_have_the_same_correction_in_both_lists():
    comparison = compare_all_pairs(*three_runs())
    for pair, among_all in zip(comparison.pairs, comparison.all_pairs, strict=False):
        assert pair.headline == among_all.headline
        assert pair.conclusion.sentence.startswith(among_all.conclusion.sentence)


def test_all_pairs_of_two_runs_are_one_that_needs_no_correction():
    first, second, _ = three_runs()
    comparison = compare_all_pairs(first, second)
    assert [pair.headline for pair in comparison.all_pairs] == [compare(first, second).pairs[0].headline]
    assert all_pairs_note(comparison.all_pairs) == "1 of 1 pair differ: b is better than a."


def test_the_note_on_all_pairs_counts_and_names_those_that_differ():
    note = all_pairs_note(compare_all_pairs(*three_runs()).all_pairs)
    assert note.startswith("3 of 3 pairs differ (p after Holm's correction for 3 pairs): b is better than a, ")


def test_the_note_on_all_pairs_says_of_which_nothing_can_be_concluded():
    pairs = compare_all_pairs(*three_runs()).all_pairs
    unknown = [replace(pair, conclusion=Conclusion("inconclusive", "")) for pair in pairs]
    assert all_pairs_note(unknown) == (
        "0 of 3 pairs differ (p after Holm's correction for 3 pairs). 3 are left open by replies without a verdict."
    )
    assert all_pairs_note([*pairs[:2], unknown[2]]).endswith(
        "c is better than a. 1 is left open by replies without a verdict."
    )


def test_among_many_equal_runs_hardly_ever_a_pair_differs():
    """15 pairs of 6 equal runs, many times: without a correction a pair in 20 would differ."""
    rng = np.random.default_rng(5)
    families = 0
    for _ in range(times(25, 100)):
        runs = [stored(str(no), s=(rng.random(60) < 0.5).astype(float)) for no in range(6)]
        families += any(pair.verdict in {"better", "worse"} for pair in compare_all_pairs(*runs).all_pairs)
    assert families <= times(2, 8)
