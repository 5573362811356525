from __future__ import annotations

import json

import pytest
from tests.analysis.judging import judging, judging_run, orders, row, rows

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.preferences.preferences_wording import shared_notes
from steelyard.analysis.preferences.win_rates import fair_split, preferences
from steelyard.analysis.stopping import Stopping
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value
from steelyard.stats.binomial import wilson_with_ties
from steelyard.stats.intervals import Interval, wilson
from steelyard.stats.power import detectable_win_rate

NINETEEN = ["A"] * 19 + ["tie"]


def stopped(side="above", *, question="full", interval=(0.55, 0.75), used=212, beyond=4, threshold=0.5):
    return Stopping(
        question,
        "preference",
        threshold,
        0.95,
        "",
        805,
        used,
        beyond,
        side,
        Interval(*interval),
        ((used, 0.6, 0.55, 0.75),),
    )


def test_nineteen_of_nineteen_is_printed_with_its_interval_and_its_exact_p():
    rates = preferences(judging(*NINETEEN))
    assert rates.verdict == "A"
    assert rates.sentence == (
        "ours is preferred to theirs: it won 19 of 19 decided pairs, 100.00 % (95 % CI 83.18 % to 100.00 %; "
        "exact binomial test, p < 0.001; not decided: 1 tie)."
    )
    assert rates.evidence.p == pytest.approx(3.814697e-06, rel=1e-6)
    assert rates.win.interval == wilson(19, 19)
    assert rates.half.value == 0.975
    assert rates.half.interval == wilson_with_ties(19, 1, 0)


def test_groups_count_ties_as_half_with_the_interval_for_ties():
    labels = ["A"] * 17 + ["tie", "B", "tie"]
    rates = preferences(judging_run(tuple(row(label, f"s{i}", group="ab"[i % 2]) for i, label in enumerate(labels))))
    assert [group.half.interval for group in rates.groups] == [wilson_with_ties(9, 0, 1), wilson_with_ties(8, 2, 0)]


def test_the_other_side_is_preferred_with_its_own_rate_and_interval():
    rates = preferences(judging(*(["B"] * 19), "tie"))
    assert rates.verdict == "B"
    assert rates.win.value == 0
    assert rates.sentence.startswith("theirs is preferred to ours: it won 19 of 19 decided pairs, 100.00 % (95 % CI ")
    assert "83.18 % to 100.00 %" in rates.sentence


def test_no_decided_pair_leaves_every_rate_possible():
    rates = preferences(judging("tie", "tie", "inconsistent"))
    assert rates.win.value is None
    assert rates.win.interval == (0, 1)
    assert rates.win.n == 0
    assert rates.evidence.p is None
    assert rates.verdict == "cannot_tell"
    assert rates.sentence == (
        "These 3 pairs cannot tell which of ours and theirs is preferred: no pair was decided (2 ties, 1 inconsistent)."
    )


def test_ties_are_never_the_winner():
    rates = preferences(judging(*["tie"] * 40, "A", "B", "B"))
    assert rates.verdict == "cannot_tell"
    assert rates.tally.tie == 40
    assert rates.win.value == pytest.approx(1 / 3)


def test_every_outcome_is_counted_apart():
    labels = ["A", "A", "A", "B", "tie", "inconsistent", "unparsed", "refused", "no A", "no B", "no B", "no both"]
    rates = preferences(judging(*labels, "not_applicable", "error"))
    tally = rates.tally
    assert (tally.a, tally.b, tally.tie, tally.inconsistent, tally.unparsed, tally.refused) == (3, 1, 1, 1, 1, 1)
    assert {side: tally.failed_by(side) for side in ("A", "B", "both")} == {"A": 1, "B": 2, "both": 1}
    assert (tally.decided, tally.scored, tally.judged, tally.failed, tally.total) == (4, 6, 8, 4, 14)
    assert (tally.not_applicable, tally.errors) == (1, 1)
    shares = json_value(tally)["shares"]
    assert shares == {"A": 3 / 8, "tie": 1 / 8, "inconsistent": 1 / 8, "unparsed": 1 / 8, "refused": 1 / 8, "B": 1 / 8}


def test_ties_and_disagreements_count_half_each():
    rates = preferences(judging("A", "A", "A", "B", "tie", "inconsistent"))
    assert rates.half.value == (3 + 0.5 + 0.5) / 6
    assert rates.half.n == 6
    assert rates.win.value == 0.75


def test_a_missing_answer_is_left_out_and_beside_it_that_sides_loss():
    rates = preferences(judging("A", "A", "A", "B", "no A", "no A", "no B", "no both"))
    assert rates.half.value == 0.75
    assert rates.losses.value == (3 + 0 + 0 + 0 + 1 + 0.5) / 8
    assert rates.tally.not_judged == {"A": {"error": 2}, "B": {"error": 1}, "both": {"error": 1}}


def test_missing_answers_are_counted_by_what_became_of_them():
    rates = preferences(judging_run((row("no A", "s0", why="refused"), row("no A", "s1", why=""), row("A", "s2"))))
    assert rates.tally.not_judged == {"A": {"refused": 1, "error": 1}}


def test_the_bounds_hold_whatever_the_unread_verdicts_are_worth():
    rates = preferences(judging("A", "A", "B", "tie", "unparsed", "refused"))
    assert rates.bounds == (2.5 / 6, 4.5 / 6)
    assert preferences(judging("A", "B")).bounds is None


def test_an_undecided_set_says_what_it_could_have_found():
    rates = preferences(judging(*["A"] * 14, *["B"] * 16))
    assert rates.verdict == "cannot_tell"
    assert rates.evidence.detectable == detectable_win_rate(30)
    assert rates.sentence == (
        "These 30 pairs cannot tell which of ours and theirs is preferred: ours won 14 of 30 decided pairs, 46.67 % "
        "(95 % CI 30.23 % to 63.86 %; exact binomial test, p = 0.86). The smallest win rate that 30 decided "
        "pairs would show in 8 of 10 such sets is 74.9 %."
    )


def test_five_of_five_are_no_evidence_and_six_of_six_are():
    five, six = (preferences(judging(*["A"] * n)) for n in (5, 6))
    assert (five.verdict, five.evidence.p, five.evidence.detectable) == ("cannot_tell", pytest.approx(0.0625), None)
    assert "Only 5 pairs were decided: evidence needs at least six." in five.warnings
    assert "With 5 decided pairs no result would be evidence." in five.sentence
    assert (six.verdict, six.evidence.p) == ("A", pytest.approx(0.03125))


def test_repeats_of_a_sample_are_one_witness_and_not_many():
    given = [row("A", f"s{no}", repeat=repeat) for no in range(4) for repeat in range(5)]
    rates = preferences(judging_run(tuple(given)))
    assert rates.tally.a == 20
    assert rates.evidence.test == "sign-flip test by cluster"
    assert rates.evidence.p == pytest.approx(2 / 2**4, abs=0.01)
    assert rates.verdict == "cannot_tell"
    assert rates.win.interval.low < wilson(20, 20).low
    assert "4 independent clusters" in rates.evidence.interval_note


def test_paraphrases_share_their_cluster():
    given = [row("A", f"s{no}", cluster=f"c{no // 5}") for no in range(20)]
    assert preferences(judging_run(tuple(given))).evidence.test == "sign-flip test by cluster"


def test_a_group_has_its_own_counts_rates_and_p():
    given = [*rows(*["A"] * 6, "tie", group="cooking"), *rows("B", "B", "no A", group="garden"), row("tie", "last")]
    rates = preferences(judging_run(tuple(given)))
    cooking, garden, rest = rates.groups
    assert (cooking.group, garden.group, rest.group) == ("cooking", "garden", "(no group)")
    assert (cooking.tally.a, cooking.tally.tie, cooking.win.interval) == (6, 1, wilson(6, 6))
    assert cooking.p == pytest.approx(0.03125)
    assert (garden.tally.b, garden.tally.failed_by("A"), garden.p) == (2, 1, pytest.approx(0.5))
    assert (rest.win.value, rest.win.interval, rest.p) == (None, (0, 1), None)
    assert rest.half.value == 0.5


def test_without_groups_there_are_none():
    assert preferences(judging("A", "B")).groups == ()


def test_people_and_lexical_preferences_have_no_places():
    rates = preferences(judging("A", "B"))
    assert rates.bias is None
    assert rates.by == "judge"


def test_a_judge_that_follows_the_place_is_warned_of():
    given = [row("inconsistent", f"s{no}", orders=orders("A", "B")) for no in range(12)]
    given += [row("A", f"a{no}", orders=orders("A", "A")) for no in range(8)]
    warnings = preferences(judging_run(tuple(given))).warnings
    assert warnings[0] == (
        "The judge favours the answer shown first: 12 of 12 disagreements of its orders (p < 0.001). "
        "Such pairs count as half."
    )
    assert warnings[1].startswith("The judge says the same in both orders in 40.0 % of 20 pairs only")


def test_constant_and_like_answers_are_warned_of():
    answers = tuple((f"answer {no}", "I cannot say." if no else "Yes") for no in range(12))
    given = rows(*["A"] * 12)[:6] + [row("A", f"x{no}", alike=True) for no in range(6)]
    warnings = preferences(judging_run(tuple(given), answers=answers)).warnings
    assert warnings[0] == "theirs gave one and the same answer 11 of 12 times."
    assert warnings[1] == "Both answers are identical or nearly so in 6 of 12 pairs: such pairs say little."
    assert len(warnings) == 2


def test_unread_verdicts_and_missing_answers_are_warned_of():
    rates = preferences(judging(*["A"] * 8, "unparsed", "no B", "no B", first="one", second="two"))
    unread, missing = rates.warnings
    assert unread == (
        "1 verdict of 9 was unreadable or refused: counting ties as half, one has 88.89 % to 100.00 %, "
        "whatever they are worth."
    )
    assert missing == (
        "2 pairs were not judged, as a side gave no answer (two 2 (2 failed)); counted as losses of that side, one "
        "has 100.00 %."
    )


def test_missing_verdicts_that_leave_the_side_open_are_told_once():
    rates = preferences(judging("tie", "unparsed", "refused", "tie"))
    assert "2 verdicts of 4 are unreadable or refused" in rates.sentence
    assert rates.warnings == ("No pair was decided: evidence needs at least six.",)
    of_several = shared_notes([rates, preferences(judging(*["A"] * 8))])
    assert any("2 verdicts of 4 were unreadable or refused" in note for note in of_several)


def test_nothing_judged_concludes_nothing():
    rates = preferences(judging("no A", "error"))
    assert rates.verdict == "none"
    assert rates.sentence == "No pair of answers of ours and theirs has a verdict, so nothing can be concluded."
    assert preferences(judging()).tally.total == 0


def test_a_run_that_was_stopped_early_shows_its_confidence_sequence_and_no_p():
    rates = preferences(judging(*["A"] * 19, *["B"] * 8, "tie", stopping=stopped()))
    assert rates.verdict == "A"
    assert rates.evidence.p is None
    assert rates.evidence.test == ""
    assert rates.half.interval == (0.55, 0.75)
    assert rates.win.interval is None
    assert rates.losses.interval is None
    assert rates.evidence.interval_note == "confidence sequence: valid at any number of samples"
    assert rates.sentence.startswith(
        "ours is preferred to theirs in the whole set (anytime-valid 95 % confidence sequence of the share of ours, a "
        "tie or disagreement as half: 55.00 % to 75.00 %; stopped after 212 of 805 samples, 4 more were in flight and "
        "are not used, 589 not asked). "
    )
    assert "p =" not in rates.sentence


def test_a_stop_below_prefers_the_second_side_beyond_the_set():
    rates = preferences(judging("B", "B", stopping=stopped("below", question="population", interval=(0.1, 0.4))))
    assert rates.verdict == "B"
    assert rates.sentence.startswith("theirs is preferred to ours beyond this set")


def test_a_rule_that_never_stopped_or_ended_even_prefers_nobody():
    never = stopped("", question="population", interval=(0.45, 0.6), used=805, beyond=0)
    even = stopped("equal", interval=(0.5, 0.5), used=805, beyond=0)
    first, second = (preferences(judging("A", "B", stopping=stopping)) for stopping in (never, even))
    assert (first.verdict, second.verdict) == ("cannot_tell", "cannot_tell")
    assert first.sentence.startswith("These 805 samples cannot tell which of ours and theirs is preferred beyond this")
    assert second.sentence.startswith("Neither ours nor theirs is preferred in the whole set")


def test_groups_of_a_stopped_run_have_neither_intervals_nor_p():
    given = (*rows("A", "B", group="g"), *rows("A", group="h"))
    rates = preferences(judging_run(given, stopping=stopped()))
    assert [(group.win.interval, group.half.interval, group.p) for group in rates.groups] == [(None, None, None)] * 2


def test_everything_is_plain_json():
    given = [row("A", f"s{no}", group=f"g{no % 2}", orders=orders("A", "A")) for no in range(6)]
    rates = preferences(judging_run((*given, row("no A", "x")), stopping=stopped()))
    plain = json.loads(json.dumps(json_value(rates), allow_nan=False))
    assert plain["first"] == "ours"
    assert plain["tally"]["not_judged"] == {"A": {"error": 1}}
    assert plain["half"]["interval"] == [0.55, 0.75]
    assert plain["bias"]["consistency"] == 1.0
    assert plain["stopping"]["used"] == 212
    assert [group["group"] for group in plain["groups"]] == ["g0", "g1", "(no group)"]


def test_only_a_judging_run_has_preferences():
    assert not is_judging({"target": {"function": "x"}})
    with pytest.raises(ConfigError, match="judges no pairs"):
        sides_of({"target": "x"})


def test_missing_verdicts_that_could_turn_the_preference_allow_no_conclusion():
    """10 of 10 decided pairs for ours, and 12 unparsed: ours has 45 to 100 % whatever they are worth."""
    rates = preferences(judging(*["A"] * 10, *["unparsed"] * 12))
    assert (rates.bounds, rates.evidence.p) == ((10 / 22, 1.0), pytest.approx(2 / 2**10))
    assert rates.verdict == "cannot_tell"
    assert rates.sentence == (
        "Nothing can be concluded about ours and theirs: 12 verdicts of 22 are unreadable or refused, and depending on "
        "these ours has 45.45 % to 100.00 % with ties as half. Of the rest ours won 10 of 10 decided pairs, 100.00 % "
        "(95 % CI 72.25 % to 100.00 %; exact binomial test, p = 0.002)."
    )


def test_missing_verdicts_that_cannot_turn_the_preference_leave_it():
    rates = preferences(judging(*["A"] * 10, *["unparsed"] * 9))
    assert rates.bounds.low == 10 / 19
    assert rates.verdict == "A"


def test_verdicts_that_were_all_lost_allow_no_conclusion():
    rates = preferences(judging(*["unparsed"] * 8))
    assert rates.verdict == "none"
    assert "so nothing can be concluded" in rates.sentence


def test_the_sign_flip_test_over_single_pairs_is_the_exact_one():
    won = [1] * 16 + [-1] * 6
    exact = fair_split(won, [str(no) for no in range(22)])
    assert exact == pytest.approx(0.052479, abs=1e-6)
    assert fair_split(won) == exact
