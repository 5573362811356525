from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem
from scipy.stats import t as student

from steelyard.analysis.judges.rater_findings_values import RaterFindings
from steelyard.analysis.run_data import RunCounts
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP
from steelyard.analysis.summary.run_summary_values import ModelCalls, RecordFindings, RunSummary, ScoreDetails
from steelyard.plain_json import json_value
from steelyard.stats.binomial import wilson_with_ties, wilson_with_ties_clustered
from steelyard.stats.intervals import wilson, wilson_clustered
from steelyard.types import ScoreInfo


def row(sample, outcome="scored", value=None, *, group="", cluster="", repeat=0, name="solve_rate"):
    return ScoreRow(str(sample), group, cluster, repeat, name, outcome, value)


def mixed():
    """Five right, two wrong, two unparsed, one refused, one not applicable, three errors."""
    values = [1.0] * 5 + [0.0] * 2
    rest = ["unparsed"] * 2 + ["refused"] + ["not_applicable"] + ["error"] * 3
    return [row(i, value=value) for i, value in enumerate(values)] + [
        row(7 + i, outcome) for i, outcome in enumerate(rest)
    ]


def only(rows, **options):
    (score,), _ = summarize(rows, **options)
    return score


def test_every_outcome_is_counted_in_its_own_place():
    score = only(mixed())
    assert (score.scored, score.unparsed, score.refused, score.not_applicable, score.errors) == (7, 2, 1, 1, 3)
    assert (score.n, score.total) == (10, 14)


def test_the_three_rates_differ_in_their_denominators():
    score = only(mixed())
    assert (score.answered.value, score.answered.n) == (5 / 7, 7)
    assert (score.overall.value, score.overall.n) == (0.5, 10)
    assert (score.with_errors.value, score.with_errors.n) == (5 / 13, 13)


def test_the_interval_of_a_count_does_not_go_below_0():
    rows = [row(i, value=float(i == 0), name="calls", group="ab"[i % 2]) for i in range(20)]
    infos = {"calls": ScoreInfo("calls", lower_is_better=True, unbounded=True)}
    score = only([*rows, row(20, "unparsed", name="calls", group="a")], infos=infos)
    assert score.headline.interval.low == 0
    assert score.headline.interval.high == pytest.approx(0.05 + student.ppf(0.975, 19) * sem([1] + [0] * 19))
    assert score.macro.interval.low == 0
    assert (score.bounds, score.is_share) == (None, False)
    same = only([row(i, value=1.0, name="calls") for i in range(9)], infos=infos)
    assert (same.headline.interval, same.note) == (None, "no spread over 9 samples: no interval")


def test_a_rate_over_samples_asked_once_has_wilsons_interval():
    score = only(mixed())
    assert score.binary
    assert score.overall.interval == wilson(5, 10)
    assert score.answered.interval == wilson(5, 7)
    assert score.with_errors.interval == wilson(5, 13)
    assert not score.note


def test_bounds_move_unread_replies_from_worst_to_best_and_leave_refusals():
    assert only(mixed()).bounds == (0.5, 0.7)


def test_the_headline_is_chosen_per_score():
    assert only(mixed()).headline == only(mixed()).overall
    assert only(mixed(), infos={"solve_rate": ScoreInfo("solve_rate")}).headline == only(mixed()).answered
    assert only(mixed(), infos={"another": ScoreInfo("another")}).headline == only(mixed()).overall


def test_nothing_that_counts_leaves_no_mean():
    score = only([row(1, "not_applicable"), row(2, "error")])
    assert (score.overall.value, score.overall.interval, score.overall.n) == (None, None, 0)
    assert score.bounds is None
    assert score.with_errors.value == 0.0
    assert str(score) == "solve_rate - n=0, 1 error, 1 not applicable"


def test_groups_come_in_order_of_first_appearance_and_add_up():
    rows = [
        row(1, value=1.0, group="卦"),
        row(2, value=0.0, group="爻"),
        row(3, "unparsed", group="卦"),
        row(4, value=1.0),
    ]
    (whole,), groups = summarize(rows)
    assert [group.group for group in groups["solve_rate"]] == ["卦", "爻", NO_GROUP]
    assert [group.overall.value for group in groups["solve_rate"]] == [0.5, 0.0, 1.0]
    assert sum(group.total for group in groups["solve_rate"]) == whole.total


def test_scores_without_groups_have_no_breakdown():
    assert summarize([row(1, value=1.0)])[1] == {}


def test_scores_come_in_order_of_first_appearance():
    rows = [row(1, value=0.5, name="b"), row(1, value=1.0, name="a"), row(2, value=0.5, name="b")]
    assert [score.name for score in summarize(rows)[0]] == ["b", "a"]


def test_a_record_that_failed_before_it_was_scored_is_an_error_of_every_score():
    rows = [row(0, "error", name=""), row(1, value=1.0, name="a"), row(1, value=1.0, name="b")]
    assert [(score.name, score.errors, score.total) for score in summarize(rows)[0]] == [("a", 1, 2), ("b", 1, 2)]


def test_repeats_of_a_sample_count_as_one_piece_of_evidence():
    answers = [1.0] * 7 + [0.0] * 5
    rows = [row(i, value=value, repeat=repeat) for repeat in range(3) for i, value in enumerate(answers)]
    score = only(rows)
    assert score.overall.value == 7 / 12
    assert score.overall.interval == pytest.approx(wilson_clustered(answers, clusters=range(12)))
    assert score.note == "effective-n Wilson interval over 36 rows in 12 independent clusters"


def test_samples_of_one_cluster_widen_the_interval():
    values = [float(i // 4 % 2) for i in range(40)]
    alone = only([row(i, value=value) for i, value in enumerate(values)]).overall.interval
    together = only([row(i, value=value, cluster=f"c{i // 4}") for i, value in enumerate(values)]).overall.interval
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_a_score_that_is_no_rate_has_students_t_interval():
    values = [3.0, 4.0, 5.0, 2.0]
    score = only([row(i, value=value, name="rating") for i, value in enumerate(values)])
    assert score.overall.interval == pytest.approx(student.interval(0.95, 3, 3.5, sem(values)))
    assert score.bounds is None
    assert score.note == "t interval over 4 samples"


def test_a_score_of_wins_ties_and_losses_has_the_interval_for_ties():
    values = [1.0] * 19 + [0.5]
    score = only([row(i, value=value, name="preference") for i, value in enumerate(values)])
    assert score.overall.interval == wilson_with_ties(19, 1, 0)
    assert score.note == "score interval with ties over 20 samples"
    twice = [
        row(i, value=value, name="preference", repeat=repeat) for repeat in (0, 1) for i, value in enumerate(values)
    ]
    assert only(twice).overall.interval == pytest.approx(wilson_with_ties_clustered(values, clusters=range(20)))
    assert only(twice).note == "effective-n score interval with ties over 40 rows in 20 independent clusters"


def test_a_half_among_other_values_is_no_tie():
    values = [1.0] * 18 + [0.5, 0.75]
    score = only([row(i, value=value, name="overlap") for i, value in enumerate(values)])
    assert score.note == "t interval over 20 samples"


def test_the_interval_of_a_score_on_the_unit_scale_stays_on_it():
    score = only([row(i, value=value) for i, value in enumerate([1.0, 1.0, 0.9])])
    assert score.overall.interval.high == 1.0


RATING = {"rating": ScoreInfo("rating", (1, 5))}


def ratings(*values, unparsed=0, refused=0, group=""):
    read = [row(i, value=float(value), name="rating", group=group) for i, value in enumerate(values)]
    unread = ["unparsed"] * unparsed + ["refused"] * refused
    return read + [row(100 + i, outcome, name="rating", group=group) for i, outcome in enumerate(unread)]


def rating(*values, **unread):
    return only(ratings(*values, **unread), infos=RATING)


def test_what_could_not_be_read_is_bounded_by_the_ends_of_the_scale():
    rating_score = rating(4, 5, 3, unparsed=1, refused=1)
    assert rating_score.bounds == ((12 + 2 * 1) / 5, (12 + 2 * 5) / 5)
    assert rating_score.missing_verdicts == 2
    assert rating_score.headline.value == 4.0
    assert str(rating_score).endswith("1 unreadable, 1 refused, 2.80 to 4.40 counting these")
    assert json_value(rating_score)["scale"] == [1.0, 5.0]


def test_where_all_was_read_the_bounds_have_nothing_to_say():
    assert rating(4, 5).missing_bounds is None
    assert rating(4, 5).bounds == (4.5, 4.5)
    assert "whatever" not in str(rating(4, 5))


def test_a_mean_over_all_takes_an_unread_rating_for_the_lowest_as_there_is_no_0():
    rating_score = rating(5, 5, unparsed=2)
    assert rating_score.overall.value == 3.0
    assert rating_score.overall.value == rating_score.bounds.low
    counted = {"rating": ScoreInfo("rating", (1, 5), denominator="all")}
    assert only(ratings(5, 5, unparsed=2), infos=counted).overall.value == 2.5


def test_a_share_of_what_was_scored_is_bounded_by_its_refusals_too():
    rows = [row(1, value=1.0), row(2, value=0.0), row(3, "unparsed"), row(4, "refused")]
    assert only(rows, infos={"solve_rate": ScoreInfo("solve_rate")}).bounds == (0.25, 0.75)
    assert only(rows).bounds == (0.25, 0.5)


def test_ratings_that_all_happen_to_be_1_are_no_rate():
    rating_score = rating(1, 1, 1, unparsed=1)
    assert not rating_score.binary
    assert not rating_score.is_share
    assert rating_score.answered.interval == (1.0, pytest.approx(1 + 4 * 4.302653**2 / (3 + 4.302653**2), abs=1e-6))
    assert rating_score.note == "no spread over 3 samples: Wilson interval on the scale"
    assert rating(unparsed=3).overall.value == 1.0


def test_a_scale_of_0_to_1_is_the_usual_one():
    rows = [row(1, value=1.0), row(2, value=0.0)]
    assert only(rows, infos={"solve_rate": ScoreInfo("solve_rate", (0, 1), denominator="all")}) == only(rows)


def test_the_note_of_an_interval_counts_what_its_mean_is_over():
    assert rating(4, 5, 3, unparsed=7).note == "t interval over 3 samples"


def test_equal_values_off_any_scale_give_no_interval_and_say_so():
    score = only([row(at, value=7.5) for at in range(4)])
    assert score.answered.interval is None
    assert score.note == "no spread over 4 samples: no interval"


def test_equal_shares_give_the_interval_of_a_rate():
    score = only([row(at, value=0.1 + 0.2) for at in range(4)])
    t = 3.182446
    centre, half = (0.3 + t * t / 8) / (1 + t * t / 4), t / (1 + t * t / 4) * (0.21 / 4 + t * t / 64) ** 0.5
    assert score.answered.interval == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_groups_have_bounds_of_their_own():
    rows = ratings(4, unparsed=1, group="a") + ratings(2, 2, group="b")
    _, groups = summarize(rows, infos=RATING)
    assert [group.missing_bounds for group in groups["rating"]] == [(2.5, 4.5), None]


def test_one_value_that_is_no_rate_has_no_interval():
    assert only([row(1, value=0.4)]).overall.interval is None


OUTCOMES = st.sampled_from(["scored", "unparsed", "refused", "error", "not_applicable"])


@given(st.lists(st.tuples(OUTCOMES, st.floats(0, 1))))
def test_the_order_of_rows_changes_no_count_and_no_rate(drawn):
    rows = [row(i, outcome, value if outcome == "scored" else None) for i, (outcome, value) in enumerate(drawn)]
    ahead, back = summarize(rows)[0], summarize(rows[::-1])[0]
    for first, second in zip(ahead, back, strict=True):
        assert (first.total, first.n, first.scored) == (second.total, second.n, second.scored)
        assert first.total == first.scored + first.unparsed + first.refused + first.errors + first.not_applicable
        if first.n:
            assert first.overall.value == pytest.approx(second.overall.value, abs=1e-12)
            assert first.bounds.low <= first.overall.value + 1e-12


def run_summary(rows=(), **changed):
    scores, groups = summarize(rows)
    fields = {
        "run": "r1",
        "suite": "exam",
        "target": "longest",
        "tags": {"knowledge_base": "no"},
        "state": "finished",
        "created": "2026-11-21T10:00:00Z",
        "counts": RunCounts(14, 14, 3, 0, 10, 20, 1.5),
        "scores": scores,
        "groups": groups,
        "primary": scores[0].name if scores else "",
        "records": RecordFindings(unparsed_kinds={"several": 2}),
    }
    return RunSummary(**(fields | changed))


def test_a_run_prints_one_line_per_score():
    rows = [row(i, value=float(i < 116)) for i in range(167)] + [row(200 + i, "unparsed") for i in range(3)]
    rows += [row(i, value=2.0, name="rating") for i in range(2)]
    bounds = "at most 0.70"
    assert str(run_summary(rows)).splitlines() == [
        f"solve_rate 0.68 [0.61, 0.75] n=170, 0 errors, 3 unreadable, {bounds}",
        "rating 2.00 n=2, 0 errors",
    ]


def test_an_unfinished_run_says_so_first():
    text = str(run_summary(mixed(), state="interrupted", counts=RunCounts(40, 14)))
    assert text.splitlines()[0] == "interrupted: 14 of 40 done"


def test_a_run_without_scores_says_how_many_failed():
    assert str(run_summary()) == "no scores, 3 errors"


def test_json_holds_every_field_and_only_plain_values():
    summary = run_summary([*mixed(), row(99, value=1.0, group="g")])
    plain = json.loads(json.dumps(json_value(summary), allow_nan=False))
    parts = {"counts": RunCounts, "details": ScoreDetails, "records": RecordFindings, "calls": ModelCalls}
    parts["raters"] = RaterFindings
    names = {*RunSummary.__dataclass_fields__} - {*parts}
    names |= {name for part in parts.values() for name in part.__dataclass_fields__}
    assert set(plain) == names | {"calls_saved", "not_compared", "right_by_rule"}
    headline = {"value": 6 / 11, "interval": list(wilson(6, 11)), "n": 11}
    assert plain["scores"][0]["headline"] == {**headline, "standard_error": pytest.approx(sem([1] * 6 + [0] * 5))}
    assert plain["groups"]["solve_rate"][1]["group"] == "g"
    assert plain["unparsed_kinds"] == {"several": 2}


def test_a_score_is_found_by_name_and_group():
    summary = run_summary([row(1, value=1.0, group="g"), row(2, value=0.0, group="h")])
    assert summary.score().overall.value == 0.5
    assert summary.score("solve_rate", "g").overall.value == 1.0
    assert summary.score("solve_rate", "missing") is None
    assert summary.score("missing") is None


class TestStandardErrors:
    def test_a_rate_has_that_of_its_zeros_and_ones(self):
        summary = only(mixed())
        assert summary.overall.standard_error == pytest.approx(sem([1] * 5 + [0] * 5))
        assert summary.answered.standard_error == pytest.approx(sem([1] * 5 + [0] * 2))

    def test_a_mean_has_that_of_its_values_on_any_scale(self):
        ratings = [1.0, 4.0, 4.0, 5.0]
        infos = {"rating": ScoreInfo("rating", (1, 5))}
        summary = only([row(i, value=value, name="rating") for i, value in enumerate(ratings)], infos=infos)
        assert summary.headline.standard_error == pytest.approx(sem(ratings))

    def test_rows_in_clusters_have_that_of_the_clusters_sums(self):
        values = [1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0]
        clusters = "aaabbcccdddd"
        summary = only(
            [row(i, value=float(v), cluster=c) for i, (v, c) in enumerate(zip(values, clusters, strict=True))]
        )
        assert summary.overall.standard_error == pytest.approx(0.178226, abs=1e-6)  # `clustered_spread`'s own example
        plain = only([row(i, value=float(v)) for i, v in enumerate(values)])
        assert plain.overall.standard_error == pytest.approx(sem(values))

    def test_a_lone_sample_and_no_sample_have_none(self):
        assert only([row(0, value=1.0)]).overall.standard_error is None
        assert only([row(0, "unparsed"), row(1, "error")]).answered.standard_error is None
