"""Replies without a verdict: how far a difference depends on them, and what a comparison may then still say."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.stored_run import run_of

from steelyard import compare
from steelyard.analysis.comparison.comparison_values import MissingVerdicts
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.stats.intervals import Interval

ANSWERED = {"solve_rate": {"range": None, "denominator": "answered"}}
ALL = {"solve_rate": {"range": None, "denominator": "all"}}
RATED = {"solve_rate": {"range": [1, 5], "denominator": "answered"}}


def run(target, values, infos=ALL, groups=None):
    """`values` are numbers, or the outcome of what has none; ids are 0, 1, 2 ..."""

    rows = [
        ScoreRow(str(at), groups[at] if groups else "", "", 0, "solve_rate", value, None)
        if isinstance(value, str)
        else ScoreRow(str(at), groups[at] if groups else "", "", 0, "solve_rate", "scored", float(value))
        for at, value in enumerate(values)
    ]
    manifest = {"scores": ["solve_rate"], "score_infos": infos}
    return run_of(f"run-{target}", rows, target, manifest=manifest)


def only(before, after, infos=ALL, **options):
    (pair,) = compare(run("a", before, infos), run("b", after, infos), **options).pairs
    return pair


def test_800_of_800_unparsed_allow_no_conclusion():
    pair = only(["unparsed"] * 800, ["unparsed"] * 800)
    assert pair.verdict == "inconclusive"
    assert (
        pair.conclusion.sentence
        == "None of the 1,600 replies of a and b has a verdict, so their solve rate cannot be compared."
    )
    assert "no evidence" not in pair.conclusion.sentence


def test_nothing_read_of_a_score_that_leaves_missing_verdicts_out_is_no_conclusion_either():
    pair = only(["unparsed"] * 8, ["refused"] * 8, ANSWERED)
    assert (pair.verdict, pair.headline.n) == ("inconclusive", 0)
    assert "None of the 16 replies of a and b has a verdict" in pair.conclusion.sentence


def test_a_small_p_is_no_verdict_where_the_unparsed_replies_could_turn_it():
    """60 of 100 against 40 with 40 unparsed: p = 2e-06, yet with those solved the baseline would be ahead."""
    before, after = [1] * 40 + ["unparsed"] * 40 + [0] * 20, [1] * 60 + [0] * 40
    pair = only(before, after)
    assert pair.headline.p < 0.001
    assert pair.headline.interval.low > 0
    assert pair.headline.missing == MissingVerdicts(40, 0, 200, pair.headline.missing.bounds)
    assert tuple(pair.headline.missing.bounds) == pytest.approx((-0.2, 0.2))
    assert pair.verdict == "inconclusive"
    assert pair.conclusion.sentence == (
        "40 of 200 replies have no verdict, so it is open which run is better on solve rate. As scored, b differs "
        f"from a by +20.0 points (95 % CI {100 * pair.headline.interval.low:+.1f} to "
        f"{100 * pair.headline.interval.high:+.1f} points; p < 0.001; 100 pairs), but the replies without a verdict "
        "could move the difference to anything from -20.0 to +20.0 points. Fix those first."
    )


def test_few_unparsed_replies_leave_the_verdict_and_the_sentence_says_how_far_they_matter():
    pair = only([1] * 40 + ["unparsed"] * 2 + [0] * 58, [1] * 70 + [0] * 30)
    assert pair.verdict == "better"
    assert (
        "; 2 replies without a verdict: counting these, +28.0 to +30.0 points; 100 pairs)." in pair.conclusion.sentence
    )


def test_a_refusal_is_an_answer_where_the_score_is_over_all_replies():
    pair = only([1] * 40 + ["refused"] * 40 + [0] * 20, [1] * 60 + [0] * 40)
    assert (pair.headline.missing, pair.verdict) == (None, "better")


def test_bounds_of_a_rating_are_those_of_its_scale_over_all_replies():
    """Baseline 3, 3 and one missing, other 4, 4, 4: the third pair may differ by -1 to 3."""
    pair = only([3, 3, "unparsed"], [4, 4, 4], RATED)
    assert pair.headline.n == 2
    assert tuple(pair.headline.missing.bounds) == pytest.approx((1 / 3, 5 / 3))
    assert not pair.headline.missing.leaves_sign_open


def test_of_a_score_without_a_range_half_of_the_replies_must_have_a_verdict():
    few = MissingVerdicts(1, 0, 10, None)
    assert not few.leaves_sign_open
    assert MissingVerdicts(3, 2, 10, None).leaves_sign_open
    values = [3.0, 7.0, 9.0, 4.0]
    pair = only(["unparsed"] * 3 + values, ["unparsed"] * 4 + values[1:], ANSWERED)
    assert pair.verdict == "inconclusive"
    assert "the range of solve rate is not known" in pair.conclusion.sentence


def test_groups_have_bounds_of_their_own():
    groups = ["x"] * 10 + ["y"] * 10
    before = run("a", [0] * 10 + ["unparsed"] * 5 + [0] * 5, groups=groups)
    after = run("b", [1] * 20, groups=groups)
    (pair,) = compare(before, after).pairs
    first, second = pair.further.groups
    assert first.missing is None
    assert second.missing.bounds == Interval(0.5, 1.0)


outcomes = st.sampled_from([0, 1, "unparsed", "refused", "error", "not_applicable"])


@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=6), st.sampled_from([ALL, ANSWERED]))
def test_bounds_are_the_least_and_largest_difference_over_all_ways_to_fill_in(drawn, infos):
    """Every unknown verdict is tried as 0 and as 1: exactly these bounds come out."""
    unknown = {"unparsed"} if infos is ALL else {"unparsed", "refused"}
    pair = only([before for before, _ in drawn], [after for _, after in drawn], infos)
    replied = {0, 1, "unparsed", "refused"}
    pairs = [sides for sides in drawn if set(sides) <= replied]
    open_places = [(at, side) for at, sides in enumerate(pairs) for side in (0, 1) if sides[side] in unknown]
    if not open_places:
        assert pair.headline.missing is None
        return
    differences = []
    for filled in product((0.0, 1.0), repeat=len(open_places)):
        known = dict(zip(open_places, filled, strict=True))
        sums = [
            sum(
                known.get((at, side), 0.0 if sides[side] == "refused" else sides[side])
                for at, sides in enumerate(pairs)
            )
            for side in (0, 1)
        ]
        differences.append((sums[1] - sums[0]) / len(pairs))
    missing = pair.headline.missing
    assert missing.n == len(open_places)
    assert tuple(missing.bounds) == pytest.approx((min(differences), max(differences)))
    if min(differences) <= 0 <= max(differences):
        assert pair.verdict == "inconclusive"
        assert pair.conclusion.claim == "not decided"


LOWER = {"violations": {"range": [0, 10], "lower_is_better": True, "denominator": "answered"}}


def test_fewer_violations_are_better_and_the_sentence_says_so():
    rows = [
        ScoreRow(str(at), "", "", 0, "violations", "scored", float(value)) for at, value in enumerate([4, 5, 6] * 9)
    ]
    fewer = [row._replace(value=row.value - (2 if at % 4 else 1)) for at, row in enumerate(rows)]
    manifest = {"scores": ["violations"], "score_infos": LOWER}
    (pair,) = compare(
        run_of("run-a", rows, "a", manifest=manifest), run_of("run-b", fewer, "b", manifest=manifest)
    ).pairs
    assert pair.verdict == "better"
    assert pair.headline.difference < 0
    assert (len(pair.changed.improvements), pair.changed.regressions) == (27, ())
    assert "lower on violations than a, which is better, as lower is better (" in pair.conclusion.sentence


def with_scores(target, **scores):
    rows = [
        ScoreRow(str(at), "", "", 0, name, "scored", float(value))
        for at in range(40)
        for name, values in scores.items()
        for value in [values[at]]
    ]
    return run_of(f"run-{target}", rows, target)


def test_the_sentence_names_each_further_score_that_moved():
    """Retrieval is unchanged and the answers fell: a sentence on retrieval alone would hide it."""
    hits, ranks = [1] * 30 + [0] * 10, [0.5] * 40
    before = with_scores("a", hit_rate=hits, mrr=ranks, token_f1=[0.8, 0.7] * 20, rouge_l=[0.5, 0.4] * 20)
    after = with_scores("b", hit_rate=hits, mrr=ranks, token_f1=[0.5, 0.6] * 20, rouge_l=[0.5, 0.4] * 20)
    (pair,) = compare(before, after).pairs
    assert pair.verdict == "no_evidence"
    assert " On further scores b is worse on token F1 (-20.0 points, p " in pair.conclusion.sentence
    assert "rouge_l" not in pair.conclusion.sentence
    assert "mrr" not in pair.conclusion.sentence


def test_measures_of_one_retrieval_are_named_once():
    before = with_scores("a", token_f1=[0.5] * 40, hit_rate=[0] * 40, mrr=[0.1, 0.2] * 20, recall=[0] * 40)
    after = with_scores("b", token_f1=[0.5] * 40, hit_rate=[1] * 40, mrr=[0.9, 0.8] * 20, recall=[1] * 40)
    (pair,) = compare(before, after).pairs
    assert "b is better on hit rate (+100.0 points, p " in pair.conclusion.sentence
    assert "mrr" not in pair.conclusion.sentence
    assert "recall" not in pair.conclusion.sentence
