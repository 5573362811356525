from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.stored_run import run_of
from tests.thorough import times

import steelyard
from steelyard.analysis.comparison.alignment import SampleOverlap
from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import ChangedIds, FurtherDifferences, OutcomeTable, PairComparison
from steelyard.analysis.numbers import about_text
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value
from steelyard.stats.paired import mcnemar_exact, newcombe_paired
from steelyard.stats.power import pairs_for_rates
from steelyard.types import ScoreInfo


def row(sample, value, *, name="solve_rate", group="", cluster="", repeat=0):
    """`value` is a number, or the outcome of what has none."""
    if isinstance(value, str):
        return ScoreRow(str(sample), group, cluster, repeat, name, value, None)
    return ScoreRow(str(sample), group, cluster, repeat, name, "scored", float(value))


def stored(target, values, **options):
    """One row per value; sample ids are 0, 1, 2 ..."""
    kinds = {key: options.pop(key) for key in ("name", "groups", "clusters") if key in options}
    groups, clusters = kinds.get("groups", [""] * len(values)), kinds.get("clusters", [""] * len(values))
    name = kinds.get("name", "solve_rate")
    rows = [row(i, value, name=name, group=groups[i], cluster=clusters[i]) for i, value in enumerate(values)]
    return run_of(f"run-{target}", rows, target, **options)


def table_runs(both, fixed, broken, neither):
    before = [1] * both + [0] * fixed + [1] * broken + [0] * neither
    after = [1] * both + [1] * fixed + [0] * broken + [0] * neither
    return stored("longest", before), stored("retrieval", after)


def only(*runs, **options):
    (pair,) = compare(*runs, **options).pairs
    return pair


def test_ratings_that_happen_to_be_1_are_no_rates():
    options = {"name": "rating", "groups": ["a", "a", "b"]}
    infos = {"rating": ScoreInfo("rating", (1, 5))}
    runs = [stored(target, [1, 1, 1], infos=infos, **options) for target in ("longest", "retrieval")]
    pair = only(*runs)
    assert (pair.headline.unit, pair.headline.table) == (False, None)
    assert [group.unit for group in pair.further.groups] == [False, False]
    assert "%" not in pair.conclusion.sentence
    assert "in rating: retrieval 1.00" in pair.conclusion.sentence
    assert only(*(stored(run.target, [1, 1, 1], **options) for run in runs)).headline.unit


def test_a_table_gives_difference_interval_and_exact_p():
    pair = only(*table_runs(60, 16, 6, 18))
    headline = pair.headline
    assert headline.table == OutcomeTable(both_right=60, improved=16, regressed=6, both_wrong=18)
    assert (headline.baseline, headline.other) == (0.66, 0.76)
    assert headline.difference == pytest.approx(0.10)
    assert headline.interval == newcombe_paired(60, 16, 6, 18)
    assert headline.p == pytest.approx(0.052479, abs=5e-7)
    assert headline.relative == pytest.approx(0.10 / 0.66)
    assert (pair.overlap.n_paired, len(pair.changed.improvements), len(pair.changed.regressions)) == (100, 16, 6)


def test_the_sentence_of_a_real_difference_gives_both_values_interval_p_and_pairs():
    assert only(*table_runs(20, 40, 10, 66)).conclusion.sentence == (
        "retrieval solves 22.1 points more than longest (44.1 % against 22.1 %; 95 % CI +12.2 to +31.3; "
        "p < 0.001; 136 pairs)."
    )


def test_the_sentence_of_a_loss_turns_the_interval_with_the_claim():
    pair = only(*table_runs(20, 10, 40, 66))
    assert pair.verdict == "worse"
    assert pair.conclusion.sentence.startswith(
        "retrieval solves 22.1 points less than longest (22.1 % against 44.1 %; "
    )
    assert "95 % CI -31.3 to -12.2" in pair.conclusion.sentence


def test_no_evidence_says_which_differences_the_data_allow():
    """The published benchmark's 121 and 116 of 170, with 27 and 22 questions that only one side solved."""
    pair = only(*table_runs(94, 27, 22, 27))
    low, high = newcombe_paired(94, 27, 22, 27)
    assert pair.verdict == "no_evidence"
    assert pair.conclusion.sentence == (
        "No clear difference in solve rate: retrieval 121 of 170, longest 116 of 170 "
        f"(p = {mcnemar_exact(27, 22):.2g}; 170 pairs). The true difference is probably between "
        f"{100 * low:+.1f} and {100 * high:+.1f} points. "
        "With 170 samples, only differences of about 11.5 points are found reliably (in 80 % of cases). "
        f"To settle 2.9 points: {about_text(pairs_for_rates(27 / 170, 22 / 170))} samples."
    )


def test_an_interval_and_a_test_that_disagree_are_no_evidence_and_say_so():
    pair = only(*table_runs(60, 16, 6, 18))
    assert pair.verdict == "no_evidence"
    assert "borderline" in pair.conclusion.sentence
    assert "+0.8 to +19.1 points" in pair.conclusion.sentence


def test_an_unread_or_refused_reply_is_not_solved_but_is_no_answer_either():
    baseline = stored("a", [1, 1, "unparsed", "refused", 0])
    other = stored("b", [1, 0, 1, 1, "unparsed"])
    pair = only(baseline, other)
    assert pair.headline.table == OutcomeTable(both_right=1, improved=2, regressed=1, both_wrong=1)
    assert pair.further.answered_both.table == OutcomeTable(both_right=1, improved=0, regressed=1, both_wrong=0)
    assert pair.unanswered == OutcomeTable(both_right=0, improved=2, regressed=0, both_wrong=1)


def test_a_score_over_what_was_scored_leaves_unread_replies_out_and_counts_them():
    infos = {"solve_rate": ScoreInfo("solve_rate")}
    pair = only(stored("a", [1, "unparsed", 0], infos=infos), stored("b", [1, 1, 1], infos=infos))
    assert (pair.overlap.n_paired, pair.over) == (2, "scored")
    assert pair.overlap.unpaired == (("unparsed", "scored", 1, ("1",)),)
    assert replace(pair.headline, needed=None) == pair.further.answered_both


def test_a_pair_that_failed_on_a_side_is_left_out_counted_and_warned_of():
    pair = only(stored("a", [1, 0, "error", "not_applicable"]), stored("b", [1, "error", 1, 1]))
    assert pair.overlap.n_paired == 1
    assert pair.overlap.unpaired == (
        ("scored", "failed", 1, ("1",)),
        ("failed", "scored", 1, ("2",)),
        ("not_applicable", "scored", 1, ("3",)),
    )
    assert "2 samples failed in a or b and are left out." in pair.warnings


def test_a_nameless_error_belongs_to_the_compared_score():
    failed = run_of("r", [row(0, 1), row(1, "error", name="")], "b")
    pair = only(stored("a", [1, 1]), failed)
    assert (pair.overlap.n_paired, pair.overlap.n_unpaired(other="failed")) == (1, 1)


def test_samples_are_paired_by_id_and_not_by_place():
    baseline = run_of("r1", [row("x", 1), row("y", 0), row("z", 1)], "a")
    other = run_of("r2", [row("y", 1), row("w", 1), row("x", 1)], "b")
    pair = only(baseline, other)
    assert pair.headline.table == OutcomeTable(1, 1, 0, 0)
    assert pair.changed.improvements == ("y",)
    assert pair.overlap.unpaired == (("scored", "absent", 1, ("z",)), ("absent", "scored", 1, ("w",)))
    assert pair.warnings == ("The runs differ in samples: 1 only in a, 1 only in b; these are left out.",)


def test_samples_with_the_score_in_one_run_alone_are_told_with_the_reason():
    """A sample of both runs without the compared score in one is not told as a sample of one run."""
    other_score = [row(sample, 1, name="polite") for sample in range(6)]
    baseline = run_of("r1", [*other_score, *(row(sample, 1) for sample in range(6))], "a")
    given = [row(0, 1), row(1, "not_applicable"), row(2, "not_applicable")]
    pair = only(baseline, run_of("r2", [*other_score, *given], "b"), score="solve_rate")
    assert pair.overlap.unpaired == (
        ("scored", "not_applicable", 2, ("1", "2")),
        ("scored", "no_score", 3, ("3", "4", "5")),
    )
    assert pair.warnings == (
        (
            "5 samples have this score in a alone (2 not applicable in b, 3 without this score in b); a difference may "
            "come from leaving them out."
        ),
    )
    turned = only(run_of("r2", [*other_score, *given], "b"), baseline, score="polite").further.scores[0]
    assert (turned.score, turned.alone) == ("solve_rate", (0, 5))


def test_a_sample_with_a_record_and_no_score_at_all_is_not_told_as_absent():
    whole = stored("b", [1, 1, 1], keys={"0": [1], "1": [2], "2": [3]})
    pair = only(stored("a", [1, 1, 1]), replace(whole, scores=whole.scores.only(whole.scores.sample < 2)))
    assert pair.overlap.unpaired == (("scored", "no_score", 1, ("2",)),)


def test_every_sample_without_a_pair_is_named():
    pair = only(stored("a", [1] * 40), stored("b", [1] * 10))
    assert pair.overlap.unpaired == (("scored", "absent", 30, tuple(map(str, range(10, 40)))),)


def test_equal_finished_runs_of_the_same_samples_warn_of_nothing():
    assert only(*table_runs(5, 2, 1, 3)).warnings == ()


def test_changed_content_and_shared_replies_are_counted_and_warned_of():
    hashes = {"0": "aa", "1": "bb"}
    baseline = stored("a", [1, 0], hashes=hashes, keys={"0": [0], "1": [1, 2]})
    other = stored("b", [1, 1], hashes=hashes | {"1": "cc"}, keys={"0": [9], "1": [2]})
    pair = only(baseline, other)
    assert (pair.overlap.changed_content, pair.overlap.shared_replies) == (1, 1)
    assert [warning.partition(" ")[0] for warning in pair.warnings] == ["1", "For"]


def test_an_unfinished_run_other_errors_and_other_scorers_are_warned_of():
    baseline = stored("a", [1, 0, 1], manifest={"scorers": {"choice": {}}})
    other = stored("b", [1, 1, "error"], state="interrupted", planned=9, manifest={"scorers": {"exact_match": {}}})
    text = " ".join(only(baseline, other).warnings)
    assert "b is interrupted: 3 of 9 records are done." in text
    broken = stored("b", [1, 1, "error"], state="broken")
    assert "b failed: 3 of 3 records are done." in only(baseline, broken).warnings
    assert "0 in a and 1 in b" in text
    assert "different scorers" in text


def test_errors_of_a_score_that_is_not_compared_are_no_warning():
    baseline, other = (stored(name, [1, 0, 1]) for name in "ab")
    failed = row(2, "error", name="judged")
    other = run_of(other.id, [*other.scores.rows(), failed], other.target)
    assert only(baseline, other, score="solve_rate").warnings == ()


def prompted(name, *, text="Q: {{question}}", template="en/a", temperature=0):
    model = {"openai_compatible": {"name": "m", "parameters": {"temperature": temperature}}}
    prompt = {"model": model, "template": template, "text": text, "system": "", "parameters": {}}
    return stored(name, [1, 0, 1], manifest={"target": {"prompt": prompt}})


def test_two_versions_that_send_the_same_are_warned_of_as_noise():
    (warning,) = only(prompted("v1"), prompted("v2", template="en/b")).warnings
    assert warning.startswith("v1 and v2 have the same prompt, model and parameters: ")
    assert "noise" in warning


@pytest.mark.parametrize("change", [{"text": "Q:  {{question}}"}, {"temperature": 1}])
def test_a_version_that_sends_something_else_is_not_warned_of(change):
    assert only(prompted("v1"), prompted("v2", **change)).warnings == ()


def test_targets_that_are_no_prompts_are_not_taken_for_the_same():
    both = [stored(name, [1, 0], manifest={"target": {"function": {"function": "my:answer"}}}) for name in "ab"]
    assert only(*both).warnings == ()


def test_repeats_of_a_sample_are_averaged_before_they_are_paired():
    baseline = run_of("r1", [row(i, i % 2, repeat=r) for i in range(6) for r in range(2)], "a")
    other = run_of("r2", [row(i, r, repeat=r) for i in range(6) for r in range(2)], "b")
    headline = only(baseline, other).headline
    assert (headline.n, headline.baseline, headline.other) == (6, 0.5, 0.5)
    assert headline.table is None
    assert headline.methods.test == "sign-flip permutation"


def test_samples_of_one_cluster_are_tested_together():
    before, after = [0] * 40, [1] * 12 + [0] * 28
    clusters = [f"c{i // 4}" for i in range(40)]
    alone = only(stored("a", before), stored("b", after))
    together = only(stored("a", before, clusters=clusters), stored("b", after, clusters=clusters))
    assert alone.verdict == "better"
    assert together.headline.table == alone.headline.table
    assert together.headline.p == pytest.approx(2 / 2**3, abs=0.02)
    assert together.verdict == "no_evidence"
    gained = only(stored("a", before), stored("b", after, clusters=clusters))
    assert gained.headline.p == together.headline.p
    assert "30 samples changed their cluster between the runs: intervals and tests use the clusters of b." in (
        gained.warnings
    )


def test_a_cluster_of_one_sample_is_none():
    ids = [str(i) for i in range(40)]
    pair = only(stored("a", [0] * 40), stored("b", [1] * 12 + [0] * 28, clusters=ids))
    assert not pair.warnings
    assert pair.headline == only(stored("a", [0] * 40), stored("b", [1] * 12 + [0] * 28)).headline


def test_a_score_that_is_no_rate_is_bootstrapped_and_told_in_its_own_units():
    ratings = [1.0, 2.0, 3.0, 4.0] * 10
    better = [value + (0.5 if i % 2 else 0.25) for i, value in enumerate(ratings)]
    pair = only(stored("a", ratings, name="correctness"), stored("b", better, name="correctness"))
    assert pair.verdict == "better"
    assert pair.conclusion.sentence.startswith(
        "b scores 0.38 higher on correctness than a (2.88 against 2.50; 95 % CI +0.3"
    )
    assert (len(pair.changed.improvements), pair.changed.regressions, pair.headline.unit) == (40, (), False)


def test_a_rate_of_another_name_is_told_in_points_of_that_score():
    runs = [stored(name, values, name="exact_match") for name, values in (("a", [0] * 20), ("b", [1] * 20))]
    assert only(*runs).conclusion.sentence.startswith(
        "b scores 100.0 points more on exact match than a (100.0 % against 0.0 %; "
    )


def test_two_runs_without_a_shared_sample_allow_no_conclusion():
    pair = only(run_of("r1", [row("x", 1)], "a"), run_of("r2", [row("y", 1)], "b"))
    assert pair.verdict == "none"
    assert (pair.headline.difference, pair.headline.p, pair.headline.interval) == (None, None, None)
    assert pair.conclusion.sentence.startswith(
        "a and b share no sample with a value of solve rate in both, so they cannot be compared."
    )


def test_pairs_that_all_agree_on_a_score_say_nothing_of_its_size():
    pair = only(stored("a", [4.0] * 9, name="rating"), stored("b", [4.0] * 9, name="rating"))
    assert pair.verdict == "no_evidence"
    assert pair.conclusion.sentence.endswith("These pairs do not show how large one may be.")


def test_of_values_between_0_and_1_that_all_agree_few_can_change():
    """Of 9 pairs none has changed, so at most 1 - 0.025^(1/9) = 33.6 % do."""
    pair = only(stored("a", [0.4] * 9, name="f1"), stored("b", [0.4] * 9, name="f1"))
    assert pair.verdict == "no_evidence"
    assert "The true difference is probably between -33.6 and +33.6 points" in pair.conclusion.sentence


def test_runs_of_one_target_are_told_apart_by_their_ids():
    before, after = table_runs(20, 40, 10, 66)
    after = replace(after, target=before.target)
    assert (
        "longest (run-retrieval) solves 22.1 points more than longest (run-longest)"
        in only(before, after).conclusion.sentence
    )


def test_groups_are_compared_apart_and_in_order_of_first_appearance():
    groups = ["卦"] * 3 + ["爻"] * 2 + [""]
    pair = only(stored("a", [1, 0, 0, 1, 1, 0], groups=groups), stored("b", [1, 1, 0, 0, 1, 0], groups=groups))
    assert [(group.group, group.n, group.table) for group in pair.further.groups] == [
        ("卦", 3, OutcomeTable(1, 1, 0, 1)),
        ("爻", 2, OutcomeTable(1, 0, 1, 0)),
        ("(no group)", 1, OutcomeTable(0, 0, 0, 1)),
    ]


def test_every_run_is_compared_with_the_first_and_corrected_for_the_others():
    runs = [stored(name, values) for name, values in (("a", [0, 0, 1]), ("b", [1, 0, 1]), ("c", [1, 1, 1]))]
    comparison = compare(*runs)
    assert [(pair.baseline_target, pair.other_target, pair.headline.table.improved) for pair in comparison.pairs] == [
        ("a", "b", 1),
        ("a", "c", 2),
    ]
    assert comparison.notes == ("p-values are adjusted because 2 runs are compared with one baseline (Holm).",)
    assert [summary.target for summary in (comparison.baseline, *comparison.others)] == ["a", "b", "c"]


def test_a_score_is_chosen_by_name_and_is_the_primary_one_by_default():
    rows = [row(0, 1), row(0, 3.0, name="rating"), row(1, 0), row(1, 4.0, name="rating")]
    runs = run_of("r1", rows, "a"), run_of("r2", rows, "b")
    assert compare(*runs).score == "solve_rate"
    assert only(*runs, score="rating").headline.baseline == 3.5


def test_what_cannot_be_compared_is_the_users_mistake():
    run = stored("a", [1])
    with pytest.raises(ConfigError, match="two runs or more, not 1"):
        compare(run)
    with pytest.raises(ConfigError, match="did you mean 'solve_rate'"):
        compare(run, run, score="solved_rate")
    with pytest.raises(ConfigError, match=r"run-b \(b\) has no scores"):
        compare(run, stored("b", []))
    with pytest.raises(ConfigError, match="not 95"):
        compare(run, run, level=95)


def test_a_comparison_is_the_same_each_time_and_plain_json():
    baseline, other = stored("a", [0.1, 0.5, 0.3], name="f1"), stored("b", [0.4, 0.2, 0.9], name="f1")
    first, second = (json.dumps(json_value(compare(baseline, other)), allow_nan=False) for _ in range(2))
    assert first == second
    whole = {*PairComparison.__dataclass_fields__, "differs", "verdict", "claim", "sentence"}
    whole -= {"overlap", "changed", "further", "conclusion"}
    parts = {*SampleOverlap._fields, *ChangedIds.__dataclass_fields__, *FurtherDifferences.__dataclass_fields__}
    assert set(json.loads(first)["pairs"][0]) == whole | parts
    table = json.loads(json.dumps(json_value(compare(*table_runs(1, 2, 3, 4)))))["pairs"][0]["headline"]["table"]
    assert table == {"both_right": 1, "improved": 2, "regressed": 3, "both_wrong": 4}


def test_the_public_name_is_the_function_whatever_was_imported_before():
    assert steelyard.compare is compare


outcomes = st.sampled_from([0, 1, 0.5, "unparsed", "refused", "error", "not_applicable"])


@settings(
    deadline=None, max_examples=times(15, 50)
)  # fractions are resampled 9,999 times, which takes what the machine takes
@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=25))
def test_turning_the_sides_turns_the_difference_and_every_sample_is_accounted_for(drawn):
    baseline, other = stored("a", [before for before, _ in drawn]), stored("b", [after for _, after in drawn])
    there, back = only(baseline, other), only(other, baseline)
    assert there.overlap.n_paired + there.overlap.n_unpaired() == len(drawn)
    assert (there.changed.improvements, there.changed.regressions) == (
        back.changed.regressions,
        back.changed.improvements,
    )
    assert there.further.answered_both.n <= there.overlap.n_paired
    if there.overlap.n_paired:
        assert there.headline.difference == pytest.approx(-back.headline.difference)
        assert there.headline.p == pytest.approx(back.headline.p, abs=1e-9)
        turned = {"better": "worse", "worse": "better"}
        assert back.verdict == turned.get(there.verdict, there.verdict)


def test_the_missing_correction_for_groups_is_said_beside_the_groups_alone():
    groups = ["卦"] * 3 + ["爻"] * 2
    sides = (stored("a", [1, 0, 0, 1, 1], groups=groups), stored("b", [1, 1, 0, 0, 1], groups=groups))
    comparison = compare(*sides)
    assert comparison.notes == ()
    assert [note[:31] for note in comparison.group_notes] == ["The p-values of the 2 groups are"[:31]]
    assert compare(stored("a", [1, 0]), stored("b", [1, 1])).group_notes == ()
