"""Which records a person should look at, rule by rule, each with a record to which it applies and one to which not."""

import pytest

from steelyard import Output, Record, Sample, Score, ScoreInfo
from steelyard.analysis.review_reasons import REASONS, ReviewRules


def record(*scores, repeat=0):
    return Record(Sample("q", "?"), Output("text"), scores, repeat=repeat)


def keys(scores, infos=(), *, primary="", repeats=(), manifest=None):
    rules = ReviewRules.of({"primary": primary, **(manifest or {})}, {info.name: info for info in infos})
    return [reason.key for reason in rules.reasons(record(*scores), repeats)]


def passed(name, verdict, **detail):
    return Score(name, float(verdict), passed=verdict, detail=detail)


UNIT = ScoreInfo("correct", (0.0, 1.0), threshold=1.0)


def test_a_refusal_is_named_once():
    score = Score("accuracy", None, outcome="refused", detail={"kind": "refused"})
    rules = ReviewRules.of({"primary": ""}, {})
    assert [str(reason) for reason in rules.reasons(record(score), ())] == ["refused"]


def test_a_reply_without_a_verdict_is_said_to_have_none():
    scores = Score("rubric", None, outcome="unparsed", detail={"kind": "none"}), Score("length", 1.0)
    rules = ReviewRules.of({"primary": ""}, {})
    assert [str(reason) for reason in rules.reasons(record(*scores), ())] == ["unparsed (rubric: no verdict)"]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([Score("a", None, outcome="unparsed", detail={"kind": "truncated"})], ["unparsed"]),
        ([Score("a", None, outcome="refused")], ["refused"]),
        ([Score("a", None, outcome="not_applicable")], []),
        ([passed("result", True, kind="within_tolerance")], ["tolerance"]),
        ([passed("result", False, kind="values", flags=["within_tolerance"])], []),
        ([passed("result", True, kind="same_up_to_ties", flags=["limit_tie"])], ["not_unique"]),
        ([passed("result", True, kind="same")], []),
        ([passed("result", True, kind="equal_by_rule")], ["type_rule"]),
        ([passed("result", True, kind="within_tolerance", flags=["equal_by_rule"])], ["tolerance", "type_rule"]),
        ([passed("result", False, kind="rows_differ", reference="not unique")], ["not_unique"]),
        ([passed("execution_accuracy", True, label="within tolerance")], ["tolerance"]),
        ([passed("cell_recall", True, label="within tolerance")], []),
        ([passed("result", True), passed("ex_bird", False)], ["metrics_disagree"]),
        ([passed("result", True), passed("ex_bird", True), passed("format", False)], []),
        ([passed("result", True), passed("ex_spider_keep_distinct", False)], []),
        ([Score("rating", 3.0, detail={"flip_rate": 0.2})], ["judge_undecided"]),
        ([Score("rating", 3.0, detail={"flip_rate": 0.0})], []),
        ([Score("preference", 0.5, detail={"label": "inconsistent"})], ["inconsistent"]),
        ([Score("preference", 0.5, detail={"label": "tie"})], []),
        ([passed("hit_rate", True), passed("correct", False)], ["wrong_with_source"]),
        ([passed("hit_rate", False), passed("correct", True)], ["right_without_source"]),
        ([passed("hit_rate", True), passed("correct", True)], []),
        ([passed("hit_rate", True)], []),
    ],
)
def test_a_rule_applies_to_what_it_names_and_to_nothing_near_it(scores, expected):
    assert keys(scores) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3.9, ["near_threshold"]), (4.1, ["near_threshold"]), (4.0, []), (3.7, [])]
)
def test_a_score_is_near_its_threshold_within_a_twentieth_of_its_range(value, expected):
    info = ScoreInfo("rating", (1.0, 5.0), threshold=4.0)
    assert keys([Score("rating", value)], [info]) == expected


def test_a_threshold_at_the_end_of_the_range_has_no_near():
    assert keys([Score("correct", 0.97)], [UNIT]) == []


def test_judges_with_one_question_disagree_from_two_of_five_points_on():
    infos = [ScoreInfo(name, (1.0, 5.0)) for name in ("first", "second", "other")]
    asked = {"criteria": "Is it brief?"}
    scorers = {
        "first": {"g_eval": {**asked, "name": "first", "judge": {"model": "a"}}},
        "second": {"g_eval": {**asked, "name": "second", "judge": {"model": "b"}}},
        "other": {"g_eval": {"criteria": "Is it kind?", "name": "other", "judge": {"model": "a"}}},
    }
    manifest = {"scorers": scorers}

    def given(first, second, other):
        scores = [Score("first", first), Score("second", second), Score("other", other)]
        return keys(scores, infos, manifest=manifest)

    assert given(5.0, 3.0, 5.0) == ["judges_disagree"]
    assert given(5.0, 4.0, 1.0) == [], "another question may have another answer"


def test_scores_that_declare_to_rate_one_thing_are_held_against_each_other():
    infos = [ScoreInfo(f"correctness_{judge}", (1.0, 5.0), rates="correctness") for judge in "ab"]
    assert keys([Score("correctness_a", 5.0), Score("correctness_b", 2.0)], infos) == ["judges_disagree"]
    assert keys([Score("correctness_a", 5.0), Score("correctness_b", None, outcome="refused")], infos) == ["refused"]


def test_repeats_of_a_sample_that_pass_and_fail_are_all_listed():
    other = record(passed("correct", False), repeat=1)
    assert keys([passed("correct", True)], [UNIT], primary="correct", repeats=[other]) == ["repeats_disagree"]
    assert keys([passed("correct", False)], [UNIT], primary="correct", repeats=[other]) == []


def test_the_rule_of_another_tool_is_no_reason():
    info = ScoreInfo("last_letter", (0.0, 1.0), also_scored=True)
    assert keys([Score("last_letter", None, outcome="unparsed")], [info]) == []


def test_a_judge_that_failed_beside_others_is_named():
    rules = ReviewRules.of({}, {})
    scores = (Score("faithfulness", None, outcome="unparsed", detail={"kind": "no_verdict"}), Score("f1", 0.5))
    (reason,) = rules.reasons(record(*scores))
    assert str(reason) == "unparsed (faithfulness: no verdict)"


def test_reasons_come_in_the_order_of_their_list():
    scores = [
        passed("result", True, kind="within_tolerance"),
        passed("ex_bird", False),
        Score("j", None, outcome="refused"),
    ]
    reason_keys = keys(scores)
    assert reason_keys == [key for key in REASONS if key in reason_keys]
    assert len(reason_keys) == 3
