"""Several runs, groups and scores at once: what corrected p-values do to verdicts."""

from __future__ import annotations

from itertools import chain

import pytest
from tests.analysis.stored_run import stored

from steelyard import compare
from steelyard.stats.multiplicity import benjamini_hochberg, holm
from steelyard.stats.paired import mcnemar_exact


def wins(fixed, broken, both=10):
    """Values of a baseline and of a run that fixed and broke so many of its samples."""
    return [0] * fixed + [1] * broken + [1] * both, [1] * fixed + [0] * broken + [1] * both


def test_one_run_against_the_baseline_needs_no_correction():
    before, after = wins(9, 1)
    (pair,) = compare(stored("a", s=before), stored("b", s=after)).pairs
    assert (pair.headline.p_adjusted, pair.headline.adjustment) == (None, "")
    assert pair.headline.decisive_p == pair.headline.p
    assert "Holm" not in pair.sentence


def test_several_runs_are_corrected_after_holm_and_the_sentence_gives_both():
    baseline = [0] * 30
    runs = [stored(name, s=[1] * n + [0] * (30 - n)) for name, n in (("six", 6), ("nine", 9), ("three", 3))]
    found = compare(stored("a", s=baseline), *runs)
    raw = [mcnemar_exact(n, 0) for n in (6, 9, 3)]
    assert raw == pytest.approx([0.03125, 0.00390625, 0.25])
    assert [pair.headline.p for pair in found.pairs] == pytest.approx(raw)
    # Holm: the smallest times 3, the next times 2, the largest as it is.
    assert [pair.headline.p_adjusted for pair in found.pairs] == pytest.approx([0.0625, 0.01171875, 0.25])
    assert [pair.headline.p_adjusted for pair in found.pairs] == pytest.approx(holm(raw))
    assert {pair.headline.adjustment for pair in found.pairs} == {"Holm over 3 runs"}
    assert "p = 0.0039, by Holm 0.012" in found.pairs[1].sentence
    assert found.notes == ("3 runs are compared with one baseline: verdicts use p after Holm's correction.",)


def test_a_verdict_rests_on_the_corrected_p():
    """Six fixed of six are p = 0.03 alone, which is not enough beside another look."""
    baseline, six = stored("a", s=[0] * 20), stored("b", s=[1] * 6 + [0] * 14)
    (alone,) = compare(baseline, six).pairs
    beside, _ = compare(baseline, six, stored("c", s=[0] * 20)).pairs
    assert (alone.verdict, beside.verdict) == ("better", "no_evidence")
    assert "on the edge" in beside.sentence


def test_groups_are_corrected_within_their_pair():
    before, after = zip(*[wins(6, 0), wins(8, 0), wins(2, 1)], strict=True)
    groups = ["x"] * 16 + ["y"] * 18 + ["z"] * 13
    (pair,) = compare(stored("a", groups, s=[*chain(*before)]), stored("b", groups, s=[*chain(*after)])).pairs
    raw = [mcnemar_exact(6, 0), mcnemar_exact(8, 0), mcnemar_exact(2, 1)]
    assert [one.p for one in pair.groups] == pytest.approx(raw)
    assert [one.p_adjusted for one in pair.groups] == pytest.approx(benjamini_hochberg(raw))
    assert {one.adjustment for one in pair.groups} == {"Benjamini-Hochberg over 3 groups"}


def test_every_score_that_both_runs_have_is_compared_and_corrected_over_all_runs():
    before, after = wins(9, 1)
    baseline = stored("a", s=before, t=before, only_here=before)
    others = [stored("b", s=after, t=after), stored("c", s=before, t=before, u=before)]
    found = compare(baseline, *others)
    assert [[one.score for one in pair.scores] for pair in found.pairs] == [["t"], ["t"]]
    first, second = (pair.scores[0] for pair in found.pairs)
    assert (first.difference.improved, first.difference.regressed) == (9, 1)
    assert first.difference.p == pytest.approx(mcnemar_exact(9, 1))
    assert [first.difference.p_adjusted, second.difference.p_adjusted] == pytest.approx(
        benjamini_hochberg([mcnemar_exact(9, 1), 1.0])
    )
    assert (first.verdict, second.verdict) == ("better", "no_evidence")
    assert "2 differences on further scores" in found.score_notes[0]


def test_the_headline_is_not_among_the_further_scores():
    before, after = wins(9, 1)
    runs = stored("a", s=before, t=before), stored("b", s=after, t=after)
    (pair,) = compare(*runs, score="t").pairs
    assert (pair.score, [one.score for one in pair.scores]) == ("t", ["s"])
    assert compare(*runs, score="t").score_notes == ()


def test_only_samples_of_the_named_groups_are_compared():
    groups = ["x", "y", "x", "z"]
    runs = [stored(name, groups, s=values) for name, values in (("a", [0, 0, 1, 1]), ("b", [1, 0, 1, 0]))]
    found = compare(*runs, groups=["x"])
    assert found.pairs[0].headline.table == (1, 1, 0, 0)
    assert found.pairs[0].warnings == ()
    assert (found.only_groups, found.notes) == (("x",), ("Only samples of x are compared.",))
    assert compare(*runs, groups=["x", "z"]).pairs[0].n_paired == 3


def test_a_group_that_a_run_lacks_is_refused():
    runs = [stored(name, ["north", "south"], s=[0, 1]) for name in "ab"]
    with pytest.raises(Exception, match=r"run-a \(a\) has no group 'noth': did you mean 'north'\?"):
        compare(*runs, groups=["noth"])
    with pytest.raises(Exception, match="it has no groups"):
        compare(stored("a", s=[1]), stored("b", s=[1]), groups=["x"])
