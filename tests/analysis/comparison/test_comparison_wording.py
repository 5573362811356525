"""The sentence under a comparison that cannot tell: 121 against 116 of 170, paired and apart."""

import pytest
from tests.analysis.stored_run import run_of, stored

from steelyard import compare
from steelyard.analysis.numbers import about_text
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.stats.power import pairs_for_rates


def paired(fixed, broken, right, wrong):
    """Two runs with these four cells."""
    before = [1] * right + [0] * fixed + [1] * broken + [0] * wrong
    after = [1] * right + [1] * fixed + [0] * broken + [0] * wrong
    return compare(stored("base", solve_rate=before), stored("new", solve_rate=after)).pairs[0]


@pytest.mark.parametrize("fixed", [40, 1200])
def test_a_tiny_p_is_a_bound(fixed):
    assert "p < 0.001;" in paired(fixed, 0, 10, 10).conclusion.sentence


@pytest.mark.parametrize("broken", [1, 5, 20, 49])
def test_121_against_116_of_170_is_no_evidence_however_the_pairs_fall(broken):
    pair = paired(broken + 5, broken, 116 - broken, 49 - broken)
    assert pair.verdict == "no_evidence"
    assert pair.conclusion.sentence.startswith("No clear difference in solve rate: new 121 of 170, base 116 of 170")
    assert "are found reliably" in pair.conclusion.sentence
    assert f"To settle 2.9 points: {about_text(pair.headline.needed)} samples." in pair.conclusion.sentence


def test_121_against_116_of_170_is_no_evidence_even_where_one_side_alone_gains():
    pair = paired(5, 0, 116, 49)
    assert (pair.verdict, pair.headline.p) == ("no_evidence", pytest.approx(0.0625))
    assert "No clear difference in solve rate, though the result is borderline" in pair.conclusion.sentence


def test_the_pairs_that_would_show_it_are_those_of_mcnemars_test():
    pair = paired(15, 10, 106, 39)
    assert pair.headline.needed == pairs_for_rates(15 / 170, 10 / 170)
    assert paired(5, 5, 100, 60).headline.needed is None, "nothing differs"


def test_equal_rates_name_no_number_of_pairs():
    assert "To settle" not in paired(7, 7, 100, 56).conclusion.sentence


def test_a_number_of_pairs_that_nobody_can_ask_is_not_spelled_out():
    n = 4000
    before, after = [no % 2 for no in range(n)], [1 if no < 8 else (no + 1) % 2 for no in range(n)]
    pair = compare(stored("base", solve_rate=before), stored("new", solve_rate=after)).pairs[0]
    assert pair.headline.needed > 1_000_000
    assert "more than 1,000,000 samples" in pair.conclusion.sentence


def apart(target, right, n, start=0):
    rows = [ScoreRow(f"s{start + no}", "", "", 0, "solve_rate", "scored", float(no < right)) for no in range(n)]
    return run_of(f"run-{target}", rows, target)


def test_two_sets_without_a_common_sample_are_told_apart_from_pairs():
    pair = compare(apart("glm", 116, 170), apart("kb", 121, 170, start=500)).pairs[0]
    assert pair.verdict == "none"
    assert pair.conclusion.sentence.endswith("so they cannot be compared.")
